#pragma once
#include <concepts>
#include <nlohmann/json.hpp>

#include "pacewise/model.hpp"

namespace pacewise {

// What a file holds of each struct, listed once: writing, reading and comparing go through these lists. `visit` is
// called with the name of a field and the field. A field added here is in the file. Times are not: identical runs give
// identical files.

template <class S, class Of>
concept Is = std::same_as<std::remove_const_t<S>, Of>;

#define PACEWISE_FIELD(name) visit(#name, s.name);
#define PACEWISE_FIELDS(...) NLOHMANN_JSON_EXPAND(NLOHMANN_JSON_PASTE(PACEWISE_FIELD, __VA_ARGS__))
#define PACEWISE_VISIT(Type, ...)          \
  template <Is<Type> S, class Visit>       \
  void visit_fields(S& s, Visit&& visit) { \
    PACEWISE_FIELDS(__VA_ARGS__)           \
  }

PACEWISE_VISIT(Objective, fit, pace, sparsity, manifold, consistency)
PACEWISE_VISIT(Certificate, codes, dictionary, consistency, weights)
PACEWISE_VISIT(Stage, scale, lambda, center, hidden, sum, gain, gain_squares)
PACEWISE_VISIT(Candidate, atoms, beta_ratio, error, scale)
PACEWISE_VISIT(Sources, data_checksum, weights, graph, graph_points)
PACEWISE_VISIT(ScheduleState, phase, in_phase, stage, brief, before, center, lambda, last_objective, finished, stalled,
               exact, loose)

template <Is<Record> S, class Visit>
void visit_fields(S& s, Visit&& visit) {
  visit("objective_parts", s.objective);
  PACEWISE_FIELDS(iteration, phase, lambda, selected, mean_weight, objective_before, certificate, density, dead_atoms)
}

/// What the user is shown of a stage: means of the entries judged
template <class Visit>
void visit_judgement(const Stage& s, Visit&& visit) {
  PACEWISE_FIELDS(scale, lambda, hidden)
  visit("error", s.error());
  visit("gain", s.mean_gain());
  visit("gain_error", s.gain_error());
}

/// Its arrays are among those of the state.
template <class S, class Visit>
requires Is<S, Descent<float>> || Is<S, Descent<double>>
void visit_fields(S& s, Visit&& visit) {
  PACEWISE_FIELDS(draw, draws, cap, stages, chosen, settled, lambda, center, offsets)
}

template <class S, class Visit>
requires Is<S, State<float>> || Is<S, State<double>>
void visit_fields(S& s, Visit&& visit) {
  PACEWISE_FIELDS(dictionary, codes, consistency)
  visit("state_weights", s.weights);
  PACEWISE_FIELDS(offsets, schedule, descent, candidates)
  visit("first_errors", s.descent.first_errors);
  visit("reference_dictionary", s.descent.dictionary);
  visit("reference_codes", s.descent.codes);
  PACEWISE_FIELDS(pace_lambda, beta, step_tol, random, iteration, history)
}

/// What a checkpoint holds as well, beside the state.
template <class S, class Visit>
void visit_origin(S& s, Visit&& visit) {
  PACEWISE_FIELDS(options, sources, sample_shape, feature_names)
}

/// What a finished model alone holds. Its weights follow from losses and lambda.
template <class S, class Visit>
void visit_results(S& s, Visit&& visit) {
  visit("objective_parts", s.objective);
  PACEWISE_FIELDS(termination, detail, certificate, lambda, losses, selected, density, entry_lambda, held_out_lambda,
                  outlier_threshold)
  visit("normalization_shift", s.normalization.shift);
  visit("normalization_scale", s.normalization.scale);
  visit("normalization_offset", s.normalization.offset);
  visit("center", s.normalization.center);
  visit("reach", s.normalization.cutoff);
  PACEWISE_FIELDS(sample_scale)
  visit("laplacian", s.graph.laplacian);
  visit("incidence", s.graph.incidence);
  PACEWISE_FIELDS(groups, notes)
}

#undef PACEWISE_VISIT
#undef PACEWISE_FIELDS
#undef PACEWISE_FIELD

}  // namespace pacewise

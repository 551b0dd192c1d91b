#pragma once
#include <concepts>

#include "pacewise/model.hpp"

namespace pacewise {

// What a file holds of each struct, listed once: writing, reading and comparing go through these lists. `visit` is
// called with the name of a field and the field. A field added here is in the file. Times are not: identical runs give
// identical files.

template <class S, class Of>
concept Is = std::same_as<std::remove_const_t<S>, Of>;

template <Is<Objective> S, class Visit>
void visit_fields(S& s, Visit&& visit) {
  visit("fit", s.fit);
  visit("pace", s.pace);
  visit("sparsity", s.sparsity);
  visit("manifold", s.manifold);
  visit("consistency", s.consistency);
}

template <Is<Certificate> S, class Visit>
void visit_fields(S& s, Visit&& visit) {
  visit("codes", s.codes);
  visit("dictionary", s.dictionary);
  visit("consistency", s.consistency);
  visit("weights", s.weights);
}

template <Is<Stage> S, class Visit>
void visit_fields(S& s, Visit&& visit) {
  visit("scale", s.scale);
  visit("lambda", s.lambda);
  visit("center", s.center);
  visit("hidden", s.hidden);
  visit("sum", s.sum);
  visit("gain", s.gain);
  visit("gain_squares", s.gain_squares);
}

template <Is<Candidate> S, class Visit>
void visit_fields(S& s, Visit&& visit) {
  visit("atoms", s.atoms);
  visit("beta_ratio", s.beta_ratio);
  visit("error", s.error);
  visit("scale", s.scale);
}

/// Its arrays are among those of the state.
template <class S, class Visit>
requires Is<S, Descent<float>> || Is<S, Descent<double>>
void visit_fields(S& s, Visit&& visit) {
  visit("draw", s.draw);
  visit("draws", s.draws);
  visit("cap", s.cap);
  visit("stages", s.stages);
  visit("chosen", s.chosen);
  visit("settled", s.settled);
  visit("lambda", s.lambda);
  visit("center", s.center);
  visit("offsets", s.offsets);
}

template <Is<Record> S, class Visit>
void visit_fields(S& s, Visit&& visit) {
  visit("iteration", s.iteration);
  visit("phase", s.phase);
  visit("lambda", s.lambda);
  visit("selected", s.selected);
  visit("mean_weight", s.mean_weight);
  visit("objective_parts", s.objective);
  visit("objective_before", s.objective_before);
  visit("certificate", s.certificate);
  visit("density", s.density);
  visit("dead_atoms", s.dead_atoms);
}

template <Is<ScheduleState> S, class Visit>
void visit_fields(S& s, Visit&& visit) {
  visit("phase", s.phase);
  visit("in_phase", s.in_phase);
  visit("stage", s.stage);
  visit("before", s.before);
  visit("center", s.center);
  visit("lambda", s.lambda);
  visit("last_objective", s.last_objective);
  visit("finished", s.finished);
  visit("stalled", s.stalled);
  visit("exact", s.exact);
}

template <Is<Sources> S, class Visit>
void visit_fields(S& s, Visit&& visit) {
  visit("data_checksum", s.data_checksum);
  visit("weights", s.weights);
  visit("graph", s.graph);
  visit("graph_points", s.graph_points);
}

template <class S, class Visit>
requires Is<S, State<float>> || Is<S, State<double>>
void visit_fields(S& s, Visit&& visit) {
  visit("dictionary", s.dictionary);
  visit("codes", s.codes);
  visit("consistency", s.consistency);
  visit("state_weights", s.weights);
  visit("offsets", s.offsets);
  visit("schedule", s.schedule);
  visit("descent", s.descent);
  visit("candidates", s.candidates);
  visit("first_errors", s.descent.first_errors);
  visit("reference_dictionary", s.descent.dictionary);
  visit("reference_codes", s.descent.codes);
  visit("pace_lambda", s.pace_lambda);
  visit("beta", s.beta);
  visit("step_tol", s.step_tol);
  visit("random", s.random);
  visit("iteration", s.iteration);
  visit("history", s.history);
}

/// What a checkpoint holds as well, beside the state.
template <class M, class Visit>
void visit_origin(M& m, Visit&& visit) {
  visit("options", m.options);
  visit("sources", m.sources);
  visit("sample_shape", m.sample_shape);
  visit("feature_names", m.feature_names);
}

/// What a finished model alone holds. Its weights follow from losses and lambda.
template <class M, class Visit>
void visit_results(M& m, Visit&& visit) {
  visit("termination", m.termination);
  visit("detail", m.detail);
  visit("objective_parts", m.objective);
  visit("certificate", m.certificate);
  visit("lambda", m.lambda);
  visit("losses", m.losses);
  visit("selected", m.selected);
  visit("density", m.density);
  visit("entry_lambda", m.entry_lambda);
  visit("held_out_lambda", m.held_out_lambda);
  visit("outlier_threshold", m.outlier_threshold);
  visit("normalization_shift", m.normalization.shift);
  visit("normalization_scale", m.normalization.scale);
  visit("normalization_offset", m.normalization.offset);
  visit("center", m.normalization.center);
  visit("reach", m.normalization.reach);
  visit("sample_scale", m.sample_scale);
  visit("laplacian", m.graph.laplacian);
  visit("incidence", m.graph.incidence);
  visit("groups", m.groups);
  visit("notes", m.notes);
}

}  // namespace pacewise

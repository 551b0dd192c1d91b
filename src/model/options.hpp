#pragma once
#include <optional>
#include <string>

#include "data/problem.hpp"
#include "graph/graph.hpp"
#include "pace/regularizer.hpp"
#include "pace/schedule.hpp"

namespace pacewise {

/// All options of a fit with their defaults (the `robust` preset). Every rule they obey is in validate().
struct Options {
  Index atoms = 128;           // r >= 1
  std::optional<double> beta;  // >= 0; twice the lambda of scikit-learn, SPAMS and mlpack (no factor 1/2 in the model)
  double beta_ratio = 0.01;    // in [0, 1], used when beta is not given: beta = ratio * 2 max_j |w x_j|, the beta at
                               // which all codes are zero whatever the dictionary
  double alpha = 16;           // >= 0, manifold term
  double gamma = 1;            // >= 0, hypergraph consistency term
  double eta = 10;             // > 0 when gamma > 0, ridge of the consistency map
  Regularizer regularizer = Linear{};
  ScheduleOptions schedule;       // level, pace, mu, select, final, polish, tol, max_iter
  GraphOptions graph = {.k = 5};  // kind none switches alpha and gamma off
  Normalize normalize = Normalize::unit;
  double step_tol = 1e-6;        // > 0, certificate asked of the codes and dictionary steps at the end of the run;
                                 // while the objective still falls fast, a hundredth of its relative fall will do
  std::size_t memory_bytes = 0;  // bound on stored Newton systems; 0: twice the data's size
  std::uint64_t seed = 0;        // initial dictionary, replacement of dead atoms, randomised SVD
};

enum class Preset : std::uint8_t { robust, paper };
/// robust: the defaults above. paper: linear, geometric, mu 1.2, select .5, hypergraph of the raw normalised data, k 3.
Options preset(Preset which);
Preset parse_preset(const std::string& text);

/// The one place where options are checked; an Error names the option, its value and the rule.
void validate(const Options& options);

}  // namespace pacewise

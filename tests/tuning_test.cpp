#include "pacewise/tuning.hpp"

#include <gtest/gtest.h>

#include "model/fit.hpp"
#include "reference.hpp"
#include "solve/dictionary.hpp"
#include "synthetic.hpp"
#include "tolerances.hpp"
#include "zoo.hpp"

namespace {

using namespace pacewise;
using zoo::kLevels;

// A structured binding names every constant: a new one does not compile until it is here.
std::vector<double*> constants(Tuning& tuning) {
  auto& [stride_least, stride_share, stride_limit, dependent, refine, descent_rounds, nearly_complete, working_set,
         float_ridge, float_data, coupled_passes, inner_share, inner_exact, crawls, newton_steps, newton_turns,
         power_steps, step_safety, dictionary_sweeps, sweep_share, mixing, mixing_ridge, row_gram_bytes, first_passes,
         passes, sweeps, start_sweeps, start_tol, loose_tol, dense_share, stalled, patience] = tuning;
  return {&stride_least, &stride_share,   &stride_limit,      &dependent,
          &refine,       &descent_rounds, &nearly_complete,   &working_set,
          &float_ridge,  &float_data,     &coupled_passes,    &inner_share,
          &inner_exact,  &crawls,         &newton_steps,      &newton_turns,
          &power_steps,  &step_safety,    &dictionary_sweeps, &sweep_share,
          &mixing,       &mixing_ridge,   &row_gram_bytes,    &first_passes,
          &passes,       &sweeps,         &start_sweeps,      &start_tol,
          &loose_tol,    &dense_share,    &stalled,           &patience};
}

/// Codes, coupled and not, and the dictionary at every level end within their tolerance, whatever a constant is.
TEST(Tuning, HalvedOrDoubledTheAnswersStayWithinTolerance) {
  StepOptions usual;
  for (std::size_t which = 0; which < constants(usual.tuning).size(); ++which)
    for (const double factor : {0.5, 2.0}) {
      StepOptions options{tolerance<double>().certificate / 4};
      double* value = constants(options.tuning)[which];
      // 1.02 and .98 are near 1 by what they mean: the distance from 1 is what is halved and doubled
      const bool about_one = value == &options.tuning.step_safety || value == &options.tuning.stalled;
      *value = about_one ? 1 + factor * (*value - 1) : factor * *value;
      for (const Level kind : {Level::none, Level::sample, Level::feature, Level::element}) {
        auto p = zoo::make<double>({"tuning", 24, 70, 30}, kind, 19);
        const std::string where = "constant " + std::to_string(which) + " x " + std::to_string(factor) + ", " + p.name;
        for (const double alpha : {0.0, 8.0}) {
          CodesProblem<double> problem{p.X, p.weights, p.B, {}, {&p.L, alpha, &p.H, &p.Q, 1}};
          problem.penalty.beta = 0.05 * largest_beta(problem, {});
          Matrix<double> S(30, 70);
          solve_codes(problem, S, options, {});
          EXPECT_LE(codes_certificate(problem, S, {}), tolerance<double>().certificate) << where << ", alpha " << alpha;
        }
        const DictionaryProblem<double> problem{p.X, p.weights, p.S};
        Matrix<double> B = p.B;
        solve_dictionary(problem, B, options, {});
        EXPECT_LE(dictionary_certificate(problem, B, {}), tolerance<double>().certificate) << where << ", dictionary";
      }
    }
}

/// How much of a cheap step is done decides how many there are, not how exact the end is: the objective of a whole fit
/// changes by less than 2 % of its fall (another local minimum), and its codes are as exact as ever.
TEST(Tuning, CheapStepsDoNotDecideTheFit) {
  const auto made = synthetic::make<double>({.m = 30, .n = 200, .r = 24, .active = 4, .noise = 0.05});
  Options options;
  options.atoms = 20;
  options.pace = Pace::quantile;  // other weights, other objective
  const auto value = [&](const Tuning& tuning) {
    const auto result = fit<double>(made.problem(), options, {}, {}, {.tuning = tuning});
    EXPECT_LE(result.certificate.codes, 1e-5);
    return result.objective.total();
  };
  const double usual = value({}), fall = 200 + 200 * 6 - usual;  // from |X|^2 + gamma |H|^2
  for (double Tuning::*constant :
       {&Tuning::first_passes, &Tuning::passes, &Tuning::sweeps, &Tuning::start_sweeps, &Tuning::start_tol})
    for (const double factor : {0.5, 2.0}) {
      Tuning tuning;
      tuning.*constant *= factor;
      EXPECT_NEAR(value(tuning), usual, 0.02 * fall) << tuning.*constant << ", usually " << Tuning().*constant;
    }
}

}  // namespace

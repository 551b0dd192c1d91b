// What a fit says of itself, recomputed from raw data by the slow path.
#pragma once
#include <gtest/gtest.h>

#include "evaluate/scores.hpp"
#include "model/fit.hpp"
#include "model/model.hpp"
#include "model/verify.hpp"
#include "solve/groups.hpp"
#include "solve/weights.hpp"
#include "synthetic.hpp"
#include "tolerances.hpp"
#include "zoo.hpp"

namespace verify {

using namespace pacewise;

using zoo::kLevels;

inline synthetic::Recipe with_outliers() {
  synthetic::Recipe recipe;  // 60 samples, 20 features, 8 atoms
  recipe.bad_samples = 0.1;
  recipe.bad_entries = 0.03;
  return recipe;
}

inline Options small_options(Level level = Level::element, Pace pace = Pace::quantile) {
  Options o;
  o.atoms = 8;
  o.beta_ratio = 0.05;
  o.level = level;
  o.pace = pace;
  o.plain_iter = o.warm_iter = 3;
  o.pace_iter = 6;
  o.polish = 6;
  o.max_iter = 80;
  o.normalize = Normalize::none;
  return o;
}

template <class T>
Result<T> run(const Problem<T>& problem, const Options& options, const Callback<T>& callback = nullptr,
              const FitInputs& inputs = {}, const State<T>* resume = nullptr, int threads = 2) {
  return fit(problem, options, {.threads = threads}, callback, inputs, resume);
}

/// How well 1 - v tells the units that are wrong
template <class Weights>
double auroc_of_doubt(const Weights& weights, const std::vector<bool>& wrong) {
  std::vector<double> doubt;
  for (const double v : weights) doubt.push_back(1 - v);
  return auroc(doubt, wrong);
}

/// Every number of two results, to the bit
template <class T>
void expect_same(const Result<T>& a, const Result<T>& b, const std::string& where) {
  EXPECT_EQ(a.dictionary, b.dictionary) << where;
  EXPECT_EQ(a.codes, b.codes) << where;
  EXPECT_EQ(a.consistency, b.consistency) << where;
  EXPECT_EQ(a.weights, b.weights) << where;
  EXPECT_EQ(a.losses, b.losses) << where;
  EXPECT_EQ(a.objective.total(), b.objective.total()) << where;
  EXPECT_EQ(a.certificate.codes, b.certificate.codes) << where;
  EXPECT_EQ(a.certificate.dictionary, b.certificate.dictionary) << where;
  EXPECT_EQ(a.certificate.consistency, b.certificate.consistency) << where;
  EXPECT_EQ(a.termination, b.termination) << where;
  ASSERT_EQ(a.history.size(), b.history.size()) << where;
  for (std::size_t i = 0; i < a.history.size(); ++i)
    ASSERT_EQ(a.history[i].objective.total(), b.history[i].objective.total()) << where << ", record " << i;
}

/// The result, which is the same for another number of threads, and resumed from every `every`-th iteration
template <class T>
Result<T> run_resumed(const Problem<T>& problem, const Options& options, int every, const std::string& where,
                      const FitInputs& inputs = {}) {
  std::vector<State<T>> states;
  const auto keep = [&](const Record& record, const State<T>& state) {
    if (record.iteration % every == every / 2) states.push_back(state);
    return true;
  };
  const Result<T> whole = run<T>(problem, options, keep, inputs);
  expect_same(run<T>(problem, options, nullptr, inputs, nullptr, 3), whole, where + ", three threads");
  EXPECT_FALSE(states.empty()) << where;
  for (const State<T>& state : states) {
    const Result<T> rest = run<T>(problem, options, nullptr, inputs, &state);
    expect_same(rest, whole, where + ", from iteration " + std::to_string(state.iteration));
    EXPECT_GE(rest.seconds, state.seconds) << where;
  }
  return whole;
}

/// v with which the returned point was computed; empty: all 1. Cheap iterations leave none behind: those at its losses.
template <class T>
const Vector<T>& used_weights(const Result<T>& result) {
  if (result.descent.settled) return result.weights;
  return result.State<T>::weights.empty() && !std::isinf(result.schedule.lambda) ? result.weights
                                                                                 : result.State<T>::weights;
}

/// Cheap iterations are evaluated in float.
inline double record_tolerance(const Record& r, double exact) {
  return std::isinf(r.certificate.codes) ? std::max(exact, 1e-6 * r.objective.magnitude()) : exact;
}

/// The returned point in plain matrices, w v multiplied out
template <class T>
reference::Setting setting_of(const Result<T>& result) {
  using reference::wide;
  const State<T>& state = result;
  const Options& o = result.options;
  const Index m = result.data.values.rows(), n = result.data.values.cols();
  reference::Setting s{wide(result.data.values), wide(result.data.weights, m, n), wide(state.dictionary),
                       wide(state.codes)};
  const Vector<T>& v = used_weights(result);
  for (Index j = 0; j < n && !v.empty(); ++j)
    for (Index i = 0; i < m; ++i) s.W(i, j) *= v[unit_of(o.level, m, i, j)];
  s.penalty.beta = state.beta;
  const bool graph = state.schedule.phase != Phase::plain && !result.graph.laplacian.empty();
  if (graph && o.alpha > 0) {
    s.alpha = o.alpha;
    s.L = wide(result.graph.laplacian);
  }
  if (graph && !state.consistency.empty()) {
    s.gamma = o.gamma;
    s.eta = o.eta;
    s.H = wide(result.graph.incidence);
    s.Q = wide(state.consistency);
  }
  return s;
}

/// sum of F over the units with data
template <class T>
double slow_pace(const Result<T>& result) {
  const State<T>& state = result;
  const Level level = result.options.level;
  const double lambda = state.descent.settled ? state.descent.lambda : state.schedule.lambda;
  if (level == Level::none || std::isinf(lambda)) return 0;
  const Index m = result.data.values.rows(), n = result.data.values.cols();
  const auto W = reference::wide(result.data.weights, m, n);
  Vector<char> seen(static_cast<std::size_t>(unit_count(level, m, n)), 0);
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i)
      if (W(i, j) > 0 || level == Level::group) seen[static_cast<std::size_t>(unit_of(level, m, i, j))] = 1;
  long double sum = 0;
  const Vector<T>& v = used_weights(result);
  if (state.descent.center > 0) {  // F(v) = int_0^l v dt - v l where v is that of the loss l
    for (std::size_t u = 0; u < seen.size(); ++u) {
      const double l = static_cast<double>(result.losses[u]), steps = 20000;
      const auto weight = [&](double loss) {
        const double e = std::sqrt(loss) - state.descent.center;
        return e > 0 ? pace_weight(result.options.regularizer, e * e, lambda) : 1.0;
      };
      long double area = 0;
      // beyond its limit a weight of 0 adds nothing
      for (double at = 0.5; at < steps; ++at) area += weight(at / steps * l) * l / steps;
      if (seen[u] != 0) sum += area - weight(l) * l;
    }
    return static_cast<double>(sum);
  }
  for (std::size_t u = 0; u < seen.size(); ++u) {
    double weight = v.empty() ? 1.0 : static_cast<double>(v[u]);
    if (level == Level::group)  // a result has the weights of entries
      weight = pace_weight(result.options.regularizer, static_cast<double>(result.losses[u]), lambda);
    if (seen[u] != 0) sum += pace_value(result.options.regularizer, weight, lambda);
  }
  return static_cast<double>(sum);
}

/// What a result says of itself against the slow path
template <class T>
void check_reports(const Result<T>& result, const std::string& where) {
  const auto setting = setting_of(result);
  const auto slow = reference::objective(setting);
  const double tol = tolerance<T>().recomputed * std::max(1.0, result.objective.magnitude());
  EXPECT_NEAR(result.objective.fit, slow.fit, tol) << where;
  EXPECT_NEAR(result.objective.sparsity, slow.sparsity, tol) << where;
  EXPECT_NEAR(result.objective.manifold, slow.manifold, tol) << where;
  EXPECT_NEAR(result.objective.consistency, slow.consistency, tol) << where;
  EXPECT_NEAR(result.objective.pace, slow_pace(result), tol) << where;
  if (!result.history.empty()) {
    const Record& last = result.history.back();
    EXPECT_NEAR(last.objective.total(), result.objective.total(), record_tolerance(last, tol)) << where;
  }
  // a descending pace reads weights off where it ended, not at the returned point
  const Descent<T>& descent = result.descent;
  Vector<T> losses =
      unit_losses<T>(result.data.values, result.data.weights, descent.settled ? descent.dictionary : result.dictionary,
                     descent.settled ? descent.codes : result.codes, result.options.level, {});
  ASSERT_EQ(result.losses.size(), losses.size()) << where;
  const Index m = result.data.values.rows();
  if (const Groups groups = Groups::of(result.options, m, result.groups); !groups.empty())
    for (std::size_t u = 0; u < losses.size(); u += static_cast<std::size_t>(m)) groups.losses(losses.data() + u);
  for (std::size_t u = 0; u < losses.size(); ++u)
    EXPECT_NEAR(static_cast<double>(result.losses[u]), static_cast<double>(losses[u]), tol) << where << ", unit " << u;
  const double off = tolerance<T>().recomputed;
  EXPECT_NEAR(result.certificate.codes, reference::codes_certificate(setting), off) << where;
  EXPECT_NEAR(result.certificate.dictionary, reference::dictionary_certificate(setting), off) << where;
  EXPECT_NEAR(result.certificate.consistency, setting.gamma > 0 ? reference::consistency_certificate(setting) : 0, off)
      << where;
  EXPECT_LE(setting.B.colwise().squaredNorm().maxCoeff(), 1 + 1e-6) << where;
}

template <class T>
void check_history(const Result<T>& result, const std::string& where) {
  const auto& history = result.history;
  ASSERT_EQ(static_cast<int>(history.size()), result.iteration) << where;
  constexpr bool wide = std::is_same_v<T, double>;
  const double slack = wide ? (result.options.exact_steps ? 1e-9 : 1e-6) : 1e-4;  // cheap steps: products in float
  double squares = 0;  // gamma |H - Q S|^2 is a difference of numbers up to gamma |H|^2
  for (const double h : result.graph.incidence.value) squares += result.options.gamma * h * h;
  for (std::size_t i = 0; i < history.size(); ++i) {
    const Record& r = history[i];
    const std::string at = where + ", iteration " + std::to_string(i + 1);
    EXPECT_EQ(r.iteration, static_cast<int>(i) + 1) << at;
    EXPECT_LE(r.objective.total(), r.objective_before + slack * r.objective.magnitude()) << at;
    EXPECT_TRUE(std::isfinite(r.objective.total())) << at;
    EXPECT_EQ(std::isinf(r.lambda), r.phase != Phase::paced && r.phase != Phase::held) << at;
    EXPECT_TRUE(r.selected >= 0 && r.selected <= 1 && r.mean_weight >= 0 && r.mean_weight <= 1) << at;
    EXPECT_TRUE(r.density >= 0 && r.density <= 1) << at;
    // steps are asked for a hundredth of the last fall: never less than step_tol, never more than 1e-4
    double owed = wide ? std::max(1e-4, result.options.step_tol) : 1e-4;
    if (wide && i > 0) {
      const Record& last = history[i - 1];
      const double fall = (last.objective_before - last.objective.total()) / last.objective.magnitude();
      owed = 1.0001 * std::max(result.options.step_tol, std::min(1e-4, 0.01 * fall));
    }
    // where weights differ the first exact steps are loose, never the last
    if (!result.options.exact_steps && i + 1 < history.size()) owed = std::max(owed, Tuning().loose_tol);
    // cheap steps have no certificate; a run that converged ended with exact ones
    const bool cheap = std::isinf(r.certificate.codes);
    EXPECT_EQ(std::isinf(r.certificate.dictionary), cheap) << at;
    EXPECT_FALSE(cheap && result.options.exact_steps) << at;
    EXPECT_FALSE(cheap && i + 1 == history.size() && result.termination == Termination::converged) << at;
    if (!cheap) {
      EXPECT_LE(r.certificate.codes, owed) << at;
      EXPECT_LE(r.certificate.dictionary, owed) << at;
      EXPECT_LE(r.certificate.consistency, wide ? 1e-10 : 1e-4) << at;
    }
    if (i == 0) continue;
    EXPECT_GE(r.seconds, history[i - 1].seconds) << at;
    EXPECT_GE(r.phase, history[i - 1].phase) << at;
    if (r.phase == history[i - 1].phase && r.lambda == history[i - 1].lambda && r.phase != Phase::warm) {
      EXPECT_NEAR(r.objective_before, history[i - 1].objective.total(), slack * (r.objective.magnitude() + squares))
          << at;
    }
  }
}

/// .. and that nothing went wrong
template <class T>
void check(const Result<T>& result, const std::string& where) {
  EXPECT_EQ(result.detail, "") << where << ", " << name_of(result.termination);
  EXPECT_TRUE(eigen(result.dictionary).allFinite() && eigen(result.codes).allFinite()) << where;
  check_reports(result, where);
  check_history(result, where);
}

/// The model of a fit, whose figures the product's own check finds again
template <class T>
Model<T> verified_model(const Result<T>& result, const Problem<T>& problem, const std::string& where) {
  const Model<T> model = make_model(Result<T>(result), problem, {}, {});
  for (const Figure& figure : pacewise::verify(model, problem, {}, {}))
    EXPECT_TRUE(figure.same) << where << ", " << figure.name << ": " << figure.stated << ", found " << figure.found;
  return model;
}

}  // namespace verify

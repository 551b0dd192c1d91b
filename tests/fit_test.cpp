#include <set>

#include "verify.hpp"

namespace {

using namespace verify;

std::string at(Level level, Pace pace) { return std::string(name_of(level)) + ", " + std::string(name_of(pace)); }

TEST(Fit, EveryLevelPaceAndRegularizerReportsWhatTheSlowPathFinds) {
  const auto p = synthetic::make<double>(with_outliers());
  for (const Level level : kLevels)
    for (const Pace pace : {Pace::geometric, Pace::quantile})
      for (const auto name : regularizer_names())
        for (const int polish : {0, 6}) {
          const bool usual = name == "linear";
          if (!usual && (polish == 0 || level == Level::none || (synthetic::small() && pace == Pace::geometric)))
            continue;
          Options o = small_options(level, pace);
          o.regularizer = parse_regularizer(name);
          o.polish = polish;
          o.final = polish == 0 ? 0.9 : 1;
          const auto result = run(p.problem(), o);
          const std::string where = at(level, pace) + ", " + std::string(name) + ", polish " + std::to_string(polish);
          check(result, where);
          const Index units = unit_count(level, 20, 60);
          EXPECT_EQ(std::ssize(result.weights), units) << where;
          EXPECT_EQ(std::ssize(result.losses), level == Level::none ? 60 : units) << where;
          for (const double v : result.weights) ASSERT_TRUE(v >= 0 && v <= 1) << where;
          EXPECT_EQ(std::isfinite(result.lambda) && result.lambda > 0, level != Level::none) << where;
        }
}

TEST(Fit, SinglePrecisionReportsWhatTheSlowPathFinds) {
  const auto p = synthetic::make<float>(with_outliers());
  for (const Level level : kLevels)
    for (const Pace pace : {Pace::geometric, Pace::quantile})
      check(run(p.problem(), small_options(level, pace)), at(level, pace));
}

TEST(Fit, UserWeightsOfAllKindsAndHoles) {
  const auto p = synthetic::make<double>(with_outliers());
  Problem<double> problem = p.problem();
  Random random(5);
  for (int j = 0; j < 60; ++j) problem.weights.sample.push_back(j == 7 ? 0 : 0.2 + random.uniform());
  for (int i = 0; i < 20; ++i) problem.weights.feature.push_back(i == 3 ? 0 : 0.2 + random.uniform());
  problem.weights.entry = Matrix<double>(20, 60, 1.0);
  for (Index i = 0; i < problem.weights.entry.size(); ++i)
    if (random.uniform() < 0.2) problem.weights.entry.data()[i] = 0;
  for (const Level level : kLevels) check(run(problem, small_options(level)), std::string(name_of(level)));
}

TEST(Fit, ConvergesWhenTheObjectiveStalls) {
  const auto p = synthetic::make<double>({});
  for (const Level level : kLevels) {
    Options o = small_options(level);
    o.polish = 500;
    o.max_iter = 1000;
    o.tol = 1e-3;
    const auto result = run(p.problem(), o);
    EXPECT_EQ(result.termination, Termination::converged) << name_of(level);
    const auto& h = result.history;
    ASSERT_GE(h.size(), 2u);
    EXPECT_LE(std::abs(h[h.size() - 2].objective.total() - h.back().objective.total()),
              1e-3 * h.back().objective.magnitude());
  }
}

TEST(Fit, IterationLimit) {
  const auto p = synthetic::make<double>(with_outliers());
  for (const Level level : kLevels) {
    Options o = small_options(level);
    o.max_iter = 3;
    const auto result = run(p.problem(), o);
    EXPECT_EQ(result.termination, Termination::iteration_limit);
    EXPECT_EQ(result.iteration, 3);
    check_reports(result, "iteration limit");
  }
}

TEST(Fit, DeadlineInThePastReturnsTheStart) {
  const auto p = synthetic::make<double>(with_outliers());
  const auto past = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  const auto result = fit(p.problem(), small_options(), {.deadline = past});
  EXPECT_EQ(result.termination, Termination::time_limit);
  EXPECT_EQ(result.iteration, 0);
  EXPECT_TRUE(result.history.empty());
  EXPECT_NE(result.detail.find("deadline"), std::string::npos) << result.detail;
  check_reports(result, "deadline in the past");
}

TEST(Fit, DeadlineWithinTheRunReturnsTheLastCompletedIteration) {
  const auto p = synthetic::make<double>({60, 400, 24});
  Options o = small_options();
  o.atoms = 24;
  o.tol = 0;
  o.plain_iter = 100000;
  o.max_iter = 100000;
  for (const double seconds : {0.02, 0.15}) {
    const auto began = std::chrono::steady_clock::now();
    const auto end = began + std::chrono::microseconds(static_cast<long>(seconds * 1e6));
    const auto result = fit(p.problem(), o, {.deadline = end});
    EXPECT_EQ(result.termination, Termination::time_limit);
    EXPECT_EQ(static_cast<int>(result.history.size()), result.iteration);
    check_reports(result, "deadline after " + std::to_string(seconds));
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    EXPECT_LT(took, seconds + (synthetic::sanitized ? 20 : 3));
  }
}

TEST(Fit, StoppedByCallbackOrFlagReturnsTheLastCompletedIteration) {
  const auto p = synthetic::make<double>(with_outliers());
  for (const bool by_flag : {false, true}) {
    std::atomic<bool> cancel{false};
    const Control control{.threads = 2, .cancel = &cancel};
    State<double> seen;
    int calls = 0;
    const auto result =
        fit<double>(p.problem(), small_options(), control, [&](const Record& r, const State<double>& s) {
          EXPECT_EQ(r.iteration, ++calls);
          EXPECT_EQ(s.iteration, r.iteration);
          EXPECT_EQ(std::ssize(s.history), r.iteration);
          seen = s;
          cancel = by_flag && calls == 7;
          return by_flag || calls < 7;
        });
    EXPECT_EQ(calls, 7);
    EXPECT_EQ(result.termination, Termination::cancelled);
    EXPECT_EQ(result.iteration, 7);
    EXPECT_EQ(result.dictionary, seen.dictionary);
    EXPECT_EQ(result.codes, seen.codes);
    EXPECT_EQ(result.State<double>::weights, seen.weights);
    check_reports(result, by_flag ? "cancelled" : "stopped by the callback");
    EXPECT_EQ(fit<double>(p.problem(), small_options(), control).termination == Termination::cancelled, by_flag);
  }
}

TEST(Fit, ResumedRunsEndWithTheSameBits) {
  const auto p = synthetic::make<double>(with_outliers());
  for (const Level level : kLevels)
    for (const Pace pace : {Pace::geometric, Pace::quantile})
      run_resumed(p.problem(), small_options(level, pace), synthetic::small() ? 15 : 4, at(level, pace));
}

TEST(Fit, AFinishedRunIsItsOwnResultAndOneAtItsLimitGoesOnWithALargerOne) {
  const auto p = synthetic::make<double>({});
  Options o = small_options();
  o.polish = 500;
  o.tol = 1e-3;
  o.max_iter = 1000;
  const auto whole = run(p.problem(), o);
  ASSERT_EQ(whole.termination, Termination::converged);
  ASSERT_GT(whole.iteration, 8);
  expect_same(run<double>(p.problem(), o, nullptr, {}, &whole), whole, "finished");
  Options limited = o;
  limited.max_iter = 8;
  const auto part = run(p.problem(), limited);
  ASSERT_EQ(part.termination, Termination::iteration_limit);
  expect_same(run<double>(p.problem(), o, nullptr, {}, &part), whole, "from its limit");
}

TEST(Fit, AStateOfOtherDataIsNotResumed) {
  const auto p = synthetic::make<double>({}), other = synthetic::make<double>({20, 50, 8});
  Options o = small_options();
  o.max_iter = 8;
  const auto result = run(p.problem(), o);
  EXPECT_THROW(run<double>(other.problem(), o, nullptr, {}, &result), Error);
  o.atoms = 9;
  EXPECT_THROW(run<double>(p.problem(), o, nullptr, {}, &result), Error);
}

TEST(Fit, TheQuantilePaceSelectsTheShareItSays) {
  const auto p = synthetic::make<double>(with_outliers());
  for (const int steps : {1, 2, 5}) {
    Options o = small_options(Level::element);
    o.regularizer = Hard{};
    o.select = 0.4;
    o.final = 0.9;
    o.pace_iter = steps;
    int at = 0;
    for (const Record& r : run(p.problem(), o).history) {
      if (r.phase != Phase::paced) continue;
      // hard weights are those of the beginning of the iteration: mean v is the share let in
      EXPECT_NEAR(r.mean_weight, quantile_share(o, at++), 0.01) << steps << " steps, iteration " << r.iteration;
    }
    EXPECT_EQ(at, steps);
  }
}

TEST(Fit, DeadAtomsAreReplacedAndNeverByAnOutlier) {
  synthetic::Recipe recipe;
  recipe.bad_samples = 0.15;
  recipe.size = 5;
  const auto p = synthetic::make<double>(recipe);
  Options o = small_options(Level::sample);
  o.regularizer = Hard{};
  o.alpha = o.gamma = 0;
  o.select = o.final = 0.8;
  o.max_iter = 1;
  State<double> state;  // within the pace, at the planted dictionary, atom 3 used by nobody
  state.dictionary = p.B;
  state.codes = p.S;
  state.beta = 0.05;
  state.schedule.phase = Phase::paced;
  state.schedule.lambda = 1;
  eigen(state.codes).row(3).setZero();
  for (Index j = 0; j < p.X.cols(); ++j)
    if (p.bad_sample[static_cast<std::size_t>(j)]) eigen(state.codes).col(j).setZero();
  const EigenMatrix<double> directions = eigen(p.X).colwise().normalized();
  std::set<Index> drawn;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    state.random = seed;
    const auto result = run<double>(p.problem(), o, nullptr, {}, &state);
    ASSERT_EQ(result.iteration, 1) << result.detail;
    EXPECT_EQ(result.history.front().dead_atoms, 1);
    Index found = 0;
    const auto cosine = directions.transpose() * eigen(result.dictionary).col(3);
    ASSERT_GT(cosine.maxCoeff(&found), 1 - 1e-12) << "the new atom is a sample of unit norm";
    EXPECT_FALSE(p.bad_sample[static_cast<std::size_t>(found)]) << "sample " << found;
    drawn.insert(found);
  }
  EXPECT_GT(drawn.size(), 3u) << "it is a draw, not a rule";
}

TEST(Fit, PlantedCorruptionOfEntriesIsFound) {
  synthetic::Recipe recipe{30, 200, 10};
  recipe.bad_entries = 0.05;
  recipe.size = 1.5;
  const auto p = synthetic::make<double>(recipe);
  for (const GraphKind graph : {GraphKind::none, GraphKind::hypergraph}) {
    Options o = small_options(Level::element);
    o.atoms = 10;
    o.alpha = 0.1;
    o.gamma = 0;
    o.graph = graph;
    o.final = 0.9;
    o.polish = 0;
    o.pace_iter = 15;
    const auto result = run(p.problem(), o);
    EXPECT_GT(auroc_of_doubt(result.weights, p.bad_entry), 0.9) << name_of(graph);
    double sum[2] = {}, count[2] = {};
    for (std::size_t u = 0; u < p.bad_entry.size(); ++u) {
      sum[p.bad_entry[u]] += result.weights[u];
      ++count[p.bad_entry[u]];
    }
    EXPECT_LT(sum[true] / count[true], 0.3 * sum[false] / count[false]) << name_of(graph);
  }
}

TEST(Fit, TrimmedLearningRecoversTheDictionaryBetterUnderOutliers) {
  double trimmed = 0, plain = 0;
  constexpr int repeats = 3;
  for (int seed = 1; seed <= repeats; ++seed) {
    synthetic::Recipe recipe{20, 200, 8};
    recipe.bad_samples = 0.15;
    recipe.size = 1;
    recipe.seed = static_cast<std::uint64_t>(seed);
    const auto p = synthetic::make<double>(recipe);
    Options o = small_options(Level::sample);
    o.alpha = o.gamma = 0;
    o.regularizer = Hard{};
    o.final = 0.8;
    o.polish = 0;
    o.pace_iter = 15;
    o.seed = static_cast<std::uint64_t>(seed);
    trimmed += synthetic::recovery(p.B, run(p.problem(), o).dictionary) / repeats;
    o.level = Level::none;
    plain += synthetic::recovery(p.B, run(p.problem(), o).dictionary) / repeats;
  }
  EXPECT_GT(trimmed, plain + 0.02) << "plain " << plain;
}

}  // namespace

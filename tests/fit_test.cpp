#include <future>
#include <set>
#include <thread>

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

TEST(Fit, SinglePrecisionAndUserWeightsWithHolesReportWhatTheSlowPathFinds) {
  const auto single = synthetic::make<float>(with_outliers());
  const auto p = synthetic::make<double>(with_outliers());
  Problem<double> problem = p.problem();
  Random random(5);
  for (int j = 0; j < 60; ++j) problem.weights.sample.push_back(j == 7 ? 0 : 0.2 + random.uniform());
  for (int i = 0; i < 20; ++i) problem.weights.feature.push_back(i == 3 ? 0 : 0.2 + random.uniform());
  problem.weights.entry = synthetic::punch(p.X, 0.2).weights.entry;
  for (const Level level : kLevels)
    for (const Pace pace : {Pace::geometric, Pace::quantile}) {
      check(run(single.problem(), small_options(level, pace)), at(level, pace) + ", single");
      check(run(problem, small_options(level, pace)), at(level, pace) + ", weights");
    }
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
    EXPECT_EQ(result.history.back().phase, level == Level::none ? Phase::warm : Phase::polish) << name_of(level);
    const auto& h = result.history;
    ASSERT_GE(h.size(), 2u);
    EXPECT_LE(std::abs(h[h.size() - 2].objective.total() - h.back().objective.total()),
              1e-3 * h.back().objective.magnitude());
  }
}

TEST(Fit, LimitsReturnTheLastCompletedIteration) {
  const auto p = synthetic::make<double>(with_outliers());
  for (const Level level : kLevels) {
    Options o = small_options(level);
    o.max_iter = 3;
    const auto result = run(p.problem(), o);
    EXPECT_EQ(result.termination, Termination::iteration_limit);
    EXPECT_EQ(result.iteration, 3);
    check_reports(result, "iteration limit");
  }
  Options endless = small_options();
  endless.tol = 0;
  endless.plain_iter = endless.max_iter = 100000;
  for (const int milliseconds : {-1000, 20, 150}) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    const auto result = fit(p.problem(), endless, {.deadline = end});
    EXPECT_EQ(result.termination, Termination::time_limit);
    EXPECT_EQ(std::ssize(result.history), result.iteration);
    check_reports(result, "deadline after " + std::to_string(milliseconds) + " ms");
    if (milliseconds > 0) continue;
    EXPECT_EQ(result.iteration, 0) << "the start";
    EXPECT_NE(result.detail.find("deadline"), std::string::npos) << result.detail;
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
  limited = o;
  limited.polish = 2;
  const auto polished = run(p.problem(), limited);
  ASSERT_LT(polished.iteration, whole.iteration);
  EXPECT_GT(run<double>(p.problem(), o, nullptr, {}, &polished).iteration, polished.iteration) << "a longer polish";
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
      const double share = steps == 1 ? 0.9 : 0.4 + 0.5 * at / (steps - 1);
      EXPECT_NEAR(r.mean_weight, share, 0.01) << steps << " steps, iteration " << r.iteration;
      ++at;
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

// --- limits of the whole fit: what must come out the same, to the bit

Options short_options(Level level) {
  Options o = small_options(level);
  o.plain_iter = o.warm_iter = 2;
  o.pace_iter = synthetic::small() ? 2 : 4;
  o.polish = synthetic::small() ? 1 : 3;
  o.tol = 0;
  return o;
}

template <class T>
struct LimitsOf : testing::Test {};
TYPED_TEST_SUITE(LimitsOf, synthetic::Precisions);

TYPED_TEST(LimitsOf, AFitHasTheSameBitsForAnyNumberOfThreadsAndOthersForAnotherSeed) {
  synthetic::Recipe recipe{70, synthetic::small() ? 70 : 150, 8};
  recipe.bad_entries = 0.05;
  const auto p = synthetic::make<TypeParam>(recipe);
  for (const Level level : kLevels) {
    Options o = small_options(level);
    o.plain_iter = o.warm_iter = o.polish = 1;
    o.pace_iter = 2;
    o.max_iter = 5;
    const auto on = [&](int threads) { return run<TypeParam>(p.problem(), o, nullptr, {}, nullptr, threads); };
    const auto one = on(1);
    EXPECT_EQ(one.threads, 1);
    for (const int threads : synthetic::small() ? std::vector{3} : std::vector{2, 3, 5})
      expect_same(on(threads), one, std::string(name_of(level)) + ", threads " + std::to_string(threads));
    ++o.seed;
    EXPECT_NE(on(2).dictionary, one.dictionary);
  }
}

TEST(Limits, ANotYetPacedFitIsPlainSparseCoding) {
  const auto p = synthetic::make<double>({});
  Options o = short_options(Level::none);
  o.max_iter = 12;
  const auto expected = run(p.problem(), o);
  o.warm_iter = 1000;
  for (const Level level : {Level::sample, Level::feature, Level::element}) {
    o.level = level;
    const auto got = run(p.problem(), o);
    EXPECT_EQ(got.dictionary, expected.dictionary) << name_of(level);
    EXPECT_EQ(got.codes, expected.codes) << name_of(level);
    EXPECT_TRUE(std::isinf(got.lambda));
  }
}

TEST(Limits, HolesUnitWeightsAndAGraphThatWeighsNothing) {
  synthetic::Recipe recipe;
  if (synthetic::small()) recipe.n = 25;
  const auto p = synthetic::make<double>(recipe);
  const auto holes = synthetic::punch(p.X, 0.15);
  Weights<double> ones;
  ones.sample.assign(recipe.n, 1.0);
  for (const Level level : kLevels) {
    const std::string where(name_of(level));
    const Options o = short_options(level);
    expect_same(run<double>({holes.nan}, o), run<double>({holes.junk, holes.weights}, o), where);
    expect_same(run<double>({p.X}, o), run<double>({p.X, ones}, o), where);
    Options off = o, none = o;
    off.alpha = off.gamma = 0;
    none.graph = GraphKind::none;
    expect_same(run<double>({p.X}, off), run<double>({p.X}, none), where);
  }
}

// --- how soon a large fit returns once it is asked to

using Clock = std::chrono::steady_clock;

constexpr double kPatience = synthetic::sanitized ? 10 : 1;  // seconds

struct Large {
  synthetic::Planted<float> data;
  Options options;
};

Large large() {
  synthetic::Recipe recipe{200, 4000, 64, 3};
  recipe.bad_entries = 0.02;
  return {synthetic::make<float>(recipe),
          {.atoms = 64,
           .alpha = 2,
           .pace = Pace::quantile,
           .pace_iter = 10000,
           .plain_iter = 1,
           .warm_iter = 1,
           .max_iter = 10000,
           .tol = 0}};
}

TEST(Cancel, ALargeFitReturnsSoonAfterFlagAndDeadline) {
  const Large job = large();
  for (const bool by_flag : {true, false}) {
    std::atomic<bool> cancel{false};
    Control control{.cancel = &cancel};
    if (!by_flag) control.deadline = Clock::now() + std::chrono::milliseconds(300);
    auto running = std::async(std::launch::async, [&] { return fit(job.data.problem(), job.options, control); });
    ASSERT_EQ(running.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout)
        << "the fit must be in its work";
    const auto start = Clock::now();
    cancel = by_flag;
    const auto result = running.get();
    EXPECT_LT(std::chrono::duration<double>(Clock::now() - start).count(), kPatience);
    EXPECT_EQ(result.termination, by_flag ? Termination::cancelled : Termination::time_limit) << result.detail;
    EXPECT_EQ(std::ssize(result.history), result.iteration);
    EXPECT_TRUE(std::isfinite(result.objective.total()));
  }
}

/// Whenever the flag comes, the last record is that of a whole iteration.
TEST(Cancel, NoMomentOfCancellationLeavesAHalfRecord) {
  const auto p = synthetic::make<double>({.n = 200});
  const Options o{.atoms = 8,
                  .pace = Pace::quantile,
                  .pace_iter = 1000,
                  .plain_iter = 1,
                  .warm_iter = 1,
                  .max_iter = 1000,
                  .tol = 0};
  Random random(1);
  const int trials = synthetic::small() ? 20 : 40;
  for (int trial = 0; trial < trials; ++trial) {
    std::atomic<bool> cancel{false};
    std::thread alarm([&, wait = 200 + static_cast<int>(20000 * random.uniform())] {
      std::this_thread::sleep_for(std::chrono::microseconds(wait));
      cancel = true;
    });
    const auto result = fit(p.problem(), o, {.threads = 1, .cancel = &cancel});
    alarm.join();
    ASSERT_EQ(result.termination, Termination::cancelled) << result.detail;
    if (result.history.empty()) continue;
    const Record& last = result.history.back();
    const double slack = record_tolerance(last, 1e-9 * last.objective.magnitude());
    ASSERT_NEAR(last.objective.total(), result.objective.total(), slack)
        << "trial " << trial << ", iteration " << last.iteration;
    ASSERT_LE(last.objective.total(), last.objective_before + slack);
  }
}

}  // namespace

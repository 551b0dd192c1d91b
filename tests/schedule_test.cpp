#include "pace/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "algebra/random.hpp"

namespace {

using namespace pacewise;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ScheduleState in_phase(Phase phase, double lambda, int done = 0) {
  ScheduleState state;
  state.phase = phase;
  state.lambda = lambda;
  state.in_phase = done;
  return state;
}

/// Runs the schedule on losses that do not depend on it; the objective falls steeply, so nothing stalls.
std::vector<ScheduleState> run(const Options& options, const LossSummary& losses, int at_most = 1000) {
  std::vector<ScheduleState> out;
  ScheduleState state;
  double objective = 1;
  for (int iteration = 1; iteration <= at_most && !state.finished; ++iteration) {
    state = advance(state, losses, options);
    out.push_back(state);
    objective /= 2;
    state = conclude(state, objective, objective, iteration, options);
  }
  return out;
}

int count(const std::vector<ScheduleState>& states, Phase phase) {
  int n = 0;
  for (const auto& s : states) n += s.phase == phase ? 1 : 0;
  return n;
}

TEST(Schedule, NamesOfPhasesAndPaces) {
  EXPECT_EQ(name_of(Phase::plain), "plain");
  EXPECT_EQ(name_of(Phase::warm), "warm");
  EXPECT_EQ(name_of(Phase::paced), "paced");
  EXPECT_EQ(name_of(Phase::held), "held");
  EXPECT_EQ(name_of(Phase::polish), "polish");
  for (const Pace pace : {Pace::geometric, Pace::quantile}) EXPECT_EQ(parse<Pace>(name_of(pace)), pace);
  EXPECT_THROW(parse<Pace>("linear"), Error);
  for (const Level level : {Level::none, Level::sample, Level::feature, Level::element})
    EXPECT_EQ(parse<Level>(name_of(level)), level);
  EXPECT_THROW(parse<Level>("pixel"), Error);
}

TEST(Schedule, PhasesComeInOrderWithTheirCounts) {
  Options options{.pace = Pace::quantile};
  options.plain_iter = 3;
  options.warm_iter = 4;
  options.pace = Pace::quantile;
  options.pace_iter = 6;
  options.polish = 5;
  const auto states = run(options, {1, 0.5, 0.9});
  EXPECT_EQ(count(states, Phase::plain), 3);
  EXPECT_EQ(count(states, Phase::warm), 4);
  EXPECT_EQ(count(states, Phase::paced), 6);
  EXPECT_EQ(count(states, Phase::polish), 5);
  EXPECT_EQ(count(states, Phase::held), 0);
  for (std::size_t i = 1; i < states.size(); ++i) EXPECT_GE(states[i].phase, states[i - 1].phase);
  EXPECT_FALSE(states.back().stalled);
  for (const auto& s : states) EXPECT_EQ(std::isinf(s.lambda), s.phase != Phase::paced) << name_of(s.phase);
}

TEST(Schedule, PlainAndWarmMayBeLeftOut) {
  Options options{.pace = Pace::quantile};
  options.plain_iter = options.warm_iter = 0;
  EXPECT_EQ(run(options, {1, 0.5, 0.9}).front().phase, Phase::paced);
  options.warm_iter = 1;
  const auto states = run(options, {1, 0.5, 0.9});
  EXPECT_EQ(states[0].phase, Phase::warm);
  EXPECT_EQ(states[1].phase, Phase::paced);
}

TEST(Schedule, GeometricRunsUntilEveryUnitIsInThenPolishes) {
  Options options{.pace = Pace::quantile};
  options.pace = Pace::geometric;
  options.mu = 1.5;
  const auto states = run(options, {10, 1, 0});
  double lambda = 1;
  for (const auto& s : states) {
    if (s.phase != Phase::paced) continue;
    EXPECT_DOUBLE_EQ(s.lambda, lambda);
    lambda *= 1.5;
  }
  // 1.5^5 < 10 < 1.5^6: seven values, the last of which lets everything in
  EXPECT_EQ(count(states, Phase::paced), 7);
  EXPECT_EQ(states.back().phase, Phase::polish);
  EXPECT_TRUE(std::isinf(states.back().lambda));
}

TEST(Schedule, GeometricKeepsGoingWhileTheLargestLossEqualsLambda) {
  Options options{.pace = Pace::quantile};
  options.pace = Pace::geometric;
  EXPECT_EQ(advance(in_phase(Phase::paced, 2, 1), {2, 0, 0}, options).phase, Phase::paced);
  EXPECT_EQ(advance(in_phase(Phase::paced, 2, 1), {std::nextafter(2.0, 0.0), 0, 0}, options).phase, Phase::polish);
}

TEST(Schedule, WithoutPolishTheLastLambdaIsHeld) {
  Options options{.pace = Pace::quantile};
  options.polish = 0;
  for (const Pace pace : {Pace::geometric, Pace::quantile}) {
    options.pace = pace;
    const ScheduleState before = in_phase(Phase::paced, 3, options.pace_iter);
    const ScheduleState after = advance(before, {1, 0, 9}, options);
    EXPECT_EQ(after.phase, Phase::held);
    EXPECT_EQ(after.lambda, 3);
    EXPECT_EQ(after.in_phase, 0);
    const ScheduleState later = advance(after, {100, 50, 70}, options);
    EXPECT_EQ(later.phase, Phase::held) << "held means held";
    EXPECT_EQ(later.lambda, 3);
  }
}

TEST(Schedule, QuantileSharesRunFromSelectToFinal) {
  Options options{.pace = Pace::quantile};
  options.pace = Pace::quantile;
  options.select = 0.4;
  options.final = 0.9;
  options.pace_iter = 11;
  EXPECT_DOUBLE_EQ(quantile_share(options, 0), 0.4);
  EXPECT_DOUBLE_EQ(quantile_share(options, 5), 0.65);
  EXPECT_DOUBLE_EQ(quantile_share(options, 10), 0.9);
  EXPECT_DOUBLE_EQ(quantile_share(options, 50), 0.9);
  for (int step = 1; step < 12; ++step) EXPECT_GE(quantile_share(options, step), quantile_share(options, step - 1));
}

TEST(Schedule, QuantileTakesTheTargetOfEveryIteration) {
  Options options{.pace = Pace::quantile};
  options.pace = Pace::quantile;
  options.pace_iter = 4;
  const ScheduleState first = advance(in_phase(Phase::warm, kInfinity, options.warm_iter), {9, 2, 0}, options);
  EXPECT_EQ(first.phase, Phase::paced);
  EXPECT_EQ(first.lambda, 2);
  const ScheduleState second = advance(conclude(first, 1, 1, 11, options), {9, 0, 5}, options);
  EXPECT_EQ(second.phase, Phase::paced);
  EXPECT_EQ(second.lambda, 5);
  EXPECT_EQ(second.in_phase, 1);
}

TEST(Schedule, NothingToPaceGoesStraightOn) {
  Options options{.pace = Pace::quantile};
  EXPECT_EQ(advance(in_phase(Phase::warm, kInfinity, options.warm_iter), {0, 0, 0}, options).phase, Phase::polish);
  EXPECT_EQ(advance(in_phase(Phase::paced, 1, 2), {0, 0, 0}, options).phase, Phase::polish);
  options.polish = 0;
  const auto held = advance(in_phase(Phase::warm, kInfinity, options.warm_iter), {0, 0, 0}, options);
  EXPECT_EQ(held.phase, Phase::held);
  EXPECT_TRUE(std::isinf(held.lambda));
}

TEST(Schedule, LevelNoneStaysInWarmUntilItStalls) {
  Options options{.pace = Pace::quantile};
  options.exact_steps = true;
  options.level = Level::none;
  options.max_iter = 40;
  const auto states = run(options, {1, 0.5, 0.7});
  EXPECT_EQ(states.size(), 40u);
  EXPECT_EQ(count(states, Phase::warm), 40 - options.plain_iter);
  ScheduleState state = in_phase(Phase::warm, kInfinity, 3);
  state.last_objective = 5;
  state = conclude(state, 5, 5, 9, options);
  EXPECT_TRUE(state.finished);
  EXPECT_TRUE(state.stalled);
}

TEST(Schedule, StallCountsOnlyAtAFixedPhaseAndLambda) {
  Options options{.pace = Pace::quantile};
  options.exact_steps = true;
  for (const Phase phase : {Phase::plain, Phase::warm, Phase::paced, Phase::held, Phase::polish}) {
    const bool last = phase == Phase::held || phase == Phase::polish;
    ScheduleState state = in_phase(phase, last ? 1 : 2);
    state = conclude(state, 7, 7, 1, options);
    EXPECT_FALSE(state.finished) << name_of(phase) << ": the first iteration has nothing to compare with";
    state = conclude(state, 7, 7, 2, options);
    EXPECT_EQ(state.finished, last) << name_of(phase);
    EXPECT_EQ(state.stalled, last) << name_of(phase);
  }
  // a change of lambda forgets the objective
  options.pace = Pace::geometric;
  ScheduleState paced = conclude(in_phase(Phase::paced, 1), 7, 7, 1, options);
  EXPECT_EQ(paced.last_objective, 7);
  EXPECT_TRUE(std::isnan(advance(paced, {100, 0, 0}, options).last_objective));
  EXPECT_TRUE(std::isnan(advance(paced, {0.5, 0, 0}, options).last_objective)) << "so does a change of phase";
}

TEST(Schedule, CheapStepsThatStallAreFollowedByExactOnes) {
  Options options{.pace = Pace::quantile};
  ScheduleState state = in_phase(Phase::held, 1);
  EXPECT_FALSE(exact_steps(state, options));
  state = conclude(conclude(state, 7, 7, 1, options), 7, 7, 2, options);
  EXPECT_FALSE(state.finished);
  EXPECT_TRUE(exact_steps(state, options));
  state = conclude(state, 7, 7, 3, options);
  EXPECT_TRUE(state.finished && state.stalled);
  // the last two iterations of the polish are exact, whatever happened before
  options.polish = 5;
  EXPECT_FALSE(exact_steps(in_phase(Phase::polish, kInfinity, 2), options));
  EXPECT_TRUE(exact_steps(in_phase(Phase::polish, kInfinity, 3), options));
  options.exact_steps = true;
  EXPECT_TRUE(exact_steps(in_phase(Phase::plain, kInfinity), options));
}

TEST(Schedule, StallIsRelativeToTheMagnitude) {
  Options options{.pace = Pace::quantile};
  options.exact_steps = true;
  options.tol = 1e-3;
  ScheduleState state = in_phase(Phase::polish, kInfinity);
  state.last_objective = 1;
  EXPECT_FALSE(conclude(state, 1 - 2e-3, 1, 5, options).stalled);
  EXPECT_TRUE(conclude(state, 1 - 2e-3, 10, 5, options).stalled) << "a pace part of -9 makes the sum 1 meaningless";
  EXPECT_TRUE(conclude(state, 1 - 5e-4, 1, 5, options).stalled);
}

TEST(Schedule, MaxIterEndsAnyPhase) {
  Options options{.pace = Pace::quantile};
  for (int limit : {1, 4, 8, 13, 26}) {
    options.max_iter = limit;
    const auto states = run(options, {1, 0.5, 0.9});
    EXPECT_EQ(static_cast<int>(states.size()), limit);
    EXPECT_FALSE(states.back().stalled);
  }
}

TEST(Schedule, ReopeningJudgesByTheLimitsOfNow) {
  Options options{.pace = Pace::quantile};
  options.max_iter = 5;
  const ScheduleState limited = conclude(in_phase(Phase::warm, kInfinity, 1), 3, 3, 5, options);
  ASSERT_TRUE(limited.finished);
  EXPECT_TRUE(reopen(limited, 5, options).finished);
  options.max_iter = 6;
  EXPECT_FALSE(reopen(limited, 5, options).finished);
  ScheduleState polished = in_phase(Phase::polish, kInfinity, options.polish);
  EXPECT_TRUE(reopen(polished, 3, options).finished);
  ++options.polish;
  EXPECT_FALSE(reopen(polished, 3, options).finished);
  polished.stalled = true;
  EXPECT_TRUE(reopen(polished, 3, options).finished) << "what stalled stays stalled";
}

TEST(Schedule, LossQuantileSharesOfDistinctLosses) {
  const Vector<double> losses = {5, 1, 9, 3, 7, 2, 8, 4, 10, 6};
  for (int share = 1; share <= 10; ++share) {
    Vector<double> copy = losses;
    const double lambda = loss_quantile(copy, share / 10.0);
    int below = 0;
    for (const double l : losses) below += l < lambda ? 1 : 0;
    EXPECT_EQ(below, share) << "share " << share / 10.0;
    EXPECT_EQ(copy.size(), losses.size());
  }
  Vector<double> copy = losses;
  EXPECT_GT(loss_quantile(copy, 1), 10) << "share 1 lets the largest in";
  EXPECT_LT(loss_quantile(copy, 1), 10.001);
}

template <class T>
void expect_ranks_of_sorted_losses() {
  Random random(3);
  for (const double decades : {0.0, 1.0, 30.0}) {  // all of one class, and of very many
    Vector<T> losses(2000);
    std::vector<char> observed(losses.size());
    Vector<T> sorted;
    for (std::size_t u = 0; u < losses.size(); ++u) {
      losses[u] = static_cast<T>(std::pow(10.0, -decades * random.uniform()) * (1 + 1e-3 * random.uniform()));
      observed[u] = random.uniform() < 0.7 ? 1 : 0;
      if (observed[u] != 0) sorted.push_back(losses[u]);
    }
    double mean = 0;
    for (const T l : sorted) mean += static_cast<double>(l) / static_cast<double>(sorted.size());
    const auto tiny = [&](T l) { return static_cast<double>(l) <= 1e-12 * mean; };
    sorted.erase(std::remove_if(sorted.begin(), sorted.end(), tiny), sorted.end());
    std::sort(sorted.begin(), sorted.end());
    for (const double share : {0.01, 0.3, 0.5, 0.77, 0.999}) {
      const auto rank = static_cast<std::size_t>(share * static_cast<double>(sorted.size()));
      EXPECT_EQ(loss_quantile(losses, share, observed), static_cast<double>(sorted[rank])) << decades << ", " << share;
    }
  }
}

TEST(LossQuantile, IsTheLossOfThatRankAmongThoseObserved) {
  expect_ranks_of_sorted_losses<float>();
  expect_ranks_of_sorted_losses<double>();
}

/// Losses of several classes, ties and rounding among them, in pieces of a thousand that nobody stores together
TEST(LossQuantile, OfLossesInPiecesOnAnyNumberOfThreads) {
  const Index size = 100000, piece = 1000;
  Vector<double> losses(static_cast<std::size_t>(size));
  Random random(5);
  for (double& l : losses) {
    const double kind = random.uniform();
    l = kind < 0.2 ? 0.0 : kind < 0.4 ? 1e-13 * random.uniform() : kind < 0.6 ? 0.25 : std::exp(random.normal());
  }
  for (const double share : {0.01, 0.2, 0.3, 0.9, 1.0}) {
    Control alone;
    alone.threads = 1;
    const double expected = loss_quantile(losses, share, {}, alone);
    for (const int threads : {1, 2, 3}) {
      Control control;
      control.threads = threads;
      EXPECT_EQ(loss_quantile(losses, share, {}, control), expected) << share;
      const LossesInPieces<double> in_pieces = [&](const auto& use) {
        parallel_blocks(size / piece, control,
                        [&](Index block, int worker) { use(block, losses.data() + block * piece, piece, worker); });
      };
      EXPECT_EQ(loss_quantile(size / piece, in_pieces, share, control), expected) << share;
    }
  }
}

TEST(Schedule, LossQuantileIgnoresZeros) {
  Vector<float> losses(1000, 0.0f);
  for (std::size_t i = 0; i < 300; ++i) losses[3 * i] = static_cast<float>(i + 1);
  EXPECT_EQ(loss_quantile(losses, 0.5), 151) << "the median of 1 .. 300, not of 700 zeros and them";
  Vector<double> rounding(1000, 1e-18);
  rounding[17] = 2;
  rounding[400] = 3;
  EXPECT_EQ(loss_quantile(rounding, 0.5), 3) << "what is left of an exact reconstruction is rounding";
}

TEST(Schedule, LossQuantileOfNothing) {
  Vector<double> none, zeros(5, 0.0);
  EXPECT_EQ(loss_quantile(none, 0.5), 0);
  EXPECT_EQ(loss_quantile(zeros, 0.5), 0);
  EXPECT_EQ(loss_quantile(zeros, 1), 0);
}

TEST(Schedule, LossQuantileOfTiesIsTheTiedValue) {
  Vector<double> ties = {1, 2, 2, 2, 2, 2, 2, 3};
  EXPECT_EQ(loss_quantile(ties, 0.5), 2);
  EXPECT_EQ(loss_quantile(ties, 0.2), 2);
  EXPECT_EQ(loss_quantile(ties, 0.875), 3);
}

TEST(Schedule, LossQuantileLetsSomebodyInWhereverThereIsALoss) {
  for (const Vector<double>& losses : {Vector<double>{3}, Vector<double>(9, 3.0), Vector<double>{3, 3, 3, 3, 8}})
    for (const double share : {0.1, 0.5, 0.7, 1.0}) {
      Vector<double> copy = losses;
      // not barely: the linear weight 1 - l / lambda of the smallest has to count
      EXPECT_GT(loss_quantile(copy, share), 1.1 * 3) << losses.size() << " losses, share " << share;
    }
}

TEST(Schedule, LossQuantileIsMonotoneInTheShare) {
  Vector<double> losses;
  for (int i = 0; i < 57; ++i) losses.push_back(static_cast<double>((i * 37) % 23));
  double last = 0;
  for (double share = 0.01; share <= 1; share += 0.01) {
    Vector<double> copy = losses;
    const double lambda = loss_quantile(copy, share);
    EXPECT_GE(lambda, last);
    EXPECT_GT(lambda, 0);
    last = lambda;
  }
}

}  // namespace

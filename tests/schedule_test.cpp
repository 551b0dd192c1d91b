#include "pace/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "synthetic.hpp"

namespace {

using namespace pacewise;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

ScheduleState in_phase(Phase phase, double lambda, int done = 0) {
  return {.phase = phase, .in_phase = done, .lambda = lambda};
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

std::map<Phase, int> counts(const std::vector<ScheduleState>& states) {
  std::map<Phase, int> out;
  for (const auto& s : states) ++out[s.phase];
  return out;
}

TEST(Schedule, PhasesComeInOrderWithTheirCounts) {
  using enum Phase;
  const LossSummary losses{1, 0.5, 0.9};
  Options options{.pace = Pace::quantile, .pace_iter = 6, .plain_iter = 3, .warm_iter = 4, .polish = 5};
  const auto states = run(options, losses);
  EXPECT_EQ(counts(states), (std::map<Phase, int>{{plain, 3}, {warm, 4}, {paced, 6}, {polish, 5}}));
  for (std::size_t i = 1; i < states.size(); ++i) EXPECT_GE(states[i].phase, states[i - 1].phase);
  EXPECT_FALSE(states.back().stalled);
  for (const auto& s : states) EXPECT_EQ(std::isinf(s.lambda), s.phase != paced) << name_of(s.phase);
  for (const int limit : {1, 4, 8, 13, 17}) {  // ends any phase
    options.max_iter = limit;
    EXPECT_EQ(std::ssize(run(options, losses)), limit);
  }
  options.plain_iter = options.warm_iter = 0;  // may be left out
  EXPECT_EQ(run(options, losses)[0].phase, paced);
}

TEST(Schedule, GeometricRunsUntilEveryUnitIsInThenPolishes) {
  const Options options{.pace = Pace::geometric, .mu = 1.5};
  const auto states = run(options, {10, 1, 0});
  double lambda = 1;
  for (const auto& s : states) {
    if (s.phase != Phase::paced) continue;
    EXPECT_DOUBLE_EQ(s.lambda, lambda);
    lambda *= 1.5;
  }
  // 1.5^5 < 10 < 1.5^6: seven values, the last of which lets everything in
  EXPECT_EQ(counts(states)[Phase::paced], 7);
  EXPECT_EQ(states.back().phase, Phase::polish);
  EXPECT_TRUE(std::isinf(states.back().lambda));
  // it goes on while the largest loss equals lambda
  EXPECT_EQ(advance(in_phase(Phase::paced, 2, 1), {2, 0, 0}, options).phase, Phase::paced);
  EXPECT_EQ(advance(in_phase(Phase::paced, 2, 1), {std::nextafter(2.0, 0.0), 0, 0}, options).phase, Phase::polish);
}

TEST(Schedule, WithoutPolishTheLastLambdaIsHeld) {
  for (const Pace pace : {Pace::geometric, Pace::quantile}) {
    const Options options{.pace = pace, .polish = 0};
    ScheduleState state = in_phase(Phase::paced, 3, options.pace_iter);
    for (const LossSummary& losses : {LossSummary{1, 0, 9}, LossSummary{100, 50, 70}}) {
      state = advance(state, losses, options);
      EXPECT_EQ(state.phase, Phase::held);
      EXPECT_EQ(state.lambda, 3);
    }
  }
}

TEST(Schedule, NothingToPaceGoesStraightOn) {
  const Options polished{.pace = Pace::quantile}, held{.pace = Pace::quantile, .polish = 0};
  const ScheduleState warm = in_phase(Phase::warm, kInfinity, polished.warm_iter);
  EXPECT_EQ(advance(warm, {0, 0, 0}, polished).phase, Phase::polish);
  EXPECT_EQ(advance(in_phase(Phase::paced, 1, 2), {0, 0, 0}, polished).phase, Phase::polish);
  EXPECT_EQ(advance(warm, {0, 0, 0}, held).phase, Phase::held);
  EXPECT_TRUE(std::isinf(advance(warm, {0, 0, 0}, held).lambda));
}

TEST(Schedule, StallCountsOnlyAtAFixedPhaseAndLambda) {
  Options options{.pace = Pace::quantile, .exact_steps = true};
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

TEST(Schedule, WhereWeightsDifferLooseStepsComeBeforeExactOnes) {
  Options options{.pace = Pace::quantile};
  const auto phase = [&](const ScheduleState& state) {
    return state.finished ? 3 : !exact_steps(state, options) ? 0 : loose_steps(state, options) ? 1 : 2;
  };
  ScheduleState state = in_phase(Phase::held, 1);
  std::vector<int> course;
  for (int iteration = 1; iteration <= 5; ++iteration) {
    course.push_back(phase(state));
    state = conclude(state, 7, 7, iteration, options, true);
  }
  EXPECT_EQ(course, (std::vector<int>{0, 0, 1, 2, 3}));
  // a trimmed fit has no cheap steps in its pace, nor after it
  options.polish = 0;
  EXPECT_EQ(phase(in_phase(Phase::warm, kInfinity)), 0);
  EXPECT_EQ(phase(in_phase(Phase::paced, 1)), 1);
  EXPECT_EQ(phase(conclude(conclude(in_phase(Phase::held, 1), 7, 7, 1, options, true), 7, 7, 2, options, true)), 2);
  options.exact_steps = true;
  EXPECT_EQ(phase(in_phase(Phase::paced, 1)), 2);
}

TEST(Schedule, StallIsRelativeToTheMagnitude) {
  const Options options{.pace = Pace::quantile, .tol = 1e-3, .exact_steps = true};
  ScheduleState state = in_phase(Phase::polish, kInfinity);
  state.last_objective = 1;
  EXPECT_FALSE(conclude(state, 1 - 2e-3, 1, 5, options).stalled);
  EXPECT_TRUE(conclude(state, 1 - 2e-3, 10, 5, options).stalled) << "a pace part of -9 makes the sum 1 meaningless";
  EXPECT_TRUE(conclude(state, 1 - 5e-4, 1, 5, options).stalled);
}

template <class T>
struct LossQuantiles : testing::Test {};
TYPED_TEST_SUITE(LossQuantiles, synthetic::Precisions);

TYPED_TEST(LossQuantiles, AreTheLossesOfThatRankAmongThoseObserved) {
  using T = TypeParam;
  Random random(3);
  for (const double decades : {0.0, 1.0, 30.0}) {  // all of one class, and of very many
    Vector<T> losses(2000);
    Vector<char> observed(losses.size());
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
    const double expected = loss_quantile(losses, share, {}, {.threads = 1});
    for (const int threads : {1, 2, 3}) {
      const Control control{.threads = threads};
      EXPECT_EQ(loss_quantile(losses, share, {}, control), expected) << share;
      const LossesInPieces<double> in_pieces = [&](const auto& use) {
        parallel_blocks(size / piece, control,
                        [&](Index block, int worker) { use(block, losses.data() + block * piece, piece, worker); });
      };
      EXPECT_EQ(loss_quantile(size / piece, in_pieces, share, control), expected) << share;
    }
  }
}

TEST(LossQuantile, IgnoresZeros) {
  Vector<float> losses(1000, 0.0f);
  for (std::size_t i = 0; i < 300; ++i) losses[3 * i] = static_cast<float>(i + 1);
  EXPECT_EQ(loss_quantile(losses, 0.5), 151) << "the median of 1 .. 300, not of 700 zeros and them";
  Vector<double> rounding(1000, 1e-18);
  rounding[17] = 2;
  rounding[400] = 3;
  EXPECT_EQ(loss_quantile(rounding, 0.5), 3) << "what is left of an exact reconstruction is rounding";
  for (const Vector<double>& nothing : {Vector<double>{}, Vector<double>(5, 0.0)})
    for (const double share : {0.5, 1.0}) EXPECT_EQ(loss_quantile(nothing, share), 0);
  EXPECT_GT(loss_quantile(losses, 1), 300);
  EXPECT_LT(loss_quantile(losses, 1), 300.1) << "barely above the largest";
}

TEST(LossQuantile, OfTies) {
  const Vector<double> ties = {1, 2, 2, 2, 2, 2, 2, 3};
  for (const auto& [share, expected] : {std::pair{0.5, 2.0}, {0.2, 2.0}, {0.875, 3.0}})
    EXPECT_EQ(loss_quantile(ties, share), expected);
  // somebody is let in, and not barely: the linear weight 1 - l / lambda of the smallest has to count
  for (const Vector<double>& losses : {Vector<double>{3}, Vector<double>(9, 3.0), Vector<double>{3, 3, 3, 3, 8}})
    for (const double share : {0.1, 0.5, 0.7, 1.0})
      EXPECT_GT(loss_quantile(losses, share), 1.1 * 3) << losses.size() << " losses, share " << share;
  Vector<double> many;
  for (int i = 0; i < 57; ++i) many.push_back(static_cast<double>((i * 37) % 23));
  double last = 0;
  for (double share = 0.01; share <= 1; share += 0.01) {
    EXPECT_GE(loss_quantile(many, share), last) << "monotone";
    last = loss_quantile(many, share);
  }
}

}  // namespace

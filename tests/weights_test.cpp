#include "solve/weights.hpp"

#include <gtest/gtest.h>

#include "tolerances.hpp"
#include "zoo.hpp"

namespace {

using namespace pacewise;

constexpr Level kLevels[] = {Level::none, Level::sample, Level::feature, Level::element};

template <class T>
class WeightsStep : public testing::Test {};
using Precisions = testing::Types<double, float>;
TYPED_TEST_SUITE(WeightsStep, Precisions);

/// All three kinds of user weights at once, with holes; n > 64 crosses a block
template <class T>
zoo::Instance<T> weighted(Index n = 100) {
  zoo::Shape shape{"weighted", 9, n, 5};
  shape.missing = 0.2;
  shape.unobserved = true;
  auto p = zoo::make<T>(shape, zoo::Kind::element, 5);
  Random random(8);
  for (Index j = 0; j < n; ++j) p.weights.sample.push_back(static_cast<T>(random.uniform() + 0.1));
  for (Index i = 0; i < 9; ++i) p.weights.feature.push_back(static_cast<T>(2 * random.uniform()));
  p.weights.sample[3] = p.weights.feature[2] = 0;
  return p;
}

/// l of every unit, entry by entry in long double
template <class T>
std::vector<long double> slow_losses(const zoo::Instance<T>& p, Level level) {
  const auto s = zoo::setting(p, 0, 0, 0);
  const Index m = p.X.rows(), n = p.X.cols();
  std::vector<long double> out(
      static_cast<std::size_t>(unit_count(level == Level::none ? Level::sample : level, m, n)));
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i) {
      const Index unit = level == Level::element ? j * m + i : (level == Level::feature ? i : j);
      const auto r = reference::residual(s, i, j);
      out[static_cast<std::size_t>(unit)] += s.W(i, j) * r * r;
    }
  return out;
}

TYPED_TEST(WeightsStep, LossesMatchTheSlowPath) {
  for (const auto& p : {weighted<TypeParam>(), zoo::make<TypeParam>(zoo::shapes()[0], zoo::Kind::none, 3)})
    for (const Level level : kLevels) {
      const auto fast = unit_losses<TypeParam>(p.X, p.weights, p.B, p.S, level, {});
      const auto slow = slow_losses(p, level);
      ASSERT_EQ(fast.size(), slow.size());
      long double top = 0;
      for (const auto l : slow) top = std::max(top, l);
      for (std::size_t u = 0; u < slow.size(); ++u)
        EXPECT_NEAR(static_cast<double>(fast[u]), static_cast<double>(slow[u]),
                    tolerance<TypeParam>().recomputed * static_cast<double>(top))
            << name_of(level) << " unit " << u;
    }
}

TYPED_TEST(WeightsStep, ObservedUnitsAreThoseWithAPositiveWeight) {
  const auto p = weighted<TypeParam>();
  const Index m = p.X.rows(), n = p.X.cols();
  for (const Level level : kLevels) {
    const auto observed = observed_units(p.weights, m, n, level);
    std::vector<char> slow(static_cast<std::size_t>(unit_count(level == Level::none ? Level::sample : level, m, n)), 0);
    const auto W = reference::expand(p.weights, m, n);
    for (Index j = 0; j < n; ++j)
      for (Index i = 0; i < m; ++i) {
        const Index unit = level == Level::element ? j * m + i : (level == Level::feature ? i : j);
        if (W(i, j) > 0) slow[static_cast<std::size_t>(unit)] = 1;
      }
    EXPECT_EQ(observed, slow) << name_of(level);
  }
  const Weights<TypeParam> none;
  for (const Level level : kLevels) EXPECT_TRUE(observed_units(none, 4, 5, level).empty()) << "all are observed";
}

TYPED_TEST(WeightsStep, UnitCounts) {
  EXPECT_EQ(unit_count(Level::none, 3, 5), 0);
  EXPECT_EQ(unit_count(Level::sample, 3, 5), 5);
  EXPECT_EQ(unit_count(Level::feature, 3, 5), 3);
  EXPECT_EQ(unit_count(Level::element, 3, 5), 15);
}

TYPED_TEST(WeightsStep, EveryUnitGetsTheWeightOfItsLoss) {
  using T = TypeParam;
  Vector<T> losses(20000);  // more than two blocks of units
  Random random(3);
  for (auto& l : losses) l = static_cast<T>(2 * random.uniform());
  for (const auto name : regularizer_names()) {
    const Regularizer r = parse_regularizer(name);
    for (const int threads : {1, 3}) {
      Vector<T> v;
      Control control;
      control.threads = threads;
      solve_weights(losses, r, 0.8, v, control);
      ASSERT_EQ(v.size(), losses.size());
      for (std::size_t u = 0; u < losses.size(); ++u)
        ASSERT_EQ(v[u], static_cast<T>(pace_weight(r, static_cast<double>(losses[u]), 0.8))) << name << " " << u;
    }
  }
}

TYPED_TEST(WeightsStep, InfiniteLambdaTrustsEverythingAndCostsNothing) {
  using T = TypeParam;
  const Vector<T> losses = {0, 1, 1000};
  for (const auto name : regularizer_names()) {
    const Regularizer r = parse_regularizer(name);
    Vector<T> v = {0, 0, 0};
    solve_weights(losses, r, std::numeric_limits<double>::infinity(), v, {});
    EXPECT_EQ(v, (Vector<T>{1, 1, 1})) << name;
    const auto sum = summarize(losses, v, {}, r, std::numeric_limits<double>::infinity(), {});
    EXPECT_EQ(sum.fit, 1001) << name;
    EXPECT_EQ(sum.value, 0) << name;
    EXPECT_EQ(sum.selected, 1) << name;
    EXPECT_EQ(sum.mean_weight, 1) << name;
    EXPECT_EQ(sum.largest, 1000) << name;
  }
}

TYPED_TEST(WeightsStep, SummaryMatchesTheSlowPath) {
  using T = TypeParam;
  Random random(4);
  const std::size_t units = 20000;
  Vector<T> losses(units), v(units);
  std::vector<char> observed(units);
  for (std::size_t u = 0; u < units; ++u) {
    losses[u] = static_cast<T>(random.uniform() * 3);
    v[u] = static_cast<T>(random.uniform());
    observed[u] = random.uniform() < 0.7 ? 1 : 0;
  }
  for (const auto name : regularizer_names())
    for (const bool holes : {false, true}) {
      const Regularizer r = parse_regularizer(name);
      const double lambda = 1.1;
      long double fit = 0, value = 0, weight = 0, in = 0, count = 0, largest = 0;
      for (std::size_t u = 0; u < units; ++u) {
        if (holes && observed[u] == 0) continue;
        const double l = static_cast<double>(losses[u]), w = static_cast<double>(v[u]);
        fit += static_cast<long double>(w) * l;
        value += pace_value(r, w, lambda);
        weight += w;
        in += l < lambda ? 1 : 0;
        largest = std::max<long double>(largest, l);
        ++count;
      }
      const auto sum = summarize(losses, v, holes ? observed : std::vector<char>{}, r, lambda, {});
      EXPECT_NEAR(sum.fit, static_cast<double>(fit), 1e-12 * static_cast<double>(fit)) << name;
      EXPECT_NEAR(sum.value, static_cast<double>(value), 1e-11 * std::abs(static_cast<double>(value))) << name;
      EXPECT_NEAR(sum.mean_weight, static_cast<double>(weight / count), 1e-12) << name;
      EXPECT_NEAR(sum.selected, static_cast<double>(in / count), 1e-12) << name;
      EXPECT_EQ(sum.largest, static_cast<double>(largest)) << name;
    }
}

TYPED_TEST(WeightsStep, CombinedWeightIsTheProduct) {
  using T = TypeParam;
  const auto with_all = weighted<T>();
  const Index m = with_all.X.rows(), n = with_all.X.cols();
  Random random(6);
  for (const bool user : {true, false})
    for (const Level level : kLevels) {
      const Weights<T> w = user ? with_all.weights : Weights<T>{};
      Vector<T> v(static_cast<std::size_t>(unit_count(level, m, n)));
      for (auto& x : v) x = static_cast<T>(random.uniform());
      Weights<T> out = w;
      for (int repeat = 0; repeat < 2; ++repeat)  // bringing it up to date twice does not multiply twice
        combine(w, v, level, m, n, out);
      const auto before = reference::expand(w, m, n), after = reference::expand(out, m, n);
      for (Index j = 0; j < n; ++j)
        for (Index i = 0; i < m; ++i) {
          const Index unit = level == Level::element ? j * m + i : (level == Level::feature ? i : j);
          const double pace = level == Level::none ? 1 : static_cast<double>(v[static_cast<std::size_t>(unit)]);
          ASSERT_NEAR(after(i, j), before(i, j) * pace, 4e-7 * before(i, j)) << name_of(level);
          ASSERT_EQ(after(i, j) == 0, before(i, j) * pace == 0) << "holes stay holes";
        }
    }
}

}  // namespace

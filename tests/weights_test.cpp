#include "solve/weights.hpp"

#include <gtest/gtest.h>

#include "synthetic.hpp"
#include "tolerances.hpp"
#include "zoo.hpp"

namespace {

using namespace pacewise;
using reference::Dense;
using zoo::kLevels;

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
  auto p = zoo::make<T>(shape, Level::element, 5);
  Random random(8);
  for (Index j = 0; j < n; ++j) p.weights.sample.push_back(static_cast<T>(random.uniform() + 0.1));
  for (Index i = 0; i < 9; ++i) p.weights.feature.push_back(static_cast<T>(2 * random.uniform()));
  p.weights.sample[3] = p.weights.feature[2] = 0;
  return p;
}

/// The sum over each unit; without weights a sample is one
Dense by_unit(const Dense& a, Level level) {
  if (level == Level::element) return a.reshaped();
  if (level == Level::feature) return a.rowwise().sum();
  return a.colwise().sum().transpose();
}

TYPED_TEST(WeightsStep, LossesAndObservedUnitsMatchTheSlowPath) {
  for (const auto& p : {weighted<TypeParam>(), zoo::make<TypeParam>(zoo::shapes()[0], Level::none, 3)})
    for (const Level level : kLevels) {
      const auto s = zoo::setting(p, 0, {}, 0);
      const Dense slow = by_unit(s.W.cwiseProduct(residual(s).cwiseAbs2()), level), weight = by_unit(s.W, level);
      const auto fast = unit_losses<TypeParam>(p.X, p.weights, p.B, p.S, level, {});
      const auto observed = observed_units(p.weights, p.X.rows(), p.X.cols(), level);
      ASSERT_EQ(std::ssize(fast), slow.size());
      ASSERT_EQ(observed.empty(), p.weights.entry.empty()) << "empty: all are observed";
      for (Index u = 0; u < slow.size(); ++u) {
        EXPECT_NEAR(fast[u], static_cast<double>(slow(u)),
                    tolerance<TypeParam>().recomputed * static_cast<double>(slow.maxCoeff()))
            << name_of(level) << " unit " << u;
        if (!observed.empty()) {
          EXPECT_EQ(observed[static_cast<std::size_t>(u)] != 0, weight(u) > 0) << name_of(level) << " unit " << u;
        }
      }
    }
}

TEST(Units, AreCounted) {
  EXPECT_EQ(unit_count(Level::none, 3, 5), 0);
  EXPECT_EQ(unit_count(Level::sample, 3, 5), 5);
  EXPECT_EQ(unit_count(Level::feature, 3, 5), 3);
  EXPECT_EQ(unit_count(Level::element, 3, 5), 15);
}

TYPED_TEST(WeightsStep, WeightsAndTheirSummaryMatchTheSlowPath) {
  using T = TypeParam;
  Random random(4);
  const Index units = 20000;  // more than two blocks
  Vector<T> losses(units), v(units);
  Vector<char> observed(static_cast<std::size_t>(units));
  for (T& l : losses) l = static_cast<T>(random.uniform() * 3);
  for (T& w : v) w = static_cast<T>(random.uniform());
  for (char& o : observed) o = random.uniform() < 0.7 ? 1 : 0;
  const double lambda = 1.1;
  for (const auto name : regularizer_names()) {
    const Regularizer r = parse_regularizer(name);
    for (const int threads : {1, 3}) {
      Vector<T> found;
      solve_weights(losses, r, lambda, found, {.threads = threads});
      for (Index u = 0; u < units; ++u)
        ASSERT_EQ(found[u], static_cast<T>(pace_weight(r, static_cast<double>(losses[u]), lambda))) << name << " " << u;
    }
    for (const bool holes : {false, true}) {
      double fit = 0, value = 0, weight = 0, in = 0, count = 0, largest = 0;
      for (Index u = 0; u < units; ++u) {
        if (holes && observed[static_cast<std::size_t>(u)] == 0) continue;
        const double l = static_cast<double>(losses[u]), w = static_cast<double>(v[u]);
        fit += w * l;
        value += pace_value(r, w, lambda);
        weight += w;
        in += l < lambda ? 1 : 0;
        largest = std::max(largest, l);
        ++count;
      }
      const auto sum = summarize(losses, v, holes ? observed : Vector<char>{}, r, lambda, {});
      EXPECT_NEAR(sum.fit, fit, 1e-12 * fit) << name;
      EXPECT_NEAR(sum.value, value, 1e-11 * std::abs(value)) << name;
      EXPECT_NEAR(sum.mean_weight, weight / count, 1e-12) << name;
      EXPECT_NEAR(sum.selected, in / count, 1e-12) << name;
      EXPECT_EQ(sum.largest, largest) << name;
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
    EXPECT_EQ((std::vector{sum.fit, sum.value, sum.selected, sum.mean_weight, sum.largest}),
              (std::vector<double>{1001, 0, 1, 1, 1000}))
        << name;
  }
}

TYPED_TEST(WeightsStep, CombinedWeightIsTheProduct) {
  using T = TypeParam;
  const auto all = weighted<T>();
  const Index m = all.X.rows(), n = all.X.cols();
  Random random(6);
  for (const Weights<T>& w : {all.weights, Weights<T>{}})
    for (const Level level : kLevels) {
      Vector<T> v(unit_count(level, m, n));
      for (T& x : v) x = static_cast<T>(random.uniform());
      Weights<T> out = w;
      for (int repeat = 0; repeat < 2; ++repeat)  // bringing it up to date twice does not multiply twice
        combine(w, v, level, m, n, out);
      Dense expected = reference::wide(w, m, n);
      for (Index j = 0; j < n && level != Level::none; ++j)
        for (Index i = 0; i < m; ++i)
          expected(i, j) *= v[level == Level::element ? j * m + i : level == Level::feature ? i : j];
      const Dense found = reference::wide(out, m, n);
      EXPECT_TRUE(((found - expected).array().abs() <= 4e-7L * expected.array()).all()) << name_of(level);
      EXPECT_TRUE(((found.array() == 0) == (expected.array() == 0)).all()) << "holes stay holes";
    }
}

}  // namespace

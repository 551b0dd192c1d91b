#include "pacewise/regularizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "synthetic.hpp"

namespace {

using namespace pacewise;

std::vector<Regularizer> all() {
  return {Hard{},        Linear{},         Polynomial{1.5}, Polynomial{2}, Polynomial{3}, Polynomial{6},
          Logarithmic{}, Logarithmic{1e4}, Mixture{0.1},    Mixture{0.5},  Mixture{0.95}, Welsch{}};
}

const std::vector<double> kLambdas = {1e-9, 1e-3, 0.3, 1, 7.5, 900};
/// losses as multiples of lambda: boundaries of every regulariser (0, ratio, 1) and both sides of them
const std::vector<double> kRatios = {0,          1e-14,     1e-3,       0.1, 0.1 - 1e-9, 0.1 + 1e-9, 0.25,
                                     0.5 - 1e-9, 0.5,       0.5 + 1e-9, 0.7, 0.95,       0.999,      1 - 1e-12,
                                     1,          1 + 1e-12, 1.3,        2,   10,         1e4};

/// min over [0, 1] of v l + F(v; lambda): a grid, then golden section around its best point
double smallest_value(const Regularizer& r, double l, double lambda) {
  const auto f = [&](double v) { return v * l + pace_value(r, v, lambda); };
  constexpr int points = 400;
  int best = 0;
  for (int i = 1; i <= points; ++i)
    if (f(i / double{points}) < f(best / double{points})) best = i;
  double a = std::max(0, best - 1) / double{points}, b = std::min(points, best + 1) / double{points};
  double lowest = std::min({f(best / double{points}), f(0), f(1)});
  const double golden = (std::sqrt(5.0) - 1) / 2;
  for (int step = 0; step < 60; ++step) {
    const double x = b - golden * (b - a), y = a + golden * (b - a);
    lowest = std::min({lowest, f(x), f(y)});
    if (f(x) < f(y))
      b = y;
    else
      a = x;
  }
  return lowest;
}

std::string label(const Regularizer& r, double l, double lambda) {
  return std::string(name_of(r)) + " #" + std::to_string(r.index()) + ", l " + std::to_string(l) + ", lambda " +
         std::to_string(lambda);
}

TEST(Regularizer, WeightMinimisesLossPlusValue) {
  for (const auto& r : all())
    for (const double lambda : kLambdas)
      for (const double ratio : kRatios) {
        const double l = ratio * lambda, v = pace_weight(r, l, lambda);
        ASSERT_GE(v, 0) << label(r, l, lambda);
        ASSERT_LE(v, 1) << label(r, l, lambda);
        // F of the logarithmic one is up to c / |log z| in size: that sets the rounding of the comparison
        const double size = l + lambda + std::abs(pace_value(r, 0, lambda)) + std::abs(pace_value(r, 1, lambda));
        const double value = v * l + pace_value(r, v, lambda);
        EXPECT_LE(value, smallest_value(r, l, lambda) + 1e-13 * size) << label(r, l, lambda);
      }
}

TEST(Regularizer, WeightFallsWithTheLossAndGrowsWithLambda) {
  for (const auto& r : all())
    for (std::size_t a = 0; a < kLambdas.size(); ++a)
      for (const double step : {1e-6, 0.05, 0.5}) {
        const double lambda = kLambdas[a];
        for (const double ratio : kRatios) {
          const double l = ratio * lambda, v = pace_weight(r, l, lambda);
          EXPECT_LE(pace_weight(r, l + step * lambda, lambda), v + 1e-12) << label(r, l, lambda);
          EXPECT_GE(pace_weight(r, l, lambda * (1 + step)), v - 1e-12) << label(r, l, lambda);
        }
      }
}

TEST(Regularizer, LogarithmicStaysAPaceWhenLambdaComesNearOrPassesItsScale) {
  const Logarithmic r{1};
  for (const double l : {0.0, 0.05, 0.3, 0.9}) {
    double last = 0;
    for (double lambda = 0.01; lambda < 100; lambda *= 1.1) {
      const double v = r.weight(l, lambda);
      ASSERT_TRUE(v >= 0 && v <= 1) << "v " << v << ", l " << l << ", lambda " << lambda;
      // the table's formula itself is not monotone in lambda once lambda passes about 0.6 of its scale
      if (lambda <= 0.5 || lambda > 1.2) {
        ASSERT_GE(v, last - 1e-12) << "l " << l << ", lambda " << lambda;
      }
      ASSERT_TRUE(std::isfinite(r.value(v, lambda))) << "l " << l << ", lambda " << lambda;
      last = v;
    }
  }
}

TEST(Regularizer, ClosedFormsOfTheTable) {
  for (const double lambda : {0.2, 0.8, 3.0})
    for (const double ratio : {0.0, 0.2, 0.4, 0.6, 0.9, 1.1, 3.0}) {
      const double l = ratio * lambda;
      const bool in = l < lambda;
      EXPECT_EQ(Hard::weight(l, lambda), in ? 1 : 0);
      EXPECT_NEAR(Linear::weight(l, lambda), std::max(0.0, 1 - l / lambda), 1e-15);
      for (const double power : {2.0, 4.0})
        EXPECT_NEAR(Polynomial{power}.weight(l, lambda), in ? std::pow(1 - l / lambda, 1 / (power - 1)) : 0, 1e-14);
      EXPECT_NEAR(Welsch::weight(l, lambda), std::exp(-l / lambda), 1e-15);
      const double l1 = lambda, l2 = 0.3 * lambda, z = l1 * l2 / (l1 - l2);
      EXPECT_NEAR(Mixture{0.3}.weight(l, lambda), l <= l2 ? 1 : (l >= l1 ? 0 : z / l - z / l1), 1e-14);
      // logarithmic, losses divided by 10: lambda' = lambda / 10 in (0, 1)
      const double zeta = 1 - lambda / 10;
      EXPECT_NEAR(Logarithmic{10}.weight(l, lambda), in ? std::log(l / 10 + zeta) / std::log(zeta) : 0, 1e-12);
    }
}

TEST(Regularizer, ValuesOfTheTable) {
  const double lambda = 0.7;
  for (const double v : {0.0, 0.3, 0.8, 1.0}) {
    EXPECT_NEAR(Hard::value(v, lambda), -lambda * v, 1e-15);
    EXPECT_NEAR(Linear::value(v, lambda), lambda * (v * v / 2 - v), 1e-15);
    for (const double power : {2.0, 3.0})
      EXPECT_NEAR(Polynomial{power}.value(v, lambda), lambda * (std::pow(v, power) / power - v), 1e-15);
    EXPECT_NEAR(Welsch::value(v, lambda), v > 0 ? lambda * (v * std::log(v) - v) : 0, 1e-15);
    const double z = 0.7 * 0.35 / 0.35;
    EXPECT_NEAR(Mixture{0.5}.value(v, lambda), -z * std::log(v + z / lambda), 1e-15);
    // F'(v) = c (z - z^v): the constant in F is free
    const double h = 1e-6, zeta = 1 - 0.7 / 10;
    const double slope = (Logarithmic{10}.value(v + h, lambda) - Logarithmic{10}.value(v - h, lambda)) / (2 * h);
    EXPECT_NEAR(slope, 10 * (zeta - std::pow(zeta, v)), 1e-6);
  }
}

// Unknown names and parameters out of range: options_test.cpp.
TEST(Regularizer, NamesParseAndRoundTrip) {
  const std::vector<std::string_view> names = regularizer_names();
  const std::vector<std::string_view> in_files = {"hard", "linear", "polynomial", "logarithmic", "mixture", "welsch"};
  ASSERT_GE(names.size(), in_files.size());
  EXPECT_TRUE(std::equal(in_files.begin(), in_files.end(), names.begin()));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Regularizer r = parse_regularizer(names[i]);
    EXPECT_EQ(r.index(), i);
    EXPECT_EQ(name_of(r), names[i]);
    EXPECT_NO_THROW(validate(r)) << "the defaults are valid";
  }
}

}  // namespace

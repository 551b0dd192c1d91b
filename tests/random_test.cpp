#include "algebra/random.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>

namespace {

using pacewise::Index;
using pacewise::Random;

// The published reference sequence of SplitMix64 for the seeds 0 and 1234567.
TEST(Random, BitsAreSplitMix64) {
  Random zero(0);
  EXPECT_EQ(zero.bits(), 0xe220a8397b1dcdafULL);
  EXPECT_EQ(zero.bits(), 0x6e789e6aa1b965f4ULL);
  EXPECT_EQ(zero.bits(), 0x06c45d188009454fULL);
  Random other(1234567);
  for (const std::uint64_t expected :
       {6457827717110365317ULL, 3203168211198807973ULL, 9817491932198370423ULL, 4593380528125082431ULL})
    EXPECT_EQ(other.bits(), expected);
}

TEST(Random, StateIsTheWholeGenerator) {
  Random a(42);
  for (int i = 0; i < 10; ++i) a.normal();
  Random b(a.state());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.bits(), b.bits());
}

TEST(Random, UniformAndNormalHaveTheRightMoments) {
  Random random(1);
  const int n = 200000;
  const Eigen::ArrayXd u = Eigen::ArrayXd::NullaryExpr(n, [&] { return random.uniform(); }),
                       z = Eigen::ArrayXd::NullaryExpr(n, [&] { return random.normal(); });
  EXPECT_GE(u.minCoeff(), 0);
  EXPECT_LT(u.maxCoeff(), 1);
  ASSERT_TRUE(z.allFinite());
  // the mean of a power, and its variance
  const auto expect_moment = [&](const Eigen::ArrayXd& x, int power, double mean, double variance) {
    EXPECT_NEAR(x.pow(power).mean(), mean, 5 * std::sqrt(variance / n)) << power;
  };
  expect_moment(u, 1, 0.5, 1.0 / 12);
  expect_moment(u, 2, 1.0 / 3, 4.0 / 45);
  expect_moment(z, 1, 0, 1);
  expect_moment(z, 2, 1, 2);
  expect_moment(z, 3, 0, 15);
  expect_moment(z, 4, 3, 96);
}

TEST(Random, BelowIsUniformAndInRange) {
  Random random(3);
  const int n = 70000, k = 7;
  std::vector<int> count(k);
  for (int i = 0; i < n; ++i) {
    const Index r = random.below(k);
    ASSERT_GE(r, 0);
    ASSERT_LT(r, k);
    ++count[static_cast<std::size_t>(r)];
  }
  double chi2 = 0;  // 6 degrees of freedom: above 27.9 once in 10^4
  for (const int c : count) chi2 += (c - n / k) * (c - n / k) / static_cast<double>(n / k);
  EXPECT_LT(chi2, 27.9);
  EXPECT_EQ(random.below(1), 0);
}

TEST(Random, DrawFollowsTheWeights) {
  Random random(4);
  const pacewise::Vector<double> weight{0, 1, 0, 5, 2, 0};
  const int n = 80000;
  std::vector<int> count(weight.size());
  for (int i = 0; i < n; ++i) ++count[static_cast<std::size_t>(random.draw(weight))];
  for (std::size_t i = 0; i < weight.size(); ++i) {
    const double p = weight[i] / 8;
    EXPECT_NEAR(count[i], n * p, 5 * std::sqrt(n * p * (1 - p))) << i;
  }
}

TEST(Random, DrawWithoutWeightGivesMinusOne) {
  Random random(5);
  EXPECT_EQ(random.draw({}), -1);
  EXPECT_EQ(random.draw({0, 0, 0}), -1);
  EXPECT_EQ(random.draw({0, 0, 1e-300}), 2);
}

}  // namespace

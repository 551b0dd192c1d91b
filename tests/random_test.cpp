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
  for (const std::uint64_t expected : {0xe220a8397b1dcdafULL, 0x6e789e6aa1b965f4ULL, 0x06c45d188009454fULL})
    EXPECT_EQ(zero.bits(), expected);
  Random other(1234567);
  for (const std::uint64_t expected :
       {6457827717110365317ULL, 3203168211198807973ULL, 9817491932198370423ULL, 4593380528125082431ULL})
    EXPECT_EQ(other.bits(), expected);
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

/// Draws of 0 .. weight.size() - 1 come as often as their weights say
template <class Draw>
void expect_shares(const Eigen::ArrayXd& weight, const Draw& draw) {
  const int n = 80000;
  Eigen::ArrayXd count = Eigen::ArrayXd::Zero(weight.size());
  for (int i = 0; i < n; ++i) {
    const Index drawn = draw();
    ASSERT_TRUE(drawn >= 0 && drawn < weight.size());
    ++count(drawn);
  }
  const Eigen::ArrayXd p = weight / weight.sum();
  EXPECT_TRUE(((count - n * p).abs() <= 5 * (n * p * (1 - p)).sqrt()).all()) << count.transpose();
}

TEST(Random, DrawsFollowTheirWeights) {
  Random random(3);
  const pacewise::Vector<double> weight{0, 1, 0, 5, 2, 0};
  expect_shares(Eigen::Map<const Eigen::ArrayXd>(weight.data(), 6), [&] { return random.draw(weight); });
  expect_shares(Eigen::ArrayXd::Ones(7), [&] { return random.below(7); });
  EXPECT_EQ(random.below(1), 0);
  EXPECT_EQ(random.draw({}), -1);
  EXPECT_EQ(random.draw({0, 0, 0}), -1);
  EXPECT_EQ(random.draw({0, 0, 1e-300}), 2);
}

}  // namespace

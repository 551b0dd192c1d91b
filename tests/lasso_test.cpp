// The lasso of one sample,  min s'A s - 2 c's + sum_k p_k |s_k|, against enumeration and its KKT conditions.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "algebra/eigen.hpp"
#include "algebra/random.hpp"
#include "solve/lasso_path.hpp"

namespace {

using namespace pacewise;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct OneSample {
  MatrixXd A;
  VectorXd c, p;
  bool positive = false;

  double top() const { return 2 * c.cwiseAbs().maxCoeff(); }
  double value(const VectorXd& s) const { return s.dot(A * s - 2 * c) + p.dot(s.cwiseAbs()); }

  /// dist(-g, p d|s|), the largest
  double residual(const VectorXd& s) const {
    const VectorXd g = 2 * (A * s - c);
    double worst = 0;
    for (Index k = 0; k < s.size(); ++k) {
      if (positive && s(k) < 0) return std::numeric_limits<double>::infinity();
      const double pull = positive ? -g(k) : std::abs(g(k));
      worst = std::max(worst, s(k) != 0 ? std::abs(g(k) + std::copysign(p(k), s(k))) : pull - p(k));
    }
    return worst;
  }

  VectorXd solve(double tol = 1e-12, VectorXd s = {}) const {
    if (s.size() == 0) s.setZero(c.size());
    const double found =
        LassoPath(c.size()).solve({MatrixView<const double>(A), c.data(), p.data(), positive, tol * top()}, s.data());
    EXPECT_LE(found, 1000 * tol * top());
    EXPECT_LE(residual(s), 10 * tol * top());
    return s;
  }

  /// The best of all sign patterns: 3^n candidates, each the stationary point of its pattern
  VectorXd by_enumeration() const {
    const Index n = c.size();
    VectorXd best = VectorXd::Zero(n);
    for (Index pattern = 1; pattern < std::lround(std::pow(3, n)); ++pattern) {
      std::vector<Index> on;
      VectorXd sign = VectorXd::Zero(n), s = sign;
      for (Index k = 0, code = pattern; k < n; ++k, code /= 3)
        if (code % 3 != 0) {
          on.push_back(k);
          sign(k) = code % 3 == 1 ? 1 : -1;
        }
      const Eigen::FullPivLU<MatrixXd> lu(A(on, on));
      if (!lu.isInvertible()) continue;
      s(on) = lu.solve((c - p.cwiseProduct(sign) / 2)(on));
      if (value(s) < value(best)) best = s;
    }
    return best;
  }
};

/// A = G'G, c = G'x, beta a share of the one that leaves no code
OneSample normal_equations(const MatrixXd& G, const VectorXd& x, double ratio) {
  OneSample out{G.transpose() * G, G.transpose() * x, {}};
  out.p.setConstant(G.cols(), ratio * out.top());
  return out;
}

/// G with `rank` rows
OneSample make(Index n, Index rank, std::uint64_t seed, double ratio) {
  Random random(seed);
  const auto normal = [&] { return random.normal(); };
  const MatrixXd G = MatrixXd::NullaryExpr(rank, n, normal);
  return normal_equations(G, VectorXd::NullaryExpr(rank, normal), ratio);
}

TEST(Lasso, MatchesEnumerationOfSignPatterns) {
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const Index n : {1, 2, 4, 5})
      for (const double ratio : {0.01, 0.2, 0.7, 1.1}) {
        const OneSample p = make(n, n + 2, seed, ratio);
        ASSERT_LE((p.solve() - p.by_enumeration()).cwiseAbs().maxCoeff(), 1e-8) << "n " << n << " seed " << seed;
      }
}

TEST(Lasso, MeetsItsToleranceOnHardGrams) {
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (const Index rank : {6, 20, 90})
      for (const double ratio : {1e-4, 0.05, 0.5, 0.999}) make(40, rank, 100 + seed, ratio).solve(1e-9);
}

TEST(Lasso, LimitsOfBeta) {
  EXPECT_EQ(make(8, 20, 11, 1.000001).solve(1e-12, VectorXd::Ones(8)), VectorXd::Zero(8)) << "above max |2 c|";
  const OneSample p = make(8, 20, 11, 0);
  EXPECT_LE((p.solve(1e-10) - p.A.fullPivLu().solve(p.c)).cwiseAbs().maxCoeff(), 1e-8) << "beta = 0: least squares";
}

TEST(Lasso, ADirectionWithoutCurvatureStaysAtZero) {
  for (const double ratio : {0.0, 0.03}) {
    OneSample p = make(5, 9, 13, ratio);
    p.A.row(2).setZero();
    p.A.col(2).setZero();
    p.c(2) = 0;
    EXPECT_EQ(p.solve()(2), 0);
  }
}

TEST(Lasso, DistanceToTheSubdifferential) {
  EXPECT_EQ(kkt_distance(-3, 1, 3), 0);
  EXPECT_EQ(kkt_distance(3, -1, 3), 0);
  EXPECT_EQ(kkt_distance(-3, 1, 2), 1);
  EXPECT_EQ(kkt_distance(2, 1, 3), 5);
  EXPECT_EQ(kkt_distance(2.5, 0, 3), 0);
  EXPECT_EQ(kkt_distance(-3.5, 0, 3), 0.5);
}

// Any start, right or wrong, leads to the same point.
TEST(LassoPath, IsOptimalFromAnyStart) {
  Random random(5);
  for (const Index n : {3, 7, 8, 9, 16, 17, 40, 90})
    for (std::uint64_t seed = 0; seed < 5; ++seed)
      for (const double ratio : {1e-3, 0.05, 0.5}) {
        const OneSample p = make(n, n + 30, 300 + seed, ratio);
        const VectorXd cold = p.solve();
        for (const double share : {0.2, 1.0}) {
          const VectorXd start =
              VectorXd::NullaryExpr(n, [&] { return random.uniform() < share ? random.normal() : 0.0; });
          ASSERT_LE((p.solve(1e-12, start) - cold).cwiseAbs().maxCoeff(), 1e-9) << "n " << n << " ratio " << ratio;
        }
      }
}

// Copies of a few images, each with holes and a little noise: atoms let in together throw each other out again.
TEST(LassoPath, EndsOnCopiesOfFewImages) {
  const Index m = 40, n = 64, images = 10;
  for (std::uint64_t seed = 700; seed < 720; ++seed)
    for (const double ratio : {0.02, 0.005}) {
      Random random(seed);
      const MatrixXd base = MatrixXd::NullaryExpr(m, images, [&] { return std::abs(random.normal()); });
      const auto image = [&](Index which) -> VectorXd {
        return base.col(which).unaryExpr(
            [&](double whole) { return std::max(0.0, (random.uniform() < 0.1 ? 0 : whole) + 0.01 * random.normal()); });
      };
      MatrixXd B(m, n);
      for (Index k = 0; k < n; ++k) B.col(k) = image(k % images).normalized();
      normal_equations(B, image(0), ratio).solve();
    }
}

TEST(LassoPath, DependentAtomsShareWhatOneWouldHave) {
  OneSample p = make(6, 20, 17, 0.01);
  p.A.row(1) = p.A.row(0);
  p.A.col(1) = p.A.col(0);
  p.c(0) = p.c(1) = 3 * p.top();  // both join first
  p.solve(1e-9);
}

// With l2 in A, penalties of their own and s >= 0
TEST(LassoPath, PositiveCodesAndPenaltiesOfAtoms) {
  Random random(3);
  for (const Index n : {2, 7, 30})
    for (std::uint64_t seed = 0; seed < 10; ++seed)
      for (const bool positive : {false, true}) {
        OneSample p = make(n, n + 5, 40 + seed, 0.2);
        p.A.diagonal().array() += 0.1;
        p.positive = positive;
        for (double& one : p.p) one *= random.uniform() < 0.2 ? 0 : random.uniform();
        p.solve(1e-11);
      }
}

}  // namespace

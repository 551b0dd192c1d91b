#include <gtest/gtest.h>

#include <cmath>

#include "algebra/random.hpp"
#include "solve/lasso_path.hpp"

namespace {

using namespace pacewise;

double solve_lasso(const Matrix<double>& A, const double* c, double beta, double tol, double* s) {
  const Vector<double> penalty(A.rows(), beta);
  return LassoPath(A.rows()).solve({A, c, penalty.data(), false, tol}, s);
}

double value(const Matrix<double>& A, const Vector<double>& c, double beta, const Vector<double>& s) {
  long double sum = 0;
  for (Index k = 0; k < A.cols(); ++k) {
    const auto at = static_cast<std::size_t>(k);
    sum += beta * std::abs(s[at]) - 2 * c[at] * s[at];
    for (Index l = 0; l < A.rows(); ++l)
      sum += static_cast<long double>(s[at]) * A(l, k) * s[static_cast<std::size_t>(l)];
  }
  return static_cast<double>(sum);
}

double worst_condition(const Matrix<double>& A, const Vector<double>& c, double beta, const Vector<double>& s) {
  double worst = 0;
  for (Index k = 0; k < A.cols(); ++k) {
    long double g = -2.0L * c[static_cast<std::size_t>(k)];
    for (Index l = 0; l < A.rows(); ++l) g += 2.0L * A(k, l) * s[static_cast<std::size_t>(l)];
    const double x = s[static_cast<std::size_t>(k)], slope = static_cast<double>(g);
    worst = std::max(worst, x != 0 ? std::abs(slope + (x > 0 ? beta : -beta)) : std::abs(slope) - beta);
  }
  return std::max(0.0, worst);
}

/// Solves A_PP s = c_P - beta sign / 2 by elimination; false where the pivot vanishes
bool eliminate(Matrix<double> A, Vector<double> b, Vector<double>& x) {
  const Index n = A.rows();
  for (Index k = 0; k < n; ++k) {
    Index top = k;
    for (Index i = k; i < n; ++i)
      if (std::abs(A(i, k)) > std::abs(A(top, k))) top = i;
    if (std::abs(A(top, k)) < 1e-12) return false;
    for (Index j = 0; j < n; ++j) std::swap(A(k, j), A(top, j));
    std::swap(b[static_cast<std::size_t>(k)], b[static_cast<std::size_t>(top)]);
    for (Index i = k + 1; i < n; ++i) {
      const double f = A(i, k) / A(k, k);
      for (Index j = k; j < n; ++j) A(i, j) -= f * A(k, j);
      b[static_cast<std::size_t>(i)] -= f * b[static_cast<std::size_t>(k)];
    }
  }
  x.assign(static_cast<std::size_t>(n), 0);
  for (Index k = n - 1; k >= 0; --k) {
    double sum = b[static_cast<std::size_t>(k)];
    for (Index j = k + 1; j < n; ++j) sum -= A(k, j) * x[static_cast<std::size_t>(j)];
    x[static_cast<std::size_t>(k)] = sum / A(k, k);
  }
  return true;
}

/// The best of all sign patterns: 3^n candidates, each the stationary point of its pattern
Vector<double> by_enumeration(const Matrix<double>& A, const Vector<double>& c, double beta) {
  const Index n = A.rows();
  Vector<double> best(static_cast<std::size_t>(n), 0.0);
  Index patterns = 1;
  for (Index k = 0; k < n; ++k) patterns *= 3;
  for (Index pattern = 1; pattern < patterns; ++pattern) {
    std::vector<Index> on;
    std::vector<double> sign;
    Index code = pattern;
    for (Index k = 0; k < n; ++k, code /= 3)
      if (code % 3 != 0) {
        on.push_back(k);
        sign.push_back(code % 3 == 1 ? 1 : -1);
      }
    const auto p = static_cast<Index>(on.size());
    Matrix<double> part(p, p);
    Vector<double> right(on.size()), x;
    for (Index b = 0; b < p; ++b) {
      const auto at = static_cast<std::size_t>(b);
      right[at] = c[static_cast<std::size_t>(on[at])] - beta * sign[at] / 2;
      for (Index a = 0; a < p; ++a) part(a, b) = A(on[static_cast<std::size_t>(a)], on[at]);
    }
    if (!eliminate(part, right, x)) continue;
    Vector<double> s(static_cast<std::size_t>(n), 0.0);
    for (std::size_t a = 0; a < on.size(); ++a) s[static_cast<std::size_t>(on[a])] = x[a];
    if (value(A, c, beta, s) < value(A, c, beta, best)) best = s;
  }
  return best;
}

struct Small {
  Matrix<double> A;
  Vector<double> c;
};

/// A = G'G, c = G'x
Small normal_equations(const Matrix<double>& G, const Vector<double>& x) {
  const Index n = G.cols();
  Small p{Matrix<double>(n, n), Vector<double>(static_cast<std::size_t>(n), 0.0)};
  for (Index b = 0; b < n; ++b) {
    for (Index a = 0; a < n; ++a)
      for (Index i = 0; i < G.rows(); ++i) p.A(a, b) += G(i, a) * G(i, b);
    for (Index i = 0; i < G.rows(); ++i) p.c[static_cast<std::size_t>(b)] += G(i, b) * x[static_cast<std::size_t>(i)];
  }
  return p;
}

/// A = G'G with `rank` rows in G
Small make(Index n, Index rank, std::uint64_t seed) {
  Random random(seed);
  Matrix<double> G(rank, n);
  for (Index i = 0; i < G.size(); ++i) G.data()[i] = random.normal();
  Vector<double> x(static_cast<std::size_t>(rank));
  for (auto& v : x) v = random.normal();
  return normal_equations(G, x);
}

double largest_slope(const Small& p) {
  double top = 0;
  for (const double c : p.c) top = std::max(top, 2 * std::abs(c));
  return top;
}

TEST(Lasso, MatchesEnumerationOfSignPatterns) {
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    for (const Index n : {1, 2, 4, 5})
      for (const double ratio : {0.01, 0.2, 0.7, 1.1}) {
        const auto p = make(n, n + 2, seed);
        const double top = largest_slope(p);
        const double beta = ratio * top;
        Vector<double> s(static_cast<std::size_t>(n), 0.0);
        ASSERT_LE(solve_lasso(p.A, p.c.data(), beta, 1e-12 * top, s.data()), 1e-9 * top);
        const auto best = by_enumeration(p.A, p.c, beta);
        for (std::size_t k = 0; k < s.size(); ++k) ASSERT_NEAR(s[k], best[k], 1e-8) << "n " << n << " seed " << seed;
        ASSERT_LE(worst_condition(p.A, p.c, beta, s), 1e-11 * top);
      }
}

TEST(Lasso, MeetsItsToleranceOnHardGrams) {
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (const Index rank : {6, 20, 90})
      for (const double ratio : {1e-4, 0.05, 0.5, 0.999}) {
        const Index n = 40;
        const auto p = make(n, rank, 100 + seed);
        const double top = largest_slope(p);
        Vector<double> s(static_cast<std::size_t>(n), 0.0);
        solve_lasso(p.A, p.c.data(), ratio * top, 1e-9 * top, s.data());
        ASSERT_LE(worst_condition(p.A, p.c, ratio * top, s), 2e-9 * top) << "rank " << rank << " ratio " << ratio;
      }
}

TEST(Lasso, LimitsOfBeta) {
  const auto p = make(8, 20, 11);
  const double top = largest_slope(p);
  Vector<double> s(8, 1.0);
  solve_lasso(p.A, p.c.data(), 1.000001 * top, 1e-12 * top, s.data());
  EXPECT_EQ(s, Vector<double>(8, 0.0)) << "above max |2 c| nothing is used";
  solve_lasso(p.A, p.c.data(), 0, 1e-10 * top, s.data());
  Vector<double> exact;
  ASSERT_TRUE(eliminate(p.A, p.c, exact));
  for (std::size_t k = 0; k < 8; ++k) EXPECT_NEAR(s[k], exact[k], 1e-8) << "beta = 0 is least squares";
}

TEST(Lasso, ADirectionWithoutCurvatureStaysAtZero) {
  auto p = make(5, 9, 13);
  for (Index k = 0; k < 5; ++k) p.A(2, k) = p.A(k, 2) = 0;
  p.c[2] = 0;
  for (const double beta : {0.0, 0.3}) {
    Vector<double> s(5, 0.0);
    solve_lasso(p.A, p.c.data(), beta, 1e-11, s.data());
    EXPECT_EQ(s[2], 0);
    EXPECT_LE(worst_condition(p.A, p.c, beta, s), 1e-9);
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
        const auto p = make(n, n + 30, 300 + seed);
        const double top = largest_slope(p), beta = ratio * top;
        Vector<double> cold(static_cast<std::size_t>(n), 0.0);
        ASSERT_LE(solve_lasso(p.A, p.c.data(), beta, 1e-12 * largest_slope(p), cold.data()), 1e-9 * largest_slope(p));
        ASSERT_LE(worst_condition(p.A, p.c, beta, cold), 1e-11 * top) << "n " << n << " ratio " << ratio;
        for (const double share : {0.2, 1.0}) {
          Vector<double> s(static_cast<std::size_t>(n), 0.0);
          for (auto& x : s) x = random.uniform() < share ? random.normal() : 0;
          ASSERT_LE(solve_lasso(p.A, p.c.data(), beta, 1e-12 * largest_slope(p), s.data()), 1e-9 * largest_slope(p));
          for (std::size_t k = 0; k < s.size(); ++k) ASSERT_NEAR(s[k], cold[k], 1e-9);
        }
      }
}

// Copies of a few images, each with holes and a little noise: atoms let in together throw each other out again.
TEST(LassoPath, EndsOnCopiesOfFewImages) {
  const Index m = 40, n = 64, images = 10;
  for (std::uint64_t seed = 700; seed < 720; ++seed)
    for (const double ratio : {0.02, 0.005}) {
      Random random(seed);
      Vector<double> base(static_cast<std::size_t>(m * images));
      for (auto& v : base) v = random.normal();
      const auto pixel = [&](Index i, Index image) {
        const double whole = std::abs(base[static_cast<std::size_t>(i + image * m)]);
        return std::max(0.0, (random.uniform() < 0.1 ? 0 : whole) + 0.01 * random.normal());
      };
      Matrix<double> B(m, n);
      for (Index k = 0; k < n; ++k) {
        double square = 0;
        for (Index i = 0; i < m; ++i) {
          B(i, k) = pixel(i, k % images);
          square += B(i, k) * B(i, k);
        }
        for (Index i = 0; i < m; ++i) B(i, k) /= std::sqrt(square);
      }
      Vector<double> x(static_cast<std::size_t>(m));
      for (Index i = 0; i < m; ++i) x[static_cast<std::size_t>(i)] = pixel(i, 0);
      const auto p = normal_equations(B, x);
      const double top = largest_slope(p), beta = ratio * top;
      Vector<double> s(static_cast<std::size_t>(n), 0.0);
      ASSERT_LE(solve_lasso(p.A, p.c.data(), beta, 1e-12 * largest_slope(p), s.data()), 1e-9 * largest_slope(p))
          << "seed " << seed << " ratio " << ratio;
      ASSERT_LE(worst_condition(p.A, p.c, beta, s), 1e-9 * top) << "seed " << seed << " ratio " << ratio;
    }
}

TEST(LassoPath, DependentAtomsShareWhatOneWouldHave) {
  auto p = make(6, 20, 17);
  for (Index k = 0; k < 6; ++k) p.A(1, k) = p.A(0, k);
  for (Index k = 0; k < 6; ++k) p.A(k, 1) = p.A(k, 0);
  p.A(1, 1) = p.A(0, 1) = p.A(1, 0) = p.A(0, 0);
  p.c[0] = p.c[1] = 3 * largest_slope(p);  // both join first
  Vector<double> s(6, 0.0);
  EXPECT_LE(solve_lasso(p.A, p.c.data(), 0.1, 1e-9 * largest_slope(p), s.data()), 1e-9 * largest_slope(p));
  EXPECT_LE(worst_condition(p.A, p.c, 0.1, s), 2e-9 * largest_slope(p));
}

// With l2 in A, penalties of their own and s >= 0: the KKT conditions, written out
TEST(LassoPath, PositiveCodesAndPenaltiesOfAtoms) {
  Random random(3);
  for (const Index n : {2, 7, 30})
    for (std::uint64_t seed = 0; seed < 10; ++seed)
      for (const bool positive : {false, true}) {
        auto p = make(n, n + 5, 40 + seed);
        for (Index k = 0; k < n; ++k) p.A(k, k) += 0.1;
        Vector<double> penalty(n), s(n, 0.0);
        for (double& one : penalty) one = random.uniform() < 0.2 ? 0 : 0.2 * random.uniform() * largest_slope(p);
        LassoPath path(n);
        path.solve({p.A, p.c.data(), penalty.data(), positive, 1e-11 * largest_slope(p)}, s.data());
        for (Index k = 0; k < n; ++k) {
          double g = -2 * p.c[k];
          for (Index l = 0; l < n; ++l) g += 2 * p.A(k, l) * s[l];
          if (positive) {
            EXPECT_GE(s[k], 0);
          }
          if (s[k] > 0) {
            EXPECT_NEAR(g, -penalty[k], 1e-9 * largest_slope(p));
          } else if (s[k] < 0) {
            EXPECT_NEAR(g, penalty[k], 1e-9 * largest_slope(p));
          } else {
            EXPECT_GE(g, -penalty[k] - 1e-9 * largest_slope(p));
            if (!positive) {
              EXPECT_LE(g, penalty[k] + 1e-9 * largest_slope(p));
            }
          }
        }
      }
}

}  // namespace

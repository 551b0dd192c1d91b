#include "solve/row_systems.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "algebra/dense.hpp"
#include "algebra/random.hpp"

namespace {

using namespace pacewise;

struct Problem {
  Index m, n, u;
  UsedCodes codes;
  Weights<double> weights;
  std::vector<double> diagonal;
  Matrix<double> y, right;
};

/// Codes such that the largest diagonal entry of a row's Gram is 1 for every atom, as the dictionary step scales them
Problem make(Index m, Index n, Index u, double share, double spread) {
  Random random(static_cast<std::uint64_t>(m * 1000 + n * 10 + u));
  Problem p{m, n, u, {}, {}, {}, Matrix<double>(u, m), Matrix<double>(u, m)};
  p.weights.entry = Matrix<double>(m, n);
  Matrix<double> S(u, n);
  for (Index j = 0; j < n; ++j) {
    const double size = std::pow(10.0, spread * (random.uniform() - 0.5));
    for (Index i = 0; i < m; ++i) p.weights.entry(i, j) = random.uniform() < 0.2 ? 0 : size * random.uniform();
    for (Index k = 0; k < u; ++k) S(k, j) = random.uniform() < share ? random.normal() : 0;
  }
  for (Index k = 0; k < u; ++k) {
    double top = 0;
    for (Index i = 0; i < m; ++i) {
      double sum = 0;
      for (Index j = 0; j < n; ++j) sum += p.weights(i, j) * S(k, j) * S(k, j);
      top = std::max(top, sum);
    }
    for (Index j = 0; j < n; ++j) S(k, j) = top > 0 ? S(k, j) / std::sqrt(top) : 0;
    p.diagonal.push_back(0.01 + random.uniform());
    for (Index i = 0; i < m; ++i) {
      p.y(k, i) = random.normal();
      p.right(k, i) = random.normal();
    }
  }
  for (Index j = 0; j < n; ++j) {
    for (Index k = 0; k < u; ++k)
      if (S(k, j) != 0) {
        p.codes.atom.push_back(static_cast<std::int32_t>(k));
        p.codes.code.push_back(S(k, j));
      }
    p.codes.start.push_back(p.codes.atom.size());
  }
  return p;
}

Matrix<double> gram_of_row(const Problem& p, Index i) {
  Matrix<double> M(p.u, p.u);
  for (Index j = 0; j < p.n; ++j)
    for (std::size_t a = p.codes.start[static_cast<std::size_t>(j)]; a < p.codes.start[static_cast<std::size_t>(j + 1)];
         ++a)
      for (std::size_t b = p.codes.start[static_cast<std::size_t>(j)];
           b < p.codes.start[static_cast<std::size_t>(j + 1)]; ++b)
        M(p.codes.atom[a], p.codes.atom[b]) += p.weights(i, j) * p.codes.code[a] * p.codes.code[b];
  return M;
}

/// Row by row with LAPACK, in double
template <class GramOfRow>
void solve_slowly(const Problem& p, const GramOfRow& gram, Matrix<double>& x, Matrix<double>& hessian) {
  hessian = Matrix<double>(p.u, p.u);
  x = p.right;
  for (Index i = 0; i < p.m; ++i) {
    Matrix<double> A = gram(i);
    for (Index k = 0; k < p.u; ++k) A(k, k) += p.diagonal[static_cast<std::size_t>(k)];
    ASSERT_TRUE(cholesky(A));
    cholesky_solve(A, x.view().columns(i, 1));
    cholesky_invert(A);
    for (Index k = 0; k < p.u; ++k) x(k, i) += p.y(k, i);
    for (Index l = 0; l < p.u; ++l)
      for (Index k = 0; k < p.u; ++k) hessian(k, l) += 2 * x(k, i) * x(l, i) * A(k, l);
  }
}

void expect_near(const Matrix<double>& got, const Matrix<double>& want, double tolerance, const std::string& what) {
  double size = 0, worst = 0;
  for (Index i = 0; i < want.size(); ++i) {
    size = std::max(size, std::abs(want.data()[i]));
    const double gap = std::abs(got.data()[i] - want.data()[i]);
    worst = gap <= worst ? worst : gap;  // NaN is the worst
  }
  EXPECT_LE(worst, tolerance * size) << what;
}

template <class Real>
void check(const Problem& p, double bytes, double tolerance) {
  Matrix<double> want, curvature;
  solve_slowly(
      p, [&](Index i) { return gram_of_row(p, i); }, want, curvature);
  RowSystems<double, Real> systems(p.codes, p.u, p.weights, p.m, bytes, {});
  const std::string what = std::to_string(p.m) + " rows, " + std::to_string(p.n) + " samples, " + std::to_string(p.u) +
                           " atoms, " + std::to_string(bytes) + " bytes";
  Matrix<double> first, first_hessian;
  for (const int threads : {1, 3}) {
    Control control;
    control.threads = threads;
    Matrix<double> x = p.right, hessian(p.u, p.u), alone = p.right;
    systems.solve(p.diagonal, p.y, x, &hessian, control);
    systems.solve(p.diagonal, p.y, alone, nullptr, control);
    EXPECT_EQ(x, alone) << what;
    if (threads == 1) {
      first = x;
      first_hessian = hessian;
    }
    EXPECT_EQ(x, first) << what;
    EXPECT_EQ(hessian, first_hessian) << what;
    expect_near(x, want, tolerance, what);
    expect_near(hessian, curvature, tolerance, what + ", Hessian");
  }
}

TEST(RowSystems, AgreeWithLapackForAllSizes) {
  for (const Index u : {1, 3, 4, 5, 8, 13})
    for (const Index m : {1, 7, 16, 40, 150, 300})
      for (const double bytes : {0.0, 25e3, 50e3, 1e9}) {  // a few rows at a time, or all
        const auto p = make(m, 30, u, 0.6, 0);
        check<double>(p, bytes, 1e-12);
        check<float>(p, bytes, 2e-4);
      }
}

TEST(RowSystems, AgreeWithLapackForManyPairsOfAtoms) {
  const auto p = make(20, 700, 60, 1.0, 0);  // more pairs than go into one chunk of samples
  check<double>(p, 1e9, 1e-12);
  check<float>(p, 1e9, 2e-4);
}

TEST(RowSystems, AgreeWithLapackForManySamplesOfFewAtoms) {
  const auto p = make(5, 5000, 3, 0.1, 0);  // more samples than go into one chunk
  check<double>(p, 1e9, 1e-12);
  check<float>(p, 1e9, 2e-4);
}

// In float the weights of a sample would over- or underflow as they are
TEST(RowSystems, WeightsOfAnySize) {
  const auto p = make(33, 12, 6, 0.7, 120);
  check<double>(p, 1e9, 1e-11);
  check<float>(p, 1e9, 2e-4);
}

TEST(RowSystems, MultiplesOfOneGram) {
  auto p = make(37, 25, 7, 0.8, 0);
  const Matrix<double> M = gram_of_row(p, 0);
  p.weights.entry = {};
  for (Index i = 0; i < p.m; ++i) p.weights.feature.push_back(static_cast<double>(i) / 10);
  Matrix<double> want, curvature;
  solve_slowly(
      p,
      [&](Index i) {
        Matrix<double> A = M;
        for (Index e = 0; e < A.size(); ++e) A.data()[e] *= static_cast<double>(i) / 10;
        return A;
      },
      want, curvature);
  for (const double bytes : {0.0, 1e9}) {
    RowSystems<double, double> systems(M, p.weights, p.m, bytes);
    Matrix<double> x = p.right, hessian(p.u, p.u);
    systems.solve(p.diagonal, p.y, x, &hessian, {});
    expect_near(x, want, 1e-12, "solution");
    expect_near(hessian, curvature, 1e-12, "Hessian");
  }
}

TEST(RowSystems, ASecondDiagonalIsAsGoodAsTheFirst) {
  auto p = make(50, 20, 9, 0.5, 0);
  RowSystems<double, double> systems(p.codes, p.u, p.weights, p.m, 1e9, {});
  Matrix<double> x = p.right;
  systems.solve(p.diagonal, p.y, x, nullptr, {});
  for (double& d : p.diagonal) d *= 3;
  Matrix<double> want, curvature, hessian(p.u, p.u);
  solve_slowly(
      p, [&](Index i) { return gram_of_row(p, i); }, want, curvature);
  x = p.right;
  systems.solve(p.diagonal, p.y, x, &hessian, {});
  expect_near(x, want, 1e-12, "solution");
  expect_near(hessian, curvature, 1e-12, "Hessian");
}

}  // namespace

// Entry weights that are nearly all the same: what is listed of them, and codes solved by way of the list.
#include "solve/mask.hpp"

#include <gtest/gtest.h>

#include "reference.hpp"
#include "solve/codes_model.hpp"
#include "synthetic.hpp"
#include "tolerances.hpp"

namespace {

using namespace pacewise;

/// 10 % of the entries of every sample below its largest weight; sample 0 has all kinds, sample 1 one kind
template <class T>
Weights<T> nearly_ones(Index m, Index n) {
  Weights<T> w;
  Random random(5);
  w.entry = Matrix<T>(m, n, T(1));
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i)
      if (j == 0 || (j > 1 && random.uniform() < 0.1))
        w.entry(i, j) = static_cast<T>(j % 2 == 0 ? 0.9 * random.uniform() : 0.0);
  w.sample = Vector<T>(static_cast<std::size_t>(n), T(1));
  for (Index j = 0; j < n; ++j)
    w.sample[static_cast<std::size_t>(j)] = static_cast<T>(1 + 0.1 * static_cast<double>(j));
  return w;
}

TEST(Mask, ListsTheRowsThatLackSomething) {
  const Index m = 37, n = 90;  // more than one block
  const Weights<double> w = nearly_ones<double>(m, n);
  Control two;
  two.threads = 2;
  const Mask mask(w, m, n, two);
  EXPECT_TRUE(mask.any_few());
  EXPECT_FALSE(mask.few(0));
  EXPECT_TRUE(mask.rows(1).empty());
  for (Index j = 0; j < n; ++j) {
    double top = 0, sum = 0;
    for (Index i = 0; i < m; ++i) {
      top = std::max(top, w(i, j));
      sum += w(i, j);
    }
    EXPECT_DOUBLE_EQ(mask.top(j), top);
    EXPECT_NEAR(mask.mean(j), sum / static_cast<double>(m), 1e-14);
    std::vector<Index> below;
    for (Index i = 0; i < m; ++i)
      if (w(i, j) < top) below.push_back(i);
    EXPECT_EQ(mask.few(j), 3 * static_cast<Index>(below.size()) <= m);
    if (!mask.few(j)) continue;
    ASSERT_EQ(mask.rows(j).size(), below.size());
    for (std::size_t e = 0; e < below.size(); ++e) {
      EXPECT_EQ(mask.rows(j)[e], below[e]);
      EXPECT_DOUBLE_EQ(mask.lacks(j)[e], top - w(below[e], j));
    }
  }
}

TEST(Mask, OfWeightsThatAllDifferListsNothing) {
  Weights<double> w;
  Random random(7);
  w.entry = Matrix<double>(20, 5);
  for (Index i = 0; i < w.entry.size(); ++i) w.entry.data()[i] = random.uniform();
  const Mask mask(w, 20, 5, {});
  EXPECT_FALSE(mask.any_few());
  for (Index j = 0; j < 5; ++j) EXPECT_TRUE(mask.rows(j).empty());
}

template <class T>
struct MaskedCodes : testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(MaskedCodes, Precisions);

TYPED_TEST(MaskedCodes, CertifiedByTheSlowPath) {
  using T = TypeParam;
  const auto data = synthetic::make<T>({.m = 30, .n = 80, .r = 40, .active = 4, .noise = 0.1, .seed = 3});
  const Weights<T> w = nearly_ones<T>(30, 80);
  StepOptions step;
  step.tol = tolerance<T>().certificate;
  for (const double beta : {0.0, 0.05, 1.0})  // dense and sparse codes
    for (const bool ones_only : {false, true}) {
      Weights<T> weights = w;
      if (ones_only)
        for (Index i = 0; i < 30; ++i) weights.entry(i, 0) = T(1);  // no sample left that needs all rows
      Matrix<T> S(40, 80);
      const auto report = solve_codes<T>({data.X.view(), weights, data.B, beta, {}}, S, step, {});
      reference::Setting slow{reference::widen(data.X),
                              reference::expand(weights, 30, 80),
                              reference::widen(data.B),
                              reference::widen(S),
                              {},
                              {},
                              {}};
      slow.beta = beta;
      EXPECT_LE(reference::codes_certificate(slow), tolerance<T>().certificate) << beta;
      EXPECT_LE(report.certificate, tolerance<T>().certificate) << beta;
    }
}

/// Columns of A_j = B' diag(w_j) B + gamma Q'Q, any number of them at once, for numbers of atoms beside the width of
/// vectors.
TYPED_TEST(MaskedCodes, ColumnsOfTheirOwnGram) {
  using T = TypeParam;
  const Index m = 30, n = 6;
  const Weights<T> w = nearly_ones<T>(m, n);
  for (const Index r : {1, 7, 16, 17, 40})
    for (const double gamma : {0.0, 0.7}) {
      const auto data = synthetic::make<T>({.m = m, .n = n, .r = r, .active = 1, .noise = 0.1, .seed = 3});
      Matrix<T> Q(3, r);
      Random random(11);
      for (Index i = 0; i < Q.size(); ++i) Q.data()[i] = static_cast<T>(random.normal());
      const Sparse H = sparse_from_triplets(3, n, {{0, 0, 1.0}, {1, 2, 1.0}, {2, 5, 1.0}});
      Coupling<T> coupling;
      coupling.incidence = &H;
      coupling.consistency = &Q;
      coupling.gamma = gamma;
      const CodesModel<T> model({data.X.view(), w, data.B, 0.1, coupling}, {});
      typename CodesModel<T>::Scratch scratch(model, n);
      EXPECT_FALSE(model.has_columns(0));
      for (Index j = 1; j < n; ++j) {
        ASSERT_TRUE(model.has_columns(j));
        std::vector<std::int32_t> atoms;
        for (Index k = r - 1; k >= 0; k -= 2) atoms.push_back(static_cast<std::int32_t>(k));
        Matrix<double> A(r, r, -7.0);
        model.columns(j, atoms.data(), static_cast<Index>(atoms.size()), A, scratch);
        for (Index k = 0; k < r; ++k)
          for (Index l = 0; l < r; ++l) {
            double sum = 0;
            for (Index i = 0; i < m; ++i)
              sum += static_cast<double>(w.sample[static_cast<std::size_t>(j)]) * static_cast<double>(w.entry(i, j)) *
                     static_cast<double>(data.B(i, l)) * static_cast<double>(data.B(i, k));
            for (Index e = 0; e < 3; ++e) sum += gamma * static_cast<double>(Q(e, l)) * static_cast<double>(Q(e, k));
            if ((r - 1 - k) % 2 == 0)
              ASSERT_NEAR(A(l, k), sum, 1e-12 * (1 + std::abs(sum))) << r << ": " << l << ", " << k;
            else
              ASSERT_EQ(A(l, k), -7) << r << ": " << l << ", " << k;
          }
      }
    }
}

/// Rows of a huge weight on which data and atoms are zero: by way of B'B the gradient would be rounding.
TEST(MaskedCodesOfHugeWeights, KeepAnHonestCertificate) {
  const Index m = 30, n = 12, r = 10;
  Random random(29);
  Matrix<double> X(m, n), B(m, r);
  for (Index k = 0; k < r; ++k)
    for (Index i = 0; i < 10; ++i) B(i, k) = random.normal();
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < 10; ++i) X(i, j) = random.normal();
  for (const double huge : {1e6, 2e9, 1e10, 1e12}) {
    Weights<double> w;
    w.entry = Matrix<double>(m, n, huge);
    for (Index j = 0; j < n; ++j)
      for (Index i = 0; i < 10; ++i) w.entry(i, j) = 1;
    StepOptions step;
    step.tol = 1e-6;
    Matrix<double> S(r, n);
    const auto report = solve_codes<double>({X.view(), w, B, 0.1, {}}, S, step, {});
    reference::Setting slow{X, reference::expand(w, m, n), B, S, {}, {}, {}};
    slow.beta = 0.1;
    EXPECT_TRUE(report.converged) << huge;
    EXPECT_LE(reference::codes_certificate(slow), 1.1e-6) << huge;
  }
}

/// Gram blocks start from products in float: what those cannot hold, or not tell apart, is made in double.
TEST(CodesOfRealWeights, AreExactWhereFloatProductsAreNot) {
  const Index m = 30, n = 12, r = 10;
  for (const double scale : {1e-30, 1.0, 1e25})
    for (const double twin : {1.0, 1e-5}) {  // how far atoms are from their neighbours
      Random random(31);
      Matrix<double> X(m, n), B(m, r);
      Weights<double> w;
      w.entry = Matrix<double>(m, n);
      for (Index k = 0; k < r; ++k)
        for (Index i = 0; i < m; ++i)
          B(i, k) = scale * random.normal() * (k % 2 == 0 ? 1 : twin) + (k % 2 == 0 || twin == 1 ? 0 : B(i, k - 1));
      for (Index i = 0; i < X.size(); ++i) {
        X.data()[i] = random.normal();
        w.entry.data()[i] = std::pow(10.0, 6 * random.uniform() - 3);
      }
      StepOptions step;
      step.tol = 1e-8;
      Matrix<double> S(r, n);
      const auto report = solve_codes<double>({X.view(), w, B, 0.1 * scale, {}}, S, step, {});
      reference::Setting slow{X, reference::expand(w, m, n), B, S, {}, {}, {}};
      slow.beta = 0.1 * scale;
      EXPECT_TRUE(report.converged) << scale << ", " << twin;
      EXPECT_LE(reference::codes_certificate(slow), 1.1e-8) << scale << ", " << twin;
    }
}

}  // namespace

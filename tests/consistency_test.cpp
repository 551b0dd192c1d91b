#include "solve/consistency.hpp"

#include <gtest/gtest.h>

#include "tolerances.hpp"
#include "zoo.hpp"

namespace {

using namespace pacewise;

template <class T>
class ConsistencyStep : public testing::Test {};
using Precisions = testing::Types<double, float>;
TYPED_TEST_SUITE(ConsistencyStep, Precisions);

/// max |Q (S S' + eta) - H S'| / max |H S'|, entry by entry
template <class T>
double slow_residual(const Sparse& incidence, const Matrix<T>& S, double eta, const Matrix<T>& Q) {
  const auto H = reference::dense(incidence);
  const Index e = incidence.rows, r = S.rows(), n = S.cols();
  long double worst = 0, scale = 0;
  for (Index a = 0; a < e; ++a)
    for (Index k = 0; k < r; ++k) {
      long double left = static_cast<long double>(eta) * Q(a, k), right = 0;
      for (Index j = 0; j < n; ++j) {
        long double qs = 0;
        for (Index l = 0; l < r; ++l) qs += static_cast<long double>(Q(a, l)) * S(l, j);
        left += qs * S(k, j);
        right += H[static_cast<std::size_t>(a)][static_cast<std::size_t>(j)] * S(k, j);
      }
      worst = std::max(worst, std::abs(left - right));
      scale = std::max(scale, std::abs(right));
    }
  return static_cast<double>(scale > 0 ? worst / scale : worst);
}

TYPED_TEST(ConsistencyStep, NormalEquationsHoldByTheSlowPath) {
  using T = TypeParam;
  for (const auto& shape : zoo::shapes())
    for (const double eta : {1e-3, 1.0, 50.0}) {
      const auto p = zoo::make<T>(shape, zoo::Kind::none, 9);
      Matrix<T> Q;
      const StepReport report = solve_consistency<T>(p.H, p.S, eta, Q, {});
      ASSERT_EQ(Q.rows(), p.H.rows);
      ASSERT_EQ(Q.cols(), p.S.rows());
      const double slow = slow_residual(p.H, p.S, eta, Q);
      // Q is rounded to T: what is left is |S S' + eta| / eta of that rounding
      const double owed = (std::is_same_v<T, double> ? 1e-12 : 2e-5) * (1 + 1e-2 / eta);
      EXPECT_LE(slow, owed) << p.name << " eta " << eta;
      EXPECT_NEAR(report.certificate, slow, 1e-3 * slow + 1e-14) << p.name << " eta " << eta;
      EXPECT_TRUE(report.converged);
      EXPECT_EQ(report.certificate, consistency_certificate<T>(p.H, p.S, eta, Q, {})) << p.name;
    }
}

TYPED_TEST(ConsistencyStep, CertificateSeesAWrongMap) {
  using T = TypeParam;
  const auto p = zoo::make<T>(zoo::shapes()[0], zoo::Kind::none, 9);
  const double slow = slow_residual(p.H, p.S, 3, p.Q);
  ASSERT_GT(slow, 0.1);
  EXPECT_NEAR(consistency_certificate<T>(p.H, p.S, 3, p.Q, {}), slow, 1e-5 * slow);
}

TYPED_TEST(ConsistencyStep, LowersTheObjective) {
  using T = TypeParam;
  auto p = zoo::make<T>(zoo::shapes()[0], zoo::Kind::none, 9);
  const auto value = [&] {
    auto s = zoo::setting(p, 0, 0, 2);
    s.eta = 5;
    return static_cast<double>(reference::objective(s).consistency);
  };
  const double before = value();
  solve_consistency<T>(p.H, p.S, 5, p.Q, {});
  const double best = value();
  EXPECT_LT(best, before);
  Random random(2);
  for (int trial = 0; trial < 20; ++trial) {
    auto moved = p;
    for (Index i = 0; i < p.Q.size(); ++i) p.Q.data()[i] += static_cast<T>(0.05 * random.normal());
    EXPECT_GT(value(), best);
    p = moved;
  }
}

TYPED_TEST(ConsistencyStep, AHugeRidgeLeavesNoMap) {
  using T = TypeParam;
  const auto p = zoo::make<T>(zoo::shapes()[0], zoo::Kind::none, 9);
  Matrix<T> Q;
  solve_consistency<T>(p.H, p.S, 1e12, Q, {});
  for (Index i = 0; i < Q.size(); ++i) EXPECT_LT(std::abs(static_cast<double>(Q.data()[i])), 1e-10);
}

TYPED_TEST(ConsistencyStep, CodesOfAtomsNobodyUsesGetNoMap) {
  using T = TypeParam;
  auto p = zoo::make<T>(zoo::shapes()[6], zoo::Kind::none, 9);  // rank-deficient codes
  for (Index j = 0; j < p.S.cols(); ++j) p.S(2, j) = 0;
  Matrix<T> Q;
  const StepReport report = solve_consistency<T>(p.H, p.S, 1e-2, Q, {});
  EXPECT_LE(report.certificate, (std::is_same_v<T, double> ? 1e-11 : 1e-4));
  for (Index e = 0; e < Q.rows(); ++e) EXPECT_EQ(Q(e, 2), T(0));
  // equal codes share the map equally: the ridge picks the smallest one
  auto q = zoo::make<T>(zoo::shapes()[6], zoo::Kind::none, 9);
  solve_consistency<T>(q.H, q.S, 1e-2, Q, {});
  for (Index e = 0; e < Q.rows(); ++e) EXPECT_NEAR(static_cast<double>(Q(e, 0)), static_cast<double>(Q(e, 1)), 1e-4);
  const Matrix<T> zero(q.S.rows(), q.S.cols());
  EXPECT_EQ(solve_consistency<T>(q.H, zero, 1, Q, {}).certificate, 0);
  EXPECT_EQ(Q, (Matrix<T>(Q.rows(), Q.cols())));
}

TYPED_TEST(ConsistencyStep, MisuseIsNamed) {
  using T = TypeParam;
  const auto p = zoo::make<T>(zoo::shapes()[0], zoo::Kind::none, 9);
  Matrix<T> Q;
  for (const double eta :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    try {
      solve_consistency<T>(p.H, p.S, eta, Q, {});
      ADD_FAILURE() << "eta " << eta << " was taken";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("eta = "), std::string::npos) << e.what();
    }
  const Matrix<T> narrow(p.S.rows(), p.S.cols() - 1);
  EXPECT_THROW(solve_consistency<T>(p.H, narrow, 1, Q, {}), Error);
}

TYPED_TEST(ConsistencyStep, SameBitsForAnyNumberOfThreads) {
  using T = TypeParam;
  const auto p = zoo::make<T>({"long", 5, 300, 6}, zoo::Kind::none, 9);
  Matrix<T> first;
  Control control;
  control.threads = 1;
  const double certificate = solve_consistency<T>(p.H, p.S, 2, first, control).certificate;
  for (const int threads : {2, 3, 5}) {
    Matrix<T> Q;
    control.threads = threads;
    EXPECT_EQ(solve_consistency<T>(p.H, p.S, 2, Q, control).certificate, certificate);
    EXPECT_EQ(Q, first) << threads;
  }
}

}  // namespace

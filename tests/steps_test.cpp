#include <gtest/gtest.h>

#include <cstdlib>

#include "tolerances.hpp"
#include "zoo.hpp"

namespace {

using namespace pacewise;
using zoo::Kind;

/// PACEWISE_SEED=n runs the grid on other random problems
std::uint64_t seed_shift() {
  const char* text = std::getenv("PACEWISE_SEED");
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

constexpr Kind kKinds[] = {Kind::none, Kind::sample, Kind::feature, Kind::element};

template <class T>
class Steps : public testing::Test {};
using Precisions = testing::Types<double, float>;
TYPED_TEST_SUITE(Steps, Precisions);

template <class T>
void check_codes(const zoo::Shape& shape, Kind kind, double alpha, double gamma, double beta_ratio,
                 std::size_t memory_bytes) {
  auto p = zoo::make<T>(shape, kind, 7 + seed_shift());
  Coupling<T> coupling{&p.L, alpha, &p.H, &p.Q, gamma};
  CodesProblem<T> problem{p.X, p.weights, p.B, 0, coupling};
  problem.beta = beta_ratio * largest_beta(problem, {});
  for (const bool warm : {false, true}) {
    Matrix<T> S = warm ? p.S : Matrix<T>(p.B.cols(), p.X.cols());
    auto setting = zoo::setting(p, alpha, problem.beta, gamma);
    const auto value = [&] {
      setting.S = reference::widen(S);
      const auto o = reference::objective(setting);
      return static_cast<double>(o.fit + o.sparsity + o.manifold + o.consistency);
    };
    const double before = value();
    const StepReport report = solve_codes(problem, S, {tolerance<T>().certificate / 4, 500, memory_bytes}, {});
    const std::string where = p.name + ", alpha " + std::to_string(alpha) + ", gamma " + std::to_string(gamma) +
                              ", beta ratio " + std::to_string(beta_ratio) + (warm ? ", warm" : ", cold");
    const double after = value();
    const double certificate = reference::codes_certificate(setting);
    EXPECT_LE(certificate, tolerance<T>().certificate) << where << " rounds " << report.rounds;
    EXPECT_NEAR(report.certificate, certificate, tolerance<T>().recomputed) << where;
    EXPECT_LE(after, before + tolerance<T>().recomputed * (1 + std::abs(before))) << where;
  }
}

TYPED_TEST(Steps, CodesAreOptimalOnTheGrid) {
  for (const auto& shape : zoo::shapes())
    for (const Kind kind : kKinds)
      for (const double alpha : {0.0, 1.0, 64.0})
        for (const double gamma : {0.0, 1.0})
          for (const double ratio : {0.0, 0.02, 0.9}) check_codes<TypeParam>(shape, kind, alpha, gamma, ratio, 0);
}

TYPED_TEST(Steps, CodesAreOptimalWhenNewtonSystemsAreNotStored) {
  for (const auto& shape : zoo::shapes())
    for (const Kind kind : {Kind::sample, Kind::element})
      for (const double ratio : {0.0, 0.05}) check_codes<TypeParam>(shape, kind, 8, 1, ratio, 1);
}

TYPED_TEST(Steps, DictionaryIsOptimalOnTheGrid) {
  using T = TypeParam;
  for (const auto& shape : zoo::shapes())
    for (const Kind kind : kKinds)
      for (const double size : {0.1, 1.0, 10.0}) {  // larger data push more atoms to the boundary
        auto p = zoo::make<T>(shape, kind, 11 + seed_shift());
        for (Index j = 0; j < p.X.cols(); ++j)
          for (Index i = 0; i < p.X.rows(); ++i) p.X(i, j) *= static_cast<T>(size);
        const DictionaryProblem<T> problem{p.X, p.weights, p.S};
        for (const bool warm : {true, false}) {
          Matrix<T> B = warm ? p.B : Matrix<T>(p.X.rows(), p.S.rows());
          auto setting = zoo::setting(p, 0, 0, 0);
          setting.B = reference::widen(B);
          const double before = static_cast<double>(reference::objective(setting).fit);
          const StepReport report = solve_dictionary(problem, B, {tolerance<T>().certificate / 4, 500, 0}, {});
          setting.B = reference::widen(B);
          const double certificate = reference::dictionary_certificate(setting);
          const std::string where = p.name + ", size " + std::to_string(size) + (warm ? ", warm" : ", cold");
          EXPECT_LE(certificate, tolerance<T>().certificate) << where << " passes " << report.rounds;
          EXPECT_NEAR(report.certificate, certificate, tolerance<T>().recomputed) << where;
          const double after = static_cast<double>(reference::objective(setting).fit);
          EXPECT_LE(after, before * (1 + tolerance<T>().recomputed)) << where;
        }
      }
}

}  // namespace

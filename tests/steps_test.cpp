#include <gtest/gtest.h>

#include <cstdlib>

#include "synthetic.hpp"
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
void check_codes(const zoo::Shape& shape, Kind kind, double alpha, double gamma, double beta_ratio) {
  auto p = zoo::make<T>(shape, kind, 7 + seed_shift());
  Coupling<T> coupling{&p.L, alpha, &p.H, &p.Q, gamma};
  CodesProblem<T> problem{p.X, p.weights, p.B, {}, coupling};
  problem.penalty.beta = beta_ratio * largest_beta(problem, {});
  for (const bool warm : {false, true}) {
    Matrix<T> S = warm ? p.S : Matrix<T>(p.B.cols(), p.X.cols());
    auto setting = zoo::setting(p, alpha, problem.penalty.beta, gamma);
    const auto value = [&] {
      setting.S = reference::widen(S);
      const auto o = reference::objective(setting);
      return static_cast<double>(o.fit + o.sparsity + o.manifold + o.consistency);
    };
    const double before = value();
    const StepReport report = solve_codes(problem, S, {tolerance<T>().certificate / 4}, {});
    const std::string where = p.name + ", alpha " + std::to_string(alpha) + ", gamma " + std::to_string(gamma) +
                              ", beta ratio " + std::to_string(beta_ratio) + (warm ? ", warm" : ", cold");
    const double after = value();
    const double certificate = reference::codes_certificate(setting);
    // codes as large as 460 (near-duplicate atoms, beta 0), rounded to T, leave 2 alpha |S L| eps / scale of a gradient
    double largest = 0;
    for (Index i = 0; i < S.size(); ++i) largest = std::max(largest, std::abs(static_cast<double>(S.data()[i])));
    const double rounding = 2 * alpha * largest * static_cast<double>(std::numeric_limits<T>::epsilon());
    const double reachable = std::max(tolerance<T>().certificate, rounding / largest_beta(problem, {}));
    EXPECT_LE(certificate, reachable) << where << " rounds " << report.rounds;
    EXPECT_NEAR(report.certificate, certificate, tolerance<T>().recomputed) << where;
    EXPECT_LE(after, before + tolerance<T>().recomputed * (1 + std::abs(before))) << where;
  }
}

TYPED_TEST(Steps, CodesAreOptimalOnTheGrid) {
  const std::vector<double> alphas = synthetic::small() ? std::vector{0.0, 64.0} : std::vector{0.0, 1.0, 64.0};
  for (const auto& shape : zoo::shapes())
    for (const Kind kind : kKinds)
      for (const double alpha : alphas)
        for (const double gamma : {0.0, 1.0})
          for (const double ratio : {0.0, 0.02, 0.9}) check_codes<TypeParam>(shape, kind, alpha, gamma, ratio);
}

/// Groups so large that each has all threads, and so small that they share them; the last is two rings together
std::vector<zoo::Shape> unconnected() {
  zoo::Shape few{"three rings", 12, 200, 8}, many{"seven rings", 12, 448, 8};
  few.rings = 3;
  many.rings = 7;
  zoo::Shape uneven = many;
  uneven.name = "eight rings";
  uneven.rings = 8;
  zoo::Shape mixed{"a large path and two small ones", 12, 420, 8};
  mixed.cut = true;
  return {few, many, uneven, mixed};
}

/// So many numbers that the loops over vectors are entered, and none fills them
TYPED_TEST(Steps, CodesOfManyAtomsAndFeaturesAreOptimal) {
  for (const Kind kind : kKinds)
    for (const double alpha : {0.0, 8.0})
      for (const double gamma : {0.0, 1.0})
        check_codes<TypeParam>({"many atoms", 41, 90, 70}, kind, alpha, gamma, 0.05);
}

TYPED_TEST(Steps, CodesOfUnconnectedSamplesAreOptimal) {
  for (const auto& shape : unconnected())
    for (const Kind kind : kKinds)
      for (const double gamma : {0.0, 1.0})
        for (const double ratio : {0.0, 0.02}) check_codes<TypeParam>(shape, kind, 8, gamma, ratio);
}

TYPED_TEST(Steps, CodesOfUnconnectedSamplesHaveTheSameBitsForAnyNumberOfThreads) {
  for (const auto& shape : unconnected())
    for (const Kind kind : {Kind::sample, Kind::element}) {
      const auto p = zoo::make<TypeParam>(shape, kind, 7);
      CodesProblem<TypeParam> problem{p.X, p.weights, p.B, {}, {&p.L, 8, &p.H, &p.Q, 1}};
      problem.penalty.beta = 0.05 * largest_beta(problem, {});
      std::vector<Matrix<TypeParam>> codes;
      for (const int threads : {1, 2, 3}) {
        Control control;
        control.threads = threads;
        codes.emplace_back(p.B.cols(), p.X.cols());
        solve_codes(problem, codes.back(), {tolerance<TypeParam>().certificate}, control);
      }
      EXPECT_EQ(codes[0].numbers(), codes[1].numbers()) << p.name;
      EXPECT_EQ(codes[0].numbers(), codes[2].numbers()) << p.name;
    }
}

/// `keep`: the share of the codes that stay
template <class T>
void check_dictionary(const zoo::Shape& shape, Kind kind, double size, double keep, const Tuning& tuning = {}) {
  auto p = zoo::make<T>(shape, kind, 11 + seed_shift());
  Random random(5);
  for (Index i = 0; i < p.S.size(); ++i)
    if (random.uniform() >= keep) p.S.data()[i] = 0;
  for (Index i = 0; i < p.X.size(); ++i) p.X.data()[i] *= static_cast<T>(size);
  const DictionaryProblem<T> problem{p.X, p.weights, p.S};
  for (const bool warm : {true, false}) {
    Matrix<T> B = warm ? p.B : Matrix<T>(p.X.rows(), p.S.rows());
    auto setting = zoo::setting(p, 0, 0, 0);
    setting.B = reference::widen(B);
    const double before = static_cast<double>(reference::objective(setting).fit);
    const DictionaryReport report = solve_dictionary(problem, B, {tolerance<T>().certificate / 4, 500, tuning}, {});
    setting.B = reference::widen(B);
    const double certificate = reference::dictionary_certificate(setting);
    const std::string where =
        p.name + ", size " + std::to_string(size) + ", keep " + std::to_string(keep) + (warm ? ", warm" : ", cold");
    EXPECT_LE(certificate, tolerance<T>().certificate) << where << " passes " << report.rounds;
    EXPECT_NEAR(report.certificate, certificate, tolerance<T>().recomputed) << where;
    const double after = static_cast<double>(reference::objective(setting).fit);
    EXPECT_LE(after, before * (1 + tolerance<T>().recomputed)) << where;
    EXPECT_NEAR(report.fit, after, tolerance<T>().recomputed * (after + size * size)) << where;
  }
}

TYPED_TEST(Steps, DictionaryIsOptimalOnTheGrid) {
  for (const auto& shape : zoo::shapes())
    for (const Kind kind : kKinds)
      for (const double size : {0.1, 1.0, 10.0})  // larger data push more atoms to the boundary
        check_dictionary<TypeParam>(shape, kind, size, 1);
}

TYPED_TEST(Steps, DictionaryIsOptimalForFewCodesAndManyRows) {
  for (const double keep : {1.0, 0.3}) {
    for (const auto& shape : zoo::shapes()) check_dictionary<TypeParam>(shape, Kind::element, 1, keep);
    check_dictionary<TypeParam>({"many rows", 150, 40, 6, false, false, 0.8}, Kind::element, 3, keep);
  }
}

// So many that the Gram of the mean weights goes first: it leads to the end where weights hardly differ, else not
TYPED_TEST(Steps, DictionaryIsOptimalForManyAtoms) {
  for (const double missing : {0.0, 0.1, 0.5})
    for (const double keep : {0.5, 0.1})
      check_dictionary<TypeParam>({"many atoms", 30, 25, 40, false, false, missing}, Kind::element, 3, keep);
}

TYPED_TEST(Steps, DictionaryTakesNoMoreRoundsThanAskedAndSaysWhatItReached) {
  using T = TypeParam;
  for (const Kind kind : kKinds) {
    const auto p = zoo::make<T>({"many missing", 30, 25, 6, false, false, 0.7}, kind, 3);
    const DictionaryProblem<T> problem{p.X, p.weights, p.S};
    for (const int rounds : {0, 1, 2}) {
      Matrix<T> B = p.B;
      const DictionaryReport report = solve_dictionary(problem, B, {1e-12, rounds}, {});
      EXPECT_LE(report.rounds, rounds) << p.name;
      EXPECT_NEAR(report.certificate, dictionary_certificate(problem, B, {}), tolerance<T>().recomputed) << p.name;
      if (rounds == 0) {
        EXPECT_EQ(B, p.B) << p.name;
      }
    }
  }
}

}  // namespace

// Plain dictionary learning in blocks: descent, certificates recomputed by the slow path, limits, bad input.
#include "model/learn.hpp"

#include <gtest/gtest.h>

#include <future>

#include "algebra/dense.hpp"
#include "algebra/random.hpp"
#include "reference.hpp"
#include "solve/dictionary.hpp"
#include "synthetic.hpp"
#include "tolerances.hpp"

namespace {

using namespace pacewise;

template <class T>
Matrix<T> first_samples(const Matrix<T>& X, Index r) {
  Matrix<T> B(X.rows(), r);
  for (Index k = 0; k < r; ++k) {
    std::copy_n(X.col(k), X.rows(), B.col(k));
    synthetic::unit_column(B.col(k), X.rows());
  }
  return B;
}

template <class T>
reference::Setting setting_of(const Matrix<T>& X, const Learned<T>& found, double beta) {
  reference::Setting p{reference::widen(X),
                       Matrix<double>(X.rows(), X.cols(), 1.0),
                       reference::widen(found.dictionary),
                       reference::widen(found.codes),
                       {},
                       {},
                       {}};
  p.beta = beta;
  return p;
}

template <class T>
struct Learn : testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(Learn, Precisions);

TYPED_TEST(Learn, ReportsWhatTheSlowPathRecomputes) {
  using T = TypeParam;
  const auto data = synthetic::make<T>({});
  for (const double beta : {0.0, 0.1, 1.0}) {
    LearnOptions options;
    options.beta = beta;
    options.max_iter = 15;
    options.step_tol = tolerance<T>().certificate;
    const Learned<T> found = learn<T>(data.X.view(), first_samples(data.X, 8), options, {});
    const auto slow = setting_of(data.X, found, beta);
    const auto parts = reference::objective(slow);
    const double total = static_cast<double>(parts.fit + parts.sparsity);
    double energy = 0;  // the fit is a difference of sums of this size
    for (Index i = 0; i < data.X.size(); ++i) energy += std::pow(static_cast<double>(data.X.data()[i]), 2);
    EXPECT_NEAR(found.objective.total(), total, tolerance<T>().recomputed * energy) << beta;
    EXPECT_LE(reference::codes_certificate(slow), tolerance<T>().certificate) << beta;
    EXPECT_NEAR(found.certificate.codes, reference::codes_certificate(slow), tolerance<T>().certificate) << beta;
    EXPECT_NEAR(found.certificate.dictionary, reference::dictionary_certificate(slow), 10 * tolerance<T>().certificate);
    for (Index k = 0; k < 8; ++k) {
      double norm2 = 0;
      for (Index i = 0; i < data.X.rows(); ++i) norm2 += std::pow(static_cast<double>(found.dictionary(i, k)), 2);
      EXPECT_LE(norm2, 1 + tolerance<T>().certificate);
    }
  }
}

TYPED_TEST(Learn, EveryPassLowersTheObjective) {
  using T = TypeParam;
  const auto data = synthetic::make<T>({.m = 30, .n = 400, .r = 10, .seed = 3});  // 400 samples: 17 blocks
  LearnOptions options;
  options.beta = 0.2;
  options.tol = 0;
  options.max_iter = 30;
  const Learned<T> found = learn<T>(data.X.view(), first_samples(data.X, 10), options, {});
  ASSERT_GE(found.history.size(), 10u);
  for (std::size_t p = 1; p < found.history.size(); ++p)
    EXPECT_LE(found.history[p], found.history[p - 1] * (1 + 1e-4)) << "pass " << p + 1;
  // the last codes are those of the last dictionary: lower again
  EXPECT_LE(found.objective.total(), found.history.back() * (1 + 1e-6));
  EXPECT_LT(found.history.back(), 0.9 * found.history.front());
}

TEST(Learning, FindsThePlantedDictionary) {
  const auto data = synthetic::make<double>({.m = 30, .n = 600, .r = 8, .active = 2, .noise = 0.01, .seed = 5});
  LearnOptions options;
  options.beta = 0.1;
  options.max_iter = 300;
  options.tol = 1e-7;  // beyond float: the last passes run in double
  Matrix<double> start(30, 16);
  Random random(1);
  for (Index k = 0; k < 16; ++k) {
    for (Index i = 0; i < 30; ++i) start(i, k) = random.normal();
    synthetic::unit_column(start.col(k), 30);
  }
  const auto found = learn<double>(data.X.view(), start, options, {});
  EXPECT_EQ(found.termination, Termination::converged);
  EXPECT_GT(synthetic::recovery(data.B, found.dictionary), 0.99);
  EXPECT_LE(found.certificate.codes, options.step_tol);
  EXPECT_LT(found.certificate.dictionary, 1e-2);
}

TEST(Learning, AsLowAsTheAlternationInFewerPasses) {
  const auto data = synthetic::make<double>({.m = 40, .n = 800, .r = 20, .active = 3, .noise = 0.1, .seed = 7});
  const Matrix<double> start = first_samples(data.X, 20);
  const double beta = 0.3;
  Matrix<double> B = start, S(20, 800);
  const Weights<double> none;
  StepOptions step;
  step.tol = 1e-6;
  solve_codes<double>({data.X.view(), none, B, {beta}, {}}, S, step, {});
  for (int iteration = 0; iteration < 9; ++iteration) {
    solve_dictionary<double>({data.X.view(), none, S}, B, step, {});
    solve_codes<double>({data.X.view(), none, B, {beta}, {}}, S, step, {});
  }
  Learned<double> alternated;
  alternated.dictionary = B;
  alternated.codes = S;
  const auto parts = reference::objective(setting_of(data.X, alternated, beta));
  LearnOptions options;
  options.beta = beta;
  options.max_iter = 5;
  options.tol = 0;
  EXPECT_LE(learn<double>(data.X.view(), start, options, {}).objective.total(),
            static_cast<double>(parts.fit + parts.sparsity));
}

TEST(Learning, SameBitsForAnyNumberOfThreads) {
  const auto data = synthetic::make<double>({.m = 300, .n = 500, .r = 20, .seed = 9});
  LearnOptions options;
  options.max_iter = 4;
  Control one, three;
  one.threads = 1;
  three.threads = 3;
  const auto a = learn<double>(data.X.view(), first_samples(data.X, 20), options, one);
  const auto b = learn<double>(data.X.view(), first_samples(data.X, 20), options, three);
  EXPECT_EQ(a.dictionary, b.dictionary);
  EXPECT_EQ(a.codes, b.codes);
  EXPECT_EQ(a.history, b.history);
}

TEST(Learning, FloatIsNearDouble) {
  const auto data = synthetic::make<double>({.m = 20, .n = 200, .r = 6, .seed = 11});
  const Matrix<float> narrow = cast<float, double>(data.X);
  LearnOptions options;
  options.beta = 0.2;
  const auto wide = learn<double>(data.X.view(), first_samples(data.X, 6), options, {});
  const auto slim = learn<float>(narrow.view(), first_samples(narrow, 6), options, {});
  EXPECT_NEAR(slim.objective.total(), wide.objective.total(), 1e-3 * wide.objective.total());
}

TEST(Learning, ScaleOfTheDataOnlyScales) {
  // x -> c x, beta -> c beta: the same dictionary; 1e9 is beyond what the passes in float are used for
  const auto data = synthetic::make<double>({.m = 15, .n = 120, .r = 5, .seed = 13});
  Matrix<double> large = data.X;
  for (Index i = 0; i < large.size(); ++i) large.data()[i] *= 1e9;
  LearnOptions options;
  options.beta = 0.1;
  options.tol = 1e-6;
  const auto a = learn<double>(data.X.view(), first_samples(data.X, 5), options, {});
  options.beta = 1e8;
  const auto b = learn<double>(large.view(), first_samples(large, 5), options, {});
  EXPECT_LT(synthetic::distance(a.dictionary, b.dictionary), 1e-2);
  EXPECT_NEAR(b.objective.total() / a.objective.total(), 1e18, 1e15);
}

TEST(Learning, SmallAndEmptyThings) {
  LearnOptions options;
  options.beta = 0.1;
  {  // one sample, one atom: the atom becomes the sample's direction, the code |x| - beta / 2
    Matrix<double> x(2, 1), b(2, 1);
    x(0, 0) = 3;
    x(1, 0) = 4;
    b(0, 0) = 1;
    const auto found = learn<double>(x.view(), b, options, {});
    EXPECT_NEAR(found.dictionary(0, 0), 0.6, 1e-6);
    EXPECT_NEAR(found.dictionary(1, 0), 0.8, 1e-6);
    EXPECT_NEAR(found.codes(0, 0), 4.95, 1e-6);
    EXPECT_NEAR(found.objective.total(), 0.05 * 0.05 + 0.1 * 4.95, 1e-6);
  }
  {  // nothing to learn: zeros, and beta above everything
    const Matrix<double> zero(4, 10), start(4, 3, 0.5);
    EXPECT_EQ(learn<double>(zero.view(), start, options, {}).objective.total(), 0);
    const auto data = synthetic::make<double>({});
    options.beta = 1e6;
    const auto found = learn<double>(data.X.view(), first_samples(data.X, 8), options, {});
    for (Index i = 0; i < found.codes.size(); ++i) EXPECT_EQ(found.codes.data()[i], 0);
    EXPECT_EQ(found.termination, Termination::converged);
  }
}

TYPED_TEST(Learn, HonestWhereTheFitIsNearlyPerfect) {
  // no noise and a small beta: the fit is a small difference of large sums
  using T = TypeParam;
  const Index n = synthetic::small() ? 200 : 600;
  const int passes = synthetic::small() ? 10 : 40;
  const auto data = synthetic::make<T>({.m = 30, .n = n, .r = 20, .active = 2, .noise = 0, .seed = 19});
  double energy = 0;
  for (Index i = 0; i < data.X.size(); ++i) energy += std::pow(static_cast<double>(data.X.data()[i]), 2);
  for (const double beta : {1e-4, 1e-6}) {
    LearnOptions options;
    options.beta = beta;
    options.max_iter = passes;
    options.step_tol = tolerance<T>().certificate;
    const Learned<T> found = learn<T>(data.X.view(), first_samples(data.X, 20), options, {});
    const auto parts = reference::objective(setting_of(data.X, found, beta));
    const auto total = static_cast<double>(parts.fit + parts.sparsity);
    EXPECT_NEAR(found.objective.total(), total, 1e-3 * total + 1e-12 * energy) << beta;
    for (std::size_t p = 1; p < found.history.size(); ++p) {
      EXPECT_GT(found.history[p], 0);
      EXPECT_LE(found.history[p], found.history[p - 1] * (1 + 1e-3)) << "pass " << p + 1 << ", beta " << beta;
    }
    EXPECT_TRUE(found.termination == Termination::converged || static_cast<int>(found.history.size()) == passes);
  }
}

TYPED_TEST(Learn, AnyScale) {
  // x -> c x, beta -> c beta, with c a power of two: the same bits of the dictionary, whatever the range of squares
  using T = TypeParam;
  const auto data = synthetic::make<T>({.m = 15, .n = 120, .r = 5, .seed = 13});
  LearnOptions options;
  options.beta = 0.125;
  const int far = std::is_same_v<T, double> ? 540 : 66;
  Learned<T> first;
  for (const int power : {far, -far, 40, -40}) {
    Matrix<T> X = data.X;
    for (Index i = 0; i < X.size(); ++i) X.data()[i] = std::ldexp(X.data()[i], power);
    options.beta = std::ldexp(0.125, power);
    const Learned<T> found = learn<T>(X.view(), first_samples(data.X, 5), options, {});
    EXPECT_LE(found.certificate.codes, tolerance<T>().certificate * 100) << power;
    EXPECT_GT(found.certificate.dictionary, 0) << power;
    if (first.dictionary.empty()) first = found;
    EXPECT_EQ(found.dictionary, first.dictionary) << power;
    EXPECT_EQ(found.history.size(), first.history.size()) << power;
  }
}

TEST(Learning, AStartOutsideTheBallOrOutOfUseIsNoMatter) {
  const auto data = synthetic::make<double>({.m = 20, .n = 200, .r = 6, .seed = 23});
  LearnOptions options;
  options.beta = 0.2;
  double energy = 0;
  for (Index i = 0; i < data.X.size(); ++i) energy += data.X.data()[i] * data.X.data()[i];
  Matrix<double> large = first_samples(data.X, 6);
  for (Index i = 0; i < large.size(); ++i) large.data()[i] *= 1e39;
  EXPECT_LT(learn<double>(data.X.view(), large, options, {}).objective.total(), 0.5 * energy);
  for (const Index atoms : {Index{1}, Index{12}}) {  // nothing but zeros: all are replaced
    const auto found = learn<double>(data.X.view(), Matrix<double>(20, atoms), options, {});
    EXPECT_LT(found.objective.total(), 0.95 * energy) << atoms;
    EXPECT_GT(found.history.size(), 2u);
  }
}

TEST(Learning, UnusedAtomsBecomeSamples) {
  const auto data = synthetic::make<double>({.m = 20, .n = 200, .r = 8, .seed = 17});
  Matrix<double> start = first_samples(data.X, 8);
  for (Index k = 4; k < 8; ++k) std::fill_n(start.col(k), 20, 0.0);  // zero atoms serve nobody
  LearnOptions options;
  options.beta = 0.2;
  const auto found = learn<double>(data.X.view(), start, options, {});
  for (Index k = 0; k < 8; ++k) {
    bool used = false;
    for (Index j = 0; j < 200; ++j) used = used || found.codes(k, j) != 0;
    EXPECT_TRUE(used) << "atom " << k;
  }
}

TEST(Learning, BadInputIsNamed) {
  Matrix<double> X(3, 5, 1.0);
  const Matrix<double> B(3, 2, 0.5);
  const auto says = [&](const char* text, const Matrix<double>& values, const Matrix<double>& start, LearnOptions o) {
    synthetic::expect_error([&] { learn<double>(values.view(), start, o, {}); }, text);
  };
  LearnOptions o;
  o.beta = -1;
  says("beta = -1: must be >= 0", X, B, o);
  o = {};
  o.max_iter = 0;
  says("max_iter = 0: must be >= 1", X, B, o);
  o = {};
  o.tol = -1;
  says("tol = -1", X, B, o);
  o = {};
  o.step_tol = 0;
  says("step_tol = 0: must be > 0", X, B, o);
  o = {};
  says("as many features as the data = 3", X, Matrix<double>(4, 2, 0.5), o);
  says("as many features as the data = 3", X, Matrix<double>(3, 0), o);
  says("at least one sample", Matrix<double>(3, 0), B, o);
  says("dictionary has a value", X, Matrix<double>(3, 2, std::numeric_limits<double>::infinity()), o);
  X(1, 3) = std::numeric_limits<double>::quiet_NaN();
  says("sample 3 has a value that is missing", X, B, o);
}

TEST(Learning, StopsSoonAndReturnsAValidPoint) {
  const auto data = synthetic::make<double>({.m = 200, .n = 4000, .r = 64, .active = 3});
  LearnOptions options;
  options.beta = 0.01;
  options.tol = 0;
  options.max_iter = 1000000;
  std::atomic<bool> cancel{false};
  Control control;
  control.cancel = &cancel;
  auto running = std::async(std::launch::async,
                            [&] { return learn<double>(data.X.view(), first_samples(data.X, 64), options, control); });
  ASSERT_EQ(running.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  const auto start = std::chrono::steady_clock::now();
  cancel = true;
  const auto found = running.get();
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
            synthetic::sanitized ? 10 : 1);
  EXPECT_EQ(found.termination, Termination::cancelled);
  EXPECT_TRUE(std::isfinite(found.objective.total()));
  EXPECT_TRUE(std::isfinite(found.certificate.codes));
  Control late;
  late.deadline = std::chrono::steady_clock::now();
  EXPECT_EQ(learn<double>(data.X.view(), first_samples(data.X, 64), options, late).termination,
            Termination::time_limit);
}

/// b_k alone: minimise a |b|^2 - 2 b'u over the unit ball, tried against many other points of it
TEST(AtomSweep, EveryAtomIsTheBestForTheOthers) {
  const Index m = 5, r = 40;  // more than one group of atoms
  Random random(21);
  Matrix<double> S(r, 90), X(m, 90), A(r, r), C(m, r), B(m, r);
  for (Index i = 0; i < S.size(); ++i) S.data()[i] = random.uniform() < 0.3 ? random.normal() : 0.0;
  for (Index i = 0; i < X.size(); ++i) X.data()[i] = 3 * random.normal();
  for (Index i = 0; i < B.size(); ++i) B.data()[i] = 0.3 * random.normal();
  for (Index j = 0; j < 90; ++j) S(7, j) = 0;  // an unused atom stays
  for (Index j = 0; j < 90; ++j)
    for (Index k = 0; k < r; ++k) {
      for (Index l = 0; l < r; ++l) A(l, k) += S(l, j) * S(k, j);
      for (Index i = 0; i < m; ++i) C(i, k) += X(i, j) * S(k, j);
    }
  // one atom after the other, written out
  Matrix<double> expected = B;
  for (Index k = 0; k < r; ++k) {
    if (A(k, k) == 0) continue;
    double norm2 = 0;
    std::vector<double> u(static_cast<std::size_t>(m));
    for (Index i = 0; i < m; ++i) {
      double sum = C(i, k);
      for (Index l = 0; l < r; ++l)
        if (l != k) sum -= expected(i, l) * A(l, k);
      u[static_cast<std::size_t>(i)] = sum / A(k, k);
      norm2 += sum * sum / A(k, k) / A(k, k);
    }
    const double shrink = 1 / std::max(1.0, std::sqrt(norm2));
    for (Index i = 0; i < m; ++i) expected(i, k) = shrink * u[static_cast<std::size_t>(i)];
    // no point of the ball beats it
    const auto value = [&](const auto& at) {
      double sum = 0;
      for (Index i = 0; i < m; ++i) {
        const double b = at(i), toward = u[static_cast<std::size_t>(i)];
        sum += b * b - 2 * b * toward;
      }
      return sum;
    };
    const double best = value([&](Index i) { return expected(i, k); });
    for (int trial = 0; trial < 200; ++trial) {
      std::vector<double> other(static_cast<std::size_t>(m));
      double size = 0;
      for (double& x : other) {
        x = random.normal();
        size += x * x;
      }
      const double radius = std::cbrt(random.uniform()) / std::sqrt(size);
      EXPECT_GE(value([&](Index i) { return radius * other[static_cast<std::size_t>(i)]; }), best - 1e-12);
    }
  }
  const Matrix<double> before = B;
  Curvature curvature;
  curvature.A = eigen(A);
  curvature.f = Eigen::VectorXd::Ones(m);
  EigenMatrix<double> swept = eigen(B);
  sweep_atoms(curvature, eigen(C) - swept * curvature.A, false, 1, 0, swept, {}, {});
  eigen(B) = swept;
  EXPECT_LT(synthetic::distance(B, expected), 1e-12);
  for (Index i = 0; i < m; ++i) EXPECT_EQ(B(i, 7), before(i, 7));
}

}  // namespace

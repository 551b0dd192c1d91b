// Plain dictionary learning in blocks: descent, certificates recomputed by the slow path, limits, bad input.
#include "model/learn.hpp"

#include <gtest/gtest.h>

#include <future>

#include "reference.hpp"
#include "solve/dictionary.hpp"
#include "synthetic.hpp"
#include "tolerances.hpp"

namespace {

using namespace pacewise;
using synthetic::distance;

template <class T>
Matrix<T> first_samples(const Matrix<T>& X, Index r) {
  Matrix<T> B(X.view().columns(0, r));
  for (Index k = 0; k < r; ++k) eigen(B).col(k).normalize();
  return B;
}

/// From the first samples as atoms
template <class T>
Learned<T> learned(const Matrix<T>& X, Index r, const LearnOptions& options, const Control& control = {}) {
  return learn<T>(X.view(), first_samples(X, r), options, control);
}

template <class T>
reference::Setting setting_of(const Matrix<T>& X, const Matrix<T>& B, const Matrix<T>& S, double beta) {
  using reference::wide;
  return {wide(X), reference::Dense::Ones(X.rows(), X.cols()), wide(B), wide(S), {}, {}, {}, {beta}};
}

template <class T>
struct Learn : testing::Test {};
TYPED_TEST_SUITE(Learn, synthetic::Precisions);

TYPED_TEST(Learn, ReportsWhatTheSlowPathRecomputes) {
  using T = TypeParam;
  const auto data = synthetic::make<T>({});
  const double tol = tolerance<T>().certificate;
  for (const double beta : {0.0, 0.1, 1.0}) {
    const auto found = learned(data.X, 8, {.beta = beta, .max_iter = 15, .step_tol = tol});
    const auto slow = setting_of(data.X, found.dictionary, found.codes, beta);
    // the fit is a difference of sums of squares
    EXPECT_NEAR(found.objective.total(), reference::objective(slow).total(),
                tolerance<T>().recomputed * static_cast<double>(eigen(data.X).squaredNorm()));
    EXPECT_LE(reference::codes_certificate(slow), tol) << beta;
    EXPECT_NEAR(found.certificate.codes, reference::codes_certificate(slow), tol) << beta;
    EXPECT_NEAR(found.certificate.dictionary, reference::dictionary_certificate(slow), 10 * tol);
    EXPECT_LE(slow.B.colwise().squaredNorm().maxCoeff(), 1 + tol);
  }
}

TYPED_TEST(Learn, EveryPassLowersTheObjective) {
  const auto data = synthetic::make<TypeParam>({.m = 30, .n = 400, .r = 10, .seed = 3});  // 400 samples: 17 blocks
  const auto found = learned(data.X, 10, {.beta = 0.2, .max_iter = 30, .tol = 0});
  const std::vector<double>& h = found.history;
  ASSERT_GE(h.size(), 10u);
  for (std::size_t p = 1; p < h.size(); ++p) EXPECT_TRUE(h[p] > 0 && h[p] <= h[p - 1] * (1 + 1e-4)) << "pass " << p + 1;
  EXPECT_LE(found.objective.total(), h.back() * (1 + 1e-6)) << "the last codes, those of the last dictionary";
  EXPECT_LT(h.back(), 0.9 * h.front());
}

TYPED_TEST(Learn, HonestWhereTheFitIsNearlyPerfect) {
  // no noise and a small beta: the fit is a small difference of large sums
  using T = TypeParam;
  const int passes = synthetic::small() ? 10 : 40;
  const auto data = synthetic::make<T>({.m = 30, .n = passes * 15, .r = 20, .active = 2, .noise = 0, .seed = 19});
  const double energy = static_cast<double>(eigen(data.X).squaredNorm());
  for (const double beta : {1e-4, 1e-6}) {
    const auto found = learned(data.X, 20, {.beta = beta, .max_iter = passes, .step_tol = tolerance<T>().certificate});
    const double total = reference::objective(setting_of(data.X, found.dictionary, found.codes, beta)).total();
    EXPECT_NEAR(found.objective.total(), total, 1e-3 * total + 1e-12 * energy) << beta;
    for (std::size_t p = 1; p < found.history.size(); ++p)
      EXPECT_TRUE(found.history[p] > 0 && found.history[p] <= found.history[p - 1] * (1 + 1e-3)) << p << ", " << beta;
    EXPECT_TRUE(found.termination == Termination::converged || static_cast<int>(found.history.size()) == passes);
  }
}

TEST(Learning, FindsThePlantedDictionary) {
  const auto data = synthetic::make<double>({.m = 30, .n = 600, .r = 8, .active = 2, .noise = 0.01, .seed = 5});
  Matrix<double> start = synthetic::gaussian<double>(30, 16, 1);
  for (Index k = 0; k < 16; ++k) eigen(start).col(k).normalize();
  const LearnOptions options{.beta = 0.1, .max_iter = 300, .tol = 1e-7};  // beyond float: the last passes run in double
  const auto found = learn<double>(data.X.view(), start, options, {});
  EXPECT_EQ(found.termination, Termination::converged);
  EXPECT_GT(synthetic::recovery(data.B, found.dictionary), 0.99);
  EXPECT_LE(found.certificate.codes, options.step_tol);
  EXPECT_LT(found.certificate.dictionary, 1e-2);
}

TEST(Learning, AsLowAsTheAlternationInFewerPasses) {
  const auto data = synthetic::make<double>({.m = 40, .n = 800, .r = 20, .active = 3, .noise = 0.1, .seed = 7});
  const double beta = 0.3;
  Matrix<double> B = first_samples(data.X, 20), S(20, 800);
  const Weights<double> none;
  const auto code = [&] { solve_codes<double>({data.X.view(), none, B, {beta}, {}}, S, {.tol = 1e-6}, {}); };
  code();
  for (int iteration = 0; iteration < 9; ++iteration) {
    solve_dictionary<double>({data.X.view(), none, S}, B, {.tol = 1e-6}, {});
    code();
  }
  EXPECT_LE(learned(data.X, 20, {.beta = beta, .max_iter = 5, .tol = 0}).objective.total(),
            reference::objective(setting_of(data.X, B, S, beta)).total());
}

TEST(Learning, SameBitsForAnyNumberOfThreadsAndFloatIsNearDouble) {
  const auto data = synthetic::make<double>({.m = 300, .n = 500, .r = 20, .seed = 9});
  const auto a = learned(data.X, 20, {.max_iter = 4}, {.threads = 1});
  const auto b = learned(data.X, 20, {.max_iter = 4}, {.threads = 3});
  EXPECT_TRUE(a.dictionary == b.dictionary && a.codes == b.codes && a.history == b.history);
  const auto single = learned(cast<float, double>(data.X), 20, {.max_iter = 4});
  EXPECT_NEAR(single.objective.total(), a.objective.total(), 1e-3 * a.objective.total());
}

TYPED_TEST(Learn, AnyScale) {
  // x -> c x, beta -> c beta, with c a power of two: the same bits of the dictionary, whatever the range of squares;
  // near 1 the passes in float come first
  using T = TypeParam;
  const auto data = synthetic::make<T>({.m = 15, .n = 120, .r = 5, .seed = 13});
  const auto scaled = [&](int power) {
    Matrix<T> X = data.X;
    for (Index i = 0; i < X.size(); ++i) X.data()[i] = std::ldexp(X.data()[i], power);
    const auto found =
        learn<T>(X.view(), first_samples(data.X, 5), {.beta = std::ldexp(0.125, power), .tol = 1e-6}, {});
    EXPECT_LE(found.certificate.codes, tolerance<T>().certificate * 100) << power;
    EXPECT_GT(found.certificate.dictionary, 0) << power;
    return found;
  };
  const int far = std::is_same_v<T, double> ? 540 : 66;
  const Learned<T> first = scaled(far), plain = scaled(0);
  for (const int power : {-far, 40, -40}) {
    const Learned<T> found = scaled(power);
    EXPECT_EQ(found.dictionary, first.dictionary) << power;
    EXPECT_EQ(found.history.size(), first.history.size()) << power;
  }
  EXPECT_LT(distance(plain.dictionary, first.dictionary), 1e-2);
}

TEST(Learning, OneSampleAndOneAtom) {  // the atom becomes the sample's direction, the code |x| - beta / 2
  Matrix<double> x(2, 1), b(2, 1);
  eigen(x) << 3, 4;
  b(0, 0) = 1;
  const auto found = learn<double>(x.view(), b, {.beta = 0.1}, {});
  EXPECT_NEAR(found.dictionary(0, 0), 0.6, 1e-6);
  EXPECT_NEAR(found.dictionary(1, 0), 0.8, 1e-6);
  EXPECT_NEAR(found.codes(0, 0), 4.95, 1e-6);
  EXPECT_NEAR(found.objective.total(), 0.05 * 0.05 + 0.1 * 4.95, 1e-6);
}

TEST(Learning, NothingToLearn) {
  const Matrix<double> zero(4, 10), start(4, 3, 0.5);
  EXPECT_EQ(learn<double>(zero.view(), start, {.beta = 0.1}, {}).objective.total(), 0);
  const auto found = learned(synthetic::make<double>({}).X, 8, {.beta = 1e6});
  EXPECT_TRUE((eigen(found.codes).array() == 0).all());
  EXPECT_EQ(found.termination, Termination::converged);
  Matrix<double> few(synthetic::make<double>({}).X.view().columns(0, 5));
  eigen(few).col(2).setZero();
  const auto more = learn<double>(few.view(), Matrix<double>(20, 9), {.beta = 0.1}, {});  // atoms than samples
  EXPECT_TRUE(std::isfinite(more.objective.total()));
  EXPECT_EQ(eigen(more.codes).col(2).norm(), 0);
}

TEST(Learning, AStartOutsideTheBallOrOutOfUseIsNoMatter) {
  const auto data = synthetic::make<double>({.m = 20, .n = 200, .r = 6, .seed = 23});
  const double energy = eigen(data.X).squaredNorm();
  Matrix<double> large = first_samples(data.X, 6);
  eigen(large) *= 1e39;
  EXPECT_LT(learn<double>(data.X.view(), large, {.beta = 0.2}, {}).objective.total(), 0.5 * energy);
  for (const Index atoms : {1, 12}) {  // nothing but zeros: all are replaced
    const auto found = learn<double>(data.X.view(), Matrix<double>(20, atoms), {.beta = 0.2}, {});
    EXPECT_LT(found.objective.total(), 0.95 * energy) << atoms;
    EXPECT_GT(found.history.size(), 2u);
  }
  Matrix<double> start = first_samples(data.X, 8);
  eigen(start).rightCols(4).setZero();  // zero atoms serve nobody
  const auto found = learn<double>(data.X.view(), start, {.beta = 0.2}, {});
  EXPECT_GT(eigen(found.codes).cwiseAbs().rowwise().maxCoeff().minCoeff(), 0) << "all are used";
}

TEST(Learning, BadInputIsNamed) {
  const Matrix<double> X(3, 5, 1.0), B(3, 2, 0.5);
  Matrix<double> holes = X;
  holes(1, 3) = std::numeric_limits<double>::quiet_NaN();
  const auto says = [&](const char* text, const Matrix<double>& x, const Matrix<double>& b, const LearnOptions& o) {
    synthetic::expect_error([&] { learn<double>(x.view(), b, o, {}); }, text);
  };
  says("beta = -1: must be >= 0", X, B, {.beta = -1});
  says("max_iter = 0: must be >= 1", X, B, {.max_iter = 0});
  says("tol = -1", X, B, {.tol = -1});
  says("step_tol = 0: must be > 0", X, B, {.step_tol = 0});
  says("as many features as the data = 3", X, Matrix<double>(4, 2, 0.5), {});
  says("as many features as the data = 3", X, Matrix<double>(3, 0), {});
  says("at least one sample", Matrix<double>(3, 0), B, {});
  says("dictionary has a value", X, Matrix<double>(3, 2, std::numeric_limits<double>::infinity()), {});
  says("sample 3 has a value that is missing", holes, B, {});
}

TEST(Learning, StopsSoonAndReturnsAValidPoint) {
  const auto data = synthetic::make<double>({.m = 200, .n = 4000, .r = 64, .active = 3});
  const LearnOptions options{.beta = 0.01, .max_iter = 1000000, .tol = 0};
  std::atomic<bool> cancel{false};
  auto running = std::async(std::launch::async, [&] { return learned(data.X, 64, options, {.cancel = &cancel}); });
  ASSERT_EQ(running.wait_for(std::chrono::milliseconds(300)), std::future_status::timeout);
  const auto start = std::chrono::steady_clock::now();
  cancel = true;
  const auto found = running.get();
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
            synthetic::sanitized ? 10 : 1);
  EXPECT_EQ(found.termination, Termination::cancelled);
  EXPECT_TRUE(std::isfinite(found.objective.total()));
  EXPECT_TRUE(std::isfinite(found.certificate.codes));
  const auto now = std::chrono::steady_clock::now();
  EXPECT_EQ(learned(data.X, 64, options, {.deadline = now}).termination, Termination::time_limit);
}

/// One atom after the other, each the minimiser of a |b|^2 - 2 b'u over the unit ball for the others as they are
TEST(AtomSweep, EveryAtomIsTheBestForTheOthers) {
  const Index m = 5, r = 40;  // more than one group of atoms
  Random random(21);
  EigenMatrix<double> S(r, 90), X = 3 * eigen(synthetic::gaussian<double>(m, 90, 22)),
                                B = 0.3 * eigen(synthetic::gaussian<double>(m, r, 23));
  for (double& s : S.reshaped()) s = random.uniform() < 0.3 ? random.normal() : 0.0;
  S.row(7).setZero();  // an unused atom stays
  Curvature curvature;
  curvature.A = S * S.transpose();
  curvature.f = Eigen::VectorXd::Ones(m);
  const EigenMatrix<double> C = X * S.transpose();
  EigenMatrix<double> expected = B, swept = B;
  for (Index k = 0; k < r; ++k) {
    const double a = curvature.A(k, k);
    if (a == 0) continue;
    const Eigen::VectorXd u = (C.col(k) - expected * curvature.A.col(k)) / a + expected.col(k);
    expected.col(k) = u / std::max(1.0, u.norm());
  }
  sweep_atoms(curvature, C - swept * curvature.A, false, 1, 0, swept, {}, {});
  EXPECT_LT((swept - expected).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_EQ(swept.col(7), B.col(7));
}

}  // namespace

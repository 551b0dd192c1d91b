#include "graph/space.hpp"

#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <cmath>
#include <string>

#include "graph/neighbours.hpp"
#include "synthetic.hpp"

namespace pacewise {
namespace {

using Dense = Eigen::MatrixXd;

Dense gaussian(Index m, Index n, std::uint64_t seed) { return eigen(synthetic::gaussian<double>(m, n, seed)); }

/// m x n with singular values rate^d (before centring) and a mean far from zero
Dense decaying(Index m, Index n, double rate, std::uint64_t seed) {
  const Index r = std::min(m, n);
  const auto basis = [r](Index rows, std::uint64_t s) {
    return Dense(Eigen::HouseholderQR<Dense>(gaussian(rows, r, s)).householderQ() * Dense::Identity(rows, r));
  };
  const Dense left = basis(m, seed), right = basis(n, seed + 1);
  const Eigen::VectorXd s = Eigen::pow(rate, Eigen::ArrayXd::LinSpaced(r, 0, static_cast<double>(r - 1)));
  return (left * s.asDiagonal() * right.transpose()).array() + 3;
}

template <class T>
Matrix<T> ours(const Dense& X) {
  return cast<T>(MatrixView<const double>(X));
}

/// The points of complete samples
template <class T = double>
Dense project_all(const Dense& X, Space::Kind kind, Index D) {
  return eigen(project<T>(ours<T>(X), {kind, D}, 0, {}).points);
}

/// .. and of samples in which NaN is a missing entry
Dense project_holes(const Matrix<double>& X, Space::Kind kind, Index D, const Control& control = {}) {
  return eigen(project<double>(prepare<double>({X}, Normalize::none), {kind, D}, 0, control).points);
}

using Svd = Eigen::JacobiSVD<Dense, Eigen::HouseholderQRPreconditioner>;

/// by Eigen, of the whole centred matrix
Svd exact_svd(const Dense& X) {
  return Svd(X.colwise() - X.rowwise().mean(), Eigen::ComputeThinU | Eigen::ComputeThinV);
}

/// D x n
Dense exact_space(const Svd& svd, Space::Kind kind, Index D) {
  Dense points = svd.matrixV().leftCols(D).transpose();
  const Eigen::VectorXd s = svd.singularValues().head(D);
  if (kind == Space::Kind::pca) return s.asDiagonal() * points;
  if (kind == Space::Kind::half) points = s.cwiseSqrt().asDiagonal() * points;
  return points.colwise().normalized();
}

/// Signs are free, inner products are not.
void expect_same_up_to_sign(const Dense& a, const Dense& b, double tolerance) {
  ASSERT_EQ(a.rows(), b.rows());
  ASSERT_EQ(a.cols(), b.cols());
  const Dense difference = a.transpose() * a - b.transpose() * b;
  EXPECT_LE(difference.cwiseAbs().maxCoeff(), tolerance * (b.transpose() * b).cwiseAbs().maxCoeff());
}

constexpr Space::Kind kKinds[] = {Space::Kind::pca, Space::Kind::half, Space::Kind::white};
constexpr Space::Kind kAllKinds[] = {Space::Kind::pca, Space::Kind::half, Space::Kind::white, Space::Kind::robust};

TEST(Space, ParseAndPrint) {
  for (const char* text : {"raw", "pca:1", "half:40", "white:512", "robust:7"})
    EXPECT_EQ(to_string(parse_space(text)), text);
  for (const char* text : {"", "RAW", "raw:3", "pca", "pca:", "pca:0", "half:-1", "white:4x", "white:4.0", "pca: 4",
                           "pca:99999999999999999999", "umap:2"})
    synthetic::expect_error([&] { parse_space(text); }, "graph_space = " + std::string(text) + ": must be");
}

TEST(Space, AgreesWithTheFullSvd) {
  // in the last two both sides are above the size that is done exactly: Y Y' is formed, or too large for that
  for (const auto& [m, n, rate] : {std::tuple<Index, Index, double>{12, 70, 0.7},
                                   {70, 12, 0.7},
                                   {30, 30, 0.7},
                                   {280, 320, 0.8},
                                   {1030, 270, 0.8}}) {
    const Dense X = decaying(m, n, rate, 1);
    const Svd svd = exact_svd(X);
    for (const Space::Kind kind : kKinds) {
      const Dense exact = exact_space(svd, kind, 8);
      expect_same_up_to_sign(project_all(X, kind, 8), exact, m < 100 ? 1e-9 : 1e-6);
      expect_same_up_to_sign(project_all<float>(X, kind, 8), exact, 1e-3);
    }
  }
}

TEST(Space, SameSeedSameBitsOnAnyNumberOfThreads) {
  const Index samples = synthetic::small() ? 300 : 700;
  Matrix<double> X = ours<double>(decaying(synthetic::small() ? 120 : 270, samples, 0.95, 3));
  for (const bool missing : {false, true}) {
    if (missing) X(3, 5) = X(100, samples - 50) = std::nan("");
    for (const Space::Kind kind : {Space::Kind::half, Space::Kind::robust}) {
      const Dense one = project_holes(X, kind, 12, {.threads = 1});
      for (const int threads : synthetic::small() ? std::vector{3} : std::vector{2, 3, 7})
        EXPECT_EQ(one, project_holes(X, kind, 12, {.threads = threads}));
    }
  }
}

TEST(Space, EqualSamplesHaveEqualPoints) {
  Dense X = decaying(40, 300, 0.9, 4);
  for (const Index j : {17, 64, 255, 256, 299}) X.col(j) = X.col(3);
  for (const Space::Kind kind : {Space::Kind::white, Space::Kind::robust}) {
    const Dense points = project_all(X, kind, 9);
    for (const Index j : {17, 64, 255, 256, 299}) EXPECT_EQ(points.col(j), points.col(3));
  }
}

TEST(Space, DimensionsAreCutToTheRank) {
  const Dense X = gaussian(50, 3, 5) * gaussian(3, 40, 6);  // rank 3, and centring keeps it
  for (const Space::Kind kind : kAllKinds) {
    EXPECT_EQ(project_all(X, kind, 20).rows(), 3);
    EXPECT_EQ(project_all<float>(X, kind, 20).rows(), 3);
  }
  EXPECT_EQ(project_all(gaussian(50, 6, 7), Space::Kind::pca, 20).rows(), 5);
  EXPECT_EQ(project_all(gaussian(4, 60, 8), Space::Kind::pca, 20).rows(), 4);
}

TEST(Space, NoVarianceGivesZerosNotNaN) {
  for (const Space::Kind kind : kAllKinds) {
    const Coordinates flat = project<double>(Matrix<double>(9, 31, 0.1), {kind, 4}, 0, {});
    EXPECT_EQ(flat.points, Matrix<double>(1, 31));
    EXPECT_EQ(project<float>(Matrix<float>(9, 1, 0.1f), {kind, 4}, 0, {}).points, Matrix<double>(1, 1));
  }
}

TEST(Space, ASampleAtTheMeanIsAtZero) {
  Dense X(2, 5);  // four corners of a square and its centre
  X << 1, 1, -1, -1, 0, 2, -2, 2, -2, 0;
  X.colwise() += Eigen::Vector2d(0.3, 0.7);
  Eigen::RowVectorXd expected(5);
  expected << 1, 1, 1, 1, 0;
  for (const Space::Kind kind : {Space::Kind::half, Space::Kind::white})
    EXPECT_LE((project_all(X, kind, 2).colwise().norm() - expected).cwiseAbs().maxCoeff(), 1e-12);
}

TEST(Space, MissingEntriesOfLowRankDataAreFilledIn) {
  const Dense X = gaussian(60, 2, 9) * gaussian(2, 200, 10);
  const auto holes = synthetic::punch(ours<double>(X), 0.1, 11);
  const Dense exact = exact_space(exact_svd(X), Space::Kind::pca, 2), target = exact.transpose() * exact,
              found = project_holes(holes.nan, Space::Kind::pca, 2);
  expect_same_up_to_sign(found, exact, 0.02);
  // the features' means alone are far worse
  const auto seen = eigen(holes.weights.entry);
  const Eigen::VectorXd mean = X.cwiseProduct(seen).rowwise().sum().cwiseQuotient(seen.rowwise().sum());
  const Dense mean_filled = (seen.array() > 0).select(X, mean.replicate(1, X.cols()));
  const Dense crude = exact_space(exact_svd(mean_filled), Space::Kind::pca, 2);
  EXPECT_LT((found.transpose() * found - target).norm(), 0.2 * (crude.transpose() * crude - target).norm());
}

double median(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

/// robust:D the slow way: a full SVD in every round, everything in memory
Dense slow_robust(const Dense& X, Index D) {
  const auto m = static_cast<double>(X.rows()), n = static_cast<double>(X.cols());
  const Dense Y = X.colwise() - X.rowwise().mean();
  Dense trimmed = Y;
  std::vector<double> reach(static_cast<std::size_t>(X.rows()), 0.0);
  for (const double share : {0.025, 0.075, 0.15, 0.3, 0.5}) {
    const Svd svd(trimmed, Eigen::ComputeThinU | Eigen::ComputeThinV);
    const auto r = static_cast<Index>(std::ceil(share * static_cast<double>(D)));
    const Dense L =
        svd.matrixU().leftCols(r) * svd.singularValues().head(r).asDiagonal() * svd.matrixV().leftCols(r).transpose();
    const Dense away = (Y - L).cwiseAbs();
    const double usual = median({away.data(), away.data() + away.size()});
    for (Index i = 0; i < X.rows(); ++i) {
      const Eigen::RowVectorXd row = away.row(i);
      double& far = reach[static_cast<std::size_t>(i)];
      far = std::max(far / 2, 8 * 1.4826 * std::max(usual, median({row.data(), row.data() + row.size()})));
      for (Index j = 0; j < X.cols(); ++j) {
        const double t = std::min(1.0, away(i, j) / far);
        trimmed(i, j) = L(i, j) + std::pow(1 - t * t, 2) * (Y(i, j) - L(i, j));
      }
    }
  }
  const Svd svd(trimmed, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const auto s = svd.singularValues();
  const double noise =
      s.tail(s.size() - D).squaredNorm() / ((m - static_cast<double>(D)) * (n - static_cast<double>(D)));
  Dense points = svd.matrixV().leftCols(D).transpose();
  for (Index d = 0; d < D; ++d)
    points.row(d) *= std::pow(std::max(0.0, s(d) * s(d) - noise * std::pow(std::sqrt(m) + std::sqrt(n), 2)), 0.25);
  return points.colwise().normalized();
}

/// rank 6 and noise, a tenth of the entries anything at all
Dense wild(const Dense& clean, double noise, double share) {
  Random random(21);
  return clean.unaryExpr(
      [&](double x) { return random.uniform() < share ? 40 * (random.uniform() - 0.5) : x + noise * random.normal(); });
}

TEST(Space, RobustIsWhatTheSlowWayGives) {
  const Dense clean = gaussian(60, 6, 15) * gaussian(6, 90, 16);
  for (const double share : {0.0, 0.1}) {
    const Dense X = wild(clean, 0.5, share);
    expect_same_up_to_sign(project_all(X, Space::Kind::robust, 12), slow_robust(X, 12), 1e-9);
  }
}

// The geometry of the clean data, as far as inner products tell it: wild entries and noise both cost half:D more.
TEST(Space, RobustKeepsToTheCleanData) {
  if (synthetic::small())
    GTEST_SKIP() << "says how good the space is, which needs data enough; other tests reach its lines";
  const Dense clean = gaussian(300, 6, 17) * gaussian(6, 400, 18);
  const Dense exact = exact_space(exact_svd(clean), Space::Kind::half, 6), target = exact.transpose() * exact;
  const auto off = [&](const Dense& X, Space::Kind kind) {
    const Dense points = project_all(X, kind, 40);
    return (points.transpose() * points - target).norm() / target.norm();
  };
  EXPECT_LE(off(clean, Space::Kind::robust), 1e-6);
  const Dense noisy = wild(clean, 2, 0), struck = wild(clean, 0, 0.1);
  EXPECT_LE(off(noisy, Space::Kind::robust), 0.5 * off(noisy, Space::Kind::half));
  EXPECT_LE(off(struck, Space::Kind::robust), 0.3 * off(struck, Space::Kind::half));
}

// Every sample twice: the 4,096 at even distances, from which the rounds learn, are all there are.
TEST(Space, RoundsLearnFromSamplesAtEvenDistances) {
  const Index n = 4096;
  Matrix<double> once = ours<double>(wild(gaussian(12, 3, 22) * gaussian(3, n, 23), 0.1, 0.05)), twice(12, 2 * n);
  for (Index j = 0; j < n; j += 3) once(j % 12, j) = std::nan("");
  for (Index j = 0; j < 2 * n; ++j) eigen(twice).col(j) = eigen(once).col(j / 2);
  for (const Space::Kind kind : {Space::Kind::half, Space::Kind::robust}) {
    const Dense one = project_holes(once, kind, 3), two = project_holes(twice, kind, 3);
    for (Index j = 0; j < 2 * n; ++j) ASSERT_LE((two.col(j) - one.col(j / 2)).cwiseAbs().maxCoeff(), 1e-9);
  }
}

TEST(Space, ASampleWithoutEntriesHasNoPlace) {
  Matrix<double> X = ours<double>(gaussian(5, 20, 12));
  eigen(X).col(4).setConstant(std::nan(""));
  for (const Space::Kind kind : kAllKinds) {
    const Coordinates found = project<double>(prepare<double>({X, {}}, Normalize::none), {kind, 3}, 0, {});
    for (Index j = 0; j < 20; ++j) EXPECT_EQ(found.weights.sample[j], j == 4 ? 0 : 1);
    const Neighbours near = nearest(found.samples(), 2, {});
    for (Index j = 0; j < 20; ++j) {
      EXPECT_EQ(near.index[2 * j] < 0, j == 4);
      EXPECT_NE(near.index[2 * j], 4);
    }
  }
}

TEST(Space, HugeAndTinyData) {
  const Dense X = decaying(10, 40, 0.8, 13);
  for (const double factor : {0x1p-600, 0x1p600})
    expect_same_up_to_sign(project_all(X * factor, Space::Kind::half, 4),
                           exact_space(exact_svd(X), Space::Kind::half, 4), 1e-9);
}

}  // namespace
}  // namespace pacewise

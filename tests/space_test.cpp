#include "pacewise/graph/space.hpp"

#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <cmath>
#include <string>

#include "pacewise/algebra/dense.hpp"
#include "pacewise/algebra/random.hpp"

namespace pacewise {
namespace {

using Dense = Eigen::MatrixXd;

Dense gaussian(Index m, Index n, std::uint64_t seed) {
  Random random(seed);
  Dense X(m, n);
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i) X(i, j) = random.normal();
  return X;
}

/// m x n with singular values rate^d (before centring) and a mean far from zero
Dense decaying(Index m, Index n, double rate, std::uint64_t seed) {
  const Index r = std::min(m, n);
  const auto basis = [r](Index rows, std::uint64_t s) {
    Dense q = gaussian(rows, r, s);
    orthonormalise({q.data(), rows, r});
    return q;
  };
  const Dense left = basis(m, seed), right = basis(n, seed + 1);
  Eigen::VectorXd s(r);
  for (Index d = 0; d < r; ++d) s(d) = std::pow(rate, static_cast<double>(d));
  return (left * s.asDiagonal() * right.transpose()).array() + 3;
}

template <class T>
Matrix<T> ours(const Dense& X) {
  Matrix<T> out(X.rows(), X.cols());
  for (Index j = 0; j < X.cols(); ++j)
    for (Index i = 0; i < X.rows(); ++i) out(i, j) = static_cast<T>(X(i, j));
  return out;
}

Dense theirs(const Matrix<double>& a) { return Eigen::Map<const Dense>(a.data(), a.rows(), a.cols()); }

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

TEST(Space, ParseAndPrint) {
  for (const char* text : {"raw", "pca:1", "half:40", "white:512"}) EXPECT_EQ(to_string(parse_space(text)), text);
  for (const char* text : {"", "RAW", "raw:3", "pca", "pca:", "pca:0", "half:-1", "white:4x", "white:4.0", "pca: 4",
                           "pca:99999999999999999999", "umap:2"}) {
    try {
      parse_space(text);
      ADD_FAILURE() << text << " accepted";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("graph space \"" + std::string(text) + "\": must be"),
                std::string::npos);
    }
  }
}

TEST(Space, SmallDataAgreeWithTheFullSvd) {
  for (const auto& [m, n] : {std::pair<Index, Index>{12, 70}, {70, 12}, {30, 30}}) {
    const Dense X = decaying(m, n, 0.7, 1);
    for (const Space::Kind kind : kKinds)
      expect_same_up_to_sign(theirs(project<double>(ours<double>(X), {kind, 8}, 0, {}).points),
                             exact_space(exact_svd(X), kind, 8), 1e-9);
  }
}

TEST(Space, SketchAgreesWithTheFullSvd) {
  const Dense X = decaying(280, 320, 0.8, 2);  // both sides above the size that is done exactly
  const Svd svd = exact_svd(X);
  for (const Space::Kind kind : kKinds) {
    const Dense exact = exact_space(svd, kind, 10);
    expect_same_up_to_sign(theirs(project<double>(ours<double>(X), {kind, 10}, 0, {}).points), exact, 1e-6);
    expect_same_up_to_sign(theirs(project<float>(ours<float>(X), {kind, 10}, 0, {}).points), exact, 1e-3);
  }
}

TEST(Space, SameSeedSameBitsOnAnyNumberOfThreads) {
  Matrix<double> X = ours<double>(decaying(270, 700, 0.95, 3));
  for (const bool holes : {false, true}) {
    if (holes) X(3, 5) = X(100, 650) = std::nan("");
    Control control;
    control.threads = 1;
    const Coordinates one = project<double>(X, {Space::Kind::half, 12}, 42, control);
    EXPECT_EQ(one.imputed, holes);
    for (const int count : {2, 3, 7}) {
      control.threads = count;
      EXPECT_EQ(one.points, project<double>(X, {Space::Kind::half, 12}, 42, control).points);
    }
  }
}

TEST(Space, EqualSamplesHaveEqualPoints) {
  Dense X = decaying(40, 300, 0.9, 4);
  for (const Index j : {17, 64, 255, 256, 299}) X.col(j) = X.col(3);
  const Matrix<double> points = project<double>(ours<double>(X), {Space::Kind::white, 9}, 0, {}).points;
  for (const Index j : {17, 64, 255, 256, 299})
    for (Index d = 0; d < points.rows(); ++d) EXPECT_EQ(points(d, j), points(d, 3));
}

TEST(Space, DimensionsAreCutToTheRank) {
  const Dense X = gaussian(50, 3, 5) * gaussian(3, 40, 6);  // rank 3, and centring keeps it
  for (const Space::Kind kind : kKinds) {
    const Matrix<double> points = project<double>(ours<double>(X), {kind, 20}, 0, {}).points;
    EXPECT_EQ(points.rows(), 3);
    EXPECT_EQ(project<float>(ours<float>(X), {kind, 20}, 0, {}).points.rows(), 3);
  }
  EXPECT_EQ(project<double>(ours<double>(gaussian(50, 6, 7)), {Space::Kind::pca, 20}, 0, {}).points.rows(), 5);
  EXPECT_EQ(project<double>(ours<double>(gaussian(4, 60, 8)), {Space::Kind::pca, 20}, 0, {}).points.rows(), 4);
}

TEST(Space, NoVarianceGivesZerosNotNaN) {
  for (const Space::Kind kind : kKinds) {
    const Coordinates flat = project<double>(Matrix<double>(9, 31, 0.1), {kind, 4}, 0, {});
    EXPECT_EQ(flat.points, Matrix<double>(1, 31));
    EXPECT_EQ(project<float>(Matrix<float>(9, 1, 0.1f), {kind, 4}, 0, {}).points, Matrix<double>(1, 1));
  }
}

TEST(Space, ASampleAtTheMeanIsAtZero) {
  Matrix<double> X(2, 5);  // four corners of a square and its centre
  const double x[] = {1, 1, -1, -1, 0}, y[] = {2, -2, 2, -2, 0};
  for (Index j = 0; j < 5; ++j) {
    X(0, j) = x[j] + 0.3;
    X(1, j) = y[j] + 0.7;
  }
  for (const Space::Kind kind : {Space::Kind::half, Space::Kind::white}) {
    const Matrix<double> points = project<double>(X, {kind, 2}, 0, {}).points;
    for (Index j = 0; j < 5; ++j) EXPECT_NEAR(std::hypot(points(0, j), points(1, j)), j < 4 ? 1 : 0, 1e-12);
  }
}

TEST(Space, HolesInLowRankDataAreFilledIn) {
  const Dense X = gaussian(60, 2, 9) * gaussian(2, 200, 10);
  Matrix<double> holes = ours<double>(X);
  Random random(11);
  for (Index p = 0; p < holes.size(); ++p)
    if (random.uniform() < 0.1) holes.data()[p] = std::nan("");
  const Coordinates found = project<double>(holes, {Space::Kind::pca, 2}, 0, {});
  EXPECT_TRUE(found.imputed);
  const Dense exact = exact_space(exact_svd(X), Space::Kind::pca, 2);
  expect_same_up_to_sign(theirs(found.points), exact, 0.02);
  // the features' means alone are far worse
  Dense mean_filled = X;
  for (Index i = 0; i < X.rows(); ++i) {
    double sum = 0, count = 0;
    for (Index j = 0; j < X.cols(); ++j)
      if (!std::isnan(holes(i, j))) sum += holes(i, j), ++count;
    for (Index j = 0; j < X.cols(); ++j)
      if (std::isnan(holes(i, j))) mean_filled(i, j) = sum / count;
  }
  const Dense crude = exact_space(exact_svd(mean_filled), Space::Kind::pca, 2);
  const Dense target = exact.transpose() * exact;
  EXPECT_LT((theirs(found.points).transpose() * theirs(found.points) - target).norm(),
            0.2 * (crude.transpose() * crude - target).norm());
}

TEST(Space, ASampleWithoutEntriesHasNoPlace) {
  Matrix<double> X = ours<double>(gaussian(5, 20, 12));
  for (Index i = 0; i < 5; ++i) X(i, 4) = std::nan("");
  const Matrix<double> points = project<double>(X, {Space::Kind::half, 3}, 0, {}).points;
  for (Index j = 0; j < 20; ++j)
    for (Index d = 0; d < points.rows(); ++d) EXPECT_EQ(std::isnan(points(d, j)), j == 4);
}

TEST(Space, HugeAndTinyData) {
  const Dense X = decaying(10, 40, 0.8, 13);
  for (const double factor : {0x1p-600, 0x1p600}) {
    const Matrix<double> points = project<double>(ours<double>(X * factor), {Space::Kind::half, 4}, 0, {}).points;
    expect_same_up_to_sign(theirs(points), exact_space(exact_svd(X), Space::Kind::half, 4), 1e-9);
  }
}

TEST(Space, BadInput) {
  const Matrix<double> X = ours<double>(gaussian(5, 20, 14));
  EXPECT_THROW(project<double>(X, {Space::Kind::raw, 3}, 0, {}), Error);
  EXPECT_THROW(project<double>(X, {Space::Kind::pca, 0}, 0, {}), Error);
  EXPECT_THROW(project<double>(Matrix<double>(0, 3), {Space::Kind::pca, 2}, 0, {}), Error);
  Matrix<double> infinite = X;
  infinite(1, 2) = -std::numeric_limits<double>::infinity();
  EXPECT_THROW(project<double>(infinite, {Space::Kind::pca, 2}, 0, {}), Error);
}

}  // namespace
}  // namespace pacewise

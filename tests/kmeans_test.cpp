#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "evaluate/scores.hpp"
#include "pacewise/evaluate.hpp"
#include "synthetic.hpp"

namespace {

using namespace pacewise;
using synthetic::gaussian;
using Labels = std::vector<std::int32_t>;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

template <class T>
std::vector<KMeansRun> run(const Matrix<T>& x, const KMeansOptions& options, int threads = 1) {
  return kmeans(x.view(), options, {.threads = threads});
}

const KMeansRun& best(const std::vector<KMeansRun>& runs) {
  return *std::min_element(runs.begin(), runs.end(),
                           [](const auto& a, const auto& b) { return a.inertia < b.inertia; });
}

/// |x_j - c|^2, clusters x samples
template <class T>
Eigen::MatrixXd distances(const Matrix<T>& x, const Matrix<double>& centers) {
  Eigen::MatrixXd out(centers.cols(), x.cols());
  for (Index c = 0; c < centers.cols(); ++c)
    out.row(c) = (eigen(x).template cast<double>().colwise() - eigen(centers).col(c)).colwise().squaredNorm();
  return out;
}

/// What every run must satisfy: inertia as defined, every sample at its nearest centre.
template <class T>
void expect_consistent(const Matrix<T>& x, const KMeansRun& r, Index clusters) {
  ASSERT_EQ(r.centers.rows(), x.rows());
  ASSERT_EQ(r.centers.cols(), clusters);
  ASSERT_EQ(std::ssize(r.assignment), x.cols());
  const Eigen::MatrixXd all = distances(x, r.centers);
  ASSERT_TRUE(all.allFinite());
  double inertia = 0;
  for (Index j = 0; j < x.cols(); ++j) {
    const Index own = r.assignment[at(j)];
    ASSERT_TRUE(own >= 0 && own < clusters);
    EXPECT_LE(all(own, j), all.col(j).minCoeff() * (1 + 1e-12));
    inertia += all(own, j);
  }
  EXPECT_NEAR(r.inertia, inertia, 1e-11 * (1 + inertia));
}

template <class T>
class KMeansTest : public testing::Test {};
TYPED_TEST_SUITE(KMeansTest, synthetic::Precisions);

TYPED_TEST(KMeansTest, EveryRunIsConsistentAndAtAFixedPoint) {
  using T = TypeParam;
  const Matrix<T> x = gaussian<T>(9, 700, 1);
  for (const auto& [init, k] : {std::pair{Seeding::random, 6}, {Seeding::plus_plus, 6}, {Seeding::random, 1}})
    for (const KMeansRun& r : run(x, {.clusters = k, .init = init, .runs = 4, .tol = 0})) {
      expect_consistent(x, r, k);
      EXPECT_TRUE(r.iterations > 0 && r.iterations < 300);
      Eigen::MatrixXd sum = Eigen::MatrixXd::Zero(9, k);
      Eigen::RowVectorXd count = Eigen::RowVectorXd::Zero(k);
      for (Index j = 0; j < 700; ++j) {
        sum.col(r.assignment[at(j)]) += eigen(x).col(j).template cast<double>();
        ++count(r.assignment[at(j)]);
      }
      EXPECT_LE((eigen(r.centers) - (sum.array().rowwise() / count.array()).matrix()).cwiseAbs().maxCoeff(), 1e-12);
    }
}

TYPED_TEST(KMeansTest, InertiaNeverRisesOverIterations) {
  const Matrix<TypeParam> x = gaussian<TypeParam>(5, 400, 2);
  const KMeansOptions usual{.clusters = 8, .init = Seeding::random, .runs = 5, .max_iter = 1, .tol = 0, .seed = 7};
  const auto first = run(x, usual);
  auto last = first;
  for (KMeansOptions options = usual; options.max_iter <= 25; ++options.max_iter) {
    const auto now = run(x, options);
    for (std::size_t r = 0; r < now.size(); ++r) {
      EXPECT_LE(now[r].iterations, options.max_iter);
      EXPECT_LE(now[r].inertia, last[r].inertia * (1 + 1e-13)) << "run " << r << ", iteration " << options.max_iter;
    }
    last = now;
  }
  EXPECT_LT(last[0].inertia, 0.99 * first[0].inertia);
}

/// Blobs at distance 20 and more: found, whatever the order of the samples
TYPED_TEST(KMeansTest, SeparatedBlobsAreFoundInAnyOrder) {
  const Index n = 300, k = 6;
  Matrix<TypeParam> x = gaussian<TypeParam>(4, n, 5), moved(4, n);
  Labels truth, moved_truth;
  for (Index j = 0; j < n; ++j) x(j % k % 4, j) += static_cast<TypeParam>(30 * (1 + j % k / 4));
  for (Index j = 0; j < n; ++j) {  // 77 and 300 are coprime
    eigen(moved).col(j) = eigen(x).col(j * 77 % n);
    truth.push_back(static_cast<std::int32_t>(j % k));
    moved_truth.push_back(static_cast<std::int32_t>(j * 77 % n % k));
  }
  const KMeansRun a = best(run(x, {.clusters = k, .runs = 10})), b = best(run(moved, {.clusters = k, .runs = 10}));
  EXPECT_EQ(clustering_scores(truth, a.assignment).ari, 1);
  EXPECT_EQ(clustering_scores(moved_truth, b.assignment).ari, 1);
  EXPECT_NEAR(a.inertia, b.inertia, 1e-12 * a.inertia);
}

TYPED_TEST(KMeansTest, ReachesTheOptimumOfATinySet) {
  using T = TypeParam;
  const Index n = 9;
  const int k = 3;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const Matrix<T> x = gaussian<T>(2, n, 50 + seed);
    double optimum = std::numeric_limits<double>::infinity();
    for (int code = 0; code < 19683; ++code) {  // 3^9 partitions
      // sum |x - mean|^2 = sum |x|^2 - |sum x|^2 / count
      Eigen::Matrix<double, 2, 3> sum = Eigen::Matrix<double, 2, 3>::Zero();
      Eigen::Array3d count = Eigen::Array3d::Zero();
      for (int j = 0, rest = code; j < n; ++j, rest /= k) {
        sum.col(rest % k) += eigen(x).col(j).template cast<double>();
        ++count(rest % k);
      }
      const double all = eigen(x).template cast<double>().squaredNorm();
      optimum = std::min(optimum, all - (sum.colwise().squaredNorm().transpose().array() / count.max(1)).sum());
    }
    for (const Seeding init : {Seeding::random, Seeding::plus_plus})
      EXPECT_NEAR(best(run(x, {.clusters = k, .init = init, .runs = 60, .tol = 0})).inertia, optimum, 1e-12) << seed;
  }
}

TYPED_TEST(KMeansTest, DuplicatesAndMoreClustersThanDistinctPoints) {
  using T = TypeParam;
  Matrix<T> x(3, 30);
  for (Index j = 0; j < 30; ++j)
    for (Index i = 0; i < 3; ++i) x(i, j) = static_cast<T>(0.1 * static_cast<double>((j % 4) * (i + 1)));
  for (const Seeding init : {Seeding::random, Seeding::plus_plus})
    for (const Index k : {4, 5, 11, 30})
      for (const KMeansRun& r : run(x, {.clusters = k, .init = init, .runs = 5})) {
        expect_consistent(x, r, k);
        EXPECT_EQ(r.inertia, 0) << k;  // empty clusters were given the points that had none
        EXPECT_LT(r.iterations, 20);
        for (Index j = 4; j < 30; ++j) EXPECT_EQ(r.assignment[at(j)], r.assignment[at(j % 4)]) << "ties go one way";
      }
  const Matrix<T> same(2, 10, T(0.3));
  for (const KMeansRun& r : run(same, {.clusters = 3, .runs = 4})) {
    EXPECT_EQ(r.inertia, 0);
    EXPECT_EQ(r.assignment, Labels(10, 0)) << "ties go to the smaller index";
  }
}

void expect_same(const std::vector<KMeansRun>& a, const std::vector<KMeansRun>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t r = 0; r < a.size(); ++r)
    EXPECT_TRUE(a[r].assignment == b[r].assignment && a[r].centers == b[r].centers && a[r].inertia == b[r].inertia &&
                a[r].iterations == b[r].iterations)
        << "run " << r;
}

TYPED_TEST(KMeansTest, ARunDependsOnSeedAndItsNumberAlone) {
  const Matrix<TypeParam> whole = gaussian<TypeParam>(19, 1140, 8);
  const MatrixView<const TypeParam> part = whole.view().block(1, 20, 17, 1100);  // with a stride
  const Matrix<TypeParam> x(part);
  const auto on = [&](int runs, int threads, std::uint64_t seed = 3) {
    return run(x, {.clusters = 9, .runs = runs, .max_iter = 20, .seed = seed}, threads);
  };
  const auto many = on(7, 1);
  for (const int threads : {2, 3, 8}) expect_same(on(7, threads), many);
  for (const int threads : {1, 8}) expect_same(on(1, threads), {many[0]});
  expect_same(kmeans(part, {.clusters = 9, .runs = 7, .max_iter = 20, .seed = 3}, {}), many);
  EXPECT_NE(many[0].assignment, many[1].assignment);
  EXPECT_NE(on(1, 1, 6)[0].assignment, many[0].assignment);
}

TYPED_TEST(KMeansTest, UnitNormClustersDirections) {
  using T = TypeParam;
  Matrix<T> unit = gaussian<T>(2, 40, 15);
  for (Index j = 0; j < 40; ++j) eigen(unit).col(j).normalize();
  Matrix<T> x = unit;
  for (Index j = 0; j < 40; ++j) eigen(x).col(j) *= static_cast<T>(std::pow(2.0, static_cast<double>(j % 9 - 4)));
  const auto expected = run(unit, {.clusters = 3, .runs = 5}),
             found = run(x, {.clusters = 3, .runs = 5, .unit_norm = true});
  for (std::size_t r = 0; r < 5; ++r) {
    EXPECT_EQ(found[r].assignment, expected[r].assignment);
    EXPECT_NEAR(found[r].inertia, expected[r].inertia, (std::is_same_v<T, double> ? 1e-13 : 1e-5));
  }
  eigen(x).col(39).setZero();  // a zero sample stays zero: it is its own cluster
  for (const KMeansRun& r : run(x, {.clusters = 40, .runs = 5, .unit_norm = true})) {
    EXPECT_EQ(r.inertia, 0);
    EXPECT_EQ(eigen(r.centers).col(r.assignment[39]).norm(), 0);
  }
}

/// A large offset drowns the matrix product |c|^2 - 2 x.c in rounding; the direct distances must decide.
TEST(KMeansRounding, LargeOffset) {
  Matrix<double> x = gaussian<double>(6, 300, 11);
  const KMeansOptions options{.clusters = 5, .runs = 3, .tol = 0};
  eigen(x).array() = (eigen(x).array() * 1024).round() / 1024;  // the offset below is then exact
  const auto plain = run(x, options);
  eigen(x).array() += 1e8;
  const auto shifted = run(x, options);
  for (std::size_t r = 0; r < 3; ++r) {
    EXPECT_EQ(plain[r].assignment, shifted[r].assignment);
    EXPECT_NEAR(plain[r].inertia, shifted[r].inertia, 1e-6 * plain[r].inertia);
  }
}

/// The corners of a 2 x 1 rectangle in two clusters: only seeds on the same short side end in the worse of the two
/// fixed points (inertia 4, not 1). Two distinct corners at random: 2 pairs of 6. D^2 sampling: 1 / (1 + 4 + 5).
TEST(KMeansSeeding, ProbabilitiesAreThoseOfTheDefinition) {
  Matrix<double> x(2, 4);
  x(1, 1) = x(1, 3) = 1;
  x(0, 2) = x(0, 3) = 2;
  const int runs = 4000;
  for (const auto& [init, p] : {std::pair{Seeding::random, 1.0 / 3}, std::pair{Seeding::plus_plus, 0.1}}) {
    int worse = 0;
    for (const KMeansRun& r : run(x, {.clusters = 2, .init = init, .runs = runs, .candidates = 1})) {
      EXPECT_TRUE(r.inertia == 1 || r.inertia == 4) << r.inertia;
      worse += r.inertia == 4;
    }
    EXPECT_NEAR(worse, p * runs, 5 * std::sqrt(p * (1 - p) * runs));
  }
}

/// Small sets of small integers make ties, duplicates and emptied clusters at every stage of a run.
TEST(KMeansRepair, NoClusterIsLeftEmptyWhileASampleCanBeSpared) {
  // in these a cluster runs empty while the farthest sample is alone in its own
  std::vector<std::uint64_t> seeds{4633, 8639, 10478, 11980, 12097, 13006, 14556, 15115};
  for (std::uint64_t seed = 0; seed < 300; ++seed) seeds.push_back(seed);
  for (const std::uint64_t seed : seeds) {
    Random random(seed);
    const Index n = 6 + random.below(10), k = std::min(n, 2 + random.below(7)), m = 1 + random.below(3);
    Matrix<double> x(m, n);
    for (Index l = 0; l < x.size(); ++l) x.data()[l] = static_cast<double>(random.below(8) * random.below(8));
    for (const int iterations : {1, 2, 3, 4})
      for (const KMeansRun& r :
           run(x, {.clusters = k, .init = Seeding::random, .runs = 5, .max_iter = iterations, .tol = 0})) {
        std::vector<int> count(at(k), 0);
        for (const std::int32_t c : r.assignment) ++count[at(c)];
        if (std::count(count.begin(), count.end(), 0) == 0) continue;
        const Eigen::MatrixXd all = distances(x, r.centers);
        for (Index j = 0; j < n; ++j) {
          const Index c = r.assignment[at(j)];
          EXPECT_FALSE(count[at(c)] > 1 && all(c, j) > 0) << "seed " << seed << ", sample " << j;
        }
      }
  }
}

TEST(KMeansControl, CancelAndDeadlineLeaveRunsOut) {
  const Matrix<double> x = gaussian<double>(4, 500, 13);
  const std::atomic<bool> cancel{true};
  const auto now = std::chrono::steady_clock::now();
  const auto until = [&](const Control& control) {
    return kmeans(x.view(), {.clusters = 20, .runs = 100000}, control);
  };
  EXPECT_TRUE(until({.cancel = &cancel}).empty());
  EXPECT_TRUE(until({.deadline = now - std::chrono::seconds(1)}).empty());
  const auto some = until({.deadline = now + std::chrono::milliseconds(50)});
  EXPECT_LT(some.size(), 100000U);
  for (const KMeansRun& r : some) EXPECT_EQ(r.centers.cols(), 20);
}

TEST(KMeansOptionsTest, EachBadValueHasItsMessage) {
  const Matrix<double> x = gaussian<double>(2, 10, 14);
  const auto message = [](const Matrix<double>& data, const KMeansOptions& options) {
    return synthetic::error_of([&] { run(data, options); });
  };
  EXPECT_EQ(message(x, {.clusters = 0}), "clusters = 0: must be in [1, 2147483648)");
  EXPECT_EQ(message(x, {.clusters = 11}), "clusters = 11: must be at most the number of samples, 10");
  EXPECT_EQ(message(x, {.runs = 0}), "runs = 0: must be >= 1");
  EXPECT_EQ(message(x, {.max_iter = 0}), "max_iter = 0: must be >= 1");
  EXPECT_EQ(message(x, {.tol = -0.5}), "tol = -0.5: must be >= 0");
  EXPECT_EQ(message(x, {.tol = std::nan("")}), "tol = nan: must be >= 0");
  EXPECT_EQ(message(Matrix<double>(0, 10), {}), "rows of X = 0: must be >= 1");
  EXPECT_EQ(message(Matrix<double>(2, 0), {.clusters = 1}), "clusters = 1: must be at most the number of samples, 0");
  Matrix<double> bad = x;
  bad(1, 4) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(message(bad, {}), "X = nan: must be finite; sample 4, feature 1 (from 0)");
  bad(1, 4) = 1e200;
  EXPECT_EQ(message(bad, {}), "X: squared distances overflow; divide the values by their range");
  EXPECT_EQ(message(bad, {.unit_norm = true}), "accepted");
  EXPECT_EQ(message(x, {.clusters = 10}), "accepted");
}

}  // namespace

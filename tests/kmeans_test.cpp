#include "evaluate/kmeans.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "evaluate/scores.hpp"
#include "synthetic.hpp"

namespace {

using namespace pacewise;
using synthetic::gaussian;
using Labels = std::vector<std::int32_t>;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// n samples about k centres at distance 20 and more; sample j belongs to blob j % k.
template <class T>
Matrix<T> blobs(Index m, Index n, Index k, std::uint64_t seed) {
  Matrix<T> x = gaussian<T>(m, n, seed);
  for (Index j = 0; j < n; ++j) x(j % k % m, j) += static_cast<T>(30 * (1 + j % k / m));
  return x;
}

template <class T>
std::vector<KMeansRun> run(const Matrix<T>& x, const KMeansOptions& options, int threads = 1) {
  Control control;
  control.threads = threads;
  return kmeans<T>(x.view(), options, control);
}

double best_inertia(const std::vector<KMeansRun>& runs) {
  double best = std::numeric_limits<double>::infinity();
  for (const KMeansRun& r : runs) best = std::min(best, r.inertia);
  return best;
}

template <class T>
double distance2(const Matrix<T>& x, Index j, const Matrix<double>& centers, Index c) {
  double sum = 0;
  for (Index i = 0; i < x.rows(); ++i)
    sum += (static_cast<double>(x(i, j)) - centers(i, c)) * (static_cast<double>(x(i, j)) - centers(i, c));
  return sum;
}

/// What every run must satisfy: inertia as defined, every sample at its nearest centre.
template <class T>
void expect_consistent(const Matrix<T>& x, const KMeansRun& r, Index clusters) {
  ASSERT_EQ(r.centers.rows(), x.rows());
  ASSERT_EQ(r.centers.cols(), clusters);
  ASSERT_EQ(r.assignment.size(), at(x.cols()));
  double inertia = 0;
  for (Index j = 0; j < x.cols(); ++j) {
    ASSERT_GE(r.assignment[at(j)], 0);
    ASSERT_LT(r.assignment[at(j)], clusters);
    const double own = distance2(x, j, r.centers, r.assignment[at(j)]);
    inertia += own;
    for (Index c = 0; c < clusters; ++c) {
      const double other = distance2(x, j, r.centers, c);
      ASSERT_TRUE(std::isfinite(other));
      EXPECT_LE(own, other * (1 + 1e-12));
    }
  }
  EXPECT_NEAR(r.inertia, inertia, 1e-11 * (1 + inertia));
}

template <class T>
class KMeansTest : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(KMeansTest, Precisions);

TYPED_TEST(KMeansTest, EveryRunIsConsistentAndAtAFixedPoint) {
  using T = TypeParam;
  const Matrix<T> x = gaussian<T>(9, 700, 1);
  for (const Seeding init : {Seeding::random, Seeding::plus_plus}) {
    KMeansOptions options{.clusters = 6, .init = init, .runs = 4, .tol = 0};
    for (const KMeansRun& r : run(x, options)) {
      expect_consistent(x, r, 6);
      EXPECT_GT(r.iterations, 0);
      EXPECT_LT(r.iterations, 300);
      for (Index c = 0; c < 6; ++c) {
        double count = 0;
        std::vector<double> mean(9, 0.0);
        for (Index j = 0; j < 700; ++j) {
          if (r.assignment[at(j)] != c) continue;
          ++count;
          for (Index i = 0; i < 9; ++i) mean[at(i)] += static_cast<double>(x(i, j));
        }
        ASSERT_GT(count, 0);
        for (Index i = 0; i < 9; ++i) EXPECT_NEAR(r.centers(i, c), mean[at(i)] / count, 1e-12);
      }
    }
  }
}

TYPED_TEST(KMeansTest, InertiaNeverRisesOverIterations) {
  using T = TypeParam;
  const Matrix<T> x = gaussian<T>(5, 400, 2);
  std::vector<double> last(5, std::numeric_limits<double>::infinity());
  double first = 0;
  for (int iterations = 1; iterations <= 25; ++iterations) {
    const auto runs =
        run(x, {.clusters = 8, .init = Seeding::random, .runs = 5, .max_iter = iterations, .tol = 0, .seed = 7});
    for (std::size_t r = 0; r < runs.size(); ++r) {
      EXPECT_LE(runs[r].iterations, iterations);
      EXPECT_LE(runs[r].inertia, last[r] * (1 + 1e-13)) << "run " << r << ", iteration " << iterations;
      last[r] = runs[r].inertia;
    }
    if (iterations == 1) first = runs[0].inertia;
  }
  EXPECT_LT(last[0], 0.99 * first);
}

TYPED_TEST(KMeansTest, MoreClustersAreNotWorse) {
  using T = TypeParam;
  const Matrix<T> x = gaussian<T>(3, 250, 3);
  double last = std::numeric_limits<double>::infinity();
  for (Index k = 1; k <= 12; ++k) {
    const double now = best_inertia(run(x, {.clusters = k, .runs = 20}));
    EXPECT_LE(now, last * (1 + 1e-12)) << k;
    last = now;
  }
  EXPECT_NEAR(best_inertia(run(x, {.clusters = 250, .runs = 1})), 0, 1e-20);
}

TYPED_TEST(KMeansTest, OneClusterIsTheMean) {
  using T = TypeParam;
  const Matrix<T> x = gaussian<T>(4, 300, 4);
  double inertia = 0;
  for (Index i = 0; i < 4; ++i) {
    double mean = 0;
    for (Index j = 0; j < 300; ++j) mean += static_cast<double>(x(i, j)) / 300;
    for (Index j = 0; j < 300; ++j) inertia += std::pow(static_cast<double>(x(i, j)) - mean, 2);
  }
  for (const KMeansRun& r : run(x, {.clusters = 1, .runs = 3})) EXPECT_NEAR(r.inertia, inertia, 1e-10 * inertia);
}

TYPED_TEST(KMeansTest, SeparatedBlobsAreFoundExactly) {
  using T = TypeParam;
  const Index k = 6;
  const Matrix<T> x = blobs<T>(4, 300, k, 5);
  Labels truth;
  for (Index j = 0; j < 300; ++j) truth.push_back(static_cast<std::int32_t>(j % k));
  const auto runs = run(x, {.clusters = k, .runs = 10});
  const auto best =
      std::min_element(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.inertia < b.inertia; });
  EXPECT_EQ(clustering_scores(truth, best->assignment).acc, 1);
  EXPECT_EQ(clustering_scores(truth, best->assignment).ari, 1);
}

TYPED_TEST(KMeansTest, PermutingSamplesPermutesTheClustering) {
  using T = TypeParam;
  const Index n = 120, k = 4;
  const Matrix<T> x = blobs<T>(3, n, k, 6);
  Matrix<T> y(3, n);
  for (Index j = 0; j < n; ++j) std::copy_n(x.col(j * 77 % n), 3, y.col(j));  // 77 and 120 are coprime
  const auto best = [&](const Matrix<T>& z) {
    const auto runs = run(z, {.clusters = k, .runs = 10});
    return *std::min_element(runs.begin(), runs.end(),
                             [](const auto& a, const auto& b) { return a.inertia < b.inertia; });
  };
  const KMeansRun a = best(x), b = best(y);
  Labels moved;
  for (Index j = 0; j < n; ++j) moved.push_back(a.assignment[at(j * 77 % n)]);
  EXPECT_EQ(clustering_scores(moved, b.assignment).ari, 1);
  EXPECT_NEAR(a.inertia, b.inertia, 1e-12 * a.inertia);
}

TYPED_TEST(KMeansTest, ReachesTheOptimumOfATinySet) {
  using T = TypeParam;
  const Index n = 9;
  const int k = 3;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const Matrix<T> x = gaussian<T>(2, n, 50 + seed);
    double optimum = std::numeric_limits<double>::infinity();
    for (int code = 0; code < 19683; ++code) {  // 3^9 partitions
      Matrix<double> center(2, k);
      double count[3] = {}, inertia = 0;
      for (int pass = 0; pass < 2; ++pass)
        for (Index j = 0, rest = code; j < n; ++j, rest /= k) {
          const Index c = rest % k;
          if (pass == 0) ++count[c];
          for (Index i = 0; i < 2; ++i) {
            if (pass == 0)
              center(i, c) += static_cast<double>(x(i, j));
            else
              inertia += std::pow(static_cast<double>(x(i, j)) - center(i, c) / count[c], 2);
          }
        }
      optimum = std::min(optimum, inertia);
    }
    for (const Seeding init : {Seeding::random, Seeding::plus_plus}) {
      const double found = best_inertia(run(x, {.clusters = k, .init = init, .runs = 60, .tol = 0}));
      EXPECT_NEAR(found, optimum, 1e-12) << seed;
    }
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

/// Random seeding of data that is mostly one point: some seeds coincide, and their clusters begin empty.
TYPED_TEST(KMeansTest, EmptyClustersAreFilled) {
  using T = TypeParam;
  Matrix<T> x(1, 40);
  x(0, 37) = 10;
  x(0, 38) = 20;
  x(0, 39) = 40;
  const auto runs = run(x, {.clusters = 4, .init = Seeding::random, .runs = 10});
  for (const KMeansRun& r : runs) {
    expect_consistent(x, r, 4);
    EXPECT_EQ(r.inertia, 0);
    Labels used = r.assignment;
    std::sort(used.begin(), used.end());
    used.erase(std::unique(used.begin(), used.end()), used.end());
    EXPECT_EQ(used.size(), 4U);
  }
}

TYPED_TEST(KMeansTest, SameBitsForAnyNumberOfThreads) {
  using T = TypeParam;
  const Matrix<T> x = gaussian<T>(17, 1100, 8);
  for (const int runs : {1, 7}) {
    const KMeansOptions options{.clusters = 9, .runs = runs, .max_iter = 20, .seed = 3};
    const auto expected = run(x, options, 1);
    for (const int threads : {2, 3, 8}) {
      const auto found = run(x, options, threads);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t r = 0; r < found.size(); ++r) {
        EXPECT_EQ(found[r].assignment, expected[r].assignment);
        EXPECT_EQ(found[r].centers, expected[r].centers);
        EXPECT_EQ(found[r].inertia, expected[r].inertia);
        EXPECT_EQ(found[r].iterations, expected[r].iterations);
      }
    }
  }
}

TYPED_TEST(KMeansTest, ARunDependsOnSeedAndItsNumberAlone) {
  using T = TypeParam;
  const Matrix<T> x = gaussian<T>(4, 200, 9);
  const auto many = run(x, {.clusters = 7, .runs = 6, .seed = 5}), few = run(x, {.clusters = 7, .runs = 3, .seed = 5});
  for (std::size_t r = 0; r < few.size(); ++r) EXPECT_EQ(many[r].centers, few[r].centers);
  EXPECT_NE(many[0].assignment, many[1].assignment);
  EXPECT_NE(run(x, {.clusters = 7, .runs = 1, .seed = 6})[0].assignment, many[0].assignment);
}

TYPED_TEST(KMeansTest, UnitNormClustersDirections) {
  using T = TypeParam;
  Matrix<T> x(2, 40), unit(2, 40);
  Random random(15);  // irregular angles: no two distances are equal, whatever the rounding
  for (Index j = 0; j < 40; ++j) {
    const double angle = random.uniform() + (j % 2 == 0 ? 0 : 2);
    const double length = std::pow(2.0, static_cast<double>(j % 9 - 4));
    x(0, j) = static_cast<T>(length * std::cos(angle));
    x(1, j) = static_cast<T>(length * std::sin(angle));
  }
  for (Index j = 0; j < 40; ++j) {
    const T norm = static_cast<T>(std::hypot(x(0, j), x(1, j)));
    for (Index i = 0; i < 2; ++i) unit(i, j) = x(i, j) / norm;
  }
  KMeansOptions options{.clusters = 3, .runs = 5};
  const auto expected = run(unit, options);
  options.unit_norm = true;
  const auto found = run(x, options);
  const double tolerance = std::is_same_v<T, double> ? 1e-13 : 1e-5;
  for (std::size_t r = 0; r < 5; ++r) {
    EXPECT_EQ(found[r].assignment, expected[r].assignment);
    EXPECT_NEAR(found[r].inertia, expected[r].inertia, tolerance);
  }
  for (Index i = 0; i < 2; ++i) x(i, 39) = 0;  // a zero sample stays zero: it is its own cluster
  options.clusters = 40;
  for (const KMeansRun& r : run(x, options)) {
    EXPECT_EQ(r.inertia, 0);
    for (Index i = 0; i < 2; ++i) EXPECT_EQ(r.centers(i, r.assignment[39]), 0);
  }
}

TYPED_TEST(KMeansTest, StridedSamples) {
  using T = TypeParam;
  const Matrix<T> whole = gaussian<T>(8, 90, 10);
  const MatrixView<const T> part = whole.view().block(2, 10, 4, 60);
  Matrix<T> copy(4, 60);
  for (Index j = 0; j < 60; ++j) std::copy_n(part.col(j), 4, copy.col(j));
  const KMeansOptions options{.clusters = 5, .runs = 3};
  const auto a = kmeans<T>(part, options, {}), b = run(copy, options);
  for (std::size_t r = 0; r < 3; ++r) EXPECT_EQ(a[r].centers, b[r].centers);
}

/// A large offset drowns the matrix product |c|^2 - 2 x.c in rounding; the direct distances must decide.
TEST(KMeansRounding, LargeOffset) {
  Matrix<double> x = gaussian<double>(6, 300, 11);
  const KMeansOptions options{.clusters = 5, .runs = 3, .tol = 0};
  for (Index j = 0; j < 300; ++j)
    for (Index i = 0; i < 6; ++i) x(i, j) = std::round(x(i, j) * 1024) / 1024;  // the offset below is then exact
  const auto plain = run(x, options);
  for (Index j = 0; j < 300; ++j)
    for (Index i = 0; i < 6; ++i) x(i, j) += 1e8;
  const auto shifted = run(x, options);
  for (std::size_t r = 0; r < 3; ++r) {
    EXPECT_EQ(plain[r].assignment, shifted[r].assignment);
    EXPECT_NEAR(plain[r].inertia, shifted[r].inertia, 1e-6 * plain[r].inertia);
  }
}

/// D^2 sampling: with two far points and a crowd at 0, plus-plus seeding (one iteration) hits all three almost always.
TEST(KMeansSeeding, PlusPlusSpreadsTheSeeds) {
  Matrix<double> x = gaussian<double>(2, 1000, 12);
  for (Index j = 0; j < 1000; ++j)
    for (Index i = 0; i < 2; ++i) x(i, j) *= 1e-3;
  x(0, 998) = 100;
  x(1, 999) = 100;
  const auto solved = [&](Seeding init) {
    int hits = 0;
    for (const KMeansRun& r : run(x, {.clusters = 3, .init = init, .runs = 100, .max_iter = 1})) hits += r.inertia < 1;
    return hits;
  };
  EXPECT_GE(solved(Seeding::plus_plus), 99);
  EXPECT_LE(solved(Seeding::random), 10);
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
    for (Index j = 0; j < n; ++j)
      for (Index i = 0; i < m; ++i) x(i, j) = static_cast<double>(random.below(8) * random.below(8));
    for (const int iterations : {1, 2, 3, 4})
      for (const KMeansRun& r :
           run(x, {.clusters = k, .init = Seeding::random, .runs = 5, .max_iter = iterations, .tol = 0})) {
        std::vector<int> count(at(k), 0);
        for (const std::int32_t c : r.assignment) ++count[at(c)];
        if (std::count(count.begin(), count.end(), 0) == 0) continue;
        for (Index j = 0; j < n; ++j) {
          const Index c = r.assignment[at(j)];
          EXPECT_FALSE(count[at(c)] > 1 && distance2(x, j, r.centers, c) > 0) << "seed " << seed << ", sample " << j;
        }
      }
  }
}

TEST(KMeansControl, CancelAndDeadlineLeaveRunsOut) {
  const Matrix<double> x = gaussian<double>(4, 500, 13);
  std::atomic<bool> cancel{true};
  Control control;
  control.cancel = &cancel;
  EXPECT_TRUE(kmeans<double>(x.view(), {.clusters = 5, .runs = 4}, control).empty());
  Control late;
  late.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_TRUE(kmeans<double>(x.view(), {.clusters = 5, .runs = 4}, late).empty());
  Control soon;
  soon.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  const auto some = kmeans<double>(x.view(), {.clusters = 20, .runs = 100000}, soon);
  EXPECT_LT(some.size(), 100000U);
  for (std::size_t r = 0; r < std::min<std::size_t>(some.size(), 3); ++r) EXPECT_EQ(some[r].centers.cols(), 20);
}

TEST(KMeansOptionsTest, EachBadValueHasItsMessage) {
  const Matrix<double> x = gaussian<double>(2, 10, 14);
  const auto message = [](const Matrix<double>& data, const KMeansOptions& options) -> std::string {
    try {
      run(data, options);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message(x, {.clusters = 0}), "kmeans: clusters = 0: must be at least 1");
  EXPECT_EQ(message(x, {.clusters = 11}), "kmeans: clusters = 11: must not exceed the number of samples, 10");
  EXPECT_EQ(message(x, {.runs = 0}), "kmeans: runs = 0: must be at least 1");
  EXPECT_EQ(message(x, {.max_iter = 0}), "kmeans: max_iter = 0: must be at least 1");
  EXPECT_EQ(message(x, {.tol = -0.5}), "kmeans: tol = -0.5: must be finite and at least 0");
  EXPECT_EQ(message(x, {.tol = std::nan("")}), "kmeans: tol = nan: must be finite and at least 0");
  EXPECT_EQ(message(Matrix<double>(0, 10), {}), "kmeans: rows of X = 0: must be at least 1");
  EXPECT_EQ(message(Matrix<double>(2, 0), {.clusters = 1}),
            "kmeans: clusters = 1: must not exceed the number of samples, 0");
  Matrix<double> bad = x;
  bad(1, 4) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(message(bad, {}), "kmeans: X = nan: at sample 4, feature 1 (from 0): must be finite");
  bad(1, 4) = 1e200;
  EXPECT_EQ(message(bad, {}), "kmeans: X: squared distances overflow; divide the values by their range");
  EXPECT_EQ(message(bad, {.unit_norm = true}), "accepted");
  EXPECT_EQ(message(x, {.clusters = 10}), "accepted");
}

}  // namespace

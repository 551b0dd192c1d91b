#include "evaluate/scores.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "algebra/random.hpp"

namespace {

using namespace pacewise;
using Labels = std::vector<std::int32_t>;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// Largest total over all ways to form min(rows, cols) pairs, by trying every permutation of the longer side.
double brute_force_assignment(const Matrix<double>& w) {
  const Index few = std::min(w.rows(), w.cols()), many = std::max(w.rows(), w.cols());
  std::vector<Index> order(at(many));
  std::iota(order.begin(), order.end(), Index{0});
  double best = -std::numeric_limits<double>::infinity();
  do {
    double sum = 0;
    for (Index l = 0; l < few; ++l) sum += w.rows() <= w.cols() ? w(l, order[at(l)]) : w(order[at(l)], l);
    best = std::max(best, sum);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(BestAssignment, IsTheBestOfAllPermutations) {
  Random random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const Index rows = 1 + random.below(6), cols = 1 + random.below(6);
    const bool integers = trial % 2 == 0;  // integers make ties, and exact sums
    Matrix<double> w(rows, cols);
    for (Index j = 0; j < cols; ++j)
      for (Index i = 0; i < rows; ++i) w(i, j) = integers ? static_cast<double>(random.below(7) - 3) : random.normal();
    const Vector<Index> match = best_assignment(w);
    ASSERT_EQ(match.size(), at(rows));
    std::set<Index> used;
    double total = 0;
    for (Index i = 0; i < rows; ++i) {
      ASSERT_TRUE(match[i] >= -1 && match[i] < cols);
      if (match[i] < 0) continue;
      EXPECT_TRUE(used.insert(match[i]).second) << "column used twice";
      total += w(i, match[i]);
    }
    EXPECT_EQ(std::ssize(used), std::min(rows, cols));
    EXPECT_NEAR(total, brute_force_assignment(w), integers ? 0 : 1e-12);
  }
}

TEST(BestAssignment, FindsAHiddenPermutation) {
  const Index k = 151;
  Random random(2);
  Vector<Index> hidden(k);
  for (Index i = 0; i < k; ++i) hidden[i] = 7 * i % k;
  Matrix<double> w(k, k);
  for (Index j = 0; j < k; ++j)
    for (Index i = 0; i < k; ++i) w(i, j) = 0.9 * random.uniform() + (hidden[i] == j ? 1 : 0);
  EXPECT_EQ(best_assignment(w), hidden);
}

TEST(BestAssignment, LimitCases) {
  EXPECT_TRUE(best_assignment(Matrix<double>()).empty());
  EXPECT_EQ(best_assignment(Matrix<double>(2, 0)), (Vector<Index>{-1, -1}));
  Matrix<double> w(2, 2, 1e308);
  w(0, 0) = w(1, 1) = -1e308;
  EXPECT_EQ(best_assignment(w), (Vector<Index>{1, 0}));
  w(1, 0) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(best_assignment(w), Error);
}

void expect_scores(const Scores& s, double acc, double purity, double nmi, double ari) {
  EXPECT_NEAR(s.acc, acc, 1e-14);
  EXPECT_NEAR(s.purity, purity, 1e-14);
  EXPECT_NEAR(s.nmi, nmi, 1e-14);
  EXPECT_NEAR(s.ari, ari, 1e-14);
}

// nmi and ari printed by scikit-learn 1.9.1:
//   python3 -c "from sklearn.metrics import normalized_mutual_info_score as nmi, adjusted_rand_score as ari
//   a = [0,0,0,1,1,1,2,2,2,2]; b = [0,0,1,1,1,1,2,2,0,2]; print(repr((nmi(a, b), ari(a, b))))
//   b = [5,5,-3,-3,7,7,7,9,9,9]; print(repr((nmi(a, b), ari(a, b))))
//   import numpy as np; j = np.arange(60); a = j*j%7; b = (3*j+j//5)%4; print(repr((nmi(a, b), ari(a, b))))"
TEST(ClusteringScores, AgreeWithScikitLearn) {
  const Labels a{0, 0, 0, 1, 1, 1, 2, 2, 2, 2};
  expect_scores(clustering_scores(a, {0, 0, 1, 1, 1, 1, 2, 2, 0, 2}), 0.8, 0.8, 0.6180656462921543, 0.4318181818181818);
  expect_scores(clustering_scores(a, {5, 5, -3, -3, 7, 7, 7, 9, 9, 9}), 0.7, 0.8, 0.6185727866539659,
                0.3644067796610169);
  Labels b, c;
  for (std::int32_t j = 0; j < 60; ++j) {
    b.push_back(j * j % 7);
    c.push_back((3 * j + j / 5) % 4);
  }
  const Scores s = clustering_scores(b, c);
  EXPECT_NEAR(s.nmi, 0.007845152288357513, 1e-14);
  EXPECT_NEAR(s.ari, -0.04381584586709725, 1e-14);
}

// The same calls on ([1,1,1],[4,4,4]), ([1,1,1],[0,1,2]), ([0,1,2],[2,0,1]), ([0,1,2],[0,0,0]), ([0,0,1,1],[0,1,0,1])
// and ([3],[8]) print 1.0 1.0, 0.0 0.0, 1.0 1.0, 0.0 0.0, 0.0 -0.5 and 1.0 1.0.
TEST(ClusteringScores, LimitCasesAsScikitLearn) {
  expect_scores(clustering_scores({1, 1, 1}, {4, 4, 4}), 1, 1, 1, 1);
  expect_scores(clustering_scores({1, 1, 1}, {0, 1, 2}), 1.0 / 3, 1, 0, 0);
  expect_scores(clustering_scores({0, 1, 2}, {2, 0, 1}), 1, 1, 1, 1);
  expect_scores(clustering_scores({0, 1, 2}, {0, 0, 0}), 1.0 / 3, 1.0 / 3, 0, 0);
  expect_scores(clustering_scores({0, 0, 1, 1}, {0, 1, 0, 1}), 0.5, 0.5, 0, -0.5);
  expect_scores(clustering_scores({3}, {8}), 1, 1, 1, 1);
}

TEST(ClusteringScores, DoNotDependOnTheNamesOfClusters) {
  Random random(3);
  Labels labels, clusters, renamed;
  for (int j = 0; j < 300; ++j) {
    labels.push_back(static_cast<std::int32_t>(random.below(5)));
    clusters.push_back(random.uniform() < 0.6 ? labels.back() : static_cast<std::int32_t>(random.below(7)));
    renamed.push_back(std::numeric_limits<std::int32_t>::max() - 1000 * (clusters.back() * 3 % 7));
  }
  const Scores a = clustering_scores(labels, clusters), b = clustering_scores(labels, renamed);
  expect_scores(b, a.acc, a.purity, a.nmi, a.ari);
  EXPECT_LE(a.acc, a.purity);  // a matching is one way to give clusters labels
  const Scores swapped = clustering_scores(clusters, labels);
  EXPECT_NEAR(swapped.acc, a.acc, 1e-14);
  EXPECT_NEAR(swapped.nmi, a.nmi, 1e-14);
  EXPECT_NEAR(swapped.ari, a.ari, 1e-14);
  EXPECT_THROW(clustering_scores({1, 2}, {1}), Error);
  EXPECT_THROW(clustering_scores({}, {}), Error);
}

// python3 -c "from sklearn.metrics import roc_auc_score
// print(repr(roc_auc_score([0,1,0,1,1,0,0,1],[.1,.4,.4,.8,.4,.8,.2,.9])))" prints 0.78125
TEST(Auroc, AgreesWithScikitLearnAndWithTheDefinition) {
  const std::vector<bool> truth{false, true, false, true, true, false, false, true};
  EXPECT_DOUBLE_EQ(auroc({.1, .4, .4, .8, .4, .8, .2, .9}, truth), 0.78125);
  Random random(4);
  std::vector<double> score;
  std::vector<bool> positive;
  for (int j = 0; j < 200; ++j) {
    score.push_back(static_cast<double>(random.below(20)));
    positive.push_back(random.uniform() < 0.3);
  }
  double right = 0, pairs = 0;
  for (std::size_t p = 0; p < score.size(); ++p)
    for (std::size_t q = 0; q < score.size(); ++q) {
      if (!positive[p] || positive[q]) continue;
      ++pairs;
      right += score[p] > score[q] ? 1 : score[p] == score[q] ? 0.5 : 0;
    }
  EXPECT_NEAR(auroc(score, positive), right / pairs, 1e-14);
}

TEST(AveragePrecision, AgreesWithScikitLearn) {
  EXPECT_DOUBLE_EQ(average_precision({.1, .4, .35, .8}, {false, false, true, true}), 0.8333333333333333);
  EXPECT_DOUBLE_EQ(average_precision({7, 7, 7, 7}, {false, true, false, false}), 0.25) << "all tied: the share";
  EXPECT_TRUE(std::isnan(average_precision({1, 2}, {false, false})));
}

TEST(Auroc, LimitCases) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(auroc({1, 2, 3, 4}, {false, false, true, true}), 1);
  EXPECT_EQ(auroc({4, 3, 2, 1}, {false, false, true, true}), 0);
  EXPECT_EQ(auroc({7, 7, 7}, {false, true, true}), 0.5);
  EXPECT_EQ(auroc({-infinity, infinity}, {false, true}), 1);
  for (const bool truth : {false, true}) EXPECT_TRUE(std::isnan(auroc({1, 2}, {truth, truth})));
  EXPECT_THROW(auroc({1, 2}, {true}), Error);
  EXPECT_THROW(auroc({1, std::nan("")}, {true, false}), Error);
}

TEST(Spread, ClosedForms) {
  const Spread s = spread({2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_DOUBLE_EQ(s.mean, 5);
  EXPECT_DOUBLE_EQ(s.sd, std::sqrt(32.0 / 7));
  EXPECT_EQ(s.min, 2);
  EXPECT_EQ(s.max, 9);
  for (const std::vector<double>& same : {std::vector<double>{0.1}, {0.1, 0.1, 0.1}}) {
    EXPECT_EQ(spread(same).mean, 0.1);
    EXPECT_EQ(spread(same).sd, 0);
  }
  EXPECT_NEAR(spread({1e9, 1e9 + 1, 1e9 + 2}).sd, 1, 1e-12);
  EXPECT_THROW(spread({}), Error);
}

}  // namespace

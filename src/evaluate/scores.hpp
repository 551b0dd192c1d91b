#pragma once
#include <vector>

#include "algebra/matrix.hpp"

namespace pacewise {

/// Agreement of a clustering with labels, each 1 for a perfect match.
///   acc     share of samples on the best one-to-one matching of clusters and labels (Hungarian)
///   purity  share of samples that carry the majority label of their cluster
///   nmi     I(L, A) / ((H(L) + H(A)) / 2); 1 where both have one class (0/0), 0 where only one of them has
///   ari     adjusted Rand index; 1 where the two partitions are the same, also where both are trivial (0/0)
/// The limit cases are those of scikit-learn.
struct Scores {
  double acc = 0, purity = 0, nmi = 0, ari = 0;
};

/// Labels and clusters may be any integers; both of the same length >= 1.
Scores clustering_scores(const std::vector<std::int32_t>& labels, const std::vector<std::int32_t>& assignment);

/// Column of each row in the assignment of largest total weight. Rectangular matrices allowed: min(rows, cols) pairs
/// are always formed, the other rows get -1. Exact, O(min^2 max); weights finite, of any sign.
std::vector<Index> best_assignment(const Matrix<double>& weight);

/// Area under the ROC curve of `score` for finding the positives (ties count half); NaN without both classes.
/// Scores may be infinite, not NaN.
double auroc(const std::vector<double>& score, const std::vector<bool>& positive);

struct Spread {
  double mean = 0, sd = 0, min = 0, max = 0;  // sd with n - 1; 0 for one value
};
Spread spread(const std::vector<double>& values);  // at least one

}  // namespace pacewise

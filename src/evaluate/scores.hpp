#pragma once
#include <vector>

#include "pacewise/evaluate.hpp"

namespace pacewise {

/// Column of each row in the assignment of largest total weight. Rectangular matrices allowed: min(rows, cols) pairs
/// are always formed, the other rows get -1. Exact, O(min^2 max); weights finite, of any sign.
Vector<Index> best_assignment(MatrixView<const double> weight);

/// Area under the ROC curve of `score` for finding the positives (ties count half); NaN without both classes.
/// Scores may be infinite, not NaN.
double auroc(const std::vector<double>& score, const std::vector<bool>& positive);

struct Spread {
  double mean = 0, sd = 0, min = 0, max = 0;  // sd with n - 1; 0 for one value
};
/// Mean precision over the ranks of the positives, equal scores taken together; NaN where there are none.
double average_precision(const std::vector<double>& score, const std::vector<bool>& positive);
Spread spread(const std::vector<double>& values);  // at least one

/// The scores by the names of files and of tables.
struct Measure {
  const char *key, *name;
  double Scores::*score;
};
inline constexpr Measure kMeasures[] = {{"acc", "ACC", &Scores::acc},
                                        {"purity", "purity", &Scores::purity},
                                        {"nmi", "NMI", &Scores::nmi},
                                        {"ari", "ARI", &Scores::ari}};
Spread spread_of(const std::vector<Scores>& runs, const Measure& measure);

}  // namespace pacewise

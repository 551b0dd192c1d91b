#include "evaluate/scores.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "algebra/eigen.hpp"

namespace pacewise {
namespace {

/// Any integers to 0, 1, .. in the order of their values; returns how many.
Index compress(const std::vector<std::int32_t>& values, std::vector<Index>& code) {
  std::vector<std::int32_t> known(values);
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  code.resize(values.size());
  for (std::size_t j = 0; j < values.size(); ++j)
    code[j] = std::lower_bound(known.begin(), known.end(), values[j]) - known.begin();
  return static_cast<Index>(known.size());
}

struct Contingency {
  EigenMatrix<double> count;  // classes x clusters
  Eigen::VectorXd row, col;   // its margins
  double n = 0;
};

Contingency contingency(const std::vector<std::int32_t>& labels, const std::vector<std::int32_t>& assignment) {
  std::vector<Index> a, b;
  const Index classes = compress(labels, a), clusters = compress(assignment, b);
  EigenMatrix<double> count = EigenMatrix<double>::Zero(classes, clusters);
  for (std::size_t j = 0; j < a.size(); ++j) ++count(a[j], b[j]);
  return {count, count.rowwise().sum(), count.colwise().sum().transpose(), static_cast<double>(labels.size())};
}

double accuracy(const Contingency& t) {
  const Vector<Index> match = best_assignment(t.count);
  double hits = 0;
  for (Index i = 0; i < t.count.rows(); ++i)
    if (match[i] >= 0) hits += t.count(i, match[i]);
  return hits / t.n;
}

double purity(const Contingency& t) { return t.count.colwise().maxCoeff().sum() / t.n; }

double entropy(const Eigen::VectorXd& margin, double n) {
  double h = 0;
  for (const double c : margin) h -= c / n * std::log(c / n);
  return h;
}

double mutual_information(const Contingency& t) {
  double mi = 0;
  for (Index j = 0; j < t.count.cols(); ++j)
    for (Index i = 0; i < t.count.rows(); ++i) {
      const double c = t.count(i, j);
      // c and the margins are integers: the argument is exactly 1 where the two are independent in this cell
      if (c > 0) mi += c / t.n * std::log((c * t.n) / (t.row[i] * t.col[j]));
    }
  return std::max(mi, 0.0);
}

double normalized_mutual_information(const Contingency& t) {
  if (t.row.size() == 1 && t.col.size() == 1) return 1;
  if (t.row.size() == 1 || t.col.size() == 1) return 0;
  return std::min(1.0, mutual_information(t) / ((entropy(t.row, t.n) + entropy(t.col, t.n)) / 2));
}

double adjusted_rand(const Contingency& t) {
  // ordered pairs: together in both, in the labels, in the clusters
  const double tp = t.count.squaredNorm() - t.n, fn = t.row.squaredNorm() - t.n - tp;
  const double fp = t.col.squaredNorm() - t.n - tp;
  const double tn = t.n * (t.n - 1) - tp - fn - fp;
  if (fn == 0 && fp == 0) return 1;
  return 2 * (tp * tn - fn * fp) / ((tp + fn) * (fn + tn) + (tp + fp) * (fp + tn));
}

/// Jonker and Volgenant's shortest augmenting paths for rows <= cols: the column of each row at the smallest total
/// cost(i, j). Potentials u, v keep every reduced cost cost - u - v >= 0, and 0 on matched pairs. Row 0 and column 0 of
/// the vectors are the virtual start of a path.
template <class Cost>
Vector<Index> shortest_augmenting_paths(Index rows, Index cols, const Cost& cost) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Vector<double> u(rows + 1, 0.0), v(cols + 1, 0.0), slack(cols + 1);
  Vector<Index> row_of(cols + 1, 0), from(cols + 1, 0);
  Vector<char> done(cols + 1);
  for (Index i = 1; i <= rows; ++i) {
    row_of[0] = i;
    std::fill(slack.begin(), slack.end(), infinity);
    std::fill(done.begin(), done.end(), char{0});
    Index column = 0;
    while (row_of[column] != 0) {  // Dijkstra until a free column is reached
      done[column] = 1;
      const Index row = row_of[column];
      double step = infinity;
      Index next = 0;
      for (Index j = 1; j <= cols; ++j) {
        if (done[j] != 0) continue;
        const double reduced = cost(row - 1, j - 1) - u[row] - v[j];
        if (reduced < slack[j]) {
          slack[j] = reduced;
          from[j] = column;
        }
        if (slack[j] < step) {
          step = slack[j];
          next = j;
        }
      }
      for (Index j = 0; j <= cols; ++j) {
        if (done[j] != 0) {
          u[row_of[j]] += step;
          v[j] -= step;
        } else {
          slack[j] -= step;
        }
      }
      column = next;
    }
    for (; column != 0; column = from[column]) row_of[column] = row_of[from[column]];
  }
  Vector<Index> column_of(rows, -1);
  for (Index j = 1; j <= cols; ++j)
    if (row_of[j] > 0) column_of[row_of[j] - 1] = j - 1;
  return column_of;
}

}  // namespace

Vector<Index> best_assignment(MatrixView<const double> weight) {
  const Index rows = weight.rows, cols = weight.cols;
  double largest = 0;
  for (Index j = 0; j < cols; ++j)
    for (Index i = 0; i < rows; ++i) {
      if (!std::isfinite(weight(i, j)))
        throw Error("weight(" + std::to_string(i) + ", " + std::to_string(j) + ") is not finite: it must be");
      largest = std::max(largest, std::abs(weight(i, j)));
    }
  // a power of two keeps every bit and the path lengths away from overflow
  const double scale = largest > 1 ? std::ldexp(1.0, -std::ilogb(largest)) : 1;
  if (rows <= cols)
    return shortest_augmenting_paths(rows, cols, [&](Index i, Index j) { return -scale * weight(i, j); });
  const Vector<Index> row_of =
      shortest_augmenting_paths(cols, rows, [&](Index j, Index i) { return -scale * weight(i, j); });
  Vector<Index> out(rows, -1);
  for (Index j = 0; j < cols; ++j) out[row_of[j]] = j;
  return out;
}

Scores clustering_scores(const std::vector<std::int32_t>& labels, const std::vector<std::int32_t>& assignment) {
  if (labels.size() != assignment.size())
    throw Error("assignment: length " + std::to_string(assignment.size()) + " must equal that of the labels, " +
                std::to_string(labels.size()));
  if (labels.empty()) throw Error("labels: length 0 must be at least 1");
  const Contingency table = contingency(labels, assignment);
  return {accuracy(table), purity(table), normalized_mutual_information(table), adjusted_rand(table)};
}

double auroc(const std::vector<double>& score, const std::vector<bool>& positive) {
  if (score.size() != positive.size())
    throw Error("positive: length " + std::to_string(positive.size()) + " must equal that of the scores, " +
                std::to_string(score.size()));
  for (std::size_t j = 0; j < score.size(); ++j)
    if (std::isnan(score[j])) throw Error("score[" + std::to_string(j) + "] = nan: must be a number");
  std::vector<std::size_t> order(score.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return score[a] < score[b]; });
  // pairs (positive, negative) in the right order; a pair of equal scores counts half
  double negatives = 0, positives = 0, pairs = 0;
  for (std::size_t first = 0; first < order.size();) {
    double tied_negatives = 0, tied_positives = 0;
    std::size_t j = first;
    for (; j < order.size() && score[order[j]] == score[order[first]]; ++j)
      ++(positive[order[j]] ? tied_positives : tied_negatives);
    pairs += tied_positives * (negatives + tied_negatives / 2);
    negatives += tied_negatives;
    positives += tied_positives;
    first = j;
  }
  if (negatives == 0 || positives == 0) return std::numeric_limits<double>::quiet_NaN();
  return pairs / (negatives * positives);
}

double average_precision(const std::vector<double>& score, const std::vector<bool>& positive) {
  if (std::isnan(auroc(score, positive))) return std::numeric_limits<double>::quiet_NaN();  // checks them, too
  std::vector<std::size_t> order(score.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return score[a] > score[b]; });
  double found = 0, sum = 0;
  for (std::size_t first = 0; first < order.size();) {  // equal scores are found together
    std::size_t j = first;
    double tied = 0;
    for (; j < order.size() && score[order[j]] == score[order[first]]; ++j) tied += positive[order[j]] ? 1 : 0;
    found += tied;
    sum += tied * found / static_cast<double>(j);
    first = j;
  }
  return sum / found;
}

Spread spread(const std::vector<double>& values) {
  if (values.empty()) throw Error("values: length 0 must be at least 1");
  const double n = static_cast<double>(values.size()), origin = values[0];
  double sum = 0, square = 0;
  for (const double x : values) sum += x - origin;
  const double mean = origin + sum / n;  // exact for equal values
  for (const double x : values) square += (x - mean) * (x - mean);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return {mean, values.size() > 1 ? std::sqrt(square / (n - 1)) : 0, *low, *high};
}

Spread spread_of(const std::vector<Scores>& runs, const Measure& measure) {
  std::vector<double> values;
  for (const Scores& run : runs) values.push_back(run.*measure.score);
  return spread(values);
}

}  // namespace pacewise

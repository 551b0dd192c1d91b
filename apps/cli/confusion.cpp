#include "apps/cli/confusion.hpp"

#include <algorithm>

#include "evaluate/scores.hpp"

namespace pacewise::cli {
namespace {

struct Confusion {
  Matrix<double> count;         // labels x clusters
  Vector<Index> cluster_of;     // of each label; -1: none left
  std::vector<Index> label_of;  // of each cluster; -1: none left
};

Confusion confusion(const Labels& labels, const std::vector<std::int32_t>& assignment) {
  Index clusters = 1;
  for (const std::int32_t c : assignment) clusters = std::max<Index>(clusters, c + 1);
  Confusion out;
  out.count = Matrix<double>(static_cast<Index>(labels.names.size()), clusters);
  for (std::size_t j = 0; j < assignment.size(); ++j) ++out.count(labels.value[j], assignment[j]);
  out.cluster_of = best_assignment(out.count);
  out.label_of.assign(static_cast<std::size_t>(clusters), -1);
  for (std::size_t i = 0; i < out.cluster_of.size(); ++i)
    if (out.cluster_of[i] >= 0) out.label_of[static_cast<std::size_t>(out.cluster_of[i])] = static_cast<Index>(i);
  return out;
}

std::string share_text(double part, double whole) { return whole > 0 ? fixed_text(100 * part / whole, 1) + "%" : "-"; }

struct Row {
  double samples = 0, matched = 0;
};
Row row_of(const Confusion& c, Index i) {
  Row row;
  for (Index k = 0; k < c.count.cols(); ++k) row.samples += c.count(i, k);
  const Index own = c.cluster_of[static_cast<std::size_t>(i)];
  if (own >= 0) row.matched = c.count(i, own);
  return row;
}

TextTable full_table(const Confusion& c, const std::vector<std::string>& names) {
  std::vector<Index> order;  // of the clusters: by label, those without one last
  for (const Index k : c.cluster_of)
    if (k >= 0) order.push_back(k);
  for (Index k = 0; k < c.count.cols(); ++k)
    if (c.label_of[static_cast<std::size_t>(k)] < 0) order.push_back(k);
  TextTable t;
  t.head = {"label"};
  for (const Index k : order) {
    const Index label = c.label_of[static_cast<std::size_t>(k)];
    t.head.push_back(label >= 0 ? names[static_cast<std::size_t>(label)] : "no label");
  }
  t.head.emplace_back("matched");
  for (Index i = 0; i < c.count.rows(); ++i) {
    std::vector<std::string> cells = {names[static_cast<std::size_t>(i)]};
    for (const Index k : order) cells.push_back(fixed_text(c.count(i, k), 0));
    const Row row = row_of(c, i);
    cells.push_back(share_text(row.matched, row.samples));
    t.rows.push_back(std::move(cells));
  }
  return t;
}

TextTable short_table(const Confusion& c, const std::vector<std::string>& names) {
  TextTable t;
  t.head = {"label", "samples", "in its cluster", "matched", "mostly taken for"};
  for (Index i = 0; i < c.count.rows(); ++i) {
    const Index own = c.cluster_of[static_cast<std::size_t>(i)];
    Index wrong = -1;
    for (Index k = 0; k < c.count.cols(); ++k)
      if (k != own && c.count(i, k) > (wrong < 0 ? 0 : c.count(i, wrong))) wrong = k;
    std::string taken = "-";
    if (wrong >= 0) {
      const Index label = c.label_of[static_cast<std::size_t>(wrong)];
      taken = (label >= 0 ? names[static_cast<std::size_t>(label)] : "no label") + " (" +
              fixed_text(c.count(i, wrong), 0) + ")";
    }
    const Row row = row_of(c, i);
    t.rows.push_back({names[static_cast<std::size_t>(i)], fixed_text(row.samples, 0), fixed_text(row.matched, 0),
                      share_text(row.matched, row.samples), taken});
  }
  return t;
}

}  // namespace

TextTable confusion_table(const Labels& labels, const std::vector<std::int32_t>& assignment) {
  const Confusion c = confusion(labels, assignment);
  return std::max(c.count.rows(), c.count.cols()) <= kMostColumns ? full_table(c, labels.names)
                                                                  : short_table(c, labels.names);
}

}  // namespace pacewise::cli

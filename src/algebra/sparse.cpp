#include "algebra/sparse.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "algebra/index.hpp"

namespace pacewise {
namespace {

void check_row_range(Index rows, Index cols) {
  if (rows < 0 || cols < 0) throw Error("sparse matrix: negative size");
  if (rows > std::numeric_limits<std::int32_t>::max() || cols > std::numeric_limits<std::int32_t>::max())
    throw Error("sparse matrix: " + std::to_string(rows) + " x " + std::to_string(cols) + " exceeds 2^31 - 1");
}

/// start[j] = number of entries in the columns before j, from counts kept at start[j + 1]
void accumulate(std::vector<Index>& start) {
  for (std::size_t j = 1; j < start.size(); ++j) start[j] += start[j - 1];
}

std::string entry_name(Index row, Index col) { return "(" + std::to_string(row) + ", " + std::to_string(col) + ")"; }

void check_structure(const Sparse& a, const std::string& name) {
  if (a.rows != a.cols)
    throw Error(name + ": is " + std::to_string(a.rows) + " x " + std::to_string(a.cols) + ", must be square");
  if (a.start.size() != to_size(a.cols) + 1 || a.start.front() != 0 || a.start.back() != a.nonzeros() ||
      a.value.size() != a.index.size())
    throw Error(name + ": column starts, indices and values do not belong together");
  // every start is checked before any is used as an address
  for (Index j = 0; j < a.cols; ++j)
    if (a.start[to_size(j + 1)] < a.start[to_size(j)])
      throw Error(name + ": the start of column " + std::to_string(j + 1) + " decreases");
  for (Index j = 0; j < a.cols; ++j)
    for (Index p = a.start[to_size(j)]; p < a.start[to_size(j + 1)]; ++p) {
      if (a.index[to_size(p)] < 0 || a.index[to_size(p)] >= a.rows)
        throw Error(name + ": row index " + std::to_string(a.index[to_size(p)]) + " in column " + std::to_string(j) +
                    " is outside 0 .. " + std::to_string(a.rows - 1));
      if (p > a.start[to_size(j)] && a.index[to_size(p)] <= a.index[to_size(p - 1)])
        throw Error(name + ": the row indices of column " + std::to_string(j) + " must increase strictly");
      if (!std::isfinite(a.value[to_size(p)]))
        throw Error(name + ": entry " + entry_name(a.index[to_size(p)], j) + " is not finite");
    }
}

}  // namespace

Sparse sparse_from_triplets(Index rows, Index cols, std::vector<Triplet> entries) {
  check_row_range(rows, cols);
  for (const Triplet& e : entries)
    if (e.row < 0 || e.row >= rows || e.col < 0 || e.col >= cols)
      throw Error("sparse matrix: entry " + entry_name(e.row, e.col) + " is outside " + std::to_string(rows) + " x " +
                  std::to_string(cols));
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Triplet& a, const Triplet& b) { return a.col != b.col ? a.col < b.col : a.row < b.row; });
  Sparse out{rows, cols, std::vector<Index>(to_size(cols) + 1), {}, {}};
  for (std::size_t p = 0; p < entries.size();) {
    const Triplet first = entries[p];
    double sum = 0;
    for (; p < entries.size() && entries[p].row == first.row && entries[p].col == first.col; ++p)
      sum += entries[p].value;
    if (sum == 0) continue;
    out.index.push_back(first.row);
    out.value.push_back(sum);
    ++out.start[to_size(first.col) + 1];
  }
  accumulate(out.start);
  return out;
}

Sparse transpose(const Sparse& a) {
  Sparse out{a.cols, a.rows, std::vector<Index>(to_size(a.rows) + 1), {}, {}};
  out.index.resize(a.index.size());
  out.value.resize(a.value.size());
  for (const std::int32_t row : a.index) ++out.start[to_size(row) + 1];
  accumulate(out.start);
  std::vector<Index> next(out.start.begin(), out.start.end() - 1);
  for (Index j = 0; j < a.cols; ++j)
    for (Index p = a.start[to_size(j)]; p < a.start[to_size(j + 1)]; ++p) {
      const Index q = next[to_size(a.index[to_size(p)])]++;
      out.index[to_size(q)] = static_cast<std::int32_t>(j);
      out.value[to_size(q)] = a.value[to_size(p)];
    }
  return out;
}

/// Column by column: c_j = sum_k a_k b_kj, k ascending, so that the order of every sum is fixed.
Sparse multiply(const Sparse& a, const Sparse& b) {
  if (a.cols != b.rows)
    throw Error("sparse product: " + std::to_string(a.rows) + " x " + std::to_string(a.cols) + " times " +
                std::to_string(b.rows) + " x " + std::to_string(b.cols) + ", inner sizes must agree");
  Sparse out{a.rows, b.cols, std::vector<Index>(to_size(b.cols) + 1), {}, {}};
  std::vector<double> sum(to_size(a.rows), 0.0);
  std::vector<Index> seen(to_size(a.rows), -1);  // last column of the product that has an entry in this row
  for (Index j = 0; j < b.cols; ++j) {
    const std::size_t first = out.index.size();
    for (Index q = b.start[to_size(j)]; q < b.start[to_size(j + 1)]; ++q) {
      const Index k = b.index[to_size(q)];
      for (Index p = a.start[to_size(k)]; p < a.start[to_size(k + 1)]; ++p) {
        const std::int32_t i = a.index[to_size(p)];
        if (seen[to_size(i)] != j) {
          seen[to_size(i)] = j;
          sum[to_size(i)] = 0;
          out.index.push_back(i);
        }
        sum[to_size(i)] += a.value[to_size(p)] * b.value[to_size(q)];
      }
    }
    std::sort(out.index.begin() + static_cast<std::ptrdiff_t>(first), out.index.end());
    for (std::size_t p = first; p < out.index.size(); ++p) out.value.push_back(sum[to_size(out.index[p])]);
    out.start[to_size(j) + 1] = out.nonzeros();
  }
  return out;
}

Sparse scale(const Sparse& a, const std::vector<double>& left, const std::vector<double>& right) {
  if (!left.empty() && static_cast<Index>(left.size()) != a.rows)
    throw Error("scale: left has " + std::to_string(left.size()) + " entries, must have " + std::to_string(a.rows));
  if (!right.empty() && static_cast<Index>(right.size()) != a.cols)
    throw Error("scale: right has " + std::to_string(right.size()) + " entries, must have " + std::to_string(a.cols));
  Sparse out = a;
  for (Index j = 0; j < a.cols; ++j)
    for (Index p = a.start[to_size(j)]; p < a.start[to_size(j + 1)]; ++p) {
      // l_i r_j first: with left == right a symmetric matrix stays symmetric to the last bit
      const double l = left.empty() ? 1 : left[to_size(a.index[to_size(p)])], r = right.empty() ? 1 : right[to_size(j)];
      out.value[to_size(p)] *= l * r;
    }
  return out;
}

std::vector<double> diagonal(const Sparse& a) {
  std::vector<double> out(to_size(std::min(a.rows, a.cols)), 0.0);
  for (Index j = 0; j < static_cast<Index>(out.size()); ++j) {
    const auto begin = a.index.begin() + a.start[to_size(j)], end = a.index.begin() + a.start[to_size(j + 1)];
    const auto hit = std::lower_bound(begin, end, static_cast<std::int32_t>(j));
    if (hit != end && *hit == j) out[to_size(j)] = a.value[to_size(hit - a.index.begin())];
  }
  return out;
}

Groups separate_groups(const Sparse& a, Index least) {
  std::vector<char> seen(to_size(a.cols), 0);
  Groups out;
  for (Index first = 0; first < a.cols; ++first) {
    if (seen[to_size(first)] != 0) continue;
    if (out.members.empty() || static_cast<Index>(out.members.back().size()) >= least) out.members.emplace_back();
    std::vector<Index>& group = out.members.back();
    std::size_t next = group.size();
    seen[to_size(first)] = 1;
    for (group.push_back(first); next < group.size(); ++next) {
      const Index j = group[next];
      for (Index p = a.start[to_size(j)]; p < a.start[to_size(j + 1)]; ++p) {
        const Index i = a.index[to_size(p)];
        if (a.value[to_size(p)] == 0 || seen[to_size(i)] != 0) continue;
        seen[to_size(i)] = 1;
        group.push_back(i);
      }
    }
  }
  out.place.resize(to_size(a.cols));
  for (auto& group : out.members) {
    std::sort(group.begin(), group.end());
    for (std::size_t i = 0; i < group.size(); ++i) out.place[to_size(group[i])] = static_cast<std::int32_t>(i);
  }
  return out;
}

Sparse part_of(const Sparse& a, const Groups& groups, std::size_t group) {
  const auto size = static_cast<Index>(groups.members[group].size());
  Sparse out{size, size, {0}, {}, {}};
  for (const Index j : groups.members[group]) {
    for (Index p = a.start[to_size(j)]; p < a.start[to_size(j + 1)]; ++p) {
      if (a.value[to_size(p)] == 0) continue;
      out.index.push_back(groups.place[to_size(a.index[to_size(p)])]);
      out.value.push_back(a.value[to_size(p)]);
    }
    out.start.push_back(out.nonzeros());
  }
  return out;
}

void check_symmetric(const Sparse& a, const char* name) {
  check_structure(a, name);
  double largest = 0;
  for (const double v : a.value) largest = std::max(largest, std::abs(v));
  const double tolerance = 1e-10 * largest;
  const Sparse b = transpose(a);
  for (Index j = 0; j < a.cols; ++j) {
    Index p = a.start[to_size(j)], q = b.start[to_size(j)];
    while (p < a.start[to_size(j + 1)] || q < b.start[to_size(j + 1)]) {
      const Index in_a = p < a.start[to_size(j + 1)] ? a.index[to_size(p)] : a.rows,
                  in_b = q < b.start[to_size(j + 1)] ? b.index[to_size(q)] : a.rows;
      const Index i = std::min(in_a, in_b);
      const double upper = in_a == i ? a.value[to_size(p++)] : 0, lower = in_b == i ? b.value[to_size(q++)] : 0;
      if (std::abs(upper - lower) > tolerance)
        throw Error(std::string(name) + ": entries " + entry_name(i, j) + " = " + std::to_string(upper) + " and " +
                    entry_name(j, i) + " = " + std::to_string(lower) +
                    " differ, must be symmetric (take (A + A') / 2)");
    }
  }
}

}  // namespace pacewise

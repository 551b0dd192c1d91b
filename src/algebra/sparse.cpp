#include "algebra/sparse.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "algebra/eigen.hpp"

namespace pacewise {
namespace {

constexpr Index kLargest = std::numeric_limits<std::int32_t>::max();

std::string entry_name(Index row, Index col) { return "(" + std::to_string(row) + ", " + std::to_string(col) + ")"; }

void check_structure(const Sparse& a, const std::string& name) {
  if (a.rows != a.cols)
    throw Error(name + ": is " + std::to_string(a.rows) + " x " + std::to_string(a.cols) + ", must be square");
  if (static_cast<Index>(a.start.size()) != a.cols + 1 || a.start.front() != 0 || a.start.back() != a.nonzeros() ||
      a.value.size() != a.index.size())
    throw Error(name + ": column starts, indices and values do not belong together");
  // every start is checked before any is used as an address
  for (Index j = 0; j < a.cols; ++j)
    if (a.start[j + 1] < a.start[j])
      throw Error(name + ": the start of column " + std::to_string(j + 1) + " decreases");
  for (Index j = 0; j < a.cols; ++j)
    for (Index p = a.start[j]; p < a.start[j + 1]; ++p) {
      if (a.index[p] < 0 || a.index[p] >= a.rows)
        throw Error(name + ": row index " + std::to_string(a.index[p]) + " in column " + std::to_string(j) +
                    " is outside 0 .. " + std::to_string(a.rows - 1));
      if (p > a.start[j] && a.index[p] <= a.index[p - 1])
        throw Error(name + ": the row indices of column " + std::to_string(j) + " must increase strictly");
      if (!std::isfinite(a.value[p])) throw Error(name + ": entry " + entry_name(a.index[p], j) + " is not finite");
    }
}

}  // namespace

EigenSparse to_eigen(const Sparse& a) {
  if (a.nonzeros() > kLargest)
    throw Error("sparse matrix: " + std::to_string(a.nonzeros()) + " entries exceed 2^31 - 1");
  const Vector<std::int32_t> start(a.start.begin(), a.start.end());
  return Eigen::Map<const EigenSparse>(a.rows, a.cols, a.nonzeros(), start.data(), a.index.data(), a.value.data());
}

Sparse from_eigen(EigenSparse a) {
  a.prune([](Index, Index, double value) { return value != 0; });  // compresses, too
  const Index count = a.nonZeros();
  return {a.rows(),
          a.cols(),
          {a.outerIndexPtr(), a.outerIndexPtr() + a.cols() + 1},
          {a.innerIndexPtr(), a.innerIndexPtr() + count},
          {a.valuePtr(), a.valuePtr() + count}};
}

Sparse sparse_from_triplets(Index rows, Index cols, const std::vector<Triplet>& entries) {
  if (rows < 0 || cols < 0) throw Error("sparse matrix: negative size");
  if (rows > kLargest || cols > kLargest)
    throw Error("sparse matrix: " + std::to_string(rows) + " x " + std::to_string(cols) + " exceeds 2^31 - 1");
  std::vector<Eigen::Triplet<double, std::int32_t>> checked;
  checked.reserve(entries.size());
  for (const Triplet& e : entries) {
    if (e.row < 0 || e.row >= rows || e.col < 0 || e.col >= cols)
      throw Error("sparse matrix: entry " + entry_name(e.row, e.col) + " is outside " + std::to_string(rows) + " x " +
                  std::to_string(cols));
    checked.emplace_back(e.row, e.col, e.value);
  }
  EigenSparse out(rows, cols);
  out.setFromTriplets(checked.begin(), checked.end());
  return from_eigen(out);
}

Sparse transpose(const Sparse& a) { return from_eigen(to_eigen(a).transpose()); }

Vector<Index> reverse_cuthill_mckee(const Sparse& symmetric) {
  const Vector<Index>& start = symmetric.start;
  const auto fewer = [&](Index a, Index b) {
    const Index degree_a = start[a + 1] - start[a], degree_b = start[b + 1] - start[b];
    return degree_a != degree_b ? degree_a < degree_b : a < b;
  };
  Vector<Index> by_degree(symmetric.cols), order;
  std::iota(by_degree.begin(), by_degree.end(), Index{0});
  std::sort(by_degree.begin(), by_degree.end(), fewer);
  order.reserve(by_degree.size());
  Vector<char> seen(symmetric.cols, 0);
  const auto append = [&](Index row) {
    if (seen[row] == 0) order.push_back(row);
    seen[row] = 1;
  };
  for (const Index first : by_degree) {
    std::size_t next = order.size();
    for (append(first); next < order.size(); ++next) {
      const auto end = static_cast<std::ptrdiff_t>(order.size());
      for (Index p = start[order[next]]; p < start[order[next] + 1]; ++p)
        if (symmetric.value[p] != 0) append(symmetric.index[p]);
      std::sort(order.begin() + end, order.end(), fewer);
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

void check_symmetric(const Sparse& a, const char* name) {
  check_structure(a, name);
  const EigenSparse upper = to_eigen(a), lower = upper.transpose();
  const double largest = std::accumulate(a.value.begin(), a.value.end(), 0.0,
                                         [](double most, double v) { return std::max(most, std::abs(v)); });
  const EigenSparse gap = upper - lower;
  for (Index j = 0; j < a.cols; ++j)
    for (EigenSparse::InnerIterator entry(gap, j); entry; ++entry)
      if (std::abs(entry.value()) > 1e-10 * largest)
        throw Error(std::string(name) + ": entries " + entry_name(entry.row(), j) + " = " +
                    std::to_string(upper.coeff(entry.row(), j)) + " and " + entry_name(j, entry.row()) + " = " +
                    std::to_string(lower.coeff(entry.row(), j)) + " differ, must be symmetric (take (A + A') / 2)");
}

}  // namespace pacewise

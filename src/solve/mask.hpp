#pragma once
#include <span>

#include "algebra/parallel.hpp"
#include "data/problem.hpp"

namespace pacewise {

/// What entry weights look like, sample by sample. Where nearly all entries of a sample have its largest weight (a
/// mask), what depends on its weights is a correction over the few rows that have less:
///   A_j = B' diag(w_j) B = top_j B'B - sum_i (top_j - w_ij) b_i b_i',   b_i row i of B.
class Mask {
 public:
  Mask() = default;
  template <class T>
  Mask(const Weights<T>& weights, Index m, Index n, const Control& control);

  double mean(Index j) const { return mean_[static_cast<std::size_t>(j)]; }
  double top(Index j) const { return top_[static_cast<std::size_t>(j)]; }
  /// At most a third of the rows have less than the largest weight: rows(j) lists them, lacks(j) says by how much.
  bool few(Index j) const { return few_[static_cast<std::size_t>(j)] != 0; }
  bool any_few() const { return any_few_; }
  std::span<const std::int32_t> rows(Index j) const { return {rows_.data() + from(j), from(j + 1) - from(j)}; }
  const double* lacks(Index j) const { return lacks_.data() + from(j); }

 private:
  std::size_t from(Index j) const { return begin_[static_cast<std::size_t>(j)]; }

  Vector<double> mean_, top_;
  std::vector<char> few_;
  bool any_few_ = false;
  std::vector<std::size_t> begin_;
  std::vector<std::int32_t> rows_;
  Vector<double> lacks_;
};

}  // namespace pacewise

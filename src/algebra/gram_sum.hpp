#pragma once
#include <algorithm>
#include <vector>

#include "algebra/dense.hpp"
#include "algebra/parallel.hpp"

namespace pacewise {

/// sum_j a_j a_j' over `cols` vectors of `rows` numbers that nobody need store: fill(first, part) writes part.cols of
/// them, those from `first` on, once each, on any thread. Groups of vectors have sums of their own, added up in their
/// order, whatever the number of threads; so few groups that the sums take no more room than half of the vectors.
template <class Fill>
Matrix<double> gram_sum(Index rows, Index cols, const Control& control, const Fill& fill) {
  constexpr Index kPart = 128, kGroups = 8;
  const Index parts = block_count(cols, kPart);
  const Index groups =
      std::clamp<Index>(cols / std::max<Index>(2 * rows, 1), 1, std::max<Index>(1, std::min(parts, kGroups)));
  std::vector<Matrix<double>> sums(static_cast<std::size_t>(groups));
  parallel_blocks(groups, control, [&](Index g, int) {
    Matrix<double> sum(rows, rows), part;
    part.resize_for_overwrite(rows, std::min(cols, kPart));
    for (Index p = g * parts / groups; p < (g + 1) * parts / groups; ++p) {
      const auto some = part.view().columns(0, block_length(cols, p, kPart));
      fill(p * kPart, some);
      gram<double>(Op::plain, 1, some, 1, sum.view());
    }
    sums[static_cast<std::size_t>(g)] = std::move(sum);
  });
  Matrix<double> total = std::move(sums[0]);
  if (total.empty()) total.resize(rows, rows);  // stopped before it began
  for (std::size_t g = 1; g < sums.size() && !sums[g].empty(); ++g)
    for (Index i = 0; i < total.size(); ++i) total.data()[i] += sums[g].data()[i];
  return total;
}

}  // namespace pacewise

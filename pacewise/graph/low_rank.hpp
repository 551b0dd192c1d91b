#pragma once
#include <vector>

#include "pacewise/graph/observed.hpp"

namespace pacewise {

/// The leading part of Y ~ U s V', Y = scale (X - mean): atoms are features' side of the SVD, points the samples'.
struct LowRank {
  Matrix<double> directions;   // W, m x D, orthonormal columns, the largest entry of each is positive
  Matrix<double> points;       // W'Y, D x n; equal samples have equal points to the last bit
  std::vector<double> values;  // s, D, descending; every one above rounding
  double energy = 0;           // |Y|^2
};

/// Rank min(D, m, n - 1) or less. With missing entries: they start at their features' means, then a few rounds of
/// "fit the model, fill in what it says". `clipped`: in such rounds an entry that is further from the model of half the
/// rank than three times what is usual for its feature counts as if it were just that far (Huber's way of fitting), so
/// that single wild values do not make directions of their own. Same seed, same bits.
template <class T>
LowRank low_rank(MatrixView<const T> X, const Observed& observed, Index dimensions, bool clipped, std::uint64_t seed,
                 const Control& control);

}  // namespace pacewise

#pragma once
#include <vector>

#include "graph/observed.hpp"

namespace pacewise {

/// The leading part of Y ~ U s V', Y = scale (X - mean): atoms are features' side of the SVD, points the samples'.
struct LowRank {
  Matrix<double> directions;   // W, m x D, orthonormal columns, the largest entry of each is positive
  Matrix<double> points;       // W'Y, D x n; equal samples have equal points to the last bit
  std::vector<double> values;  // s, D, descending; every one above rounding
  double energy = 0;           // |Y|^2
};

/// Rank min(D, m, n - 1) or less. With missing entries: they start at their features' means, then a few rounds of
/// "fit the model, fill in what it says". `trimmed`: in such rounds, of models of growing rank up to D / 2, an entry
/// counts the less the further it is from the model, and not at all beyond eight times what is usual for its feature
/// (Tukey's way of fitting), so that single wild values do not make directions of their own. Same seed, same bits.
template <class T>
LowRank low_rank(MatrixView<const T> X, const Observed& observed, Index dimensions, bool trimmed, std::uint64_t seed,
                 const Control& control);

}  // namespace pacewise

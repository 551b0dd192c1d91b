#pragma once
#include "algebra/eigen.hpp"
#include "graph/observed.hpp"

namespace pacewise {

/// The leading part of the singular value decomposition of Y = scale (X - mean), Y ~ W p
struct LowRank {
  EigenMatrix<double> directions;  // W, m x D, orthonormal columns, the largest entry of each is positive
  Matrix<double> points;           // p = W'Y, D x n; equal samples have equal points to the last bit
  Vector<double> values;           // s, D, descending; every one above rounding
  double energy = 0;               // |Y|^2
};

/// Rank min(D, m, n - 1) or less. Missing entries start at their features' means, then a few rounds of "fit the model,
/// fill in its prediction". `trimmed`: in such rounds, of models of growing rank up to D / 2, entries far from the
/// prediction are pulled towards it (Tukey's biweight), and replaced by it beyond eight standard deviations of their
/// feature, so that single gross outliers do not make directions of their own. The rounds learn from 4,096 samples
/// where there are more, the last fit from all. Same seed, same bits.
template <class T>
LowRank low_rank(const Samples<T>& X, const Observed& observed, Index dimensions, bool trimmed, std::uint64_t seed,
                 const Control& control);

}  // namespace pacewise

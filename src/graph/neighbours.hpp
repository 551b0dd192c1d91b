#pragma once
#include <vector>

#include "algebra/parallel.hpp"

namespace pacewise {

/// The k nearest other samples of every sample, nearest first; ties go to the smaller index.
struct Neighbours {
  Index k = 0, n = 0;
  std::vector<std::int32_t> index;       // k x n, column j = neighbours of j; -1 where fewer than k are comparable
  std::vector<double> squared_distance;  // k x n, infinite where index is -1
  bool rescaled = false;                 // entries were missing: distances over common entries, times m / |common|
};

/// Exact, by blocked matrix products; memory O(k n + block), never n x n. NaN in X is a missing entry. X is m x n,
/// 1 <= k < n. Distances are sums of squared differences in double; equal samples are at distance 0. Once
/// control.stop() the samples not yet reached have -1.
template <class T>
Neighbours nearest(MatrixView<const T> X, Index k, const Control& control);

}  // namespace pacewise

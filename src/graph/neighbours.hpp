#pragma once
#include "data/problem.hpp"

namespace pacewise {

/// The k nearest other samples of every sample, nearest first; ties go to the smaller index.
struct Neighbours {
  Index k = 0, n = 0;
  Vector<std::int32_t> index;       // k x n, column j = neighbours of j; -1 where fewer than k are comparable
  Vector<double> squared_distance;  // k x n, infinite where index is -1
};

/// Exact, by blocked matrix products; memory O(k n + block) beside a centred copy of X, never n x n. X is m x n,
/// 1 <= k < n. Distances are sums of squared differences in double; equal samples are at distance 0. Samples without a
/// common entry are not comparable; where entries are missing, a distance is that over the common ones times m /
/// |common|. Once control.stop() the samples not yet reached have -1.
template <class T>
Neighbours nearest(const Samples<T>& X, Index k, const Control& control);

}  // namespace pacewise

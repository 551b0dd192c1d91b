#pragma once
#include <vector>

#include "algebra/index.hpp"
#include "algebra/parallel.hpp"
#include "graph/observed.hpp"

namespace pacewise {

/// Squared distances from matrix products, with a bound on their rounding error.
///
/// With z the centred samples (0 where missing), o their masks, z2 = z.z, N = |z_i|^2 + |z_j|^2:
///   complete:  d_ij = N - 2 z_i'z_j                                            =: N + s_ij
///   missing:   d_ij = (m / c_ij) (z2_i'o_j + o_i'z2_j - 2 z_i'z_j),  c = o_i'o_j  =: (m / c_ij) s_ij
/// A sum of p products in any order is off by at most p u / (1 - p u) times the sum of their sizes, and all sizes here
/// are bounded by N. So the distance of the double-precision evaluation lies in
///   [ f (s + low_i + low_j),  f (s + high_i + high_j) ],   f = 1 or m / c,
/// where low and high of a sample are its norm (complete) or 0 (missing), minus or plus error() times its norm.
/// T is the arithmetic of the products, whatever that of X.
template <class T>
class RoughDistances {
 public:
  /// of the columns `samples` of X
  template <class U>
  RoughDistances(MatrixView<const U> X, const Observed& observed, const std::vector<std::int32_t>& samples,
                 const Control& control);

  bool complete() const { return mask_.empty(); }
  Index features() const { return z_.rows(); }
  Index samples() const { return z_.cols(); }
  double low(Index i) const { return low_[to_size(i)]; }
  double high(Index i) const { return high_[to_size(i)]; }
  const T* rounded_low() const { return rounded_low_.data(); }
  double underflow() const;  // what products below the smallest normal number can add to the error

  /// s and, where entries are missing, c: both targets x queries
  void products(Index target, Index targets, Index query, Index queries, MatrixView<T> s, MatrixView<T> c) const;

 private:
  double error() const;

  Matrix<T> z_, mask_, square_;     // m x u; the last two are empty when nothing is missing
  std::vector<double> low_, high_;  // u
  Vector<T> rounded_low_;           // u
};

}  // namespace pacewise

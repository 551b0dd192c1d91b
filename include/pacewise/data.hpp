#pragma once
#include <limits>
#include <utility>

#include "pacewise/matrix.hpp"
#include "pacewise/options.hpp"

namespace pacewise {

/// Weights that multiply: omega_ij = sample_j * feature_i * entry_ij. An empty part stands for ones.
template <class T>
struct Weights {
  Vector<T> sample;   // n
  Vector<T> feature;  // m
  Matrix<T> entry;    // m x n

  T operator()(Index i, Index j) const {
    T w = 1;
    if (!sample.empty()) w *= sample[static_cast<std::size_t>(j)];
    if (!feature.empty()) w *= feature[static_cast<std::size_t>(i)];
    if (!entry.empty()) w *= entry(i, j);
    return w;
  }
};

/// What the user hands over. `values` stays the caller's: it must outlive the call and is never written.
template <class T>
struct Problem {
  MatrixView<const T> values;  // X, m x n: a column is a sample. NaN = missing = weight 0
  Weights<T> weights;          // the user's, finite and >= 0, separate from the values

  Problem() = default;
  Problem(MatrixView<const T> x, Weights<T> w = {}) : values(x), weights(std::move(w)) {}
  /// Any matrix of this type of number, without a copy.
  template <class M>
  requires std::convertible_to<const M&, MatrixView<const T>> Problem(const M& x, Weights<T> w = {})
      : Problem(MatrixView<const T>(x), std::move(w)) {}
};

/// How new samples are brought to the scale of the training data, and results back.
template <class T>
struct Normalization {
  Normalize kind = Normalize::none;
  Vector<T> shift, scale;  // standard, robust: x -> (x - shift_i) / scale_i, each of length m; else empty
  Vector<T> offset = {};   // m, learned: then x -> x - offset_i; or empty
  // what is further from the centre is a gross outlier: it counts for nothing at first, and never for its sample's norm
  double center = 0, reach = std::numeric_limits<double>::infinity();
};

}  // namespace pacewise

#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "algebra/dense.hpp"
#include "algebra/eigen.hpp"
#include "algebra/parallel.hpp"
#include "data/problem.hpp"
#include "pacewise/tuning.hpp"

namespace pacewise {

/// The largest gap of some conditions and the scale it is relative to
struct Largest {
  double gap = 0, scale = 0;
  Largest& operator+=(const Largest& other) {
    gap = std::max(gap, other.gap);
    scale = std::max(scale, other.scale);
    return *this;
  }
  double relative() const { return scale > 0 ? gap / scale : gap; }
};

/// The least residual so far, and for how many rounds it has hardly fallen
struct Progress {
  double best = std::numeric_limits<double>::infinity(), waited = 0;

  /// Whether this one is the least; `valid`: where it was met counts, since the objective has not risen
  bool improves(double residual, bool valid, const Tuning& tuning) {
    const bool better = valid && residual < best;
    waited = better && residual < tuning.stalled * best ? 0 : waited + 1;
    if (better) best = residual;
    return better;
  }
  bool stalled(const Tuning& tuning) const { return waited > tuning.patience; }
};

/// What weights do to the numbers of sample j, in place: x_i *= w_ij
template <class T, class U>
void weigh(const Weights<T>& weights, Index j, U* x, Index m) {
  if (!weights.feature.empty())
    for (Index i = 0; i < m; ++i) x[i] *= static_cast<U>(weights.feature[i]);
  if (!weights.entry.empty()) {
    const T* w = weights.entry.col(j);
    for (Index i = 0; i < m; ++i) x[i] *= static_cast<U>(w[i]);
  }
  if (!weights.sample.empty()) {
    const auto w = static_cast<U>(weights.sample[j]);
    for (Index i = 0; i < m; ++i) x[i] *= w;
  }
}

/// Whether all these weights are 1: then they count as absent
template <class T>
bool all_one(const Vector<T>& weights) {
  return std::all_of(weights.begin(), weights.end(), [](T w) { return w == T(1); });
}

/// B' diag(feature) B, in the precision U
template <class U, class S, class T>
EigenMatrix<double> feature_gram(MatrixView<const S> B, const Vector<T>& feature) {
  EigenMatrix<U> root = eigen(B).template cast<U>(), G(B.cols, B.cols);
  for (Index i = 0; i < B.rows && !feature.empty(); ++i) root.row(i) *= static_cast<U>(std::sqrt(feature[i]));
  gram<U>(Op::transposed, 1, {root.data(), B.rows, B.cols}, 0, {G.data(), B.cols, B.cols});
  return G.template cast<double>();
}

/// R -= B S, by the nonzeros where S has few
template <class U>
void subtract_product(MatrixView<const U> B, MatrixView<const U> S, MatrixView<U> R);

/// Calls use(first, R, S, worker) for every block of samples, with R = X - B S (m x b) and the block's codes, both in
/// the precision U. R is the worker's scratch and may be overwritten.
template <class U, class T, class Use>
void for_each_residual(MatrixView<const T> X, MatrixView<const U> B, MatrixView<const T> S, const Control& control,
                       const Use& use) {
  struct Scratch {
    Matrix<U> R, S;
  };
  Vector<Scratch> scratch(thread_count(control), {});
  parallel_for(X.cols, control, [&](Index first, Index count, int worker) {
    Scratch& mine = scratch[worker];
    if (mine.R.empty()) {
      mine.R.resize_for_overwrite(X.rows, kBlock);
      if (!std::is_same_v<T, U>) mine.S.resize_for_overwrite(S.rows, kBlock);
    }
    const MatrixView<U> R = mine.R.view().columns(0, count);
    eigen(R) = eigen(X.columns(first, count)).template cast<U>();
    MatrixView<const U> s;
    if constexpr (std::is_same_v<T, U>) {
      s = S.columns(first, count);
    } else {
      eigen(mine.S.view().columns(0, count)) = eigen(S.columns(first, count)).template cast<U>();
      s = mine.S.view().columns(0, count);
    }
    subtract_product<U>(B, s, R);
    use(first, R, s, worker);
  });
}

}  // namespace pacewise

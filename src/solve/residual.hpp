#pragma once
#include "algebra/dense.hpp"
#include "algebra/parallel.hpp"
#include "data/problem.hpp"

namespace pacewise {

/// Column j's own weights times x: out_i = w_ij v_ij in_i, for all features or those from `top` on
template <class T, class U>
void weigh(const Weights<T>& weights, Index j, MatrixView<U> column, Index top = 0) {
  if (!weights.feature.empty())
    for (Index i = 0; i < column.rows; ++i)
      column(i, 0) *= static_cast<U>(weights.feature[static_cast<std::size_t>(top + i)]);
  if (!weights.entry.empty()) {
    const T* w = weights.entry.col(j) + top;
    for (Index i = 0; i < column.rows; ++i) column(i, 0) *= static_cast<U>(w[i]);
  }
  if (!weights.sample.empty()) {
    const auto w = static_cast<U>(weights.sample[static_cast<std::size_t>(j)]);
    for (Index i = 0; i < column.rows; ++i) column(i, 0) *= w;
  }
}

/// Residuals of the samples from `first` on -> the losses of their entries, w r^2
template <class T>
void square_and_weigh(const Weights<T>& weights, Index first, MatrixView<T> R) {
  for (Index j = 0; j < R.cols; ++j) {
    T* x = R.col(j);
    for (Index i = 0; i < R.rows; ++i) x[i] = x[i] * x[i];
    weigh(weights, first + j, R.columns(j, 1));
  }
}

/// R -= B S, by way of the nonzeros where S has few
template <class T>
void subtract_model(MatrixView<const T> B, MatrixView<const T> S, MatrixView<T> R);

/// Calls use(first, R, worker) for every block of samples with R = X - B S restricted to the block (m x b). R may be
/// overwritten: it is the worker's scratch.
template <class T, class Use>
void for_each_residual(MatrixView<const T> X, MatrixView<const T> B, MatrixView<const T> S, const Control& control,
                       Use&& use) {
  const Index n = X.cols, m = X.rows;
  std::vector<Matrix<T>> scratch(static_cast<std::size_t>(thread_count(control)));
  for (auto& s : scratch) s.resize(m, std::min(n, kBlock));
  parallel_blocks(block_count(n), control, [&](Index block, int worker) {
    const Index first = block * kBlock, b = block_length(n, block);
    const MatrixView<T> R = scratch[static_cast<std::size_t>(worker)].view().columns(0, b);
    for (Index j = 0; j < b; ++j) std::copy_n(X.col(first + j), m, R.col(j));
    subtract_model<T>(B, S.columns(first, b), R);
    use(first, R, worker);
  });
}

}  // namespace pacewise

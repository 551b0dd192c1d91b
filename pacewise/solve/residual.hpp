#pragma once
#include "pacewise/algebra/dense.hpp"
#include "pacewise/algebra/parallel.hpp"

namespace pacewise {

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
    gemm<T>(Op::plain, Op::plain, -1, B, S.columns(first, b), 1, R);
    use(first, R, worker);
  });
}

}  // namespace pacewise

#include "solve/atom_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "algebra/dense.hpp"
#include "algebra/simd.hpp"
#include "algebra/sums.hpp"

namespace pacewise {
namespace {

/// u <- b + u / curvature
template <class T>
PACEWISE_WIDE_TEMPLATE void leave(Index m, T curvature, const T* __restrict b, T* __restrict u) {
  for (Index i = 0; i < m; ++i) u[i] = b[i] + u[i] / curvature;
}

/// b <- shrink u, u <- its move
template <class T>
PACEWISE_WIDE_TEMPLATE void move(Index m, T shrink, T* __restrict b, T* __restrict u) {
  for (Index i = 0; i < m; ++i) {
    const T moved = shrink * u[i];
    u[i] = moved - b[i];
    b[i] = moved;
  }
}

template <class T>
PACEWISE_WIDE_TEMPLATE void subtract(Index m, T a, const T* __restrict u, T* __restrict later) {
  for (Index i = 0; i < m; ++i) later[i] -= a * u[i];
}

/// The atoms of a group one after the other: b <- P(b + u / a), u = C - B A; those after it see its move at once.
template <class T>
void sweep_group(const Matrix<T>& A, Index first, Matrix<T>& B, MatrixView<T> U) {
  const Index m = B.rows();
  for (Index k = 0; k < U.cols; ++k) {
    const T curvature = A(first + k, first + k);
    if (!(curvature > T(0))) continue;
    T* b = B.col(first + k);
    T* u = U.col(k);  // becomes the move of b
    leave(m, curvature, b, u);
    const double norm2 = inner_product<T>(u, u, m);
    move(m, norm2 > 1 ? static_cast<T>(1 / std::sqrt(norm2)) : T(1), b, u);
    for (Index l = k + 1; l < U.cols; ++l)
      if (const T a = A(first + k, first + l); a != T(0)) subtract(m, a, u, U.col(l));
  }
}

}  // namespace

template <class T>
void sweep_atoms(const Matrix<T>& A, const Matrix<T>& C, Matrix<T>& B, const Control& control) {
  constexpr Index kGroup = 16, kRows = 128;
  constexpr Index kWorthSharing = Index{1} << 16;  // below it threads take longer to wake than to help
  const Index m = B.rows(), r = B.cols();
  Control shared = control;
  if (m * r < kWorthSharing) shared.threads = 1;
  Matrix<T> now(m, std::min(kGroup, r)), next(now);
  const auto columns = [&](Matrix<T>& U, Index first) { return U.view().columns(0, std::min(kGroup, r - first)); };
  // U -= B A for the group from `first` on, by way of the atoms [from, end) and some rows
  const auto subtract_product = [&](Index first, Index from, Index end, Index top, Index rows, MatrixView<T> U) {
    if (from < end)
      gemm<T>(Op::plain, Op::plain, -1, B.view().block(top, from, rows, end - from),
              A.view().block(from, first, end - from, U.cols), 1, U.block(top, 0, rows, U.cols));
  };
  // While the atoms of one group move, one after the other, the next group's product with all other atoms is made.
  for (Index first = -kGroup; first < r; first += kGroup) {
    const Index then = first + kGroup;
    parallel_blocks(1 + block_count(m, kRows), shared, [&](Index task, int) {
      if (task == 0) {
        if (first >= 0) sweep_group(A, first, B, columns(now, first));
        return;
      }
      if (then >= r) return;
      const Index top = (task - 1) * kRows, rows = block_length(m, task - 1, kRows);
      const MatrixView<T> U = columns(next, then);
      for (Index k = 0; k < U.cols; ++k) std::copy_n(C.col(then + k) + top, rows, U.col(k) + top);
      subtract_product(then, 0, std::max<Index>(first, 0), top, rows, U);
      subtract_product(then, then, r, top, rows, U);
    });
    if (control.stop()) return;  // the atoms swept so far are a valid dictionary
    if (then >= r) return;
    if (first >= 0) subtract_product(then, first, then, 0, m, columns(next, then));
    std::swap(now, next);
  }
}

template void sweep_atoms(const Matrix<float>&, const Matrix<float>&, Matrix<float>&, const Control&);
template void sweep_atoms(const Matrix<double>&, const Matrix<double>&, Matrix<double>&, const Control&);

}  // namespace pacewise

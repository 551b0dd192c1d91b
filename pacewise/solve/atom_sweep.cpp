#include "pacewise/solve/atom_sweep.hpp"

#include <cmath>

#include "pacewise/algebra/dense.hpp"
#include "pacewise/algebra/simd.hpp"
#include "pacewise/algebra/sums.hpp"

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

}  // namespace

template <class T>
void sweep_atoms(const Matrix<T>& A, const Matrix<T>& C, Matrix<T>& B, const Control& control) {
  constexpr Index kGroup = 16, kRows = 256;
  constexpr Index kWorthSharing = Index{1} << 19;  // below it threads take longer to wake than to help
  const Index m = B.rows(), r = B.cols();
  Matrix<T> U(m, std::min(kGroup, r));
  Control control_of_products = control;
  if (m * r < kWorthSharing) control_of_products.threads = 1;
  for (Index first = 0; first < r; first += kGroup) {
    const Index g = std::min(kGroup, r - first);
    // U = C - B A for a group of atoms in one product; within the group it is kept up to date below.
    parallel_blocks(block_count(m, kRows), control_of_products, [&](Index block, int) {
      const Index from = block * kRows, rows = block_length(m, block, kRows);
      for (Index k = 0; k < g; ++k) std::copy_n(C.col(first + k) + from, rows, U.col(k) + from);
      gemm<T>(Op::plain, Op::plain, -1, B.view().block(from, 0, rows, r), A.view().columns(first, g), 1,
              U.view().block(from, 0, rows, g));
    });
    if (control.stop()) return;  // the atoms swept so far are a valid dictionary
    for (Index k = 0; k < g; ++k) {
      const T curvature = A(first + k, first + k);
      if (!(curvature > T(0))) continue;
      T* b = B.col(first + k);
      T* u = U.col(k);  // becomes the move of b
      leave(m, curvature, b, u);
      const double norm2 = inner_product<T>(u, u, m);
      move(m, norm2 > 1 ? static_cast<T>(1 / std::sqrt(norm2)) : T(1), b, u);
      for (Index l = k + 1; l < g; ++l)
        if (const T a = A(first + k, first + l); a != T(0)) subtract(m, a, u, U.col(l));
    }
  }
}

template void sweep_atoms(const Matrix<float>&, const Matrix<float>&, Matrix<float>&, const Control&);
template void sweep_atoms(const Matrix<double>&, const Matrix<double>&, Matrix<double>&, const Control&);

}  // namespace pacewise

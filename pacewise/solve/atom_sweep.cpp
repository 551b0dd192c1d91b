#include "pacewise/solve/atom_sweep.hpp"

#include <cmath>

#include "pacewise/algebra/dense.hpp"

namespace pacewise {

template <class T>
void sweep_atoms(const Matrix<T>& A, const Matrix<T>& C, Matrix<T>& B, const Control& control) {
  constexpr Index kGroup = 16, kRows = 256;
  const Index m = B.rows(), r = B.cols();
  Matrix<T> U(m, std::min(kGroup, r));
  for (Index first = 0; first < r; first += kGroup) {
    const Index g = std::min(kGroup, r - first);
    // U = C - B A for a group of atoms in one product; within the group it is kept up to date below.
    parallel_blocks(block_count(m, kRows), control, [&](Index block, int) {
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
      double norm2 = 0;
      for (Index i = 0; i < m; ++i) {
        u[i] = b[i] + u[i] / curvature;
        norm2 += static_cast<double>(u[i]) * static_cast<double>(u[i]);
      }
      const T shrink = norm2 > 1 ? static_cast<T>(1 / std::sqrt(norm2)) : T(1);
      for (Index i = 0; i < m; ++i) {
        const T moved = shrink * u[i];
        u[i] = moved - b[i];
        b[i] = moved;
      }
      for (Index l = k + 1; l < g; ++l) {
        const T a = A(first + k, first + l);
        if (a == T(0)) continue;
        T* later = U.col(l);
        for (Index i = 0; i < m; ++i) later[i] -= a * u[i];
      }
    }
  }
}

template void sweep_atoms(const Matrix<float>&, const Matrix<float>&, Matrix<float>&, const Control&);
template void sweep_atoms(const Matrix<double>&, const Matrix<double>&, Matrix<double>&, const Control&);

}  // namespace pacewise

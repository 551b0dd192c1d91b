#include "solve/residual.hpp"

#include "algebra/simd.hpp"

namespace pacewise {
namespace {

constexpr Index kTogether = 4;  // atoms subtracted in one pass over the sample

template <class T>
[[gnu::always_inline]] inline void subtract_atoms_of(MatrixView<const T> B, const T* s, T* x) {
  const Index m = B.rows, r = B.cols;
  const T* atom[kTogether];
  T by[kTogether];
  Index found = 0;
  for (Index k = 0; k < r; ++k) {
    if (s[k] == T(0)) continue;
    atom[found] = B.col(k);
    by[found] = s[k];
    if (++found < kTogether) continue;
    for (Index i = 0; i < m; ++i)
      x[i] -= (atom[0][i] * by[0] + atom[1][i] * by[1]) + (atom[2][i] * by[2] + atom[3][i] * by[3]);
    found = 0;
  }
  for (Index f = 0; f < found; ++f)
    for (Index i = 0; i < m; ++i) x[i] -= atom[f][i] * by[f];
}

PACEWISE_WIDE_VECTORS
void subtract_atoms(MatrixView<const double> B, const double* s, double* x) { subtract_atoms_of(B, s, x); }
PACEWISE_WIDE_VECTORS
void subtract_atoms(MatrixView<const float> B, const float* s, float* x) { subtract_atoms_of(B, s, x); }

}  // namespace

template <class T>
void subtract_model(MatrixView<const T> B, MatrixView<const T> S, MatrixView<T> R) {
  Index used = 0;
  for (Index j = 0; j < S.cols; ++j)
    for (Index k = 0; k < S.rows; ++k) used += S(k, j) != T(0) ? 1 : 0;
  if (4 * used > S.rows * S.cols) {  // a dense product runs four times as fast per operation
    gemm<T>(Op::plain, Op::plain, -1, B, S, 1, R);
    return;
  }
  for (Index j = 0; j < S.cols; ++j) subtract_atoms(B, S.col(j), R.col(j));
}

template void subtract_model<float>(MatrixView<const float>, MatrixView<const float>, MatrixView<float>);
template void subtract_model<double>(MatrixView<const double>, MatrixView<const double>, MatrixView<double>);

}  // namespace pacewise

#include "solve/residual.hpp"

#include "algebra/simd.hpp"

namespace pacewise {
namespace {

/// x -= B s over the nonzeros of s, four atoms in one pass over x
template <class U>
PACEWISE_WIDE_TEMPLATE void subtract_atoms(const U* B, Index stride, Index m, const U* s, const std::int32_t* support,
                                           Index p, U* x) {
  Index at = 0;
  for (; at + 4 <= p; at += 4) {
    const std::int32_t* k = support + at;
    const U *a = B + k[0] * stride, *b = B + k[1] * stride, *c = B + k[2] * stride, *d = B + k[3] * stride;
    const U sa = s[k[0]], sb = s[k[1]], sc = s[k[2]], sd = s[k[3]];
    for (Index i = 0; i < m; ++i) x[i] -= (a[i] * sa + b[i] * sb) + (c[i] * sc + d[i] * sd);
  }
  for (; at < p; ++at) {
    const U* a = B + support[at] * stride;
    const U sa = s[support[at]];
    for (Index i = 0; i < m; ++i) x[i] -= a[i] * sa;
  }
}

}  // namespace

template <class U>
void subtract_product(MatrixView<const U> B, MatrixView<const U> S, MatrixView<U> R) {
  Index nonzeros = 0;
  for (Index j = 0; j < S.cols; ++j) nonzeros += S.rows - std::count(S.col(j), S.col(j) + S.rows, U(0));
  if (static_cast<double>(nonzeros) > Tuning{}.dense_share * static_cast<double>(S.rows * S.cols)) {
    eigen(R).noalias() -= eigen(B) * eigen(S);
    return;
  }
  Vector<std::int32_t> support(S.rows);
  for (Index j = 0; j < S.cols; ++j) {
    Index p = 0;
    for (Index k = 0; k < S.rows; ++k)
      if (S(k, j) != U(0)) support[p++] = static_cast<std::int32_t>(k);
    subtract_atoms(B.data, B.stride, B.rows, S.col(j), support.data(), p, R.col(j));
  }
}

template void subtract_product<float>(MatrixView<const float>, MatrixView<const float>, MatrixView<float>);
template void subtract_product<double>(MatrixView<const double>, MatrixView<const double>, MatrixView<double>);

}  // namespace pacewise

#include <algorithm>
#include <cmath>

#include "algebra/simd.hpp"
#include "solve/codes_model.hpp"

// The Gram matrices A_j of single samples, over the atoms they use.
namespace pacewise {
namespace {

using Lanes = double __attribute__((vector_size(8 * sizeof(double))));
constexpr Index kGroup = 3;  // columns at a time

// Y_t -= sum_e by_te b_e for kGroup columns Y_t of r numbers, over some rows b_e of the dictionary
PACEWISE_WIDE_VECTORS
void subtract_from_columns(MatrixView<const double> rows_of_B, Index r, std::span<const std::int32_t> rows,
                           const double* by, double* const* Y) {
  for (Index first = 0; first < r; first += kRowTile) {
    Lanes sum[kGroup][2] = {};
    for (std::size_t e = 0; e < rows.size(); ++e) {
      const auto* b = reinterpret_cast<const Lanes*>(rows_of_B.col(rows[e]) + first);
      const Lanes low = b[0], high = b[1];
      for (std::size_t t = 0; t < kGroup; ++t) {
        sum[t][0] += low * by[e * kGroup + t];
        sum[t][1] += high * by[e * kGroup + t];
      }
    }
    for (std::size_t t = 0; t < kGroup; ++t)
      for (Index k = first; k < std::min(r, first + kRowTile); ++k) Y[t][k] -= sum[t][(k - first) / 8][(k - first) % 8];
  }
}

template <class T, class U>
PACEWISE_WIDE_TEMPLATE double dot(const T* x, const U* y, Index m) {
  constexpr Index lanes = 128 / static_cast<Index>(sizeof(U));
  U sum[lanes] = {};
  double total = 0;
  Index i = 0;
  for (; i + lanes <= m; i += lanes)
    for (Index t = 0; t < lanes; ++t) sum[t] += static_cast<U>(x[i + t]) * y[i + t];
  for (; i < m; ++i) total += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  for (const U part : sum) total += static_cast<double>(part);
  return total;
}

/// out = w / top
PACEWISE_WIDE_VECTORS
void shares_of(const double* w, double top, Index m, float* out) {
  for (Index i = 0; i < m; ++i) out[i] = static_cast<float>(w[i] / top);
}

constexpr Index kDotRows = 2, kDotColumns = 4;

/// out[a][b] = x_a'y_b, sixteen sums at a time: each number loaded serves four
PACEWISE_WIDE_VECTORS
void dots(const float* const* x, const float* const* y, Index m, float (*out)[kDotColumns]) {
  constexpr Index width = 16;
  using Floats [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] = float;
  Floats sum[kDotRows][kDotColumns] = {};
  Index i = 0;
  for (; i + width <= m; i += width) {
    Floats right[kDotColumns];
    for (Index b = 0; b < kDotColumns; ++b) right[b] = *reinterpret_cast<const Floats*>(y[b] + i);
    for (Index a = 0; a < kDotRows; ++a) {
      const Floats left = *reinterpret_cast<const Floats*>(x[a] + i);
      for (Index b = 0; b < kDotColumns; ++b) sum[a][b] += left * right[b];
    }
  }
  for (Index a = 0; a < kDotRows; ++a)
    for (Index b = 0; b < kDotColumns; ++b) {
      float total = 0;
      for (Index t = 0; t < width; ++t) total += sum[a][b][t];
      for (Index rest = i; rest < m; ++rest) total += x[a][rest] * y[b][rest];
      out[a][b] = total;
    }
}

PACEWISE_WIDE_VECTORS
void product_of(const float* x, const float* y, Index m, float* out) {
  for (Index i = 0; i < m; ++i) out[i] = x[i] * y[i];
}

}  // namespace

template <class T>
void CodesModel<T>::columns(Index j, const std::int32_t* atoms, Index count, MatrixView<double> A,
                            Scratch& scratch) const {
  const Index r = this->atoms();
  const Index sample = place(j);
  const auto rows = mask_->rows(sample);
  const double *lacks = mask_->lacks(sample), top = mask_->top(sample);
  double* by = scratch.root.data();  // a third of the rows at most, times kGroup
  for (Index first = 0; first < count; first += kGroup) {
    double* Y[kGroup];
    for (Index t = 0; t < kGroup; ++t) {
      const Index k = atoms[std::min(first + t, count - 1)];
      Y[t] = A.col(k);
      if (first + t >= count) continue;
      for (Index i = 0; i < r; ++i)
        Y[t][i] = top * forms_->gram(i, k) + (forms_->consistency.empty() ? 0.0 : forms_->consistency(i, k));
    }
    for (std::size_t e = 0; e < rows.size(); ++e)
      for (Index t = 0; t < kGroup; ++t)
        by[e * kGroup + static_cast<std::size_t>(t)] =
            first + t < count ? lacks[e] * forms_->rows_of_B(atoms[first + t], rows[e]) : 0.0;
    subtract_from_columns(forms_->rows_of_B, r, rows, by, Y);
  }
}

template <class T>
void CodesModel<T>::gram_of_few_rows(Index j, const std::int32_t* atoms, Index size, MatrixView<double> gram,
                                     Scratch& scratch) const {
  const auto rows = mask_->rows(place(j));
  const double *lacks = mask_->lacks(place(j)), top = mask_->top(place(j));
  const auto few = static_cast<Index>(rows.size());
  const MatrixView<double> rooted(scratch.weighted.data(), few, size, features());
  for (Index e = 0; e < few; ++e) scratch.root[static_cast<std::size_t>(e)] = std::sqrt(lacks[e]);
  for (Index a = 0; a < size; ++a) {
    const T* atom = problem_.B.col(atoms[a]);
    for (Index e = 0; e < few; ++e)
      rooted(e, a) =
          scratch.root[static_cast<std::size_t>(e)] * static_cast<double>(atom[rows[static_cast<std::size_t>(e)]]);
  }
  for (Index b = 0; b < size; ++b)
    for (Index a = 0; a < size; ++a) gram(a, b) = top * forms_->gram(atoms[a], atoms[b]);
  if (few > 0) pacewise::gram<double>(Op::transposed, -1, rooted, 1, gram);
}

template <class T>
void CodesModel<T>::gram_of_all_rows(Index j, const std::int32_t* atoms, Index old, Index size, MatrixView<double> gram,
                                     Scratch& scratch) const {
  const Index m = features();
  if (old == 0) {  // (D^1/2 B_W)'(D^1/2 B_W): one copy of the atoms, half the operations
    const auto rooted = scratch.weighted.view().columns(0, size);
    for (Index i = 0; i < m; ++i)
      scratch.root[static_cast<std::size_t>(i)] = std::sqrt(static_cast<double>(problem_.weights(i, place(j))));
    for (Index a = 0; a < size; ++a)
      for (Index i = 0; i < m; ++i)
        rooted(i, a) = scratch.root[static_cast<std::size_t>(i)] * static_cast<double>(problem_.B(i, atoms[a]));
    pacewise::gram<double>(Op::transposed, 1, rooted, 0, gram);
    return;
  }
  double* weighted = scratch.weighted.col(0);
  for (Index b = old; b < size; ++b) {
    std::copy_n(problem_.B.col(atoms[b]), m, weighted);
    weigh(problem_.weights, place(j), MatrixView<double>(weighted, m, 1));
    for (Index a = 0; a <= b; ++a) gram(a, b) = gram(b, a) = dot(problem_.B.col(atoms[a]), weighted, m);
  }
}

template <class T>
void CodesModel<T>::extend_gram(Index j, const std::int32_t* atoms, Index old, Index size, MatrixView<double> gram,
                                Scratch& scratch) const {
  if (shared()) {
    const double w = omega(j);
    for (Index b = old; b < size; ++b)
      for (Index a = 0; a <= b; ++a) gram(a, b) = gram(b, a) = w * forms_->gram(atoms[a], atoms[b]);
  } else if (mask_->few(place(j))) {
    gram_of_few_rows(j, atoms, size, gram, scratch);
    old = 0;  // made anew
  } else {
    gram_of_all_rows(j, atoms, old, size, gram, scratch);
  }
  add_consistency(atoms, old, size, gram);
}

template <class T>
void CodesModel<T>::add_consistency(const std::int32_t* atoms, Index old, Index size, MatrixView<double> gram) const {
  if (forms_->consistency.empty()) return;
  for (Index b = old; b < size; ++b)
    for (Index a = 0; a <= b; ++a) {
      gram(a, b) += forms_->consistency(atoms[a], atoms[b]);
      gram(b, a) = gram(a, b);
    }
}

template <class T>
bool CodesModel<T>::rough_gram(Index j, const std::int32_t* atoms, Index old, Index size, MatrixView<double> gram,
                               Scratch& scratch) const {
  const double top = mask_->top(place(j));
  if (forms_->narrow.empty() || mask_->few(place(j)) || !(top > 0)) {
    extend_gram(j, atoms, old, size, gram, scratch);
    return false;
  }
  const Index m = features();
  std::fill_n(scratch.root.data(), m, 1.0);
  weigh(problem_.weights, place(j), MatrixView<double>(scratch.root.data(), m, 1));
  float* share = scratch.narrow_weights.data();  // at most 1: no overflow
  shares_of(scratch.root.data(), top, m, share);
  for (Index a = old; a < size; ++a) product_of(share, forms_->narrow.col(atoms[a]), m, scratch.narrow.col(a));
  for (Index b = old; b < size; b += kDotColumns) {
    const Index end = std::min(b + kDotColumns, size);
    const float *x[kDotRows], *y[kDotColumns];
    for (Index t = 0; t < kDotColumns; ++t) y[t] = scratch.narrow.col(std::min(b + t, end - 1));
    for (Index a = 0; a < end; a += kDotRows) {
      for (Index t = 0; t < kDotRows; ++t) x[t] = forms_->narrow.col(atoms[std::min(a + t, end - 1)]);
      float sums[kDotRows][kDotColumns];
      dots(x, y, m, sums);
      for (Index s = a; s < std::min(a + kDotRows, end); ++s)
        for (Index t = b; t < end; ++t) gram(s, t) = gram(t, s) = top * static_cast<double>(sums[s - a][t - b]);
    }
  }
  add_consistency(atoms, old, size, gram);
  return true;
}

#define PACEWISE_INSTANTIATE(T)                                                                                    \
  template void CodesModel<T>::columns(Index, const std::int32_t*, Index, MatrixView<double>, Scratch&) const;     \
  template void CodesModel<T>::extend_gram(Index, const std::int32_t*, Index, Index, MatrixView<double>, Scratch&) \
      const;                                                                                                       \
  template bool CodesModel<T>::rough_gram(Index, const std::int32_t*, Index, Index, MatrixView<double>, Scratch&) const;
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

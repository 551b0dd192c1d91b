#pragma once
#include <algorithm>

#include "solve/codes.hpp"

namespace pacewise {

/// Q-step: min_Q |H - Q S|_F^2 + eta |Q|_F^2, solved by Q = H S' (S S' + eta)^-1. eta > 0. Q becomes e x r.
/// The certificate is the normal equations' residual, max |Q (S S' + eta) - H S'| / max |H S'|.
template <class T>
StepReport solve_consistency(const Sparse& incidence, MatrixView<const T> S, double eta, Matrix<T>& Q,
                             const Control& control);

template <class T>
double consistency_certificate(const Sparse& incidence, MatrixView<const T> S, double eta, const Matrix<T>& Q,
                               const Control& control);

/// y = S h_e for hyperedge e: column e of the transposed incidence lists its samples
template <class T>
void edge_sum(const Sparse& edges, MatrixView<const T> S, Index e, double* y) {
  std::fill_n(y, S.rows, 0.0);
  for (Index at = edges.start[static_cast<std::size_t>(e)]; at < edges.start[static_cast<std::size_t>(e + 1)]; ++at) {
    const T* s = S.col(edges.index[static_cast<std::size_t>(at)]);
    const double h = edges.value[static_cast<std::size_t>(at)];
    for (Index k = 0; k < S.rows; ++k) y[k] += h * static_cast<double>(s[k]);
  }
}

/// Some rows of Q, those from `first` on, a column each
template <class T>
void rows_of(const Matrix<T>& Q, Index first, MatrixView<double> rows) {
  for (Index k = 0; k < rows.rows; ++k)
    for (Index at = 0; at < rows.cols; ++at) rows(k, at) = static_cast<double>(Q(first + at, k));
}

}  // namespace pacewise

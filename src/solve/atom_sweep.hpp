#pragma once
#include "algebra/parallel.hpp"

namespace pacewise {

/// One sweep of exact minimisation over single atoms:  for every k with A_kk > 0
///   b_k <- argmin  tr(B' B A) - 2 tr(B' C)   subject to |b_k|_2 <= 1,  the other atoms fixed,
/// which lowers the fit |X - B S|^2 where A = S S' (r x r) and C = X S' (m x r). For a single atom the curvature is
/// uniform, A_kk, so projecting the unconstrained solution on the ball is exact.
template <class T>
void sweep_atoms(const Matrix<T>& A, const Matrix<T>& C, Matrix<T>& B, const Control& control);

}  // namespace pacewise

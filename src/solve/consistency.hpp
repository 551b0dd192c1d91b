#pragma once
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

}  // namespace pacewise

#pragma once
#include <Eigen/Cholesky>

#include "solve/codes.hpp"
#include "solve/residual.hpp"

namespace pacewise {

/// Q-step:  min_Q  |H - Q S|_F^2 + eta |Q|_F^2,  Q = H S' (S S' + eta)^-1, which needs S S' of all samples and, for the
/// rows of Q of some hyperedges, the codes of their samples alone. `ridged` is S S' + eta; a column of `edges` = H'
/// lists the samples of a hyperedge; Qt is Q', r x e. Products in the precision U.
template <class U, class T>
void solve_consistency_rows(const Sparse& edges, MatrixView<const T> S, const EigenMatrix<double>& ridged,
                            Matrix<T>& Qt, const Control& control);
/// |Q (S S' + eta) - H S'| and |H S'|, the largest of each
template <class T>
Largest consistency_gap(const Sparse& edges, MatrixView<const T> S, const EigenMatrix<double>& ridged,
                        MatrixView<const T> Qt, const Control& control);

/// The step for all hyperedges; Q (e x r) needs no start.
template <class T>
StepReport solve_consistency(const Sparse& incidence, MatrixView<const T> S, double eta, Matrix<T>& Q,
                             const Control& control);

}  // namespace pacewise

#include "solve/consistency.hpp"

#include <cmath>

#include "algebra/sums.hpp"
#include "solve/code_terms.hpp"

namespace pacewise {
namespace {

/// S h_e of the hyperedges from `first` on, r x count
template <class U, class T>
EigenMatrix<U> edge_sums(const Sparse& edges, MatrixView<const T> S, Index first, Index count) {
  EigenMatrix<U> Y = EigenMatrix<U>::Zero(S.rows, count);
  for (Index at = 0; at < count; ++at)
    for (Index p = edges.start[first + at]; p < edges.start[first + at + 1]; ++p)
      add_scaled(Y.col(at).data(), S.col(edges.index[p]), static_cast<U>(edges.value[p]), S.rows);
  return Y;
}

}  // namespace

template <class U, class T>
void solve_consistency_rows(const Sparse& edges, MatrixView<const T> S, const EigenMatrix<double>& ridged,
                            Matrix<T>& Qt, const Control& control) {
  const SerialBlas serial;
  const Eigen::LLT<EigenMatrix<double>> factor(ridged);
  if (factor.info() != Eigen::Success) throw Error("consistency step: codes are not finite");
  if (std::is_same_v<U, float> && factor.rcond() < 1e-4)  // too much for float
    return solve_consistency_rows<double>(edges, S, ridged, Qt, control);
  if (Qt.rows() != S.rows || Qt.cols() != edges.cols) Qt.resize_for_overwrite(S.rows, edges.cols);
  const EigenMatrix<U> inverse = factor.solve(EigenMatrix<double>::Identity(S.rows, S.rows)).template cast<U>();
  parallel_for(edges.cols, control, [&](Index first, Index count, int) {
    EigenMatrix<U> Y = edge_sums<U>(edges, S, first, count);
    if constexpr (std::is_same_v<U, double>)
      factor.solveInPlace(Y);
    else
      Y = (inverse * Y).eval();
    eigen(Qt.view().columns(first, count)) = Y.template cast<T>();
  });
}

template <class T>
Largest consistency_gap(const Sparse& edges, MatrixView<const T> S, const EigenMatrix<double>& ridged,
                        MatrixView<const T> Qt, const Control& control) {
  const SerialBlas serial;
  return parallel_sum(edges.cols, control, Largest{}, [&](Index first, Index count, int, Largest& most) {
    const EigenMatrix<double> Y = edge_sums<double>(edges, S, first, count);
    const EigenMatrix<double> q = eigen(Qt.columns(first, count)).template cast<double>();
    most += {(ridged * q - Y).cwiseAbs().maxCoeff(), Y.cwiseAbs().maxCoeff()};
  });
}

template <class T>
StepReport solve_consistency(const Sparse& incidence, MatrixView<const T> S, double eta, Matrix<T>& Q,
                             const Control& control) {
  const Sparse edges = transpose(incidence);
  EigenMatrix<double> ridged = sum_of_outer_products<T>(S, control);
  ridged.diagonal().array() += eta;
  Matrix<T> Qt;
  solve_consistency_rows<double>(edges, S, ridged, Qt, control);
  Q = transposed<T>(Qt, control);
  return {consistency_gap<T>(edges, S, ridged, Qt, control).relative(), 1, true};
}

#define PACEWISE_INSTANTIATE(T)                                                                                     \
  template StepReport solve_consistency<T>(const Sparse&, MatrixView<const T>, double, Matrix<T>&, const Control&); \
  template void solve_consistency_rows<float, T>(const Sparse&, MatrixView<const T>, const EigenMatrix<double>&,    \
                                                 Matrix<T>&, const Control&);                                       \
  template void solve_consistency_rows<double, T>(const Sparse&, MatrixView<const T>, const EigenMatrix<double>&,   \
                                                  Matrix<T>&, const Control&);                                      \
  template Largest consistency_gap<T>(const Sparse&, MatrixView<const T>, const EigenMatrix<double>&,               \
                                      MatrixView<const T>, const Control&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

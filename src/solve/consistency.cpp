#include "solve/consistency.hpp"

#include <Eigen/Cholesky>
#include <cmath>

#include "solve/code_terms.hpp"
#include "solve/residual.hpp"

namespace pacewise {
namespace {

template <class T>
void require(const Sparse& H, MatrixView<const T> S, double eta) {
  if (H.cols != S.cols)
    throw Error("columns of the incidence = " + std::to_string(H.cols) +
                ": must equal the number of samples = " + std::to_string(S.cols));
  if (!(eta > 0) || !std::isfinite(eta))
    throw Error("eta = " + std::to_string(eta) + ": must be > 0 (without a ridge the map is not unique)");
}

/// S S' + eta, r x r
template <class T>
EigenMatrix<double> ridge_gram(MatrixView<const T> S, double eta, const Control& control) {
  EigenMatrix<double> G = eigen(sum_of_outer_products(S, control));
  G.diagonal().array() += eta;
  return G;
}

/// S h_e of the hyperedges from `first` on, r x count; column e of `edges` = H' lists the samples of e
template <class T>
EigenMatrix<double> edge_sums(const Sparse& edges, MatrixView<const T> S, Index first, Index count) {
  EigenMatrix<double> Y = EigenMatrix<double>::Zero(S.rows, count);
  for (Index at = 0; at < count; ++at)
    for (Index p = edges.start[first + at]; p < edges.start[first + at + 1]; ++p)
      Y.col(at) += edges.value[p] * eigen(S).col(edges.index[p]).template cast<double>();
  return Y;
}

/// max |Q (S S' + eta) - H S'| / max |H S'|
template <class T>
double residual(const Sparse& edges, MatrixView<const T> S, const EigenMatrix<double>& G, const Matrix<T>& Q,
                const Control& control) {
  const Largest all = parallel_sum(edges.cols, control, Largest{}, [&](Index first, Index count, int, Largest& most) {
    const EigenMatrix<double> Y = edge_sums(edges, S, first, count);
    const EigenMatrix<double> q = eigen(Q).middleRows(first, count).transpose().template cast<double>();
    most += {(G * q - Y).cwiseAbs().maxCoeff(), Y.cwiseAbs().maxCoeff()};
  });
  return all.relative();
}

}  // namespace

template <class T>
StepReport solve_consistency(const Sparse& incidence, MatrixView<const T> S, double eta, Matrix<T>& Q,
                             const Control& control) {
  require(incidence, S, eta);
  const SerialBlas serial;
  const Sparse edges = transpose(incidence);
  const EigenMatrix<double> G = ridge_gram(S, eta, control);
  const Eigen::LLT<EigenMatrix<double>> factor(G);
  if (factor.info() != Eigen::Success) throw Error("consistency step: codes are not finite");
  Q.resize(incidence.rows, S.rows);
  parallel_for(incidence.rows, control, [&](Index first, Index count, int) {
    EigenMatrix<double> Y = edge_sums(edges, S, first, count);
    factor.solveInPlace(Y);
    eigen(Q).middleRows(first, count) = Y.transpose().template cast<T>();
  });
  return {residual(edges, S, G, Q, control), 1, true};
}

template <class T>
double consistency_certificate(const Sparse& incidence, MatrixView<const T> S, double eta, const Matrix<T>& Q,
                               const Control& control) {
  require(incidence, S, eta);
  const SerialBlas serial;
  return residual(transpose(incidence), S, ridge_gram(S, eta, control), Q, control);
}

#define PACEWISE_INSTANTIATE(T)                                                                                     \
  template StepReport solve_consistency<T>(const Sparse&, MatrixView<const T>, double, Matrix<T>&, const Control&); \
  template double consistency_certificate<T>(const Sparse&, MatrixView<const T>, double, const Matrix<T>&,          \
                                             const Control&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

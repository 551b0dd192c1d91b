#include "solve/consistency.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>

#include "algebra/dense.hpp"
#include "algebra/sums.hpp"
#include "solve/code_terms.hpp"

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
Matrix<double> ridge_gram(MatrixView<const T> S, double eta, const Control& control) {
  Matrix<double> G = sum_of_outer_products(S, control);
  for (Index k = 0; k < S.rows; ++k) G(k, k) += eta;
  return G;
}

template <class T>
double residual(const Sparse& edges, MatrixView<const T> S, const Matrix<double>& G, const Matrix<T>& Q,
                const Control& control) {
  const Index e = edges.cols, r = S.rows;
  const Index blocks = block_count(e);
  std::vector<double> worst(static_cast<std::size_t>(blocks), 0.0), scale(worst);
  const SerialBlas serial;
  struct Edges {
    Matrix<double> q, y;  // some rows of Q and their S h_e, a column each
  };
  std::vector<Edges> workers(static_cast<std::size_t>(thread_count(control)),
                             {Matrix<double>(r, std::min(e, kBlock)), Matrix<double>(r, std::min(e, kBlock))});
  parallel_blocks(blocks, control, [&](Index block, int worker) {
    const Index first = block * kBlock, b = block_length(e, block);
    Edges& w = workers[static_cast<std::size_t>(worker)];
    for (Index at = 0; at < b; ++at) edge_sum(edges, S, first + at, w.y.col(at));
    rows_of(Q, first, w.q.view().columns(0, b));
    scale[static_cast<std::size_t>(block)] = largest_size<double>(w.y.data(), r * b);
    gemm<double>(Op::plain, Op::plain, 1, G, w.q.view().columns(0, b), -1, w.y.view().columns(0, b));
    worst[static_cast<std::size_t>(block)] = largest_size<double>(w.y.data(), r * b);
  });
  double top = 0, gap = 0;
  for (Index block = 0; block < blocks; ++block) {
    top = std::max(top, scale[static_cast<std::size_t>(block)]);
    gap = std::max(gap, worst[static_cast<std::size_t>(block)]);
  }
  return top > 0 ? gap / top : gap;
}

}  // namespace

template <class T>
StepReport solve_consistency(const Sparse& incidence, MatrixView<const T> S, double eta, Matrix<T>& Q,
                             const Control& control) {
  require(incidence, S, eta);
  const SerialBlas serial;
  const Sparse edges = transpose(incidence);
  const Matrix<double> G = ridge_gram(S, eta, control);
  const Eigen::LLT<EigenMatrix<double>> factor(eigen(G));
  if (factor.info() != Eigen::Success) throw Error("consistency step: codes are not finite");
  const Index r = S.rows, e = incidence.rows;
  Q.resize(e, r);
  std::vector<Matrix<double>> scratch(static_cast<std::size_t>(thread_count(control)),
                                      Matrix<double>(r, std::min(e, kBlock)));
  parallel_blocks(block_count(e), control, [&](Index block, int worker) {
    const Index first = block * kBlock, b = block_length(e, block);
    const auto y = scratch[static_cast<std::size_t>(worker)].view().columns(0, b);
    for (Index at = 0; at < b; ++at) edge_sum(edges, S, first + at, y.col(at));
    auto solution = eigen(y);
    factor.solveInPlace(solution);
    for (Index at = 0; at < b; ++at)
      for (Index k = 0; k < r; ++k) Q(first + at, k) = static_cast<T>(y(k, at));
  });
  StepReport report;
  report.rounds = 1;
  report.certificate = residual(edges, S, G, Q, control);
  report.converged = true;
  return report;
}

template <class T>
double consistency_certificate(const Sparse& incidence, MatrixView<const T> S, double eta, const Matrix<T>& Q,
                               const Control& control) {
  require(incidence, S, eta);
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

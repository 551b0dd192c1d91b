#include <Eigen/Eigenvalues>
#include <cmath>
#include <cstdio>
#include <string>

#include "algebra/eigen.hpp"
#include "algebra/random.hpp"
#include "graph/graph.hpp"

namespace pacewise {
namespace {

std::string figure(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

/// x^-1/2, and 0 where x = 0
Eigen::VectorXd inverse_roots(const Eigen::VectorXd& x) {
  return x.unaryExpr([](double v) { return v > 0 ? 1 / std::sqrt(v) : 0; });
}

Eigen::VectorXd ones_where_positive(const Eigen::VectorXd& x) {
  return x.unaryExpr([](double v) { return v > 0 ? 1.0 : 0.0; });
}

/// diag(d) - a
Sparse subtract_from_diagonal(const Eigen::VectorXd& d, const EigenSparse& a) {
  return from_eigen(EigenSparse(EigenSparse(d.asDiagonal()) - a));
}

/// a_ij *= l_i r_j; the product of the two first: with l = r a symmetric matrix stays symmetric to the last bit
void scale(EigenSparse& a, const Eigen::VectorXd& l, const Eigen::VectorXd& r) {
  for (Index j = 0; j < a.cols(); ++j)
    for (EigenSparse::InnerIterator entry(a, j); entry; ++entry) entry.valueRef() *= l[entry.row()] * r[j];
}

/// Smallest Ritz value of a Lanczos run with full reorthogonalisation: never below the smallest eigenvalue, so a
/// negative one proves that the matrix is not positive semidefinite. `bound` >= every |eigenvalue|.
double smallest_ritz_value(const EigenSparse& a, double bound) {
  const Index n = a.rows(), steps = std::min<Index>(n, 100);
  Eigen::MatrixXd Q(n, steps);  // A Q = Q T + a rest, T tridiagonal
  Eigen::VectorXd diagonal(steps), off_diagonal(steps), w(n);
  Random random(1);
  for (double& x : w) x = random.normal();
  for (Index k = 0;; ++k) {
    Q.col(k) = w.normalized();
    w = a * Q.col(k);
    diagonal[k] = Q.col(k).dot(w);
    double before = 0;  // until little is taken away: what falls much loses its orthogonality to rounding
    do {
      before = w.norm();
      w -= Q.leftCols(k + 1) * (Q.leftCols(k + 1).transpose() * w);
    } while (w.norm() < 0.7 * before && w.norm() > 1e-13 * bound);
    off_diagonal[k] = w.norm();
    if (k + 1 < steps && w.norm() > 1e-13 * bound) continue;
    Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> ritz;
    ritz.computeFromTridiagonal(diagonal.head(k + 1), off_diagonal.head(k), Eigen::EigenvaluesOnly);
    return ritz.eigenvalues().minCoeff();
  }
}

}  // namespace

Sparse hypergraph_laplacian(const Sparse& incidence, const Vector<double>& edge_weight) {
  EigenSparse G = to_eigen(incidence);
  Eigen::VectorXd weight = Eigen::VectorXd::Ones(incidence.rows);
  if (!edge_weight.empty()) weight = eigen(edge_weight);
  const Eigen::VectorXd vertex_degree = G.transpose() * weight, edge_degree = G * Eigen::VectorXd::Ones(G.cols());
  // G = (We / De)^1/2 H Dx^-1/2, L = 1 - G'G: symmetric to the last bit
  scale(G, weight.cwiseSqrt().cwiseProduct(inverse_roots(edge_degree)), inverse_roots(vertex_degree));
  return subtract_from_diagonal(ones_where_positive(vertex_degree), EigenSparse(G.transpose()) * G);
}

Sparse graph_laplacian(const Sparse& affinity, bool normalized) {
  check_symmetric(affinity, "affinity");
  for (Index j = 0; j < affinity.cols; ++j)
    for (Index p = affinity.start[j]; p < affinity.start[j + 1]; ++p)
      if (!(affinity.value[p] >= 0))
        throw Error("affinity: entry (" + std::to_string(affinity.index[p]) + ", " + std::to_string(j) + ") is " +
                    figure(affinity.value[p]) + ", must be non-negative");
  EigenSparse A = to_eigen(affinity);
  const Eigen::VectorXd degree = A * Eigen::VectorXd::Ones(A.cols());
  if (!normalized) return subtract_from_diagonal(degree, A);
  scale(A, inverse_roots(degree), inverse_roots(degree));
  return subtract_from_diagonal(ones_where_positive(degree), A);
}

void check_laplacian(const Sparse& laplacian) {
  check_symmetric(laplacian, "laplacian");
  if (laplacian.empty()) return;
  const EigenSparse L = to_eigen(laplacian);
  const Eigen::VectorXd on = L.diagonal(), sums = L.cwiseAbs() * Eigen::VectorXd::Ones(L.cols());
  const double bound = sums.maxCoeff();  // the largest sum of a row's |entries| bounds every |eigenvalue|
  const double tolerance = 1e-6 * bound;
  for (Index j = 0; j < L.cols(); ++j)
    if (on[j] < -tolerance)
      throw Error("laplacian: diagonal entry " + std::to_string(j) + " is " + figure(on[j]) +
                  ", must be positive semidefinite");
  // diagonal dominance: by Gershgorin no eigenvalue is below this margin
  if (bound == 0 || (on + on.cwiseAbs() - sums).minCoeff() >= -tolerance) return;
  const double smallest = smallest_ritz_value(L, bound);
  if (smallest < -tolerance)
    throw Error("laplacian: has an eigenvalue of at most " + figure(smallest) + ", must be positive semidefinite");
}

}  // namespace pacewise

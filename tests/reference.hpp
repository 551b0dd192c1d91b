// The slow path: the model of the objective written out from raw data, in long double, sharing nothing with the solvers
// but the matrix types. What a solver reports is compared with this.
#pragma once
#include <algorithm>
#include <cmath>

#include "algebra/eigen.hpp"
#include "algebra/random.hpp"
#include "data/problem.hpp"
#include "pacewise/steps.hpp"

namespace reference {

using pacewise::Index;
using pacewise::Matrix;
using pacewise::Sparse;
using real = long double;
using Dense = Eigen::Matrix<real, Eigen::Dynamic, Eigen::Dynamic>;

template <class T>
Dense wide(const Matrix<T>& a) {
  return eigen(a).template cast<real>();
}
inline Dense wide(const Sparse& a) {
  Dense out = Dense::Zero(a.rows, a.cols);
  for (Index j = 0; j < a.cols; ++j)
    for (Index p = a.start[j]; p < a.start[j + 1]; ++p) out(a.index[p], j) += a.value[p];
  return out;
}

/// W multiplied out from the three kinds of weights
template <class T>
Dense wide(const pacewise::Weights<T>& w, Index m, Index n) {
  Dense out = w.entry.empty() ? Dense(Dense::Ones(m, n)) : wide(w.entry);
  for (Index j = 0; j < n && !w.sample.empty(); ++j) out.col(j) *= w.sample[j];
  for (Index i = 0; i < m && !w.feature.empty(); ++i) out.row(i) *= w.feature[i];
  return out;
}

/// Everything an S-, B- or Q-step needs. W is m x n: w v multiplied out.
struct Setting {
  Dense X, W, B, S, L = {}, H = {}, Q = {};
  pacewise::Penalty penalty = {};
  double alpha = 0, gamma = 0, eta = 0;
  bool positive_atoms = false;
};

struct Parts {
  double fit = 0, sparsity = 0, manifold = 0, consistency = 0;
  double total() const { return fit + sparsity + manifold + consistency; }
};

inline Dense residual(const Setting& p) { return p.X - p.B * p.S; }

inline Parts objective(const Setting& p) {
  const auto number = [](real x) { return static_cast<double>(x); };
  Parts out;
  out.fit = number((p.W.array() * residual(p).array().square()).sum());
  for (Index k = 0; k < p.S.rows(); ++k) out.sparsity += p.penalty.of(k) * number(p.S.row(k).cwiseAbs().sum());
  out.sparsity += p.penalty.l2 * number(p.S.squaredNorm());
  if (p.alpha > 0) out.manifold = number(p.alpha * (p.S * p.L).cwiseProduct(p.S).sum());
  if (p.gamma > 0) out.consistency = number(p.gamma * ((p.H - p.Q * p.S).squaredNorm() + p.eta * p.Q.squaredNorm()));
  return out;
}

/// max dist(-g, beta p d|s|) / max |2 B'(W X)|, g the gradient of all the other terms; s >= 0 where asked for
inline double codes_certificate(const Setting& p) {
  Dense g = -2 * p.B.transpose() * p.W.cwiseProduct(residual(p)) + 2 * p.penalty.l2 * p.S;
  if (p.alpha > 0) g += 2 * p.alpha * p.S * p.L;
  if (p.gamma > 0) g += 2 * p.gamma * p.Q.transpose() * (p.Q * p.S - p.H);
  real worst = 0;
  for (Index j = 0; j < g.cols(); ++j)
    for (Index k = 0; k < g.rows(); ++k) {
      const real s = p.S(k, j), slope = g(k, j), b = p.penalty.of(k);
      if (p.penalty.positive && s < 0) return std::numeric_limits<double>::infinity();
      const real pull = p.penalty.positive ? -slope : std::abs(slope);
      worst = std::max(worst, s > 0 ? std::abs(slope + b) : s < 0 ? std::abs(slope - b) : pull - b);
    }
  const real scale = 2 * (p.B.transpose() * p.W.cwiseProduct(p.X)).cwiseAbs().maxCoeff();
  return static_cast<double>(worst / (scale > 0 ? scale : 1));
}

/// max_k |b_k - P(b_k - G_k / c_k)|, c_k = max_i 2 sum_j w_ij s_kj^2, P onto the unit ball (and b >= 0)
inline double dictionary_certificate(const Setting& p) {
  const Dense g = -2 * p.W.cwiseProduct(residual(p)) * p.S.transpose();
  const Dense c = 2 * (p.W * p.S.cwiseAbs2().transpose()).colwise().maxCoeff();
  real worst = 0;
  for (Index k = 0; k < p.B.cols(); ++k) {
    if (c(k) == 0) continue;
    Dense z = p.B.col(k) - g.col(k) / c(k);
    if (p.positive_atoms) z = z.cwiseMax(0);
    worst = std::max(worst, (p.B.col(k) - z / std::max<real>(1, z.norm())).norm());
  }
  return static_cast<double>(worst);
}

/// max |Q (S S' + eta) - H S'| / max |H S'|
inline double consistency_certificate(const Setting& p) {
  const Dense right = p.H * p.S.transpose();
  const real worst = ((p.Q * p.S) * p.S.transpose() + p.eta * p.Q - right).cwiseAbs().maxCoeff();
  const real scale = right.cwiseAbs().maxCoeff();
  return static_cast<double>(scale > 0 ? worst / scale : worst);
}

}  // namespace reference

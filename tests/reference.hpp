// The slow path: the model of the objective written out entry by entry from raw data, in long double, sharing nothing
// with the solvers but the matrix types. What a solver reports is compared with this.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "algebra/random.hpp"
#include "algebra/sparse.hpp"
#include "data/problem.hpp"

namespace reference {

using pacewise::Index;
using pacewise::Matrix;
using pacewise::Sparse;
using real = long double;

inline std::vector<std::vector<real>> dense(const Sparse& a) {
  std::vector<std::vector<real>> out(static_cast<std::size_t>(a.rows),
                                     std::vector<real>(static_cast<std::size_t>(a.cols), 0));
  for (Index j = 0; j < a.cols; ++j)
    for (Index at = a.start[static_cast<std::size_t>(j)]; at < a.start[static_cast<std::size_t>(j + 1)]; ++at)
      out[static_cast<std::size_t>(a.index[static_cast<std::size_t>(at)])][static_cast<std::size_t>(j)] +=
          a.value[static_cast<std::size_t>(at)];
  return out;
}

/// Everything an S-, B- or Q-step needs, in plain matrices. W is m x n: w v multiplied out.
struct Setting {
  Matrix<double> X, W, B, S;
  std::vector<std::vector<real>> L, H;  // empty = absent
  Matrix<double> Q;
  double alpha = 0, beta = 0, gamma = 0, eta = 0;
};

struct Parts {
  real fit = 0, sparsity = 0, manifold = 0, consistency = 0;
};

inline real residual(const Setting& p, Index i, Index j) {
  real r = p.X(i, j);
  for (Index k = 0; k < p.B.cols(); ++k) r -= static_cast<real>(p.B(i, k)) * p.S(k, j);
  return r;
}

inline Parts objective(const Setting& p) {
  Parts out;
  const Index m = p.X.rows(), n = p.X.cols(), r = p.B.cols();
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i)
      if (p.W(i, j) != 0) out.fit += p.W(i, j) * residual(p, i, j) * residual(p, i, j);
  for (Index j = 0; j < n; ++j)
    for (Index k = 0; k < r; ++k) out.sparsity += p.beta * std::abs(static_cast<real>(p.S(k, j)));
  if (p.alpha > 0)
    for (Index j = 0; j < n; ++j)
      for (Index l = 0; l < n; ++l)
        if (p.L[static_cast<std::size_t>(j)][static_cast<std::size_t>(l)] != 0)
          for (Index k = 0; k < r; ++k)
            out.manifold += p.alpha * static_cast<real>(p.S(k, j)) *
                            p.L[static_cast<std::size_t>(j)][static_cast<std::size_t>(l)] * p.S(k, l);
  if (p.gamma > 0) {
    for (std::size_t e = 0; e < p.H.size(); ++e)
      for (Index j = 0; j < n; ++j) {
        real d = p.H[e][static_cast<std::size_t>(j)];
        for (Index k = 0; k < r; ++k) d -= static_cast<real>(p.Q(static_cast<Index>(e), k)) * p.S(k, j);
        out.consistency += p.gamma * d * d;
      }
    for (Index e = 0; e < p.Q.rows(); ++e)
      for (Index k = 0; k < r; ++k) out.consistency += p.gamma * p.eta * static_cast<real>(p.Q(e, k)) * p.Q(e, k);
  }
  return out;
}

/// max dist(-g, beta d|s|) / max |2 B'(W X)|
inline double codes_certificate(const Setting& p) {
  const Index m = p.X.rows(), n = p.X.cols(), r = p.B.cols();
  real worst = 0, scale = 0;
  for (Index j = 0; j < n; ++j) {
    std::vector<real> wr(static_cast<std::size_t>(m)), wx(wr);
    for (Index i = 0; i < m; ++i) {
      wr[static_cast<std::size_t>(i)] = p.W(i, j) == 0 ? 0 : p.W(i, j) * residual(p, i, j);
      wx[static_cast<std::size_t>(i)] = p.W(i, j) == 0 ? 0 : static_cast<real>(p.W(i, j)) * p.X(i, j);
    }
    std::vector<real> consistency;
    if (p.gamma > 0)
      for (std::size_t e = 0; e < p.H.size(); ++e) {
        real d = -p.H[e][static_cast<std::size_t>(j)];
        for (Index k = 0; k < r; ++k) d += static_cast<real>(p.Q(static_cast<Index>(e), k)) * p.S(k, j);
        consistency.push_back(d);
      }
    for (Index k = 0; k < r; ++k) {
      real g = 0, q = 0;
      for (Index i = 0; i < m; ++i) {
        g -= 2 * p.B(i, k) * wr[static_cast<std::size_t>(i)];
        q += 2 * p.B(i, k) * wx[static_cast<std::size_t>(i)];
      }
      if (p.alpha > 0)
        for (Index l = 0; l < n; ++l)
          g += 2 * p.alpha * p.L[static_cast<std::size_t>(l)][static_cast<std::size_t>(j)] * p.S(k, l);
      for (std::size_t e = 0; e < consistency.size(); ++e)
        g += 2 * p.gamma * p.Q(static_cast<Index>(e), k) * consistency[e];
      const real s = p.S(k, j);
      real d = 0;
      if (s != 0)
        d = std::abs(g + (s > 0 ? p.beta : -p.beta));
      else
        d = std::max<real>(0, std::abs(g) - p.beta);
      worst = std::max(worst, d);
      scale = std::max(scale, std::abs(q));
    }
  }
  return static_cast<double>(worst / (scale > 0 ? scale : 1));
}

/// max_k |b_k - P(b_k - G_k / c_k)|
inline double dictionary_certificate(const Setting& p) {
  const Index m = p.X.rows(), n = p.X.cols(), r = p.B.cols();
  Matrix<double> WR(m, n);
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i) WR(i, j) = p.W(i, j) == 0 ? 0 : static_cast<double>(p.W(i, j) * residual(p, i, j));
  double worst = 0;
  for (Index k = 0; k < r; ++k) {
    real c = 0;
    std::vector<real> g(static_cast<std::size_t>(m), 0);
    for (Index i = 0; i < m; ++i) {
      real a = 0;
      for (Index j = 0; j < n; ++j) {
        const real s = p.S(k, j);
        a += p.W(i, j) * s * s;
        if (s != 0 && p.W(i, j) != 0) g[static_cast<std::size_t>(i)] -= 2 * p.W(i, j) * residual(p, i, j) * s;
      }
      c = std::max(c, 2 * a);
    }
    if (c == 0) continue;
    real norm = 0, gap = 0;
    for (Index i = 0; i < m; ++i) {
      const real z = p.B(i, k) - g[static_cast<std::size_t>(i)] / c;
      norm += z * z;
    }
    const real shrink = norm > 1 ? 1 / std::sqrt(norm) : 1;
    for (Index i = 0; i < m; ++i) {
      const real z = p.B(i, k) - shrink * (p.B(i, k) - g[static_cast<std::size_t>(i)] / c);
      gap += z * z;
    }
    worst = std::max(worst, static_cast<double>(std::sqrt(gap)));
  }
  return worst;
}

/// W multiplied out from the solver's three kinds of weights
template <class T>
Matrix<double> expand(const pacewise::Weights<T>& w, Index m, Index n) {
  Matrix<double> out(m, n);
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i) {
      double v = 1;
      if (!w.sample.empty()) v *= static_cast<double>(w.sample[static_cast<std::size_t>(j)]);
      if (!w.feature.empty()) v *= static_cast<double>(w.feature[static_cast<std::size_t>(i)]);
      if (!w.entry.empty()) v *= static_cast<double>(w.entry(i, j));
      out(i, j) = v;
    }
  return out;
}

template <class T>
Matrix<double> widen(const Matrix<T>& a) {
  return pacewise::cast<double>(a.view());
}

}  // namespace reference

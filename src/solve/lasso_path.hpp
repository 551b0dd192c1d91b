#pragma once
#include <functional>
#include <span>

#include "algebra/eigen.hpp"
#include "pacewise/tuning.hpp"

namespace pacewise {

/// min_s  s'A s - 2 c's + sum_k p_k |s_k|,  s >= 0 where `positive`.  A is r x r, symmetric, positive semidefinite.
struct Lasso {
  MatrixView<const double> A;
  const double* c = nullptr;        // r
  const double* penalty = nullptr;  // p, r numbers >= 0
  bool positive = false;
  double tol = 0;  // on the KKT residual, in the units of the gradient
  /// Where set, A is room for r x r numbers, and this makes the columns of these atoms before they are looked at
  std::function<void(std::span<const std::int32_t> atoms)> columns = {};
};

/// dist(-g, p d|s|) for one coordinate with gradient g; with s >= 0 the normal cone of the constraint counts too.
inline double kkt_distance(double g, double s, double p, bool positive = false) {
  if (s > 0) return std::abs(g + p);
  if (s < 0) return std::abs(g - p);
  return std::max(0.0, (positive ? -g : std::abs(g)) - p);
}

/// The homotopy method. On a support P with signs sigma the solution at penalties t p is linear in t,
///   s_P(t) = z - t/2 y,   z = K c_P,   y = K (sigma o p)_P,   K = A_PP^-1,
/// and so is the gradient: 2 (A s - c) = -(2 a + t q),  a = c - A_:P z,  q = A_:P y.
/// t falls from the value at which the first atom joins to 1, in strides past several joining atoms at a time; atoms
/// whose sign turned wrong leave. A start s != 0 begins at t = 1 with its support. K grows and shrinks by rank-one
/// updates. Where strides make no progress, or atoms depend on one another, coordinate descent with Newton steps on
/// the support does the rest.
class LassoPath {
 public:
  explicit LassoPath(Index largest, const Tuning& tuning = {});

  /// s: start and result. The KKT residual it ends with.
  double solve(const Lasso& problem, double* s);

  /// How far the gradient without the penalty pulls atom k, at the solution: |2 (c - A s)_k|, or with its sign where
  /// s >= 0; at most p_k for an atom outside the support
  double pull(Index k) const;

  /// Orthogonal matching pursuit: atoms join greedily, the largest |a_k| / sqrt(a_kk) first, until there are `nonzeros`
  /// of them or |x - B s|^2 = xx - c's <= target. s is the result alone.
  void pursue(const Lasso& problem, double xx, Index nonzeros, double target, double* s);

 private:
  void clear();
  void need_columns(Index count);
  void need_all_columns();
  bool join(Index k, double sign);
  void leave(Index at);
  void solve_support();  // z, y from K
  void correlations();   // a, q from z, y; refines z and y where K has lost digits
  bool drop_wrong(double t);
  double next_penalty(double t, Index count);
  double descend(double* s);
  void newton_on_support(Eigen::Ref<Eigen::VectorXd> x, Eigen::VectorXd& u);
  double value(const double* s);

  Tuning tuning_;
  const Lasso* problem_ = nullptr;  // while it is solved
  bool positive_ = false;
  Index r_ = 0, p_ = 0, joiners_ = 0;
  Matrix<double> K_;
  Vector<std::int32_t> support_, joining_;
  Vector<char> in_, there_;
  Vector<double> sign_, z_, y_, a_, q_, u_, x_, at_;
};

}  // namespace pacewise

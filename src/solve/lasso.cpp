#include "solve/lasso.hpp"

#include <algorithm>
#include <cmath>

#include "algebra/dense.hpp"

namespace pacewise {

LassoScratch::LassoScratch(Index size) : factor(size, size) {
  const auto n = static_cast<std::size_t>(size);
  for (auto* v : {&u, &step, &delta}) v->assign(n, 0.0);
  support.reserve(n);
}

namespace {

double soft(double x, double threshold) {
  if (x > threshold) return x - threshold;
  if (x < -threshold) return x + threshold;
  return 0;
}

class Lasso {
 public:
  Lasso(MatrixView<const double> A, const double* c, double beta, double ridge, double* s, LassoScratch& w)
      : A_(A), c_(c), beta_(beta), ridge_(ridge), s_(s), w_(w), n_(A.rows) {}

  void solve(double tol) {
    constexpr int max_passes = 200;
    refresh();
    double before = residual();
    for (int pass = 0; pass < max_passes && before > tol; ++pass) {
      if (beta_ > 0) descend();
      newton();
      refresh();  // u drifts by rounding in the updates
      const double now = residual();
      // Once rounding is reached no pass helps; a slow pass (a support still changing) is not that.
      if (now >= before && pass > 20 && now <= 1e3 * tol) break;
      before = now;
    }
  }

 private:
  // u = A s
  void refresh() {
    std::fill_n(w_.u.data(), n_, 0.0);
    for (Index k = 0; k < n_; ++k)
      if (s_[k] != 0) add_column(k, s_[k]);
  }
  void add_column(Index k, double by) {
    const double* a = A_.col(k);
    double* u = w_.u.data();
    for (Index i = 0; i < n_; ++i) u[i] += by * a[i];
  }
  double residual() const {
    double worst = 0;
    for (Index k = 0; k < n_; ++k) worst = std::max(worst, kkt_distance(2 * (w_.u.data()[k] - c_[k]), s_[k], beta_));
    return worst;
  }

  // Sweeps of coordinate descent: s_k = soft(c_k - sum_{l != k} A_kl s_l, beta / 2) / A_kk
  void descend() {
    constexpr int sweeps = 3;
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      bool support_changed = false;
      for (Index k = 0; k < n_; ++k) {
        const double a = A_(k, k), old = s_[k];
        const double fresh = a > 0 ? soft(c_[k] - w_.u.data()[k] + a * old, beta_ / 2) / a : 0.0;
        if (fresh == old) continue;
        support_changed |= (fresh == 0) != (old == 0);
        s_[k] = fresh;
        add_column(k, fresh - old);
      }
      if (!support_changed) break;
    }
  }

  // Newton on the support P with its signs: (A_PP + ridge) d = c_P - u_P - beta sign / 2, cut where a sign would flip.
  void newton() {
    for (Index repeat = 0; repeat <= n_; ++repeat) {
      collect_support();
      const auto p = static_cast<Index>(w_.support.size());
      if (p == 0 || !factorise()) return;
      const MatrixView<double> d(w_.step.data(), p, 1);
      for (Index a = 0; a < p; ++a) {
        const Index k = w_.support[static_cast<std::size_t>(a)];
        const double sign = s_[k] > 0 ? 1 : -1;
        d(a, 0) = c_[k] - w_.u.data()[k] - (beta_ > 0 ? beta_ / 2 * sign : 0);
      }
      cholesky_solve(w_.factor.view().block(0, 0, p, p), d);
      if (take_step(d)) return;
    }
  }

  void collect_support() {
    w_.support.clear();
    for (Index k = 0; k < n_; ++k)
      if (beta_ > 0 ? s_[k] != 0 : A_(k, k) > 0) w_.support.push_back(static_cast<std::int32_t>(k));
  }

  bool factorise() {
    const auto p = static_cast<Index>(w_.support.size());
    const MatrixView<double> F(w_.factor.data(), p, p, w_.factor.rows());
    double top = 0;
    for (const auto k : w_.support) top = std::max(top, A_(k, k));
    for (double extra = std::max(ridge_, 1e-15 * top); extra <= top; extra *= 100) {
      for (Index b = 0; b < p; ++b)
        for (Index a = b; a < p; ++a)
          F(a, b) = A_(w_.support[static_cast<std::size_t>(a)], w_.support[static_cast<std::size_t>(b)]);
      for (Index a = 0; a < p; ++a) F(a, a) += extra;
      if (cholesky(F)) return true;
    }
    return false;
  }

  // True when the full step keeps every sign (Newton is done), false when the support shrank.
  bool take_step(MatrixView<const double> d) {
    double first_crossing = 1;
    bool crosses = false;
    for (Index a = 0; a < d.rows && beta_ > 0; ++a) {
      const double s = s_[w_.support[static_cast<std::size_t>(a)]];
      if ((s + d(a, 0)) * s > 0) continue;
      crosses = true;
      first_crossing = std::min(first_crossing, -s / d(a, 0));
    }
    if (!crosses) {
      move(d, 1, false);
      return true;
    }
    // All crossing coordinates to zero at once if that lowers the objective, else only as far as the first one.
    if (gain_if_clipped(d) < 0)
      move(d, 1, true);
    else
      move(d, first_crossing, true);
    return false;
  }

  double clipped(double s, double d) const { return (s + d) * s > 0 ? s + d : 0; }

  // f(s + delta) - f(s) = delta'A delta + 2 delta'(u - c) + beta (|s + delta| - |s|)
  double gain_if_clipped(MatrixView<const double> d) {
    double gain = 0;
    for (Index a = 0; a < d.rows; ++a) {
      const Index k = w_.support[static_cast<std::size_t>(a)];
      const double to = clipped(s_[k], d(a, 0));
      w_.delta[static_cast<std::size_t>(a)] = to - s_[k];
      gain += beta_ * (std::abs(to) - std::abs(s_[k])) +
              2 * w_.delta[static_cast<std::size_t>(a)] * (w_.u.data()[k] - c_[k]);
    }
    for (Index b = 0; b < d.rows; ++b) {
      const double* column = A_.col(w_.support[static_cast<std::size_t>(b)]);
      double sum = 0;
      for (Index a = 0; a < d.rows; ++a)
        sum += column[w_.support[static_cast<std::size_t>(a)]] * w_.delta[static_cast<std::size_t>(a)];
      gain += sum * w_.delta[static_cast<std::size_t>(b)];
    }
    return gain;
  }

  void move(MatrixView<const double> d, double t, bool clip) {
    for (Index a = 0; a < d.rows; ++a) {
      const Index k = w_.support[static_cast<std::size_t>(a)];
      const double old = s_[k];
      double to = clip ? clipped(old, t * d(a, 0)) : old + t * d(a, 0);
      // the coordinate that limits the step lands on zero, not beside it
      if (clip && t < 1 && std::abs(to) <= 1e-14 * std::abs(old)) to = 0;
      s_[k] = to;
      add_column(k, to - old);
    }
  }

  MatrixView<const double> A_;
  const double* c_;
  double beta_, ridge_;
  double* s_;
  LassoScratch& w_;
  Index n_;
};

}  // namespace

void solve_lasso(MatrixView<const double> A, const double* c, double beta, double tol, double ridge, double* s,
                 LassoScratch& scratch) {
  Lasso(A, c, beta, ridge, s, scratch).solve(tol);
}

}  // namespace pacewise

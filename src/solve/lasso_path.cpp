#include "solve/lasso_path.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "algebra/simd.hpp"
#include "algebra/sums.hpp"

namespace pacewise {
namespace {

/// u = K x, K symmetric p x p with columns `ld` apart
PACEWISE_WIDE_VECTORS void multiply(const double* K, Index ld, Index p, const double* x, double* __restrict u) {
  for (Index i = 0; i < p; ++i) u[i] = 0;
  Index j = 0;
  for (; j + 4 <= p; j += 4) {  // four columns for each load and store of u
    const double *k0 = K + j * ld, *k1 = k0 + ld, *k2 = k1 + ld, *k3 = k2 + ld;
    for (Index i = 0; i < p; ++i) u[i] += x[j] * k0[i] + x[j + 1] * k1[i] + x[j + 2] * k2[i] + x[j + 3] * k3[i];
  }
  for (; j < p; ++j)
    for (Index i = 0; i < p; ++i) u[i] += x[j] * K[j * ld + i];
}

/// K += f u u'
PACEWISE_WIDE_VECTORS void add_outer(double* __restrict K, Index ld, Index p, double f, const double* u) {
  for (Index j = 0; j < p; ++j)
    for (Index i = 0; i < p; ++i) K[j * ld + i] += f * u[j] * u[i];
}

/// a = c - A_:P z,  q = A_:P y
PACEWISE_WIDE_VECTORS void project(const double* A, Index ld, Index r, const std::int32_t* support, Index p,
                                   const double* c, const double* z, const double* y, double* __restrict a,
                                   double* __restrict q) {
  for (Index i = 0; i < r; ++i) {
    a[i] = c[i];
    q[i] = 0;
  }
  Index j = 0;
  for (; j + 4 <= p; j += 4) {  // four columns for each load and store of a and q
    const double *k0 = A + support[j] * ld, *k1 = A + support[j + 1] * ld, *k2 = A + support[j + 2] * ld,
                 *k3 = A + support[j + 3] * ld;
    for (Index i = 0; i < r; ++i) {
      a[i] -= z[j] * k0[i] + z[j + 1] * k1[i] + z[j + 2] * k2[i] + z[j + 3] * k3[i];
      q[i] += y[j] * k0[i] + y[j + 1] * k1[i] + y[j + 2] * k2[i] + y[j + 3] * k3[i];
    }
  }
  for (; j < p; ++j) {
    const double* column = A + support[j] * ld;
    for (Index i = 0; i < r; ++i) {
      a[i] -= z[j] * column[i];
      q[i] += y[j] * column[i];
    }
  }
}

/// Where atom k, outside the support, meets its bound |2 a_k + t q_k| = t p_k as t falls; t (2 + excess) where it is
/// beyond the bound by more than `tol` already: those come first, the worst before the others. 0: not until t = 1.
PACEWISE_WIDE_VECTORS void joining_penalties(const double* a, const double* q, const double* p, Index r, double t,
                                             bool positive, double tol, double* __restrict at) {
  const double down_too = positive ? 0 : 1;
  for (Index k = 0; k < r; ++k) {
    const double rho = 2 * a[k] + t * q[k], broken = (positive ? rho : std::abs(rho)) - t * p[k];
    const double rise = p[k] - q[k], fall = p[k] + q[k];
    const double up = rise > 0 ? 2 * a[k] / rise : 0, down = fall > 0 ? -2 * down_too * a[k] / fall : 0;
    const double meets = std::min(std::max(up, down), t);
    at[k] = broken > tol ? t * (2 + broken) : (t > 1 ? meets : 0);
  }
}

/// How many of x are larger than `least`
PACEWISE_WIDE_VECTORS Index above(const double* x, Index r, double least) {
  Index count = 0;
  for (Index k = 0; k < r; ++k) count += x[k] > least ? 1 : 0;
  return count;
}

}  // namespace

LassoPath::LassoPath(Index largest, const Tuning& tuning)
    : tuning_(tuning),
      support_(largest),
      joining_(largest),
      in_(largest),
      there_(largest),
      sign_(largest),
      z_(largest),
      y_(largest),
      a_(largest),
      q_(largest),
      u_(largest),
      x_(largest),
      at_(largest) {
  K_.resize_for_overwrite(largest, largest);
}

void LassoPath::clear() {
  r_ = problem_->A.rows;
  p_ = 0;
  std::fill_n(in_.begin(), r_, char{0});
  std::fill_n(there_.begin(), r_, static_cast<char>(problem_->columns ? 0 : 1));
}

/// Columns of A of the first `count` atoms of joining_ that are not there yet
void LassoPath::need_columns(Index count) {
  const auto first = joining_.begin();
  const auto end = std::partition(first, first + count, [&](std::int32_t k) { return there_[k] == 0; });
  if (end == first) return;
  problem_->columns({first, end});
  std::for_each(first, end, [&](std::int32_t k) { there_[k] = 1; });
}

void LassoPath::need_all_columns() {
  std::iota(joining_.begin(), joining_.begin() + r_, 0);
  need_columns(r_);
}

/// K grows by the row and column of atom k:  x = A_Pk, u = K x, d = a_kk - x'u,
///   K <- [K + u u'/d, -u/d; -u'/d, 1/d].
bool LassoPath::join(Index k, double sign) {
  const double* column = problem_->A.col(k);
  for (Index i = 0; i < p_; ++i) x_[i] = column[support_[i]];
  multiply(K_.data(), K_.rows(), p_, x_.data(), u_.data());
  const double d = column[k] - std::inner_product(x_.begin(), x_.begin() + p_, u_.begin(), 0.0);
  if (!(d > tuning_.dependent * column[k])) return false;
  add_outer(K_.data(), K_.rows(), p_, 1 / d, u_.data());
  for (Index i = 0; i < p_; ++i) K_(i, p_) = K_(p_, i) = -u_[i] / d;
  K_(p_, p_) = 1 / d;
  support_[p_] = static_cast<std::int32_t>(k);
  sign_[p_++] = sign;
  in_[k] = 1;
  return true;
}

/// The reverse: with K = [K11, k; k', kappa] after a swap to the end,  K <- K11 - k k' / kappa.
void LassoPath::leave(Index at) {
  const Index last = --p_;
  in_[support_[at]] = 0;
  for (Index i = 0; i <= last; ++i) std::swap(K_(i, at), K_(i, last));
  for (Index i = 0; i <= last; ++i) std::swap(K_(at, i), K_(last, i));
  support_[at] = support_[last];
  sign_[at] = sign_[last];
  add_outer(K_.data(), K_.rows(), p_, -1 / K_(last, last), K_.col(last));
}

void LassoPath::solve_support() {
  for (Index i = 0; i < p_; ++i) x_[i] = problem_->c[support_[i]];
  multiply(K_.data(), K_.rows(), p_, x_.data(), z_.data());
  for (Index i = 0; i < p_; ++i) x_[i] = sign_[i] * problem_->penalty[support_[i]];
  multiply(K_.data(), K_.rows(), p_, x_.data(), y_.data());
}

void LassoPath::correlations() {
  const Lasso& l = *problem_;
  double scale = 0;
  for (Index k = 0; k < r_; ++k) scale = std::max(scale, std::abs(l.c[k]));
  for (int turn = 0; turn < 3; ++turn) {
    project(l.A.data, l.A.stride, r_, support_.data(), p_, l.c, z_.data(), y_.data(), a_.data(), q_.data());
    // on the support a = 0 and q = sigma o p; what is left there corrects z and y
    double off = 0;
    for (Index i = 0; i < p_; ++i) {
      const Index k = support_[i];
      off = std::max({off, std::abs(a_[k]), std::abs(sign_[i] * l.penalty[k] - q_[k])});
    }
    if (!(off > tuning_.refine * scale)) return;
    for (Index i = 0; i < p_; ++i) x_[i] = a_[support_[i]];
    multiply(K_.data(), K_.rows(), p_, x_.data(), u_.data());
    for (Index i = 0; i < p_; ++i) z_[i] += u_[i];
    for (Index i = 0; i < p_; ++i) x_[i] = sign_[i] * l.penalty[support_[i]] - q_[support_[i]];
    multiply(K_.data(), K_.rows(), p_, x_.data(), u_.data());
    for (Index i = 0; i < p_; ++i) y_[i] += u_[i];
  }
}

/// Atoms of the wrong sign at t leave; whether there were any
bool LassoPath::drop_wrong(double t) {
  bool dropped = false;
  for (Index i = p_ - 1; i >= 0; --i) {
    const bool free = problem_->penalty[support_[i]] <= 0 && !problem_->positive;
    // one that joined at this t has the code 0, to rounding
    const double rounding = tuning_.refine * (std::abs(z_[i]) + t / 2 * std::abs(y_[i]));
    at_[i] = free || sign_[i] * (z_[i] - t / 2 * y_[i]) > -rounding ? 1 : 0;
  }
  for (Index i = p_ - 1; i >= 0; --i) {
    if (at_[i] > 0) continue;
    at_[i] = at_[p_ - 1];
    leave(i);
    dropped = true;
  }
  return dropped;
}

/// The atoms that join next, at most `count`, into joining_; the penalty at which the last of them does.
double LassoPath::next_penalty(double t, Index count) {
  const Lasso& l = *problem_;
  joining_penalties(a_.data(), q_.data(), l.penalty, r_, t, l.positive, l.tol, at_.data());
  for (Index i = 0; i < p_; ++i) at_[support_[i]] = 0;
  double last = 1;
  if (above(at_.data(), r_, last) > count)  // halving finds a penalty above which there are half as many or all of them
    for (double low = 1, high = 2 * t + max_norm(at_.data(), r_); low < high;) {
      last = (low + high) / 2;
      const Index joining = above(at_.data(), r_, last);
      if (joining <= count && 2 * joining >= count) break;
      if (last <= low || last >= high) break;
      (joining > count ? low : high) = last;
    }
  joiners_ = 0;
  for (Index k = 0; k < r_; ++k)
    if (at_[k] > last) joining_[joiners_++] = static_cast<std::int32_t>(k);
  return std::min(last, t);
}

double LassoPath::solve(const Lasso& problem, double* s) {
  problem_ = &problem;
  positive_ = problem.positive;
  clear();
  const double* p = problem.penalty;
  bool warm = false;
  joiners_ = 0;
  for (Index k = 0; k < r_; ++k)
    if (s[k] != 0 || p[k] <= 0) joining_[joiners_++] = static_cast<std::int32_t>(k);
  need_columns(joiners_);
  for (Index k = 0; k < r_; ++k) {
    if (s[k] != 0) warm = true;
    if ((s[k] != 0 || p[k] <= 0) && !join(k, s[k] < 0 ? -1 : 1)) warm = true;
  }
  solve_support();
  correlations();
  double t = 1;
  if (!warm)
    for (Index k = 0; k < r_; ++k)
      if (in_[k] == 0 && p[k] > 0) t = std::max(t, 2 * (problem.positive ? a_[k] : std::abs(a_[k])) / p[k]);

  const auto share = [&] { return std::max(tuning_.stride_least, tuning_.stride_share * static_cast<double>(p_)); };
  double most = share(), idle = 0;  // atoms let in at once; strides since t last fell
  Index joined = 0;
  bool finished = false;
  while (!finished && idle < tuning_.stride_limit) {
    const Index before = p_;
    if (drop_wrong(t)) {
      if (2 * (before - p_) > joined) most = std::max(1.0, most / 2);  // they come and go: fewer at a time
      ++idle;
    } else {
      const double next = next_penalty(t, static_cast<Index>(most));
      finished = joiners_ == 0 && t <= 1;
      idle = next < t ? 0 : idle + 1;
      if (next < t) most = std::max(most, share() / 2);
      t = next;
      need_columns(joiners_);
      for (Index i = 0; i < joiners_; ++i)
        if (const Index k = joining_[i]; !join(k, 2 * a_[k] + t * q_[k] < 0 ? -1 : 1))
          break;  // dependent: a matter for the end
      joined = p_ - before;
      if (joined == 0 && joiners_ > 0) break;
      if (joined == 0) continue;
    }
    solve_support();
    correlations();
  }
  if (!finished) {
    need_all_columns();
    // from the better of the start and where the strides ended, its wrong signs left out
    std::fill_n(at_.begin(), r_, 0.0);
    for (Index i = 0; i < p_; ++i) {
      const double value = z_[i] - t / 2 * y_[i];
      const bool right = sign_[i] * value > 0 || (p[support_[i]] <= 0 && !problem.positive);
      at_[support_[i]] = std::isfinite(value) && right ? value : 0;
    }
    if (value(at_.data()) < value(s)) std::copy_n(at_.begin(), r_, s);
    return descend(s);
  }
  std::fill_n(s, r_, 0.0);
  for (Index i = 0; i < p_; ++i) {
    const double value = z_[i] - y_[i] / 2;
    const bool free = p[support_[i]] <= 0 && !problem.positive;
    s[support_[i]] = free || sign_[i] * value > 0 ? value : 0;
  }
  double residual = 0;
  for (Index k = 0; k < r_; ++k)
    residual = std::max(residual, kkt_distance(-(2 * a_[k] + q_[k]), s[k], p[k], problem.positive));
  if (residual <= problem.tol) return residual;
  need_all_columns();
  return descend(s);
}

double LassoPath::pull(Index k) const {
  const double rho = 2 * a_[k] + q_[k];
  return positive_ ? rho : std::abs(rho);
}

/// s'A s - 2 c's + p'|s|
double LassoPath::value(const double* s) {
  multiply(problem_->A.data, problem_->A.stride, r_, s, x_.data());
  double sum = 0;
  for (Index k = 0; k < r_; ++k) sum += s[k] * (x_[k] - 2 * problem_->c[k]) + problem_->penalty[k] * std::abs(s[k]);
  return sum;
}

/// Where strides do not lead on: sweeps of coordinate descent, which find the support, and Newton steps on it,
///   (A_PP + ridge) d = c_P - (A s)_P - sigma o p / 2,
/// cut where a sign would turn. The ridge grows until the factor exists; it bends the way, not the solution.
double LassoPath::descend(double* s) {
  const Lasso& l = *problem_;
  const auto A = eigen(l.A);
  Eigen::Map<Eigen::VectorXd> x(s, r_);
  const Eigen::Map<const Eigen::VectorXd> c(l.c, r_), p(l.penalty, r_);
  Eigen::VectorXd u = A * x;
  const auto residual = [&] {
    double most = 0;
    for (Index k = 0; k < r_; ++k) most = std::max(most, kkt_distance(2 * (u[k] - c[k]), x[k], p[k], l.positive));
    return most;
  };
  double best = std::numeric_limits<double>::infinity(), waited = 0;
  Eigen::VectorXd kept = x;
  for (double round = 0; round < tuning_.descent_rounds && waited < 2 * tuning_.patience; ++round) {
    for (int sweep = 0; sweep < 3; ++sweep)
      for (Index k = 0; k < r_; ++k) {
        const double curvature = A(k, k);
        if (!(curvature > 0)) continue;
        const double pull = c[k] - u[k] + curvature * x[k];
        const double size = std::max(0.0, (l.positive ? pull : std::abs(pull)) - p[k] / 2) / curvature;
        const double step = std::copysign(size, pull) - x[k];
        if (step == 0) continue;
        u += step * A.col(k);
        x[k] += step;
      }
    newton_on_support(x, u);
    u.noalias() = A * x;
    const double now = residual();
    if (now < best) {
      waited = now < tuning_.stalled * best ? 0 : waited + 1;
      best = now;
      kept = x;
    } else {
      ++waited;
    }
    if (best <= l.tol) break;
  }
  x = kept;
  eigen(a_).head(r_) = c - A * x;
  std::fill_n(q_.begin(), r_, 0.0);
  return best;
}

void LassoPath::newton_on_support(Eigen::Ref<Eigen::VectorXd> x, Eigen::VectorXd& u) {
  const auto A = eigen(problem_->A);
  const Eigen::Map<const Eigen::VectorXd> c(problem_->c, r_), p(problem_->penalty, r_);
  for (Index repeat = 0; repeat <= r_; ++repeat) {
    std::vector<Index> P;
    for (Index k = 0; k < r_; ++k)
      if (x[k] != 0) P.push_back(k);
    const auto size = static_cast<Index>(P.size());
    if (size == 0) return;
    const EigenMatrix<double> gram = A(P, P);
    const Eigen::VectorXd start = x(P);
    Eigen::VectorXd d = c(P) - u(P);
    for (Index i = 0; i < size; ++i) d[i] -= std::copysign(p[P[static_cast<std::size_t>(i)]] / 2, start[i]);
    Eigen::LLT<EigenMatrix<double>> factor;
    double ridge = 1e-15 * gram.diagonal().maxCoeff();
    do {
      factor.compute(gram + ridge * EigenMatrix<double>::Identity(size, size));
      ridge *= 100;
    } while (factor.info() != Eigen::Success && ridge < gram.diagonal().maxCoeff());
    if (factor.info() != Eigen::Success) return;
    factor.solveInPlace(d);
    if (!d.allFinite()) return;
    double share = 1;
    Index first = -1;
    for (Index i = 0; i < size; ++i) {
      const bool free = p[P[static_cast<std::size_t>(i)]] <= 0 && !problem_->positive;
      if (free || (start[i] + d[i]) * start[i] > 0 || -start[i] / d[i] > share) continue;
      share = -start[i] / d[i];
      first = i;
    }
    x(P) = start + share * d;
    if (first >= 0) x[P[static_cast<std::size_t>(first)]] = 0;
    u.noalias() = A * x;
    if (first < 0) return;
  }
}

void LassoPath::pursue(const Lasso& problem, double xx, Index nonzeros, double target, double* s) {
  problem_ = &problem;
  clear();
  std::fill_n(sign_.begin(), r_, 0.0);
  double left = xx;
  while (true) {
    solve_support();
    correlations();
    left = xx;
    for (Index i = 0; i < p_; ++i) left -= problem.c[support_[i]] * z_[i];
    if (p_ >= std::min(nonzeros, r_) || left <= target) break;
    Index best = -1;
    double most = 0;
    for (Index k = 0; k < r_; ++k) {
      const double curvature = problem.A(k, k);
      if (in_[k] != 0 || !(curvature > 0)) continue;
      const double size = std::abs(a_[k]) / std::sqrt(curvature);
      if (size > most) {
        most = size;
        best = k;
      }
    }
    if (best < 0) break;
    if (!join(best, 0)) in_[best] = 1;  // never: it depends on the support
  }
  std::fill_n(s, r_, 0.0);
  for (Index i = 0; i < p_; ++i) s[support_[i]] = z_[i];
}

}  // namespace pacewise

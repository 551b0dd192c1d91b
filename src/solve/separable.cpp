#include "solve/separable.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "algebra/dense.hpp"
#include "algebra/simd.hpp"
#include "algebra/sums.hpp"
#include "solve/lasso_path.hpp"
#include "solve/residual.hpp"

namespace pacewise {
namespace {

/// A sample whose entries have weights of many sizes
struct Sample {
  Index j = 0;
  Vector<std::int32_t> P;  // its working set
  Matrix<double> A;        // (B' diag(w v) B + C)_PP, to float precision
  double tol = 0;          // in the units of the gradient
};

struct Scratch {
  Scratch(Index m, Index r, const Tuning& tuning)
      : path(r, tuning), c_local(r), penalty(r), s_local(r), order(r), d(m), outside(r), rows(m), c(r, kBlock) {}
  LassoPath path;
  Vector<double> c_local, penalty, s_local, order, d;
  Vector<std::int32_t> outside, rows;
  double top = 1;
  Index given = 0;  // rows of the sample, without the padding
  EigenMatrix<double> X, c, A, E, Y, C, S, N;
  EigenMatrix<float> Xf, cf, rooted, gram;
  std::vector<Sample> samples = std::vector<Sample>(static_cast<std::size_t>(kBlock));
};

/// out_t = w_t b_(i_t) for `count` rows i of m
PACEWISE_WIDE_VECTORS void weigh_rows(const float* b, const std::int32_t* rows, const float* w, Index count, Index m,
                                      float* __restrict out) {
  if (count == m)
    for (Index t = 0; t < m; ++t) out[t] = w[t] * b[t];
  else
    for (Index t = 0; t < count; ++t) out[t] = w[t] * b[rows[t]];
}

/// C (r x wide) = E Y', E r x few and Y wide x few; few and wide are multiples of 4. For products this narrow a BLAS
/// takes four times as long.
PACEWISE_WIDE_VECTORS void multiply_narrow(const double* E, Index r, Index few, const double* Y, Index wide,
                                           double* __restrict C) {
  for (Index i = 0; i < r * wide; ++i) C[i] = 0;
  for (Index t = 0; t < few; t += 4) {
    const double *e0 = E + t * r, *e1 = e0 + r, *e2 = e1 + r, *e3 = e2 + r;
    for (Index l = 0; l < wide; l += 4) {
      double *c0 = C + l * r, *c1 = c0 + r, *c2 = c1 + r, *c3 = c2 + r;
      const double *y0 = Y + t * wide + l, *y1 = y0 + wide, *y2 = y1 + wide, *y3 = y2 + wide;
      for (Index i = 0; i < r; ++i) {
        c0[i] += e0[i] * y0[0] + e1[i] * y1[0] + e2[i] * y2[0] + e3[i] * y3[0];
        c1[i] += e0[i] * y0[1] + e1[i] * y1[1] + e2[i] * y2[1] + e3[i] * y3[1];
        c2[i] += e0[i] * y0[2] + e1[i] * y1[2] + e2[i] * y2[2] + e3[i] * y3[2];
        c3[i] += e0[i] * y0[3] + e1[i] * y1[3] + e2[i] * y2[3] + e3[i] * y3[3];
      }
    }
  }
}

template <class T>
class Separable {
 public:
  Separable(const CodesProblem<T>& problem, MatrixView<const double> B, const CodeTerms<T>& terms,
            const StepOptions& options)
      : p_(problem), B_(B), terms_(terms), tol_(options.tol), tuning_(options.tuning) {
    const Weights<T>& w = problem.weights;
    // one Gram matrix serves all: with weights of samples, c and the penalties are divided by them
    shared_ = w.entry.empty() && (all_one(w.sample) || terms.separable_only());
    G_ = feature_gram<double>(B, w.feature);
    if (shared_) G_ = terms.plus_quadratic(std::move(G_));
    float_data_ = shared_ && tol_ >= tuning_.float_data;
    if (float_data_ || !shared_) single_ = eigen(B).template cast<float>();
    if (w.entry.empty()) return;
    rows_ = eigen(B).transpose();
  }

  Largest solve_block(Index first, Index count, Matrix<T>& S, Scratch& scratch) const {
    load(first, count, scratch);
    Largest worst;
    Index left = 0;  // samples whose entries have weights of many sizes
    for (Index j = first; j < first + count; ++j) {
      double* c = scratch.c.col(j - first).data();
      const double scale = 2 * max_norm(c, B_.cols), tol = std::max(tol_, 1e-13) * scale;
      worst += {0, scale};
      terms_.add_linear(j, c);
      if (!shared_ && !set_rows(j, false, scratch)) {
        scratch.samples[static_cast<std::size_t>(left)].j = j;
        scratch.samples[static_cast<std::size_t>(left)].tol = tol;
        scratch.c.col(left++) = scratch.c.col(j - first);
      } else {
        worst += {solve_sample(j, c, tol, S.col(j), scratch), 0};
      }
    }
    if (left > 0) worst += {solve_weighted(left, S, scratch), 0};
    return worst;
  }

 private:
  double sample_weight(Index j) const {
    return p_.weights.sample.empty() ? 1 : static_cast<double>(p_.weights.sample[j]);
  }

  /// c <- B'(w v X)
  void load(Index first, Index count, Scratch& scratch) const {
    const auto times = [&](const auto& B, auto& X) {
      using U = typename std::decay_t<decltype(X)>::Scalar;
      X = eigen(p_.X.columns(first, count)).template cast<U>();
      for (Index j = 0; j < count; ++j) weigh(p_.weights, first + j, X.col(j).data(), B_.rows);
      return B.transpose() * X;
    };
    if (!float_data_) {
      scratch.c.leftCols(count).noalias() = times(eigen(B_), scratch.X);
    } else {
      scratch.cf.noalias() = times(single_, scratch.Xf);
      scratch.c.leftCols(count) = scratch.cf.template cast<double>();
    }
  }

  /// Returns the KKT residual
  double solve_sample(Index j, double* c, double tol, T* s, Scratch& scratch) const {
    const Index r = B_.cols;
    if (!(max_norm(c, r) > 0)) {  // nothing but the penalty is left
      std::fill_n(s, r, T(0));
      return 0;
    }
    const double unit = shared_ ? sample_weight(j) : 1;
    for (Index k = 0; k < r; ++k) {
      c[k] /= unit;
      scratch.penalty[k] = terms_.penalty()[k] / unit;
      scratch.s_local[k] = static_cast<double>(s[k]);
    }
    Lasso lasso{{G_.data(), r, r}, c, scratch.penalty.data(), terms_.positive(), tol / unit};
    if (!shared_) {
      scratch.A.resize(r, r);
      lasso.A = {scratch.A.data(), r, r};
      lasso.columns = [&](std::span<const std::int32_t> atoms) { add_columns(atoms, scratch); };
    }
    const double residual = scratch.path.solve(lasso, scratch.s_local.data());
    for (Index k = 0; k < r; ++k) s[k] = static_cast<T>(scratch.s_local[k]);
    return unit * (std::is_same_v<T, double> ? residual : rounded_residual(lasso, s, scratch));
  }

  /// The KKT residual at codes rounded to T
  double rounded_residual(const Lasso& l, const T* s, Scratch& scratch) const {
    auto g = eigen(scratch.c_local);
    g = -Eigen::Map<const Eigen::VectorXd>(l.c, B_.cols);
    for (Index k = 0; k < B_.cols; ++k)
      if (s[k] != T(0)) g += static_cast<double>(s[k]) * eigen(l.A).col(k);
    double most = 0;
    for (Index k = 0; k < B_.cols; ++k)
      most = std::max(most, kkt_distance(2 * g[k], static_cast<double>(s[k]), l.penalty[k], l.positive));
    return most;
  }

  /// The rows i that make A_j = top G + C + sum_i d_i b_i b_i': where nearly all entries have the largest weight, those
  /// that lack some of it, d_i = w_ij v_ij - f_i top. Else all of them if asked for, with top = 0; false if not. E:
  /// their b_i, in columns.
  bool set_rows(Index j, bool all, Scratch& scratch) const {
    const Weights<T>& w = p_.weights;
    const Index m = B_.rows;
    const double v = sample_weight(j);
    Index count = 0;
    scratch.top = v;
    if (!w.entry.empty()) {
      const T* entry = w.entry.col(j);
      const T most = *std::max_element(entry, entry + m);
      for (Index i = 0; i < m; ++i) {
        scratch.rows[count] = static_cast<std::int32_t>(i);
        count += entry[i] < most ? 1 : 0;
      }
      const bool few = static_cast<double>(count) <= tuning_.nearly_complete * static_cast<double>(m);
      if (!few && !all) return false;
      scratch.top = few ? v * static_cast<double>(most) : 0;
      if (!few) std::iota(scratch.rows.begin(), scratch.rows.begin() + (count = m), 0);
      for (Index t = 0; t < count; ++t) {
        const Index i = scratch.rows[t];
        const double f = w.feature.empty() ? 1 : static_cast<double>(w.feature[i]);
        scratch.d[t] = f * (v * static_cast<double>(entry[i]) - scratch.top);
      }
    }
    scratch.given = count;
    scratch.E.resize(B_.cols, (count + 3) / 4 * 4);
    scratch.E.rightCols(scratch.E.cols() - count).setZero();
    for (Index t = 0; t < count; ++t) scratch.E.col(t) = rows_.col(scratch.rows[t]);
    return true;
  }

  /// Columns of A_j
  void add_columns(std::span<const std::int32_t> atoms, Scratch& scratch) const {
    EigenMatrix<double>&E = scratch.E, &Y = scratch.Y, &C = scratch.C;
    Y.setZero(std::ssize(atoms) + 3 - (std::ssize(atoms) + 3) % 4, E.cols());
    C.resize(B_.cols, Y.rows());
    for (Index l = 0; const Index k : atoms) {
      const double* b = B_.col(k);
      for (Index t = 0; t < scratch.given; ++t) Y(l, t) = scratch.d[t] * b[scratch.rows[t]];
      ++l;
    }
    multiply_narrow(E.data(), B_.cols, E.cols(), Y.data(), Y.rows(), C.data());
    for (Index l = 0; const Index k : atoms) {
      auto column = scratch.A.col(k);
      column = scratch.top * G_.col(k) + C.col(l++);
      if (!terms_.separable_only()) column += eigen(terms_.quadratic()).col(k);
    }
  }

  /// Where entries have weights of many sizes: a working set of atoms by a path with the mean weight, the lasso on it
  /// with A_PP to float precision, then, until the exact gradient of the samples left says so, again with
  ///   c_P = A_PP s_P + N_P,   N = B'(w v (x - B s)) + gamma Q'h - C s,
  /// so that rounding of A costs rounds, not exactness. Atoms that break their bound join. Where float does not lead
  /// on, the path on A_j itself. Returns the largest KKT residual.
  double solve_weighted(Index left, Matrix<T>& S, Scratch& scratch) const {
    double worst = 0;
    const Index r = B_.cols;
    scratch.S.resize(r, kBlock);
    for (Index at = 0; at < left; ++at) {
      Sample& sample = scratch.samples[static_cast<std::size_t>(at)];
      double* s = scratch.S.col(at).data();
      sample.A.resize(0, 0);
      sample.P.clear();
      for (Index k = 0; k < r; ++k)
        if ((s[k] = static_cast<double>(S(k, sample.j))) != 0) sample.P.push_back(static_cast<std::int32_t>(k));
      if (!sample.P.empty()) continue;
      solve_mean(sample, scratch.c.col(at).data(), s, scratch);
      solve_working_set(sample, s, scratch.c.col(at).data(), scratch);
    }
    for (double round = 0; left > 0; ++round) {
      gradient(left, scratch);
      for (Index at = left - 1; at >= 0; --at) {
        Sample& sample = scratch.samples[static_cast<std::size_t>(at)];
        double *s = scratch.S.col(at).data(), *N = scratch.N.col(at).data();
        double residual = join_violators(sample, s, N, scratch);
        if (residual > sample.tol && round < tuning_.patience) {
          add_own(sample, s, N, scratch);
          solve_working_set(sample, s, N, scratch);
          continue;
        }
        for (Index k = 0; k < r; ++k) S(k, sample.j) = static_cast<T>(s[k]);
        if (residual > sample.tol) {
          set_rows(sample.j, true, scratch);
          load(sample.j, 1, scratch);
          terms_.add_linear(sample.j, scratch.c.col(0).data());
          residual = solve_sample(sample.j, scratch.c.col(0).data(), sample.tol, S.col(sample.j), scratch);
        }
        worst = std::max(worst, residual);
        --left;
        scratch.S.col(at) = scratch.S.col(left);
        std::swap(sample, scratch.samples[static_cast<std::size_t>(left)]);
      }
    }
    return worst;
  }

  /// s <- the solution with w v replaced by its mean over the features; the working set: its support and the atoms
  /// nearest to their bound
  void solve_mean(Sample& sample, const double* c, double* s, Scratch& scratch) const {
    const Index r = B_.cols;
    Eigen::VectorXd w = Eigen::VectorXd::Ones(B_.rows), f = w;
    weigh(p_.weights, sample.j, w.data(), B_.rows);
    if (!p_.weights.feature.empty())
      f = Eigen::Map<const Eigen::VectorX<T>>(p_.weights.feature.data(), B_.rows).template cast<double>();
    const double mean = f.sum() > 0 ? w.sum() / f.sum() : 0, unit = terms_.separable_only() ? mean : 1;
    if (!(unit > 0)) return;
    if (!terms_.separable_only()) scratch.A = mean * G_ + eigen(terms_.quadratic());
    for (Index k = 0; k < r; ++k) {
      scratch.c_local[k] = c[k] / unit;
      scratch.penalty[k] = terms_.penalty()[k] / unit;
    }
    const EigenMatrix<double>& A = terms_.separable_only() ? G_ : scratch.A;
    const double tol = 1e-3 * 2 * max_norm(scratch.c_local.data(), r);
    scratch.path.solve({{A.data(), r, r}, scratch.c_local.data(), scratch.penalty.data(), terms_.positive(), tol}, s);
    for (Index k = 0; k < r; ++k) {
      if (s[k] != 0) sample.P.push_back(static_cast<std::int32_t>(k));
      scratch.order[k] = s[k] != 0 ? 0 : scratch.penalty[k] - scratch.path.pull(k);
    }
    join_first(sample, scratch, [&](std::int32_t k) { return s[k] == 0; });
  }

  /// N <- B'(w v (X - B S)) - C S + gamma Q'H of the samples that are left
  void gradient(Index left, Scratch& scratch) const {
    const auto sample = [&](Index at) { return scratch.samples[static_cast<std::size_t>(at)].j; };
    EigenMatrix<double>&X = scratch.X, &N = scratch.N;
    X.resize(B_.rows, left);
    for (Index at = 0; at < left; ++at) X.col(at) = eigen(p_.X).col(sample(at)).template cast<double>();
    subtract_product<double>(B_, {scratch.S.data(), B_.cols, left}, {X.data(), B_.rows, left});
    for (Index at = 0; at < left; ++at) weigh(p_.weights, sample(at), X.col(at).data(), B_.rows);
    N.noalias() = eigen(B_).transpose() * X;
    if (!terms_.separable_only()) N.noalias() -= eigen(terms_.quadratic()) * scratch.S.leftCols(left);
    for (Index at = 0; at < left; ++at) terms_.add_linear(sample(at), N.col(at).data());
  }

  /// Atoms of which `may` says so join the working set, those with the least `order` first, half as many as it has
  template <class May>
  void join_first(Sample& sample, Scratch& scratch, const May& may) const {
    const auto room = static_cast<Index>(
        std::max(tuning_.stride_least, (tuning_.working_set - 1) * static_cast<double>(sample.P.size())));
    Index found = 0;
    for (std::int32_t k = 0; k < B_.cols; ++k)
      if (may(k)) scratch.outside[found++] = k;
    const auto first = scratch.outside.begin();
    const auto before = [&](std::int32_t i, std::int32_t k) { return scratch.order[i] < scratch.order[k]; };
    if (found > room) std::nth_element(first, first + room, first + found, before);
    sample.P.insert(sample.P.end(), first, first + std::min(room, found));
  }

  /// The KKT residual at s; the worst atoms outside the working set join it.
  double join_violators(Sample& sample, const double* s, const double* N, Scratch& scratch) const {
    double residual = 0;
    for (Index k = 0; k < B_.cols; ++k) {
      const double here = kkt_distance(-2 * N[k], s[k], terms_.penalty()[k], terms_.positive());
      residual = std::max(residual, here);
      scratch.order[k] = -here;
    }
    for (const std::int32_t k : sample.P) scratch.order[k] = 0;
    const auto joins = [&](std::int32_t k) { return scratch.order[k] < -sample.tol; };
    bool any = false;
    for (std::int32_t k = 0; k < B_.cols; ++k) any = any || joins(k);
    if (any) std::erase_if(sample.P, [&](std::int32_t k) { return s[k] == 0; });
    join_first(sample, scratch, joins);
    if (any) sample.A.resize(0, 0);
    return residual;
  }

  /// N_P += A_PP s_P
  void add_own(Sample& sample, const double* s, double* N, Scratch& scratch) const {
    form_gram(sample, scratch);
    for (std::size_t l = 0; l < sample.P.size(); ++l) {
      const double value = s[sample.P[l]];
      const double* column = sample.A.col(static_cast<Index>(l));
      for (std::size_t k = 0; value != 0 && k < sample.P.size(); ++k) N[sample.P[k]] += value * column[k];
    }
  }

  /// s_P <- the lasso on the working set for c_P
  void solve_working_set(Sample& sample, double* s, const double* c, Scratch& scratch) const {
    form_gram(sample, scratch);
    const auto p = static_cast<Index>(sample.P.size());
    for (Index at = 0; at < p; ++at) {
      scratch.s_local[at] = s[sample.P[at]];
      scratch.penalty[at] = terms_.penalty()[sample.P[at]];
      scratch.c_local[at] = c[sample.P[at]];
    }
    const Lasso lasso{sample.A, scratch.c_local.data(), scratch.penalty.data(), terms_.positive(), sample.tol / 4};
    scratch.path.solve(lasso, scratch.s_local.data());
    for (Index at = 0; at < p; ++at) s[sample.P[at]] = static_cast<double>(static_cast<T>(scratch.s_local[at]));
  }

  /// A_PP = B_P' diag(w v) B_P + C_PP
  void form_gram(Sample& sample, Scratch& scratch) const {
    if (!sample.A.empty()) return;
    const auto p = static_cast<Index>(sample.P.size());
    Index count = 0;  // rows that count, and the roots of their weights
    Eigen::VectorXf w = Eigen::VectorXf::Ones(B_.rows);
    weigh(p_.weights, sample.j, w.data(), B_.rows);
    for (Index i = 0; i < B_.rows; ++i) {
      scratch.rows[count] = static_cast<std::int32_t>(i);
      w[count] = w[i];
      count += w[i] > 0 ? 1 : 0;
    }
    w.head(count) = w.head(count).cwiseSqrt().eval();
    scratch.rooted.resize(count, p);
    scratch.gram.resize(p, p);
    for (Index at = 0; at < p; ++at)
      weigh_rows(single_.col(sample.P[at]).data(), scratch.rows.data(), w.data(), count, B_.rows,
                 scratch.rooted.col(at).data());
    gram<float>(Op::transposed, 1, {scratch.rooted.data(), count, p}, 0, {scratch.gram.data(), p, p});
    sample.A.resize_for_overwrite(p, p);
    auto A = eigen(sample.A);
    A = scratch.gram.cast<double>();
    if (!terms_.separable_only()) A += eigen(terms_.quadratic())(sample.P, sample.P);
    // what rounding to float took from the diagonal; it slows the rounds by next to nothing and moves no solution
    if (p > 0) A.diagonal().array() += tuning_.float_ridge * A.diagonal().maxCoeff();
  }

  const CodesProblem<T>& p_;
  MatrixView<const double> B_;
  const CodeTerms<T>& terms_;
  double tol_;
  const Tuning& tuning_;
  EigenMatrix<double> G_, rows_;             // B' diag(feature) B, and C where one Gram serves all; B'
  EigenMatrix<float> single_;                // B
  bool shared_ = true, float_data_ = false;  // B'X in float
};

}  // namespace

template <class T>
StepReport solve_separable(const CodesProblem<T>& problem, MatrixView<const double> B, const CodeTerms<T>& terms,
                           Matrix<T>& S, const StepOptions& options, const Control& control) {
  const SerialBlas serial;
  const Separable<T> step(problem, B, terms, options);
  Vector<std::unique_ptr<Scratch>> scratch(thread_count(control));
  Vector<Largest> worst(thread_count(control), {});
  parallel_for(S.cols(), control, [&](Index first, Index count, int worker) {
    if (!scratch[worker]) scratch[worker] = std::make_unique<Scratch>(B.rows, S.rows(), options.tuning);
    worst[worker] += step.solve_block(first, count, S, *scratch[worker]);
  });
  for (const Largest& one : worst) worst[0] += one;
  const double certificate = worst[0].relative();
  return {certificate, 1, certificate <= options.tol && !control.stop()};
}

namespace {

/// Coordinate descent on f s'A s - 2 c's + sum_k p_k |s_k|, from s and g = c - f A s, `sweeps` times over all atoms
PACEWISE_WIDE_VECTORS void sweep_coordinates(const float* A, float f, const float* p, bool positive, int sweeps,
                                             float* g, float* s, Index r) {
  for (int sweep = 0; sweep < sweeps; ++sweep)
    for (Index k = 0; k < r; ++k) {
      const float* a = A + k * r;
      const float h = f * a[k], u = h * s[k] + g[k], size = std::abs(u) - p[k] / 2;
      const float now = !(size > 0) || (positive && u < 0) ? 0 : std::copysign(size, u) / h;
      const float change = now - s[k];
      if (change == 0 || !(h > 0)) continue;
      s[k] = now;
      for (Index l = 0; l < r; ++l) g[l] -= f * change * a[l];
    }
}

}  // namespace

/// With A = bound B' diag(feature) B + C the sample's objective lies below  s'A s - 2 (A s0 + N)'s + penalty  and
/// touches it at s0. Where C = 0 a sample's own weight takes the place of the largest.
template <class T>
void improve_separable(const CheapCodes<T>& p, const CodeTerms<T>& terms, int sweeps, Matrix<T>& S,
                       const Control& control) {
  const bool own = terms.separable_only() && !p.weights.sample.empty();
  const auto most =
      own ? static_cast<double>(*std::max_element(p.weights.sample.begin(), p.weights.sample.end())) : 1.0;
  const EigenMatrix<double> exact =
      terms.plus_quadratic((most > 0 ? p.bound / most : p.bound) * feature_gram<float>(p.B, p.weights.feature));
  const EigenMatrix<float> A = exact.cast<float>(), C = eigen(terms.quadratic()).template cast<float>(),
                           B = eigen(p.B).template cast<float>();
  const Vector<float> penalty(terms.penalty().begin(), terms.penalty().end());
  p.residuals([&](Index first, MatrixView<float> R, MatrixView<const float> s) {
    if (control.stop()) return;
    EigenMatrix<float> now = eigen(s), N = B.transpose() * eigen(R);
    if (!terms.separable_only()) N.noalias() -= C * now;
    for (Index j = 0; j < R.cols; ++j) {
      terms.add_linear(first + j, N.col(j).data());
      const float f = own ? static_cast<float>(p.weights.sample[first + j]) : 1.0F;
      sweep_coordinates(A.data(), f, penalty.data(), terms.positive(), sweeps, N.col(j).data(), now.col(j).data(),
                        S.rows());
    }
    eigen(S.view().columns(first, R.cols)) = now.template cast<T>();
  });
}

template <class T>
Matrix<T> pursue_codes(const CodesProblem<T>& p, Index nonzeros, double target, const Control& control) {
  const SerialBlas serial;
  const EigenMatrix<double> B = eigen(p.B).template cast<double>(), G = B.transpose() * B;
  const Index m = B.rows(), r = B.cols();
  Matrix<T> S(r, p.X.cols);
  const Vector<double> none(r, 0.0);
  const bool shared = p.weights.entry.empty() && p.weights.feature.empty();
  parallel_for(p.X.cols, control, [&](Index first, Index count, int) {
    LassoPath path(r);
    EigenMatrix<double> A = G;
    Eigen::VectorXd c(r), s(r);
    for (Index j = first; j < first + count; ++j) {
      Eigen::VectorXd w = Eigen::VectorXd::Ones(m), x = eigen(p.X).col(j).template cast<double>();
      weigh(p.weights, j, w.data(), m);
      const double xx = x.cwiseAbs2().dot(w), v = shared ? w[0] : 1;
      if (!(xx > 0)) continue;
      c.noalias() = B.transpose() * x.cwiseProduct(w) / v;
      if (!shared) A.noalias() = B.transpose() * w.asDiagonal() * B;
      path.pursue({{A.data(), r, r}, c.data(), none.data()}, xx / v, nonzeros, target / v, s.data());
      eigen(S).col(j) = s.template cast<T>();
    }
  });
  return S;
}

#define PACEWISE_INSTANTIATE(T)                                                                                   \
  template StepReport solve_separable<T>(const CodesProblem<T>&, MatrixView<const double>, const CodeTerms<T>&,   \
                                         Matrix<T>&, const StepOptions&, const Control&);                         \
  template void improve_separable<T>(const CheapCodes<T>&, const CodeTerms<T>&, int, Matrix<T>&, const Control&); \
  template Matrix<T> pursue_codes<T>(const CodesProblem<T>&, Index, double, const Control&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

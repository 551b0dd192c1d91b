#include "solve/separable.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "algebra/dense.hpp"
#include "algebra/simd.hpp"
#include "algebra/sums.hpp"
#include "solve/lasso_path.hpp"
#include "solve/residual.hpp"

namespace pacewise {
namespace {

/// A sample that has a Gram matrix of its own
struct Sample {
  Index j = 0;
  Vector<std::int32_t> P;  // its working set
  Matrix<double> A;        // (B' diag(w v) B + C)_PP, to float precision
  bool exact = false;      // in double
  double tol = 0;          // in the units of the gradient
  double residual = 0;     // at its codes
};

struct Scratch {
  Scratch(Index m, Index r, const Tuning& tuning)
      : path(r, tuning), c_local(r), penalty(r), s_local(r), order(r), roots(m), outside(r), rows(m) {}
  LassoPath path;
  Matrix<double> X, c, S, N;  // of a block
  EigenMatrix<float> Xf, cf;
  Matrix<double> A;  // r x r
  double top = 1;
  EigenMatrix<double> lacks, four, columns;  // of a nearly complete sample: E, four rows of it, as many columns of E E'
  Matrix<float> weighted, gram;              // sqrt(w) o B_P and its Gram
  Matrix<double> exact_weighted, exact_gram;
  Vector<double> c_local, penalty, s_local, order, roots;
  Vector<std::int32_t> outside, rows;
  std::vector<Sample> samples = std::vector<Sample>(static_cast<std::size_t>(kBlock));
};

struct Worst : Largest {
  int rounds = 0;
  Worst& operator+=(const Worst& other) {
    Largest::operator+=(other);
    rounds = std::max(rounds, other.rounds);
    return *this;
  }
};

/// out_t = w_t b_(i_t) for `count` rows i of m
template <class U>
PACEWISE_WIDE_TEMPLATE void weigh_rows(const U* b, const std::int32_t* rows, const double* w, Index count, Index m,
                                       U* __restrict out) {
  if (count == m)
    for (Index t = 0; t < m; ++t) out[t] = static_cast<U>(w[t]) * b[t];
  else
    for (Index t = 0; t < count; ++t) out[t] = static_cast<U>(w[t]) * b[rows[t]];
}

/// C (r x 4) = E Y' with E r x few and Y 4 x few, few a multiple of 4. Products this narrow cost a BLAS four times as
/// much.
PACEWISE_WIDE_VECTORS void multiply_four(const double* E, Index r, Index few, const double* Y, double* __restrict C) {
  double *c0 = C, *c1 = c0 + r, *c2 = c1 + r, *c3 = c2 + r;
  for (Index i = 0; i < 4 * r; ++i) C[i] = 0;
  for (Index t = 0; t < few; t += 4) {
    const double *e0 = E + t * r, *e1 = e0 + r, *e2 = e1 + r, *e3 = e2 + r, *y = Y + 4 * t;
    for (Index i = 0; i < r; ++i) {
      c0[i] += e0[i] * y[0] + e1[i] * y[4] + e2[i] * y[8] + e3[i] * y[12];
      c1[i] += e0[i] * y[1] + e1[i] * y[5] + e2[i] * y[9] + e3[i] * y[13];
      c2[i] += e0[i] * y[2] + e1[i] * y[6] + e2[i] * y[10] + e3[i] * y[14];
      c3[i] += e0[i] * y[3] + e1[i] * y[7] + e2[i] * y[11] + e3[i] * y[15];
    }
  }
}

template <class T>
class Separable {
 public:
  Separable(const CodesProblem<T>& problem, MatrixView<const double> B, const CodeTerms<T>& terms,
            const StepOptions& options)
      : p_(problem), B_(B), terms_(terms), tol_(options.tol), rounds_(options.max_rounds), tuning_(options.tuning) {
    const Weights<T>& w = problem.weights;
    // one Gram matrix serves all: with weights of samples, c and the penalties are divided by them
    shared_ = w.entry.empty() && (all_one(w.sample) || terms.separable_only());
    float_data_ = shared_ && tol_ >= tuning_.float_data;
    G_.resize(B.cols, B.cols);
    eigen(G_) = feature_gram<double>(B, w.feature);
    if (shared_ && !terms.separable_only()) eigen(G_) += eigen(terms.quadratic());
    if (shared_ && !float_data_) return;
    single_.resize_for_overwrite(B.rows, B.cols);
    eigen(single_) = eigen(B).template cast<float>();
    if (!w.entry.empty()) rows_ = eigen(B).transpose();
  }

  Worst solve_block(Index first, Index count, Matrix<T>& S, Scratch& scratch) const {
    load(first, count, scratch);
    return shared_ ? solve_shared(first, count, S, scratch) : solve_weighted(first, count, S, scratch);
  }

 private:
  double sample_weight(Index j) const {
    return p_.weights.sample.empty() ? 1 : static_cast<double>(p_.weights.sample[j]);
  }

  /// X <- the block, c <- B'(w v X)
  void load(Index first, Index count, Scratch& scratch) const {
    if (float_data_) {
      if (scratch.c.empty()) scratch.c.resize(B_.cols, kBlock);
      scratch.Xf = eigen(p_.X.columns(first, count)).template cast<float>();
      for (Index j = 0; j < count; ++j) weigh(p_.weights, first + j, scratch.Xf.col(j).data(), B_.rows);
      scratch.cf.noalias() = eigen(single_).transpose() * scratch.Xf;
      eigen(scratch.c.view().columns(0, count)) = scratch.cf.cast<double>();
      return;
    }
    if (scratch.X.empty()) {
      scratch.X.resize(B_.rows, kBlock);
      scratch.c.resize(B_.cols, kBlock);
      if (!shared_) {
        scratch.S.resize(B_.cols, kBlock);
        scratch.N.resize(B_.cols, kBlock);
      }
    }
    const auto X = scratch.X.view().columns(0, count);
    eigen(X) = eigen(p_.X.columns(first, count)).template cast<double>();
    for (Index j = 0; j < count; ++j) weigh(p_.weights, first + j, X.col(j), X.rows);
    eigen(scratch.c.view().columns(0, count)).noalias() = eigen(B_).transpose() * eigen(X);
  }

  double tolerance(double scale) const { return std::max(tol_, 1e-13) * scale; }
  double scale_of(const double* c) const { return 2 * max_norm(c, B_.cols); }

  Worst solve_shared(Index first, Index count, Matrix<T>& S, Scratch& scratch) const {
    Worst worst;
    const Index r = B_.cols;
    for (Index j = 0; j < count; ++j) {
      double* c = scratch.c.col(j);
      const double scale = scale_of(c), weight = sample_weight(first + j);
      worst.scale = std::max(worst.scale, scale);
      T* s = S.col(first + j);
      if (!(weight > 0)) {  // nothing but the penalty is left
        for (Index k = 0; k < r; ++k)
          if (terms_.penalty()[k] > 0) s[k] = 0;
        continue;
      }
      terms_.add_linear(first + j, c);
      for (Index k = 0; k < r; ++k) {
        c[k] /= weight;
        scratch.penalty[k] = terms_.penalty()[k] / weight;
        scratch.s_local[k] = static_cast<double>(s[k]);
      }
      const Lasso lasso{G_, c, scratch.penalty.data(), terms_.positive(), tolerance(scale) / weight};
      const double residual = scratch.path.solve(lasso, scratch.s_local.data());
      worst.gap = std::max(worst.gap, weight * finish(lasso, residual, scratch.s_local.data(), s, scratch));
    }
    worst.rounds = 1;
    return worst;
  }

  /// The solution as T has it, and its KKT residual
  double finish(const Lasso& l, double residual, const double* s, T* out, Scratch& scratch) const {
    for (Index k = 0; k < B_.cols; ++k) out[k] = static_cast<T>(s[k]);
    if constexpr (std::is_same_v<T, double>) return residual;
    auto g = eigen(scratch.c_local);
    g = -Eigen::Map<const Eigen::VectorXd>(l.c, B_.cols);
    for (Index k = 0; k < B_.cols; ++k)
      if (out[k] != T(0)) g += static_cast<double>(out[k]) * eigen(l.A).col(k);
    double most = 0;
    for (Index k = 0; k < B_.cols; ++k)
      most = std::max(most, kkt_distance(2 * g[k], static_cast<double>(out[k]), l.penalty[k], l.positive));
    return most;
  }

  /// Whether nearly all entries of sample j have its largest weight. Then
  ///   A_j = top G + C - E E',  E = (sqrt(w_top - w_i) b_i') over the few rows i that have less  (r x few).
  bool nearly_complete(Index j, Scratch& scratch) const {
    const Weights<T>& w = p_.weights;
    const double v = sample_weight(j);
    scratch.top = v;
    scratch.lacks.resize(B_.cols, 0);
    if (w.entry.empty()) return true;
    const T* entry = w.entry.col(j);
    const T most = *std::max_element(entry, entry + B_.rows);
    Index few = 0;
    for (Index i = 0; i < B_.rows; ++i) {
      scratch.rows[few] = static_cast<std::int32_t>(i);
      few += entry[i] < most ? 1 : 0;
    }
    if (static_cast<double>(few) > tuning_.nearly_complete * static_cast<double>(B_.rows)) return false;
    scratch.top = v * static_cast<double>(most);
    scratch.lacks.resize(B_.cols, (few + 3) / 4 * 4);
    scratch.lacks.rightCols(scratch.lacks.cols() - few).setZero();
    for (Index t = 0; t < few; ++t) {
      const Index i = scratch.rows[t];
      const double f = w.feature.empty() ? 1 : static_cast<double>(w.feature[i]);
      scratch.lacks.col(t) = std::sqrt(f * (scratch.top - v * static_cast<double>(entry[i]))) * rows_.col(i);
    }
    return true;
  }

  /// By the path, for which columns of A_j are made as atoms join. Returns the KKT residual.
  double solve_nearly_complete(const Sample& sample, const double* c, double* s, T* out, Scratch& scratch) const {
    if (!(scratch.top > 0) && terms_.separable_only()) {  // nothing but the penalty is left
      for (Index k = 0; k < B_.cols; ++k)
        if (terms_.penalty()[k] > 0) out[k] = 0;
      return 0;
    }
    if (scratch.A.empty()) scratch.A.resize(B_.cols, B_.cols);
    scratch.columns.resize(B_.cols, 4);
    scratch.four.setZero(4, scratch.lacks.cols());
    const EigenMatrix<double>& E = scratch.lacks;
    EigenMatrix<double>&Y = scratch.four, &EY = scratch.columns;
    const auto columns = [&](std::span<const std::int32_t> atoms) {
      for (; !atoms.empty(); atoms = atoms.subspan(std::min<std::size_t>(4, atoms.size()))) {
        const auto four = atoms.first(std::min<std::size_t>(4, atoms.size()));
        for (Index l = 0; const Index k : four) Y.row(l++) = E.row(k);
        multiply_four(E.data(), E.rows(), E.cols(), Y.data(), EY.data());
        for (Index l = 0; const Index k : four) {
          auto column = eigen(scratch.A).col(k);
          column = scratch.top * eigen(G_).col(k) - EY.col(l++);
          if (!terms_.separable_only()) column += eigen(terms_.quadratic()).col(k);
        }
      }
    };
    const Lasso lasso{scratch.A, c, terms_.penalty().data(), terms_.positive(), sample.tol, columns};
    return finish(lasso, scratch.path.solve(lasso, s), s, out, scratch);
  }

  /// Where samples have Gram matrices A_j of their own, and are not nearly complete: a working set of atoms by a path
  /// with the mean weight, the lasso on it with A_PP to float precision, then, until the exact gradient of the samples
  /// left says so, again with
  ///   c_P = A_PP s_P + N_P,   N = B'(w v (x - B s)) + gamma Q'h - C s,
  /// so that rounding of A costs rounds, not exactness. Atoms that break their bound join.
  Worst solve_weighted(Index first, Index count, Matrix<T>& S, Scratch& scratch) const {
    Worst worst;
    const Index r = B_.cols;
    Index left = 0;
    for (Index at = 0; at < count; ++at) {
      Sample& sample = scratch.samples[static_cast<std::size_t>(left)];
      double *s = scratch.S.col(left), *c = scratch.c.col(at);
      const double scale = scale_of(c);
      worst.scale = std::max(worst.scale, scale);
      sample.j = first + at;
      sample.tol = tolerance(scale);
      sample.exact = false;
      sample.A.resize(0, 0);
      sample.P.clear();
      for (Index k = 0; k < r; ++k) s[k] = static_cast<double>(S(k, sample.j));
      if (nearly_complete(sample.j, scratch)) {
        terms_.add_linear(sample.j, c);
        worst.gap = std::max(worst.gap, solve_nearly_complete(sample, c, s, S.col(sample.j), scratch));
        continue;
      }
      ++left;
      for (Index k = 0; k < r; ++k)
        if (s[k] != 0) sample.P.push_back(static_cast<std::int32_t>(k));
      if (!sample.P.empty()) continue;
      terms_.add_linear(sample.j, c);
      solve_mean(sample, c, s, scratch);
      solve_working_set(sample, s, c, scratch);
    }
    while (left > 0) {
      gradient(left, scratch);
      const int round = worst.rounds++;
      for (Index at = left - 1; at >= 0; --at) {
        Sample& sample = scratch.samples[static_cast<std::size_t>(at)];
        double *s = scratch.S.col(at), *N = scratch.N.col(at);
        const double before = sample.residual;
        sample.residual = join_violators(sample, s, N, scratch);
        // solved, or as near as T has numbers
        const bool stuck = round > 2 * static_cast<int>(tuning_.patience) && sample.residual > tuning_.stalled * before;
        if (sample.residual <= sample.tol || stuck || round + 1 >= rounds_) {
          worst.gap = std::max(worst.gap, sample.residual);
          for (Index k = 0; k < r; ++k) S(k, sample.j) = static_cast<T>(s[k]);
          --left;
          std::copy_n(scratch.S.col(left), r, s);
          std::swap(sample, scratch.samples[static_cast<std::size_t>(left)]);
          continue;
        }
        if (round == static_cast<int>(tuning_.patience)) {  // float does not lead on
          sample.exact = true;
          sample.A.resize(0, 0);
        }
        add_own(sample, s, N, scratch);
        solve_working_set(sample, s, N, scratch);
      }
    }
    return worst;
  }

  /// s <- the solution with w v replaced by its mean over the features; the working set: its support and the atoms
  /// nearest to their bound
  void solve_mean(Sample& sample, const double* c, double* s, Scratch& scratch) const {
    const Index r = B_.cols;
    double mean = sample_weight(sample.j);
    const auto entry = eigen(p_.weights.entry).col(sample.j).template cast<double>();
    if (p_.weights.feature.empty()) {
      mean *= entry.mean();
    } else {
      const Eigen::Map<const Eigen::VectorX<T>> feature(p_.weights.feature.data(), B_.rows);
      const auto all = static_cast<double>(feature.sum());
      mean *= all > 0 ? entry.dot(feature.template cast<double>()) / all : 0;
    }
    if (!(mean > 0) && terms_.separable_only()) return;
    const double unit = terms_.separable_only() ? mean : 1;
    if (!terms_.separable_only()) {
      if (scratch.A.empty()) scratch.A.resize(r, r);
      eigen(scratch.A) = mean * eigen(G_) + eigen(terms_.quadratic());
    }
    for (Index k = 0; k < r; ++k) {
      scratch.c_local[k] = c[k] / unit;
      scratch.penalty[k] = terms_.penalty()[k] / unit;
    }
    const MatrixView<const double> A = terms_.separable_only() ? G_.view() : scratch.A.view();
    const Lasso lasso{A, scratch.c_local.data(), scratch.penalty.data(), terms_.positive(), 1e-3 * scale_of(c) / unit};
    scratch.path.solve(lasso, s);
    for (Index k = 0; k < r; ++k) {
      if (s[k] != 0) sample.P.push_back(static_cast<std::int32_t>(k));
      scratch.order[k] = s[k] != 0 ? 0 : scratch.penalty[k] - scratch.path.pull(k);
    }
    join_first(sample, scratch, [&](std::int32_t k) { return s[k] == 0; });
  }

  /// N <- B'(w v (X - B S)) - C S + gamma Q'H of the samples that are left
  void gradient(Index left, Scratch& scratch) const {
    const auto X = scratch.X.view().columns(0, left);
    const auto N = scratch.N.view().columns(0, left);
    const auto S = scratch.S.view().columns(0, left);
    const auto sample = [&](Index at) { return scratch.samples[static_cast<std::size_t>(at)].j; };
    for (Index at = 0; at < left; ++at) std::copy_n(p_.X.col(sample(at)), X.rows, X.col(at));
    subtract_product<double>(B_, S, X);
    for (Index at = 0; at < left; ++at) weigh(p_.weights, sample(at), X.col(at), X.rows);
    eigen(N).noalias() = eigen(B_).transpose() * eigen(X);
    if (!terms_.separable_only()) eigen(N).noalias() -= eigen(terms_.quadratic()) * eigen(S);
    for (Index at = 0; at < left; ++at) terms_.add_linear(sample(at), N.col(at));
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

  void form_gram(Sample& sample, Scratch& scratch) const {
    if (!sample.A.empty()) return;
    if (sample.exact)
      form_gram<double>(sample, B_, scratch.exact_weighted, scratch.exact_gram, scratch);
    else
      form_gram<float>(sample, single_, scratch.weighted, scratch.gram, scratch);
  }

  /// A_PP = B_P' diag(w v) B_P + C_PP
  template <class U>
  void form_gram(Sample& sample, MatrixView<const U> B, Matrix<U>& rows_of, Matrix<U>& gram_of,
                 Scratch& scratch) const {
    const auto p = static_cast<Index>(sample.P.size());
    const Index m = B_.rows;
    const Weights<T>& weights = p_.weights;
    Index rows = 0;  // those that count, and the roots of their weights
    for (Index i = 0; i < m; ++i) {
      const double f = weights.feature.empty() ? 1 : static_cast<double>(weights.feature[i]);
      const double w = sample_weight(sample.j) * f * static_cast<double>(weights.entry(i, sample.j));
      scratch.rows[rows] = static_cast<std::int32_t>(i);
      scratch.roots[rows] = w;
      rows += w > 0 ? 1 : 0;
    }
    for (Index at = 0; at < rows; ++at) scratch.roots[at] = std::sqrt(scratch.roots[at]);
    if (rows_of.empty()) {
      rows_of.resize_for_overwrite(m, B_.cols);
      gram_of.resize(B_.cols, B_.cols);
    }
    const MatrixView<U> weighted(rows_of.data(), rows, p), gram_view(gram_of.data(), p, p);
    for (Index at = 0; at < p; ++at)
      weigh_rows(B.col(sample.P[at]), scratch.rows.data(), scratch.roots.data(), rows, m, weighted.col(at));
    gram<U>(Op::transposed, 1, weighted, 0, gram_view);
    sample.A.resize_for_overwrite(p, p);
    double largest = 0;
    for (Index l = 0; l < p; ++l) {
      double* out = sample.A.col(l);
      const U* own = gram_view.col(l);
      for (Index k = 0; k < p; ++k) out[k] = static_cast<double>(own[k]);
      if (!terms_.separable_only())
        for (Index k = 0; k < p; ++k) out[k] += terms_.quadratic()(sample.P[k], sample.P[l]);
      largest = std::max(largest, out[l]);
    }
    // what rounding to float took from the diagonal; it slows the rounds by next to nothing and moves no solution
    const double ridge = (std::is_same_v<U, float> ? tuning_.float_ridge : 1e-14) * largest;
    for (Index l = 0; l < p; ++l) sample.A(l, l) += ridge;
  }

  const CodesProblem<T>& p_;
  MatrixView<const double> B_;
  const CodeTerms<T>& terms_;
  double tol_;
  int rounds_;
  const Tuning& tuning_;
  Matrix<double> G_;          // B' diag(feature) B
  Matrix<float> single_;      // B
  EigenMatrix<double> rows_;  // B'
  bool shared_ = true;
  bool float_data_ = false;  // B'X in float
};

}  // namespace

template <class T>
StepReport solve_separable(const CodesProblem<T>& problem, MatrixView<const double> B, const CodeTerms<T>& terms,
                           Matrix<T>& S, const StepOptions& options, const Control& control) {
  const SerialBlas serial;
  const Separable<T> step(problem, B, terms, options);
  Vector<std::unique_ptr<Scratch>> scratch(thread_count(control));
  Vector<Worst> worst(thread_count(control), {});
  parallel_for(S.cols(), control, [&](Index first, Index count, int worker) {
    if (!scratch[worker]) scratch[worker] = std::make_unique<Scratch>(B.rows, S.rows(), options.tuning);
    worst[worker] += step.solve_block(first, count, S, *scratch[worker]);
  });
  Worst all;
  for (const Worst& one : worst) all += one;
  const double certificate = all.relative();
  return {certificate, all.rounds, certificate <= options.tol && !control.stop()};
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

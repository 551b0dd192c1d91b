#include "solve/dictionary.hpp"

#include <Eigen/Cholesky>
#include <cmath>

#include "algebra/simd.hpp"
#include "solve/code_terms.hpp"
#include "solve/residual.hpp"

namespace pacewise {
namespace {

Index pair_index(Index k, Index l) { return k >= l ? k * (k + 1) / 2 + l : l * (l + 1) / 2 + k; }

/// u -= M o d, M in float
PACEWISE_WIDE_VECTORS void subtract_weighted(double* u, const float* M, const double* d, Index m) {
  for (Index i = 0; i < m; ++i) u[i] -= static_cast<double>(M[i]) * d[i];
}

/// b <- argmin sum_i h_i (b_i - a_i)^2 with h a given, over |b| <= 1 (and b >= 0): b_i = (h a)_i / (h_i + lambda), with
/// the multiplier lambda >= 0 from |b| = 1, by Newton's method on 1/|b|, which is concave in lambda.
void solve_atom(const Eigen::VectorXd& h, Eigen::VectorXd ha, bool positive, double& lambda,
                Eigen::Ref<Eigen::VectorXd> b) {
  if (positive) ha = ha.cwiseMax(0.0);
  double norm = 0, slope = 0;  // |b| and -d|b| / d lambda
  const auto set_norm = [&](double at) {
    const Eigen::ArrayXd d = h.array() + at, x = (d > 0).select(ha.array() / d, 0.0);
    norm = x.matrix().norm();
    slope = norm > 0 ? (d > 0).select(x.square() / d, 0.0).sum() / norm : 0;
  };
  set_norm(0);
  if (norm <= 1 && (h.array() > 0 || ha.array() == 0).all()) {
    lambda = 0;
  } else {
    lambda = std::max(lambda, 0.0);
    double low = 0, high = std::numeric_limits<double>::infinity();
    for (int step = 0; step < 60; ++step) {
      set_norm(lambda);
      if (std::abs(norm - 1) <= 1e-15) break;
      (norm > 1 ? low : high) = lambda;
      double next = lambda + norm * (norm - 1) / slope;  // Newton on 1/|b| - 1
      if (!(next > low)) next = std::isinf(high) ? 2 * low + 1 : (low + high) / 2;
      if (!(next < high)) next = (low + high) / 2;
      if (next == lambda) break;
      lambda = next;
    }
  }
  b = (h.array() + lambda > 0).select(ha.array() / (h.array() + lambda), b.array());
  const double length = b.norm();
  if (length > 1) b /= length;
}

/// Anderson's mixture of past sweeps: with residuals f_t = sweep(x_t) - x_t the point sum c_t sweep(x_t) whose mixed
/// residual is least, sum c_t = 1.
class SweepMixture {
 public:
  explicit SweepMixture(const Tuning& tuning) : tuning_(tuning) {}

  EigenMatrix<double> operator()(const EigenMatrix<double>& from, const EigenMatrix<double>& to) {
    const auto room = static_cast<Index>(tuning_.mixing) + 1;
    points_.resize(to.size(), room);  // keeps what is there
    moves_.resize(to.size(), room);
    products_.resize(room, room);
    const Index slot = made_++ % room, size = std::min(made_, room);
    points_.col(slot) = to.reshaped();
    moves_.col(slot) = (to - from).reshaped();
    products_.col(slot).head(size).noalias() = moves_.leftCols(size).transpose() * moves_.col(slot);
    products_.row(slot) = products_.col(slot).transpose();
    EigenMatrix<double> gram = products_.topLeftCorner(size, size);
    gram.diagonal().array() += tuning_.mixing_ridge * gram.trace() / static_cast<double>(size);
    const Eigen::VectorXd c = gram.ldlt().solve(Eigen::VectorXd::Ones(size));
    const double total = c.sum();
    if (!std::isfinite(total) || !(std::abs(total) > 0)) return to;
    EigenMatrix<double> mixed = to;  // by differences: an atom that never moves keeps its bits
    for (Index a = 0; a < size; ++a) mixed.reshaped() += (c[a] / total) * (points_.col(a) - points_.col(slot));
    return mixed;
  }
  void forget() { made_ = 0; }

 private:
  const Tuning& tuning_;
  Index made_ = 0;
  EigenMatrix<double> points_, moves_;
  EigenMatrix<double> products_;  // <f_s, f_t>
};

}  // namespace

double Curvature::largest(Index k) const {
  return diagonals.size() == 0 ? A(k, k) * f.maxCoeff() : diagonals.col(k).maxCoeff();
}

bool Curvature::nearly_bound(double share) const {
  return (diagonals.rowwise().sum().array() >= share * A.trace() * f.array()).all() &&
         (diagonals.colwise().sum().transpose().array() >= share * f.sum() * A.diagonal().array()).all();
}

Curvature& Curvature::operator+=(const Curvature& other) {
  A += other.A;
  f = f.cwiseMax(other.f);
  diagonals += other.diagonals;
  matched = matched && other.matched;
  if (other.rows.empty()) rows = Matrix<float>();
  if (!rows.empty()) eigen(rows) += eigen(other.rows);
  return *this;
}

void project_atoms(EigenMatrix<double>& B, bool positive) {
  if (positive) B = B.cwiseMax(0.0);
  for (Index k = 0; k < B.cols(); ++k)
    if (const double norm = B.col(k).norm(); norm > 1) B.col(k) /= norm;
}

void revive_atoms(const Vector<char>& used, Vector<double> chance,
                  const std::function<Eigen::VectorXd(Index sample)>& sample, bool positive, Random& random,
                  EigenMatrix<double>& B) {
  for (Index k = 0; k < B.cols(); ++k) {
    if (used[k] != 0) continue;
    const Index j = random.draw(chance);
    if (j < 0) break;
    chance[j] = 0;
    Eigen::VectorXd atom = sample(j);
    if (positive) atom = atom.cwiseMax(0.0);
    const double norm = atom.norm();
    B.col(k) = atom / (norm > 0 ? norm : 1);
  }
}

void sweep_atoms(const Curvature& curvature, const EigenMatrix<double>& N, bool positive, int sweeps, double goal,
                 EigenMatrix<double>& B, const Tuning& tuning, const Control& control) {
  const Index m = B.rows(), r = B.cols();
  const EigenMatrix<double> start = B;
  const bool rows = !curvature.rows.empty();
  Eigen::VectorXd h(m), root = Eigen::VectorXd::Ones(m);
  const auto choose = [&](Index k) {  // h: (M_i)_kk of the model, root: t
    if (rows || curvature.matched)
      h = curvature.diagonals.col(k);
    else
      h = curvature.f * curvature.A(k, k);
    if (!rows) root = (h / std::max(curvature.A(k, k), 1e-300)).cwiseSqrt();
    return h.maxCoeff() > 0;
  };
  constexpr Index kPanel = 16;
  EigenMatrix<double> U, D = EigenMatrix<double>::Zero(m, r);  // root o (B - start)
  Eigen::VectorXd multipliers = Eigen::VectorXd::Zero(r), u(m), b(m);
  SweepMixture mix(tuning);
  double last = std::numeric_limits<double>::infinity();
  for (int sweep = 0; sweep < sweeps && !control.stop(); ++sweep) {
    const EigenMatrix<double> from = B;
    double moved = 0;
    for (Index k = 0; k < r; ++k) {
      const Index first = k / kPanel * kPanel, here = std::min(kPanel, r - first),
                  begun = sweep == 0 ? k - first : here;
      if (!rows && k == first) {  // D A_:P of the other atoms, for a panel P of atoms in one product
        U.noalias() = D.leftCols(first) * curvature.A.block(0, first, first, here);
        if (const Index after = r - first - here; sweep > 0 && after > 0)
          U.noalias() += D.rightCols(after) * curvature.A.block(first + here, first, after, here);
      }
      if (!choose(k)) continue;
      u = N.col(k);  // half the negative gradient at start + D
      if (!rows)
        u -=
            root.cwiseProduct(U.col(k - first) + D.middleCols(first, begun) * curvature.A.col(k).segment(first, begun));
      for (Index l = 0; l < r && rows; ++l)
        subtract_weighted(u.data(), curvature.rows.col(pair_index(k, l)), D.col(l).data(), m);
      b = B.col(k);
      solve_atom(h, u + h.cwiseProduct(b), positive, multipliers[k], b);
      moved = std::max(moved, (b - B.col(k)).norm());
      B.col(k) = b;
      D.col(k) = root.cwiseProduct(b - start.col(k));
    }
    if (moved <= goal) break;
    if (sweep + 1 == sweeps || sweeps <= static_cast<int>(tuning.mixing)) continue;
    if (moved > 2 * last) mix.forget();
    last = moved;
    B = mix(from, B);
    project_atoms(B, positive);
    for (Index k = 0; k < r; ++k)
      if (choose(k)) D.col(k) = root.cwiseProduct(B.col(k) - start.col(k));
  }
}

double dictionary_residual(const Curvature& curvature, const EigenMatrix<double>& N, bool positive,
                           const EigenMatrix<double>& B) {
  double worst = 0;
  for (Index k = 0; k < B.cols(); ++k) {
    const double c = curvature.largest(k);
    if (!(c > 0)) continue;
    EigenMatrix<double> moved = B.col(k) + N.col(k) / c;
    project_atoms(moved, positive);
    worst = std::max(worst, (B.col(k) - moved).norm());
  }
  return worst;
}

DictionaryReport solve_dictionary(const std::function<Curvature(bool rows)>& curvature_of,
                                  const std::function<DictionaryGradient(const EigenMatrix<double>& B)>& gradient,
                                  bool positive, EigenMatrix<double>& B, const StepOptions& options,
                                  const Control& control) {
  const SerialBlas serial;
  const Tuning& tuning = options.tuning;
  project_atoms(B, positive);
  DictionaryReport report;
  Curvature curvature = curvature_of(false);
  if (curvature.diagonals.size() > 0 && !curvature.matched) curvature = curvature_of(true);
  EigenMatrix<double> best = B;
  Progress progress;
  double ceiling = progress.best, last = progress.best;
  while (true) {
    const DictionaryGradient at = gradient(B);
    if (control.stop()) break;
    if (std::isinf(ceiling)) ceiling = at.fit * (1 + 1e-12);
    const double residual = dictionary_residual(curvature, at.N, positive, B);
    if (progress.improves(residual, at.fit <= ceiling, tuning)) {
      best = B;
      report.fit = at.fit;
    }
    report.certificate = progress.best;
    report.converged = progress.best <= options.tol;
    if (report.converged || progress.stalled(tuning) || report.rounds >= options.max_rounds) break;
    ++report.rounds;
    // at this rate, more than `patience` rounds to go
    if (curvature.matched && report.rounds > 1 &&
        !(std::pow(residual / last, tuning.patience) * residual <= options.tol && at.fit <= ceiling)) {
      curvature = curvature_of(true);
      B = best;
      progress.waited = 0;
      continue;
    }
    last = residual;
    const double share = curvature.matched ? tuning.inner_share : tuning.sweep_share;
    const double goal = std::max(options.tol / 4, share * residual);
    sweep_atoms(curvature, at.N, positive, static_cast<int>(tuning.dictionary_sweeps), goal, B, tuning, control);
  }
  B = best;
  return report;
}

template <class T>
DictionaryGradient dictionary_gradient(const DictionaryProblem<T>& p, const EigenMatrix<double>& B,
                                       const Control& control) {
  const SerialBlas serial;
  const Index m = p.X.rows, r = p.S.rows;
  return parallel_sum(
      p.X.cols, control, DictionaryGradient{EigenMatrix<double>::Zero(m, r), 0.0},
      [&](Index first, Index count, int, DictionaryGradient& sum) {
        EigenMatrix<double> R = eigen(p.X.columns(first, count)).template cast<double>();
        const EigenMatrix<double> s = eigen(p.S.columns(first, count)).template cast<double>();
        subtract_product<double>({B.data(), m, r}, {s.data(), r, count}, {R.data(), m, count});
        const EigenMatrix<double> plain = R;
        for (Index j = 0; j < count; ++j) weigh(p.weights, first + j, R.col(j).data(), m);
        sum.fit += plain.cwiseProduct(R).sum();
        sum.N.noalias() += R * s.transpose();
      },
      4 * kBlock, 8);
}

/// Row Grams (M_i)_kl = sum_j w_ij s_kj s_lj, in pieces of samples: for atom k over the samples that use it
template <class T>
void add_row_grams(const DictionaryProblem<T>& p, Matrix<float>& rows, const Control& control) {
  constexpr Index piece = 512;
  for (Index first = 0; first < p.X.cols && !control.stop(); first += piece) {
    const Index count = std::min(piece, p.X.cols - first);
    EigenMatrix<float> W = EigenMatrix<float>::Ones(p.X.rows, count);
    for (Index j = 0; j < count; ++j) weigh(p.weights, first + j, W.col(j).data(), W.rows());
    const EigenMatrix<float> S = eigen(p.S.columns(first, count)).template cast<float>().transpose();
    parallel_for(
        S.cols(), control.to_the_end(),
        [&](Index k, Index, int) {
          std::vector<Index> P;
          for (Index j = 0; j < count; ++j)
            if (S(j, k) != 0) P.push_back(j);
          const EigenMatrix<float> w = W(Eigen::all, P);
          const EigenMatrix<float> pairs = Eigen::VectorXf(S(P, k)).asDiagonal() * S(P, Eigen::seqN(0, k + 1));
          eigen(rows).middleCols(pair_index(k, 0), k + 1).noalias() += w * pairs;
        },
        1);
  }
}

/// sum_j w_ij s_kj^2, m x r
template <class T>
EigenMatrix<double> row_diagonals(const DictionaryProblem<T>& p, const Control& control) {
  return parallel_sum(
      p.X.cols, control, EigenMatrix<double>(EigenMatrix<double>::Zero(p.X.rows, p.S.rows)),
      [&](Index first, Index count, int, EigenMatrix<double>& sum) {
        EigenMatrix<double> W = EigenMatrix<double>::Ones(p.X.rows, count);
        for (Index j = 0; j < count; ++j) weigh(p.weights, first + j, W.col(j).data(), p.X.rows);
        sum.noalias() += W * eigen(p.S.columns(first, count)).template cast<double>().cwiseAbs2().transpose();
      },
      kBlock, 8);
}

template <class T>
Curvature dictionary_curvature(const DictionaryProblem<T>& p, bool rows, const Tuning& tuning, const Control& control) {
  const SerialBlas serial;
  const Index m = p.X.rows;
  Curvature out;
  // A = S diag(sample) S', f_i = feature_i times the largest entry weight of row i
  out.A = sum_of_outer_products<T>(p.S, control, p.weights.sample);
  out.f = Eigen::VectorXd::Ones(m);
  for (Index i = 0; i < m && !p.weights.feature.empty(); ++i) out.f[i] = static_cast<double>(p.weights.feature[i]);
  if (p.weights.entry.empty()) return out;
  out.f = out.f.cwiseProduct(eigen(p.weights.entry).rowwise().maxCoeff().template cast<double>());
  out.diagonals = row_diagonals(p, control);
  out.matched = !rows && out.nearly_bound(1 - tuning.nearly_complete);
  const Index pairs = (out.A.size() + out.A.rows()) / 2;
  if (!rows || static_cast<double>(m * pairs) * sizeof(float) > tuning.row_gram_bytes) return out;
  out.rows.resize(m, pairs);
  add_row_grams(p, out.rows, control);
  return out;
}

template <class T>
DictionaryReport solve_dictionary(const DictionaryProblem<T>& p, Matrix<T>& B, const StepOptions& options,
                                  const Control& control) {
  EigenMatrix<double> wide = eigen(B).template cast<double>();
  const DictionaryReport report =
      solve_dictionary([&](bool rows) { return dictionary_curvature(p, rows, options.tuning, control); },
                       [&](const EigenMatrix<double>& at) { return dictionary_gradient(p, at, control); }, p.positive,
                       wide, options, control);
  eigen(B) = wide.template cast<T>();
  return report;
}

template <class T>
double dictionary_certificate(const DictionaryProblem<T>& p, const Matrix<T>& B, const Control& control) {
  const EigenMatrix<double> wide = eigen(B).template cast<double>();
  const Control whole = control.to_the_end();
  return dictionary_residual(dictionary_curvature(p, false, {}, whole), dictionary_gradient(p, wide, whole).N,
                             p.positive, wide);
}

#define PACEWISE_INSTANTIATE(T)                                                                                 \
  template DictionaryReport solve_dictionary<T>(const DictionaryProblem<T>&, Matrix<T>&, const StepOptions&,    \
                                                const Control&);                                                \
  template DictionaryGradient dictionary_gradient<T>(const DictionaryProblem<T>&, const EigenMatrix<double>&,   \
                                                     const Control&);                                           \
  template Curvature dictionary_curvature<T>(const DictionaryProblem<T>&, bool, const Tuning&, const Control&); \
  template double dictionary_certificate<T>(const DictionaryProblem<T>&, const Matrix<T>&, const Control&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

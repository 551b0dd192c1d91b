#include "solve/coupled.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "solve/lasso_path.hpp"
#include "solve/residual.hpp"

namespace pacewise {
namespace {

/// S, gradient and objective at S from the data, in double
template <class T>
class Evaluation {
 public:
  Evaluation(const CodesProblem<T>& problem, MatrixView<const double> B, const CodeTerms<T>& terms,
             const CoupledGraph& graph)
      : p_(problem), B_(B), terms_(terms), graph_(graph), place_(graph.samples()) {
    for (Index at = 0; at < graph.samples(); ++at) place_[graph.order_[at]] = at;
  }

  double objective = 0, residual = 0;  // at the S given last
  bool sparse() const { return *std::max_element(terms_.penalty().begin(), terms_.penalty().end()) > 0; }
  Matrix<double> slope;  // half the negative gradient at S less sign(s) p / 2, r x n, where asked for
  bool keep_slope = false;

  /// H D = B'(w v (B D)) + C D + alpha D L: half the Hessian times D
  EigenMatrix<double> hessian(const EigenMatrix<double>& D, const Control& control) const {
    EigenMatrix<double> out(D.rows(), D.cols());
    const Sparse& L = terms_.laplacian();
    parallel_for(D.cols(), control, [&](Index first, Index count, int) {
      EigenMatrix<double> R = eigen(B_) * D.middleCols(first, count);
      for (Index j = 0; j < count; ++j) weigh(p_.weights, first + j, R.col(j).data(), R.rows());
      out.middleCols(first, count).noalias() = eigen(B_).transpose() * R;
      if (!terms_.quadratic().empty())
        out.middleCols(first, count).noalias() += eigen(terms_.quadratic()) * D.middleCols(first, count);
      for (Index j = first; j < first + count; ++j)
        for (Index e = L.start[j]; e < L.start[j + 1]; ++e)
          out.col(j) += terms_.alpha() * L.value[e] * D.col(L.index[e]);
    });
    return out;
  }
  /// its diagonal
  EigenMatrix<double> diagonal(const Control& control) const {
    const Index r = B_.cols, n = p_.X.cols;
    EigenMatrix<double> out(r, n);
    const EigenMatrix<double> squares = eigen(B_).cwiseAbs2();
    const Sparse& L = terms_.laplacian();
    parallel_for(n, control, [&](Index first, Index count, int) {
      EigenMatrix<double> W = EigenMatrix<double>::Ones(B_.rows, count);
      for (Index j = 0; j < count; ++j) weigh(p_.weights, first + j, W.col(j).data(), B_.rows);
      out.middleCols(first, count).noalias() = squares.transpose() * W;
      for (Index j = first; j < first + count; ++j) {
        if (!terms_.quadratic().empty()) out.col(j) += eigen(terms_.quadratic()).diagonal();
        for (Index e = L.start[j]; e < L.start[j + 1]; ++e)
          if (L.index[e] == j) out.col(j).array() += terms_.alpha() * L.value[e];
      }
    });
    return out;
  }

  /// N (graph's order) <- half the negative gradient at S less sign(s) p / 2, to float
  void operator()(const Matrix<T>& S, Matrix<float>& N, const Control& control) {
    const Index r = S.rows();
    Vector<double> fit(S.cols(), 0.0), worst(thread_count(control), 0.0);
    Vector<Matrix<double>> scratch(thread_count(control), {});
    for_each_residual<double, T>(
        p_.X, B_, S, control, [&](Index first, MatrixView<double> R, MatrixView<const double> s, int worker) {
          if (scratch[worker].empty()) scratch[worker].resize_for_overwrite(r, kBlock);
          const MatrixView<double> G = scratch[worker].view().columns(0, R.cols);
          Vector<double> x(R.rows);
          for (Index j = 0; j < R.cols; ++j) {
            std::copy_n(R.col(j), R.rows, x.begin());
            weigh(p_.weights, first + j, R.col(j), R.rows);
            double sum = 0;
            for (Index i = 0; i < R.rows; ++i) sum += x[i] * R(i, j);
            fit[first + j] = sum;
          }
          eigen(G).noalias() = eigen(B_).transpose() * eigen(R);
          if (!terms_.quadratic().empty()) eigen(G).noalias() -= eigen(terms_.quadratic()) * eigen(s);
          for (Index j = 0; j < R.cols; ++j) {
            double* g = G.col(j);
            terms_.add_linear(first + j, g);
            terms_.add_laplacian(S, first + j, -terms_.alpha(), g);
            float* out = N.col(place_[first + j]);
            for (Index k = 0; k < r; ++k) {
              worst[worker] =
                  std::max(worst[worker], kkt_distance(-2 * g[k], s(k, j), terms_.penalty()[k], terms_.positive()));
              const double toward = s(k, j) == 0 ? 0 : std::copysign(terms_.penalty()[k] / 2, s(k, j));
              out[k] = static_cast<float>(g[k] - toward);
              if (keep_slope) slope(k, first + j) = g[k] - toward;
            }
          }
        });
    residual = *std::max_element(worst.begin(), worst.end());
    objective = std::accumulate(fit.begin(), fit.end(), 0.0) + terms_.value(S, control);
  }

 private:
  const CodesProblem<T>& p_;
  MatrixView<const double> B_;
  const CodeTerms<T>& terms_;
  const CoupledGraph& graph_;
  Vector<Index> place_;
};

/// The model about any point: A = B' diag(feature) B. With entry or sample weights delta matches the diagonal,
///   delta_kj^2 = (B o B)_k' (w v)_j / A_kk,   or, bounded = true, bounds it: delta_j^2 = max_i (w v)_ij.
template <class T>
CoupledModel model_of(const CodesProblem<T>& p, MatrixView<const double> B, const CodeTerms<T>& terms,
                      const CoupledGraph& graph, bool bounded, const Control& control) {
  const Index r = B.cols, n = p.X.cols;
  CoupledModel model{&graph, terms.alpha(), {}, {}, {}, terms.penalty(), terms.positive()};
  EigenMatrix<double> root = eigen(B);
  if (!p.weights.feature.empty())
    for (Index i = 0; i < B.rows; ++i) root.row(i) *= std::sqrt(static_cast<double>(p.weights.feature[i]));
  EigenMatrix<double> A = root.transpose() * root;
  const bool own = !p.weights.entry.empty() || !all_one(p.weights.sample);
  if (!own && !terms.quadratic().empty()) A += eigen(terms.quadratic());
  model.A.resize(r, r);
  eigen(model.A) = A.cast<float>();
  if (!own) return model;
  if (!terms.quadratic().empty()) {
    model.C.resize(r, r);
    eigen(model.C) = eigen(terms.quadratic()).template cast<float>();
  }
  model.delta.resize_for_overwrite(r, n);
  const EigenMatrix<double> squares = root.cwiseProduct(root);
  parallel_for(n, control.to_the_end(), [&](Index first, Index count, int) {
    EigenMatrix<double> w = EigenMatrix<double>::Ones(B.rows, count);
    for (Index at = 0; at < count; ++at) {
      const Index j = graph.order_[first + at];
      if (!p.weights.entry.empty())
        for (Index i = 0; i < B.rows; ++i) w(i, at) *= static_cast<double>(p.weights.entry(i, j));
      if (!p.weights.sample.empty()) w.col(at) *= static_cast<double>(p.weights.sample[j]);
    }
    const EigenMatrix<double> diagonal = squares.transpose() * w;
    for (Index at = 0; at < count; ++at)
      for (Index k = 0; k < r; ++k) {
        const double matched = A(k, k) > 0 ? diagonal(k, at) / A(k, k) : 0;
        model.delta(k, first + at) = static_cast<float>(std::sqrt(bounded ? w.col(at).maxCoeff() : matched));
      }
  });
  return model;
}

/// Where proximal steps crawl (near-duplicate atoms, weights of many sizes): conjugate gradients on the support,
///   (H D)_P = slope_P,
/// preconditioned by the diagonal; what changes its sign on the way becomes zero. True where the objective fell.
template <class T>
bool newton_step(Evaluation<T>& evaluate, const EigenMatrix<double>& diagonal, Matrix<float>& N, Matrix<T>& S,
                 bool positive, double goal, const Tuning& tuning, const Control& control) {
  const EigenMatrix<double> s = eigen(S).template cast<double>();
  const EigenMatrix<double> on = (s.array() != 0).template cast<double>();
  EigenMatrix<double> D = EigenMatrix<double>::Zero(s.rows(), s.cols()), R = eigen(evaluate.slope).cwiseProduct(on);
  const EigenMatrix<double> scale = on.array() / diagonal.array().max(1e-300);
  EigenMatrix<double> Z = R.cwiseProduct(scale), P = Z;
  double rz = R.cwiseProduct(Z).sum();
  for (int step = 0; step < static_cast<int>(tuning.newton_steps) && rz > 0 && !control.stop(); ++step) {
    if (2 * R.cwiseAbs().maxCoeff() <= goal) break;
    const EigenMatrix<double> H = evaluate.hessian(P, control).cwiseProduct(on);
    const double curvature = P.cwiseProduct(H).sum();
    if (!(curvature > 0)) break;
    D += (rz / curvature) * P;
    R -= (rz / curvature) * H;
    Z = R.cwiseProduct(scale);
    const double next = R.cwiseProduct(Z).sum();
    P = Z + (next / rz) * P;
    rz = next;
  }
  const double before = evaluate.objective, residual = evaluate.residual;
  // codes rounded to T may hide a fall of the objective, not one of the residual
  const double rounding = static_cast<double>(std::numeric_limits<T>::epsilon()) * std::abs(before);
  const Matrix<T> from = S;
  // all the way, with zeros for what turned; else as far as the first sign that turns, where the objective falls for
  // sure
  const bool signs = positive || evaluate.sparse();  // beta = 0 has none to keep
  double nearest = 1;
  for (Index i = 0; i < s.size() && signs; ++i)
    if (s.data()[i] * (s.data()[i] + D.data()[i]) < 0) nearest = std::min(nearest, -s.data()[i] / D.data()[i]);
  for (const double share : {1.0, nearest}) {
    EigenMatrix<double> to = s + share * D;
    if (signs) to = (to.array() * s.array() <= 1e-14 * s.array().square()).select(0.0, to.array());
    eigen(S) = to.template cast<T>();
    evaluate(S, N, control);
    if (evaluate.objective < before || (evaluate.objective < before + rounding && evaluate.residual < residual / 2))
      return true;
  }
  S = from;
  evaluate(S, N, control);
  return false;
}

/// The same, sample by sample: each one's codes exactly, with its neighbours fixed.
template <class T>
void sweep_samples(const CodesProblem<T>& p, MatrixView<const double> B, const CodeTerms<T>& terms, double tol,
                   Matrix<T>& S, const Tuning& tuning, const Control& control) {
  const Index r = B.cols, m = B.rows;
  const Sparse& L = terms.laplacian();
  LassoPath path(r, tuning);
  Matrix<double> A(r, r);
  Eigen::VectorXd c(r), w(m), s(r);
  for (Index j = 0; j < S.cols() && !control.stop(); ++j) {
    w.setOnes();
    weigh(p.weights, j, w.data(), m);
    eigen(A).noalias() = eigen(B).transpose() * w.asDiagonal() * eigen(B);
    if (!terms.quadratic().empty()) eigen(A) += eigen(terms.quadratic());
    c.noalias() = eigen(B).transpose() * w.cwiseProduct(eigen(p.X).col(j).template cast<double>());
    terms.add_linear(j, c.data());
    for (Index e = L.start[j]; e < L.start[j + 1]; ++e) {
      const Index i = L.index[e];
      const double tie = terms.alpha() * L.value[e];
      if (i == j)
        eigen(A).diagonal().array() += tie;
      else
        c -= tie * eigen(S).col(i).template cast<double>();
    }
    s = eigen(S).col(j).template cast<double>();
    path.solve({A, c.data(), terms.penalty().data(), terms.positive(), tol}, s.data());
    eigen(S).col(j) = s.template cast<T>();
  }
}

}  // namespace

template <class T>
StepReport solve_coupled(const CodesProblem<T>& p, MatrixView<const double> B, const CodeTerms<T>& terms,
                         const CoupledGraph& graph, double scale, Matrix<T>& S, const StepOptions& options,
                         const Control& control) {
  const SerialBlas serial;
  const Tuning& tuning = options.tuning;
  const Index r = S.rows(), n = S.cols();
  const double unit = scale > 0 ? scale : 1;
  const bool weighted = !p.weights.entry.empty() || !all_one(p.weights.sample);
  CoupledModel model = model_of(p, B, terms, graph, false, control);
  Evaluation<T> evaluate(p, B, terms, graph);
  Matrix<float> N(r, n), start(r, n), D;

  StepReport report;
  Matrix<T> best = S;
  double best_residual = std::numeric_limits<double>::infinity(), waited = 0, last = best_residual;
  EigenMatrix<double> diagonal;  // made where proximal steps crawl
  evaluate(S, N, control);
  const double ceiling =
      evaluate.objective + static_cast<double>(std::numeric_limits<T>::epsilon()) * std::abs(evaluate.objective);
  // keeps S where it is the best so far; whether that is good enough
  const auto solved = [&] {
    if (evaluate.residual < best_residual && evaluate.objective <= ceiling) {
      waited = evaluate.residual < tuning.stalled * best_residual ? 0 : waited + 1;
      best_residual = evaluate.residual;
      best = S;
    } else {
      ++waited;
    }
    report.certificate = best_residual / unit;
    report.converged = report.certificate <= options.tol;
    return report.converged;
  };
  while (!solved() && waited <= tuning.patience && report.rounds < options.max_rounds && !control.stop()) {
    ++report.rounds;
    if (evaluate.residual > tuning.crawls * last) {
      if (diagonal.size() == 0) {
        diagonal = evaluate.diagonal(control);
        evaluate.keep_slope = true;
        evaluate.slope.resize(r, n);
        evaluate(S, N, control);
      }
      if (waited > 1) {
        sweep_samples(p, B, terms, options.tol * unit / 4, S, tuning, control);
        evaluate(S, N, control);
        if (solved()) break;
      }
      for (int step = 0; step < static_cast<int>(tuning.newton_turns) && !control.stop(); ++step)
        if (!newton_step(evaluate, diagonal, N, S, terms.positive(), options.tol * unit / 8, tuning, control)) break;
      if (solved()) break;
    }
    last = evaluate.residual;
    for (Index at = 0; at < n; ++at)
      for (Index k = 0; k < r; ++k) start(k, at) = static_cast<float>(S(k, graph.order_[at]));
    const double goal =
        std::max(options.tol * unit / 2, (weighted ? tuning.inner_share : tuning.inner_exact) * evaluate.residual);
    minimise_model(model, start, N, static_cast<int>(tuning.coupled_passes), goal, D, tuning, control);
    // S + D, shortened where the weights' model promised too much
    const Matrix<T> from = S;
    const double before = evaluate.objective;
    double share = 1;
    for (;; share /= 2) {
      for (Index at = 0; at < n; ++at)
        for (Index k = 0; k < r; ++k) {
          const double s = static_cast<double>(from(k, graph.order_[at]));
          // where the model's code is zero, so is the sum
          const double d = static_cast<double>(D(k, at));
          const bool zero = share == 1 && D(k, at) == -start(k, at);
          S(k, graph.order_[at]) = zero ? T(0) : static_cast<T>(s + share * d);
        }
      evaluate(S, N, control);
      if (!weighted || evaluate.objective <= before + 1e-12 * std::abs(before) || share < 1.0 / 16) break;
    }
    if (weighted && share < 1) model = model_of(p, B, terms, graph, true, control);
  }
  S = std::move(best);
  return report;
}

template <class T>
void improve_coupled(const CheapCodes<T>& p, const CodeTerms<T>& terms, const CoupledGraph& graph, int passes,
                     Matrix<T>& S, const Control& control) {
  const Index r = S.rows(), n = S.cols();
  CoupledModel model{&graph, terms.alpha(), Matrix<float>(r, r), {}, {}, terms.penalty(), terms.positive()};
  EigenMatrix<double> A = p.bound * feature_gram(p.B, p.weights.feature);
  if (!terms.separable_only()) A += eigen(terms.quadratic());
  eigen(model.A) = A.cast<float>();
  const EigenMatrix<float> B = eigen(p.B).template cast<float>(), C = eigen(terms.quadratic()).template cast<float>();
  const Vector<float> penalty(terms.penalty().begin(), terms.penalty().end());
  Matrix<float> N, start, D;
  N.resize_for_overwrite(r, n);
  start.resize_for_overwrite(r, n);
  Vector<Index> place(n);
  for (Index at = 0; at < n; ++at) place[graph.order_[at]] = at;
  p.residuals([&](Index first, MatrixView<float> R, MatrixView<const float> s) {
    EigenMatrix<float> G = B.transpose() * eigen(R);
    if (!terms.separable_only()) G.noalias() -= C * eigen(s);
    for (Index j = 0; j < R.cols; ++j) {
      float *g = G.col(j).data(), *out = N.col(place[first + j]);
      terms.add_linear(first + j, g);
      for (Index k = 0; k < r; ++k) {
        const float slope = penalty[k] / 2;
        out[k] = g[k] - (s(k, j) > 0 ? slope : s(k, j) < 0 ? -slope : 0);
      }
      std::copy_n(s.col(j), r, start.col(place[first + j]));
    }
  });
  parallel_for(n, control, [&](Index first, Index count, int) {
    for (Index at = first; at < first + count; ++at)
      add_laplacian(graph, start, at, static_cast<float>(-terms.alpha()), N.col(at));
  });
  if (control.stop()) return;
  minimise_model(model, start, N, passes, 0, D, p.tuning, control);
  if (control.stop()) return;
  parallel_for(n, control.to_the_end(), [&](Index first, Index count, int) {
    for (Index at = first; at < first + count; ++at)
      for (Index k = 0; k < r; ++k) {
        T& s = S(k, graph.order_[at]);
        s = D(k, at) == -start(k, at) ? T(0) : s + static_cast<T>(D(k, at));
      }
  });
}

#define PACEWISE_INSTANTIATE(T)                                                                                      \
  template StepReport solve_coupled<T>(const CodesProblem<T>&, MatrixView<const double>, const CodeTerms<T>&,        \
                                       const CoupledGraph&, double, Matrix<T>&, const StepOptions&, const Control&); \
  template void improve_coupled<T>(const CheapCodes<T>&, const CodeTerms<T>&, const CoupledGraph&, int, Matrix<T>&,  \
                                   const Control&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

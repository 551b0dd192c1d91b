#include "solve/coupled.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "solve/lasso_path.hpp"
#include "solve/residual.hpp"

namespace pacewise {
namespace {

/// S, gradient and objective at S, in double: from the data where entries have weights of their own, else by way of
///   B'(w v (X - B S))_j = c_j - v_j A s_j,   c = B'(w v X),   A = B' diag(feature) B.
template <class T>
class Evaluation {
 public:
  Evaluation(const CodesProblem<T>& problem, MatrixView<const double> B, const CodeTerms<T>& terms,
             const Control& control)
      : A(feature_gram<double>(B, problem.weights.feature)),
        slope(B.cols, problem.X.cols),
        p_(problem),
        B_(B),
        terms_(terms),
        shared_(problem.weights.entry.empty()) {
    const Index m = B.rows, n = problem.X.cols;
    if (shared_) c_.resize(B.cols, n);
    energy_.resize(shared_ ? n : 0);
    Vector<double> most(thread_count(control), 0.0);
    parallel_for(n, control, [&](Index first, Index count, int worker) {
      EigenMatrix<double> X = eigen(p_.X.columns(first, count)).template cast<double>(), plain = X;
      for (Index j = 0; j < count; ++j) weigh(p_.weights, first + j, X.col(j).data(), m);
      const EigenMatrix<double> c = eigen(B_).transpose() * X;
      most[worker] = std::max(most[worker], 2 * c.cwiseAbs().maxCoeff());
      if (!shared_) return;
      c_.middleCols(first, count) = c;
      energy_.segment(first, count) = plain.cwiseProduct(X).colwise().sum();
    });
    scale = *std::max_element(most.begin(), most.end());
  }

  const EigenMatrix<double> A;
  double scale = 0;  // max |2 B'(w v X)|
  // at the S given last
  double objective = 0, residual = 0;
  EigenMatrix<double> slope;  // half the negative gradient less sign(s) p / 2, r x n
  bool signs() const { return terms_.positive() || eigen(terms_.penalty()).maxCoeff() > 0; }  // beta = 0 has none
  /// What rounding may do to the objective
  double rounding() const {
    return static_cast<double>(std::numeric_limits<T>::epsilon()) * (std::abs(objective) + energy_.sum());
  }

  /// H D = B'(w v (B D)) + C D + alpha D L: half the Hessian times D
  EigenMatrix<double> hessian(const EigenMatrix<double>& D, const Control& control) const {
    EigenMatrix<double> out(D.rows(), D.cols());
    const Sparse& L = terms_.laplacian();
    parallel_for(D.cols(), control, [&](Index first, Index count, int) {
      const auto d = D.middleCols(first, count);
      auto H = out.middleCols(first, count);
      if (shared_) {
        H.noalias() = A * d;
        weigh_samples(first, H);
      } else {
        EigenMatrix<double> R = eigen(B_) * d;
        for (Index j = 0; j < count; ++j) weigh(p_.weights, first + j, R.col(j).data(), R.rows());
        H.noalias() = eigen(B_).transpose() * R;
      }
      if (!terms_.separable_only()) H.noalias() += eigen(terms_.quadratic()) * d;
      for (Index j = first; j < first + count; ++j)
        for (Index e = L.start[j]; e < L.start[j + 1]; ++e)
          out.col(j) += terms_.alpha() * L.value[e] * D.col(L.index[e]);
    });
    return out;
  }
  /// Its diagonal, sum_i w_ij v_ij b_ik^2 + C_kk + alpha L_jj, or the first term alone
  EigenMatrix<double> diagonal(bool all, const Control& control) const {
    EigenMatrix<double> out(B_.cols, p_.X.cols);
    const EigenMatrix<double> squares = eigen(B_).cwiseAbs2();
    const Sparse& L = terms_.laplacian();
    parallel_for(out.cols(), control.to_the_end(), [&](Index first, Index count, int) {
      EigenMatrix<double> W = EigenMatrix<double>::Ones(B_.rows, count);
      for (Index j = 0; j < count; ++j) weigh(p_.weights, first + j, W.col(j).data(), B_.rows);
      out.middleCols(first, count).noalias() = squares.transpose() * W;
      for (Index j = first; j < first + count && all; ++j) {
        if (!terms_.separable_only()) out.col(j) += eigen(terms_.quadratic()).diagonal();
        for (Index e = L.start[j]; e < L.start[j + 1]; ++e)
          if (L.index[e] == j) out.col(j).array() += terms_.alpha() * L.value[e];
      }
    });
    return out;
  }

  void operator()(const Matrix<T>& S, const Control& control) {
    Vector<double> value(S.cols(), 0.0), worst(thread_count(control), 0.0);
    const auto p = eigen(terms_.penalty());
    // The terms beside the fit add N = gamma Q'h - C s - alpha (S L)_j to the slope, and to the objective
    //   <s, C s> + alpha <s, (S L)_j> - 2 gamma <s, Q'h> + p'|s| = -<s, N + gamma Q'h> + p'|s|.
    const auto add_terms = [&](Index first, MatrixView<const double> codes, int worker) {
      const auto s = eigen(codes);
      EigenMatrix<double> N = EigenMatrix<double>::Zero(codes.rows, codes.cols);
      if (!terms_.separable_only()) N.noalias() -= eigen(terms_.quadratic()) * s;
      Eigen::VectorXd linear(codes.rows);
      for (Index j = 0; j < codes.cols; ++j) {
        linear.setZero();
        terms_.add_linear(first + j, linear.data());
        N.col(j) += linear;
        terms_.add_laplacian(S, first + j, -terms_.alpha(), N.col(j).data());
        value[first + j] += p.dot(s.col(j).cwiseAbs()) - s.col(j).dot(N.col(j) + linear);
        double* g = slope.col(first + j).data();
        for (Index k = 0; k < codes.rows; ++k) {
          g[k] += N(k, j);
          worst[worker] = std::max(worst[worker], kkt_distance(-2 * g[k], s(k, j), p[k], terms_.positive()));
          if (s(k, j) != 0) g[k] -= std::copysign(p[k] / 2, s(k, j));
        }
      }
    };
    if (shared_) {
      parallel_for(S.cols(), control, [&](Index first, Index count, int worker) {
        const EigenMatrix<double> s = eigen(S.view().columns(first, count)).template cast<double>();
        auto G = slope.middleCols(first, count);
        G.noalias() = -A * s;
        weigh_samples(first, G);
        G += c_.middleCols(first, count);
        for (Index j = 0; j < count; ++j)  // v (x'x - 2 c's + s'A s)
          value[first + j] = energy_[first + j] - s.col(j).dot(c_.col(first + j) + G.col(j));
        add_terms(first, {s.data(), s.rows(), count}, worker);
      });
    } else {
      for_each_residual<double, T>(p_.X, B_, S, control,
                                   [&](Index first, MatrixView<double> R, MatrixView<const double> s, int worker) {
                                     const EigenMatrix<double> plain = eigen(R);
                                     for (Index j = 0; j < R.cols; ++j) {
                                       weigh(p_.weights, first + j, R.col(j), R.rows);
                                       value[first + j] = plain.col(j).dot(eigen(R).col(j));
                                     }
                                     slope.middleCols(first, R.cols).noalias() = eigen(B_).transpose() * eigen(R);
                                     add_terms(first, s, worker);
                                   });
    }
    residual = *std::max_element(worst.begin(), worst.end());
    objective = std::accumulate(value.begin(), value.end(), 0.0);
  }

 private:
  template <class Block>
  void weigh_samples(Index first, Block&& block) const {
    for (Index j = 0; j < block.cols() && !p_.weights.sample.empty(); ++j)
      block.col(j) *= static_cast<double>(p_.weights.sample[first + j]);
  }

  const CodesProblem<T>& p_;
  MatrixView<const double> B_;
  const CodeTerms<T>& terms_;
  const bool shared_;  // no entry has a weight of its own
  EigenMatrix<double> c_;
  Eigen::VectorXd energy_;  // x'(w v x) of each sample
};

/// The model with A for all samples
template <class T>
CoupledModel shared_model(const EigenMatrix<double>& A, const CodeTerms<T>& terms, const CoupledGraph& graph) {
  CoupledModel model{&graph,          terms.alpha(),   Matrix<float>(A.rows(), A.cols()), {}, {},
                     terms.penalty(), terms.positive()};
  eigen(model.A) = A.cast<float>();
  return model;
}

/// With entry or sample weights delta matches the diagonal of A_j, d_j = (B o B)' (w v)_j:
///   A = B' diag(feature) B,   delta_kj^2 = d_kj / A_kk.
template <class T>
CoupledModel matched_model(const EigenMatrix<double>& A, const CodeTerms<T>& terms, const CoupledGraph& graph,
                           const EigenMatrix<double>& d) {
  CoupledModel model = shared_model(A, terms, graph);
  if (!terms.separable_only()) model.C = cast<float, double>(terms.quadratic());
  const Eigen::ArrayXd a = A.diagonal();
  model.delta.resize_for_overwrite(d.rows(), d.cols());
  for (Index at = 0; at < d.cols(); ++at)
    eigen(model.delta).col(at) = (a > 0).select(d.col(graph.order_[at]).array() / a, 0).sqrt().template cast<float>();
  return model;
}

/// to <- from + share D, D in the graph's order; 0 where the model's code S + share D is
template <class T>
void add_change(const CoupledGraph& graph, const Matrix<float>& S, const Matrix<float>& D, float share,
                const Matrix<T>& from, Matrix<T>& to, const Control& control) {
  parallel_for(S.cols(), control.to_the_end(), [&](Index first, Index count, int) {
    for (Index at = first; at < first + count; ++at) {
      const float *s = S.col(at), *d = D.col(at);
      const T* was = from.col(graph.order_[at]);
      T* now = to.col(graph.order_[at]);
      for (Index k = 0; k < S.rows(); ++k)
        now[k] = share * d[k] == -s[k]
                     ? T(0)
                     : static_cast<T>(static_cast<double>(was[k]) + share * static_cast<double>(d[k]));
    }
  });
}

/// Where proximal steps crawl (near-duplicate atoms, weights of many sizes): conjugate gradients on the support,
///   (H D)_P = slope_P,
/// preconditioned by the diagonal; what changes its sign on the way becomes zero. True where the objective fell.
template <class T>
bool newton_step(Evaluation<T>& evaluate, const EigenMatrix<double>& diagonal, Matrix<T>& S, double goal,
                 const Tuning& tuning, const Control& control) {
  const EigenMatrix<double> s = eigen(S).template cast<double>();
  const EigenMatrix<double> on = (s.array() != 0).template cast<double>();
  EigenMatrix<double> D = EigenMatrix<double>::Zero(s.rows(), s.cols()), R = evaluate.slope.cwiseProduct(on);
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
  const double rounding = evaluate.rounding();
  const Matrix<T> from = S;
  // all the way, with zeros for what turned; else as far as the first sign that turns, where the objective falls for
  // sure
  const bool signs = evaluate.signs();
  double nearest = 1;
  for (Index i = 0; i < s.size() && signs; ++i)
    if (s.data()[i] * (s.data()[i] + D.data()[i]) < 0) nearest = std::min(nearest, -s.data()[i] / D.data()[i]);
  for (const double share : {1.0, nearest}) {
    EigenMatrix<double> to = s + share * D;
    if (signs) to = (to.array() * s.array() <= 1e-14 * s.array().square()).select(0.0, to.array());
    eigen(S) = to.template cast<T>();
    evaluate(S, control);
    if (evaluate.objective < before || (evaluate.objective < before + rounding && evaluate.residual < residual / 2))
      return true;
  }
  S = from;
  evaluate(S, control);
  return false;
}

}  // namespace

template <class T>
StepReport solve_coupled(const CodesProblem<T>& p, MatrixView<const double> B, const CodeTerms<T>& terms,
                         const CoupledGraph& graph, Matrix<T>& S, const StepOptions& options, const Control& control) {
  const SerialBlas serial;
  const Tuning& tuning = options.tuning;
  const auto most = [](const auto& w) { return w.size() == 0 ? 1.0 : static_cast<double>(w.maxCoeff()); };
  const double bound = most(eigen(p.weights.entry)) *
                       most(Eigen::Map<const Eigen::VectorX<T>>(p.weights.sample.data(), std::ssize(p.weights.sample)));
  const bool weighted = !p.weights.entry.empty() || !all_one(p.weights.sample);
  Evaluation<T> evaluate(p, B, terms, control);
  const double unit = evaluate.scale > 0 ? evaluate.scale : 1;
  const EigenMatrix<double>& A = evaluate.A;
  CoupledModel model = weighted ? matched_model(A, terms, graph, evaluate.diagonal(false, control))
                                : shared_model(terms.plus_quadratic(A), terms, graph);
  Matrix<float> N(S.rows(), S.cols()), start = N, D;

  StepReport report;
  Matrix<T> best = S;
  Progress progress;
  double last = progress.best;
  EigenMatrix<double> diagonal;  // made where proximal steps crawl
  evaluate(S, control);
  if (control.stop()) return {std::numeric_limits<double>::infinity(), 0, false};  // sums cut short say nothing
  const double ceiling = evaluate.objective + evaluate.rounding();
  // keeps S where it is the best so far; whether that is good enough
  const auto solved = [&] {
    if (progress.improves(evaluate.residual, evaluate.objective <= ceiling, tuning)) best = S;
    report.certificate = progress.best / unit;
    report.converged = report.certificate <= options.tol;
    return report.converged;
  };
  while (!control.stop() && !solved() && !progress.stalled(tuning) && report.rounds < options.max_rounds) {
    ++report.rounds;
    if (evaluate.residual > tuning.crawls * last) {
      if (diagonal.size() == 0) diagonal = evaluate.diagonal(true, control);
      for (int step = 0; step < static_cast<int>(tuning.newton_turns) && !control.stop(); ++step)
        if (!newton_step(evaluate, diagonal, S, options.tol * unit / 8, tuning, control)) break;
      if (control.stop() || solved()) break;
    }
    last = evaluate.residual;
    const Matrix<T> from = S;
    parallel_for(S.cols(), control.to_the_end(), [&](Index first, Index count, int) {
      for (Index at = first; at < first + count; ++at) {
        std::copy_n(S.col(graph.order_[at]), S.rows(), start.col(at));
        eigen(N).col(at) = evaluate.slope.col(graph.order_[at]).template cast<float>();
      }
    });
    const double goal =
        std::max(options.tol * unit / 2, (weighted ? tuning.inner_share : tuning.inner_exact) * evaluate.residual);
    minimise_model(model, start, N, static_cast<int>(tuning.coupled_passes), goal, D, tuning, control);
    if (control.stop()) break;  // D is not complete
    // S + D, shortened where the weights' model promised too much; zero where the model's code is
    const double before = evaluate.objective;
    double share = 1;
    for (;; share /= 2) {
      add_change(graph, start, D, static_cast<float>(share), from, S, control);
      evaluate(S, control);
      if (!weighted || evaluate.objective <= before + 1e-12 * std::abs(before) || share < 1.0 / 16) break;
    }
    if (weighted && share < 1) model = shared_model(terms.plus_quadratic(bound * A), terms, graph);
  }
  S = std::move(best);
  return report;
}

template <class T>
void improve_coupled(const CheapCodes<T>& p, const CodeTerms<T>& terms, const CoupledGraph& graph, int passes,
                     Matrix<T>& S, const Control& control) {
  const Index r = S.rows(), n = S.cols();
  const EigenMatrix<double> A = p.bound * feature_gram<float>(p.B, p.weights.feature);
  const CoupledModel model = shared_model(terms.plus_quadratic(A), terms, graph);
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
  add_change(graph, start, D, 1, S, S, control);
}

#define PACEWISE_INSTANTIATE(T)                                                                                     \
  template StepReport solve_coupled<T>(const CodesProblem<T>&, MatrixView<const double>, const CodeTerms<T>&,       \
                                       const CoupledGraph&, Matrix<T>&, const StepOptions&, const Control&);        \
  template void improve_coupled<T>(const CheapCodes<T>&, const CodeTerms<T>&, const CoupledGraph&, int, Matrix<T>&, \
                                   const Control&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

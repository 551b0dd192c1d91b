#include <algorithm>
#include <cmath>

#include "bindings.hpp"
#include "model/learn.hpp"
#include "options.hpp"
#include "running.hpp"
#include "solve/consistency.hpp"
#include "solve/dictionary.hpp"
#include "solve/objective.hpp"
#include "solve/weights.hpp"

namespace pacewise::python {
namespace {

using namespace nb::literals;

void require(bool rule, const std::string& text) {
  if (!rule) throw Error(text);
}

/// The data as the steps take them: the caller's own numbers where nothing is missing, else a copy with the holes moved
/// into the weights.
template <class T>
class Prepared {
 public:
  Prepared(const Rows<T>& X, const MaybeLine<T>& sample, const MaybeLine<T>& feature, const MaybeRows<T>& entry,
           const Control& control)
      : problem_{view(X), to_weights(sample, feature, entry, control)} {
    if (!validate(problem_, control)) data_ = prepare<T>(problem_, Normalize::none, nullptr, control);
  }
  MatrixView<const T> values() const { return data_ ? data_->values.view() : problem_.values; }
  const Weights<T>& weights() const { return data_ ? data_->weights : problem_.weights; }

 private:
  Problem<T> problem_;
  std::optional<Data<T>> data_;
};

/// Owns what a Coupling points to.
template <class T>
struct Ties {
  Sparse laplacian, incidence;
  Matrix<T> consistency;
  Coupling<T> coupling;

  Ties(Index n, Index r, const std::optional<nb::tuple>& L, double alpha, const std::optional<nb::tuple>& H,
       const MaybeRows<T>& Q, double gamma) {
    require(std::isfinite(alpha) && alpha >= 0, "alpha = " + std::to_string(alpha) + ": must be finite and >= 0");
    require(std::isfinite(gamma) && gamma >= 0, "gamma = " + std::to_string(gamma) + ": must be finite and >= 0");
    require(alpha == 0 || L.has_value(), "alpha = " + std::to_string(alpha) + ": a laplacian must come with it");
    require(gamma == 0 || (H.has_value() && Q.has_value()),
            "gamma = " + std::to_string(gamma) + ": incidence and consistency must come with it");
    if (alpha > 0) {
      laplacian = to_sparse(*L);
      check_laplacian(laplacian);
      require(laplacian.rows == n, "laplacian has " + std::to_string(laplacian.rows) +
                                       " rows: must equal the number of samples = " + std::to_string(n));
      coupling.laplacian = &laplacian;
      coupling.alpha = alpha;
    }
    if (gamma > 0) {
      incidence = to_sparse(*H);
      consistency = copy_transposed(*Q);
      require(incidence.cols == n, "incidence has " + std::to_string(incidence.cols) +
                                       " columns: must equal the number of samples = " + std::to_string(n));
      require(consistency.rows() == incidence.rows && consistency.cols() == r,
              "consistency has shape (" + std::to_string(consistency.rows()) + ", " +
                  std::to_string(consistency.cols()) + "): must be (" + std::to_string(incidence.rows) + ", " +
                  std::to_string(r) + "), hyperedges by atoms");
      coupling.incidence = &incidence;
      coupling.consistency = &consistency;
      coupling.gamma = gamma;
    }
  }
  Ties(const Ties&) = delete;
  Ties& operator=(const Ties&) = delete;
};

template <class T>
void check_shapes(MatrixView<const T> X, MatrixView<const T> B, MatrixView<const T> S) {
  require(B.rows == X.rows, "dictionary has " + std::to_string(B.rows) +
                                " columns: must equal the number of features = " + std::to_string(X.rows));
  require(S.rows == B.cols && S.cols == X.cols, "codes have shape (" + std::to_string(S.cols) + ", " +
                                                    std::to_string(S.rows) + "): must be (" + std::to_string(X.cols) +
                                                    ", " + std::to_string(B.cols) + "), samples by atoms");
}

StepOptions step_options(double tol, int max_rounds) {
  require(std::isfinite(tol) && tol >= 0, "tol = " + std::to_string(tol) + ": must be finite and >= 0");
  StepOptions options;
  options.tol = tol;
  options.max_rounds = max_rounds;
  return options;
}

nb::tuple with_report(nb::object result, const StepReport& report) {
  return nb::make_tuple(std::move(result), report.certificate, report.rounds, report.converged);
}

template <class T>
nb::tuple encode_step(const Rows<T>& X, const Rows<T>& dictionary, double beta, const MaybeLine<T>& sample,
                      const MaybeLine<T>& feature, const MaybeRows<T>& entry, const std::optional<nb::tuple>& laplacian,
                      double alpha, const std::optional<nb::tuple>& incidence, const MaybeRows<T>& consistency,
                      double gamma, const MaybeRows<T>& init, double tol, int max_rounds, int threads) {
  require(std::isfinite(beta) && beta >= 0, "beta = " + std::to_string(beta) + ": must be finite and >= 0");
  const Index n = view(X).cols, r = view(dictionary).cols;
  const StepOptions options = step_options(tol, max_rounds);
  Matrix<T> S;
  StepReport report;
  const Ties<T> ties(n, r, laplacian, alpha, incidence, consistency, gamma);
  run(threads, [&](const Control& control) {
    const Prepared<T> data(X, sample, feature, entry, control);
    S = init ? copy(*init, control) : zeros<T>(r, n, control);
    check_shapes<T>(data.values(), view(dictionary), S);
    report =
        solve_codes<T>({data.values(), data.weights(), view(dictionary), beta, ties.coupling}, S, options, control);
  });
  return with_report(to_rows(std::move(S)), report);
}

template <class T>
nb::tuple dictionary_step(const Rows<T>& X, const Rows<T>& codes, const MaybeRows<T>& dictionary,
                          const MaybeLine<T>& sample, const MaybeLine<T>& feature, const MaybeRows<T>& entry,
                          double tol, int max_rounds, int threads) {
  Matrix<T> B = dictionary ? copy(*dictionary) : Matrix<T>(view(X).rows, view(codes).rows);
  const StepOptions options = step_options(tol, max_rounds);
  StepReport report;
  run(threads, [&](const Control& control) {
    const Prepared<T> data(X, sample, feature, entry, control);
    check_shapes<T>(data.values(), B, view(codes));
    report = solve_dictionary<T>({data.values(), data.weights(), view(codes)}, B, options, control);
  });
  return with_report(to_rows(std::move(B)), report);
}

template <class T>
nb::tuple learn_plain(const Rows<T>& X, const Rows<T>& dictionary, double beta, int max_iter, double tol,
                      double step_tol, int threads) {
  LearnOptions options;
  options.beta = beta;
  options.max_iter = max_iter;
  options.tol = tol;
  options.step_tol = step_tol;
  Learned<T> out;
  run(threads, [&](const Control& control) { out = learn<T>(view(X), copy(dictionary), options, control); });
  nb::list history;
  for (const double objective : out.history) history.append(objective);
  return nb::make_tuple(to_rows(std::move(out.dictionary)), to_rows(std::move(out.codes)), out.objective.total(),
                        out.certificate.codes, out.certificate.dictionary, history,
                        std::string(name_of(out.termination)));
}

template <class T>
nb::tuple consistency_step(const nb::tuple& incidence, const Rows<T>& codes, double eta, int threads) {
  const Sparse H = to_sparse(incidence);
  require(std::isfinite(eta) && eta > 0, "eta = " + std::to_string(eta) + ": must be finite and > 0");
  require(H.cols == view(codes).cols,
          "incidence has " + std::to_string(H.cols) +
              " columns: must equal the number of samples = " + std::to_string(view(codes).cols));
  Matrix<T> Q;
  StepReport report;
  run(threads, [&](const Control& control) { report = solve_consistency<T>(H, view(codes), eta, Q, control); });
  return with_report(to_rows_transposed(std::move(Q)), report);
}

template <class T>
nb::object weights_step(const Line<T>& loss, double lambda, const std::string& regularizer,
                        const nb::dict& parameters) {
  const Regularizer r = to_regularizer(regularizer, parameters);
  require(lambda > 0, "lam = " + std::to_string(lambda) + ": must be > 0");
  Vector<T> v;
  const Vector<T> losses = copy(loss);
  run(1, [&](const Control& control) { solve_weights(losses, r, lambda, v, control); });
  return to_line(std::move(v));
}

template <class T>
nb::dict objective_parts(const Rows<T>& X, const Rows<T>& dictionary, const Rows<T>& codes, double beta,
                         const MaybeLine<T>& sample, const MaybeLine<T>& feature, const MaybeRows<T>& entry,
                         const std::string& level_name, const MaybeLine<T>& pace_weights, double lambda,
                         const std::string& regularizer_name, const nb::dict& parameters,
                         const std::optional<nb::tuple>& laplacian, double alpha,
                         const std::optional<nb::tuple>& incidence, const MaybeRows<T>& consistency, double gamma,
                         double eta, int threads) {
  const MatrixView<const T> x = view(X);
  check_shapes<T>(x, view(dictionary), view(codes));
  const Level level = parse<Level>(level_name);
  const Regularizer regularizer = to_regularizer(regularizer_name, parameters);
  require(lambda > 0, "lam = " + std::to_string(lambda) + ": must be > 0");
  const Ties<T> ties(x.cols, view(dictionary).cols, laplacian, alpha, incidence, consistency, gamma);
  Vector<T> v = pace_weights ? copy(*pace_weights) : Vector<T>();
  const Index units = unit_count(level, x.rows, x.cols);
  require(v.empty() || static_cast<Index>(v.size()) == units, "pace_weights has " + std::to_string(v.size()) +
                                                                  " entries: must be " + std::to_string(units) +
                                                                  " at level " + level_name);
  Objective o;
  run(threads, [&](const Control& control) {
    const Prepared<T> data(X, sample, feature, entry, control);
    const Vector<T> losses =
        unit_losses<T>(data.values(), data.weights(), view(dictionary), view(codes), level, control);
    if (v.empty() && level != Level::none) solve_weights(losses, regularizer, lambda, v, control);
    const auto observed = observed_units(data.weights(), x.rows, x.cols, level, control);
    const PaceSummary pace = summarize(losses, v, observed, regularizer, lambda, control);
    o = code_terms<T>(view(codes), beta, ties.coupling, eta, control);
    o.fit = pace.fit;
    o.pace = pace.value;
  });
  nb::dict d;
  d["fit"] = o.fit;
  d["pace"] = o.pace;
  d["sparsity"] = o.sparsity;
  d["manifold"] = o.manifold;
  d["consistency"] = o.consistency;
  d["total"] = o.total();
  return d;
}

template <class T>
void bind(nb::module_& m) {
  m.def("sparse_encode", &encode_step<T>, "X"_a, "dictionary"_a, "beta"_a, "sample_weight"_a.none(),
        "feature_weight"_a.none(), "entry_weight"_a.none(), "laplacian"_a.none(), "alpha"_a, "incidence"_a.none(),
        "consistency"_a.none(), "gamma"_a, "init"_a.none(), "tol"_a, "max_rounds"_a, "threads"_a);
  m.def("update_dictionary", &dictionary_step<T>, "X"_a, "codes"_a, "dictionary"_a.none(), "sample_weight"_a.none(),
        "feature_weight"_a.none(), "entry_weight"_a.none(), "tol"_a, "max_rounds"_a, "threads"_a);
  m.def("learn_dictionary", &learn_plain<T>, "X"_a, "dictionary"_a, "beta"_a, "max_iter"_a, "tol"_a, "step_tol"_a,
        "threads"_a);
  m.def("update_consistency", &consistency_step<T>, "incidence"_a, "codes"_a, "eta"_a, "threads"_a);
  m.def("pace_weights", &weights_step<T>, "loss"_a, "lam"_a, "regularizer"_a, "params"_a);
  m.def("objective", &objective_parts<T>, "X"_a, "dictionary"_a, "codes"_a, "beta"_a, "sample_weight"_a.none(),
        "feature_weight"_a.none(), "entry_weight"_a.none(), "level"_a, "pace_weights"_a.none(), "lam"_a,
        "regularizer"_a, "params"_a, "laplacian"_a.none(), "alpha"_a, "incidence"_a.none(), "consistency"_a.none(),
        "gamma"_a, "eta"_a, "threads"_a);
}

}  // namespace

void bind_steps(nb::module_& m) {
  bind<float>(m);
  bind<double>(m);
}

}  // namespace pacewise::python

#include "pacewise/steps.hpp"

#include <cmath>
#include <optional>

#include "graph/graph.hpp"
#include "solve/consistency.hpp"
#include "solve/dictionary.hpp"
#include "solve/objective.hpp"
#include "solve/weights.hpp"
#include "storage/file_error.hpp"

namespace pacewise {
namespace {

void require(bool rule, const auto&... text) {
  if (!rule) throw Error(line_of(text...));
}

/// The data as the steps take them: the caller's own numbers where nothing is missing, else a copy with the missing
/// entries moved into the weights.
template <class T>
class Prepared {
 public:
  Prepared(const Problem<T>& problem, const Control& control) : problem_(problem) {
    if (!validate(problem, control)) data_ = prepare<T>(problem, Normalize::none, nullptr, control);
  }
  MatrixView<const T> values() const { return data_ ? data_->values.view() : problem_.values; }
  const Weights<T>& weights() const { return data_ ? data_->weights : problem_.weights; }

 private:
  const Problem<T>& problem_;
  std::optional<Data<T>> data_;
};

template <class T>
void check_coupling(const Coupling<T>& c, Index n, Index r) {
  require(std::isfinite(c.alpha) && c.alpha >= 0, "alpha = ", c.alpha, ": must be finite and >= 0");
  require(std::isfinite(c.gamma) && c.gamma >= 0, "gamma = ", c.gamma, ": must be finite and >= 0");
  require(c.alpha == 0 || c.laplacian != nullptr, "alpha = ", c.alpha, ": a laplacian must come with it");
  require(c.gamma == 0 || (c.incidence != nullptr && c.consistency != nullptr), "gamma = ", c.gamma,
          ": incidence and consistency must come with it");
  if (c.alpha > 0) {
    check_laplacian(*c.laplacian);
    require(c.laplacian->rows == n, "laplacian has ", c.laplacian->rows,
            " rows: must equal the number of samples = ", n);
  }
  if (c.gamma > 0) {
    const Matrix<T>& Q = *c.consistency;
    require(c.incidence->cols == n, "incidence has ", c.incidence->cols,
            " columns: must equal the number of samples = ", n);
    require(Q.rows() == c.incidence->rows && Q.cols() == r, "consistency has shape (", Q.rows(), ", ", Q.cols(),
            "): must be (", c.incidence->rows, ", ", r, "), hyperedges by atoms");
  }
}

template <class T>
void check_finite(const char* name, MatrixView<const T> a) {
  for (Index j = 0; j < a.cols; ++j)
    require(all_finite(a.col(j), a.rows), name, ": a value is not finite; all must be");
}

template <class T>
void check_atoms(MatrixView<const T> X, MatrixView<const T> B) {
  check_finite("dictionary", B);
  require(B.rows == X.rows, "dictionary: its atoms have ", B.rows,
          " numbers: must equal the number of features = ", X.rows);
}

template <class T>
void check_shapes(MatrixView<const T> X, MatrixView<const T> B, MatrixView<const T> S) {
  check_atoms(X, B);
  check_finite("codes", S);
  require(S.rows == B.cols && S.cols == X.cols, "codes have ", S.cols, " samples x ", S.rows, " atoms: must be ",
          X.cols, " x ", B.cols);
}

void check_step(const StepOptions& options) {
  require(std::isfinite(options.tol) && options.tol >= 0, "tol = ", options.tol, ": must be finite and >= 0");
  require(options.max_rounds >= 1, "max_rounds = ", options.max_rounds, ": must be >= 1");
}

template <class T>
Step<T> codes_step(const Problem<T>& X, MatrixView<const T> B, const CodesTerms<T>& terms, const StepOptions& options,
                   const Control& control) {
  terms.penalty.validate(B.cols);
  check_step(options);
  check_coupling(terms.coupling, X.values.cols, B.cols);
  const Prepared<T> data(X, control);
  Step<T> out{terms.start.empty() ? Matrix<T>(B.cols, X.values.cols) : Matrix<T>(terms.start), {}};
  check_shapes<T>(data.values(), B, out.value);
  out.report =
      solve_codes<T>({data.values(), data.weights(), B, terms.penalty, terms.coupling}, out.value, options, control);
  return out;
}

template <class T>
Matrix<T> pursuit(const Problem<T>& X, MatrixView<const T> B, Index nonzeros, double tol, const Control& control) {
  require(nonzeros >= 1, "nonzeros = ", nonzeros, ": must be >= 1");
  require(std::isfinite(tol) && tol >= 0, "tol = ", tol, ": must be finite and >= 0");
  const Prepared<T> data(X, control);
  check_atoms<T>(data.values(), B);
  return pursue_codes<T>({data.values(), data.weights(), B, {}, {}}, nonzeros, tol, control);
}

template <class T>
Step<T> dictionary_step(const Problem<T>& X, MatrixView<const T> S, MatrixView<const T> start, bool positive,
                        const StepOptions& options, const Control& control) {
  check_step(options);
  Step<T> out{start.empty() ? Matrix<T>(X.values.rows, S.rows) : Matrix<T>(start), {}};
  const Prepared<T> data(X, control);
  check_shapes<T>(data.values(), out.value, S);
  const DictionaryReport report =
      solve_dictionary<T>({data.values(), data.weights(), S, positive}, out.value, options, control);
  out.report = {report.certificate, report.rounds, report.converged};
  return out;
}

template <class T>
Step<T> consistency_step(const Sparse& H, MatrixView<const T> S, double eta, const Control& control) {
  require(std::isfinite(eta) && eta > 0, "eta = ", eta, ": must be finite and > 0");
  require(H.cols == S.cols, "incidence has ", H.cols, " columns: must equal the number of samples = ", S.cols);
  check_finite("codes", S);
  Step<T> out;
  out.report = solve_consistency<T>(H, S, eta, out.value, control);
  return out;
}

template <class T>
Vector<T> weights_step(const Vector<T>& losses, double lambda, const Regularizer& regularizer) {
  validate(regularizer);
  require(lambda > 0, "lambda = ", lambda, ": must be > 0");
  for (const T loss : losses) require(loss >= 0, "loss = ", loss, ": must be >= 0");
  Vector<T> v;
  solve_weights(losses, regularizer, lambda, v, {});
  return v;
}

template <class T>
Objective objective_at(const Problem<T>& X, MatrixView<const T> B, MatrixView<const T> S,
                       const ObjectiveTerms<T>& terms, const Control& control) {
  const Index m = X.values.rows, n = X.values.cols, units = unit_count(terms.level, m, n);
  validate(terms.regularizer);
  terms.penalty.validate(B.cols);
  require(terms.lambda > 0, "lambda = ", terms.lambda, ": must be > 0");
  require(terms.weights.empty() || static_cast<Index>(terms.weights.size()) == units, "weights: ", terms.weights.size(),
          " numbers: must be ", units, " at level ", name_of(terms.level));
  check_coupling(terms.coupling, n, B.cols);
  const Prepared<T> data(X, control);
  check_shapes<T>(data.values(), B, S);
  const Vector<T> losses = unit_losses<T>(data.values(), data.weights(), B, S, terms.level, control);
  Vector<T> v = terms.weights;
  if (v.empty() && terms.level != Level::none) solve_weights(losses, terms.regularizer, terms.lambda, v, control);
  const auto observed = observed_units(data.weights(), m, n, terms.level, control);
  const PaceSummary pace = summarize(losses, v, observed, terms.regularizer, terms.lambda, control);
  Objective out = code_terms<T>(S, terms.penalty, terms.coupling, terms.eta, control);
  out.fit = pace.fit;
  out.pace = pace.value;
  return out;
}

}  // namespace

#define PACEWISE_STEPS(T)                                                                                              \
  Step<T> sparse_encode(const Problem<T>& X, MatrixView<const T> dictionary, const CodesTerms<T>& terms,               \
                        const StepOptions& options, const Control& control) {                                          \
    return codes_step(X, dictionary, terms, options, control);                                                         \
  }                                                                                                                    \
  Matrix<T> orthogonal_mp(const Problem<T>& X, MatrixView<const T> dictionary, Index nonzeros, double tol,             \
                          const Control& control) {                                                                    \
    return pursuit(X, dictionary, nonzeros, tol, control);                                                             \
  }                                                                                                                    \
  Step<T> update_dictionary(const Problem<T>& X, MatrixView<const T> codes, MatrixView<const T> start, bool positive,  \
                            const StepOptions& options, const Control& control) {                                      \
    return dictionary_step(X, codes, start, positive, options, control);                                               \
  }                                                                                                                    \
  Step<T> update_consistency(const Sparse& incidence, MatrixView<const T> codes, double eta, const Control& control) { \
    return consistency_step(incidence, codes, eta, control);                                                           \
  }                                                                                                                    \
  Vector<T> pace_weights(const Vector<T>& losses, double lambda, const Regularizer& regularizer) {                     \
    return weights_step(losses, lambda, regularizer);                                                                  \
  }                                                                                                                    \
  Objective objective(const Problem<T>& X, MatrixView<const T> dictionary, MatrixView<const T> codes,                  \
                      const ObjectiveTerms<T>& terms, const Control& control) {                                        \
    return objective_at(X, dictionary, codes, terms, control);                                                         \
  }
PACEWISE_STEPS(float)
PACEWISE_STEPS(double)
#undef PACEWISE_STEPS

}  // namespace pacewise

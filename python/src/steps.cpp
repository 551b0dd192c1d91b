#include "pacewise/steps.hpp"

#include "bindings.hpp"
#include "model/learn.hpp"
#include "options.hpp"
#include "running.hpp"

namespace pacewise::python {
namespace {

using namespace nb::literals;

/// Owns what a Coupling points to.
template <class T>
struct OwnedCoupling {
  Sparse laplacian, incidence;
  Matrix<T> consistency;
  Coupling<T> coupling;

  OwnedCoupling(const std::optional<nb::tuple>& L, double alpha, const std::optional<nb::tuple>& H,
                const MaybeRows<T>& Q, double gamma) {
    if (L) laplacian = to_sparse(*L);
    if (H) incidence = to_sparse(*H);
    if (Q) consistency = copy_transposed(*Q);
    coupling = {L ? &laplacian : nullptr, alpha, H ? &incidence : nullptr, Q ? &consistency : nullptr, gamma};
  }
  OwnedCoupling(const OwnedCoupling&) = delete;
  OwnedCoupling& operator=(const OwnedCoupling&) = delete;
};

template <class T>
Penalty to_penalty(double beta, double l2, bool positive, const MaybeLine<T>& atom) {
  Penalty out{beta, l2, positive, {}};
  if (atom) out.atom.assign(atom->data(), atom->data() + atom->size());
  return out;
}

StepOptions step_options(double tol, int max_rounds) {
  StepOptions options;
  options.tol = tol;
  options.max_rounds = max_rounds;
  return options;
}

nb::tuple with_report(nb::object result, const StepReport& report) {
  return nb::make_tuple(std::move(result), report.certificate, report.rounds, report.converged);
}

template <class T>
nb::tuple encode_step(const Rows<T>& X, const Rows<T>& dictionary, double beta, double l2, bool positive,
                      const MaybeLine<T>& atom_penalty, const MaybeLine<T>& sample, const MaybeLine<T>& feature,
                      const MaybeRows<T>& entry, const std::optional<nb::tuple>& laplacian, double alpha,
                      const std::optional<nb::tuple>& incidence, const MaybeRows<T>& consistency, double gamma,
                      const MaybeRows<T>& init, double tol, int max_rounds, int threads) {
  const OwnedCoupling<T> ties(laplacian, alpha, incidence, consistency, gamma);
  Step<T> step;
  run(threads, [&](const Control& control) {
    const Problem<T> problem{view(X), to_weights(sample, feature, entry, control)};
    const CodesTerms<T> terms{to_penalty(beta, l2, positive, atom_penalty), ties.coupling,
                              init ? view(*init) : MatrixView<const T>()};
    step = sparse_encode(problem, view(dictionary), terms, step_options(tol, max_rounds), control);
  });
  return with_report(to_rows(std::move(step.value)), step.report);
}

template <class T>
nb::object pursuit_step(const Rows<T>& X, const Rows<T>& dictionary, Index nonzeros, double tol,
                        const MaybeLine<T>& sample, const MaybeLine<T>& feature, const MaybeRows<T>& entry,
                        int threads) {
  Matrix<T> codes;
  run(threads, [&](const Control& control) {
    const Problem<T> problem{view(X), to_weights(sample, feature, entry, control)};
    codes = orthogonal_mp(problem, view(dictionary), nonzeros, tol, control);
  });
  return to_rows(std::move(codes));
}

template <class T>
nb::tuple dictionary_step(const Rows<T>& X, const Rows<T>& codes, const MaybeRows<T>& dictionary, bool positive,
                          const MaybeLine<T>& sample, const MaybeLine<T>& feature, const MaybeRows<T>& entry,
                          double tol, int max_rounds, int threads) {
  Step<T> step;
  run(threads, [&](const Control& control) {
    const Problem<T> problem{view(X), to_weights(sample, feature, entry, control)};
    const MatrixView<const T> start = dictionary ? view(*dictionary) : MatrixView<const T>();
    step = update_dictionary(problem, view(codes), start, positive, step_options(tol, max_rounds), control);
  });
  return with_report(to_rows(std::move(step.value)), step.report);
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
  Step<T> step;
  run(threads, [&](const Control& control) { step = update_consistency(H, view(codes), eta, control); });
  return with_report(to_rows_transposed(std::move(step.value)), step.report);
}

template <class T>
nb::object weights_step(const Line<T>& loss, double lambda, const std::string& regularizer,
                        const nb::dict& parameters) {
  const Regularizer r = to_regularizer(regularizer, parameters);
  Vector<T> v;
  const Vector<T> losses = copy(loss);
  run(1, [&](const Control&) { v = pace_weights(losses, lambda, r); });
  return to_line(std::move(v));
}

template <class T>
nb::dict objective_parts(const Rows<T>& X, const Rows<T>& dictionary, const Rows<T>& codes, double beta, double l2,
                         const MaybeLine<T>& atom_penalty, const MaybeLine<T>& sample, const MaybeLine<T>& feature,
                         const MaybeRows<T>& entry, const std::string& level_name, const MaybeLine<T>& weights,
                         double lambda, const std::string& regularizer_name, const nb::dict& parameters,
                         const std::optional<nb::tuple>& laplacian, double alpha,
                         const std::optional<nb::tuple>& incidence, const MaybeRows<T>& consistency, double gamma,
                         double eta, int threads) {
  const OwnedCoupling<T> ties(laplacian, alpha, incidence, consistency, gamma);
  ObjectiveTerms<T> terms{to_penalty(beta, l2, false, atom_penalty),
                          parse<Level>(level_name),
                          {},
                          lambda,
                          to_regularizer(regularizer_name, parameters),
                          ties.coupling,
                          eta};
  if (weights) terms.weights = copy(*weights);
  Objective o;
  run(threads, [&](const Control& control) {
    const Problem<T> problem{view(X), to_weights(sample, feature, entry, control)};
    o = objective(problem, view(dictionary), view(codes), terms, control);
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
  m.def("sparse_encode", &encode_step<T>, "X"_a, "dictionary"_a, "beta"_a, "l2"_a, "positive"_a,
        "atom_penalty"_a.none(), "sample_weight"_a.none(), "feature_weight"_a.none(), "entry_weight"_a.none(),
        "laplacian"_a.none(), "alpha"_a, "incidence"_a.none(), "consistency"_a.none(), "gamma"_a, "init"_a.none(),
        "tol"_a, "max_rounds"_a, "threads"_a);
  m.def("orthogonal_mp", &pursuit_step<T>, "X"_a, "dictionary"_a, "nonzeros"_a, "tol"_a, "sample_weight"_a.none(),
        "feature_weight"_a.none(), "entry_weight"_a.none(), "threads"_a);
  m.def("update_dictionary", &dictionary_step<T>, "X"_a, "codes"_a, "dictionary"_a.none(), "positive"_a,
        "sample_weight"_a.none(), "feature_weight"_a.none(), "entry_weight"_a.none(), "tol"_a, "max_rounds"_a,
        "threads"_a);
  m.def("learn_dictionary", &learn_plain<T>, "X"_a, "dictionary"_a, "beta"_a, "max_iter"_a, "tol"_a, "step_tol"_a,
        "threads"_a);
  m.def("update_consistency", &consistency_step<T>, "incidence"_a, "codes"_a, "eta"_a, "threads"_a);
  m.def("pace_weights", &weights_step<T>, "loss"_a, "lam"_a, "regularizer"_a, "params"_a);
  m.def("objective", &objective_parts<T>, "X"_a, "dictionary"_a, "codes"_a, "beta"_a, "l2"_a, "atom_penalty"_a.none(),
        "sample_weight"_a.none(), "feature_weight"_a.none(), "entry_weight"_a.none(), "level"_a,
        "pace_weights"_a.none(), "lam"_a, "regularizer"_a, "params"_a, "laplacian"_a.none(), "alpha"_a,
        "incidence"_a.none(), "consistency"_a.none(), "gamma"_a, "eta"_a, "threads"_a);
}

}  // namespace

void bind_steps(nb::module_& m) {
  bind<float>(m);
  bind<double>(m);
}

}  // namespace pacewise::python

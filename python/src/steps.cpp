#include "pacewise/steps.hpp"

#include "model/learn.hpp"
#include "options.hpp"
#include "running.hpp"

namespace pacewise::python {
namespace {

using namespace nb::literals;

/// beta, l2, positive, atom
template <class T>
using PenaltyParts = std::tuple<double, double, bool, MaybeLine<T>>;
template <class T>
Penalty to_penalty(const PenaltyParts<T>& parts) {
  const auto& [beta, l2, positive, atom] = parts;
  Penalty out{beta, l2, positive, {}};
  if (atom) out.atom.assign(atom->data(), atom->data() + atom->size());
  return out;
}

/// laplacian, alpha, incidence, consistency, gamma
template <class T>
using CouplingParts = std::tuple<std::optional<SparseParts>, double, std::optional<SparseParts>, MaybeRows<T>, double>;

/// Owns what a Coupling points to.
template <class T>
struct OwnedCoupling {
  Sparse laplacian, incidence;
  Matrix<T> consistency;
  Coupling<T> coupling;

  explicit OwnedCoupling(const CouplingParts<T>& parts) {
    const auto& [L, alpha, H, Q, gamma] = parts;
    if (L) laplacian = to_sparse(*L);
    if (H) incidence = to_sparse(*H);
    if (Q) consistency = copy_transposed(*Q);
    coupling = {L ? &laplacian : nullptr, alpha, H ? &incidence : nullptr, Q ? &consistency : nullptr, gamma};
  }
  OwnedCoupling(const OwnedCoupling&) = delete;
  OwnedCoupling& operator=(const OwnedCoupling&) = delete;
};

StepOptions step_options(double tol, int max_rounds) {
  StepOptions options;
  options.tol = tol;
  options.max_rounds = max_rounds;
  return options;
}

template <class T>
nb::tuple with_report(Array<T> result, const StepReport& report) {
  return nb::make_tuple(std::move(result), report.certificate, report.rounds, report.converged);
}

template <class T>
nb::tuple encode_step(const Given<T>& given, const Rows<T>& dictionary, const PenaltyParts<T>& penalty,
                      const CouplingParts<T>& coupling, const MaybeRows<T>& init, double tol, int max_rounds,
                      int threads) {
  const OwnedCoupling<T> owned(coupling);
  Step<T> step;
  run(threads, [&](const Control& control) {
    const CodesTerms<T> terms{to_penalty<T>(penalty), owned.coupling, view_of<T>(init)};
    step = sparse_encode(to_problem(given, control), view(dictionary), terms, step_options(tol, max_rounds), control);
  });
  return with_report(to_rows(std::move(step.value)), step.report);
}

template <class T>
Array<T> pursuit_step(const Given<T>& given, const Rows<T>& dictionary, Index nonzeros, double tol, int threads) {
  Matrix<T> codes;
  run(threads, [&](const Control& control) {
    codes = orthogonal_mp(to_problem(given, control), view(dictionary), nonzeros, tol, control);
  });
  return to_rows(std::move(codes));
}

template <class T>
nb::tuple dictionary_step(const Given<T>& given, const Rows<T>& codes, const MaybeRows<T>& dictionary, bool positive,
                          double tol, int max_rounds, int threads) {
  Step<T> step;
  run(threads, [&](const Control& control) {
    step = update_dictionary(to_problem(given, control), view(codes), view_of<T>(dictionary), positive,
                             step_options(tol, max_rounds), control);
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
  return nb::make_tuple(to_rows(std::move(out.dictionary)), to_rows(std::move(out.codes)), out.objective.total(),
                        out.certificate.codes, out.certificate.dictionary, out.history,
                        std::string(name_of(out.termination)));
}

template <class T>
nb::tuple consistency_step(const SparseParts& incidence, const Rows<T>& codes, double eta, int threads) {
  const Sparse H = to_sparse(incidence);
  Step<T> step;
  run(threads, [&](const Control& control) { step = update_consistency(H, view(codes), eta, control); });
  return with_report(to_rows_transposed(std::move(step.value)), step.report);
}

template <class T>
Array<T> weights_step(const Line<T>& loss, double lambda, const std::string& regularizer, const nb::dict& parameters) {
  const Regularizer r = to_regularizer(regularizer, parameters);
  Vector<T> v;
  const Vector<T> losses = copy(loss);
  run(1, [&](const Control&) { v = pace_weights(losses, lambda, r); });
  return to_line(std::move(v));
}

template <class T>
nb::dict objective_parts(const Given<T>& given, const Rows<T>& dictionary, const Rows<T>& codes,
                         const PenaltyParts<T>& penalty, const std::string& level, const MaybeLine<T>& weights,
                         double lambda, const std::string& regularizer, const nb::dict& parameters,
                         const CouplingParts<T>& coupling, double eta, int threads) {
  const OwnedCoupling<T> owned(coupling);
  ObjectiveTerms<T> terms{to_penalty<T>(penalty),
                          parse<Level>(level),
                          {},
                          lambda,
                          to_regularizer(regularizer, parameters),
                          owned.coupling,
                          eta};
  if (weights) terms.weights = copy(*weights);
  Objective o;
  run(threads, [&](const Control& control) {
    o = objective(to_problem(given, control), view(dictionary), view(codes), terms, control);
  });
  nb::dict d = to_dict(o);
  d["total"] = o.total();
  return d;
}

template <class T>
void bind(nb::module_& m) {
  m.def("sparse_encode", &encode_step<T>, "data"_a, "dictionary"_a, "penalty"_a, "coupling"_a, "init"_a.none(), "tol"_a,
        "max_rounds"_a, "threads"_a);
  m.def("orthogonal_mp", &pursuit_step<T>, "data"_a, "dictionary"_a, "nonzeros"_a, "tol"_a, "threads"_a);
  m.def("update_dictionary", &dictionary_step<T>, "data"_a, "codes"_a, "dictionary"_a.none(), "positive"_a, "tol"_a,
        "max_rounds"_a, "threads"_a);
  m.def("learn_dictionary", &learn_plain<T>, "X"_a, "dictionary"_a, "beta"_a, "max_iter"_a, "tol"_a, "step_tol"_a,
        "threads"_a);
  m.def("update_consistency", &consistency_step<T>, "incidence"_a, "codes"_a, "eta"_a, "threads"_a);
  m.def("pace_weights", &weights_step<T>, "loss"_a, "lam"_a, "regularizer"_a, "params"_a);
  m.def("objective", &objective_parts<T>, "data"_a, "dictionary"_a, "codes"_a, "penalty"_a, "level"_a,
        "pace_weights"_a.none(), "lam"_a, "regularizer"_a, "params"_a, "coupling"_a, "eta"_a, "threads"_a);
}

}  // namespace

void bind_steps(nb::module_& m) {
  bind<float>(m);
  bind<double>(m);
}

}  // namespace pacewise::python

#include "solve/codes.hpp"

#include <cmath>
#include <optional>

#include "solve/coupled.hpp"
#include "solve/lasso_path.hpp"
#include "solve/residual.hpp"
#include "solve/separable.hpp"

namespace pacewise {
namespace {

/// Calls use(first, N, S, worker) with N = B'(w v (X - B S)), block after block, in double
template <class T, class Use>
void for_each_gradient(const CodesProblem<T>& p, MatrixView<const double> B, MatrixView<const T> S,
                       const Control& control, const Use& use) {
  for_each_residual<double, T>(p.X, B, S, control,
                               [&](Index first, MatrixView<double> R, MatrixView<const double> s, int worker) {
                                 for (Index j = 0; j < R.cols; ++j) weigh(p.weights, first + j, R.col(j), R.rows);
                                 EigenMatrix<double> N = eigen(B).transpose() * eigen(R);
                                 use(first, N, s, worker);
                               });
}

}  // namespace

/// The scale of the certificate: max |2 B'(w v X)| (+ 2 gamma Q'H with `terms`)
template <class T>
double gradient_scale(const CodesProblem<T>& p, MatrixView<const double> B, const CodeTerms<T>* terms,
                      const Control& control) {
  const Matrix<T> zero(B.cols, p.X.cols);
  Vector<double> most(thread_count(control), 0.0);
  for_each_gradient<T>(p, B, zero, control,
                       [&](Index first, EigenMatrix<double>& N, MatrixView<const double>, int worker) {
                         if (terms != nullptr)
                           for (Index j = 0; j < N.cols(); ++j) terms->add_linear(first + j, N.col(j).data());
                         most[worker] = std::max(most[worker], 2 * N.cwiseAbs().maxCoeff());
                       });
  return *std::max_element(most.begin(), most.end());
}

template <class T>
double codes_certificate(const CodesProblem<T>& p, const Matrix<T>& S, const Control& control) {
  return codes_gap(p, CodeTerms<T>(p.penalty, p.coupling, S.rows(), control), S, control).relative();
}

template <class T>
Largest codes_gap(const CodesProblem<T>& p, const CodeTerms<T>& terms, const Matrix<T>& S, const Control& control) {
  if (S.empty()) return {};
  const Matrix<double> B = cast<double, T>(p.B);
  Vector<double> most(thread_count(control), 0.0);
  for_each_gradient<T>(
      p, B, S, control, [&](Index first, EigenMatrix<double>& N, MatrixView<const double> s, int worker) {
        if (!terms.separable_only()) N.noalias() -= eigen(terms.quadratic()) * eigen(s);
        for (Index j = 0; j < N.cols(); ++j) {
          terms.add_linear(first + j, N.col(j).data());
          terms.add_laplacian(S, first + j, -terms.alpha(), N.col(j).data());
          for (Index k = 0; k < N.rows(); ++k)
            most[worker] =
                std::max(most[worker], kkt_distance(-2 * N(k, j), s(k, j), terms.penalty()[k], terms.positive()));
        }
      });
  return {*std::max_element(most.begin(), most.end()), gradient_scale<T>(p, B, nullptr, control)};
}

template <class T>
double largest_beta(const CodesProblem<T>& p, const Control& control) {
  const CodeTerms<T> terms(p.penalty, p.coupling, p.B.cols, control);
  return gradient_scale<T>(p, cast<double, T>(p.B), &terms, control);
}

template <class T>
StepReport solve_codes(const CodesProblem<T>& p, Matrix<T>& S, const StepOptions& options, const Control& control,
                       const CoupledGraph* graph) {
  return solve_codes(p, CodeTerms<T>(p.penalty, p.coupling, S.rows(), control), S, options, control, graph);
}

template <class T>
StepReport solve_codes(const CodesProblem<T>& p, const CodeTerms<T>& terms, Matrix<T>& S, const StepOptions& options,
                       const Control& control, const CoupledGraph* graph) {
  if (S.empty()) return {0, 0, true};
  const Matrix<double> B = cast<double, T>(p.B);
  if (terms.positive()) eigen(S) = eigen(S).cwiseMax(T(0));
  if (!(terms.alpha() > 0)) return solve_separable<T>(p, B, terms, S, options, control);
  std::optional<CoupledGraph> own;
  if (graph == nullptr) graph = &own.emplace(terms.laplacian(), control, options.tuning);
  return solve_coupled<T>(p, B, terms, *graph, S, options, control);
}

template <class T>
void improve_codes(const CheapCodes<T>& p, const CodeTerms<T>& terms, const CoupledGraph* graph, int passes, int sweeps,
                   Matrix<T>& S, const Control& control) {
  const SerialBlas serial;
  if (terms.alpha() > 0)
    improve_coupled<T>(p, terms, *graph, passes, S, control);
  else
    improve_separable<T>(p, terms, sweeps, S, control);
}

#define PACEWISE_INSTANTIATE(T)                                                                                        \
  template StepReport solve_codes<T>(const CodesProblem<T>&, Matrix<T>&, const StepOptions&, const Control&,           \
                                     const CoupledGraph*);                                                             \
  template double codes_certificate<T>(const CodesProblem<T>&, const Matrix<T>&, const Control&);                      \
  template StepReport solve_codes<T>(const CodesProblem<T>&, const CodeTerms<T>&, Matrix<T>&, const StepOptions&,      \
                                     const Control&, const CoupledGraph*);                                             \
  template Largest codes_gap<T>(const CodesProblem<T>&, const CodeTerms<T>&, const Matrix<T>&, const Control&);        \
  template void improve_codes<T>(const CheapCodes<T>&, const CodeTerms<T>&, const CoupledGraph*, int, int, Matrix<T>&, \
                                 const Control&);                                                                      \
  template double largest_beta<T>(const CodesProblem<T>&, const Control&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

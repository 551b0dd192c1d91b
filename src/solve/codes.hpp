#pragma once
#include "algebra/parallel.hpp"
#include "algebra/sparse.hpp"
#include "data/problem.hpp"
#include "pacewise/steps.hpp"

namespace pacewise {

template <class T>
struct CodesProblem {
  MatrixView<const T> X;      // m x n
  const Weights<T>& weights;  // w v, what counts in the fit
  MatrixView<const T> B;      // m x r
  double beta = 0;
  Coupling<T> coupling;
};

/// S-step, the paper's eq. 15 corrected:
///   min_S  sum w v (X - B S)^2 + beta |S|_1 + alpha tr(S L S') + gamma |H - Q S|_F^2
/// S (r x n) holds the start on entry and the codes on return; the objective never rises.
template <class T>
StepReport solve_codes(const CodesProblem<T>& problem, Matrix<T>& S, const StepOptions& options,
                       const Control& control);

/// max_kj dist(-g_kj, beta d|s_kj|) / max_kj |2 B'(w v X)|_kj at S, without solving anything.
template <class T>
double codes_certificate(const CodesProblem<T>& problem, const Matrix<T>& S, const Control& control);

/// The smallest beta at which all codes are zero (with S = 0 and no Laplacian pull):
/// max_kj |2 B'(w v X) + 2 gamma Q'H|_kj.
template <class T>
double largest_beta(const CodesProblem<T>& problem, const Control& control);

}  // namespace pacewise

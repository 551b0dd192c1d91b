#pragma once
#include <functional>

#include "algebra/sparse.hpp"
#include "data/problem.hpp"
#include "pacewise/steps.hpp"

namespace pacewise {

struct Largest;
class CoupledGraph;  // a Laplacian made ready: solve/proximal.hpp
template <class T>
class CodeTerms;  // what the objective has beside the fit: solve/code_terms.hpp

template <class T>
struct CodesProblem {
  MatrixView<const T> X;      // m x n
  const Weights<T>& weights;  // w v, what counts in the fit
  MatrixView<const T> B;      // m x r
  Penalty penalty;
  Coupling<T> coupling;
};

/// S-step, the paper's eq. 15 corrected:
///   min_S  sum w v (X - B S)^2 + beta sum p_k |s_kj| + l2 |S|_F^2 + alpha tr(S L S') + gamma |H - Q S|_F^2
/// S (r x n) holds the start on entry and the codes on return; the objective never rises. Without a Laplacian each
/// sample is solved by itself (solve/separable.cpp), else all together (solve/coupled.cpp).
template <class T>
StepReport solve_codes(const CodesProblem<T>& problem, Matrix<T>& S, const StepOptions& options, const Control& control,
                       const CoupledGraph* graph = nullptr);

/// The same with the terms beside the fit made already (problem.penalty and .coupling are not looked at).
template <class T>
StepReport solve_codes(const CodesProblem<T>& problem, const CodeTerms<T>& terms, Matrix<T>& S,
                       const StepOptions& options, const Control& control, const CoupledGraph* graph);

/// Calls use(first, R, s) for every block of samples, on all threads: R = w v (X - B S) and the block's codes in float.
/// R may be overwritten.
using ResidualBlocks =
    std::function<void(const std::function<void(Index first, MatrixView<float> R, MatrixView<const float> s)>& use)>;

/// What cheap codes steps take from the data: weights only as `bound`, the largest of samples and entries, and those of
/// features (and of samples where nothing else is quadratic).
template <class T>
struct CheapCodes {
  MatrixView<const T> B;
  const Weights<T>& weights;
  double bound = 1;
  ResidualBlocks residuals;
  const Tuning& tuning;
};

/// One cheap step for an alternation: `passes` proximal passes (coupled) or `sweeps` over the atoms (else) on a problem
/// that lies above this one and touches it at S, with the largest weight in place of all. The objective never rises.
template <class T>
void improve_codes(const CheapCodes<T>& problem, const CodeTerms<T>& terms, const CoupledGraph* graph, int passes,
                   int sweeps, Matrix<T>& S, const Control& control);

/// max_kj dist(-g_kj, beta p_k d|s_kj|) / max_kj |2 B'(w v X)|_kj at S, without solving anything.
template <class T>
double codes_certificate(const CodesProblem<T>& problem, const Matrix<T>& S, const Control& control);
/// its numerator and denominator
template <class T>
Largest codes_gap(const CodesProblem<T>& problem, const CodeTerms<T>& terms, const Matrix<T>& S,
                  const Control& control);

/// The smallest beta at which all codes are zero (with S = 0): max_kj |2 B'(w v X) + 2 gamma Q'H|_kj.
template <class T>
double largest_beta(const CodesProblem<T>& problem, const Control& control);

/// Codes with at most `nonzeros` atoms a sample, or as many as bring |x - B s|^2 to `target`, by orthogonal matching
/// pursuit. Weights count in the fit; the penalty and the coupling are not looked at.
template <class T>
Matrix<T> pursue_codes(const CodesProblem<T>& problem, Index nonzeros, double target, const Control& control);

}  // namespace pacewise

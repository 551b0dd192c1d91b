#pragma once
#include "algebra/sparse.hpp"
#include "data/problem.hpp"
#include "solve/tuning.hpp"

namespace pacewise {

/// The terms that tie samples to one another:  alpha tr(S L S') + gamma |H - Q S|_F^2. Null or zero = absent.
template <class T>
struct Coupling {
  const Sparse* laplacian = nullptr;  // L, n x n
  double alpha = 0;
  const Sparse* incidence = nullptr;       // H, e x n
  const Matrix<T>* consistency = nullptr;  // Q, e x r
  double gamma = 0;

  bool manifold() const { return laplacian != nullptr && alpha > 0; }
  bool consistent() const { return incidence != nullptr && consistency != nullptr && gamma > 0; }
};

/// What a code costs by itself:  beta sum_k p_k |s_k| + l2 sum_k s_k^2,  s >= 0 where `positive`.
struct Penalty {
  double beta = 0;
  double l2 = 0;
  bool positive = false;
  Vector<double> atom = {};  // p, one number >= 0 for each atom; empty: all 1

  double of(Index k) const { return atom.empty() ? beta : beta * atom[k]; }
  void validate(Index atoms) const;
};

template <class T>
struct CodesProblem {
  MatrixView<const T> X;      // m x n
  const Weights<T>& weights;  // w v, what counts in the fit
  MatrixView<const T> B;      // m x r
  Penalty penalty;
  Coupling<T> coupling;
};

struct StepOptions {
  double tol =
      1e-8;  // on the relative KKT residual; below what the precision allows it is reached as closely as possible
  int max_rounds = 500;  // gradients from the data at most
  Tuning tuning = {};
};

/// What every step reports, at the point it returns.
struct StepReport {
  double certificate = 0;  // relative KKT residual: 0 at the optimum, scale-free (docs/method.md)
  int rounds = 0;
  bool converged = false;  // certificate <= tol
};

/// S-step, the paper's eq. 15 corrected:
///   min_S  sum w v (X - B S)^2 + beta sum p_k |s_kj| + l2 |S|_F^2 + alpha tr(S L S') + gamma |H - Q S|_F^2
/// S (r x n) holds the start on entry and the codes on return; the objective never rises. Without a Laplacian each
/// sample is solved by itself (solve/separable.cpp), else all together (solve/coupled.cpp).
template <class T>
StepReport solve_codes(const CodesProblem<T>& problem, Matrix<T>& S, const StepOptions& options,
                       const Control& control);

/// max_kj dist(-g_kj, beta p_k d|s_kj|) / max_kj |2 B'(w v X)|_kj at S, without solving anything.
template <class T>
double codes_certificate(const CodesProblem<T>& problem, const Matrix<T>& S, const Control& control);

/// The smallest beta at which all codes are zero (with S = 0): max_kj |2 B'(w v X) + 2 gamma Q'H|_kj.
template <class T>
double largest_beta(const CodesProblem<T>& problem, const Control& control);

/// Codes with at most `nonzeros` atoms a sample, or as many as bring |x - B s|^2 to `target`, by orthogonal matching
/// pursuit. Weights count in the fit; the penalty and the coupling are not looked at.
template <class T>
Matrix<T> pursue_codes(const CodesProblem<T>& problem, Index nonzeros, double target, const Control& control);

}  // namespace pacewise

#pragma once
#include "algebra/parallel.hpp"
#include "algebra/sparse.hpp"
#include "data/problem.hpp"

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

template <class T>
struct CodesProblem {
  MatrixView<const T> X;      // m x n
  const Weights<T>& weights;  // w v, what counts in the fit
  MatrixView<const T> B;      // m x r
  double beta = 0;
  Coupling<T> coupling;
};

struct StepOptions {
  double tol = 1e-8;  // on the certificate; below what the precision allows it is reached as closely as possible
  int max_rounds = 500;
  /// Newton systems may take this much memory before they are made anew or applied unformed each time; 0: twice the
  /// data's size, or 256 MB if that is more
  std::size_t memory_bytes = 0;
};

/// What every step reports, at the point it returns.
struct StepReport {
  double certificate = 0;  // optimality residual of design section 3: 0 at the optimum, scale-free
  int rounds = 0;
  bool converged = false;  // certificate <= tol
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

#pragma once
#include "pacewise/model.hpp"
#include "pacewise/tuning.hpp"

namespace pacewise {

// The single steps of the fit, each exact. Data as in fit(): X is m x n, NaN = missing, alone or as {X, weights}.

struct StepOptions {
  double tol = 1e-8;  // >= 0, on the certificate; below what the precision allows it is reached as closely as possible
  int max_rounds = 500;  // >= 0, gradients from the data at most
  Tuning tuning = {};
};

/// What a code costs by itself:  beta sum_k p_k |s_k| + l2 sum_k s_k^2,  s >= 0 where `positive`.
struct Penalty {
  double beta = 0;  // >= 0; twice the lambda of scikit-learn, SPAMS and mlpack
  double l2 = 0;    // >= 0
  bool positive = false;
  Vector<double> atom = {};  // p, one number >= 0 for each atom; empty: all 1

  double of(Index k) const { return atom.empty() ? beta : beta * atom[k]; }
  void validate(Index atoms) const;
};

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

/// A step's answer.
template <class T>
struct Step {
  Matrix<T> value;
  StepReport report;
};

/// Codes S (r x n) for a dictionary (m x r):
///   min_S  sum w (X - B S)^2 + beta sum p_k |s_kj| + l2 |S|_F^2 + alpha tr(S L S') + gamma |H - Q S|_F^2.
/// `start`, r x n, saves time if it is a good one; the answer is the same.
template <class T>
struct CodesTerms {
  Penalty penalty = {0.1};
  Coupling<T> coupling = {};       // none: samples are coded each by itself
  MatrixView<const T> start = {};  // empty: 0
};
Step<float> sparse_encode(const Problem<float>& X, MatrixView<const float> dictionary, const CodesTerms<float>& terms,
                          const StepOptions& options = {}, const Control& control = {});
Step<double> sparse_encode(const Problem<double>& X, MatrixView<const double> dictionary,
                           const CodesTerms<double>& terms, const StepOptions& options = {},
                           const Control& control = {});

/// Codes (r x n) by orthogonal matching pursuit: atoms join one by one, and all are refitted, until a sample has
/// `nonzeros` of them (>= 1) or its sum_i w_i (x - B s)_i^2 is <= `tol` (>= 0).
Matrix<float> orthogonal_mp(const Problem<float>& X, MatrixView<const float> dictionary, Index nonzeros, double tol = 0,
                            const Control& control = {});
Matrix<double> orthogonal_mp(const Problem<double>& X, MatrixView<const double> dictionary, Index nonzeros,
                             double tol = 0, const Control& control = {});

/// Dictionary (m x r) for codes (r x n): min_B sum w (X - B S)^2 subject to |b_k|_2 <= 1 (and B >= 0 where
/// `positive`). Atoms that no code uses stay as in `start` (m x r; empty: 0).
Step<float> update_dictionary(const Problem<float>& X, MatrixView<const float> codes,
                              MatrixView<const float> start = {}, bool positive = false,
                              const StepOptions& options = {}, const Control& control = {});
Step<double> update_dictionary(const Problem<double>& X, MatrixView<const double> codes,
                               MatrixView<const double> start = {}, bool positive = false,
                               const StepOptions& options = {}, const Control& control = {});

/// Consistency map Q (e x r) for an incidence (e x n) and codes (r x n): min_Q |H - Q S|_F^2 + eta |Q|_F^2, eta > 0.
Step<float> update_consistency(const Sparse& incidence, MatrixView<const float> codes, double eta,
                               const Control& control = {});
Step<double> update_consistency(const Sparse& incidence, MatrixView<const double> codes, double eta,
                                const Control& control = {});

/// Self-paced weights: the v in [0, 1] that minimises v l + F(v; lambda) for each loss l. lambda > 0; infinity: all 1.
Vector<float> pace_weights(const Vector<float>& losses, double lambda, const Regularizer& regularizer = Linear{});
Vector<double> pace_weights(const Vector<double>& losses, double lambda, const Regularizer& regularizer = Linear{});

/// What the objective is made of beside the fit.
template <class T>
struct ObjectiveTerms {
  Penalty penalty = {};
  Level level = Level::none;                                // of the self-paced weights
  Vector<T> weights = {};                                   // v of every unit; empty: the best ones for `lambda`
  double lambda = std::numeric_limits<double>::infinity();  // > 0; infinity: no pace
  Regularizer regularizer = Linear{};
  Coupling<T> coupling = {};
  double eta = 0;
};
/// J and its parts at any dictionary (m x r) and codes (r x n).
Objective objective(const Problem<float>& X, MatrixView<const float> dictionary, MatrixView<const float> codes,
                    const ObjectiveTerms<float>& terms, const Control& control = {});
Objective objective(const Problem<double>& X, MatrixView<const double> dictionary, MatrixView<const double> codes,
                    const ObjectiveTerms<double>& terms, const Control& control = {});

}  // namespace pacewise

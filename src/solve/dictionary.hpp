#pragma once
#include <functional>

#include "algebra/eigen.hpp"
#include "algebra/random.hpp"
#include "solve/codes.hpp"

namespace pacewise {

template <class T>
struct DictionaryProblem {
  MatrixView<const T> X;      // m x n
  const Weights<T>& weights;  // w v
  MatrixView<const T> S;      // r x n
  bool positive = false;      // atoms >= 0
};

/// Half the negative gradient of the fit at B, N = (w v (X - B S)) S' (m x r), and the fit itself
struct DictionaryGradient {
  EigenMatrix<double> N;
  double fit = 0;
  DictionaryGradient& operator+=(const DictionaryGradient& other) {
    N += other.N;
    fit += other.fit;
    return *this;
  }
};

/// The curvature of the fit in B: for row i of B the Gram matrix M_i = sum_j w_ij v_ij s_j s_j'. Without entry weights
/// M_i = f_i A. With them the model is M_i itself, `rows`; or diag(t_i) A diag(t_i) with its diagonal, `matched`, which
/// is no bound; or the bound f_i A.
struct Curvature {
  EigenMatrix<double> A;  // r x r
  Eigen::VectorXd f;      // m
  Matrix<float> rows;     // m x r (r + 1) / 2: column k (k + 1) / 2 + l, l <= k, has (M_i)_kl of all rows i; or empty
  EigenMatrix<double> diagonals;  // (M_i)_kk, m x r, where entries have weights
  bool matched = false;

  double largest(Index k) const;                  // max_i (M_i)_kk
  bool nearly_bound(double share) const;          // each row's and each atom's diagonal is this share of the bound's
  Curvature& operator+=(const Curvature& other);  // that of more samples
};

struct DictionaryReport : StepReport {
  double fit = 0;  // sum w v (X - B S)^2 at the B returned
};

/// Sweeps over the atoms on the model  <D, M D> - 2 <N, D>  about B, |b_k| <= 1 (and b_k >= 0): each atom is the exact
/// minimiser with the others fixed, whose multiplier solves a secular equation. Mixes past sweeps (Anderson) where more
/// than `mixing` are made. Ends after `sweeps` or when no atom moves by more than `goal`.
void sweep_atoms(const Curvature& curvature, const EigenMatrix<double>& N, bool positive, int sweeps, double goal,
                 EigenMatrix<double>& B, const Tuning& tuning, const Control& control);

/// max_k |b_k - P(b_k - G_k / c_k)|_2, G = -2 N, c_k = 2 max_i (M_i)_kk, P the projection on the constraints; unused
/// atoms (c_k = 0) count 0.
double dictionary_residual(const Curvature& curvature, const EigenMatrix<double>& N, bool positive,
                           const EigenMatrix<double>& B);

/// The B-step over data that only `gradient` knows: in memory, or in parts. Curvature with `rows` is asked for where
/// entry weights differ much, or where matched diagonals would take more than `patience` rounds.
DictionaryReport solve_dictionary(const std::function<Curvature(bool rows)>& curvature,
                                  const std::function<DictionaryGradient(const EigenMatrix<double>& B)>& gradient,
                                  bool positive, EigenMatrix<double>& B, const StepOptions& options,
                                  const Control& control);

/// B-step, the paper's eq. 14:  min_B  sum w v (X - B S)^2  subject to |b_k|_2 <= 1 (and B >= 0).
/// B (m x r) holds the start on entry and the dictionary on return; the fit never rises. Atoms no sample uses stay as
/// they are (scaled back into the ball if outside).
template <class T>
DictionaryReport solve_dictionary(const DictionaryProblem<T>& problem, Matrix<T>& B, const StepOptions& options,
                                  const Control& control);

template <class T>
DictionaryGradient dictionary_gradient(const DictionaryProblem<T>& problem, const EigenMatrix<double>& B,
                                       const Control& control);
/// `rows`: with Grams of single rows where entries have weights and memory allows
template <class T>
Curvature dictionary_curvature(const DictionaryProblem<T>& problem, bool rows, const Tuning& tuning,
                               const Control& control);

template <class T>
double dictionary_certificate(const DictionaryProblem<T>& problem, const Matrix<T>& B, const Control& control);

/// Every atom not in use becomes a sample, drawn in proportion to `chance` and each at most once, scaled to unit norm.
void revive_atoms(const Vector<char>& used, Vector<double> chance,
                  const std::function<Eigen::VectorXd(Index sample)>& sample, bool positive, Random& random,
                  EigenMatrix<double>& B);

/// Puts every atom into the unit ball (and the positive orthant).
void project_atoms(EigenMatrix<double>& B, bool positive);

}  // namespace pacewise

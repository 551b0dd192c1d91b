#pragma once
#include <optional>

#include "solve/codes.hpp"

namespace pacewise {

template <class T>
struct DictionaryProblem {
  MatrixView<const T> X;      // m x n
  const Weights<T>& weights;  // w v
  MatrixView<const T> S;      // r x n
};

struct DictionaryReport : StepReport {
  /// sum w v (X - B S)^2 at the B returned, where the step has it from the data: with entry weights
  std::optional<double> fit;
};

/// B-step, the paper's eq. 14:  min_B  sum w v (X - B S)^2  subject to |b_k|_2 <= 1.
/// By Newton's method on the Lagrange dual (r unknowns); with entry weights by cheaper steps first. B (m x r) holds the
/// start on entry and the dictionary on return; the fit never rises. Atoms no sample uses stay as they are (scaled back
/// into the ball if outside).
template <class T>
DictionaryReport solve_dictionary(const DictionaryProblem<T>& problem, Matrix<T>& B, const StepOptions& options,
                                  const Control& control);

/// Scales atoms that are longer than 1 back into the unit ball.
template <class T>
void into_ball(Matrix<T>& B);

/// max_k |b_k - P(b_k - G_k / c_k)|_2 at B, c_k = 2 max_i sum_j w_ij v_ij s_kj^2; unused atoms (c_k = 0) count 0.
template <class T>
double dictionary_certificate(const DictionaryProblem<T>& problem, const Matrix<T>& B, const Control& control);
/// The same for data without weights, from A = S S' and C = X S'
template <class T>
double dictionary_certificate(const Matrix<T>& A, const Matrix<T>& C, const Matrix<T>& B, const Control& control);

}  // namespace pacewise

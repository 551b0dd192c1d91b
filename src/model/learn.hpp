#pragma once
#include "model/fit.hpp"

namespace pacewise {

struct LearnOptions {
  double beta = 0.1;       // >= 0; twice the lambda of scikit-learn, SPAMS and mlpack
  int max_iter = 100;      // >= 1, passes over the samples
  double tol = 1e-4;       // >= 0: relative fall of the objective in a pass below which it counts as stalled
  double step_tol = 1e-6;  // > 0, certificate asked of the last codes
};
void validate(const LearnOptions& options);

template <class T>
struct Learned {
  Matrix<T> dictionary;  // B, m x r
  Matrix<T> codes;       // S, r x n
  Objective objective;   // at the returned point
  Certificate certificate;
  std::vector<double> history;  // the objective after every pass
  Termination termination = Termination::iteration_limit;
};

/// Plain dictionary learning, for complete data without weights:
///   min_{B,S}  |X - B S|_F^2 + beta |S|_1   subject to |b_k|_2 <= 1.
/// A pass takes the samples in blocks: the codes of one block, then one sweep over the atoms with the sums S S' and
/// X S' of all blocks as they stand. Each part lowers the objective, and the dictionary moves several
/// times a pass; fit() cannot do this, because graph and pace tie all samples together. The codes returned are those of
/// the dictionary returned, exact to step_tol. `dictionary` is the start; an atom that no sample uses becomes a badly
/// fitted sample.
template <class T>
Learned<T> learn(MatrixView<const T> X, Matrix<T> dictionary, const LearnOptions& options, const Control& control);

}  // namespace pacewise

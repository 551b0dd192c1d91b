#pragma once
#include "solve/code_terms.hpp"

namespace pacewise {

/// Codes of samples that nothing ties together, B in double. See solve_codes.
template <class T>
StepReport solve_separable(const CodesProblem<T>& problem, MatrixView<const double> B, const CodeTerms<T>& terms,
                           Matrix<T>& S, const StepOptions& options, const Control& control);

/// See improve_codes.
template <class T>
void improve_separable(const CheapCodes<T>& problem, const CodeTerms<T>& terms, int sweeps, Matrix<T>& S,
                       const Control& control);

}  // namespace pacewise

#pragma once
#include "solve/code_terms.hpp"
#include "solve/proximal.hpp"

namespace pacewise {

/// Codes of samples that a Laplacian ties together, B in double. See solve_codes.
template <class T>
StepReport solve_coupled(const CodesProblem<T>& problem, MatrixView<const double> B, const CodeTerms<T>& terms,
                         const CoupledGraph& graph, Matrix<T>& S, const StepOptions& options, const Control& control);

/// See improve_codes.
template <class T>
void improve_coupled(const CheapCodes<T>& problem, const CodeTerms<T>& terms, const CoupledGraph& graph, int passes,
                     Matrix<T>& S, const Control& control);

}  // namespace pacewise

#pragma once
#include "solve/code_terms.hpp"

namespace pacewise {

/// The parts that depend on S and Q alone: sparsity, manifold, consistency. The fit and pace parts come from the
/// losses. From sums over all samples, with Q'Q and S S' (r x r) where there is a consistency term.
Objective code_objective(const CodeSums& sums, const Penalty& penalty, double alpha, double gamma, double eta,
                         const EigenMatrix<double>& QQ, const EigenMatrix<double>& SS);

template <class T>
Objective code_terms(MatrixView<const T> S, const Penalty& penalty, const Coupling<T>& coupling, double eta,
                     const Control& control);

}  // namespace pacewise

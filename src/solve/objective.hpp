#pragma once
#include "solve/codes.hpp"

namespace pacewise {

/// The parts that depend on S and Q alone: sparsity, manifold, consistency. The fit and pace parts come from the
/// losses.
template <class T>
Objective code_terms(MatrixView<const T> S, const Penalty& penalty, const Coupling<T>& coupling, double eta,
                     const Control& control);

}  // namespace pacewise

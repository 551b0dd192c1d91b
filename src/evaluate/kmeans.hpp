#pragma once
#include <vector>

#include "algebra/parallel.hpp"
#include "pacewise/evaluate.hpp"

namespace pacewise {

/// See pacewise/evaluate.hpp.
template <class T>
std::vector<KMeansRun> kmeans(MatrixView<const T> X, const KMeansOptions& options, const Control& control);

}  // namespace pacewise

#pragma once
#include <string>
#include <vector>

#include "model/fit.hpp"

namespace pacewise {

/// A figure a model states, and the same computed from the raw data.
struct Figure {
  std::string name;
  double stated = 0, found = 0;
  bool same = false;
};

/// How far a figure may be off: relative for all; certificates, which are near 0, also absolutely.
template <class T>
struct VerifyTolerance {
  static constexpr double relative = std::is_same_v<T, double> ? 1e-6 : 1e-3;
  static constexpr double certificate = std::is_same_v<T, double> ? 1e-9 : 1e-4;
};

/// Objective, certificates, and every scale and threshold that later commands use, recomputed from the raw data:
/// normalised, graph built, losses computed, without a step. Of the history only whether it can be so. Empty once
/// control.stop().
template <class T>
std::vector<Figure> verify(const Model<T>& model, const Problem<T>& problem, const FitInputs& inputs,
                           const Control& control);

}  // namespace pacewise

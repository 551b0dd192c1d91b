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
/// normalised, graph built, losses computed, without a step. The course of the run cannot be recomputed without it: it
/// must be one that the schedule allows, ending in what was recomputed. Empty once control.stop().
template <class T>
std::vector<Figure> verify(const Model<T>& model, const Problem<T>& problem, const FitInputs& inputs,
                           const Control& control);

/// add(name, stated, found, magnitude, absolute): how far the two may be apart
using AddFigure = std::function<void(const char*, double, double, double, double)>;

/// The part of `verify` about history, stages and schedule; `data` as the fit saw them
template <class T>
void verify_course(const Model<T>& model, const Model<T>& found, const Data<T>& data, const AddFigure& add);

}  // namespace pacewise

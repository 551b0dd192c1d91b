#pragma once
#include "model/fit.hpp"

namespace pacewise {

/// What score() says of training samples, before which the model learns from them what is usual where folds judge.
template <class T>
Trust<T> calibrate(Model<T>& model, const Problem<T>& problem, const EncodeOptions& options, const Control& control);

}  // namespace pacewise

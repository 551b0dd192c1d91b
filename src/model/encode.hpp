#pragma once
#include "model/fit.hpp"

namespace pacewise {

/// Confidence in an entry by its loss in units of its lambda: the linear weight down to 1/2, then a tail that goes on
/// as steep and never ends, since of two entries that are far off the farther one is wrong more often.
inline double confidence_of(double loss) { return loss < 0.5 ? 1 - loss : 1 / (4 * loss); }

/// What score() says of training samples, before which the model learns from them what is usual where folds judge.
template <class T>
Trust<T> calibrate(Model<T>& model, const Problem<T>& problem, const EncodeOptions& options, const Control& control);

}  // namespace pacewise

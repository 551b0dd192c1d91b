#pragma once
#include "data/problem.hpp"

namespace pacewise {

/// Sizes and means over the entries that are not missing
struct Observed {
  Vector<double> mean;         // m: of each feature, 0 where it is never observed
  Vector<std::int32_t> count;  // n: observed entries of each sample
  Index missing = 0;           // entries in all
  double largest = 0;          // max |x_ij|

  /// the power of two that brings every |x_ij| below 1: exact, and squares of huge or tiny data stay in range
  double scale() const;
};

template <class T>
Observed observe(const Samples<T>& X, const Control& control);

}  // namespace pacewise

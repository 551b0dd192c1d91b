#pragma once
#include <vector>

#include "algebra/parallel.hpp"

namespace pacewise {

/// What is there: NaN is a missing entry, an infinite one is an Error.
struct Observed {
  std::vector<double> mean;         // m: of each feature over its observed entries, 0 where there are none
  std::vector<std::int32_t> count;  // n: observed entries of each sample
  Index missing = 0;                // NaN entries in all
  double largest = 0;               // max |x_ij|

  /// the power of two that brings every |x_ij| below 1: exact, and squares of huge or tiny data stay in range
  double scale() const;
};

template <class T>
Observed observe(MatrixView<const T> X, const Control& control);

/// Samples that are equal entry by entry (missing where the other is missing) and have at least one observed entry.
/// Groups are numbered by their smallest member.
struct EqualSamples {
  std::vector<std::int32_t> group;           // n: the group of each sample, -1 for a sample without observed entry
  std::vector<std::int32_t> representative;  // per group: its smallest member
  std::vector<Index> start{0};               // members of group g: member[start[g] .. start[g+1]), ascending
  std::vector<std::int32_t> member;

  Index groups() const { return static_cast<Index>(representative.size()); }
};

template <class T>
EqualSamples group_equal(MatrixView<const T> X, const Observed& observed, const Control& control);

}  // namespace pacewise

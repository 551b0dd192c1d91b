// The one table of tolerances, by precision.
#pragma once

struct Tolerance {
  double certificate;  // what a step owes
  double recomputed;   // a reported number against the slow path's, relative
};

template <class T>
constexpr Tolerance tolerance();
template <>
constexpr Tolerance tolerance<double>() {
  return {1e-8, 1e-10};
}
template <>
constexpr Tolerance tolerance<float>() {
  return {1e-4, 2e-5};
}

#include "algebra/sums.hpp"

#include <algorithm>
#include <cmath>

#include "algebra/simd.hpp"

namespace pacewise {
namespace {

constexpr Index kLanes = 16;

/// sum_i of(i)
template <class Of>
[[gnu::always_inline]] inline double sum(Index size, const Of& of) {
  double lane[kLanes] = {}, total = 0;
  Index i = 0;
  for (; i + kLanes <= size; i += kLanes)
    for (Index t = 0; t < kLanes; ++t) lane[t] += of(i + t);
  for (; i < size; ++i) total += of(i);
  for (const double part : lane) total += part;
  return total;
}

}  // namespace

template <class T>
PACEWISE_WIDE_TEMPLATE double inner_product(const T* x, const T* y, Index size) {
  return sum(size, [=](Index i) { return static_cast<double>(x[i]) * static_cast<double>(y[i]); });
}

template <class T>
PACEWISE_WIDE_TEMPLATE double l1_norm(const T* x, Index size) {
  return sum(size, [=](Index i) { return static_cast<double>(std::abs(x[i])); });
}

template <class T>
PACEWISE_WIDE_TEMPLATE double max_norm(const T* x, Index size) {
  T lane[kLanes] = {};
  Index i = 0;
  for (; i + kLanes <= size; i += kLanes)
    for (Index t = 0; t < kLanes; ++t) lane[t] = std::max(lane[t], std::abs(x[i + t]));
  for (; i < size; ++i) lane[0] = std::max(lane[0], std::abs(x[i]));
  return static_cast<double>(*std::max_element(lane, lane + kLanes));
}

template <class U, class T>
PACEWISE_WIDE_TEMPLATE void add_scaled(U* y, const T* x, U f, Index size) {
  for (Index i = 0; i < size; ++i) y[i] += f * static_cast<U>(x[i]);
}
template void add_scaled<float, float>(float*, const float*, float, Index);
template void add_scaled<float, double>(float*, const double*, float, Index);
template void add_scaled<double, float>(double*, const float*, double, Index);
template void add_scaled<double, double>(double*, const double*, double, Index);

#define PACEWISE_INSTANTIATE(T)                                \
  template double inner_product<T>(const T*, const T*, Index); \
  template double l1_norm<T>(const T*, Index);                 \
  template double max_norm<T>(const T*, Index);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

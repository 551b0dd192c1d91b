#include "solve/coupled_passes.hpp"

#include <algorithm>
#include <cmath>

#include "algebra/simd.hpp"

namespace pacewise {
namespace {

/// Sums are kept in lanes: the same for any width of vectors, and they need not wait for themselves.
constexpr int kLanes = 16;
template <class Body>
[[gnu::always_inline]] inline void in_lanes(Index count, const Body& one) {
  Index i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int t = 0; t < kLanes; ++t) one(i + t, t);
  for (; i < count; ++i) one(i, 0);
}
template <class U>
double total(const U* lane) {
  double sum = 0;
  for (int t = 0; t < kLanes; ++t) sum += static_cast<double>(lane[t]);
  return sum;
}
template <class U>
double largest(const U* lane) {
  return static_cast<double>(*std::max_element(lane, lane + kLanes));
}

}  // namespace

template <class U, class Start>
PACEWISE_WIDE_TEMPLATE void proximal_step(Index count, ProximalScale<U> by, const Start* __restrict start,
                                          const U* __restrict pull, const U* __restrict image,
                                          const U* __restrict ahead, U* __restrict now, U* __restrict next,
                                          ProximalSums& sums) {
  U uphill[kLanes] = {}, changed[kLanes] = {}, move[kLanes] = {};
  in_lanes(count, [&](Index i, int lane) {
    const U s0 = static_cast<U>(start[i]), y = s0 + ahead[i], old = now[i];
    const U x = y - (pull[i] + 2 * image[i]) * by.step;
    const U above = x - by.cut, below = x + by.cut;
    const U fresh = (above > 0 ? above : U(0)) + (below < 0 ? below : U(0));
    const U size = std::abs(fresh - y);
    uphill[lane] += (y - fresh) * (fresh - old);
    changed[lane] += (fresh == 0) != (old == 0) ? U(1) : U(0);
    move[lane] = move[lane] < size ? size : move[lane];
    now[i] = fresh;
    next[i] = (fresh - s0) + by.push * (fresh - old);
  });
  sums.uphill += total(uphill);
  sums.changed += total(changed);
  sums.move = std::max(sums.move, static_cast<double>(by.bound) * largest(move));
}

template <class U>
PACEWISE_WIDE_TEMPLATE double advance(Index count, U t, const U* __restrict direction, U* __restrict image,
                                      U* __restrict step, U* __restrict residual) {
  U top[kLanes] = {};
  in_lanes(count, [&](Index i, int lane) {
    step[i] += t * direction[i];
    residual[i] -= t * image[i];
    image[i] = residual[i];
    const U size = std::abs(residual[i]);
    top[lane] = top[lane] < size ? size : top[lane];
  });
  return largest(top);
}

template <class U>
PACEWISE_WIDE_TEMPLATE void turn(Index count, U keep, const U* __restrict towards, U* __restrict direction) {
  for (Index i = 0; i < count; ++i) direction[i] = towards[i] + keep * direction[i];
}

template <class U>
PACEWISE_WIDE_TEMPLATE double damped_product(Index count, U damping, const U* __restrict x, U* __restrict y) {
  double sum[kLanes] = {};
  in_lanes(count, [&](Index i, int lane) {
    y[i] += damping * x[i];
    sum[lane] += static_cast<double>(x[i]) * static_cast<double>(y[i]);
  });
  return total(sum);
}

template <class U>
PACEWISE_WIDE_TEMPLATE void solve_packed(Index count, const U* __restrict L, double* __restrict x) {
  constexpr Index lanes = 8;
  const U* l = L;  // l[i] is in row i of column j
  for (Index j = 0; j < count; l += count - ++j) {
    const double v = x[j] /= static_cast<double>(l[j]);
    for (Index i = j + 1; i < count; ++i) x[i] -= static_cast<double>(l[i]) * v;
  }
  for (Index j = count - 1; j >= 0; --j) {
    l -= count - 1 - j;
    double part[lanes] = {};
    Index i = j + 1;
    for (; i + lanes <= count; i += lanes)
      for (Index t = 0; t < lanes; ++t) part[t] += static_cast<double>(l[i + t]) * x[i + t];
    double v = x[j] - (((part[0] + part[1]) + (part[2] + part[3])) + ((part[4] + part[5]) + (part[6] + part[7])));
    for (; i < count; ++i) v -= static_cast<double>(l[i]) * x[i];
    x[j] = v / static_cast<double>(l[j]);
  }
}

template void proximal_step<float, float>(Index, ProximalScale<float>, const float*, const float*, const float*,
                                          const float*, float*, float*, ProximalSums&);
template void proximal_step<float, double>(Index, ProximalScale<float>, const double*, const float*, const float*,
                                           const float*, float*, float*, ProximalSums&);
template double advance<float>(Index, float, const float*, float*, float*, float*);
template void turn<float>(Index, float, const float*, float*);
template double damped_product<float>(Index, float, const float*, float*);
template void solve_packed<float>(Index, const float*, double*);
template void proximal_step<double, float>(Index, ProximalScale<double>, const float*, const double*, const double*,
                                           const double*, double*, double*, ProximalSums&);
template void proximal_step<double, double>(Index, ProximalScale<double>, const double*, const double*, const double*,
                                            const double*, double*, double*, ProximalSums&);
template double advance<double>(Index, double, const double*, double*, double*, double*);
template void turn<double>(Index, double, const double*, double*);
template double damped_product<double>(Index, double, const double*, double*);
template void solve_packed<double>(Index, const double*, double*);

}  // namespace pacewise

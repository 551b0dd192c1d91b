#include "solve/weights.hpp"

#include <algorithm>
#include <cmath>

#include "algebra/simd.hpp"
#include "algebra/sums.hpp"
#include "solve/residual.hpp"

namespace pacewise {
namespace {

constexpr Index kUnits = 8192;  // units per block of a sum

/// What a regulariser says of losses in excess of the usual one: v = weight(e^2), e = max(0, sqrt l - center). It is
/// the v that minimises v l + F(v) with F(v) = int_0^l weight dt - v l at the l where the weight is v.
template <class Type>
struct Excess {
  const Type& type;
  double center;

  double weight(double l, double lambda) const {
    const double e = std::sqrt(l) - center;
    return e > 0 ? type.weight(e * e, lambda) : 1;
  }
  double value(double v, double lambda) const {
    if (!(v < 1)) return 0;
    double low = center, high = center + std::sqrt(lambda);  // of sqrt l
    for (int doubling = 0; doubling < 40 && type.weight((high - center) * (high - center), lambda) > v; ++doubling)
      high += high - low;
    for (int halving = 0; halving < 60; ++halving) {
      const double middle = (low + high) / 2;
      (weight(middle * middle, lambda) > v ? low : high) = middle;
    }
    constexpr int panels = 64;  // Simpson's rule for int_center^sqrt l 2 u weight du
    const double step = (high - center) / panels;
    double sum = 0;
    for (int p = 0; p <= panels; ++p) {
      const double u = p == panels ? low : center + p * step;
      sum += (p == 0 || p == panels ? 1 : p % 2 == 1 ? 4 : 2) * 2 * u * weight(u * u, lambda);
    }
    return center * center + sum * step / 3 - v * high * high;
  }
};

/// f(the regulariser), of what is in excess of `center` where that is positive
template <class F>
void visit(const Regularizer& regularizer, double center, const F& f) {
  std::visit(
      [&]<class Type>(const Type& type) {
        if (center > 0)
          f(Excess<Type>{type, center});
        else
          f(type);
      },
      regularizer);
}

/// v: null where all are 1; `best`: v is the best weight for each loss; Observed: seen(u) is 1 or 0
template <class Type, class T, class Observed>
PACEWISE_WIDE_TEMPLATE void add_units(const Type& type, const T* losses, const T* v, bool best, const Observed& seen,
                                      Index units, double lambda, double edge, PaceSums& out) {
  constexpr Index lanes = PaceSums::kLanes;
  PaceSums part;
  const bool pace = !std::isinf(lambda);
  const auto add = [&](Index u, Index lane) {
    const double here = seen(u), l = here * static_cast<double>(losses[u]);
    const double weight = best && pace ? type.weight(l, lambda) : v == nullptr ? 1.0 : static_cast<double>(v[u]);
    part.fit[lane] += weight * l;
    if (pace) part.value[lane] += here * type.value(weight, lambda);
    part.weight[lane] += here * weight;
    part.largest[lane] = std::max(part.largest[lane], l);
    part.in[lane] += l < edge ? here : 0;
    part.count[lane] += here;
  };
  Index u = 0;
  for (; u + lanes <= units; u += lanes)
    for (Index lane = 0; lane < lanes; ++lane) add(u + lane, lane);
  for (; u < units; ++u) add(u, 0);
  out += part;
}

template <class T>
void add_some(const T* losses, const T* v, bool best, const char* observed, Index units, const Regularizer& regularizer,
              double lambda, double center, PaceSums& sums) {
  if (v == nullptr && std::isinf(lambda)) {  // all in, all 1; what is not observed has no loss
    sums.fit[0] += l1_norm<T>(losses, units);
    sums.largest[0] = std::max(sums.largest[0], max_norm<T>(losses, units));
    for (double* all : {sums.weight, sums.in, sums.count}) all[0] += static_cast<double>(units);
    return;
  }
  const double edge = center > 0 ? std::pow(center + std::sqrt(lambda), 2) : lambda;
  visit(regularizer, center, [&](const auto& type) {
    if (observed == nullptr)
      add_units(
          type, losses, v, best, [](Index) { return 1.0; }, units, lambda, edge, sums);
    else
      add_units(
          type, losses, v, best, [=](Index u) { return observed[u] != 0 ? 1.0 : 0.0; }, units, lambda, edge, sums);
  });
}

template <class Type>
PACEWISE_WIDE_TEMPLATE void weigh_with(const Type& type, const float* w, const float* residual, Index m, double lambda,
                                       float* x) {
  for (Index i = 0; i < m; ++i) {
    const double l = static_cast<double>(residual[i]) * static_cast<double>(residual[i]);
    const double own = w == nullptr ? 1 : static_cast<double>(w[i]);
    x[i] *= static_cast<float>(own * type.weight(own * l, lambda));
  }
}

}  // namespace

PaceSums& PaceSums::operator+=(const PaceSums& other) {
  for (Index lane = 0; lane < kLanes; ++lane) {
    fit[lane] += other.fit[lane];
    value[lane] += other.value[lane];
    weight[lane] += other.weight[lane];
    largest[lane] = std::max(largest[lane], other.largest[lane]);
    in[lane] += other.in[lane];
    count[lane] += other.count[lane];
  }
  return *this;
}

PaceSummary PaceSums::summary() const {
  PaceSummary out;
  double weights = 0, inside = 0, all = 0;
  for (Index lane = 0; lane < kLanes; ++lane) {
    out.fit += fit[lane];
    out.value += value[lane];
    out.largest = std::max(out.largest, largest[lane]);
    weights += weight[lane];
    inside += in[lane];
    all += count[lane];
  }
  if (all > 0) {
    out.selected = inside / all;
    out.mean_weight = weights / all;
  }
  return out;
}

template <class T>
void add_best_weights(const T* losses, const char* observed, Index units, const Regularizer& regularizer, double lambda,
                      double center, PaceSums& sums) {
  add_some(losses, static_cast<const T*>(nullptr), true, observed, units, regularizer, lambda, center, sums);
}

void weigh_entries(const float* w, const float* residual, Index m, const Regularizer& regularizer, double lambda,
                   float* x) {
  std::visit([&](const auto& type) { weigh_with(type, w, residual, m, lambda, x); }, regularizer);
}

template <class T>
Vector<T> unit_losses(MatrixView<const T> X, const Weights<T>& weights, MatrixView<const T> B, MatrixView<const T> S,
                      Level level, const Control& control) {
  Vector<T> losses;
  unit_losses<T>(X, weights, B, S, level, control, losses);
  return losses;
}

template <class T>
void unit_losses(MatrixView<const T> X, const Weights<T>& weights, MatrixView<const T> B, MatrixView<const T> S,
                 Level level, const Control& control, Vector<T>& losses) {
  const Index m = X.rows, n = X.cols, blocks = block_count(n);
  if (level == Level::none) level = Level::sample;
  if (level == Level::group) level = Level::element;
  losses.resize(unit_count(level, m, n));
  Matrix<double> rows(level == Level::feature ? m : 0, level == Level::feature ? blocks : 0);
  for_each_residual<T, T>(X, B, S, control, [&](Index first, MatrixView<T> R, MatrixView<const T>, int) {
    for (Index j = 0; j < R.cols; ++j) {
      T* loss = R.col(j);
      for (Index i = 0; i < m; ++i) loss[i] *= loss[i];
      weigh(weights, first + j, loss, m);
      if (level == Level::element)
        std::copy_n(loss, m, losses.data() + (first + j) * m);
      else if (level == Level::feature)
        for (Index i = 0; i < m; ++i) rows(i, first / kBlock) += static_cast<double>(loss[i]);
      else
        losses[first + j] = static_cast<T>(l1_norm<T>(loss, m));
    }
  });
  if (level == Level::feature)
    for (Index i = 0; i < m; ++i) {
      double sum = 0;
      for (Index block = 0; block < blocks; ++block) sum += rows(i, block);
      losses[i] = static_cast<T>(sum);
    }
}

template <class T>
Vector<char> observed_units(const Weights<T>& weights, Index m, Index n, Level level, const Control& control) {
  if (weights.sample.empty() && weights.feature.empty() && weights.entry.empty()) return {};
  if (level == Level::group) return {};
  if (level == Level::none) level = Level::sample;
  Vector<char> observed(unit_count(level, m, n), char{0});
  // features are shared by all samples
  const Marks features =
      parallel_sum(n, control.to_the_end(), Marks(level == Level::feature ? m : 0),
                   [&](Index first, Index count, int, Marks& marks) {
                     char* mark = level == Level::feature ? marks.data() : observed.data();
                     for (Index j = first; j < first + count; ++j)
                       for (Index i = 0; i < m; ++i)
                         if (weights(i, j) > T(0))
                           mark[level == Level::element ? j * m + i : (level == Level::sample ? j : i)] = 1;
                   });
  if (level == Level::feature) observed.assign(features.begin(), features.end());
  if (std::all_of(observed.begin(), observed.end(), [](char o) { return o != 0; })) observed.clear();
  return observed;
}

template <class T>
void solve_weights(const Vector<T>& losses, const Regularizer& regularizer, double lambda, Vector<T>& v,
                   const Control& control, double center) {
  v.resize(losses.size());
  if (std::isinf(lambda)) {  // all in, but for what is marked as a gross outlier
    for (std::size_t u = 0; u < v.size(); ++u) v[u] = losses[u] < std::numeric_limits<T>::max() ? T(1) : T(0);
    return;
  }
  const auto units = static_cast<Index>(losses.size());
  visit(regularizer, center, [&](const auto& type) {
    const auto weigh_some = [&](Index first, Index count, int) {
      for (Index u = first; u < first + count; ++u)
        v[u] = static_cast<T>(type.weight(static_cast<double>(losses[u]), lambda));
    };
    parallel_for(units, control, weigh_some, kUnits);
  });
}

template <class T>
PaceSums pace_sums(const Vector<T>& losses, const Vector<T>& v, const Vector<char>& observed,
                   const Regularizer& regularizer, double lambda, const Control& control, double center) {
  const auto add = [&](Index first, Index some, int, PaceSums& sum) {
    add_some(losses.data() + first, v.empty() ? nullptr : v.data() + first, false,
             observed.empty() ? nullptr : observed.data() + first, some, regularizer, lambda, center, sum);
  };
  return parallel_sum(static_cast<Index>(losses.size()), control, PaceSums{}, add, kUnits);
}

template <class T>
void combine(const Weights<T>& user, const Vector<T>& v, Level level, Index m, Index n, Weights<T>& out) {
  const auto product = [](const Vector<T>& a, const Vector<T>& b) {
    Vector<T> c = b;
    for (std::size_t i = 0; i < a.size(); ++i) c[i] *= a[i];
    return c;
  };
  switch (level) {
    case Level::none:
      return;
    case Level::sample:
      out.sample = product(user.sample, v);
      return;
    case Level::feature:
      out.feature = product(user.feature, v);
      return;
    case Level::element:
    case Level::group:
      if (out.entry.empty()) out.entry.resize(m, n);
      for (std::size_t u = 0; u < v.size(); ++u)
        out.entry.data()[u] = user.entry.empty() ? v[u] : user.entry.data()[u] * v[u];
      return;
  }
}

#define PACEWISE_INSTANTIATE(T)                                                                                       \
  template Vector<T> unit_losses<T>(MatrixView<const T>, const Weights<T>&, MatrixView<const T>, MatrixView<const T>, \
                                    Level, const Control&);                                                           \
  template void unit_losses<T>(MatrixView<const T>, const Weights<T>&, MatrixView<const T>, MatrixView<const T>,      \
                               Level, const Control&, Vector<T>&);                                                    \
  template Vector<char> observed_units<T>(const Weights<T>&, Index, Index, Level, const Control&);                    \
  template void solve_weights<T>(const Vector<T>&, const Regularizer&, double, Vector<T>&, const Control&, double);   \
  template PaceSums pace_sums<T>(const Vector<T>&, const Vector<T>&, const Vector<char>&, const Regularizer&, double, \
                                 const Control&, double);                                                             \
  template void add_best_weights<T>(const T*, const char*, Index, const Regularizer&, double, double, PaceSums&);     \
  template void combine<T>(const Weights<T>&, const Vector<T>&, Level, Index, Index, Weights<T>&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

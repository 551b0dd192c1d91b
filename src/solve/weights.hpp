#pragma once
#include "data/problem.hpp"
#include "pacewise/options.hpp"
#include "pacewise/regularizer.hpp"
#include "solve/codes.hpp"

namespace pacewise {

/// Number of units of a level: n, m, m n (entry i, j is unit j m + i); none has no units.
inline Index unit_count(Level level, Index m, Index n) {
  switch (level) {
    case Level::none:
      return 0;
    case Level::sample:
      return n;
    case Level::feature:
      return m;
    case Level::element:
    case Level::group:
      return m * n;
  }
  return 0;
}

/// Whether entries of one sample differ in their weights, from sample to sample
constexpr bool weighs_entries(Level level) { return level == Level::element || level == Level::group; }

/// The unit whose weight entry i of sample j has; of groups, the one around it
inline Index unit_of(Level level, Index m, Index i, Index j) {
  return weighs_entries(level) ? j * m + i : level == Level::feature ? i : j;
}

/// Loss of every unit (entries for level group) at (B, S), the user's weights included: l = w (x - B s)^2 summed over
/// the unit. For level none the losses of the samples (they add up to the fit). Units without any observed entry have
/// loss 0.
template <class T>
Vector<T> unit_losses(MatrixView<const T> X, const Weights<T>& weights, MatrixView<const T> B, MatrixView<const T> S,
                      Level level, const Control& control);

/// The same into numbers that are there already
template <class T>
void unit_losses(MatrixView<const T> X, const Weights<T>& weights, MatrixView<const T> B, MatrixView<const T> S,
                 Level level, const Control& control, Vector<T>& losses);

/// 1 where a unit has an entry of positive weight. Empty when all have, and for groups.
template <class T>
Vector<char> observed_units(const Weights<T>& weights, Index m, Index n, Level level, const Control& control = {});

/// Over observed units
struct PaceSummary {
  double fit = 0;          // sum v l
  double value = 0;        // sum F(v; lambda)
  double selected = 1;     // share with l < lambda
  double mean_weight = 1;  // mean v
  double largest = 0;      // largest loss
};

/// The sums it is made of, in independent accumulators
struct PaceSums {
  static constexpr Index kLanes = 8;
  double fit[kLanes] = {}, value[kLanes] = {}, weight[kLanes] = {}, largest[kLanes] = {}, in[kLanes] = {},
         count[kLanes] = {};
  PaceSums& operator+=(const PaceSums& other);
  void take_fit(double sum) {
    std::fill(std::begin(fit), std::end(fit), 0.0);
    fit[0] = sum;
  }
  PaceSummary summary() const;
};

/// V-step: v minimises v l + F(v; lambda) for every unit. lambda = infinity means no pace: v = 1 and F = 0. Here and
/// below, `center` > 0: only what sqrt l exceeds it by counts, e^2 with e = sqrt l - center stands for l, and F is that
/// of this v.
template <class T>
void solve_weights(const Vector<T>& losses, const Regularizer& regularizer, double lambda, Vector<T>& v,
                   const Control& control, double center = 0);

/// fit and F at (v, losses, lambda); v empty: all 1
template <class T>
PaceSums pace_sums(const Vector<T>& losses, const Vector<T>& v, const Vector<char>& observed,
                   const Regularizer& regularizer, double lambda, const Control& control, double center = 0);
template <class T>
PaceSummary summarize(const Vector<T>& losses, const Vector<T>& v, const Vector<char>& observed,
                      const Regularizer& regularizer, double lambda, const Control& control, double center = 0) {
  return pace_sums(losses, v, observed, regularizer, lambda, control, center).summary();
}
/// Adds some units with the v that is best for each; observed: null where all are.
template <class T>
void add_best_weights(const T* losses, const char* observed, Index units, const Regularizer& regularizer, double lambda,
                      double center, PaceSums& sums);

/// x_i *= w_i v_i for entries, v the best weight for the loss w_i residual_i^2. w: null where all are 1.
void weigh_entries(const float* w, const float* residual, Index m, const Regularizer& regularizer, double lambda,
                   float* x);

/// w v, v those of entries where there are groups: what the other steps minimise with. `out` starts as a copy of the
/// user's weights and is brought up to date.
template <class T>
void combine(const Weights<T>& user, const Vector<T>& v, Level level, Index m, Index n, Weights<T>& out);

}  // namespace pacewise

#pragma once
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "algebra/parallel.hpp"
#include "pacewise/data.hpp"

namespace pacewise {

/// Neither infinite nor NaN, all of them; without a way out in the loop, so that it runs at the speed of memory
template <class T>
bool all_finite(const T* x, Index n) {
  int bad = 0;
  for (Index i = 0; i < n; ++i) bad |= !(std::abs(x[i]) <= std::numeric_limits<T>::max());
  return bad == 0;
}

/// What the solvers see: no NaN left, missing entries have weight 0.
template <class T>
struct Data {
  Matrix<T> values;    // m x n, 0 where the weight is 0
  Weights<T> weights;  // the user's; `entry` is made where a NaN needs it
  Normalization<T> normalization;
  Vector<T> sample_scale;  // unit: the norm each sample was divided by (1 for a zero sample); else empty
  Index missing = 0;       // entries of weight 0
  std::vector<std::string> notes;

  bool bounded() const { return std::isfinite(normalization.cutoff); }
  /// Beyond the cutoff, on the scale before samples are divided by their norms
  bool gross(Index i, Index j) const {
    double x = static_cast<double>(values(i, j));
    if (!normalization.offset.empty()) x += static_cast<double>(normalization.offset[i]);
    if (!sample_scale.empty()) x *= static_cast<double>(sample_scale[j]);
    return std::abs(x - normalization.center) > normalization.cutoff;
  }
};

/// Of numbers some of which may be gross outliers. Distances of 0 from the median do not count: a dark background has
/// no scale.
struct RobustMoments {
  double median = 0;
  double scale = 0;   // 1.4826 times the median distance
  double cutoff = 0;  // ten times that, or ten times what nine of ten distances say where that is more: what is further
                      // away is a gross outlier. The middle ones alone may say nothing (a grey of 1 beside one of 0)
  double deviation = 0;  // standard deviation of what is within the cutoff
};
RobustMoments robust_moments(Vector<double> x);
/// .. of the observed entries, of a million at most, evenly spaced
template <class T>
RobustMoments robust_moments(const Data<T>& data);

/// Samples some entries of which may be missing, as the graph takes them: a view, of Data or of complete values.
template <class T>
struct Samples {
  MatrixView<const T> values;           // m x n, finite
  const Weights<T>* weights = nullptr;  // an entry of weight 0 is missing; nullptr: none is

  Samples(MatrixView<const T> complete) : values(complete) {}
  Samples(const Matrix<T>& complete) : values(complete) {}
  Samples(const Matrix<T>& all, const Weights<T>& w) : values(all), weights(&w) {}
  Samples(const Data<T>& data) : values(data.values), weights(data.missing > 0 ? &data.weights : nullptr) {}
  bool missing(Index i, Index j) const { return weights != nullptr && !((*weights)(i, j) > 0); }
};

template <class T>
void check_weights(const Weights<T>& w, Index m, Index n, const Control& control);

/// The only place where input is checked: sizes, values finite or NaN, weights finite and >= 0 with a finite product,
/// one entry observed (weight > 0, not NaN; new samples may have none). Messages name argument, value and rule; indices
/// count from 0. True where no value is missing. `missing` is a value that stands for NaN. Of `control`, here and
/// below, only the threads matter: nothing stops a check half-way.
template <class T>
bool validate(const Problem<T>& problem, const Control& control = {}, std::optional<double> missing = {});

/// x -> x - offset_i where these weights are positive; normalization.offset is the sum of all that was subtracted.
template <class T>
void subtract(const Vector<T>& offset, const Weights<T>& weights, Data<T>& data, const Control& control);

/// Validate, normalise over the observed entries and give missing ones weight 0. How large a
/// weight is does not matter to the normalisation, only whether it is 0. unit: a zero sample stays zero. standard:
/// population standard deviation; a feature that is constant is only shifted, one never observed is left alone. With
/// `given`, new samples are put on its scale and `kind` is not looked at. `find_bounds`: what is beyond ten robust
/// standard deviations of all data is a gross outlier.
template <class T>
Data<T> prepare(const Problem<T>& problem, Normalize kind, const Normalization<T>* given = nullptr,
                const Control& control = {}, bool find_bounds = false, std::optional<double> missing = {});

}  // namespace pacewise

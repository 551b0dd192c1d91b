#include "graph/space.hpp"

#include <algorithm>
#include <cmath>

#include "graph/low_rank.hpp"

namespace pacewise {
namespace {

/// In the order of the entries, wherever the column stands: equal samples have equal norms.
template <class T>
double norm(const T* x, Index size, double scale = 1) {
  double sum = 0;
  for (Index i = 0; i < size; ++i) {
    const double value = static_cast<double>(x[i]) * scale;
    sum += value * value;
  }
  return std::sqrt(sum);
}

/// What p = W'y is multiplied with, direction by direction: pca 1, half 1 / sqrt(s), white 1 / s, and for robust
/// sqrt(t) / s, t^2 = s^2 - e (sqrt(m) + sqrt(n))^2. The noise is what is left beyond the first D directions, or beyond
/// half of all; where those are too few to tell, or fewer than three directions stand out of it, as half.
Vector<double> weights_of(Space::Kind kind, const LowRank& model, double scale) {
  constexpr Index few = 16;
  const Vector<double>& s = model.values;
  const Index m = model.directions.rows(), n = model.points.cols(), all = std::min(m, n);
  const Index signal = std::min(static_cast<Index>(s.size()), all / 2);
  Vector<double> out;
  for (const double value : s)
    out.push_back(kind == Space::Kind::pca ? 1 / scale : kind == Space::Kind::white ? 1 / value : 1 / std::sqrt(value));
  if (kind != Space::Kind::robust || all - signal < few) return out;
  double rest = model.energy;
  for (Index d = 0; d < signal; ++d) rest -= s[d] * s[d];
  const double noise = std::max(rest, 0.0) / (static_cast<double>(m - signal) * static_cast<double>(n - signal));
  const double edge = noise * std::pow(std::sqrt(static_cast<double>(m)) + std::sqrt(static_cast<double>(n)), 2);
  if (std::count_if(s.begin(), s.end(), [&](double value) { return value * value > edge; }) < 3) return out;
  for (std::size_t d = 0; d < s.size(); ++d) out[d] = std::pow(std::max(s[d] * s[d] - edge, 0.0), 0.25) / s[d];
  return out;
}

/// All but pca to unit norm. What is at the mean to rounding stays at zero.
void place(Space::Kind kind, const Vector<double>& weights, double rounding, const double* p, double* out) {
  const Index D = static_cast<Index>(weights.size());
  if (kind != Space::Kind::pca && norm(p, D) <= rounding) return;
  for (Index d = 0; d < D; ++d) out[d] = p[d] * weights[d];
  if (kind == Space::Kind::pca) return;
  const double length = norm(out, D);
  for (Index d = 0; d < D && length > 0; ++d) out[d] /= length;
}

}  // namespace

template <class T>
Coordinates project(const Samples<T>& X, const Space& space, std::uint64_t seed, const Control& control) {
  const Index m = X.values.rows, n = X.values.cols;
  const Observed observed = observe(X, control);
  const LowRank model = low_rank(X, observed, space.dimensions, space.kind == Space::Kind::robust, seed, control);
  const double scale = observed.scale(), mean_norm = norm(observed.mean.data(), m, scale);
  const Vector<double> weights = weights_of(space.kind, model, scale);
  Coordinates out{Matrix<double>(std::max<Index>(model.points.rows(), 1), n), {}};
  for (Index j = 0; j < n; ++j) {
    if (observed.count[j] == 0) {
      out.weights.sample.resize(n, 1.0);
      out.weights.sample[j] = 0;
      continue;
    }
    const double size = std::max(mean_norm, norm(X.values.col(j), m, scale));
    const double rounding = 8 * static_cast<double>(std::numeric_limits<T>::epsilon()) * size;
    place(space.kind, weights, rounding, model.points.col(j), out.points.col(j));
  }
  return out;
}

template Coordinates project(const Samples<float>&, const Space&, std::uint64_t, const Control&);
template Coordinates project(const Samples<double>&, const Space&, std::uint64_t, const Control&);

}  // namespace pacewise

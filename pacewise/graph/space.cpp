#include "pacewise/graph/space.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "pacewise/algebra/index.hpp"
#include "pacewise/graph/low_rank.hpp"

namespace pacewise {
namespace {

constexpr const char* kRule = "must be raw, pca:D, half:D or white:D with a whole number D >= 1";

double norm(const double* x, Index size) {
  double sum = 0;
  for (Index i = 0; i < size; ++i) sum += x[i] * x[i];
  return std::sqrt(sum);
}

template <class T>
double observed_norm(const T* x, Index size, double scale) {
  double sum = 0;
  for (Index i = 0; i < size; ++i) {
    const double value = static_cast<double>(x[i]) * scale;
    if (!std::isnan(value)) sum += value * value;
  }
  return std::sqrt(sum);
}

/// pca: p; half: p_d / sqrt(s_d), white: p_d / s_d, both to unit norm. What is at the mean to rounding stays at zero.
void place(Space::Kind kind, const std::vector<double>& values, double rounding, double scale, const double* p,
           double* out) {
  const Index D = static_cast<Index>(values.size());
  if (kind == Space::Kind::pca) {
    for (Index d = 0; d < D; ++d) out[d] = p[d] / scale;
    return;
  }
  if (norm(p, D) <= rounding) return;
  for (Index d = 0; d < D; ++d)
    out[d] = p[d] / (kind == Space::Kind::half ? std::sqrt(values[to_size(d)]) : values[to_size(d)]);
  const double length = norm(out, D);
  for (Index d = 0; d < D; ++d) out[d] /= length;
}

}  // namespace

Space parse_space(const std::string& text) {
  if (text == "raw") return {Space::Kind::raw, 0};
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  Space space;
  if (name == "pca")
    space.kind = Space::Kind::pca;
  else if (name == "half")
    space.kind = Space::Kind::half;
  else if (name == "white")
    space.kind = Space::Kind::white;
  else
    throw Error("graph space \"" + text + "\": " + kRule);
  const char* end = text.data() + text.size();
  const char* number = colon == std::string::npos ? end : text.data() + colon + 1;
  const auto [stop, failure] = std::from_chars(number, end, space.dimensions);
  if (failure != std::errc() || stop != end || space.dimensions < 1)
    throw Error("graph space \"" + text + "\": " + kRule);
  return space;
}

std::string to_string(const Space& space) {
  switch (space.kind) {
    case Space::Kind::raw:
      return "raw";
    case Space::Kind::pca:
      return "pca:" + std::to_string(space.dimensions);
    case Space::Kind::half:
      return "half:" + std::to_string(space.dimensions);
    case Space::Kind::white:
      return "white:" + std::to_string(space.dimensions);
  }
  throw Error(std::string("graph space: ") + kRule);
}

template <class T>
Coordinates project(MatrixView<const T> X, const Space& space, std::uint64_t seed, const Control& control) {
  if (space.kind == Space::Kind::raw) throw Error("graph space raw: has no projection, must be pca, half or white");
  if (space.dimensions < 1)
    throw Error("graph space dimensions = " + std::to_string(space.dimensions) + ": must be at least 1");
  if (X.empty())
    throw Error("X: " + std::to_string(X.cols) + " samples of " + std::to_string(X.rows) +
                " features, must not be empty");
  const Observed observed = observe(X, control);
  const LowRank model = low_rank(X, observed, space.dimensions, seed, control);
  const Index D = model.points.rows(), m = X.rows;
  const double scale = observed.scale();
  std::vector<double> mean = observed.mean;
  for (double& value : mean) value *= scale;
  const double mean_norm = norm(mean.data(), m);
  Coordinates out{Matrix<double>(std::max<Index>(D, 1), X.cols), observed.missing > 0};
  for (Index j = 0; j < X.cols; ++j) {
    if (observed.count[to_size(j)] == 0) {
      std::fill_n(out.points.col(j), out.points.rows(), std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    const double size = std::max(mean_norm, observed_norm(X.col(j), m, scale));
    const double rounding = 8 * static_cast<double>(std::numeric_limits<T>::epsilon()) * size;
    place(space.kind, model.values, rounding, scale, model.points.col(j), out.points.col(j));
  }
  return out;
}

template Coordinates project<float>(MatrixView<const float>, const Space&, std::uint64_t, const Control&);
template Coordinates project<double>(MatrixView<const double>, const Space&, std::uint64_t, const Control&);

}  // namespace pacewise

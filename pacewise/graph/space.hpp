#pragma once
#include <string>

#include "pacewise/algebra/parallel.hpp"

namespace pacewise {

/// The space in which neighbours are looked for. With X - mean = U s V' (samples are the rows of U s):
///   raw; pca:D = U_D s_D; half:D = U_D sqrt(s_D), unit norm; white:D = U_D, unit norm.
struct Space {
  enum class Kind : std::uint8_t { raw, pca, half, white };
  Kind kind = Kind::half;
  Index dimensions = 40;
  bool operator==(const Space&) const = default;
};

Space parse_space(const std::string& text);  // "raw", "pca:40", ...; an Error names the rule
std::string to_string(const Space& space);

struct Coordinates {
  Matrix<double> points;  // D x n, a column is a sample
  bool imputed = false;   // entries were missing: filled by the low-rank model itself, from their features' means on
};

/// Coordinates of the samples in pca, half or white space, by randomised SVD. D is cut to min(m, n - 1), and to the
/// directions that stand out of rounding (one row of zeros where there are none). A sample at the mean has a zero
/// vector. NaN in X is a missing entry; a sample without any observed entry has NaN coordinates: it is comparable to
/// nothing. Same seed, same bits. Incomplete once control.stop().
template <class T>
Coordinates project(MatrixView<const T> X, const Space& space, std::uint64_t seed, const Control& control);

}  // namespace pacewise

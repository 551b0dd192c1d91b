#pragma once
#include <string>

#include "algebra/parallel.hpp"

namespace pacewise {

/// The space in which neighbours are looked for. With X - mean = U s V' (samples are the rows of U s):
///   raw; pca:D = U_D s_D; half:D = U_D sqrt(s_D), unit norm; white:D = U_D, unit norm;
///   robust:D = half:D of the data with wild entries trimmed (see low_rank), without what noise adds to s.
/// With e = |Y - U_D s_D V_D'|^2 / ((m - D)(n - D)) the variance of an entry's noise, noise alone has singular values
/// up to sqrt(e) (sqrt(m) + sqrt(n)) (Marchenko and Pastur): robust has s^2 - e (sqrt(m) + sqrt(n))^2 in place of s^2.
struct Space {
  enum class Kind : std::uint8_t { raw, pca, half, white, robust };
  Kind kind = Kind::robust;
  Index dimensions = 40;
  bool operator==(const Space&) const = default;
};

bool names_space(const std::string& text);   // begins with the name of one, right or wrong after that
Space parse_space(const std::string& text);  // "raw", "pca:40", ...; an Error names the rule
std::string to_string(const Space& space);

struct Coordinates {
  Matrix<double> points;  // D x n, a column is a sample
  bool imputed = false;   // entries were missing: filled by the low-rank model itself, from their features' means on
};

/// Coordinates of the samples in any but the raw space, by randomised SVD. D is cut to min(m, n - 1), and to the
/// directions that stand out of rounding (one row of zeros where there are none). A sample at the mean has a zero
/// vector. NaN in X is a missing entry; a sample without any observed entry has NaN coordinates: it is comparable to
/// nothing. Same seed, same bits. Incomplete once control.stop().
template <class T>
Coordinates project(MatrixView<const T> X, const Space& space, std::uint64_t seed, const Control& control);

}  // namespace pacewise

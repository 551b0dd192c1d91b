#pragma once
#include <string>

#include "data/problem.hpp"

namespace pacewise {

/// The space in which neighbours are looked for. With X - mean = U s V' (samples are the rows of U s):
///   raw; pca:D = U_D s_D; half:D = U_D sqrt(s_D), unit norm; white:D = U_D, unit norm;
///   robust:D = half:D of the data with gross outliers trimmed (see low_rank), without what noise adds to s.
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
  Matrix<double> points;    // D x n, a column is a sample
  Weights<double> weights;  // 0 for a sample without any observed entry, which is comparable to nothing; else empty
  Samples<double> samples() const { return {points, weights}; }
};

/// Coordinates of the samples in any but the raw space, by randomised SVD; missing entries are filled in by the
/// low-rank model itself. D is cut to min(m, n - 1), and to the directions that stand out of rounding (one row of zeros
/// where there are none). A sample at the mean has a zero vector. Same seed, same bits. Incomplete once control.stop().
template <class T>
Coordinates project(const Samples<T>& X, const Space& space, std::uint64_t seed, const Control& control);

}  // namespace pacewise

#pragma once
#include "algebra/parallel.hpp"
#include "pacewise/options.hpp"

namespace pacewise {

struct Coordinates {
  Matrix<double> points;  // D x n, a column is a sample
  bool imputed = false;   // entries were missing: filled by the low-rank model itself, from their features' means on
};

/// robust: with e = |Y - U_D s_D V_D'|^2 / ((m - D)(n - D)) the variance of an entry's noise, noise alone has singular
/// values up to sqrt(e) (sqrt(m) + sqrt(n)) (Marchenko and Pastur), so s^2 - e (sqrt(m) + sqrt(n))^2 replaces s^2.
/// Coordinates of the samples in any but the raw space, by randomised SVD. D is cut to min(m, n - 1), and to the
/// directions that stand out of rounding (one row of zeros where there are none). A sample at the mean has a zero
/// vector. NaN in X is a missing entry; a sample without any observed entry has NaN coordinates: it is comparable to
/// nothing. Same seed, same bits. Incomplete once control.stop().
template <class T>
Coordinates project(MatrixView<const T> X, const Space& space, std::uint64_t seed, const Control& control);

}  // namespace pacewise

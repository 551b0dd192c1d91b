#pragma once
#include "data/problem.hpp"
#include "pacewise/options.hpp"

namespace pacewise {

struct Coordinates {
  Matrix<double> points;    // D x n, a column is a sample
  Weights<double> weights;  // 0 for a sample without any observed entry, which is comparable to nothing; else empty
  Samples<double> samples() const { return {points, weights}; }
};

/// Coordinates of the samples in any but the raw space, by randomised SVD; missing entries are filled in by the
/// low-rank model itself. D is cut to min(m, n - 1), and to the directions that stand out of rounding (one row of zeros
/// where there are none). A sample at the mean has a zero vector. Same seed, same bits. Incomplete once control.stop().
/// robust: with e = |Y - U_D s_D V_D'|^2 / ((m - D)(n - D)) the variance of an entry's noise, noise alone has singular
/// values up to sqrt(e) (sqrt(m) + sqrt(n)) (Marchenko and Pastur), so s^2 - e (sqrt(m) + sqrt(n))^2 replaces s^2.
template <class T>
Coordinates project(const Samples<T>& X, const Space& space, std::uint64_t seed, const Control& control);

}  // namespace pacewise

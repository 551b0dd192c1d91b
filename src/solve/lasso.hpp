#pragma once
#include "algebra/matrix.hpp"

namespace pacewise {

/// Scratch for problems of up to `size` unknowns: made once, used for every sample.
struct LassoScratch {
  explicit LassoScratch(Index size);
  Matrix<double> factor;              // Cholesky factor of A_PP
  Vector<double> u, step, delta;      // u = A s
  std::vector<std::int32_t> support;  // P
};

/// min_s  s'A s - 2 c's + beta |s|_1  for a small dense A >= 0, exactly: coordinate descent finds the support, Newton
/// on the support finds the values, until every optimality condition holds to `tol` (in units of the gradient).
/// `ridge` >= 0 is added to A_PP in the Newton systems only: it bends the path, never the solution. s: start and
/// result.
void solve_lasso(MatrixView<const double> A, const double* c, double beta, double tol, double ridge, double* s,
                 LassoScratch& scratch);

/// dist(-g, beta d|s|) for one coordinate
inline double kkt_distance(double g, double s, double beta) {
  if (s > 0) return std::abs(g + beta);
  if (s < 0) return std::abs(g - beta);
  return std::max(0.0, std::abs(g) - beta);
}

}  // namespace pacewise

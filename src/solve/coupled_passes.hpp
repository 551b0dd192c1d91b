#pragma once
#include "algebra/matrix.hpp"

namespace pacewise {

/// Passes over the unknowns of the coupled S-step, as its solver packs them; U is float or double.
struct ProximalSums {
  double uphill = 0, changed = 0, move = 0;
};
template <class U>
struct ProximalScale {
  U bound, step, cut, push;  // 2 c, 1 / 2c, beta / 2c
};

/// s <- soft(y - (g + 2 A(y - s0)) / 2c, beta / 2c), y <- s + push (s - s_old), on the coordinates of one sample; y is
/// kept as y - s0. s0 is `start`, rounded to U on its way
template <class U, class Start>
void proximal_step(Index count, ProximalScale<U> by, const Start* start, const U* pull, const U* image, const U* ahead,
                   U* now, U* next, ProximalSums& sums);

/// step += t direction, residual -= t image, and the residual takes the image's place; returns max |residual|
template <class U>
double advance(Index count, U t, const U* direction, U* image, U* step, U* residual);

/// direction <- towards + keep direction
template <class U>
void turn(Index count, U keep, const U* towards, U* direction);

/// y += damping x; returns <x, y>
template <class U>
double damped_product(Index count, U damping, const U* x, U* y);

/// x <- (L L')^-1 x, L lower triangular, column after column without what is above the diagonal; sums are in double
template <class U>
void solve_packed(Index count, const U* L, double* x);

}  // namespace pacewise

#pragma once
#include "pacewise/matrix.hpp"

namespace pacewise {

/// Passes over many numbers, summed in double, in several independent accumulators: no addition waits for the last one,
/// and the result is the same for any width of vectors. T is float or double.
template <class T>
double inner_product(const T* x, const T* y, Index size);
template <class T>
double l1_norm(const T* x, Index size);  // sum |x_i|
template <class T>
double max_norm(const T* x, Index size);  // max |x_i|
/// y += f x
template <class U, class T>
void add_scaled(U* y, const T* x, U f, Index size);

}  // namespace pacewise

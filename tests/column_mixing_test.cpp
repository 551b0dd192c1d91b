#include "solve/column_mixing.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "algebra/random.hpp"

namespace pacewise {
namespace {

/// f(y)_c = A_c y_c + b_c with |A_c| near `size`, the fixed point, and g(y)_c = D_c f(y)_c as what is affine in it
struct Affine {
  Affine(Index rows, Index columns, double size) : A(rows, rows * columns), b(rows, columns), factor(rows, columns) {
    Random random(3);
    for (Index i = 0; i < A.size(); ++i) A.data()[i] = size * random.normal() / std::sqrt(static_cast<double>(rows));
    for (Index i = 0; i < b.size(); ++i) {
      b.data()[i] = random.normal();
      factor.data()[i] = random.normal();
    }
  }
  Matrix<double> operator()(const Matrix<double>& y) const {
    Matrix<double> out = b;
    for (Index c = 0; c < b.cols(); ++c)
      for (Index k = 0; k < b.rows(); ++k)
        for (Index i = 0; i < b.rows(); ++i) out(i, c) += A(i, c * b.rows() + k) * y(k, c);
    return out;
  }
  Matrix<double> slope(const Matrix<double>& image) const {
    Matrix<double> out = image;
    for (Index i = 0; i < out.size(); ++i) out.data()[i] *= factor.data()[i];
    return out;
  }
  Matrix<double> A, b, factor;
};

double largest_gap(const Matrix<double>& a, const Matrix<double>& b) {
  double gap = 0;
  for (Index i = 0; i < a.size(); ++i) gap = std::max(gap, std::abs(a.data()[i] - b.data()[i]));
  return gap;
}

// With as much memory as a column has entries an affine map is solved in one step more, even where iterating it would
// run away (|A| > 1), and column by column: each has its own A.
TEST(ColumnMixing, SolvesAffineMapsInAsManyStepsAsRows) {
  const Index rows = 4, columns = 7;
  const Affine f(rows, columns, 1.5);
  ColumnMixing mixing(4);
  Matrix<double> y(rows, columns), slope;
  Matrix<double> plain = y;
  for (int step = 0; step < 6; ++step) {
    plain = f(plain);
    const Matrix<double> image = f(y);
    slope = f.slope(image);
    mixing.next(image, slope, y, {});
  }
  EXPECT_GT(largest_gap(plain, f(plain)), 1e-2);
  EXPECT_LT(largest_gap(y, f(y)), 1e-7);
  EXPECT_LT(largest_gap(slope, f.slope(f(y))), 1e-7);  // mixed alike, it belongs to the same point
}

TEST(ColumnMixing, StaysAtAFixedPoint) {
  ColumnMixing mixing(2);
  Matrix<double> y(3, 2);
  y.fill(0.5);
  const Matrix<double> fixed = y;
  Matrix<double> slope(3, 2);
  for (int step = 0; step < 4; ++step) mixing.next(fixed, slope, y, {});
  EXPECT_EQ(y, fixed);
}

}  // namespace
}  // namespace pacewise

#pragma once
#include "algebra/parallel.hpp"

namespace pacewise {

/// Anderson's mixing for a fixed point y = f(y) whose columns hardly influence each other: every column gets the
/// combination of its own last values that would make its residual f(y) - y smallest if f were affine.
class ColumnMixing {
 public:
  explicit ColumnMixing(int memory) : memory_(memory) {}
  /// f(y) and a quantity that is affine in it (the gradient of a quadratic) come in; y becomes the next point to try
  /// and `affine` what belongs to it.
  void next(const Matrix<double>& image, Matrix<double>& affine, Matrix<double>& y, const Control& control);

 private:
  struct Past {
    Matrix<double> image, affine, residual;
  };
  static void mix(const Past& now, const std::vector<const Past*>& old, Index first, Index last, Matrix<double>& affine,
                  Matrix<double>& y);
  int memory_, count_ = 0;
  std::vector<Past> past_;  // at most memory + 1, a ring: the newest at (count_ - 1) % (memory + 1)
};

}  // namespace pacewise

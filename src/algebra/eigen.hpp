#pragma once
#include <Eigen/Core>

#include "algebra/matrix.hpp"

namespace pacewise {

/// Views of our storage as Eigen's types, so that formulas look like formulas. Large products go to the BLAS
/// (EIGEN_USE_BLAS); hot element-wise loops are plain loops, because Eigen's vector width is fixed when it is compiled.
template <class T>
using EigenMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
using EigenMap =
    Eigen::Map<std::conditional_t<std::is_const_v<T>, const EigenMatrix<std::remove_const_t<T>>, EigenMatrix<T>>, 0,
               Eigen::OuterStride<>>;

template <class T>
EigenMap<T> eigen(MatrixView<T> a) {
  return {a.data, a.rows, a.cols, Eigen::OuterStride<>(std::max<Index>(a.stride, 1))};
}
template <class T>
EigenMap<T> eigen(Matrix<T>& a) {
  return eigen(a.view());
}
template <class T>
EigenMap<const T> eigen(const Matrix<T>& a) {
  return eigen(a.view());
}

}  // namespace pacewise

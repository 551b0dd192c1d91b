#pragma once
#include <Eigen/Core>
#include <Eigen/SparseCore>

#include "algebra/sparse.hpp"

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
inline auto eigen(Vector<double>& x) { return Eigen::Map<Eigen::VectorXd>(x.data(), std::ssize(x)); }
inline auto eigen(const Vector<double>& x) { return Eigen::Map<const Eigen::VectorXd>(x.data(), std::ssize(x)); }

using EigenSparse = Eigen::SparseMatrix<double, Eigen::ColMajor, std::int32_t>;
EigenSparse to_eigen(const Sparse& a);
/// Rows are sorted, entries that are 0 are left out.
Sparse from_eigen(EigenSparse a);

}  // namespace pacewise

#pragma once
#include <Eigen/Core>
#include <Eigen/SparseCore>

#include "algebra/sparse.hpp"

/// The library's arrays as Eigen sees them, for formulas inside .cpp files. Interfaces have the library's own types:
/// the layout of Eigen's depends on the compiler flags of whoever includes them.
namespace pacewise {

template <class T>
using EigenMatrix = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>, 0, Eigen::OuterStride<>>;
template <class T>
using EigenConstMatrix = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>, 0, Eigen::OuterStride<>>;
using EigenSparse = Eigen::SparseMatrix<double, Eigen::ColMajor, std::int32_t>;

template <class T>
EigenMatrix<T> as_eigen(MatrixView<T> a) {
  return {a.data, a.rows, a.cols, Eigen::OuterStride<>(a.stride)};
}
template <class T>
EigenConstMatrix<T> as_eigen(MatrixView<const T> a) {
  return {a.data, a.rows, a.cols, Eigen::OuterStride<>(a.stride)};
}
template <class T>
EigenMatrix<T> as_eigen(Matrix<T>& a) {
  return as_eigen(a.view());
}
template <class T>
EigenConstMatrix<T> as_eigen(const Matrix<T>& a) {
  return as_eigen(a.view());
}
inline auto as_eigen(Vector<double>& x) { return Eigen::Map<Eigen::VectorXd>(x.data(), static_cast<Index>(x.size())); }
inline auto as_eigen(const Vector<double>& x) {
  return Eigen::Map<const Eigen::VectorXd>(x.data(), static_cast<Index>(x.size()));
}

EigenSparse to_eigen(const Sparse& a);
/// Rows are sorted, entries that are 0 are left out.
Sparse from_eigen(EigenSparse a);

}  // namespace pacewise

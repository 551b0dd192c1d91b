#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "algebra/parallel.hpp"
#include "algebra/sparse.hpp"
#include "data/problem.hpp"

namespace pacewise::python {

namespace nb = nanobind;

// In NumPy a row is a sample. A C-contiguous (n, m) array is, byte for byte, the library's column-major m x n matrix:
// views go in and results come out without a copy.
template <class T>
using Rows = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Line = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using MaybeRows = std::optional<Rows<T>>;
template <class T>
using MaybeLine = std::optional<Line<T>>;

template <class T>
MatrixView<const T> view(const Rows<T>& a) {
  return {a.data(), static_cast<Index>(a.shape(1)), static_cast<Index>(a.shape(0))};
}

/// Empty where there is none
template <class T>
MatrixView<const T> view_of(const MaybeRows<T>& a) {
  return a ? view(*a) : MatrixView<const T>();
}

/// A matrix whose columns write(j, column) fills, on all threads
template <class T, class Write>
Matrix<T> by_columns(Index rows, Index cols, const Control& control, const Write& write) {
  Matrix<T> out;
  out.resize_for_overwrite(rows, cols);
  parallel_for(cols, control.to_the_end(), [&](Index first, Index count, int) {
    for (Index j = first; j < first + count; ++j) write(j, out.col(j));
  });
  return out;
}

template <class T>
Matrix<T> copy(const Rows<T>& a, const Control& control = {1, nullptr, {}, nullptr}) {
  const MatrixView<const T> from = view(a);
  return by_columns<T>(from.rows, from.cols, control, [&](Index j, T* to) { std::copy_n(from.col(j), from.rows, to); });
}

template <class T>
Matrix<T> zeros(Index rows, Index cols, const Control& control) {
  return by_columns<T>(rows, cols, control, [&](Index, T* to) { std::fill_n(to, rows, T(0)); });
}

/// An (e, r) array as the library's e x r matrix: here rows are rows, so the numbers change places.
template <class T>
Matrix<T> copy_transposed(const Rows<T>& a) {
  Matrix<T> out(static_cast<Index>(a.shape(0)), static_cast<Index>(a.shape(1)));
  for (Index i = 0; i < out.rows(); ++i)
    for (Index j = 0; j < out.cols(); ++j) out(i, j) = a.data()[i * out.cols() + j];
  return out;
}

template <class T>
Vector<T> copy(const Line<T>& a) {
  return Vector<T>(a.data(), a.data() + a.size());
}

/// NumPy array over the numbers of `owner`, which lives as long as the array does.
template <class T>
using Array = nb::ndarray<nb::numpy, T>;
template <class T, class Owner>
Array<T> array_over(T* data, std::initializer_list<std::size_t> shape, Owner owner,
                    std::initializer_list<std::int64_t> strides = {}) {
  auto held = std::make_unique<Owner>(std::move(owner));
  nb::capsule capsule(held.get(), [](void* p) noexcept { delete static_cast<Owner*>(p); });
  held.release();  // NOLINT(bugprone-unused-return-value): the capsule owns it now
  static T nothing{};
  return {data != nullptr ? data : &nothing, shape, capsule, strides};
}

/// m x n -> (n, m)
template <class T>
Array<T> to_rows(Matrix<T> a) {
  T* data = a.data();
  const auto rows = static_cast<std::size_t>(a.rows()), cols = static_cast<std::size_t>(a.cols());
  return array_over(data, {cols, rows}, std::move(a));
}

/// e x r -> (e, r), in Fortran order
template <class T>
Array<T> to_rows_transposed(Matrix<T> a) {
  T* data = a.data();
  const auto rows = a.rows(), cols = a.cols();
  return array_over(data, {static_cast<std::size_t>(rows), static_cast<std::size_t>(cols)}, std::move(a),
                    {1, std::max<Index>(rows, 1)});
}

template <class Container>
auto to_line(Container a) {
  auto* data = a.data();
  const std::size_t size = a.size();
  return array_over(data, {size}, std::move(a));
}

/// (rows, cols, indptr, indices, data) of a scipy CSC matrix
using SparseParts = nb::tuple;
inline Sparse to_sparse(const SparseParts& parts) {
  const auto start = nb::cast<Line<std::int64_t>>(parts[2]);
  const auto index = nb::cast<Line<std::int32_t>>(parts[3]);
  const auto value = nb::cast<Line<double>>(parts[4]);
  Sparse out;
  out.rows = nb::cast<Index>(parts[0]);
  out.cols = nb::cast<Index>(parts[1]);
  out.start.assign(start.data(), start.data() + start.size());
  out.index.assign(index.data(), index.data() + index.size());
  out.value.assign(value.data(), value.data() + value.size());
  return out;
}

/// None where it is empty
inline nb::object from_sparse(Sparse a) {
  if (a.empty()) return nb::none();
  return nb::make_tuple(a.rows, a.cols, to_line(std::move(a.start)), to_line(std::move(a.index)),
                        to_line(std::move(a.value)));
}

/// X and the weights of samples, features and entries
template <class T>
using Given = std::tuple<Rows<T>, MaybeLine<T>, MaybeLine<T>, MaybeRows<T>>;
template <class T>
Problem<T> to_problem(const Given<T>& given, const Control& control) {
  const auto& [X, sample, feature, entry] = given;
  Problem<T> out{view(X)};
  if (sample) out.weights.sample = copy(*sample);
  if (feature) out.weights.feature = copy(*feature);
  if (entry) out.weights.entry = copy(*entry, control);
  return out;
}

}  // namespace pacewise::python

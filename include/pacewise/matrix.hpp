#pragma once
#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "pacewise/error.hpp"

namespace pacewise {

using Index = std::int64_t;

/// Memory for one large array, from the system and back to it: what malloc is given back it may keep, and a fit that
/// makes and drops matrices would hold as much again for nothing.
inline constexpr std::size_t kLarge = std::size_t{1} << 23;
void* allocate_large(std::size_t bytes);  // std::bad_alloc where there is no room
void free_large(void* memory, std::size_t bytes) noexcept;

/// 64-byte aligned storage: the same alignment on every run is part of "same seed, same bits".
template <class T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{64};
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) noexcept {}
  T* allocate(std::size_t n) {
    if (n > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_alloc();
    const std::size_t bytes = n * sizeof(T);
    return static_cast<T*>(bytes < kLarge ? ::operator new(bytes, alignment) : allocate_large(bytes));
  }
  void deallocate(T* p, std::size_t n) noexcept {
    if (n * sizeof(T) < kLarge)
      ::operator delete(p, alignment);
    else
      free_large(p, n * sizeof(T));
  }
  /// Numbers nobody gave a value have none: whoever is to write them first also makes the system find memory for them,
  /// on all threads where all write.
  template <class U>
  void construct(U* p) noexcept {
    ::new (static_cast<void*>(p)) U;
  }
  bool operator==(const AlignedAllocator&) const noexcept { return true; }
};

/// A std::vector with a signed subscript; Vector(n) and resize(n) leave new numbers without a value.
template <class T>
class Vector : public std::vector<T, AlignedAllocator<T>> {
  using Base = std::vector<T, AlignedAllocator<T>>;

 public:
  using Base::Base;
  template <std::signed_integral I>
  explicit Vector(I n) : Base(static_cast<std::size_t>(n)) {}
  template <std::signed_integral I>
  Vector(I n, const T& value) : Base(static_cast<std::size_t>(n), value) {}
  template <std::integral I>
  T& operator[](I i) {
    return Base::operator[](static_cast<std::size_t>(i));
  }
  template <std::integral I>
  const T& operator[](I i) const {
    return Base::operator[](static_cast<std::size_t>(i));
  }
  template <std::integral I>
  void resize(I n) {
    Base::resize(static_cast<std::size_t>(n));
  }
  template <std::integral I>
  void resize(I n, const T& value) {
    Base::resize(static_cast<std::size_t>(n), value);
  }
  template <std::integral I>
  void assign(I n, const T& value) {
    Base::assign(static_cast<std::size_t>(n), value);
  }
  using Base::assign;
};

/// rows * cols, or an Error where the product does not fit: sizes come from files.
inline std::size_t checked_size(Index rows, Index cols) {
  if (rows < 0 || cols < 0) throw Error("matrix: negative size");
  if (cols > 0 && rows > std::numeric_limits<Index>::max() / 16 / cols) throw Error("matrix: size overflows");
  return static_cast<std::size_t>(rows * cols);
}

/// Anything that shows a column-major block of numbers of type T as an Eigen matrix does: data(), rows(), cols(), and
/// outerStride() where columns do not follow one another. Row-major matrices of Eigen are not: hand over the transpose.
template <class M, class T>
concept MatrixLike = requires(const M& a) {
  { a.data() } -> std::convertible_to<const T*>;
  { a.rows() } -> std::convertible_to<Index>;
  { a.cols() } -> std::convertible_to<Index>;
}
&&!requires { requires bool(M::IsRowMajor); };

/// A column-major window on somebody else's numbers; `stride` is the distance between columns.
template <class T>
struct MatrixView {
  T* data = nullptr;
  Index rows = 0, cols = 0, stride = 0;

  MatrixView() = default;
  MatrixView(T* p, Index r, Index c, Index s) : data(p), rows(r), cols(c), stride(s) {}
  MatrixView(T* p, Index r, Index c) : MatrixView(p, r, c, r) {}
  /// a writable view serves wherever a read-only one is asked for
  template <class U>
  requires std::is_same_v<const U, T> MatrixView(const MatrixView<U>& v)
      : MatrixView(v.data, v.rows, v.cols, v.stride) {}
  /// A view of the caller's own matrix, such as one of Eigen's. It lives no longer than that matrix.
  template <class M>
  requires std::is_const_v<T> && MatrixLike<M, std::remove_const_t<T>> MatrixView(const M& a)
      : MatrixView(a.data(), static_cast<Index>(a.rows()), static_cast<Index>(a.cols())) {
    if constexpr (requires { a.outerStride(); }) stride = static_cast<Index>(a.outerStride());
    if constexpr (requires { a.innerStride(); })
      if (a.innerStride() != 1) throw Error("matrix: the numbers of a column must lie side by side; copy it first");
  }

  T& operator()(Index i, Index j) const { return data[j * stride + i]; }
  T* col(Index j) const { return data + j * stride; }
  MatrixView columns(Index first, Index count) const { return {data + first * stride, rows, count, stride}; }
  MatrixView block(Index i, Index j, Index r, Index c) const { return {data + j * stride + i, r, c, stride}; }
  bool empty() const { return rows == 0 || cols == 0; }
};

/// Column-major dense matrix that owns its numbers. In Pacewise a column is a sample.
template <class T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(Index rows, Index cols, T value = T(0)) : rows_(rows), cols_(cols), data_(checked_size(rows, cols), value) {}
  /// A copy of what a view shows.
  explicit Matrix(MatrixView<const T> from) {
    resize_for_overwrite(from.rows, from.cols);
    for (Index j = 0; j < cols_; ++j) std::copy_n(from.col(j), rows_, col(j));
  }

  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  Index size() const { return rows_ * cols_; }
  bool empty() const { return data_.empty(); }
  T* data() { return data_.data(); }
  const T* data() const { return data_.data(); }
  T& operator()(Index i, Index j) { return data_[static_cast<std::size_t>(j * rows_ + i)]; }
  const T& operator()(Index i, Index j) const { return data_[static_cast<std::size_t>(j * rows_ + i)]; }
  T* col(Index j) { return data() + j * rows_; }
  const T* col(Index j) const { return data() + j * rows_; }
  void fill(T value) { data_.assign(data_.size(), value); }
  /// New numbers are 0.
  void resize(Index rows, Index cols) {
    data_.resize(checked_size(rows, cols), T(0));
    rows_ = rows;
    cols_ = cols;
  }
  /// New numbers have no value: all are to be written.
  void resize_for_overwrite(Index rows, Index cols) {
    data_.resize(checked_size(rows, cols));
    rows_ = rows;
    cols_ = cols;
  }
  bool operator==(const Matrix&) const = default;
  /// column after column
  const Vector<T>& numbers() const { return data_; }
  void take(Vector<T> numbers, Index rows, Index cols) {
    if (numbers.size() != checked_size(rows, cols)) throw Error("matrix: as many numbers as rows x columns needed");
    data_ = std::move(numbers);
    rows_ = rows;
    cols_ = cols;
  }
  Vector<T> release() {
    rows_ = cols_ = 0;
    return std::move(data_);
  }

  MatrixView<T> view() { return {data(), rows_, cols_}; }
  MatrixView<const T> view() const { return {data(), rows_, cols_}; }
  operator MatrixView<T>() { return view(); }

 private:
  Index rows_ = 0, cols_ = 0;
  Vector<T> data_;
};

/// Compressed sparse columns, rows sorted within a column, no duplicates. Graph matrices are always double: they are
/// small next to the data, and their rounding would otherwise be the largest error of the codes step.
struct Sparse {
  Index rows = 0, cols = 0;
  Vector<Index> start{0};      // cols + 1: column j is [start[j], start[j+1])
  Vector<std::int32_t> index;  // row of each entry
  Vector<double> value;

  Index nonzeros() const { return static_cast<Index>(index.size()); }
  bool empty() const { return rows == 0 || cols == 0; }
  bool operator==(const Sparse&) const = default;
};

/// Copy with conversion, the only place where float meets double.
template <class To, class From>
Matrix<To> cast(MatrixView<const From> a) {
  Matrix<To> out(a.rows, a.cols);
  for (Index j = 0; j < a.cols; ++j)
    for (Index i = 0; i < a.rows; ++i) out(i, j) = static_cast<To>(a(i, j));
  return out;
}

}  // namespace pacewise

#pragma once
#include "io/reading.hpp"

namespace pacewise {

enum class Scalar : std::uint8_t {
  boolean,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  float32,
  float64
};
std::size_t scalar_size(Scalar type);

/// An array as it lies in a file or in a library's memory.
struct TypedArray {
  Scalar type = Scalar::float64;
  bool big_endian = false;
  bool fortran = false;       // the first index runs fastest
  bool samples_last = false;  // samples run along the last axis instead of the first
  std::vector<Index> shape;
  const char* data = nullptr;
  std::shared_ptr<const void> owner;
  bool mapped = false;

  Index count() const;     // product of the shape
  Index samples() const;   // length of the sample axis
  Index features() const;  // product of the other axes
};

/// One named thing of a file: exactly one of the three is filled.
struct Variable {
  TypedArray array;
  std::vector<std::string> text;
  std::optional<Sparse> sparse;  // m x n, the transpose of what the file holds
  bool is_text = false;
};

/// "3 x 4"
std::string shape_text(const std::vector<Index>& shape);

/// The product of the shape, each axis >= 0; fails on overflow and where `available` bytes cannot hold it.
Index checked_count(const Reading& reading, const std::vector<Index>& shape, std::size_t item, std::size_t available,
                    std::string_view where);

/// Converts to T, a column per sample, each sample in row-major order. Takes the bytes as they are where that is
/// possible: same type, same order, aligned.
template <class T>
void place(const TypedArray& array, const Reading& reading, std::string_view where, Table<T>& table);

/// All numbers, in the order they lie in memory.
std::vector<double> numbers_of(const TypedArray& array);

}  // namespace pacewise

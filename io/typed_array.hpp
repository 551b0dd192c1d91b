#pragma once
#include "io/reading.hpp"

namespace pacewise {

/// An array as it lies in a file or in a library's memory.
struct TypedArray {
  std::string type = "f8";  // b1, i1..i8, u1..u8, f2, f4, f8: NumPy's kind and bytes
  bool big_endian = false;
  bool fortran = false;       // the first index runs fastest
  bool samples_last = false;  // samples run along the last axis instead of the first
  std::vector<Index> shape;
  const char* data = nullptr;
  std::shared_ptr<const void> owner;
  bool mapped = false;

  Index count() const;  // product of the shape
  Index samples() const { return samples_last ? shape.back() : shape.front(); }
};

/// Whether `type` is one of the above.
bool is_numeric_type(std::string_view type);
inline std::size_t item_size(std::string_view type) { return static_cast<std::size_t>(type[1] - '0'); }

/// One named thing of a file: exactly one of the three is filled.
struct Variable {
  TypedArray array;
  std::vector<std::string> text;
  std::optional<Sparse> sparse;  // m x n, the transpose of what the file holds
  bool is_text = false;
};

/// "3 x 4"
std::string shape_text(const std::vector<Index>& shape);

/// The product of the shape, each axis > 0; fails on overflow and where `available` bytes cannot hold it.
Index checked_count(const Reading& reading, const std::vector<Index>& shape, std::size_t item, std::size_t available,
                    std::string_view where);

/// Converts to T, a column per sample, each sample in row-major order. Takes the bytes as they are where that is
/// possible: same type, same order, aligned. Sparse numbers stay as they are; text is an error.
template <class T>
void place(Variable variable, const Reading& reading, std::string_view where, Table<T>& table);

/// The numbers of a vector, whatever shape a file gives it; fails where more than one axis is longer than 1.
std::vector<double> vector_of(const TypedArray& array, const Reading& reading, std::string_view where);

/// Labels as a file holds them: numbers or text.
struct LabelColumn {
  std::vector<double> numbers;
  std::vector<std::string> text;  // used where `numbers` is empty
  std::size_t size() const { return numbers.empty() ? text.size() : numbers.size(); }
};

/// The labels that a variable holds: text, or one vector of numbers.
LabelColumn label_column(const Variable& variable, const Reading& reading, std::string_view where);

/// Classes 0..k-1 in sorted order. A missing label is an error.
Labels make_labels(const LabelColumn& column, const Reading& reading, std::string_view where);

}  // namespace pacewise

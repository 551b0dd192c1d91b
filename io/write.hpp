#pragma once
#include <string>
#include <vector>

#include "io/table.hpp"

namespace pacewise {

// Each file is written whole or not at all (atomic_file.hpp); samples, the columns in memory, become the rows of the
// file, so that read_table gives back what was written. A matrix that is no table of samples is transposed by the
// caller. Failures are WriteErrors.

/// n x m, version 1, C order, in T.
template <class T>
void write_npy(const std::string& path, MatrixView<const T> values);
/// A vector of n integers, for labels and assignments.
void write_npy(const std::string& path, const std::vector<std::int32_t>& values);

/// What stands above the columns and before the rows of a table; each may be empty.
struct Names {
  std::vector<std::string> columns, rows;
  std::string corner = {};
  std::vector<TextColumn> beside = {};  // among the columns, in their order
};
/// One that a reader takes for what it is
std::string csv_field(const std::string& text);
/// The shortest digits that read back to the same T; NaN is "nan".
std::string csv_number(double value);
template <class T>
void write_csv(const std::string& path, MatrixView<const T> values, const Names& names = {});

/// coordinate real general, n x m.
void write_mtx(const std::string& path, const Sparse& values);
/// array real general, n x m.
template <class T>
void write_mtx(const std::string& path, MatrixView<const T> values);

}  // namespace pacewise

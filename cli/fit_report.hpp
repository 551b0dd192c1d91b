#pragma once
#include <string>

#include "pacewise/evaluate/scores.hpp"
#include "pacewise/model/fit.hpp"
#include "pacewise/report/page.hpp"

namespace pacewise::cli {

/// Rows and columns of a sample shown as a picture: the file's own shape, or a square where the features make one;
/// {0, 0} where they do not.
std::pair<Index, Index> picture_shape(const std::vector<Index>& sample_shape, Index features);

/// Columns of `values` (each a picture of rows x columns) side by side, `across` in a row. Every tile is stretched to
/// its own range, or to the given one.
struct Range {
  double low, high;
};
template <class T>
std::string montage_png(MatrixView<const T> values, Index rows, Index columns, Index across,
                        const Range* range = nullptr);

/// The atoms as pictures and the course of the run: the parts that `fit --report` and `demo` share.
template <class T>
void add_atoms(Page& page, const Matrix<T>& dictionary, Index rows, Index columns);
void add_convergence(Page& page, const std::vector<Record>& history);

/// The figures of a finished fit.
template <class T>
TextTable summary_table(const Result<T>& result);

/// The page of `fit --report`.
template <class T>
std::string fit_page(const Result<T>& result, const std::string& name, const std::vector<Index>& sample_shape,
                     const Scores* scores);

}  // namespace pacewise::cli

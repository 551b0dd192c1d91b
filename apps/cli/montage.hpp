#pragma once
#include "apps/report/page.hpp"
#include "pacewise/matrix.hpp"

namespace pacewise::cli {

/// Rows and columns of a sample shown as a picture: the file's own shape, or a square where the features make one;
/// {0, 0} where they do not.
std::pair<Index, Index> picture_shape(const std::vector<Index>& sample_shape, Index features);

/// Columns of `values` (each a picture of rows x columns) side by side, `across` in a row, `gap` pixels apart. Every
/// tile is stretched to its own range, or to the given one; what is not finite has the grey 128, which no number has.
template <class T>
std::string montage_png(MatrixView<const T> values, Index rows, Index columns, Index across,
                        const Range* range = nullptr, Index gap = 1);

/// The same, large enough to see. Without a shape (rows = 0) every column of `values` is a strip, its features from
/// left to right.
template <class T>
Picture montage(const std::string& caption, MatrixView<const T> values, std::pair<Index, Index> shape, Index across,
                const Range* range = nullptr);

inline constexpr Index kLongestStrip = 2000;  // features; a wider strip would not fit a screen

}  // namespace pacewise::cli

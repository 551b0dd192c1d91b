#include "apps/cli/montage.hpp"

#include <png.h>

#include <algorithm>
#include <cmath>

namespace pacewise::cli {
namespace {

constexpr Index kWidest = 900;  // pixels of a page

/// 8 bits of grey, row by row
std::string grey_png(Index width, Index height, const std::string& pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_GRAY;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string out(size, '\0');
  if (png_image_write_to_memory(&image, out.data(), &size, 0, pixels.data(), 0, nullptr) == 0)
    throw Error(std::string("picture: ") + image.message);
  out.resize(size);
  return out;
}

/// Every value `height` times, one below the other: a strip that is not too thin to see
template <class T>
Matrix<T> strips(MatrixView<const T> values, Index height) {
  Matrix<T> out(values.rows * height, values.cols);
  for (Index t = 0; t < values.cols; ++t)
    for (Index k = 0; k < height; ++k) std::copy_n(values.col(t), values.rows, out.col(t) + k * values.rows);
  return out;
}

}  // namespace

std::pair<Index, Index> picture_shape(const std::vector<Index>& sample_shape, Index features) {
  if (sample_shape.size() == 2 && sample_shape[0] > 1 && sample_shape[1] > 1) return {sample_shape[0], sample_shape[1]};
  const auto side = static_cast<Index>(std::lround(std::sqrt(static_cast<double>(features))));
  if (side * side == features && side >= 4) return {side, side};
  return {0, 0};
}

template <class T>
std::string montage_png(MatrixView<const T> values, Index rows, Index columns, Index across, const Range* range,
                        Index gap) {
  const Index down = (values.cols + across - 1) / across;
  const Index width = across * (columns + gap) + gap, height = down * (rows + gap) + gap;
  std::string pixels(static_cast<std::size_t>(width * height), '\x80');
  for (Index t = 0; t < values.cols; ++t) {
    const T* tile = values.col(t);
    const auto [least, most] = std::minmax_element(tile, tile + rows * columns);
    const double low = range != nullptr ? range->lower : static_cast<double>(*least);
    const double high = range != nullptr ? range->upper : static_cast<double>(*most);
    const Index left = t % across * (columns + gap) + gap, top = t / across * (rows + gap) + gap;
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < columns; ++j) {
        const double v = static_cast<double>(tile[i * columns + j]);
        if (!std::isfinite(v)) continue;
        const double share = high > low ? std::clamp((v - low) / (high - low), 0.0, 1.0) : 0.5;
        const long grey = std::lround(255 * share);
        pixels[static_cast<std::size_t>((top + i) * width + left + j)] = static_cast<char>(grey == 128 ? 127 : grey);
      }
  }
  return grey_png(width, height, pixels);
}

template <class T>
Picture montage(const std::string& caption, MatrixView<const T> values, std::pair<Index, Index> shape, Index across,
                const Range* range) {
  auto [rows, columns] = shape;
  const bool strip = rows == 0;
  const Index gap = strip ? 0 : 1;
  Matrix<T> tall;
  if (strip) {
    columns = values.rows;
    rows = std::max<Index>(1, columns / (values.cols < 4 ? 20 : 60));
    tall = strips(values, rows);
    values = tall;
    across = 1;
  }
  const Index natural = across * (columns + gap) + gap;
  const Index scale = std::clamp<Index>(kWidest / natural, 1, strip ? 24 : 3);
  return {caption, montage_png(values, rows, columns, across, range, gap),
          static_cast<int>(std::min(scale * natural, kWidest))};
}

#define PACEWISE_INSTANTIATE(T)                                                                       \
  template std::string montage_png<T>(MatrixView<const T>, Index, Index, Index, const Range*, Index); \
  template Picture montage<T>(const std::string&, MatrixView<const T>, std::pair<Index, Index>, Index, const Range*);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise::cli

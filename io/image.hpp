#pragma once
#include "io/reading.hpp"

namespace pacewise {

/// Grey values as stored: 0..255, or 0..65535 where an image has 16 bits. Colour becomes luma, transparency is dropped.
struct GreyImage {
  Index width = 0, height = 0;
  int bits = 8;
  std::vector<std::uint16_t> pixels;  // row by row
};

bool is_image(std::string_view bytes);
GreyImage decode_image(const Reading& reading);

GreyImage decode_png(const Reading& reading);
GreyImage decode_jpeg(const Reading& reading);
GreyImage decode_pgm(const Reading& reading);

/// 0.299 r + 0.587 g + 0.114 b in 16-bit fixed point, rounded; the weights sum to 1, so grey stays grey.
inline std::uint16_t luma(std::uint32_t r, std::uint32_t g, std::uint32_t b) {
  return static_cast<std::uint16_t>((19595ULL * r + 38470ULL * g + 7471ULL * b + 32768ULL) >> 16);
}

/// Fails where an image of this size cannot come out of a file of this size; then makes room for it.
void set_image_size(const Reading& reading, GreyImage& image, Index width, Index height, int bits_per_pixel);

}  // namespace pacewise

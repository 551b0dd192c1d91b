#pragma once
#include "io/reading.hpp"

namespace pacewise {

/// Grey values as stored: 0..255, or 0..65535 where an image has 16 bits. Colour becomes luma, transparency is dropped.
struct GreyImage {
  Index width = 0, height = 0;
  int bits = 8;
  Vector<std::uint16_t> pixels;  // row by row

  GreyImage(const Reading& reading, Index w, Index h, int b) : width(w), height(h), bits(b) {
    reading.check_claim(2 * static_cast<double>(w) * static_cast<double>(h), line_of(w, " x ", h, " pixels"));
    pixels.resize(w * h);
  }
};

GreyImage decode_png(const Reading& reading);
GreyImage decode_jpeg(const Reading& reading);
GreyImage decode_pgm(const Reading& reading);

}  // namespace pacewise

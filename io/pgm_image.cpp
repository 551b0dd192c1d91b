#include "io/image.hpp"
#include "io/text.hpp"

namespace pacewise {

GreyImage decode_pgm(const Reading& reading) {
  const bool plain = reading.bytes[1] == '2';
  Scanner numbers(reading, '#', 2);
  const Index width = numbers.integer(1, 1 << 20, "width"), height = numbers.integer(1, 1 << 20, "height");
  const Index white = numbers.integer(1, 65535, "largest value");
  const Index bytes = white > 255 ? 2 : 1;
  const std::size_t start = numbers.offset() + 1;  // one blank after the header
  const auto needed = static_cast<std::size_t>(width * height * (plain ? 1 : bytes));
  if (start > reading.bytes.size() || needed > reading.bytes.size() - start)
    reading.fail("PGM", line_of(width, " x ", height, " pixels do not fit in ", reading.bytes.size(),
                                " bytes; the file is truncated, copy it again"));
  GreyImage image(reading, width, height, white > 255 ? 16 : 8);
  const auto* raw = reinterpret_cast<const unsigned char*>(reading.bytes.data()) + start;
  for (std::uint16_t& pixel : image.pixels) {
    if (plain)
      pixel = static_cast<std::uint16_t>(numbers.integer(0, white, "pixel"));
    else if (bytes == 1)
      pixel = *raw++;
    else
      pixel = static_cast<std::uint16_t>(raw[0] << 8 | raw[1]), raw += 2;
  }
  return image;
}

}  // namespace pacewise

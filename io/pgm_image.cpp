#include "io/image.hpp"

namespace pacewise {
namespace {

/// Numbers of a PGM header or of a plain (P2) PGM, blanks and # comments between them.
class Numbers {
 public:
  Numbers(const Reading& reading, std::size_t start) : reading_(reading), at_(start) {}
  std::size_t offset() const { return at_; }

  Index next(Index most, const char* name) {
    skip();
    const std::string_view text = reading_.bytes;
    if (at_ >= text.size()) reading_.fail("PGM", line_of("ends where the ", name, " should follow; copy it again"));
    Index value = 0;
    const std::size_t start = at_;
    while (at_ < text.size() && text[at_] >= '0' && text[at_] <= '9' && value <= most)
      value = 10 * value + (text[at_++] - '0');
    if (at_ == start || value > most)
      reading_.fail("PGM", line_of("byte ", start, ": the ", name, " is no number in 0..", most, "; save it again"));
    return value;
  }

 private:
  void skip() {
    const std::string_view text = reading_.bytes;
    for (; at_ < text.size(); ++at_) {
      const char c = text[at_];
      if (c == '#')
        at_ = std::min(text.find('\n', at_), text.size() - 1);
      else if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
        return;
    }
  }

  const Reading& reading_;
  std::size_t at_;
};

}  // namespace

GreyImage decode_pgm(const Reading& reading) {
  const bool plain = reading.bytes[1] == '2';
  Numbers numbers(reading, 2);
  const Index width = numbers.next(1 << 20, "width"), height = numbers.next(1 << 20, "height");
  const Index white = numbers.next(65535, "largest value");
  if (white == 0) reading.fail("PGM", "the largest value is 0; save it again");
  const std::size_t bytes = white > 255 ? 2 : 1;
  const std::size_t start = numbers.offset() + 1;  // one blank after the header
  const double needed =
      static_cast<double>(width) * static_cast<double>(height) * (plain ? 1 : static_cast<double>(bytes));
  if (start > reading.bytes.size() || needed > static_cast<double>(reading.bytes.size() - start))
    reading.fail("PGM", line_of(width, " x ", height, " pixels do not fit in ", reading.bytes.size(),
                                " bytes; the file is truncated, copy it again"));
  GreyImage image;
  set_image_size(reading, image, width, height, 8);
  image.bits = bytes == 2 ? 16 : 8;
  const auto* raw = reinterpret_cast<const unsigned char*>(reading.bytes.data()) + start;
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    if (plain)
      image.pixels[i] = static_cast<std::uint16_t>(numbers.next(white, "pixel"));
    else if (bytes == 1)
      image.pixels[i] = raw[i];
    else
      image.pixels[i] = static_cast<std::uint16_t>(raw[2 * i] << 8 | raw[2 * i + 1]);
  }
  return image;
}

}  // namespace pacewise

#include <png.h>

#include <cstring>

#include "io/image.hpp"

namespace pacewise {
namespace {

struct Source {
  std::string_view bytes;
  std::size_t used = 0;
  char message[80] = {};
};

void read_bytes(png_structp png, png_bytep out, std::size_t count) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (count > source->bytes.size() - source->used) png_error(png, "the file ends too early");
  std::memcpy(out, source->bytes.data() + source->used, count);
  source->used += count;
}

void remember(png_structp png, png_const_charp message) {
  auto* source = static_cast<Source*>(png_get_error_ptr(png));
  std::strncpy(source->message, message, sizeof(source->message) - 1);
  png_longjmp(png, 1);
}

void ignore(png_structp, png_const_charp) {}

struct Header {
  png_uint_32 width = 0, height = 0;
  int depth = 0, colour = 0;
};

/// libpng reports errors by longjmp, which must not pass over C++ objects: these two functions have none.
bool read_header(png_structp png, png_infop info, Header* header) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_info(png, info);
  png_get_IHDR(png, info, &header->width, &header->height, &header->depth, &header->colour, nullptr, nullptr, nullptr);
  return true;
}

/// 8 or 16 bits, grey or RGB, no alpha, all rows at once into `rows`.
bool read_pixels(png_structp png, png_infop info, png_bytepp rows, std::size_t row_bytes) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_expand(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  if (png_get_rowbytes(png, info) != row_bytes) png_error(png, "unexpected row size");
  png_read_image(png, rows);
  png_read_end(png, nullptr);
  return true;
}

struct Png {
  png_structp png = nullptr;
  png_infop info = nullptr;
  explicit Png(Source& source) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, remember, ignore);
    if (png == nullptr) throw std::bad_alloc();
    info = png_create_info_struct(png);
    png_set_read_fn(png, &source, read_bytes);
    png_set_user_limits(png, 1 << 20, 1 << 20);
  }
  ~Png() { png_destroy_read_struct(&png, &info, nullptr); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;
};

/// 0.299 r + 0.587 g + 0.114 b in 16-bit fixed point, rounded; the weights sum to 1, so grey stays grey.
std::uint16_t luma(std::uint32_t r, std::uint32_t g, std::uint32_t b) {
  return static_cast<std::uint16_t>((19595ULL * r + 38470ULL * g + 7471ULL * b + 32768ULL) >> 16);
}

}  // namespace

GreyImage decode_png(const Reading& reading) {
  Source source{reading.bytes};
  const Png file(source);
  Header header;
  const auto fail = [&] { reading.fail("PNG", line_of(printable(source.message), "; save the image again")); };
  if (!read_header(file.png, file.info, &header)) fail();
  const bool colour = (header.colour & PNG_COLOR_MASK_COLOR) != 0;
  const std::size_t channels = colour ? 3 : 1, bytes = header.depth == 16 ? 2 : 1;
  GreyImage image(reading, header.width, header.height, header.depth == 16 ? 16 : 8);
  const std::size_t row_bytes = header.width * channels * bytes;
  reading.check_claim(static_cast<double>(row_bytes) * header.height, "PNG");
  Vector<png_byte> raw(row_bytes * header.height);
  Vector<png_bytep> rows(std::size_t{header.height});
  for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = raw.data() + r * row_bytes;
  if (!read_pixels(file.png, file.info, rows.data(), row_bytes)) fail();
  const auto sample = [&](std::size_t i) -> std::uint32_t {
    return bytes == 1 ? raw[i] : static_cast<std::uint32_t>(raw[2 * i] << 8 | raw[2 * i + 1]);
  };
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] =
        colour ? luma(sample(3 * i), sample(3 * i + 1), sample(3 * i + 2)) : static_cast<std::uint16_t>(sample(i));
  return image;
}

}  // namespace pacewise

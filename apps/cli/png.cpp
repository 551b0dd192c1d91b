#include "apps/cli/png.hpp"

#include <zlib.h>

#include "pacewise/error.hpp"

namespace pacewise::cli {
namespace {

void append_u32(std::string& out, std::uint32_t value) {
  for (const unsigned shift : {24U, 16U, 8U, 0U}) out += static_cast<char>(value >> shift & 0xffU);
}

/// length, kind, data, CRC-32 of kind and data
void append_chunk(std::string& out, const std::string& kind, const std::string& data) {
  append_u32(out, static_cast<std::uint32_t>(data.size()));
  const std::string body = kind + data;
  out += body;
  append_u32(out, static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(body.data()), body.size())));
}

}  // namespace

std::string grey_png(std::uint32_t width, std::uint32_t height, const std::string& pixels) {
  if (pixels.size() != static_cast<std::size_t>(width) * height) throw Error("picture: pixels do not fill it");
  std::string rows;  // a filter byte (0: none) before every row
  for (std::uint32_t y = 0; y < height; ++y) rows += '\0' + pixels.substr(static_cast<std::size_t>(y) * width, width);
  uLongf size = compressBound(static_cast<uLong>(rows.size()));
  std::string packed(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()),
                static_cast<uLong>(rows.size()), Z_BEST_COMPRESSION) != Z_OK)
    throw Error("picture: zlib cannot compress it");
  packed.resize(size);
  std::string header;
  append_u32(header, width);
  append_u32(header, height);
  header += std::string("\x08\0\0\0\0", 5);  // 8 bits, grey, deflate, filters, not interlaced
  std::string out = "\x89PNG\r\n\x1a\n";
  append_chunk(out, "IHDR", header);
  append_chunk(out, "IDAT", packed);
  append_chunk(out, "IEND", {});
  return out;
}

}  // namespace pacewise::cli

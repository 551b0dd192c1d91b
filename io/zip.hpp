#pragma once
#include "io/reading.hpp"

namespace pacewise {

struct ZipEntry {
  std::string name;
  std::size_t header = 0;    // offset of the local header
  std::size_t packed = 0;    // bytes in the file
  std::size_t unpacked = 0;  // bytes after decompression
  unsigned method = 0;       // 0 stored, 8 deflated
  unsigned flags = 0;
  std::uint32_t checksum = 0;  // CRC-32 of the unpacked bytes
};

inline bool is_zip(std::string_view bytes) {
  return bytes.substr(0, 4) == std::string_view("PK\x03\x04", 4) ||
         bytes.substr(0, 4) == std::string_view("PK\x05\x06", 4);
}

/// The central directory, with 64-bit sizes where the file uses them.
std::vector<ZipEntry> zip_directory(const Reading& reading);

/// The bytes of one entry: a window on the file where it is stored, a new buffer where it is deflated.
std::string_view zip_content(const Reading& reading, const ZipEntry& entry, std::shared_ptr<const void>& owner);

}  // namespace pacewise

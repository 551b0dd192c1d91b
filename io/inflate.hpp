#pragma once
#include "io/reading.hpp"

namespace pacewise {

inline bool is_gzip(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b' && bytes[2] == '\x08';
}

/// Replaces the bytes of a gzip file (of one or more members) by what they expand to.
void unzip_reading(Reading& reading);

/// A raw deflate stream that must give exactly `expected` bytes. Memory grows with what really comes out.
std::shared_ptr<const std::string> inflate_entry(const Reading& reading, std::string_view packed, std::size_t expected,
                                                 std::string_view where);

/// A whole zlib stream.
std::shared_ptr<const std::string> inflate_stream(const Reading& reading, std::string_view packed,
                                                  std::string_view where);

}  // namespace pacewise

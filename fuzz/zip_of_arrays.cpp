#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "targets.hpp"

namespace pacewise::fuzz {
namespace {

template <class N>
std::string raw(N value) {
  std::string out(sizeof(N), '\0');
  std::memcpy(out.data(), &value, sizeof(N));
  return out;
}

}  // namespace

std::string zip_of_arrays(std::string_view input) {
  std::string body, directory;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(input[at]); };
  const bool triplets = !input.empty() && (byte(0) & 1U) != 0;
  std::uint16_t count = 0;
  std::size_t at = std::min<std::size_t>(1, input.size());
  for (const char* part : {"data.npy", "shape.npy", "format.npy", triplets ? "row.npy" : "indices.npy",
                           triplets ? "col.npy" : "indptr.npy"}) {
    const std::string name(part);
    const std::size_t wanted = at + 2 <= input.size() ? byte(at) + 256U * byte(at + 1) : 0;
    at = std::min(at + 2, input.size());
    const std::string content(input.substr(at, wanted));
    at += content.size();
    const auto length = static_cast<std::uint32_t>(content.size());
    const auto crc = static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(content.data()), length));
    const std::string shared = std::string("\x14\0\0\0\0\0\0\0\0\0", 10) + raw(crc) + raw(length) + raw(length) +
                               raw(static_cast<std::uint16_t>(name.size())) + raw<std::uint16_t>(0);
    directory += std::string("PK\x01\x02\x14\0", 6) + shared + std::string(10, '\0') +
                 raw(static_cast<std::uint32_t>(body.size())) + name;
    body += std::string("PK\x03\x04", 4) + shared + name + content;
    ++count;
  }
  return body + directory + std::string("PK\x05\x06\0\0\0\0", 8) + raw(count) + raw(count) +
         raw(static_cast<std::uint32_t>(directory.size())) + raw(static_cast<std::uint32_t>(body.size())) +
         std::string(2, '\0');
}

}  // namespace pacewise::fuzz

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "memory_file.hpp"

namespace {

template <class N>
std::string raw(N value) {
  std::string out(sizeof(N), '\0');
  std::memcpy(out.data(), &value, sizeof(N));
  return out;
}

}  // namespace

/// The input is cut into the arrays of a sound zip file, so that the checksums do not keep the fuzzer out: each piece
/// is preceded by its length.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return -1;
  std::string body, directory;
  const bool triplets = (data[0] & 1U) != 0;
  std::uint16_t count = 0;
  std::size_t at = 1;
  for (const char* part : {"data.npy", "shape.npy", "format.npy", triplets ? "row.npy" : "indices.npy",
                           triplets ? "col.npy" : "indptr.npy"}) {
    const std::string name(part);
    const std::size_t wanted = at + 2 <= size ? data[at] + 256U * data[at + 1] : 0;
    at = std::min(at + 2, size);
    const std::string content(reinterpret_cast<const char*>(data) + at, std::min(wanted, size - at));
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
  const std::string bytes = body + directory + std::string("PK\x05\x06\0\0\0\0", 8) + raw(count) + raw(count) +
                            raw(static_cast<std::uint32_t>(directory.size())) +
                            raw(static_cast<std::uint32_t>(body.size())) + std::string(2, '\0');
  return pacewise::fuzz::read_bytes("", reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

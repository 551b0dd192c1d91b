#include "io/zip.hpp"

#include <zlib.h>

#include <algorithm>

#include "io/inflate.hpp"

namespace pacewise {
namespace {

constexpr const char* kDamaged = "the zip directory is damaged; the file is truncated or no .npz, copy it again";
constexpr std::uint32_t kNoSize = 0xffffffffU;  // "see the 64-bit field"

/// Little-endian number of `size` bytes at `offset`; fails beyond the end.
std::uint64_t number_at(const Reading& reading, std::size_t offset, std::size_t size) {
  if (offset > reading.bytes.size() || size > reading.bytes.size() - offset) reading.fail("", kDamaged);
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(reading.bytes[offset + i]);
  return value;
}

struct Directory {
  std::uint64_t entries = 0, offset = 0;
};

Directory find_directory(const Reading& reading) {
  const std::size_t end = reading.bytes.rfind(std::string_view("PK\x05\x06", 4));
  if (end == std::string_view::npos || reading.bytes.size() - end < 22) reading.fail("", kDamaged);
  Directory found{number_at(reading, end + 10, 2), number_at(reading, end + 16, 4)};
  if (end < 20 || reading.bytes.substr(end - 20, 4) != std::string_view("PK\x06\x07", 4)) return found;
  const std::uint64_t wide = number_at(reading, end - 12, 8);
  if (wide > reading.bytes.size()) reading.fail("", kDamaged);
  const auto at = static_cast<std::size_t>(wide);
  if (number_at(reading, at, 4) != 0x06064b50U) reading.fail("", kDamaged);
  return {number_at(reading, at + 32, 8), number_at(reading, at + 48, 8)};
}

/// The 64-bit sizes of an extra field, in the order of those that do not fit in 32 bits.
void read_wide_sizes(const Reading& reading, std::size_t extra, std::size_t length, std::uint64_t& unpacked,
                     std::uint64_t& packed, std::uint64_t& header) {
  const std::size_t stop = extra + length;
  while (extra + 4 <= stop) {
    const std::uint64_t id = number_at(reading, extra, 2);
    const auto size = static_cast<std::size_t>(number_at(reading, extra + 2, 2));
    std::size_t at = extra + 4;
    extra = at + size;
    if (id != 1 || extra > stop) continue;
    for (std::uint64_t* field : {&unpacked, &packed, &header}) {
      if (*field != kNoSize || at + 8 > extra) continue;
      *field = number_at(reading, at, 8);
      at += 8;
    }
  }
}

}  // namespace

std::vector<ZipEntry> zip_directory(const Reading& reading) {
  const Directory directory = find_directory(reading);
  const std::uint64_t size = reading.bytes.size();
  if (directory.offset > size || directory.entries > size / 46) reading.fail("", kDamaged);
  std::vector<ZipEntry> entries;
  auto at = static_cast<std::size_t>(directory.offset);
  for (std::uint64_t e = 0; e < directory.entries; ++e) {
    if (number_at(reading, at, 4) != 0x02014b50U) reading.fail("", kDamaged);
    ZipEntry entry;
    entry.flags = static_cast<unsigned>(number_at(reading, at + 8, 2));
    entry.method = static_cast<unsigned>(number_at(reading, at + 10, 2));
    entry.checksum = static_cast<std::uint32_t>(number_at(reading, at + 16, 4));
    std::uint64_t packed = number_at(reading, at + 20, 4), unpacked = number_at(reading, at + 24, 4);
    const auto name = static_cast<std::size_t>(number_at(reading, at + 28, 2));
    const auto extra = static_cast<std::size_t>(number_at(reading, at + 30, 2));
    const auto comment = static_cast<std::size_t>(number_at(reading, at + 32, 2));
    std::uint64_t header = number_at(reading, at + 42, 4);
    if (at + 46 + name + extra > size) reading.fail("", kDamaged);
    read_wide_sizes(reading, at + 46 + name, extra, unpacked, packed, header);
    if (packed > size || header > size) reading.fail("", kDamaged);
    entry.name = std::string(reading.bytes.substr(at + 46, name));
    entry.packed = static_cast<std::size_t>(packed);
    entry.unpacked = static_cast<std::size_t>(unpacked);
    entry.header = static_cast<std::size_t>(header);
    entries.push_back(std::move(entry));
    at += 46 + name + extra + comment;
  }
  return entries;
}

std::string_view zip_content(const Reading& reading, const ZipEntry& entry, std::shared_ptr<const void>& owner) {
  if ((entry.flags & 1U) != 0) reading.fail(entry.name, "is encrypted; write the file again without a password");
  if (entry.method != 0 && entry.method != 8)
    reading.fail(entry.name, line_of("is packed by zip method ", entry.method,
                                     "; write the file with numpy.savez or numpy.savez_compressed"));
  if (number_at(reading, entry.header, 4) != 0x04034b50U) reading.fail(entry.name, kDamaged);
  const auto name = static_cast<std::size_t>(number_at(reading, entry.header + 26, 2));
  const auto extra = static_cast<std::size_t>(number_at(reading, entry.header + 28, 2));
  const std::size_t start = entry.header + 30 + name + extra;
  if (start > reading.bytes.size() || entry.packed > reading.bytes.size() - start)
    reading.fail(entry.name, "ends beyond the file; the file is truncated, copy it again");
  const std::string_view packed = reading.bytes.substr(start, entry.packed);
  std::string_view content = packed;
  owner = reading.owner;
  if (entry.method == 8) {
    // a file with one entry expands at most as zlib does
    if (static_cast<double>(entry.unpacked) > kExpansion * static_cast<double>(entry.packed) + 64)
      reading.fail(entry.name, line_of("claims to expand from ", entry.packed, " to ", entry.unpacked,
                                       " bytes; the file is damaged"));
    const auto unpacked = inflate_entry(reading, packed, entry.unpacked, entry.name);
    content = *unpacked;
    owner = unpacked;
  } else if (entry.packed != entry.unpacked) {
    reading.fail(entry.name, kDamaged);
  }
  uLong checksum = crc32_z(0, nullptr, 0);
  checksum = crc32_z(checksum, reinterpret_cast<const Bytef*>(content.data()), content.size());
  if (checksum != entry.checksum) reading.fail(entry.name, "the checksum is wrong; copy the file again");
  return content;
}

}  // namespace pacewise

#include "io/idx.hpp"

#include <sys/stat.h>

namespace pacewise {
namespace {

std::optional<Scalar> type_of(char code) {
  switch (code) {
    case 0x08:
      return Scalar::uint8;
    case 0x09:
      return Scalar::int8;
    case 0x0b:
      return Scalar::int16;
    case 0x0c:
      return Scalar::int32;
    case 0x0d:
      return Scalar::float32;
    case 0x0e:
      return Scalar::float64;
    default:
      return {};
  }
}

Index big_endian(std::string_view four) {
  Index value = 0;
  for (const char c : four) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

bool replace_last(std::string& text, std::string_view from, std::string_view to) {
  const std::size_t at = text.rfind(from);
  if (at == std::string::npos) return false;
  text.replace(at, from.size(), to);
  return true;
}

}  // namespace

bool is_idx(std::string_view bytes) {
  return bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 && type_of(bytes[2]) && bytes[3] >= 1 && bytes[3] <= 8;
}

TypedArray parse_idx(const Reading& reading) {
  const auto axes = static_cast<std::size_t>(static_cast<unsigned char>(reading.bytes[3]));
  const std::size_t header = 4 + 4 * axes;
  if (reading.bytes.size() < header)
    reading.fail("", "ends inside the IDX header; the file is truncated, copy it again");
  TypedArray array;
  array.type = *type_of(reading.bytes[2]);
  array.big_endian = true;
  for (std::size_t a = 0; a < axes; ++a) array.shape.push_back(big_endian(reading.bytes.substr(4 + 4 * a, 4)));
  const std::size_t body = reading.bytes.size() - header;
  const Index count = checked_count(reading, array.shape, scalar_size(array.type), body, "");
  const std::size_t used = static_cast<std::size_t>(count) * scalar_size(array.type);
  if (used != body)
    reading.fail("", line_of(body - used, " bytes follow the ", shape_text(array.shape),
                             " numbers; the file is damaged or no IDX file"));
  array.data = reading.bytes.data() + header;
  array.owner = reading.owner;
  array.mapped = reading.mapped;
  return array;
}

std::string idx_labels_beside(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t start = slash == std::string::npos ? 0 : slash + 1;
  std::string name = path.substr(start);
  if (!replace_last(name, "images", "labels")) return {};
  replace_last(name, "idx3", "idx1");
  const bool packed = name.ends_with(".gz");
  const std::string bare = packed ? name.substr(0, name.size() - 3) : name;
  for (const std::string& candidate : {name, packed ? bare : bare + ".gz"}) {
    struct stat status {};
    const std::string beside = path.substr(0, start) + candidate;
    if (::stat(beside.c_str(), &status) == 0) return beside;
  }
  return {};
}

}  // namespace pacewise

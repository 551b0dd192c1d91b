#include <sys/stat.h>

#include "io/formats.hpp"

namespace pacewise {
namespace {

/// Empty where the code is none of IDX.
std::string_view type_of(char code) {
  static constexpr std::string_view types[] = {"u1", "i1", "", "i2", "i4", "f4", "f8"};
  return code >= 0x08 && code <= 0x0e ? types[code - 0x08] : "";
}

Index big_endian(std::string_view four) {
  Index value = 0;
  for (const char c : four) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

bool replace_last(std::string& text, std::string_view from, std::string_view to) {
  const std::size_t at = text.rfind(from);
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return at != std::string::npos;
}

bool is_idx(std::string_view bytes) {
  return bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 && !type_of(bytes[2]).empty() && bytes[3] >= 1 &&
         bytes[3] <= 8;
}

Variable read_idx(const Reading& reading) {
  const std::size_t header = 4 + 4 * static_cast<std::size_t>(reading.bytes[3]);
  if (reading.bytes.size() < header)
    reading.fail("", "ends inside the IDX header; the file is truncated, copy it again");
  Variable out;
  TypedArray& array = out.array;
  array.type = type_of(reading.bytes[2]);
  array.big_endian = true;
  for (std::size_t at = 4; at < header; at += 4) array.shape.push_back(big_endian(reading.bytes.substr(at, 4)));
  const std::size_t body = reading.bytes.size() - header, item = item_size(array.type);
  const std::size_t used = static_cast<std::size_t>(checked_count(reading, array.shape, item, body, "")) * item;
  if (used != body)
    reading.fail("", line_of(body - used, " bytes follow the ", shape_text(array.shape),
                             " numbers; the file is damaged or no IDX file"));
  array.data = reading.bytes.data() + header;
  array.owner = reading.owner;
  array.mapped = reading.mapped;
  return out;
}

}  // namespace

const Format kIdx{"idx", is_idx, read_idx};

std::string idx_labels_beside(const std::string& path) {
  const std::size_t start = path.rfind('/') + 1;
  std::string name = path.substr(start);
  if (!replace_last(name, "images", "labels")) return {};
  replace_last(name, "idx3", "idx1");
  const std::string other = name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name + ".gz";
  for (const std::string& candidate : {name, other}) {
    struct stat status {};
    const std::string beside = path.substr(0, start) + candidate;
    if (::stat(beside.c_str(), &status) == 0) return beside;
  }
  return {};
}

}  // namespace pacewise

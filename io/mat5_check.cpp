#include "io/formats.hpp"

namespace pacewise {
namespace {

enum : std::uint32_t { kInt32 = 5, kUint32 = 6, kMatrix = 14, kCompressed = 15 };
enum : std::uint32_t { kCell = 1, kStruct = 2, kObject = 3, kSparse = 5, kFunction = 16, kOpaque = 17 };

/// Bytes of one item of a numeric element; 0 for types that hold no numbers.
std::size_t item_bytes(std::uint32_t type) {
  static constexpr std::size_t sizes[] = {0, 1, 1, 2, 2, 4, 4, 4, 0, 8, 0, 0, 8, 8, 0, 0, 1, 2, 4};
  return type < std::size(sizes) ? sizes[type] : 0;
}

struct Element {
  std::uint32_t type = 0;
  std::string_view body;
};

class Walker {
 public:
  Walker(const Reading& reading, bool swapped) : reading_(reading), swapped_(swapped) {}

  void file() {
    std::string_view rest = reading_.bytes.substr(128);
    while (!rest.empty()) {
      Element element = next(rest, "");
      if (element.type != kCompressed) {
        matrix(element, 0);
        continue;
      }
      std::string unpacked;
      reading_.inflate(element.body, unpacked, "compressed variable");
      for (std::string_view inner = unpacked; !inner.empty();) matrix(next(inner, ""), 0);
    }
  }

 private:
  [[noreturn]] void truncated(const std::string& name) const {
    reading_.fail(name, "its data are damaged or truncated; copy the file again");
  }

  std::uint32_t word(std::string_view bytes) const {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[swapped_ ? i : 3 - i]);
    return value;
  }

  /// Takes the first element off `rest`: 8 bytes of tag and a body padded to 8 bytes (compressed ones are not), or
  /// 4 bytes of tag and up to 4 of body.
  Element next(std::string_view& rest, const std::string& name) const {
    if (rest.size() < 8) truncated(name);
    const std::uint32_t head = word(rest);
    Element element{head & 0xffffU, {}};
    if (const std::uint32_t small = head >> 16; small != 0) {
      if (small > 4) truncated(name);
      element.body = rest.substr(4, small);
      rest.remove_prefix(8);
      return element;
    }
    const std::size_t length = word(rest.substr(4));
    if (length > rest.size() - 8) truncated(name);
    element.body = rest.substr(8, length);
    const std::size_t padded = element.type == kCompressed ? length : (length + 7) / 8 * 8;
    rest.remove_prefix(std::min(8 + padded, rest.size()));
    return element;
  }

  void matrix(const Element& element, int depth) const {
    if (element.type != kMatrix || depth > 20) truncated("");
    std::string_view rest = element.body;
    if (rest.empty()) return;  // an empty cell
    const Element flags = next(rest, "");
    if (flags.type != kUint32 || flags.body.size() != 8) truncated("");
    const std::uint32_t kind = word(flags.body) & 0xffU;
    const bool complex = (word(flags.body) & 0x0800U) != 0;
    if (kind == kOpaque) {  // no dimensions; listed, never loaded
      while (!rest.empty()) next(rest, "");
      return;
    }
    if (kind < kCell || kind > kFunction) truncated("");
    const Element dims = next(rest, "");
    if (dims.type != kInt32 || dims.body.size() < 8 || dims.body.size() % 4 != 0 || dims.body.size() > 128)
      truncated("");
    double count = 1, columns = 0;
    for (std::size_t d = 0; d < dims.body.size(); d += 4) {
      const std::uint32_t length = word(dims.body.substr(d));
      if (length > 0x7fffffffU) truncated("");
      count *= length;
      if (d == 4) columns = length;
    }
    const std::string name(next(rest, "").body);
    if (name.find('\0') != std::string::npos) truncated(printable(name));
    if (kind == kSparse)
      sparse(rest, name, columns, complex);
    else if (kind == kFunction)
      matrix(next(rest, name), depth + 1);
    else if (kind == kCell)
      members(rest, name, count, depth);
    else if (kind == kStruct || kind == kObject)
      fields(rest, name, count, kind == kObject, depth);
    else
      numbers(rest, name, count, complex, true);
  }

  Element numeric(std::string_view& rest, const std::string& name) const {
    const Element element = next(rest, name);
    const std::size_t item = item_bytes(element.type);
    if (item == 0 || element.body.size() % item != 0) truncated(name);
    return element;
  }

  /// Real numbers, and imaginary ones where `complex`: at least as many as `least`.
  void numbers(std::string_view rest, const std::string& name, double least, bool complex, bool exact) const {
    for (int part = 0; part < (complex ? 2 : 1); ++part) {
      if (exact && least == 0 && rest.empty()) return;
      const Element element = numeric(rest, name);
      const std::size_t items = element.body.size() / item_bytes(element.type);
      if (static_cast<double>(items) < least || (exact && static_cast<double>(items) != least)) truncated(name);
    }
  }

  void sparse(std::string_view rest, const std::string& name, double columns, bool complex) const {
    const Element rows = numeric(rest, name), starts = numeric(rest, name);
    const std::size_t places = starts.body.size() / 4;
    if (item_bytes(rows.type) != 4 || item_bytes(starts.type) != 4 || static_cast<double>(places) != columns + 1)
      truncated(name);
    std::uint32_t before = 0;
    for (std::size_t at = 0; at < starts.body.size(); at += 4) {
      const std::uint32_t start = word(starts.body.substr(at));
      if (start < before || start > rows.body.size() / 4) truncated(name);
      before = start;
    }
    numbers(rest, name, before, complex, false);
  }

  /// Cells, or the fields of structs: a matrix each, of 8 bytes at least.
  void members(std::string_view rest, const std::string& name, double count, int depth) const {
    if (count > static_cast<double>(rest.size()) / 8) truncated(name);
    for (double m = 0; m < count; ++m) matrix(next(rest, name), depth + 1);
  }

  void fields(std::string_view rest, const std::string& name, double count, bool object, int depth) const {
    if (object) next(rest, name);
    const Element width = next(rest, name);
    if (width.type != kInt32 || width.body.size() != 4) truncated(name);
    const std::uint32_t length = word(width.body);
    const Element names = next(rest, name);
    if (length == 0 || length > 0x7fffffffU || names.body.size() % length != 0) truncated(name);
    const std::size_t each = names.body.size() / length;
    members(rest, name, count * static_cast<double>(each), depth);
  }

  const Reading& reading_;
  bool swapped_;
};

}  // namespace

void check_mat5(const Reading& reading) { Walker(reading, reading.bytes[126] == 'M').file(); }

}  // namespace pacewise

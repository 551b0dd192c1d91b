#include <nlohmann/json.hpp>

#include "io/formats.hpp"
#include "io/text.hpp"

namespace pacewise {
namespace {

/// A Python literal as JSON: ' ( ) True False, commas before a bracket, and the L of long integers in Python 2
std::string as_json(std::string_view literal) {
  std::string out;
  for (const char c : literal) {
    if (c == ')' || c == '}' || c == ']') out.resize(out.find_last_not_of(" ,\n") + 1);
    if (c == 'L' && !out.empty() && out.back() >= '0' && out.back() <= '9') continue;
    out += c == '\'' ? '"' : c == '(' ? '[' : c == ')' ? ']' : c == 'T' ? 't' : c == 'F' ? 'f' : c;
  }
  return out;
}

struct NpyHeader {
  std::string descr;
  bool fortran = false;
  std::vector<Index> shape;

  NpyHeader(const Reading& reading, std::string_view text, std::string_view where) {
    using nlohmann::json;
    const json header = json::parse(as_json(text), nullptr, false), none;
    const auto field = [&](const char* name) -> const json& {
      return header.is_object() && header.contains(name) ? header[name] : none;
    };
    const json &type = field("descr"), &order = field("fortran_order"), &lengths = field("shape");
    if (type.is_array()) reading.fail(where, "holds records with named fields; save a plain numeric array");
    bool good = type.is_string() && order.is_boolean() && lengths.is_array();
    for (const json& length : lengths) good = good && length.is_number_unsigned();
    if (!good)
      reading.fail(where, line_of("the .npy header is damaged near \"", printable(text.substr(0, 20)),
                                  "\"; write the file again with numpy.save"));
    type.get_to(descr);
    order.get_to(fortran);
    lengths.get_to(shape);
  }
};

std::size_t number_of(std::string_view bytes, bool big) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[big ? i : bytes.size() - 1 - i]);
  return value;
}

void append_utf8(std::string& out, std::size_t code) {
  const unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes after the first
  static constexpr std::size_t mark[] = {0, 0xc0, 0xe0, 0xf0};
  out += static_cast<char>(mark[more] | code >> 6 * more);
  for (unsigned k = more; k-- > 0;) out += static_cast<char>(0x80 | (code >> 6 * k & 63));
}

/// S: bytes padded with zeros; U: four bytes per character.
Variable text_variable(const Reading& reading, const NpyHeader& header, std::string_view code, std::string_view data,
                       std::string_view where) {
  Index length = 0;
  if (!parse_number(code.substr(1), length) || length <= 0 || length > static_cast<Index>(data.size()))
    reading.fail(where, line_of("text of type ", printable(header.descr), " does not fit in the file; copy it again"));
  const std::size_t unit = code[0] == 'U' ? 4 : 1, item = unit * static_cast<std::size_t>(length);
  const Index count = checked_count(reading, header.shape, item, data.size(), where);
  Variable out;
  out.is_text = true;
  for (Index i = 0; i < count; ++i) {
    const std::string_view cell = data.substr(static_cast<std::size_t>(i) * item, item);
    std::string& text = out.text.emplace_back();
    for (std::size_t c = 0; c < item; c += unit) {
      const std::size_t character = number_of(cell.substr(c, unit), header.descr[0] == '>');
      if (character == 0) break;
      if (unit == 4)
        append_utf8(text, character & 0x1fffff);
      else
        text += cell[c];
    }
  }
  return out;
}

std::string type_problem(const std::string& descr, char kind) {
  const std::string head = "holds numbers of type " + printable(descr) + "; ";
  if (kind == 'c') return head + "complex numbers are not supported, save real and imaginary parts as features";
  if (kind == 'O') return head + "it is a pickled object array, convert it with .astype(float) before numpy.save";
  if (kind == 'M' || kind == 'm') return head + "dates are not numbers, convert them before numpy.save";
  return head + "save booleans, integers of 8 to 64 bits or floats of 16 to 64 bits";
}

bool is_npy(std::string_view bytes) { return bytes.starts_with("\x93NUMPY"); }

}  // namespace

Variable parse_npy(const Reading& reading, std::string_view bytes, std::shared_ptr<const void> owner,
                   std::string_view where) {
  if (!is_npy(bytes)) reading.fail(where, "is no .npy array; write it with numpy.save or numpy.savez");
  const int version = bytes.size() < 10 ? 1 : static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3)
    reading.fail(where, line_of("is .npy version ", version, "; versions 1 to 3 can be read"));
  const std::size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start || number_of(bytes.substr(8, start - 8), false) > bytes.size() - start)
    reading.fail(where, "ends inside the .npy header; the file is truncated, copy it again");
  const std::size_t length = number_of(bytes.substr(8, start - 8), false);
  const NpyHeader header(reading, bytes.substr(start, length), where);
  const std::string_view data = bytes.substr(start + length);
  std::string_view code = header.descr;
  if (code.size() < 2) reading.fail(where, type_problem(header.descr, '?'));
  if (std::string_view("<>|=").find(code[0]) != std::string_view::npos) code.remove_prefix(1);
  if (code[0] == 'S' || code[0] == 'U') return text_variable(reading, header, code, data, where);
  if (!is_numeric_type(code)) reading.fail(where, type_problem(header.descr, code[0]));
  checked_count(reading, header.shape, item_size(code), data.size(), where);
  Variable out;
  out.array.type = code;
  out.array.big_endian = header.descr[0] == '>';
  out.array.fortran = header.fortran;
  out.array.shape = header.shape;
  out.array.data = data.data();
  out.array.mapped = reading.mapped && owner == reading.owner;
  out.array.owner = std::move(owner);
  return out;
}

const Format kNpy{"npy", is_npy,
                  [](const Reading& reading) { return parse_npy(reading, reading.bytes, reading.owner, ""); }};

}  // namespace pacewise

#include "io/npy.hpp"

#include <charconv>

namespace pacewise {
namespace {

/// The header is a Python dictionary literal with the keys descr, fortran_order and shape.
class HeaderParser {
 public:
  HeaderParser(const Reading& reading, std::string_view text, std::string_view where)
      : reading_(reading), text_(text), where_(where) {}

  std::string descr;
  bool fortran = false;
  std::vector<Index> shape;

  void parse() {
    expect('{');
    bool has_descr = false, has_order = false, has_shape = false;
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr") {
        if (peek() == '[') reading_.fail(where_, "holds records with named fields; save a plain numeric array");
        descr = quoted();
        has_descr = true;
      } else if (key == "fortran_order") {
        fortran = boolean();
        has_order = true;
      } else if (key == "shape") {
        tuple();
        has_shape = true;
      } else {
        bad();
      }
      if (!accept(',') && peek() != '}') bad();
    }
    if (!has_descr || !has_order || !has_shape) bad();
  }

 private:
  [[noreturn]] void bad() const {
    reading_.fail(where_, line_of("the .npy header is damaged near \"", printable(text_.substr(0, 20)),
                                  "\"; write the file again with numpy.save"));
  }
  char peek() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n' || text_[0] == '\t')) text_.remove_prefix(1);
    if (text_.empty()) bad();
    return text_[0];
  }
  bool accept(char c) {
    if (peek() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) bad();
  }
  std::string quoted() {
    const char mark = peek();
    if (mark != '\'' && mark != '"') bad();
    const std::size_t end = text_.find(mark, 1);
    if (end == std::string_view::npos) bad();
    std::string out(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return out;
  }
  bool boolean() {
    peek();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(0, word.size()) != word) continue;
      text_.remove_prefix(word.size());
      return value;
    }
    bad();
  }
  void tuple() {
    expect('(');
    while (!accept(')')) {
      peek();
      Index length = 0;
      const auto [stop, error] = std::from_chars(text_.data(), text_.data() + text_.size(), length);
      if (error != std::errc() || length < 0) bad();
      text_.remove_prefix(static_cast<std::size_t>(stop - text_.data()));
      if (!text_.empty() && text_[0] == 'L') text_.remove_prefix(1);  // Python 2 wrote long integers so
      shape.push_back(length);
      if (!accept(',') && peek() != ')') bad();
    }
  }

  const Reading& reading_;
  std::string_view text_;
  std::string_view where_;
};

std::size_t little_endian(std::string_view bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::optional<Scalar> numeric_type(std::string_view code) {
  static constexpr std::pair<std::string_view, Scalar> types[] = {
      {"b1", Scalar::boolean}, {"i1", Scalar::int8},    {"u1", Scalar::uint8},   {"i2", Scalar::int16},
      {"u2", Scalar::uint16},  {"i4", Scalar::int32},   {"u4", Scalar::uint32},  {"i8", Scalar::int64},
      {"u8", Scalar::uint64},  {"f2", Scalar::float16}, {"f4", Scalar::float32}, {"f8", Scalar::float64}};
  for (const auto& [name, type] : types)
    if (code == name) return type;
  return {};
}

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | code >> 6);
    out += static_cast<char>(0x80 | (code & 63));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | code >> 12);
    out += static_cast<char>(0x80 | (code >> 6 & 63));
    out += static_cast<char>(0x80 | (code & 63));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18 & 7));
    out += static_cast<char>(0x80 | (code >> 12 & 63));
    out += static_cast<char>(0x80 | (code >> 6 & 63));
    out += static_cast<char>(0x80 | (code & 63));
  }
}

/// 'S': bytes padded with zeros; 'U': four bytes per character.
std::vector<std::string> text_items(std::string_view data, std::size_t count, std::size_t item, bool wide, bool big) {
  std::vector<std::string> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view cell = data.substr(i * item, item);
    if (!wide) {
      out[i] = cell.substr(0, cell.find('\0'));
      continue;
    }
    for (std::size_t c = 0; c + 4 <= item; c += 4) {
      std::string four(cell.substr(c, 4));
      if (big) four = {four[3], four[2], four[1], four[0]};
      const auto code = static_cast<std::uint32_t>(little_endian(four));
      if (code == 0) break;
      append_utf8(out[i], code);
    }
  }
  return out;
}

Variable text_variable(const Reading& reading, const HeaderParser& header, std::string_view code, std::string_view data,
                       bool big, std::string_view where) {
  std::size_t length = 0;
  const char* end = code.data() + code.size();
  const auto [stop, error] = std::from_chars(code.data() + 1, end, length);
  if (error != std::errc() || stop != end || length == 0 || length > data.size())
    reading.fail(where, line_of("text of type ", printable(header.descr), " does not fit in the file; copy it again"));
  const bool wide = code[0] == 'U';
  const std::size_t item = wide ? 4 * length : length;
  const Index count = checked_count(reading, header.shape, item, data.size(), where);
  Variable out;
  out.is_text = true;
  out.text = text_items(data, static_cast<std::size_t>(count), item, wide, big);
  return out;
}

std::string type_problem(const std::string& descr, char kind) {
  const std::string head = "holds numbers of type " + printable(descr) + "; ";
  if (kind == 'c') return head + "complex numbers are not supported, save real and imaginary parts as features";
  if (kind == 'O') return head + "it is a pickled object array, convert it with .astype(float) before numpy.save";
  if (kind == 'M' || kind == 'm') return head + "dates are not numbers, convert them before numpy.save";
  return head + "save booleans, integers of 8 to 64 bits or floats of 16 to 64 bits";
}

}  // namespace

Variable parse_npy(const Reading& reading, std::string_view bytes, std::shared_ptr<const void> owner,
                   std::string_view where) {
  if (!is_npy(bytes)) reading.fail(where, "is no .npy array; write it with numpy.save or numpy.savez");
  if (bytes.size() < 10) reading.fail(where, "ends inside the .npy header; the file is truncated, copy it again");
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3)
    reading.fail(where, line_of("is .npy version ", version, "; versions 1 to 3 can be read"));
  const std::size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start) reading.fail(where, "ends inside the .npy header; the file is truncated, copy it again");
  const std::size_t length = little_endian(bytes.substr(8, start - 8));
  if (length > bytes.size() - start)
    reading.fail(where, "ends inside the .npy header; the file is truncated, copy it again");
  HeaderParser header(reading, bytes.substr(start, length), where);
  header.parse();
  const std::string_view data = bytes.substr(start + length);
  std::string_view code = header.descr;
  const char order = code.empty() ? '?' : code[0];
  if (code.size() < 2) reading.fail(where, type_problem(header.descr, '?'));
  if (order == '<' || order == '>' || order == '|' || order == '=') code.remove_prefix(1);
  if (code[0] == 'S' || code[0] == 'U') return text_variable(reading, header, code, data, order == '>', where);
  const std::optional<Scalar> type = numeric_type(code);
  if (!type) reading.fail(where, type_problem(header.descr, code[0]));
  checked_count(reading, header.shape, scalar_size(*type), data.size(), where);
  Variable out;
  out.array.type = *type;
  out.array.big_endian = order == '>';
  out.array.fortran = header.fortran;
  out.array.shape = header.shape;
  out.array.data = data.data();
  out.array.owner = std::move(owner);
  out.array.mapped = reading.mapped && data.data() >= reading.bytes.data() &&
                     data.data() <= reading.bytes.data() + reading.bytes.size();
  return out;
}

}  // namespace pacewise

#include "io/matrix_market.hpp"

#include <algorithm>
#include <charconv>

namespace pacewise {
namespace {

enum class Symmetry : std::uint8_t { general, symmetric, skew };

struct Banner {
  bool coordinate = true;
  bool pattern = false;
  Symmetry symmetry = Symmetry::general;
};

/// Walks over the text word by word and knows its line for messages.
class Scanner {
 public:
  explicit Scanner(const Reading& reading) : reading_(reading), text_(reading.bytes) {}

  std::string line() const {
    const auto newlines = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(mark_), '\n');
    return line_of("line ", newlines + 1);
  }
  [[noreturn]] void fail(std::string_view what) const { reading_.fail(line(), what); }

  std::string_view rest_of_line() {
    mark_ = at_;
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view found = text_.substr(at_, end - at_);
    at_ = std::min(end + 1, text_.size());
    return found;
  }
  void skip_comments() {
    for (;;) {
      skip_blanks();
      if (at_ >= text_.size() || text_[at_] != '%') return;
      rest_of_line();
    }
  }
  bool at_end() {
    skip_blanks();
    return at_ >= text_.size();
  }
  double progress() const { return static_cast<double>(at_) / static_cast<double>(text_.size()); }

  std::string_view word(const char* wanted) {
    skip_blanks();
    mark_ = at_;
    if (at_ >= text_.size()) fail(line_of("the file ends where ", wanted, " should follow; it is truncated"));
    const std::size_t start = at_;
    while (at_ < text_.size() && !blank(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }
  Index integer(Index least, Index most, const char* wanted) {
    const std::string_view text = word(wanted);
    Index value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size() || value < least || value > most)
      fail(line_of("\"", printable(text), "\" is no ", wanted, " in ", least, "..", most, "; correct it"));
    return value;
  }
  double number() {
    const std::string_view text = word("a value");
    double value = 0;
    if (!parse_number(text, false, value)) fail(line_of("\"", printable(text), "\" is not a number; correct it"));
    return value;
  }

 private:
  static bool blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
  void skip_blanks() {
    while (at_ < text_.size() && blank(text_[at_])) ++at_;
  }

  const Reading& reading_;
  std::string_view text_;
  std::size_t at_ = 0, mark_ = 0;
};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

Banner read_banner(Scanner& scanner) {
  const std::string banner = lower(scanner.rest_of_line());
  std::vector<std::string> words;
  for (std::size_t at = 0; at < banner.size();) {
    const std::size_t start = banner.find_first_not_of(" \t\r", at);
    if (start == std::string::npos) break;
    at = std::min(banner.find_first_of(" \t\r", start), banner.size());
    words.push_back(banner.substr(start, at - start));
  }
  if (words.size() < 5 || words[1] != "matrix")
    scanner.fail("the banner is incomplete; it reads %%MatrixMarket matrix coordinate real general");
  Banner out;
  if (words[2] != "coordinate" && words[2] != "array")
    scanner.fail(line_of("\"", printable(words[2]), "\" is no layout; coordinate and array can be read"));
  out.coordinate = words[2] == "coordinate";
  out.pattern = words[3] == "pattern";
  if (words[3] != "real" && words[3] != "double" && words[3] != "integer" && !(out.pattern && out.coordinate))
    scanner.fail(line_of("values of type \"", printable(words[3]), "\"; real, integer and pattern can be read"));
  if (words[4] == "symmetric")
    out.symmetry = Symmetry::symmetric;
  else if (words[4] == "skew-symmetric")
    out.symmetry = Symmetry::skew;
  else if (words[4] != "general")
    scanner.fail(line_of("symmetry \"", printable(words[4]), "\"; general, symmetric and skew-symmetric can be read"));
  return out;
}

Sparse read_coordinates(const Reading& reading, Scanner& scanner, const Banner& banner, Index rows, Index cols) {
  const Index most = static_cast<Index>(reading.bytes.size() / 4) + 1;  // "1 1\n" is the shortest entry
  const Index count = scanner.integer(0, most, "number of entries that fits the file");
  std::vector<Triplet> entries;
  const bool general = banner.symmetry == Symmetry::general;
  entries.reserve(static_cast<std::size_t>(general ? count : 2 * count));
  for (Index e = 0; e < count; ++e) {
    const auto row = static_cast<std::int32_t>(scanner.integer(1, rows, "row") - 1);
    const auto col = static_cast<std::int32_t>(scanner.integer(1, cols, "column") - 1);
    const double value = banner.pattern ? 1 : scanner.number();
    entries.push_back({col, row, value});  // memory holds the transpose: the file's row is our column
    if (!general && row != col) entries.push_back({row, col, banner.symmetry == Symmetry::skew ? -value : value});
    if (e % 65536 == 0) reading.at(scanner.progress());
  }
  if (!scanner.at_end()) {
    scanner.word("");
    scanner.fail(line_of("text follows the ", count, " entries the header announces; correct the count"));
  }
  return sparse_from_triplets(cols, rows, std::move(entries));
}

template <class T>
Dense<T> read_array(const Reading& reading, Scanner& scanner, const Banner& banner, Index rows, Index cols) {
  const double halves = banner.symmetry == Symmetry::general ? 1 : 0.4;
  if (halves * static_cast<double>(rows) * static_cast<double>(cols) > static_cast<double>(reading.bytes.size()))
    scanner.fail(
        line_of(rows, " x ", cols, " values do not fit in ", reading.bytes.size(), " bytes; the file is truncated"));
  const Dense<T> out = allocate_dense<T>(cols, rows, reading);
  for (Index j = 0; j < cols; ++j) {
    Index first = 0;
    if (banner.symmetry == Symmetry::symmetric) first = j;
    if (banner.symmetry == Symmetry::skew) {
      first = j + 1;
      out.view(j, j) = 0;
    }
    for (Index i = first; i < rows; ++i) {
      const T value = static_cast<T>(scanner.number());
      out.view(j, i) = value;
      if (banner.symmetry != Symmetry::general)
        out.view(i, j) = banner.symmetry == Symmetry::skew && i != j ? -value : value;
    }
    reading.at(scanner.progress());
  }
  if (!scanner.at_end()) {
    scanner.word("");
    scanner.fail(line_of("text follows the ", rows, " x ", cols, " values the header announces; correct the size"));
  }
  return out;
}

}  // namespace

bool is_matrix_market(std::string_view bytes) { return lower(bytes.substr(0, 14)) == "%%matrixmarket"; }

template <class T>
Table<T> read_matrix_market(const Reading& reading) {
  Scanner scanner(reading);
  const Banner banner = read_banner(scanner);
  scanner.skip_comments();
  constexpr Index most = std::numeric_limits<std::int32_t>::max();
  const Index rows = scanner.integer(1, most, "number of rows");
  const Index cols = scanner.integer(1, most, "number of columns");
  if (banner.symmetry != Symmetry::general && rows != cols)
    scanner.fail(line_of("a symmetric matrix is square, this one is ", rows, " x ", cols, "; correct the size"));
  Table<T> table;
  if (banner.coordinate) {
    reading.check_claim(static_cast<double>(rows) + static_cast<double>(cols), sizeof(Index), "");
    table.sparse = read_coordinates(reading, scanner, banner, rows, cols);
  } else {
    const Dense<T> dense = read_array<T>(reading, scanner, banner, rows, cols);
    table.values = dense.view;
    table.owner = dense.owner;
  }
  reading.at(1);
  return table;
}

template Table<float> read_matrix_market(const Reading&);
template Table<double> read_matrix_market(const Reading&);

}  // namespace pacewise

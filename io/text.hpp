#pragma once
#include "io/reading.hpp"

namespace pacewise {

/// Without leading and trailing blanks and line ends.
std::string_view trimmed(std::string_view text);

/// The spellings of a missing value: empty, NA, N/A, NaN, null, none (any case), ?, -, #N/A.
bool is_missing(std::string_view text);

/// A whole text as a number (Index, float or double); false where it is none. `decimal_comma`: "1,5" is 1.5.
template <class T>
bool parse_number(std::string_view text, T& value, bool decimal_comma = false);

/// "line 7" of a text, for the line that `offset` lies in.
std::string line_name(std::string_view text, std::size_t offset);

/// Words of a text with blanks between them, and comments from `comment` to the end of the line.
class Scanner {
 public:
  Scanner(const Reading& reading, char comment, std::size_t start)
      : reading_(reading), text_(reading.bytes), comment_(comment), at_(start) {}

  /// Fails at the last word.
  [[noreturn]] void fail(std::string_view what) const { reading_.fail(line_name(text_, mark_), what); }
  std::string_view word(const char* wanted);
  Index integer(Index least, Index most, const char* wanted);
  double number();
  /// Fails where something follows what the header announces.
  void expect_end(std::string_view announced);
  std::size_t offset() const { return at_; }
  double progress() const { return static_cast<double>(at_) / static_cast<double>(text_.size()); }

 private:
  bool at_end();

  const Reading& reading_;
  std::string_view text_;
  char comment_;
  std::size_t at_, mark_ = 0;
};

}  // namespace pacewise

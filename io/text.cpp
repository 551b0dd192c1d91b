#include "io/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

namespace pacewise {

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(kBlanks), text.size());
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

bool is_missing(std::string_view text) {
  if (text.size() > 4) return false;
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c | 0x20);
  static constexpr std::string_view spellings[] = {"", "?", "-", "na", "#n/a", "n/a", "nan", "null", "none"};
  return std::find(std::begin(spellings), std::end(spellings), lower) != std::end(spellings);
}

template <class T>
bool parse_number(std::string_view text, T& value, bool decimal_comma) {
  std::string with_point;
  if (decimal_comma && text.find(',') != std::string_view::npos) {
    if (text.find('.') != std::string_view::npos) return false;
    with_point = text;
    with_point[text.find(',')] = '.';
    text = with_point;
  }
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) return false;
  if (error == std::errc()) return true;
  // too large or too small for T: infinity or 0 with the right sign
  if constexpr (!std::is_integral_v<T>) value = static_cast<T>(std::strtod(std::string(text).c_str(), nullptr));
  return !std::is_integral_v<T>;
}

std::string line_name(std::string_view text, std::size_t offset) {
  return line_of("line ", std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n') + 1);
}

bool Scanner::at_end() {
  at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size());
  while (at_ < text_.size() && text_[at_] == comment_)
    at_ = std::min(text_.find_first_not_of(kBlanks, std::min(text_.find('\n', at_), text_.size())), text_.size());
  mark_ = at_;
  return at_ == text_.size();
}

std::string_view Scanner::word(const char* wanted) {
  if (at_end()) fail(line_of("the file ends where the ", wanted, " should follow; it is truncated"));
  at_ = std::min(text_.find_first_of(kBlanks, at_), text_.size());
  return text_.substr(mark_, at_ - mark_);
}

Index Scanner::integer(Index least, Index most, const char* wanted) {
  const std::string_view text = word(wanted);
  Index value = 0;
  if (!parse_number(text, value) || value < least || value > most)
    fail(line_of("\"", printable(text), "\" is no ", wanted, " in ", least, "..", most, "; correct it"));
  return value;
}

double Scanner::number() {
  const std::string_view text = word("value");
  double value = 0;
  if (!parse_number(text, value)) fail(line_of("\"", printable(text), "\" is not a number; correct it"));
  return value;
}

void Scanner::expect_end(std::string_view announced) {
  if (!at_end()) fail(line_of("text follows the ", announced, " the header announces; correct the header"));
}

template bool parse_number(std::string_view, Index&, bool);
template bool parse_number(std::string_view, float&, bool);
template bool parse_number(std::string_view, double&, bool);

}  // namespace pacewise

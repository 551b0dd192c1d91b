#include "reproduce/rows.hpp"

#include <charconv>
#include <fstream>
#include <sstream>

namespace pacewise::reproduce {
namespace {

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0;;) {
    const std::size_t comma = line.find(',', at);
    out.push_back(line.substr(at, comma == std::string_view::npos ? comma : comma - at));
    if (comma == std::string_view::npos) return out;
    at = comma + 1;
  }
}

template <class V>
bool parse(std::string_view text, V& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string text_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  if (!file) throw ReadError(printable(path, 200) + ": cannot be read");
  return all.str();
}

Rows::Rows(std::string name, std::string_view text, std::string_view head) : name_(std::move(name)), rest_(text) {
  columns_ = split(head).size();
  const std::size_t end = rest_.find('\n');
  line_ = 1;
  if (end == std::string_view::npos || rest_.substr(0, end) != head)
    fault(line_of("another head line than this version's, ", printable(head, 70)));
  rest_.remove_prefix(end + 1);
}

bool Rows::next() {
  if (rest_.empty()) return false;
  ++line_;
  const std::size_t end = rest_.find('\n');
  if (end == std::string_view::npos) fault("it is cut off");
  fields_ = split(rest_.substr(0, end));
  rest_.remove_prefix(end + 1);
  if (fields_.size() != columns_) fault(line_of(fields_.size(), " fields instead of ", columns_));
  return true;
}

double Rows::number(std::size_t column) const {
  double value = 0;
  if (!parse(fields_[column], value))
    fault(line_of("field ", column + 1, " is no number: ", printable(fields_[column])));
  return value;
}

int Rows::whole(std::size_t column) const {
  int value = 0;
  if (!parse(fields_[column], value))
    fault(line_of("field ", column + 1, " is no whole number: ", printable(fields_[column])));
  return value;
}

void Rows::fault(const std::string& what) const {
  throw ReadError(line_of(name_, ": line ", line_, ": ", what, "; remove the line or the file"));
}

}  // namespace pacewise::reproduce

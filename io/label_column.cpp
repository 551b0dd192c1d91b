#include "io/label_column.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <unordered_map>

namespace pacewise {
namespace {

std::string shortest(double number) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  return {text.data(), end};
}

/// Each distinct key's rank in sorted order.
template <class Key>
std::vector<std::int32_t> ranks(const std::vector<Key>& keys, std::vector<Key>& distinct) {
  std::unordered_map<Key, std::int32_t> rank;
  for (const Key& key : keys) rank.emplace(key, 0);
  distinct.clear();
  for (const auto& [key, unused] : rank) distinct.push_back(key);
  std::sort(distinct.begin(), distinct.end());
  for (std::size_t k = 0; k < distinct.size(); ++k) rank[distinct[k]] = static_cast<std::int32_t>(k);
  std::vector<std::int32_t> out;
  out.reserve(keys.size());
  for (const Key& key : keys) out.push_back(rank[key]);
  return out;
}

[[noreturn]] void missing(const Reading& reading, std::string_view where, std::size_t sample) {
  reading.fail(where, line_of("label ", sample + 1, " is missing; give every sample a label"));
}

/// The texts as numbers, or empty where one is none.
std::vector<double> all_numbers(const std::vector<std::string>& text) {
  std::vector<double> out(text.size());
  for (std::size_t i = 0; i < text.size(); ++i)
    if (!parse_number(trimmed(text[i]), false, out[i])) return {};
  return out;
}

bool same_ignoring_case(std::string_view a, std::string_view lower) {
  return a.size() == lower.size() &&
         std::equal(a.begin(), a.end(), lower.begin(), [](char x, char y) { return (x | 0x20) == y || x == y; });
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

bool is_missing(std::string_view text) {
  if (text.size() > 4) return false;
  if (text.empty() || text == "?" || text == "-") return true;
  return same_ignoring_case(text, "na") || same_ignoring_case(text, "n/a") || same_ignoring_case(text, "nan") ||
         same_ignoring_case(text, "null") || same_ignoring_case(text, "none");
}

template <class T>
bool parse_number(std::string_view text, bool decimal_comma, T& value) {
  std::array<char, 64> with_point{};
  if (decimal_comma && text.find(',') != std::string_view::npos) {
    if (text.size() > with_point.size() || text.find('.') != std::string_view::npos) return false;
    std::copy(text.begin(), text.end(), with_point.begin());
    with_point[text.find(',')] = '.';
    text = {with_point.data(), text.size()};
  }
  if (text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+') text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (stop != end || error == std::errc::invalid_argument) return false;
  // too large or too small for T: infinity or 0 with the right sign
  if (error == std::errc::result_out_of_range) value = static_cast<T>(std::strtod(std::string(text).c_str(), nullptr));
  return true;
}

LabelColumn label_column(const Variable& variable) {
  LabelColumn column;
  if (variable.is_text)
    column.text = variable.text;
  else if (!variable.sparse)
    column.numbers = numbers_of(variable.array);
  return column;
}

Labels make_labels(const LabelColumn& column, const Reading& reading, std::string_view where) {
  if (column.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    reading.fail(where, line_of("holds ", column.size(), " labels; 2147483647 are the most"));
  for (std::size_t i = 0; i < column.text.size(); ++i)
    if (is_missing(trimmed(column.text[i]))) missing(reading, where, i);
  const std::vector<double> numbers = column.numbers.empty() ? all_numbers(column.text) : column.numbers;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (std::isnan(numbers[i])) missing(reading, where, i);
  Labels labels;
  if (numbers.empty()) {
    labels.value = ranks(column.text, labels.names);
    return labels;
  }
  std::vector<double> distinct;
  labels.value = ranks(numbers, distinct);
  for (const double number : distinct) labels.names.push_back(shortest(number));
  return labels;
}

template bool parse_number(std::string_view, bool, float&);
template bool parse_number(std::string_view, bool, double&);

}  // namespace pacewise

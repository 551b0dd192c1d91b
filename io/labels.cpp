#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "io/text.hpp"
#include "io/typed_array.hpp"

namespace pacewise {
namespace {

std::string name_of(const std::string& text) { return text; }
std::string name_of(double number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

template <class Key>
Labels ranked(const std::vector<Key>& keys) {
  std::map<Key, std::int32_t> rank;
  for (const Key& key : keys) rank.emplace(key, 0);
  Labels labels;
  for (auto& [key, place] : rank) {
    place = static_cast<std::int32_t>(labels.names.size());
    labels.names.push_back(name_of(key));
  }
  for (const Key& key : keys) labels.value.push_back(rank[key]);
  return labels;
}

}  // namespace

LabelColumn label_column(const Variable& variable, const Reading& reading, std::string_view where) {
  if (variable.is_text) return {{}, variable.text};
  if (variable.sparse) reading.fail(where, "is a sparse matrix; labels are one dense vector");
  return {vector_of(variable.array, reading, where), {}};
}

Labels make_labels(const LabelColumn& column, const Reading& reading, std::string_view where) {
  if (column.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
    reading.fail(where, line_of("holds ", column.size(), " labels; 2147483647 are the most"));
  std::vector<double> numbers = column.numbers;
  bool text = false;
  for (std::size_t i = 0; i < column.size(); ++i) {
    if (!column.numbers.empty() ? std::isnan(numbers[i]) : is_missing(trimmed(column.text[i])))
      reading.fail(where, line_of("label ", i + 1, " is missing; give every sample a label"));
    if (column.numbers.empty()) text = !parse_number(trimmed(column.text[i]), numbers.emplace_back()) || text;
  }
  return text ? ranked(column.text) : ranked(numbers);
}

}  // namespace pacewise

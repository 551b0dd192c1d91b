#pragma once
#include "io/typed_array.hpp"

namespace pacewise {

/// Labels as a file holds them: numbers or text.
struct LabelColumn {
  std::vector<double> numbers;
  std::vector<std::string> text;  // used where `numbers` is empty
  std::size_t size() const { return numbers.empty() ? text.size() : numbers.size(); }
};

LabelColumn label_column(const Variable& variable);

/// Classes 0..k-1 in sorted order. A missing label is an error.
Labels make_labels(const LabelColumn& column, const Reading& reading, std::string_view where);

/// The spellings of a missing value: empty, NA, N/A, NaN, null, none (any case), ?, -.
bool is_missing(std::string_view text);

/// A whole text as a number; false where it is none. `decimal_comma`: "1,5" is 1.5.
template <class T>
bool parse_number(std::string_view text, bool decimal_comma, T& value);

/// Without leading and trailing blanks.
std::string_view trimmed(std::string_view text);

}  // namespace pacewise

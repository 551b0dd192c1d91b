#pragma once
#include "io/typed_array.hpp"

namespace pacewise {

/// Labels as a file holds them: numbers or text.
struct LabelColumn {
  std::vector<double> numbers;
  std::vector<std::string> text;  // used where `numbers` is empty
  std::size_t size() const { return numbers.empty() ? text.size() : numbers.size(); }
};

/// The labels that a variable holds: text, or one vector of numbers.
LabelColumn label_column(const Variable& variable, const Reading& reading, std::string_view where);

/// Classes 0..k-1 in sorted order. A missing label is an error.
Labels make_labels(const LabelColumn& column, const Reading& reading, std::string_view where);

}  // namespace pacewise

#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/file_error.hpp"

namespace pacewise::reproduce {

/// All of a file; a ReadError where that cannot be.
std::string text_in(const std::string& path);

/// The lines of a CSV file of this study: plain fields without quotes, one head line that must be `head`. Every fault
/// is a ReadError with the file, the line and what to do.
class Rows {
 public:
  Rows(std::string name, std::string_view text, std::string_view head);
  /// The next line's fields, as many as the head has; false at the end.
  bool next();
  std::string_view text(std::size_t column) const { return fields_[column]; }
  double number(std::size_t column) const;
  int whole(std::size_t column) const;
  /// `parse` may throw an Error; it is reported as a fault of the line.
  template <class Parse>
  auto word(std::size_t column, Parse&& parse) const {
    try {
      return parse(fields_[column]);
    } catch (const Error& e) {
      fault(e.what());
    }
  }
  [[noreturn]] void fault(const std::string& what) const;

 private:
  std::string name_;
  std::string_view rest_;
  std::vector<std::string_view> fields_;
  std::size_t columns_ = 0;
  int line_ = 0;
};

}  // namespace pacewise::reproduce

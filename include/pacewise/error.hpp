#pragma once
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

namespace pacewise {

/// The one exception of the library: the caller asked for something that has no meaning. The text names the argument,
/// its value and the rule it breaks. Outcomes of a run (limits, cancellation) are values, never exceptions.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file cannot be read or does not hold what it should: bad input. One line: file, where in it, what is wrong, what
/// to do.
class ReadError : public Error {
 public:
  using Error::Error;
};

/// A result cannot be written: the input was fine, the disk or the folder is not.
class WriteError : public Error {
 public:
  using Error::Error;
};

/// The numbers an option may be. Always finite.
struct Range {
  double lower = -std::numeric_limits<double>::infinity(), upper = std::numeric_limits<double>::infinity();
  bool lower_open = false, upper_open = false;

  bool contains(double x) const;
  std::string rule() const;  // ">= 1", "in (0, 1]"
};
constexpr Range at_least(double lower) { return {.lower = lower}; }
constexpr Range above(double lower) { return {.lower = lower, .lower_open = true}; }

/// The one form of an option's error: name = value: must be rule; remark.
[[noreturn]] void refuse(std::string_view name, const std::string& value, const std::string& rule,
                         std::string_view remark = {});
void require(const Range& range, std::string_view name, double value, std::string_view remark = {});
/// A number as a user would write it: 15 digits at most.
std::string to_text(double value);

}  // namespace pacewise

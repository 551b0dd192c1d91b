#pragma once
#include <limits>
#include <string>
#include <string_view>

namespace pacewise {

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

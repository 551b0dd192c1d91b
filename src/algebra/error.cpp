#include "pacewise/error.hpp"

#include <cmath>
#include <cstdio>

namespace pacewise {

bool Range::contains(double x) const {
  return std::isfinite(x) && (lower_open ? x > lower : x >= lower) && (upper_open ? x < upper : x <= upper);
}

std::string Range::rule() const {
  const bool below = std::isfinite(upper), over = std::isfinite(lower);
  if (below && over)
    return "in " + std::string(lower_open ? "(" : "[") + to_text(lower) + ", " + to_text(upper) +
           (upper_open ? ")" : "]");
  if (over) return (lower_open ? "> " : ">= ") + to_text(lower);
  if (below) return (upper_open ? "< " : "<= ") + to_text(upper);
  return "finite";
}

void refuse(std::string_view name, const std::string& value, const std::string& rule, std::string_view remark) {
  throw Error(std::string(name) + " = " + value + ": must be " + rule + (remark.empty() ? "" : "; ") +
              std::string(remark));
}

void require(const Range& range, std::string_view name, double value, std::string_view remark) {
  if (range.contains(value)) return;
  const bool infinite = std::isinf(value) && !std::isfinite(value > 0 ? range.upper : range.lower);
  refuse(name, to_text(value), infinite ? "finite and " + range.rule() : range.rule(), remark);
}

std::string to_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

}  // namespace pacewise

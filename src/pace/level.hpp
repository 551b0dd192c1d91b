#pragma once
#include <string>
#include <string_view>

#include "algebra/error.hpp"

namespace pacewise {

/// What carries a self-paced weight. A unit is one sample, one feature or one entry; `none` is ordinary sparse coding.
enum class Level : std::uint8_t { none, sample, feature, element };

inline std::string_view name_of(Level level) {
  constexpr std::string_view names[] = {"none", "sample", "feature", "element"};
  return names[static_cast<int>(level)];
}

inline Level parse_level(std::string_view text) {
  for (const Level level : {Level::none, Level::sample, Level::feature, Level::element})
    if (text == name_of(level)) return level;
  throw Error("level = " + std::string(text) + ": must be none, sample, feature or element");
}

}  // namespace pacewise

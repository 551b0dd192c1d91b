#include "storage/file_error.hpp"

#include <array>
#include <cstdio>
#include <system_error>

namespace pacewise {

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  for (const char c : text.substr(0, limit)) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x20 && code != 0x7f) {
      out += c;
      continue;
    }
    std::array<char, 5> escaped{};
    std::snprintf(escaped.data(), escaped.size(), "\\x%02x", code);
    out += escaped.data();
  }
  if (text.size() > limit) out += "...";
  return out;
}

std::string system_text(int error) { return std::generic_category().message(error); }

std::string size_text(double bytes) {
  static constexpr std::array units = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
  return text.data();
}

}  // namespace pacewise

#include "apps/report/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace pacewise {
namespace {

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::string formatted(const char* format, int digits, double value) {
  if (std::isnan(value)) return "-";
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, digits, value);
  return text.data();
}

}  // namespace

std::string to_text(const TextTable& table) {
  std::vector<std::size_t> widths;
  const auto measure = [&](const std::vector<std::string>& row) {
    if (widths.size() < row.size()) widths.resize(row.size(), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  };
  measure(table.head);
  for (const auto& row : table.rows) measure(row);
  std::string out;
  const auto put = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - width_of(row[i]), ' ');
      line += (i == 0 ? "" : "  ") + (i == 0 ? row[i] + gap : gap + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  if (!table.head.empty()) {
    put(table.head);
    std::vector<std::string> rule;
    for (const std::size_t width : widths) rule.emplace_back(width, '-');
    put(rule);
  }
  for (const auto& row : table.rows) put(row);
  return out;
}

std::string figure_text(double value, int digits) { return formatted("%.*g", digits, value); }
std::string fixed_text(double value, int decimals) { return formatted("%.*f", decimals, value); }

}  // namespace pacewise

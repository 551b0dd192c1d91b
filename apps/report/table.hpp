#pragma once
#include <string>
#include <vector>

namespace pacewise {

/// Cells as text; the first column is left-aligned, the others right-aligned (numbers).
struct TextTable {
  std::vector<std::string> head;                // empty: no head line
  std::vector<std::vector<std::string>> rows;   // each as long as `head` where there is one
  std::vector<std::vector<double>> shade = {};  // on a page, by row and column: from -1, blue, to 1, red; empty: none
};

/// Columns padded to equal width and two blanks apart; every line ends in '\n'. Widths count UTF-8 characters.
std::string to_text(const TextTable& table);

/// `digits` significant ones; "-" for NaN.
std::string figure_text(double value, int digits = 6);
/// `decimals` after the point; "-" for NaN.
std::string fixed_text(double value, int decimals = 3);

}  // namespace pacewise

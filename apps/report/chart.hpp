#pragma once
#include <string>
#include <vector>

#include "model/fit.hpp"

namespace pacewise {

/// Inline SVG of a run, for Page::markup(): the objective over the iterations, and below it the pace (share of units
/// selected, mean weight). Phases are bands; the objective's line is cut where lambda changes, since values of J at
/// different lambda do not compare. Empty for an empty history.
std::string convergence_chart(const std::vector<Record>& history);

/// One line of a chart; x, y and a band are of equal length.
struct Series {
  std::string name;
  std::vector<double> x, y;       // NaN in y: a gap
  std::vector<double> low, high;  // a band around y, or empty
  bool dashed = false;            // e.g. numbers of a paper
};

/// Inline SVG for Page::markup(): lines with dots (hover: name, x, y, band), bands, axes with ticks, and a legend. Up
/// to 9 series differ by colour and marker in light and dark; more repeat the colours with other dashes. Lengths that
/// do not match are an Error; an empty string where no value is finite.
std::string line_chart(const std::vector<Series>& series, const std::string& x_name, const std::string& y_name,
                       const std::string& aria_label);

}  // namespace pacewise

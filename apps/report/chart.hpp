#pragma once
#include <string>
#include <vector>

#include "model/fit.hpp"

namespace pacewise {

/// Inline SVG of a run, for Page::markup(): the objective over the iterations, and below it the pace (share of units
/// selected, mean weight). Phases are bands; the objective's line is cut where lambda changes, since values of J at
/// different lambda do not compare. Empty for an empty history.
std::string convergence_chart(const std::vector<Record>& history);

/// .. of the stages of a descending pace: what hidden entries say of each, with the standard error of its difference to
/// the first. Empty where nothing was hidden.
std::string stage_chart(const std::vector<Stage>& stages, int chosen);

// ---- what they are drawn from

/// Round numbers (1, 2 or 5 times a power of ten apart) in [from, to], about `wanted` of them; `whole`: integers only.
std::vector<double> ticks(double from, double to, int wanted, bool whole = false);
std::string svg_text(double x, double y, const std::string& words, const char* anchor);
/// A dot that tells `tip` when pointed at. `number` chooses its shape out of 3 and its colour (class s1 to s3).
std::string svg_dot(double x, double y, std::size_t number, const std::string& tip);
/// An entry of a legend, HTML: a piece of line with its dot, and the name.
std::string legend_entry(std::size_t number, const std::string& name);

}  // namespace pacewise

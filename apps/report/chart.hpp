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

}  // namespace pacewise

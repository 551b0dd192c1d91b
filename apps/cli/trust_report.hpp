#pragma once
#include "apps/cli/fit_report.hpp"

namespace pacewise::cli {

inline constexpr Index kTableColumns = 40;  // a wider table would not be read

/// Its name, else its number
std::string feature_name(const std::vector<std::string>& names, Index feature);

/// What the fit trusts: the map of weights with a slider over the iterations (levels element and feature) and the least
/// trusted samples. `shape` of a sample as a picture, {0, 0} where it is none.
template <class T>
void add_trust(Page& page, const FitReport<T>& report, std::pair<Index, Index> shape);

/// How little each sample is trusted; NaN where nothing of it is observed.
///   sample   its loss / lambda
///   element  mean over its observed entries of min(1, loss / lambda)
///   feature  its loss over the trusted features, sum_i w_ij v_i (x - B s)_ij^2, as a multiple of the samples' mean
template <class T>
std::vector<double> distrust(const Result<T>& result);

}  // namespace pacewise::cli

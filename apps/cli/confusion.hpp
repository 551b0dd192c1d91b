#pragma once
#include <cstdint>

#include "apps/report/table.hpp"
#include "io/table.hpp"

namespace pacewise::cli {

/// How clusters meet labels, each cluster named after the label it is matched with one to one (Hungarian). Up to
/// kMostColumns labels: all counts, rows are labels, columns clusters. More: per label its samples, those in its
/// cluster, and the label that most of the others were taken for. Clusters without a label come last.
TextTable confusion_table(const Labels& labels, const std::vector<std::int32_t>& assignment);
inline constexpr Index kMostColumns = 20;

}  // namespace pacewise::cli

#pragma once
#include <optional>
#include <vector>

#include "reproduce/study.hpp"

namespace pacewise::reproduce {

/// A number pair as printed in the paper. Its Table 2 heads three columns "SPSC^E"; they are read as E, S, F, the order
/// of Table 1.
struct PaperRow {
  int table = 0, row = 0;  // row: 1 is rho = 0
  std::string dataset;
  double rho = 0;
  Method method = Method::os;
  std::string head;  // what stands above the column: HLSC is LSC-H, HIC is CSC
  double acc = 0, nmi = 0;
};

const std::vector<PaperRow>& paper_rows();
/// Nothing where the paper has no such number: PIE, LSC-G, purity, ARI, other rho.
std::optional<double> paper_value(std::string_view dataset, double rho, Method method, Metric metric);

}  // namespace pacewise::reproduce

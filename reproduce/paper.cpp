#include "reproduce/paper.hpp"

#include <cmath>

#include "reproduce/embedded.hpp"
#include "reproduce/rows.hpp"

namespace pacewise::reproduce {
namespace {

std::vector<PaperRow> parse() {
  Rows rows("reproduce/paper.csv", kPaperCsv, "table,row,dataset,rho,method,head,acc,nmi");
  std::vector<PaperRow> out;
  while (rows.next())
    out.push_back({rows.whole(0), rows.whole(1), std::string(rows.text(2)), rows.number(3), rows.word(4, parse_method),
                   std::string(rows.text(5)), rows.number(6), rows.number(7)});
  return out;
}

}  // namespace

const std::vector<PaperRow>& paper_rows() {
  static const std::vector<PaperRow> rows = parse();
  return rows;
}

std::optional<double> paper_value(std::string_view dataset, double rho, Method method, Metric metric) {
  if (metric != Metric::acc && metric != Metric::nmi) return {};
  for (const PaperRow& r : paper_rows())
    if (r.dataset == dataset && r.method == method && std::abs(r.rho - rho) < 1e-9)
      return metric == Metric::acc ? r.acc : r.nmi;
  return {};
}

}  // namespace pacewise::reproduce

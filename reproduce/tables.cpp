#include "reproduce/tables.hpp"

#include <set>

#include "evaluate/scores.hpp"
#include "reproduce/paper.hpp"

namespace pacewise::reproduce {
namespace {

/// The cell behind a number: SC's beta is that of the protocol, the other settings are those of the graph.
Cell cell_behind(const Dataset& dataset, const Settings& settings, double rho, int seed, Method method,
                 Protocol protocol, Source source) {
  const Source as = has_graph(method) ? source : source_for(protocol);
  return cell_of(dataset, rho, seed, method, source, settings.of(dataset.name, as, method).setting);
}

std::vector<Source> sources_of(const Plan& plan, Method method) {
  return has_graph(method) ? plan.sources : std::vector<Source>{Source::none};
}

}  // namespace

std::vector<Cell> planned_cells(const Plan& plan, const Dataset& dataset, const Settings& settings) {
  std::vector<Cell> out;
  for (const int seed : plan.seeds)
    for (const double rho : plan.rhos)
      for (const Method method : plan.methods)
        for (const Source source : sources_of(plan, method))
          for (const Protocol protocol : kProtocols)
            out.push_back(cell_behind(dataset, settings, rho, seed, method, protocol, source));
  return out;
}

void Tables::add(const Dataset& dataset, const Settings& settings, const CellsFile& cells) {
  std::set<Cell> missing;
  for (const Cell& cell : planned_cells(plan_, dataset, settings))
    if (cells.find(cell) == nullptr) missing.insert(cell);
  missing_[dataset.name] = static_cast<int>(missing.size());
  for (const double rho : plan_.rhos)
    for (const Method method : plan_.methods)
      for (const Source source : sources_of(plan_, method))
        for (const Protocol protocol : kProtocols)
          for (const Metric metric : kMetrics) {
            Entry entry;
            std::vector<double> means, sds;
            for (const int seed : plan_.seeds) {
              const CellResult* found = cells.find(cell_behind(dataset, settings, rho, seed, method, protocol, source));
              if (found == nullptr) continue;
              const Score& score = found->score(protocol, metric);
              entry.by_seed[seed] = score.mean;
              means.push_back(score.mean);
              sds.push_back(score.sd);
            }
            if (means.empty()) continue;
            entry.mean = spread(means).mean;
            entry.sd = spread(means).sd;
            entry.sd_runs = spread(sds).mean;
            entry.paper = paper_value(dataset.name, rho, method, metric);
            entries_[{dataset.name, rho, method, protocol, source, metric}] = std::move(entry);
          }
}

const Entry* Tables::find(const std::string& dataset, double rho, Method method, Protocol protocol, Source source,
                          Metric metric) const {
  const auto found = entries_.find({dataset, rho, method, protocol, has_graph(method) ? source : Source::none, metric});
  return found == entries_.end() ? nullptr : &found->second;
}

}  // namespace pacewise::reproduce

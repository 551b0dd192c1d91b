#pragma once
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "reproduce/cells_file.hpp"
#include "reproduce/settings.hpp"

namespace pacewise::reproduce {

/// What a run covers.
struct Plan {
  std::vector<std::string> datasets;
  std::vector<double> rhos;
  std::vector<Method> methods;
  std::vector<Source> sources;
  std::vector<int> seeds;
  bool quick = false, tuned = true;
};

/// A number of the tables: the mean of one metric over seeds, each the mean of 30 runs of k-means.
struct Entry {
  std::map<int, double> by_seed;
  double mean = 0, sd = 0;  // over the seeds; 0 for one seed
  double sd_runs = 0;       // over the runs of k-means, the mean of the seeds'
  std::optional<double> paper;
};

class Tables {
 public:
  using Key = std::tuple<std::string, double, Method, Protocol, Source, Metric>;

  explicit Tables(Plan plan) : plan_(std::move(plan)) {}
  /// Adds what the cells file holds of the plan's cells for this data set.
  void add(const Dataset& dataset, const Settings& settings, const CellsFile& cells);

  const Plan& plan() const { return plan_; }
  const std::map<Key, Entry>& all() const { return entries_; }
  /// Methods without a graph answer for every source. nullptr where nothing was computed.
  const Entry* find(const std::string& dataset, double rho, Method method, Protocol protocol, Source source,
                    Metric metric) const;
  /// Every cell of the plan is there for all its seeds.
  bool complete(const std::string& dataset) const { return missing_.at(dataset) == 0; }
  int missing(const std::string& dataset) const { return missing_.at(dataset); }

 private:
  Plan plan_;
  std::map<Key, Entry> entries_;
  std::map<std::string, int> missing_;  // cells
};

/// The cells of the tables, in the order in which they are computed: seed by seed.
std::vector<Cell> planned_cells(const Plan& plan, const Dataset& dataset, const Settings& settings);

}  // namespace pacewise::reproduce

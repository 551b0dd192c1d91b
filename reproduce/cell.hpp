#pragma once
#include <atomic>
#include <string>

#include "reproduce/dataset.hpp"
#include "reproduce/study.hpp"

namespace pacewise::reproduce {

/// One fit of the study, by what decides its result.
struct Cell {
  std::string dataset, data;  // the name, and the fingerprint of the images
  double rho = 0;
  int seed = 0;
  Method method = Method::os;
  Source source = Source::none;
  Setting setting;
  int iterations = 0;  // of the budget; 0 for OS
  auto all() const { return std::tie(dataset, data, rho, seed, method, source, setting, iterations); }
  bool operator==(const Cell& other) const { return all() == other.all(); }
  bool operator<(const Cell& other) const { return all() < other.all(); }
};

/// The cell that answers (rho, seed, method, source): methods without a graph have source none, without noise the clean
/// graph is the raw one, OS has neither setting nor iterations.
Cell cell_of(const Dataset& dataset, double rho, int seed, Method method, Source source, const Setting& setting);

struct Score {
  double mean = 0, sd = 0;  // over the runs of k-means
};

struct CellResult {
  std::array<std::array<Score, 4>, 2> scores{};  // by protocol, metric
  double objective = 0, certificate = 0;         // of the codes
  int iterations = 0;
  std::string ended;  // name_of(Termination), "" for OS
  double seconds = 0;
  std::string version;
  const Score& score(Protocol protocol, Metric metric) const {
    return scores[static_cast<std::size_t>(protocol)][static_cast<std::size_t>(metric)];
  }
  Score& score(Protocol protocol, Metric metric) {
    return scores[static_cast<std::size_t>(protocol)][static_cast<std::size_t>(metric)];
  }
};

/// The graph of the clean images that the source `clean` hands to a fit on noisy ones.
Graph clean_graph(const Dataset& dataset, const Options& options, const Control& control);

/// Fits on one thread and clusters. Incomplete, and of no use, once *cancel.
CellResult run_cell(const Dataset& dataset, const Cell& cell, const std::atomic<bool>* cancel);

/// About how much longer than SC it takes, for the time left.
double effort(const Cell& cell);

}  // namespace pacewise::reproduce

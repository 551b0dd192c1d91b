#include "reproduce/cell.hpp"

#include <chrono>

#include "evaluate/kmeans.hpp"
#include "evaluate/scores.hpp"
#include "model/fit.hpp"
#include "pacewise/version.hpp"

namespace pacewise::reproduce {
namespace {

Control one_thread(const std::atomic<bool>* cancel) {
  Control control;
  control.threads = 1;
  control.cancel = cancel;
  return control;
}

void score(const Dataset& dataset, MatrixView<const double> points, int seed, const Control& control, CellResult& out) {
  for (const Protocol protocol : kProtocols) {
    KMeansOptions options;
    options.clusters = dataset.classes;
    options.runs = kRuns;
    options.init = protocol == Protocol::paper ? Seeding::random : Seeding::plus_plus;
    options.unit_norm = protocol == Protocol::recommended;
    options.seed = static_cast<std::uint64_t>(seed);
    std::array<std::vector<double>, 4> values;
    for (const KMeansRun& run : kmeans<double>(points, options, control)) {
      const Scores s = clustering_scores(dataset.labels, run.assignment);
      values[0].push_back(s.acc);
      values[1].push_back(s.purity);
      values[2].push_back(s.nmi);
      values[3].push_back(s.ari);
    }
    if (control.stop()) return;
    for (const Metric metric : kMetrics) {
      const Spread s = spread(values[static_cast<std::size_t>(metric)]);
      out.score(protocol, metric) = {s.mean, s.sd};
    }
  }
}

}  // namespace

Cell cell_of(const Dataset& dataset, double rho, int seed, Method method, Source source, const Setting& setting) {
  Cell cell{dataset.name, dataset.fingerprint, rho, seed, method, source, setting, kBudget.iterations()};
  if (!has_graph(method)) cell.source = Source::none;
  if (rho == 0 && source == Source::clean && has_graph(method)) cell.source = Source::raw;
  if (method == Method::os) {
    cell.setting = {};
    cell.iterations = 0;
  }
  return cell;
}

Graph clean_graph(const Dataset& dataset, const Options& options, const Control& control) {
  const Data<double> clean = prepare<double>({dataset.values.view(), {}}, options.normalize);
  return build_graph<double>(clean, options.graph, control);
}

CellResult run_cell(const Dataset& dataset, const Cell& cell, const std::atomic<bool>* cancel) {
  const auto began = std::chrono::steady_clock::now();
  const Control control = one_thread(cancel);
  const Matrix<double> values = noisy(dataset, cell.rho, cell.seed);
  CellResult out;
  out.version = kVersion;
  if (cell.method == Method::os) {
    const Data<double> data = prepare<double>({values.view(), {}}, Normalize::unit);
    score(dataset, data.values.view(), cell.seed, control, out);
  } else {
    const Options options =
        fit_options(cell.method, cell.source, cell.setting, static_cast<std::uint64_t>(cell.seed), values.cols());
    Graph graph;
    FitInputs inputs;
    if (cell.source == Source::clean) {
      graph = clean_graph(dataset, options, control);
      inputs.graph = &graph;
    }
    if (control.stop()) return out;
    const Result<double> result = fit<double>({values.view(), {}}, options, control, nullptr, inputs);
    if (control.stop()) return out;
    out.objective = result.objective.total();
    out.certificate = result.certificate.codes;
    out.iterations = result.state.iteration;
    out.ended = name_of(result.termination);
    score(dataset, result.state.codes.view(), cell.seed, control, out);
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return out;
}

double effort(const Cell& cell) {
  switch (cell.method) {
    case Method::os:
    case Method::sc:
      return 1;
    case Method::lsc_g:
    case Method::lsc_h:
      return 2;
    case Method::csc:
      return 3;
    case Method::spsc_s:
      return 4;
    case Method::spsc_f:
      return 6;
    case Method::spsc_e:
      return 14;
  }
  return 1;
}

}  // namespace pacewise::reproduce

// The methods of the paper on COIL20, clean data: ACC and NMI by k-means++ on unit-norm codes, over seeds.
//   pacewise_coil20 COIL20.mat [seeds] [method ...]
#include <cstdio>
#include <cstdlib>
#include <set>

#include "evaluate/kmeans.hpp"
#include "evaluate/scores.hpp"
#include "io/table.hpp"
#include "model/fit.hpp"
#include "pacewise/version.hpp"

namespace {

using namespace pacewise;

struct Method {
  const char* name;
  Level level;
  GraphKind graph;
  const char* space;
  double alpha, gamma, eta;
  double final;     // share of the units let in at the end; 1: all, then a few iterations with all weights 1
  double acc, nmi;  // figures to compare with, 0 where there is none
};

// LSC-G uses the plain k-nearest-neighbour graph, the others the hypergraph. The base methods run until the objective
// stalls, 45 iterations at most; the self-paced ones pace for 8 iterations from where a base method has come to rest,
// 43 in all, or 5 more with all weights 1 where everything was let in. Other schedules (paces of 15 and 30 iterations,
// or geometric, lambda held until the objective stalls, `final` .65 to .9) end within .79 and .83 for SPSC-E.
const Method kMethods[] = {
    {"SC", Level::none, GraphKind::none, "raw", 0, 0, 10, 1, 0, 0},
    {"LSC-G", Level::none, GraphKind::knn, "half:40", 8, 0, 10, 1, 0, 0},
    {"LSC-H", Level::none, GraphKind::hypergraph, "half:40", 8, 0, 10, 1, 0.79, 0.87},
    {"LSC-H-64-raw", Level::none, GraphKind::hypergraph, "raw", 64, 0, 10, 1, 0.85, 0.91},
    {"CSC", Level::none, GraphKind::hypergraph, "half:40", 2, 0.1, 10, 1, 0.79, 0.89},
    {"CSC-16", Level::none, GraphKind::hypergraph, "half:40", 16, 1, 10, 1, 0.90, 0.96},
    {"CSC-16-raw", Level::none, GraphKind::hypergraph, "raw", 16, 1, 50, 1, 0.86, 0.94},
    {"SPSC-S", Level::sample, GraphKind::hypergraph, "half:40", 2, 0.1, 10, 0.8, 0, 0},
    {"SPSC-F", Level::feature, GraphKind::hypergraph, "half:40", 2, 0.1, 10, 0.8, 0, 0},
    {"SPSC-E", Level::element, GraphKind::hypergraph, "half:40", 2, 0.1, 10, 0.8, 0.85, 0.93},
    {"SPSC-E-all", Level::element, GraphKind::hypergraph, "half:40", 2, 0.1, 10, 1, 0.85, 0.93},
    {"SP-LSC-H", Level::element, GraphKind::hypergraph, "half:40", 8, 0, 10, 0.8, 0.84, 0.91},
};

Options options_of(const Method& method, std::uint64_t seed) {
  Options o;
  o.beta = 0.02;
  o.alpha = method.alpha;
  o.gamma = method.gamma;
  o.eta = method.eta;
  o.seed = seed;
  o.graph = method.graph;
  o.graph_space = parse_space(method.space);
  o.level = method.level;
  o.pace = Pace::quantile;
  o.final = method.final;
  o.polish = method.final < 1 ? 0 : 5;
  if (method.level == Level::none) {
    o.max_iter = 45;
  } else {
    o.warm_iter = 30;
    o.pace_iter = 8;
    o.max_iter = o.plain_iter + o.warm_iter + o.pace_iter + o.polish;
  }
  return o;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s COIL20.mat [seeds] [method ...]\n", argv[0]);
    return 2;
  }
  try {
    const Table<double> table = read_table<double>(argv[1]);
    const int seeds = argc > 2 ? std::atoi(argv[2]) : 3;
    const std::set<std::string> wanted(argv + std::min(argc, 3), argv + argc);
    std::printf(
        "| method | alpha, gamma, eta | space | final | ACC | sd | NMI | sd | figure | iterations | codes cert. | s |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (const Method& method : kMethods) {
      if (!wanted.empty() && wanted.count(method.name) == 0) continue;
      std::vector<double> acc, nmi;
      double worst = 0, seconds = 0;
      int iterations = 0;
      for (int seed = 0; seed < seeds; ++seed) {
        const auto result = fit<double>({table.values, {}}, options_of(method, static_cast<std::uint64_t>(seed)), {});
        KMeansOptions k;
        k.clusters = 20;
        k.unit_norm = true;
        k.seed = static_cast<std::uint64_t>(seed);
        std::vector<double> a, b;
        for (const auto& run : kmeans<double>(result.state.codes, k, {})) {
          const Scores s = clustering_scores(table.labels->value, run.assignment);
          a.push_back(s.acc);
          b.push_back(s.nmi);
        }
        acc.push_back(spread(a).mean);
        nmi.push_back(spread(b).mean);
        worst = std::max(worst, result.certificate.codes);
        seconds += result.state.seconds / seeds;
        iterations = std::max(iterations, result.state.iteration);
      }
      std::printf("| %s | %g, %g, %g | %s | %g | %.3f | %.3f | %.3f | %.3f | ", method.name, method.alpha, method.gamma,
                  method.eta, method.space, method.final, spread(acc).mean, spread(acc).sd, spread(nmi).mean,
                  spread(nmi).sd);
      if (method.acc > 0) std::printf("%.2f/%.2f", method.acc, method.nmi);
      std::printf(" | %d | %.0e | %.0f |\n", iterations, worst, seconds);
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
  return 0;
}

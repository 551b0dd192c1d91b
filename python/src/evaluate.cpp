#include "pacewise/evaluate.hpp"

#include "arrays.hpp"
#include "evaluate/scores.hpp"
#include "running.hpp"

namespace pacewise::python {
namespace {

using namespace nb::literals;

template <class T>
nb::list kmeans_runs(const Rows<T>& X, Index clusters, const std::string& init, int runs, int max_iter, double tol,
                     bool unit_norm, std::uint64_t seed, int threads) {
  KMeansOptions options;
  options.clusters = clusters;
  options.init = parse<Seeding>(init);
  options.runs = runs;
  options.max_iter = max_iter;
  options.tol = tol;
  options.unit_norm = unit_norm;
  options.seed = seed;
  std::vector<KMeansRun> found;
  run(threads, [&](const Control& control) { found = kmeans(view(X), options, control); });
  nb::list out;
  for (KMeansRun& one : found)
    out.append(nb::make_tuple(to_line(std::move(one.assignment)), to_rows(std::move(one.centers)), one.inertia,
                              one.iterations));
  return out;
}

nb::dict scores(const Line<std::int32_t>& labels, const Line<std::int32_t>& assignment) {
  const Scores s = clustering_scores({labels.data(), labels.data() + labels.size()},
                                     {assignment.data(), assignment.data() + assignment.size()});
  nb::dict d;
  for (const Measure& measure : kMeasures) d[measure.key] = s.*measure.score;
  return d;
}

template <class T>
void bind(nb::module_& m) {
  m.def("kmeans", &kmeans_runs<T>, "X"_a, "clusters"_a, "init"_a, "runs"_a, "max_iter"_a, "tol"_a, "unit_norm"_a,
        "seed"_a, "threads"_a);
}

}  // namespace

void bind_evaluate(nb::module_& m) {
  bind<float>(m);
  bind<double>(m);
  m.def("clustering_scores", &scores, "labels"_a, "assignment"_a);
}

}  // namespace pacewise::python

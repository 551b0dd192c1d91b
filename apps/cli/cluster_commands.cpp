// cluster, evaluate, graph: the stages beside the model.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/cli/commands.hpp"
#include "apps/cli/outcome.hpp"
#include "apps/cli/outputs.hpp"
#include "apps/cli/signals.hpp"
#include "apps/report/table.hpp"
#include "evaluate/scores.hpp"
#include "io/write.hpp"
#include "model/kind.hpp"
#include "model/model.hpp"
#include "model/model_file.hpp"
#include "storage/container.hpp"

namespace pacewise::cli {
namespace {

using nlohmann::json;

json spread_json(const Spread& s) { return {{"mean", s.mean}, {"sd", s.sd}, {"min", s.min}, {"max", s.max}}; }

void check(const ClusterArguments& a) {
  const auto require = [](bool rule, const std::string& text) {
    if (!rule) throw UsageError(text);
  };
  try {
    validate(a.options);
    static_cast<void>(parse<Seeding>(a.init));
  } catch (const Error& e) {
    throw UsageError(e.what());
  }
  require(a.normalize.empty() || a.normalize == "unit" || a.normalize == "none",
          "normalize = " + a.normalize + ": must be unit or none");
  check_files({{"DATA", a.data.path}, {"--labels", a.labels}},
              {{{"--output", a.output}, Holds::list}, {{"--json", a.json}, Holds::json}}, a.force);
}

/// Those of a model, or the values of a file.
struct Points {
  Table<double> table;
  Matrix<double> codes;
  bool unit = true;  // samples were brought to unit norm
  MatrixView<const double> view() const { return codes.empty() ? table.values : codes.view(); }
};

Points read_points_of(const ClusterArguments& a, Console& console) {
  Points p;
  if (is_container(a.data.path)) {
    const AnyModel any = load_model(a.data.path);
    std::visit(
        [&](const auto& model) {
          using T = std::decay_t<decltype(*model.codes.data())>;
          p.codes = cast<double, T>(points_of(model).view());
          p.unit = model.options.normalize == Normalize::unit;
        },
        any);
  } else {
    p.table = read_data<double>(a.data, console);
  }
  return p;
}

}  // namespace

int run_cluster(const ClusterArguments& a) {
  check(a);
  Console console(a.quiet, Progress::automatic);
  const Points points = read_points_of(a, console);
  const Index n = points.view().cols;
  const auto labels = labels_for(a.labels, points.table.labels, n, console);
  KMeansOptions options = a.options;
  options.init = parse<Seeding>(a.init);
  options.unit_norm = a.normalize.empty() ? points.unit : a.normalize == "unit";
  Control control = control_of(a.data);
  console.stage(fmt::format("clustering {} samples, {} runs", n, options.runs));
  const std::vector<KMeansRun> runs = kmeans(points.view(), options, control);
  if (interrupted()) throw Interrupted("interrupted; nothing was written");
  const auto best =
      std::min_element(runs.begin(), runs.end(), [](const auto& x, const auto& y) { return x.inertia < y.inertia; });
  if (a.output.ends_with(".npy")) write_npy(a.output, best->assignment);
  if (a.output.ends_with(".csv")) {
    const std::vector<double> column(best->assignment.begin(), best->assignment.end());
    write_csv<double>(a.output, {column.data(), 1, n}, names_for(points.table, {"cluster"}));
  }
  std::vector<Scores> scores;
  if (labels)
    for (const KMeansRun& run : runs) scores.push_back(clustering_scores(labels->value, run.assignment));
  json out = {{"runs", runs.size()}};
  TextTable table;
  table.head = {"", "mean", "sd", "min", "max"};
  const auto report = [&](const char* key, const char* shown, const Spread& s) {
    out[key] = spread_json(s);
    table.rows.push_back(
        {shown, fixed_text(s.mean, 4), fixed_text(s.sd, 4), fixed_text(s.min, 4), fixed_text(s.max, 4)});
  };
  if (labels)
    for (const Measure& m : kMeasures) report(m.key, m.name, spread_of(scores, m));
  std::vector<double> inertia;
  for (const KMeansRun& run : runs) inertia.push_back(run.inertia);
  report("inertia", "inertia", spread(inertia));
  if (!a.json.empty()) write_json(a.json, out);
  console.print(to_text(table));
  return kDone;
}

int run_evaluate(const EvaluateArguments& a) {
  check_files({{"LABELS", a.labels}, {"ASSIGNMENT", a.assignment}}, {{{"--json", a.json}, Holds::json}}, a.force);
  const Labels labels = read_labels(a.labels);
  const Labels assignment = read_labels(a.assignment, static_cast<Index>(labels.value.size()));
  const Scores s = clustering_scores(labels.value, assignment.value);
  json out = json::object();
  TextTable table;
  for (const Measure& m : kMeasures) {
    out[m.key] = s.*m.score;
    table.rows.push_back({m.name, fixed_text(s.*m.score, 4)});
  }
  if (!a.json.empty()) write_json(a.json, out);
  write_stdout(to_text(table));
  return kDone;
}

int run_graph(const GraphArguments& a) {
  if (!a.incidence.empty() && a.options.graph != GraphKind::hypergraph)
    throw UsageError("--incidence: only a hypergraph has an incidence matrix");
  std::vector<NamedPath> inputs{{"DATA", a.data.path}};
  for (const auto& [option, path] : a.files) inputs.push_back({option, path});
  check_files(inputs, {{{"--output", a.output}, Holds::sparse}, {{"--incidence", a.incidence}, Holds::sparse}},
              a.force);
  Console console(a.quiet, Progress::automatic);
  const Table<double> table = read_data<double>(a.data, console);
  Problem<double> problem;
  problem.values = table.values;
  const Options options = settle_kind(problem, a.options, a.named, table.sample_shape.size() > 1);
  console.note(fmt::format("data of the kind {}: normalize = {}", name_of(options.kind), name_of(options.normalize)));
  const Data<double> data = prepare(problem, options.normalize);
  Control control = control_of(a.data);
  if (a.options.k >= table.samples())
    throw ReadError(fmt::format("{}: holds {} samples; k = {} neighbours need more", printable(a.data.path, 200),
                                table.samples(), a.options.k));
  const std::string doing = fmt::format("neighbours of {} samples", table.samples());
  const std::function<void(double)> neighbours = [&](double share) { console.fraction(doing, share); };
  control.progress = &neighbours;
  console.stage(doing);
  Graph graph;
  if (const auto file = a.files.find("graph_space"); file != a.files.end()) {
    const Matrix<double> coordinates = read_points(file->second, table.samples(), console);
    const Data<double> points = prepare<double>({coordinates, {}}, Normalize::none);
    graph = build_graph_from_neighbours<double>(nearest<double>(points, a.options.k, control), points, a.options);
  } else {
    graph = build_graph<double>(data, a.options, control);
  }
  if (interrupted()) throw Interrupted("interrupted; nothing was written");
  console.notes(data.notes);
  console.notes(graph.notes);
  write_mtx(a.output, graph.laplacian);
  if (!a.incidence.empty()) write_mtx(a.incidence, transpose(graph.incidence));  // write_mtx takes samples as columns
  console.print(fmt::format("{}: {} x {}, {} non-zeros\n", a.output, graph.laplacian.rows, graph.laplacian.cols,
                            graph.laplacian.nonzeros()));
  return kDone;
}

}  // namespace pacewise::cli

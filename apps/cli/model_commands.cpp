// verify and info: what a model says about itself, and whether it is true.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/cli/commands.hpp"
#include "apps/cli/describe.hpp"
#include "apps/cli/outcome.hpp"
#include "apps/cli/signals.hpp"
#include "apps/report/table.hpp"
#include "model/model.hpp"
#include "model/model_file.hpp"
#include "model/options_json.hpp"
#include "model/verify.hpp"
#include "storage/container.hpp"

namespace pacewise::cli {
namespace {

void require_sources(const ModelDataArguments& a, const Sources& sources) {
  const auto require = [&](bool used, const std::string& given, const char* option) {
    if (used && given.empty())
      throw UsageError(std::string("the model was fitted with a file for ") + option + "; give it again");
    if (!used && !given.empty())
      throw UsageError(std::string("the model was fitted without a file for ") + option + "; leave it out");
  };
  require(sources.weights, a.weights, "--weights");
  require(sources.graph, a.graph_file, "--graph");
  require(sources.graph_points, a.points_file, "--graph-space");
}

template <class T>
std::vector<Figure> figures_of(const ModelDataArguments& a, const Model<T>& model, Console& console) {
  const Table<T> table = read_data<T>(a.data, console, model.feature_names);
  if (table.samples() != model.samples || table.features() != model.features)
    throw ReadError(fmt::format("{}: is {} x {}, the model was fitted to {} x {}", printable(a.data.path, 200),
                                table.samples(), table.features(), model.samples, model.features));
  const Problem<T> problem{table.values, read_weights<T>(a.weights, model.features, model.samples, console)};
  std::optional<Graph> graph;
  std::optional<Matrix<double>> points;
  FitInputs inputs;
  if (!a.graph_file.empty())
    inputs.graph = &graph.emplace(read_graph(a.graph_file, model.samples, model.options.normalized_laplacian, console));
  if (!a.points_file.empty()) inputs.graph_points = points.emplace(read_points(a.points_file, model.samples, console));
  if (sources_of(problem, inputs).data_checksum != model.sources.data_checksum)
    console.note(printable(a.data.path, 200) + ": these are not the bytes the model was fitted to");
  Control control = control_of(a.data);
  const std::function<void(double)> neighbours = [&](double share) { console.fraction("neighbours", share); };
  control.progress = &neighbours;
  console.stage("recomputing objective and certificates");
  std::vector<Figure> figures = verify(model, problem, inputs, control);
  if (interrupted()) throw Interrupted("interrupted; nothing was verified");
  return figures;
}

template <class T>
int verify_with(const ModelDataArguments& a, const Model<T>& model, Console& console) {
  require_sources(a, model.sources);
  TextTable table;
  table.head = {"figure", "model", "recomputed", "same"};
  int differ = 0;
  for (const Figure& f : figures_of(a, model, console)) {
    differ += f.same ? 0 : 1;
    table.rows.push_back({f.name, figure_text(f.stated, 9), figure_text(f.found, 9), f.same ? "yes" : "NO"});
  }
  console.print(to_text(table));
  console.print(differ == 0 ? fmt::format("verified: every figure agrees to {:g}\n", VerifyTolerance<T>::relative)
                            : fmt::format("NOT verified: {} of {} figures differ\n", differ, table.rows.size()));
  return differ == 0 ? kDone : kNo;
}

std::string shown(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "-";
  if (value.is_number_float()) return figure_text(value.get<double>());
  return value.dump();
}

TextTable info_table(const nlohmann::json& h) {
  TextTable t;
  const auto row = [&](const char* name, const nlohmann::json& value) { t.rows.push_back({name, shown(value)}); };
  row("kind", h.at("kind"));
  row("written by", "pacewise " + h.at("version").get<std::string>());
  row("precision", h.at("precision"));
  row("samples x features", shown(h.at("shape").at(0)) + " x " + shown(h.at("shape").at(1)));
  if (const nlohmann::json& state = h.at("state"); !state.is_null()) {
    row("beta", state.at("beta"));
    row("iterations", state.at("iteration"));
    row("phase", state.at("schedule").at("phase"));
  }
  if (h.at("kind") == "model") {
    row("ended", h.at("termination"));
    row("lambda", h.at("lambda"));
    row("selected", h.at("selected"));
    row("density", h.at("density"));
    row("objective", h.at("objective"));
    for (const auto& [name, value] : h.at("objective_parts").items()) row(("  " + name).c_str(), value);
    for (const auto& [name, value] : h.at("certificate").items()) row(("certificate: " + name).c_str(), value);
  }
  for (const auto& [name, value] : h.at("options").items()) row(("option " + name).c_str(), value);
  for (const auto& [name, entry] : h.at("arrays").items()) {
    std::string extents;
    for (const auto& e : entry.at("shape")) extents += (extents.empty() ? "" : " x ") + e.dump();
    row(("array " + name).c_str(), entry.at("dtype").get<std::string>() + "  " + extents);
  }
  return t;
}

}  // namespace

int run_verify(const ModelDataArguments& a) {
  return with_model(a, [&](const auto& model, Console& console) { return verify_with(a, model, console); });
}

int run_info(const InfoArguments& a) {
  const std::string& path = a.data.path;
  if (!is_container(path) && !path.ends_with(".pw")) return describe_data(a);
  const nlohmann::json header = model_header(path);
  write_stdout(a.json ? header.dump(2) + "\n" : to_text(info_table(header)));
  return kDone;
}

}  // namespace pacewise::cli

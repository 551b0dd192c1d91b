// verify and info: what a model says about itself, and whether it is true.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/cli/commands.hpp"
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

constexpr Index kNumbers = Index{1} << 16;  // looked at in one go

struct Extent {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  Index missing = 0, zero = 0;

  void add(const double* value, Index count) {
    for (Index i = 0; i < count; ++i) {  // comparisons with NaN are false
      least = value[i] < least ? value[i] : least;
      most = value[i] > most ? value[i] : most;
      missing += value[i] != value[i] ? 1 : 0;
      zero += value[i] == 0 ? 1 : 0;
    }
  }
  Extent& operator+=(const Extent& other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
    missing += other.missing;
    zero += other.zero;
    return *this;
  }
};

Extent range_of(const Table<double>& table, const Control& control) {
  Extent all;
  if (table.sparse) {
    const auto stored = static_cast<Index>(table.sparse->value.size());
    all.add(table.sparse->value.data(), stored);
    const Index absent = table.samples() * table.features() - stored;
    const double nothing = 0;
    if (absent > 0) all.add(&nothing, 1);
    all.zero += std::max<Index>(absent - 1, 0);
    return all;
  }
  return parallel_sum(
      table.samples() * table.features(), control, all,
      [&](Index first, Index count, int, Extent& extent) { extent.add(table.values.data + first, count); }, kNumbers);
}

std::string shape_of(const Table<double>& table) {
  std::string text;
  for (const Index length : table.sample_shape) text += (text.empty() ? "" : " x ") + std::to_string(length);
  return text;
}

/// info of a data file: format, shape, range, what is missing. Sparse data stay sparse.
int describe_data(const InfoArguments& a) {
  Console console(false, Progress::automatic);
  Control control = control_of(a.data);
  const Table<double> table = read_as_stored(a.data, console);
  const Extent range = range_of(table, control);
  if (interrupted()) throw Interrupted("interrupted");
  const Index count = table.samples() * table.features();
  const bool any = range.missing < count;
  if (a.json) {
    nlohmann::json out = {{"format", table.format},   {"samples", table.samples()}, {"features", table.features()},
                          {"sparse", !!table.sparse}, {"mapped", table.mapped},     {"missing", range.missing},
                          {"zeros", range.zero}};
    out["least"] = any && std::isfinite(range.least) ? nlohmann::json(range.least) : nlohmann::json();
    out["most"] = any && std::isfinite(range.most) ? nlohmann::json(range.most) : nlohmann::json();
    if (table.labels) out["classes"] = table.labels->names.size();
    console.clear_line();
    write_stdout(out.dump(2) + "\n");
    return kDone;
  }
  const auto share = [&](Index part) {
    return fmt::format("{} ({:.1f}%)", part, 100 * static_cast<double>(part) / static_cast<double>(count));
  };
  TextTable t;
  t.rows = {{"format", table.format + (table.sparse ? ", sparse" : "") + (table.mapped ? ", mapped" : "")},
            {"samples x features", fmt::format("{} x {}", table.samples(), table.features())}};
  if (!table.sample_shape.empty()) t.rows.push_back({"shape of a sample", shape_of(table)});
  t.rows.push_back({"range", any ? fmt::format("{:g} .. {:g}", range.least, range.most) : "-"});
  t.rows.push_back({"missing", share(range.missing)});
  t.rows.push_back({"zeros", share(range.zero)});
  if (table.labels) t.rows.push_back({"classes", std::to_string(table.labels->names.size())});
  console.print(to_text(t));
  return kDone;
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

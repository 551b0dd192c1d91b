// verify and info: what a model says about itself, and whether it is true.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/cli/commands.hpp"
#include "apps/cli/container.hpp"
#include "apps/cli/describe.hpp"
#include "apps/cli/model_file.hpp"
#include "apps/cli/option_text.hpp"
#include "apps/cli/outcome.hpp"
#include "apps/cli/signals.hpp"
#include "apps/report/table.hpp"
#include "model/fitter.hpp"

namespace pacewise::cli {
namespace {

/// How far a recomputed figure may be off: relative for all; certificates, which are near 0, also absolutely.
template <class T>
struct Tolerance {
  static constexpr double relative = std::is_same_v<T, double> ? 1e-6 : 1e-3;
  static constexpr double certificate = std::is_same_v<T, double> ? 1e-9 : 1e-4;
};

class Comparison {
 public:
  explicit Comparison(double relative) : relative_(relative) {
    table_.head = {"figure", "model", "recomputed", "same"};
  }

  void add(const std::string& name, double stated, double found, double magnitude, double absolute = 0) {
    const bool equal = stated == found || (std::isnan(stated) && std::isnan(found));
    const bool same = equal || std::abs(stated - found) <= relative_ * magnitude + absolute;
    differ_ += same ? 0 : 1;
    table_.rows.push_back({name, figure_text(stated, 9), figure_text(found, 9), same ? "yes" : "NO"});
  }
  const TextTable& table() const { return table_; }
  int differ() const { return differ_; }

 private:
  double relative_;
  int differ_ = 0;
  TextTable table_;
};

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

/// A fit taken up at the stored state and ended at once, without an iteration: data normalised, graph built, losses,
/// objective and certificates computed at that state, all from the raw data.
template <class T>
Result<T> recompute(const ModelDataArguments& a, const ModelFile<T>& file, Console& console) {
  const Table<T> table = read_data<T>(a.data, console);
  if (table.samples() != file.samples || table.features() != file.features)
    throw ReadError(fmt::format("{}: is {} x {}, the model was fitted to {} x {}", printable(a.data.path, 200),
                                table.samples(), table.features(), file.samples, file.features));
  if (checksum_of(table.values) != file.sources.data_checksum)
    console.note(printable(a.data.path, 200) + ": these are not the bytes the model was fitted to");
  Problem<T> problem;
  problem.values = table.values;
  problem.weights = read_weights<T>(a.weights, file.features, file.samples, console);
  std::optional<Graph> graph;
  std::optional<Matrix<double>> points;
  FitInputs inputs;
  if (!a.graph_file.empty())
    inputs.graph = &graph.emplace(read_graph(a.graph_file, file.samples, file.options.graph.normalized, console));
  if (!a.points_file.empty()) inputs.graph_points = &points.emplace(read_points(a.points_file, file.samples, console));
  State<T> state = file.state;
  state.schedule.finished = state.schedule.stalled = true;  // nothing is to be taken up again
  Control control;
  control.threads = a.data.threads;
  control.cancel = &interrupted();
  const std::function<void(double)> neighbours = [&](double share) { console.fraction("neighbours", share); };
  control.progress = &neighbours;
  console.stage("recomputing objective and certificates");
  Fitter<T> fitter(problem, file.options, control, inputs, &state);
  if (interrupted()) throw Interrupted("interrupted; nothing was verified");
  return fitter.result();
}

template <class T>
int verify_with(const ModelDataArguments& a, const ModelFile<T>& file, Console& console) {
  require_sources(a, file.sources);
  const Result<T> r = recompute(a, file, console);
  const Summary& s = file.summary;
  Comparison c(Tolerance<T>::relative);
  const double size = std::max(s.objective.magnitude(), r.objective.magnitude());
  c.add("objective", s.objective.total(), r.objective.total(), size);
  c.add("  fit", s.objective.fit, r.objective.fit, std::max(s.objective.fit, r.objective.fit));
  c.add("  pace", s.objective.pace, r.objective.pace, std::max(std::abs(s.objective.pace), std::abs(r.objective.pace)));
  c.add("  sparsity", s.objective.sparsity, r.objective.sparsity, s.objective.sparsity);
  c.add("  manifold", s.objective.manifold, r.objective.manifold, s.objective.manifold);
  c.add("  consistency", s.objective.consistency, r.objective.consistency, s.objective.consistency);
  const auto certificate = [&](const char* name, double stated, double found) {
    c.add(name, stated, found, std::max(stated, found), Tolerance<T>::certificate);
  };
  certificate("certificate: codes", s.certificate.codes, r.certificate.codes);
  certificate("certificate: dictionary", s.certificate.dictionary, r.certificate.dictionary);
  certificate("certificate: consistency", s.certificate.consistency, r.certificate.consistency);
  c.add("selected", s.selected, r.selected, 1);
  c.add("density", s.density, r.density, 1);
  console.print(to_text(c.table()));
  console.print(c.differ() == 0
                    ? fmt::format("verified: every figure agrees to {:g}\n", Tolerance<T>::relative)
                    : fmt::format("NOT verified: {} of {} figures differ\n", c.differ(), c.table().rows.size()));
  return c.differ() == 0 ? kDone : kNo;
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
  row("beta", h.at("beta"));
  if (!h.at("state").is_null()) {
    row("iterations", h.at("state").at("iteration"));
    row("phase", h.at("state").at("phase"));
    row("seconds", h.at("state").at("seconds"));
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
  Console console(a.quiet, Progress::automatic);
  const AnyModelFile any = load_model(a.model);
  return std::visit([&](const auto& file) { return verify_with(a, file, console); }, any);
}

int run_info(const InfoArguments& a) {
  const std::string& path = a.data.path;
  if (!is_container(path) && !path.ends_with(".pw")) return describe_data(a);
  load(path);  // whatever is wrong with it is said here
  const ContainerReader in(path);
  write_stdout(a.json ? in.header.dump(2) + "\n" : to_text(info_table(in.header)));
  return kDone;
}

}  // namespace pacewise::cli

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/cli/commands.hpp"
#include "apps/cli/fit_report.hpp"
#include "apps/cli/model_file.hpp"
#include "apps/cli/option_text.hpp"
#include "apps/cli/outcome.hpp"
#include "apps/cli/outputs.hpp"
#include "apps/cli/signals.hpp"
#include "pacewise/version.hpp"

namespace pacewise::cli {
namespace {

using nlohmann::json;

double peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

void check_paths(const FitArguments& a) {
  if (a.precision != "single" && a.precision != "double")
    throw UsageError("precision = " + a.precision + ": must be single or double");
  check_table_path("--codes", a.codes);
  check_table_path("--weights-out", a.weights_out);
  if (a.options.schedule.level == Level::none && !a.weights_out.empty() && a.resume.empty())
    throw UsageError("--weights-out: level none has no self-paced weights; leave it out or choose a level");
  for (const std::string* path : {&a.output, &a.codes, &a.weights_out, &a.json, &a.report, &a.checkpoint})
    check_writable(*path);
}

/// With --resume the method is the checkpoint's; only limits may be set anew.
void check_given_with_resume(const FitArguments& a) {
  for (const std::string& option : a.given)
    if (option != "--max-iter" && option != "--tol")
      throw UsageError(option +
                       " cannot be changed with --resume; the checkpoint's options hold (only --max-iter and " +
                       "--tol may be given)");
}

/// What a fit holds at least: the normalised data, per entry also its weight, loss and effective weight with room to
/// compute the next ones; codes with room for the next ones and for their neighbours' sum; two dictionaries.
template <class T>
void check_memory(const Options& options, Index m, Index n) {
  const auto features = static_cast<double>(m), samples = static_cast<double>(n);
  const auto atoms = static_cast<double>(options.atoms);
  const double copies = options.schedule.level == Level::element ? 6 : 2;
  const double bytes = sizeof(T) * (copies * features * samples + 3 * atoms * samples + 2 * atoms * features);
  const auto free = static_cast<double>(available_memory());
  if (bytes <= free) return;
  throw ReadError(
      fmt::format("{} samples x {} features with {} atoms need at least {}, {} are free; use fewer of them{}{}", n, m,
                  options.atoms, size_text(bytes), size_text(free), sizeof(T) == 8 ? " or --precision single" : "",
                  options.schedule.level == Level::element ? " or --level sample" : ""));
}

/// One fit in precision T, from reading to writing.
template <class T>
class FitRun {
 public:
  FitRun(const FitArguments& a, ModelFile<T>* resumed)
      : a_(a), console_(a.quiet, parse_progress(a.progress)), options_(a.options), resumed_(resumed) {}

  int operator()() {
    read();
    adopt_checkpoint();
    check_memory<T>(options_, table_.features(), table_.samples());
    Result<T> result = fit_data();
    if (result.termination == Termination::cancelled) return interrupted_with(result.state);
    write(result);
    return conclude(result);
  }

 private:
  void read() {
    table_ = read_data<T>(a_.data, console_);
    const Index m = table_.features(), n = table_.samples();
    labels_ = labels_for(a_.labels, table_.labels, n, console_);
    problem_.values = table_.values;
    problem_.weights = read_weights<T>(a_.weights, m, n, console_);
    if (!a_.graph_file.empty()) {
      graph_ = read_graph(a_.graph_file, n, options_.graph.normalized, console_);
      check_laplacian(graph_->laplacian);
    }
    if (!a_.points_file.empty()) points_ = read_points(a_.points_file, n, console_);
    sources_ = {checksum_of(table_.values), !a_.weights.empty(), graph_.has_value(), points_.has_value()};
    if (resumed_ == nullptr) use_graph_file();
  }

  /// A graph from a file has no hyperedges.
  void use_graph_file() {
    if (!graph_) return;
    const bool asked = std::find(a_.given.begin(), a_.given.end(), "--gamma") != a_.given.end();
    if (asked && options_.gamma > 0)
      throw UsageError("--gamma: a graph from a file has no hyperedges; leave out --gamma or give --gamma 0");
    if (options_.gamma > 0) console_.note("a graph from a file has no hyperedges: gamma = 0");
    options_.gamma = 0;
  }

  void adopt_checkpoint() {
    if (resumed_ == nullptr) return;
    const ModelFile<T>& c = *resumed_;
    const auto refuse = [&](const std::string& what) { throw ReadError(printable(a_.resume, 200) + ": " + what); };
    if (c.samples != table_.samples() || c.features != table_.features() ||
        c.sources.data_checksum != sources_.data_checksum)
      refuse(fmt::format("was made from other data ({} x {}); resume with the same file", c.samples, c.features));
    if (c.sources.weights != sources_.weights) refuse("was made with --weights or without; give the same again");
    if (c.sources.graph != sources_.graph) refuse("was made with --graph FILE or without; give the same again");
    if (c.sources.graph_points != sources_.graph_points)
      refuse("was made with --graph-space FILE or without; give the same again");
    const ScheduleOptions limits = a_.options.schedule;
    options_ = c.options;
    for (const std::string& option : a_.given) {
      if (option == "--tol") options_.schedule.tol = limits.tol;
      if (option == "--max-iter") options_.schedule.max_iter = limits.max_iter;
    }
  }

  Result<T> fit_data() {
    Control control;
    control.threads = a_.data.threads;
    control.cancel = &interrupted();
    if (a_.max_seconds)
      control.deadline =
          std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                 std::chrono::duration<double>(std::min(*a_.max_seconds, 1e9)));
    FitInputs inputs;
    if (graph_) inputs.graph = &*graph_;
    if (points_) inputs.graph_points = &*points_;
    const bool graph = (options_.alpha > 0 || options_.gamma > 0) && options_.graph.kind != GraphKind::none && !graph_;
    const std::string doing = graph ? fmt::format("{} ({}, k = {})", name_of(options_.graph.kind),
                                                  to_string(options_.graph.space), options_.graph.k)
                                    : std::string();
    const std::function<void(double)> neighbours = [&](double share) {
      console_.fraction("neighbours of the " + doing, share);
    };
    control.progress = &neighbours;
    console_.stage(fmt::format("{} samples x {} features; {}first codes of {} atoms", table_.samples(),
                               table_.features(), graph ? doing + ", " : doing, options_.atoms));
    if (!a_.report.empty()) weight_history_.emplace(problem_, options_.schedule.level);
    const State<T>* start = resumed_ != nullptr && resumed_->started ? &resumed_->state : nullptr;
    return fit<T>(
        problem_, options_, control, [this](const Record& r, const State<T>& s) { return after_iteration(r, s); },
        inputs, start);
  }

  bool after_iteration(const Record& record, const State<T>& state) {
    console_.iteration(record, options_);
    if (weight_history_) weight_history_->record(record, state);
    if (!a_.checkpoint.empty() && record.iteration % a_.every == 0) save_checkpoint(a_.checkpoint, &state);
    return true;
  }

  ModelFile<T> file_of() const {
    ModelFile<T> file;
    file.samples = table_.samples();
    file.features = table_.features();
    file.sample_shape = table_.sample_shape;
    file.options = options_;
    file.sources = sources_;
    return file;
  }

  void save_checkpoint(const std::string& path, const State<T>* state) const {
    ModelFile<T> file = file_of();
    file.is_checkpoint = true;
    file.started = state != nullptr;
    if (state != nullptr) file.state = *state;
    save(path, file);
  }

  int interrupted_with(const State<T>& state) {
    const std::string path = a_.checkpoint.empty() ? a_.output + ".checkpoint" : a_.checkpoint;
    // before the first iteration is over the state may hold codes that are not finished: such a run starts again
    save_checkpoint(path, state.iteration > 0 ? &state : nullptr);
    console_.clear_line();
    throw Interrupted(fmt::format("interrupted after {} iterations; go on with: pacewise fit {} -o {} --resume {}",
                                  state.iteration, a_.data.path, a_.output, path));
  }

  std::optional<Clustering> cluster(const Result<T>& result) const {
    if (!labels_) return std::nullopt;
    KMeansOptions k;
    k.clusters = std::min<Index>(static_cast<Index>(labels_->names.size()), table_.samples());
    k.unit_norm = true;
    k.seed = options_.seed;
    Control control;
    control.threads = a_.data.threads;
    Clustering out;
    double least = std::numeric_limits<double>::infinity();
    for (KMeansRun& run : kmeans<T>(result.state.codes, k, control)) {
      out.runs.push_back(clustering_scores(labels_->value, run.assignment));
      if (!(run.inertia < least)) continue;
      least = run.inertia;
      out.assignment = std::move(run.assignment);
    }
    if (out.runs.empty()) return std::nullopt;
    out.mean = mean_of(out.runs);
    return out;
  }

  json json_of(const Result<T>& r) const {
    json options = to_json(options_);
    options["precision"] = a_.precision;
    if (graph_) options["graph"] = a_.graph_file;
    if (points_) options["graph_space"] = a_.points_file;
    json out = {{"version", kVersion},
                {"options", options},
                {"shape", {table_.samples(), table_.features()}},
                {"atoms", options_.atoms},
                {"termination", name_of(r.termination)},
                {"iterations", r.state.iteration},
                {"objective", number(r.objective.total())},
                {"objective_parts", to_json(r.objective)},
                {"certificate", to_json(r.certificate)},
                {"beta", r.state.beta},
                {"lambda", number(r.lambda)},
                {"selected", r.selected},
                {"density", r.density},
                {"seconds", r.state.seconds},
                {"threads", r.threads},
                {"peak_memory_bytes", peak_memory_bytes()},
                {"notes", r.notes},
                {"history", to_json(r.state.history)}};
    if (!r.detail.empty()) out["detail"] = r.detail;
    if (clustering_) {
      std::vector<double> acc, purity, nmi, ari;
      for (const Scores& s : clustering_->runs) {
        acc.push_back(s.acc);
        purity.push_back(s.purity);
        nmi.push_back(s.nmi);
        ari.push_back(s.ari);
      }
      out["clustering"] = {{"acc", spread(acc).mean},
                           {"purity", spread(purity).mean},
                           {"nmi", spread(nmi).mean},
                           {"ari", spread(ari).mean},
                           {"runs", clustering_->runs.size()}};
    }
    return out;
  }

  void write(Result<T>& r) {
    console_.stage("writing " + a_.output);
    ModelFile<T> file = file_of();
    file.model = model_of(r);
    file.summary = {r.termination, r.detail, r.objective, r.certificate, r.lambda, r.selected, r.density, r.notes};
    file.sample_scale = r.data.sample_scale;
    file.state = r.state;
    save(a_.output, file);
    if (!a_.checkpoint.empty()) save_checkpoint(a_.checkpoint, r.state.iteration > 0 ? &r.state : nullptr);
    if (!a_.codes.empty()) write_codes(a_.codes, r.state.codes);
    if (!a_.weights_out.empty() && !r.weights.empty())
      write_unit_weights(a_.weights_out, r.weights, options_.schedule.level, table_.features());
    clustering_ = cluster(r);
    if (!a_.json.empty()) write_json(a_.json, json_of(r));
    if (!a_.report.empty())
      write_text(a_.report, fit_page<T>({r, a_.data.path, table_.sample_shape, *weight_history_,
                                         labels_ ? &*labels_ : nullptr, clustering_ ? &*clustering_ : nullptr}));
  }

  static Scores mean_of(const std::vector<Scores>& all) {
    Scores mean;
    for (const Scores& s : all) {
      const double share = 1 / static_cast<double>(all.size());
      mean.acc += share * s.acc;
      mean.purity += share * s.purity;
      mean.nmi += share * s.nmi;
      mean.ari += share * s.ari;
    }
    return mean;
  }

  int conclude(const Result<T>& r) {
    console_.notes(r.notes);
    TextTable table = summary_table(r);
    table.rows.push_back({"model", a_.output});
    if (clustering_) {
      const Scores& mean = clustering_->mean;
      table.rows.push_back({"clustered codes", fmt::format("ACC {:.3f}  purity {:.3f}  NMI {:.3f}  ARI {:.3f}",
                                                           mean.acc, mean.purity, mean.nmi, mean.ari)});
    }
    if (!a_.report.empty()) table.rows.push_back({"report", a_.report});
    std::string text = to_text(table);
    for (const std::string& line : certificate_notes()) text += line + "\n";
    console_.print(text);
    if (r.termination == Termination::converged) return kDone;
    console_.warn(fmt::format("the tolerance was not reached: {}{}{}", name_of(r.termination),
                              r.detail.empty() ? "" : ", ", r.detail));
    return kNo;
  }

  const FitArguments& a_;
  Console console_;
  Options options_;
  ModelFile<T>* resumed_;
  Table<T> table_;
  Problem<T> problem_;
  std::optional<Labels> labels_;
  std::optional<Graph> graph_;
  std::optional<Matrix<double>> points_;
  Sources sources_;
  std::optional<WeightHistory<T>> weight_history_;
  std::optional<Clustering> clustering_;
};

}  // namespace

int run_fit(const FitArguments& a) {
  check_paths(a);
  if (a.resume.empty()) {
    if (a.precision == "single") return FitRun<float>(a, nullptr)();
    return FitRun<double>(a, nullptr)();
  }
  check_given_with_resume(a);
  AnyModelFile any = load(a.resume);
  return std::visit(
      [&](auto& file) {
        FitArguments b = a;
        using File = std::decay_t<decltype(file)>;
        b.precision = std::is_same_v<File, ModelFile<float>> ? "single" : "double";
        if constexpr (std::is_same_v<File, ModelFile<float>>)
          return FitRun<float>(b, &file)();
        else
          return FitRun<double>(b, &file)();
      },
      any);
}

}  // namespace pacewise::cli

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/cli/commands.hpp"
#include "apps/cli/fit_report.hpp"
#include "apps/cli/outcome.hpp"
#include "apps/cli/outputs.hpp"
#include "apps/cli/signals.hpp"
#include "model/fields.hpp"
#include "model/kind.hpp"
#include "model/model.hpp"
#include "model/model_file.hpp"
#include "model/options_json.hpp"
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
  if (a.options.level == Level::none && !a.weights_out.empty() && a.resume.empty())
    throw UsageError("--weights-out: level none has no self-paced weights; leave it out or choose a level");
  std::vector<NamedPath> inputs{{"DATA", a.data.path},
                                {"--labels", a.labels},
                                {"--weights", a.weights},
                                {"--dictionary", a.dictionary},
                                {"--start-codes", a.start_codes}};
  for (const auto& [option, path] : a.files) inputs.push_back({option, path});
  const std::vector<Output> beside{{{"--codes", a.codes}, Holds::table},
                                   {{"--weights-out", a.weights_out}, Holds::table},
                                   {{"--json", a.json}, Holds::json},
                                   {{"--report", a.report}, Holds::page}};
  std::vector<Output> outputs{{{"--output", a.output}, Holds::model}, {{"--checkpoint", a.checkpoint}, Holds::model}};
  outputs.insert(outputs.begin() + 1, beside.begin(), beside.end());
  check_files(inputs, outputs, a.force);
  check_files({{"--resume", a.resume}}, beside, a.force);  // model and checkpoint may take its place
}

/// With --resume the method is the checkpoint's; only limits may be changed.
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
  const auto atoms = static_cast<double>(options.atoms == kAuto ? kMostAtoms : options.atoms);
  const double copies = options.level == Level::element ? 6 : 2;
  const double bytes = sizeof(T) * (copies * features * samples + 3 * atoms * samples + 2 * atoms * features);
  const auto free = static_cast<double>(available_memory());
  if (bytes <= free) return;
  throw ReadError(
      fmt::format("{} samples x {} features with {} atoms need at least {}, {} are free; use fewer of them{}{}", n, m,
                  atoms, size_text(bytes), size_text(free), sizeof(T) == 8 ? " or --precision single" : "",
                  options.level == Level::element ? " or --level sample" : ""));
}

/// One fit in precision T, from reading to writing.
template <class T>
class FitRun {
 public:
  FitRun(const FitArguments& a, const Model<T>* resumed)
      : a_(a),
        console_(a.quiet, parse_progress(a.progress)),
        options_(a.options),
        control_(control_of(a.data)),
        resumed_(resumed) {
    if (a.max_seconds) control_.end_after(*a.max_seconds);  // reading counts, too
  }

  int operator()() {
    read();
    adopt_checkpoint();
    note_ = kind_note(problem_, options_, pictures());
    if (!note_.empty()) console_.note(note_);
    check_memory<T>(options_, table_.features(), table_.samples());
    Result<T> result = fit_data();
    if (result.termination == Termination::cancelled) return interrupted_with(result);
    return conclude(write(std::move(result)));
  }

 private:
  void read() {
    table_ = read_data<T>(a_.data, console_);
    const Index m = table_.features(), n = table_.samples();
    labels_ = labels_for(a_.labels, table_.labels, n, console_);
    problem_.values = table_.values;
    problem_.weights = read_weights<T>(a_.weights, m, n, console_);
    if (resumed_ == nullptr) options_ = settle_kind(problem_, options_, a_.named, pictures());
    if (const std::string* file = file_of("graph"))
      graph_ = read_graph(*file, n, options_.normalized_laplacian, console_);
    if (const std::string* file = file_of("graph_space")) points_ = read_points(*file, n, console_);
    for (const Option& row : option_table())
      if (const std::string* file = row.type == Option::Type::numbers ? file_of(row.name.c_str()) : nullptr) {
        const Matrix<double> numbers = read_matrix(*file, console_);
        about(*file, [&] {
          row.set(options_, std::vector<double>(numbers.data(), numbers.data() + numbers.size()));
          validate(options_);
        });
      }
    const auto refuse = [](const std::string& file, const char* what, Index has, Index wanted) {
      if (has != wanted)
        throw ReadError(fmt::format("{}: has {} {}; the data {}", printable(file, 200), has, what, wanted));
    };
    if (!a_.dictionary.empty()) dictionary_ = read_matrix(a_.dictionary, console_);
    if (!a_.dictionary.empty()) refuse(a_.dictionary, "columns, one for each feature", dictionary_.rows(), m);
    if (!a_.start_codes.empty()) codes_ = read_matrix(a_.start_codes, console_);
    if (!a_.start_codes.empty()) refuse(a_.start_codes, "rows, one for each sample", codes_.cols(), n);
    sources_ = sources_of(problem_, inputs());
    if (resumed_ == nullptr) use_graph_file();
  }

  bool pictures() const { return table_.sample_shape.size() > 1; }

  /// The file that was given for an option, if one was
  const std::string* file_of(const char* option) const {
    const auto found = a_.files.find(option);
    return found == a_.files.end() ? nullptr : &found->second;
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
    about(a_.resume, [&] { check_resumed(*resumed_, problem_, sources_); });
    options_ = resumed_->options;
    for (const std::string& option : a_.given) {
      if (option == "--tol") options_.tol = a_.options.tol;
      if (option == "--max-iter") options_.max_iter = a_.options.max_iter;
    }
  }

  FitInputs inputs() const {
    return {.graph = graph_ ? &*graph_ : nullptr,
            .graph_points = points_,
            .dictionary = dictionary_,
            .codes = codes_,
            .show_weights = !a_.report.empty(),
            .note = note_};
  }

  Result<T> fit_data() {
    Control control = control_;
    const bool graph = (options_.alpha > 0 || options_.gamma > 0) && options_.graph != GraphKind::none && !graph_;
    const std::string doing =
        graph ? fmt::format("{} ({}, k = {})", name_of(options_.graph), to_string(options_.graph_space), options_.k)
              : std::string();
    const std::function<void(double)> neighbours = [&](double share) {
      console_.fraction("neighbours of the " + doing, share);
    };
    control.progress = &neighbours;
    console_.stage(fmt::format("{} samples x {} features; {}{}", table_.samples(), table_.features(),
                               graph ? doing + ", " : doing,
                               options_.atoms == kAuto ? "choosing the number of atoms"
                                                       : fmt::format("first codes of {} atoms", options_.atoms)));
    if (!a_.report.empty()) weight_history_.emplace(problem_, options_.level);
    const State<T>* start = resumed_ != nullptr && resumed_->iteration > 0 ? resumed_ : nullptr;
    return fit<T>(
        problem_, options_, control, [this](const Record& r, const State<T>& s) { return after_iteration(r, s); },
        inputs(), start);
  }

  bool after_iteration(const Record& record, const State<T>& state) {
    console_.iteration(record, options_);
    if (weight_history_) weight_history_->record(record, state);
    if (!a_.checkpoint.empty() && record.iteration % a_.every == 0) save_checkpoint(a_.checkpoint, &state);
    return true;
  }

  void save_checkpoint(const std::string& path, const State<T>* state) const {
    Model<T> checkpoint = checkpoint_of(problem_, sources_, options_, state);
    checkpoint.sample_shape = table_.sample_shape;
    checkpoint.save(path);
  }

  int interrupted_with(const State<T>& state) {
    const std::string path = a_.checkpoint.empty() ? a_.output + ".checkpoint" : a_.checkpoint;
    // before the first iteration is over the state may hold codes that are not finished: such a run starts again
    save_checkpoint(path, state.iteration > 0 ? &state : nullptr);
    console_.clear_line();
    throw Interrupted(fmt::format("interrupted after {} iterations; go on with: pacewise fit {} -o {} --resume {}",
                                  state.iteration, a_.data.path, a_.output, path));
  }

  std::optional<Clustering> cluster(const Model<T>& model) const {
    if (!labels_) return std::nullopt;
    KMeansOptions k;
    k.clusters = std::min<Index>(static_cast<Index>(labels_->names.size()), table_.samples());
    k.unit_norm = options_.normalize == Normalize::unit;
    k.seed = options_.seed;
    Clustering out;
    double least = std::numeric_limits<double>::infinity();
    const Matrix<T> points = points_of(model);
    std::vector<KMeansRun> runs = kmeans(points, k, control_);
    if (runs.empty()) {  // the time is over: one is wanted all the same
      k.runs = 1;
      runs = kmeans(points, k, control_.to_the_end());
    }
    for (KMeansRun& run : runs) {
      out.runs.push_back(clustering_scores(labels_->value, run.assignment));
      if (!(run.inertia < least)) continue;
      least = run.inertia;
      out.assignment = std::move(run.assignment);
    }
    if (out.runs.empty()) return std::nullopt;
    return out;
  }

  json json_of(const Model<T>& m) const {
    json options = to_json(m.options);
    options["precision"] = a_.precision;
    if (graph_) options["graph"] = *file_of("graph");
    if (!points_.empty()) options["graph_space"] = *file_of("graph_space");
    json history = json::array();
    for (const Record& record : m.history) {
      json& one = history.emplace_back(to_json(record));
      one["objective"] = number(record.objective.total());
      one["seconds"] = number(record.seconds);
    }
    json out = {{"version", kVersion},
                {"options", options},
                {"shape", {table_.samples(), table_.features()}},
                {"atoms", m.options.atoms},
                {"termination", name_of(m.termination)},
                {"iterations", m.iteration},
                {"objective", number(m.objective.total())},
                {"objective_parts", to_json(m.objective)},
                {"certificate", to_json(m.certificate)},
                {"beta", m.beta},
                {"lambda", number(m.lambda)},
                {"selected", m.selected},
                {"density", m.density},
                {"seconds", m.seconds},
                {"threads", thread_count({.threads = a_.data.threads})},
                {"peak_memory_bytes", peak_memory_bytes()},
                {"notes", m.notes},
                {"history", history}};
    if (m.descent.settled) {
      json& stages = out["stages"] = json::array();
      for (const Stage& s : m.descent.stages) {
        json& one = stages.emplace_back();
        visit_judgement(s, [&](const char* name, double value) { one[name] = number(value); });
      }
      out["stage"] = m.descent.chosen;
    }
    if (!m.detail.empty()) out["detail"] = m.detail;
    if (clustering_) {
      json& out_scores = out["clustering"] = {{"runs", clustering_->runs.size()}};
      for (const Measure& measure : kMeasures) out_scores[measure.key] = spread_of(clustering_->runs, measure).mean;
    }
    return out;
  }

  Model<T> write(Result<T> result) {
    console_.stage("writing " + a_.output);
    std::optional<Result<T>> shown;  // the page shows the data too
    if (!a_.report.empty()) shown = result;
    Model<T> m = make_model(std::move(result), problem_, sources_, control_of(a_.data).to_the_end());
    m.sample_shape = table_.sample_shape;
    m.feature_names = table_.feature_names;
    m.save(a_.output);
    if (!a_.checkpoint.empty()) save_checkpoint(a_.checkpoint, m.iteration > 0 ? &m : nullptr);
    if (!a_.codes.empty()) write_codes(a_.codes, m.codes, names_for(table_, numbered("atom", m.codes.rows())));
    if (!a_.weights_out.empty() && !m.weights.empty())
      write_unit_weights(a_.weights_out, m.weights, options_.level, table_);
    clustering_ = cluster(m);
    if (!a_.json.empty()) write_json(a_.json, json_of(m));
    if (shown) {
      std::vector<WrongCell> cells;
      if (m.options.kind == Kind::table && options_.level != Level::none)
        cells = m.find_wrong_cells(problem_, {}, control_of(a_.data).to_the_end());
      write_text(a_.report, fit_page<T>({*shown, m, a_.data.path, table_, std::move(cells), *weight_history_,
                                         labels_ ? &*labels_ : nullptr, clustering_ ? &*clustering_ : nullptr}));
    }
    return m;
  }

  int conclude(const Model<T>& r) {
    for (const std::string& note : r.notes)
      if (note != note_) console_.note(note);
    TextTable table = summary_table(r);
    table.rows.push_back({"model", a_.output});
    if (clustering_) {
      std::string scores;
      for (const Measure& measure : kMeasures)
        scores += fmt::format("{}{} {:.3f}", scores.empty() ? "" : "  ", measure.name,
                              spread_of(clustering_->runs, measure).mean);
      table.rows.push_back({"clusters", scores});
    }
    if (!a_.report.empty()) table.rows.push_back({"report", a_.report});
    std::string text = to_text(table);
    if (const TextTable stages = stage_table(r.descent.stages, r.descent.chosen);
        r.descent.settled && !stages.rows.empty())
      text += "\n" + to_text(stages) + "\n";
    for (const std::string& line : certificate_notes()) text += line + "\n";
    console_.print(text);
    if (r.termination == Termination::converged) return kDone;
    const bool polished = r.schedule.phase == Phase::polish && r.schedule.in_phase >= r.options.polish;
    if (r.termination == Termination::iteration_limit && polished) return kDone;  // all that was asked for
    console_.warn(fmt::format("the tolerance was not reached: {}{}{}", name_of(r.termination),
                              r.detail.empty() ? "" : ", ", r.detail));
    return kNo;
  }

  const FitArguments& a_;
  Console console_;
  Options options_;
  Control control_;
  const Model<T>* resumed_;
  Table<T> table_;
  Problem<T> problem_;
  std::optional<Labels> labels_;
  std::optional<Graph> graph_;
  Matrix<double> points_, dictionary_, codes_;  // empty: not given
  Sources sources_;
  std::string note_;  // what the data were taken as
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
  const AnyModel any = load_any(a.resume);
  FitArguments b = a;
  if (const auto* model = std::get_if<Model<float>>(&any)) {
    b.precision = "single";
    return FitRun<float>(b, model)();
  }
  b.precision = "double";
  return FitRun<double>(b, std::get_if<Model<double>>(&any))();
}

}  // namespace pacewise::cli

#include "apps/cli/model_file.hpp"

#include <cmath>
#include <limits>

#include "apps/cli/container.hpp"
#include "io/file_error.hpp"
#include "model/options_json.hpp"
#include "pacewise/version.hpp"

namespace pacewise::cli {
namespace {

using nlohmann::json;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double number_or(const json& value, double absent) { return value.is_null() ? absent : value.get<double>(); }

Objective objective_from(const json& j) {
  return {j.at("fit"), j.at("pace"), j.at("sparsity"), j.at("manifold"), j.at("consistency")};
}

Certificate certificate_from(const json& j) {
  return {number_or(j.at("codes"), kInfinity), number_or(j.at("dictionary"), kInfinity),
          number_or(j.at("consistency"), kInfinity)};
}

template <class Enum, std::size_t N>
Enum enum_from(const json& j, const Enum (&all)[N]) {
  const auto text = j.get<std::string>();
  for (const Enum e : all)
    if (name_of(e) == text) return e;
  throw Error("\"" + text + "\" is not known");
}

Phase phase_from(const json& j) {
  constexpr Phase all[] = {Phase::plain, Phase::warm, Phase::paced, Phase::held, Phase::polish};
  return enum_from(j, all);
}

Termination termination_from(const json& j) {
  constexpr Termination all[] = {Termination::converged, Termination::iteration_limit, Termination::time_limit,
                                 Termination::cancelled, Termination::numerical_trouble};
  return enum_from(j, all);
}

std::vector<Record> history_from(const json& list) {
  std::vector<Record> history;
  for (const json& j : list) {
    Record r;
    r.iteration = j.at("iteration");
    r.phase = phase_from(j.at("phase"));
    r.lambda = number_or(j.at("lambda"), kInfinity);
    r.selected = j.at("selected");
    r.mean_weight = j.at("mean_weight");
    r.objective = objective_from(j.at("objective_parts"));
    r.objective_before = j.at("objective_before");
    r.certificate = certificate_from(j.at("certificate"));
    r.density = j.at("density");
    r.dead_atoms = j.at("dead_atoms");
    r.seconds = j.at("seconds");
    history.push_back(r);
  }
  return history;
}

/// Codes sample by sample, only what is not +0: a -0 is kept, so that a resumed run goes on with the same bits.
template <class T>
struct SparseCodes {
  std::vector<std::int64_t> start{0};
  std::vector<std::int32_t> atom;
  std::vector<T> value;

  explicit SparseCodes(const Matrix<T>& S) {
    for (Index j = 0; j < S.cols(); ++j) {
      for (Index k = 0; k < S.rows(); ++k) {
        if (S(k, j) == T(0) && !std::signbit(S(k, j))) continue;
        atom.push_back(static_cast<std::int32_t>(k));
        value.push_back(S(k, j));
      }
      start.push_back(static_cast<std::int64_t>(atom.size()));
    }
  }
};

/// A column-major matrix is its own transpose row by row: samples and atoms are the rows in the file.
template <class T>
void add(ContainerWriter& out, const char* name, const Matrix<T>& a) {
  if (!a.empty()) out.add(name, {a.cols(), a.rows()}, a.data());
}

template <class T>
void add(ContainerWriter& out, const char* name, const Vector<T>& a) {
  if (!a.empty()) out.add(name, {static_cast<Index>(a.size())}, a.data());
}

template <class T>
Matrix<T> matrix_from(const ContainerReader& in, const char* name) {
  if (!in.has(name)) return {};
  const Vector<T> numbers = in.read<T>(name, 2);
  const std::vector<Index> shape = in.shape(name);
  Matrix<T> out(shape[1], shape[0]);
  std::copy(numbers.begin(), numbers.end(), out.data());
  return out;
}

template <class T>
Vector<T> vector_from(const ContainerReader& in, const char* name) {
  return in.has(name) ? in.read<T>(name, 1) : Vector<T>();
}

template <class T>
Matrix<T> codes_from(const ContainerReader& in, Index atoms, Index samples) {
  const auto start = in.read<std::int64_t>("codes_start", 1);
  const auto atom = in.read<std::int32_t>("codes_atom", 1);
  const auto value = in.read<T>("codes_value", 1);
  Matrix<T> S(atoms, samples);
  bool sound = static_cast<Index>(start.size()) == samples + 1 && start.front() == 0 &&
               start.back() == static_cast<std::int64_t>(atom.size()) && atom.size() == value.size();
  for (Index j = 0; sound && j < samples; ++j) {
    const auto from = start[static_cast<std::size_t>(j)], to = start[static_cast<std::size_t>(j) + 1];
    sound = from <= to && to <= start.back();
    for (auto p = from; sound && p < to; ++p) {
      const Index k = atom[static_cast<std::size_t>(p)];
      sound = k >= 0 && k < atoms;
      if (sound) S(k, j) = value[static_cast<std::size_t>(p)];
    }
  }
  if (!sound) in.fail("is damaged: its sparse codes do not fit together");
  return S;
}

template <class T>
json state_header(const State<T>& s) {
  return {{"phase", name_of(s.schedule.phase)},
          {"in_phase", s.schedule.in_phase},
          {"lambda", number(s.schedule.lambda)},
          {"last_objective", number(s.schedule.last_objective)},
          {"finished", s.schedule.finished},
          {"stalled", s.schedule.stalled},
          {"pace_lambda", number(s.pace_lambda)},
          {"step_tol", s.step_tol},
          {"random", s.random},
          {"iteration", s.iteration},
          {"seconds", s.seconds}};
}

template <class T>
State<T> state_from(const ContainerReader& in) {
  const json& j = in.header.at("state");
  State<T> s;
  s.schedule.phase = phase_from(j.at("phase"));
  s.schedule.in_phase = j.at("in_phase");
  s.schedule.lambda = number_or(j.at("lambda"), kInfinity);
  s.schedule.last_objective = number_or(j.at("last_objective"), kNaN);
  s.schedule.finished = j.at("finished");
  s.schedule.stalled = j.at("stalled");
  s.pace_lambda = number_or(j.at("pace_lambda"), kInfinity);
  s.step_tol = j.at("step_tol");
  s.random = j.at("random");
  s.iteration = j.at("iteration");
  s.seconds = j.at("seconds");
  s.beta = in.header.at("beta");
  s.history = history_from(in.header.at("history"));
  s.dictionary = matrix_from<T>(in, "dictionary");
  s.consistency = matrix_from<T>(in, "consistency");
  s.weights = vector_from<T>(in, "state_weights");
  s.codes = codes_from<T>(in, s.dictionary.cols(), in.header.at("shape").at(0));
  return s;
}

void put_summary(const Summary& s, json& header) {
  header["termination"] = name_of(s.termination);
  header["detail"] = s.detail;
  header["objective"] = s.objective.total();
  header["objective_parts"] = to_json(s.objective);
  header["certificate"] = to_json(s.certificate);
  header["lambda"] = number(s.lambda);
  header["selected"] = s.selected;
  header["density"] = s.density;
  header["notes"] = s.notes;
}

Summary summary_from(const json& header) {
  Summary s;
  s.termination = termination_from(header.at("termination"));
  s.detail = header.at("detail");
  s.objective = objective_from(header.at("objective_parts"));
  s.certificate = certificate_from(header.at("certificate"));
  s.lambda = number_or(header.at("lambda"), kInfinity);
  s.selected = header.at("selected");
  s.density = header.at("density");
  s.notes = header.at("notes").get<std::vector<std::string>>();
  return s;
}

template <class T>
void check_sizes(const ContainerReader& in, const ModelFile<T>& f) {
  const auto is = [](const auto& v, Index size) { return v.empty() || static_cast<Index>(v.size()) == size; };
  const Model<T>& m = f.model;
  const bool standard = m.normalization.kind == Normalize::standard;
  if (f.state.dictionary.empty() || f.state.dictionary.rows() != f.features || f.samples < 1 ||
      !is(f.sample_scale, f.samples) || !is(m.feature_weights, f.features) || !is(m.normalization.shift, f.features) ||
      !is(m.normalization.scale, f.features) || (standard && m.normalization.shift.empty()) ||
      m.normalization.shift.size() != m.normalization.scale.size())
    in.fail("is damaged: its arrays do not fit together");
}

template <class T>
ModelFile<T> parse(const ContainerReader& in) {
  const json& h = in.header;
  ModelFile<T> f;
  f.is_checkpoint = h.at("kind") == "checkpoint";
  f.started = !h.at("state").is_null();
  f.samples = h.at("shape").at(0);
  f.features = h.at("shape").at(1);
  f.sample_shape = h.at("sample_shape").get<std::vector<Index>>();
  f.options = options_from_json(h.at("options"));
  const json& sources = h.at("sources");
  f.sources = {sources.at("data_checksum"), sources.at("weights"), sources.at("graph"), sources.at("graph_points")};
  if (f.started) f.state = state_from<T>(in);
  if (f.is_checkpoint) return f;
  f.summary = summary_from(h);
  f.model.dictionary = f.state.dictionary;
  f.model.beta = f.state.beta;
  f.model.level = f.options.level;
  f.model.regularizer = f.options.regularizer;
  f.model.lambda = f.summary.lambda;
  f.model.entry_lambda = h.at("entry_lambda");
  f.model.feature_weights = vector_from<T>(in, "feature_weights");
  f.model.normalization = {f.options.normalize, vector_from<T>(in, "normalization_shift"),
                           vector_from<T>(in, "normalization_scale")};
  f.sample_scale = vector_from<T>(in, "sample_scale");
  check_sizes(in, f);
  return f;
}

}  // namespace

json number(double value) { return std::isfinite(value) ? json(value) : json(); }

json to_json(const Objective& o) {
  return {{"fit", number(o.fit)},
          {"pace", number(o.pace)},
          {"sparsity", number(o.sparsity)},
          {"manifold", number(o.manifold)},
          {"consistency", number(o.consistency)}};
}

json to_json(const Certificate& c) {
  return {{"codes", number(c.codes)}, {"dictionary", number(c.dictionary)}, {"consistency", number(c.consistency)}};
}

json to_json(const std::vector<Record>& history) {
  json list = json::array();
  for (const Record& r : history)
    list.push_back({{"iteration", r.iteration},
                    {"phase", name_of(r.phase)},
                    {"lambda", number(r.lambda)},
                    {"selected", r.selected},
                    {"mean_weight", r.mean_weight},
                    {"objective", number(r.objective.total())},
                    {"objective_parts", to_json(r.objective)},
                    {"objective_before", number(r.objective_before)},
                    {"certificate", to_json(r.certificate)},
                    {"density", r.density},
                    {"dead_atoms", r.dead_atoms},
                    {"seconds", r.seconds}});
  return list;
}

template <class T>
void save(const std::string& path, const ModelFile<T>& f) {
  ContainerWriter out;
  json& h = out.header;
  h["kind"] = f.is_checkpoint ? "checkpoint" : "model";
  h["version"] = kVersion;
  h["precision"] = std::is_same_v<T, float> ? "single" : "double";
  h["shape"] = {f.samples, f.features};
  h["sample_shape"] = f.sample_shape;
  h["options"] = to_json(f.options);
  h["sources"] = {{"data_checksum", f.sources.data_checksum},
                  {"weights", f.sources.weights},
                  {"graph", f.sources.graph},
                  {"graph_points", f.sources.graph_points}};
  h["state"] = f.started ? state_header(f.state) : json();
  h["beta"] = f.state.beta;
  h["history"] = to_json(f.state.history);
  const SparseCodes<T> codes(f.state.codes);
  if (f.started) {
    add(out, "dictionary", f.state.dictionary);
    out.add("codes_start", {static_cast<Index>(codes.start.size())}, codes.start.data());
    out.add("codes_atom", {static_cast<Index>(codes.atom.size())}, codes.atom.data());
    out.add("codes_value", {static_cast<Index>(codes.value.size())}, codes.value.data());
    add(out, "consistency", f.state.consistency);
    add(out, "state_weights", f.state.weights);
  }
  if (!f.is_checkpoint) {
    put_summary(f.summary, h);
    h["entry_lambda"] = f.model.entry_lambda;
    add(out, "feature_weights", f.model.feature_weights);
    add(out, "normalization_shift", f.model.normalization.shift);
    add(out, "normalization_scale", f.model.normalization.scale);
    add(out, "sample_scale", f.sample_scale);
  }
  out.write(path);
}

AnyModelFile load(const std::string& path) {
  const ContainerReader in(path);
  try {
    if (in.header.at("precision") == "single") return parse<float>(in);
    return parse<double>(in);
  } catch (const ReadError&) {
    throw;
  } catch (const std::exception& e) {  // a header of the right checksum that lacks something
    in.fail(std::string("is damaged: ") + e.what());
  }
}

AnyModelFile load_model(const std::string& path) {
  AnyModelFile any = load(path);
  if (std::visit([](const auto& f) { return f.is_checkpoint; }, any))
    throw ReadError(printable(path, 200) + ": is a checkpoint; finish it with `pacewise fit DATA -o MODEL --resume`");
  return any;
}

template void save(const std::string&, const ModelFile<float>&);
template void save(const std::string&, const ModelFile<double>&);

}  // namespace pacewise::cli

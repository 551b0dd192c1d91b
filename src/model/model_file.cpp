#include "model/model_file.hpp"

#include <algorithm>
#include <any>
#include <cmath>
#include <functional>
#include <limits>
#include <list>

#include "model/fields.hpp"
#include "model/options_json.hpp"
#include "pacewise/version.hpp"
#include "solve/groups.hpp"
#include "solve/weights.hpp"
#include "storage/container.hpp"
#include "storage/file_error.hpp"

namespace pacewise {
namespace {

using nlohmann::json;

// ---- values of the header

template <class V>
concept Named = requires {
  words<V>.names;
};
template <class V>
concept Listed = requires(V& v) {
  visit_fields(v, [](const char*, const auto&) {});
};

template <class V>
concept ListOfListed = requires {
  typename V::value_type;
}
&&Listed<typename V::value_type>;

template <class V>
json value_json(const V& v) {
  if constexpr (std::is_same_v<V, double>) {
    return number(v);
  } else if constexpr (std::is_same_v<V, Options>) {
    return to_json(v);
  } else if constexpr (ListOfListed<V>) {
    json list = json::array();
    for (const auto& one : v) list.push_back(value_json(one));
    return list;
  } else if constexpr (Named<V>) {
    return name_of(v);
  } else if constexpr (Listed<V>) {
    json j = json::object();
    visit_fields(v, [&](const char* name, const auto& field) { j[name] = value_json(field); });
    return j;
  } else {
    return v;
  }
}

/// null is infinity, or the field's own default where that is NaN
template <class V>
void value_from(const json& j, V& v) {
  if constexpr (std::is_same_v<V, double>) {
    if (!j.is_null())
      v = j.get<double>();
    else if (!std::isnan(v))
      v = std::numeric_limits<double>::infinity();
  } else if constexpr (std::is_same_v<V, Options>) {
    v = options_from_json(j);
  } else if constexpr (ListOfListed<V>) {
    v.clear();
    for (const json& one : j) {
      value_from(one, v.emplace_back());
      if constexpr (requires { v.back().seconds; }) v.back().seconds = std::numeric_limits<double>::quiet_NaN();
    }
  } else if constexpr (Named<V>) {
    v = parse<V>(j.get<std::string>());
  } else if constexpr (Listed<V>) {
    visit_fields(v, [&](const char* name, auto& field) { value_from(j.at(name), field); });
  } else {
    v = j.get<V>();
  }
}

// ---- arrays

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

/// Puts a field into the header or among the arrays, by its type. An empty array is left out.
template <class T>
class FieldWriter {
 public:
  FieldWriter(ContainerWriter& out, json& header) : out_(out), header_(header) {}

  template <class V>
  void operator()(const char* name, const V& v) {
    header_[name] = value_json(v);
  }
  /// A column-major matrix is its own transpose row by row: samples and atoms are the rows in the file.
  void operator()(const char* name, const Matrix<T>& a) {
    if (a.empty()) return;
    if (const std::string prefix = name; prefix.ends_with("codes")) {
      const auto& codes = std::any_cast<const SparseCodes<T>&>(kept_.emplace_back(SparseCodes<T>(a)));
      line(prefix + "_start", codes.start);
      line(prefix + "_atom", codes.atom);
      line(prefix + "_value", codes.value);
    } else {
      out_.add(name, {a.cols(), a.rows()}, a.data());
    }
  }
  void operator()(const char* name, const Vector<T>& a) {
    const bool ones =
        std::string_view(name) == "state_weights" && std::all_of(a.begin(), a.end(), [](T v) { return v == T(1); });
    if (!a.empty() && !ones) line(name, a);
  }
  void operator()(const char* name, const Sparse& a) {
    if (a.empty()) return;
    header_[name] = {a.rows, a.cols};
    const std::string prefix = name;
    line(prefix + "_start", a.start);
    line(prefix + "_index", a.index);
    line(prefix + "_value", a.value);
  }

 private:
  template <class List>
  void line(const std::string& name, const List& a) {
    out_.add(name, {static_cast<Index>(a.size())}, a.data());
  }

  ContainerWriter& out_;
  json& header_;
  std::list<std::any> kept_;
};

/// The other way round.
template <class T>
class FieldReader {
 public:
  FieldReader(const ContainerReader& in, const json& header) : in_(in), header_(header) {}

  template <class V>
  void operator()(const char* name, V& v) const {
    value_from(header_.at(name), v);
  }
  void operator()(const char* name, Matrix<T>& a) const {
    if (const std::string prefix = name; prefix.ends_with("codes")) {
      if (in_.has(prefix + "_start")) codes(prefix, a);
    } else if (in_.has(name)) {
      const std::vector<Index> shape = in_.shape(name);
      a.take(in_.read_real<T>(name, 2), shape.at(1), shape.at(0));
    }
  }
  void operator()(const char* name, Vector<T>& a) const {
    if (in_.has(name)) a = in_.read_real<T>(name, 1);
  }
  void operator()(const char* name, Sparse& a) const {
    const std::string prefix = name;
    if (!in_.has(prefix + "_start")) return;
    const auto start = in_.read<std::int64_t>(prefix + "_start", 1);
    const auto index = in_.read<std::int32_t>(prefix + "_index", 1);
    const auto value = in_.read<double>(prefix + "_value", 1);
    a.rows = header_.at(name).at(0);
    a.cols = header_.at(name).at(1);
    check(start, index, value.size(), a.cols, a.rows, name);
    a.start.assign(start.begin(), start.end());
    a.index.assign(index.begin(), index.end());
    a.value.assign(value.begin(), value.end());
  }

 private:
  void codes(const std::string& name, Matrix<T>& S) const {
    const auto start = in_.read<std::int64_t>(name + "_start", 1);
    const auto atom = in_.read<std::int32_t>(name + "_atom", 1);
    const auto value = in_.read_real<T>(name + "_value", 1);
    const Index n = in_.header.at("shape").at(0), r = in_.shape("dictionary").at(0);
    check(start, atom, value.size(), n, r, name);
    S = Matrix<T>(r, n);
    for (Index j = 0; j < n; ++j)
      for (auto p = start[j]; p < start[j + 1]; ++p) S(atom[p], j) = value[p];
  }
  /// Compressed columns: starts rise from 0 to the number of entries, rows rise within a column and are below `rows`.
  void check(const Vector<std::int64_t>& start, const Vector<std::int32_t>& row, std::size_t values, Index cols,
             Index rows, const std::string& name) const {
    bool sound = cols >= 0 && static_cast<Index>(start.size()) == cols + 1 && start.front() == 0 &&
                 start.back() == static_cast<std::int64_t>(row.size()) && row.size() == values;
    for (Index j = 0; sound && j < cols; ++j) {
      sound = start[j] <= start[j + 1] && start[j + 1] <= start.back();
      for (auto p = start[j]; sound && p < start[j + 1]; ++p)
        sound = row[p] >= 0 && row[p] < rows && (p == start[j] || row[p - 1] < row[p]);
    }
    if (!sound) in_.fail("is damaged: its sparse array \"" + name + "\" does not fit together");
  }

  const ContainerReader& in_;
  const json& header_;
};

// ---- the file

/// The header of an older version as this one has it: what is new has its default.
json upgraded(json h, std::uint32_t version) {
  const auto add = [](json& to, const json& defaults) {
    for (const auto& [name, value] : defaults.items())
      if (!to.contains(name)) to[name] = value;
  };
  if (version == 1 && !h.at("state").is_null()) {
    json& state = h["state"];
    for (const char* name : {"phase", "in_phase", "lambda", "last_objective", "finished", "stalled"})
      state["schedule"][name] = state.at(name);
    state["beta"] = h.at("beta");
    state["history"] = h.at("history");
  }
  if (version == 1) {
    h["feature_names"] = json::array();
    h["outlier_threshold"] = nullptr;
    h.at("options").erase("memory_bytes");
  }
  if (json& state = h.at("state"); !state.is_null()) {
    add(state.at("schedule"), value_json(ScheduleState()));
    add(state, {{"descent", value_json(Descent<double>())}, {"candidates", json::array()}});
    for (json& record : state.at("history")) add(record.at("certificate"), value_json(Certificate()));
  }
  if (h.contains("certificate")) add(h.at("certificate"), value_json(Certificate()));
  add(h, {{"center", 0}, {"reach", nullptr}});
  return h;
}

json header_of(const ContainerReader& in) {
  return in.version < kFormatVersion ? upgraded(in.header, in.version) : in.header;
}

template <class T>
void check_sizes(const ContainerReader& in, const Model<T>& m) {
  const auto is = [](const auto& v, Index size) { return v.empty() || static_cast<Index>(v.size()) == size; };
  const Normalization<T>& norm = m.normalization;
  const Level level = m.options.level;
  const Index units = level == Level::none ? m.samples : unit_count(level, m.features, m.samples);
  const Descent<T>& d = m.descent;
  const Sparse &L = m.graph.laplacian, &H = m.graph.incidence;
  const bool sound =
      m.samples >= 1 && m.features >= 1 && !m.dictionary.empty() && m.dictionary.rows() == m.features &&
      m.codes.rows() == m.dictionary.cols() && m.codes.cols() == m.samples && is(m.losses, units) &&
      is(m.State<T>::weights, unit_count(level, m.features, m.samples)) && is(m.sample_scale, m.samples) &&
      is(norm.shift, m.features) && is(m.held_out_lambda, m.features) && norm.shift.size() == norm.scale.size() &&
      (!m.complete || (norm.kind != Normalize::standard && norm.kind != Normalize::robust) || !norm.shift.empty()) &&
      is(m.feature_names, m.features) && (m.consistency.empty() || m.consistency.cols() == m.dictionary.cols()) &&
      (m.offsets.empty() || m.offsets.rows() == m.features) &&
      (!d.settled || (d.chosen >= 0 && d.chosen < std::ssize(d.stages) && d.dictionary.rows() == m.features &&
                      d.dictionary.cols() == m.dictionary.cols() && d.codes.rows() == m.codes.rows() &&
                      d.codes.cols() == m.samples && d.offsets >= 0 && d.offsets <= m.offsets.cols())) &&
      (L.empty() || (L.rows == m.samples && L.cols == m.samples)) && (H.empty() || H.cols == m.samples);
  if (!sound) in.fail("is damaged: its arrays do not fit together");
}

template <class T>
Model<T> parse_model(const ContainerReader& in) {
  const json h = header_of(in);
  Model<T> m;
  m.complete = h.at("kind") == "model";
  m.samples = h.at("shape").at(0);
  m.features = h.at("shape").at(1);
  const FieldReader<T> read(in, h);
  visit_origin(m, read);
  m.normalization.kind = m.options.normalize;
  const json& state = h.at("state");
  if (!state.is_null()) visit_fields(static_cast<State<T>&>(m), FieldReader<T>(in, state));
  if (m.complete) visit_results(m, read);
  if (m.complete && h.contains("objective") && h.at("objective").is_number() &&
      !(std::abs(h.at("objective").get<double>() - m.objective.total()) <= 1e-9 * m.objective.magnitude()))
    in.fail("is damaged: its objective is not the sum of its parts");
  if (!state.is_null()) check_sizes(in, m);
  if (in.version == 1 && m.options.level == Level::feature) read("feature_weights", m.weights);
  if (m.options.level != Level::none && !m.losses.empty())
    solve_weights(m.losses, m.options.regularizer, m.lambda, m.weights, {},
                  m.descent.settled ? m.descent.center : m.schedule.center);
  if (const Groups groups = Groups::of(m.options, m.features, m.groups); !groups.empty())
    for (std::size_t u = 0; u < m.weights.size(); u += static_cast<std::size_t>(m.features))
      groups.weights(m.weights.data() + u);
  return m;
}

template <class T>
void write_model(const Model<T>& m, const std::function<void(ContainerWriter&)>& finish) {
  ContainerWriter out;
  json& h = out.header;
  h["kind"] = m.complete ? "model" : "checkpoint";
  h["version"] = kVersion;
  h["precision"] = std::is_same_v<T, float> ? "single" : "double";
  h["shape"] = {m.samples, m.features};
  h["state"] = nullptr;
  FieldWriter<T> write(out, h);
  visit_origin(m, write);
  json state = json::object();
  FieldWriter<T> write_state(out, state);
  // a run that was stopped before its first iteration was over starts again
  if (m.complete || m.iteration > 0) {
    visit_fields(static_cast<const State<T>&>(m), write_state);
    h["state"] = state;
  }
  if (m.complete) {
    visit_results(m, write);
    h["objective"] = number(m.objective.total());
  }
  finish(out);
}

/// Reads by `read`; a header of the right checksum that lacks something is damaged too.
template <class Read>
auto guarded(const ContainerReader& in, const Read& read) {
  try {
    return read();
  } catch (const ReadError&) {
    throw;
  } catch (const std::exception& e) {
    const std::string text = e.what();  // "[json.exception.out_of_range.403] key 'state' not found"
    in.fail("is damaged: " + (text.starts_with('[') ? text.substr(text.find(' ') + 1) : text));
  }
}

AnyModel parse_any(const ContainerReader& in) {
  return guarded(in, [&]() -> AnyModel {
    if (in.header.at("precision") == "single") return parse_model<float>(in);
    if (in.header.at("precision") != "double") in.fail("is damaged: its precision is neither single nor double");
    return parse_model<double>(in);
  });
}

void refuse_checkpoint(bool complete, const std::string& path) {
  if (!complete)
    throw ReadError(printable(path, 200) + ": is a checkpoint; finish it with `pacewise fit DATA -o MODEL --resume`");
}

}  // namespace

json number(double value) { return std::isfinite(value) ? json(value) : json(); }
json to_json(const Objective& objective) { return value_json(objective); }
json to_json(const Certificate& certificate) { return value_json(certificate); }
json to_json(const Record& record) { return value_json(record); }

json model_header(const std::string& path) {
  const ContainerReader in(path);
  parse_any(in);
  return header_of(in);
}

AnyModel load_any(const std::string& path) { return parse_any(ContainerReader(path)); }

AnyModel load_model(const std::string& path) {
  AnyModel any = load_any(path);
  refuse_checkpoint(std::visit([](const auto& m) { return m.complete; }, any), path);
  return any;
}

template <class T>
std::string to_bytes(const Model<T>& model) {
  std::string bytes;
  write_model<T>(model, [&](ContainerWriter& out) { bytes = out.bytes(); });
  return bytes;
}

AnyModel from_bytes(const std::string& name, std::string bytes) {
  return parse_any(ContainerReader(name, std::move(bytes)));
}

template <class T>
void Model<T>::save(const std::string& path) const {
  write_model<T>(*this, [&](ContainerWriter& out) { out.write(path); });
}

template <class T>
Model<T> load(const std::string& path) {
  const ContainerReader in(path);
  Model<T> model = guarded(in, [&] { return parse_model<T>(in); });
  refuse_checkpoint(model.complete, path);
  return model;
}

#define PACEWISE_INSTANTIATE(T)                           \
  template std::string to_bytes(const Model<T>&);         \
  template void Model<T>::save(const std::string&) const; \
  template Model<T> load<T>(const std::string&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

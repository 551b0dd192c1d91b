#include "options.hpp"

#include <array>
#include <functional>
#include <string_view>

namespace pacewise::python {
namespace {

constexpr std::array<std::string_view, 3> kGraphs{"none", "knn", "hypergraph"};
constexpr std::array<std::string_view, 4> kEdges{"binary", "heat", "cosine", "probabilistic"};
constexpr std::array<std::string_view, 3> kNormalize{"none", "unit", "standard"};

template <class Enum, std::size_t N>
Enum parse(const std::array<std::string_view, N>& names, const char* what, const std::string& text) {
  for (std::size_t i = 0; i < N; ++i)
    if (text == names[i]) return static_cast<Enum>(i);
  std::string rule;
  for (std::size_t i = 0; i < N; ++i)
    rule += std::string(i == 0 ? "" : i + 1 == N ? " or " : ", ") + std::string(names[i]);
  throw Error(std::string(what) + " = " + text + ": must be " + rule);
}

template <class Enum, std::size_t N>
std::string name(const std::array<std::string_view, N>& names, Enum value) {
  return std::string(names[static_cast<std::size_t>(value)]);
}

/// One option: how it is set from a Python value and how it is shown.
struct Field {
  const char* name;
  std::function<void(Options&, nb::handle)> set;
  std::function<nb::object(const Options&)> get;
};

template <class Access>
Field plain(const char* key, Access access) {
  using Value = std::remove_reference_t<decltype(access(std::declval<Options&>()))>;
  return {key, [access](Options& o, nb::handle v) { access(o) = nb::cast<Value>(v); },
          [access](const Options& o) { return nb::cast(access(const_cast<Options&>(o))); }};
}

template <class Access, class Parse, class Show>
Field text(const char* key, Access access, Parse parse_text, Show show) {
  return {key, [=](Options& o, nb::handle v) { access(o) = parse_text(nb::cast<std::string>(v)); },
          [=](const Options& o) { return nb::cast(std::string(show(access(const_cast<Options&>(o))))); }};
}

#define FIELD(member) \
  [](Options & o) -> auto& { return o.member; }

const std::vector<Field>& fields() {
  static const std::vector<Field> all{
      plain("n_components", FIELD(atoms)),
      plain("beta", FIELD(beta)),
      plain("beta_ratio", FIELD(beta_ratio)),
      plain("alpha", FIELD(alpha)),
      plain("gamma", FIELD(gamma)),
      plain("eta", FIELD(eta)),
      text("level", FIELD(schedule.level), parse_level, [](Level l) { return name_of(l); }),
      text("pace", FIELD(schedule.pace), parse_pace, [](Pace p) { return name_of(p); }),
      plain("mu", FIELD(schedule.mu)),
      plain("select", FIELD(schedule.select)),
      plain("final", FIELD(schedule.final)),
      plain("pace_iter", FIELD(schedule.pace_iter)),
      plain("plain_iter", FIELD(schedule.plain_iter)),
      plain("warm_iter", FIELD(schedule.warm_iter)),
      plain("polish", FIELD(schedule.polish)),
      plain("tol", FIELD(schedule.tol)),
      plain("max_iter", FIELD(schedule.max_iter)),
      plain("step_tol", FIELD(step_tol)),
      plain("seed", FIELD(seed)),
      text("graph", FIELD(graph.kind), parse_graph, [](GraphKind k) { return name(kGraphs, k); }),
      plain("n_neighbors", FIELD(graph.k)),
      text("graph_space", FIELD(graph.space), parse_space, [](const Space& s) { return to_string(s); }),
      text("edge_weight", FIELD(graph.weight), parse_edge_weight, [](EdgeWeight w) { return name(kEdges, w); }),
      plain("heat_width", FIELD(graph.heat_width)),
      text("normalize", FIELD(normalize), parse_normalize, [](Normalize n) { return name(kNormalize, n); }),
  };
  return all;
}

#undef FIELD

}  // namespace

GraphKind parse_graph(const std::string& given) { return parse<GraphKind>(kGraphs, "graph", given); }
EdgeWeight parse<EdgeWeight>(const std::string& given) { return parse<EdgeWeight>(kEdges, "edge_weight", given); }
Normalize parse<Normalize>(const std::string& given) { return parse<Normalize>(kNormalize, "normalize", given); }

Regularizer to_regularizer(const std::string& given, const nb::dict& parameters) {
  Regularizer out = parse_regularizer(given);
  for (const auto& [key, value] : parameters) {
    const auto parameter = nb::cast<std::string>(key);
    const auto number = nb::cast<double>(value);
    bool known = false;
    if (auto* p = std::get_if<Polynomial>(&out); p != nullptr && parameter == "power") p->power = number, known = true;
    if (auto* p = std::get_if<Logarithmic>(&out); p != nullptr && parameter == "scale") p->scale = number, known = true;
    if (auto* p = std::get_if<Mixture>(&out); p != nullptr && parameter == "ratio") p->ratio = number, known = true;
    if (!known)
      throw Error("parameter " + parameter + " = " + std::to_string(number) + ": regularizer " + given +
                  " has none of this name (polynomial: power, logarithmic: scale, mixture: ratio)");
  }
  validate(out);
  return out;
}

Options to_options(const nb::dict& given) {
  Options out =
      preset(given.contains("preset") ? parse<Preset>(nb::cast<std::string>(given["preset"])) : Preset::robust);
  nb::dict parameters;
  std::string regularizer(name_of(out.regularizer));
  for (const auto& [key, value] : given) {
    const auto wanted = nb::cast<std::string>(key);
    if (value.is_none() || wanted == "preset") continue;
    if (wanted == "regularizer") {
      regularizer = nb::cast<std::string>(value);
    } else if (wanted == "regularizer_params") {
      parameters = nb::cast<nb::dict>(value);
    } else {
      const auto field =
          std::find_if(fields().begin(), fields().end(), [&](const Field& f) { return wanted == f.name; });
      if (field == fields().end()) throw Error("option " + wanted + ": there is none of this name");
      field->set(out, value);
    }
  }
  out.regularizer = to_regularizer(regularizer, parameters);
  validate(out);
  return out;
}

nb::dict from_options(const Options& options) {
  nb::dict out;
  for (const Field& field : fields()) out[field.name] = field.get(options);
  out["regularizer"] = std::string(name_of(options.regularizer));
  return out;
}

}  // namespace pacewise::python

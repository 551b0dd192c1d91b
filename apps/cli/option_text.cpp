#include "apps/cli/option_text.hpp"

#include <array>
#include <nlohmann/json.hpp>

namespace pacewise::cli {
namespace {

constexpr std::array kGraphKinds = {"none", "knn", "hypergraph"};
constexpr std::array kEdgeWeights = {"binary", "heat", "cosine", "probabilistic"};
constexpr std::array kNormalizes = {"none", "unit", "standard"};

template <class Enum, std::size_t N>
Enum parse(const std::array<const char*, N>& names, const char* option, const std::string& text) {
  std::string all;
  for (std::size_t i = 0; i < N; ++i) {
    if (text == names[i]) return static_cast<Enum>(i);
    all += (i == 0 ? "" : i + 1 == N ? " or " : ", ") + std::string(names[i]);
  }
  throw Error(std::string(option) + " = " + text + ": must be " + all);
}

/// Reads json[name] into `value` where it is there.
template <class V>
void read(const nlohmann::json& json, const char* name, V& value) {
  if (const auto found = json.find(name); found != json.end() && !found->is_null()) value = found->get<V>();
}

template <class Parse, class V>
void read(const nlohmann::json& json, const char* name, V& value, Parse&& parse_text) {
  if (const auto found = json.find(name); found != json.end()) value = parse_text(found->get<std::string>());
}

}  // namespace

GraphKind parse_graph_kind(const std::string& text) { return parse<GraphKind>(kGraphKinds, "graph", text); }
EdgeWeight parse_edge_weight(const std::string& text) { return parse<EdgeWeight>(kEdgeWeights, "edge-weight", text); }
Normalize parse_normalize(const std::string& text) { return parse<Normalize>(kNormalizes, "normalize", text); }
std::string name_of(GraphKind kind) { return kGraphKinds[static_cast<std::size_t>(kind)]; }
std::string name_of(EdgeWeight weight) { return kEdgeWeights[static_cast<std::size_t>(weight)]; }
std::string name_of(Normalize normalize) { return kNormalizes[static_cast<std::size_t>(normalize)]; }

nlohmann::json to_json(const Options& o) {
  const ScheduleOptions& s = o.schedule;
  nlohmann::json json = {{"atoms", o.atoms},
                         {"beta", o.beta ? nlohmann::json(*o.beta) : nlohmann::json()},
                         {"beta_ratio", o.beta_ratio},
                         {"alpha", o.alpha},
                         {"gamma", o.gamma},
                         {"eta", o.eta},
                         {"regularizer", name_of(o.regularizer)},
                         {"level", name_of(s.level)},
                         {"pace", name_of(s.pace)},
                         {"mu", s.mu},
                         {"select", s.select},
                         {"final", s.final},
                         {"pace_iter", s.pace_iter},
                         {"plain_iter", s.plain_iter},
                         {"warm_iter", s.warm_iter},
                         {"polish", s.polish},
                         {"tol", s.tol},
                         {"max_iter", s.max_iter},
                         {"graph", name_of(o.graph.kind)},
                         {"k", o.graph.k},
                         {"graph_space", to_string(o.graph.space)},
                         {"edge_weight", name_of(o.graph.weight)},
                         {"normalized_laplacian", o.graph.normalized},
                         {"heat_width", o.graph.heat_width},
                         {"normalize", name_of(o.normalize)},
                         {"step_tol", o.step_tol},
                         {"memory_bytes", o.memory_bytes},
                         {"seed", o.seed}};
  if (const auto* p = std::get_if<Polynomial>(&o.regularizer)) json["power"] = p->power;
  if (const auto* p = std::get_if<Logarithmic>(&o.regularizer)) json["log_scale"] = p->scale;
  if (const auto* p = std::get_if<Mixture>(&o.regularizer)) json["mixture_ratio"] = p->ratio;
  return json;
}

Options options_from_json(const nlohmann::json& json) {
  Options o;
  ScheduleOptions& s = o.schedule;
  read(json, "atoms", o.atoms);
  if (const auto found = json.find("beta"); found != json.end() && !found->is_null()) o.beta = found->get<double>();
  read(json, "beta_ratio", o.beta_ratio);
  read(json, "alpha", o.alpha);
  read(json, "gamma", o.gamma);
  read(json, "eta", o.eta);
  read(json, "regularizer", o.regularizer, [](const std::string& t) { return parse_regularizer(t); });
  read(json, "level", s.level, [](const std::string& t) { return parse_level(t); });
  read(json, "pace", s.pace, [](const std::string& t) { return parse_pace(t); });
  read(json, "mu", s.mu);
  read(json, "select", s.select);
  read(json, "final", s.final);
  read(json, "pace_iter", s.pace_iter);
  read(json, "plain_iter", s.plain_iter);
  read(json, "warm_iter", s.warm_iter);
  read(json, "polish", s.polish);
  read(json, "tol", s.tol);
  read(json, "max_iter", s.max_iter);
  read(json, "graph", o.graph.kind, parse_graph_kind);
  read(json, "k", o.graph.k);
  read(json, "graph_space", o.graph.space, parse_space);
  read(json, "edge_weight", o.graph.weight, parse_edge_weight);
  read(json, "normalized_laplacian", o.graph.normalized);
  read(json, "heat_width", o.graph.heat_width);
  read(json, "normalize", o.normalize, parse_normalize);
  read(json, "step_tol", o.step_tol);
  read(json, "memory_bytes", o.memory_bytes);
  read(json, "seed", o.seed);
  if (auto* p = std::get_if<Polynomial>(&o.regularizer)) read(json, "power", p->power);
  if (auto* p = std::get_if<Logarithmic>(&o.regularizer)) read(json, "log_scale", p->scale);
  if (auto* p = std::get_if<Mixture>(&o.regularizer)) read(json, "mixture_ratio", p->ratio);
  return o;
}

}  // namespace pacewise::cli

#include "reproduce/study.hpp"

#include <algorithm>

namespace pacewise::reproduce {
namespace {

constexpr std::array<std::string_view, 8> kMethodNames = {"OS",  "SC",     "LSC-G",  "LSC-H",
                                                          "CSC", "SPSC-E", "SPSC-S", "SPSC-F"};
constexpr std::array<std::string_view, 4> kSourceNames = {"none", "raw", "half:40", "clean"};
constexpr std::array<std::string_view, 2> kProtocolNames = {"paper", "recommended"};
constexpr std::array<std::string_view, 4> kMetricNames = {"acc", "purity", "nmi", "ari"};
constexpr std::array<std::string_view, 4> kMetricTitles = {"ACC", "purity", "NMI", "ARI"};

template <class Enum, std::size_t N>
Enum parse(const std::array<std::string_view, N>& names, const char* what, std::string_view text) {
  std::string all;
  for (std::size_t i = 0; i < N; ++i) {
    if (text == names[i]) return static_cast<Enum>(i);
    all += (i == 0 ? "" : i + 1 == N ? " or " : ", ") + std::string(names[i]);
  }
  throw Error(std::string(what) + " = " + std::string(text) + ": must be " + all);
}

}  // namespace

std::string_view name_of(Method method) { return kMethodNames[static_cast<std::size_t>(method)]; }
std::string_view name_of(Source source) { return kSourceNames[static_cast<std::size_t>(source)]; }
std::string_view name_of(Protocol protocol) { return kProtocolNames[static_cast<std::size_t>(protocol)]; }
std::string_view name_of(Metric metric) { return kMetricNames[static_cast<std::size_t>(metric)]; }
std::string_view title_of(Metric metric) { return kMetricTitles[static_cast<std::size_t>(metric)]; }
std::string_view title_of(std::string_view dataset) {
  if (dataset == kFashion) return "Fashion-MNIST";
  return dataset == "coil20" ? "COIL20" : dataset == "mnist" ? "MNIST" : dataset == "pie" ? "CMU-PIE" : dataset;
}

std::string_view parse_dataset(std::string_view text) {
  if (text == kFashion) return kFashion;
  const auto* found = std::find(kDatasets.begin(), kDatasets.end(), text);
  if (found == kDatasets.end())
    throw Error("data set = " + std::string(text) + ": must be coil20, mnist, pie or fashion");
  return *found;
}

Method parse_method(std::string_view text) { return parse<Method>(kMethodNames, "method", text); }
Source parse_source(std::string_view text) { return parse<Source>(kSourceNames, "graph", text); }
Protocol parse_protocol(std::string_view text) { return parse<Protocol>(kProtocolNames, "protocol", text); }
Metric parse_metric(std::string_view text) { return parse<Metric>(kMetricNames, "metric", text); }

Level level_of(Method method) {
  if (method == Method::spsc_e) return Level::element;
  if (method == Method::spsc_s) return Level::sample;
  if (method == Method::spsc_f) return Level::feature;
  return Level::none;
}

Options fit_options(Method method, Source source, const Setting& setting, std::uint64_t seed, Index samples) {
  Options o;
  o.atoms = std::clamp<Index>(samples / 2, 1, 128);
  o.beta = setting.beta;
  o.alpha = setting.alpha;
  o.gamma = setting.gamma;
  if (setting.gamma > 0) o.eta = setting.eta;
  o.seed = seed;
  o.step_tol = kBudget.step_tol;
  o.k = setting.k;
  o.graph = !has_graph(method)        ? GraphKind::none
                 : method == Method::lsc_g ? GraphKind::knn
                                           : GraphKind::hypergraph;
  o.graph_space = source == Source::half ? Space{Space::Kind::half, 40} : Space{Space::Kind::raw, 0};
  o.level = level_of(method);
  o.pace = Pace::quantile;
  o.select = 0.5;
  o.final = 1;
  o.plain_iter = kBudget.plain;
  o.warm_iter = kBudget.warm;
  o.pace_iter = kBudget.pace;
  o.polish = kBudget.polish;
  o.max_iter = kBudget.iterations();
  o.tol = 0;  // nobody stops early: the methods are compared at the same number of iterations
  return o;
}

}  // namespace pacewise::reproduce

#include "apps/cli/fit_options.hpp"

#include "apps/cli/option_text.hpp"
#include "apps/cli/outcome.hpp"

namespace pacewise::cli {
namespace {

using pacewise::name_of;

template <class V>
std::string default_text(const V& value) {
  if constexpr (std::is_same_v<V, std::string>)
    return value;
  else {
    std::ostringstream out;
    out << value;
    return out.str();
  }
}

/// Sets the parameter of the regulariser that has one; another regulariser is a misuse worth a word.
template <class Type, class Set>
void set_parameter(Options& o, const char* option, Set&& set) {
  auto* type = std::get_if<Type>(&o.regularizer);
  if (type == nullptr)
    throw UsageError(std::string(option) + ": only the regularizer " + std::string(Type::name) +
                     " has it; this one is " + std::string(name_of(o.regularizer)));
  set(*type);
}

}  // namespace

template <class V>
void FitOptions::add(CLI::App& app, const char* name, V (*get)(const Options&), void (*set)(Options&, const V&),
                     const char* type, const char* help) {
  auto value = std::make_shared<V>(get(Options()));
  const std::string text = default_text(*value);
  CLI::Option* option = app.add_option_function<V>(
      name, [value](const V& v) { *value = v; }, help);
  option->group(group_)->type_name(type)->default_str(text);
  if constexpr (std::is_unsigned_v<V>) option->check(CLI::Validator(CLI::NonNegativeNumber).description(""));
  settings_.push_back({option, [value, set](Options& o) { set(o, *value); }});
}

#define PACEWISE_NUMBER(NAME, FIELD, TYPE, HELP)           \
  add<decltype(Options::FIELD)>(                           \
      app, NAME, [](const Options& o) { return o.FIELD; }, \
      [](Options& o, const decltype(Options::FIELD)& v) { o.FIELD = v; }, TYPE, HELP)
#define PACEWISE_SCHEDULE(NAME, FIELD, TYPE, HELP)                  \
  add<decltype(ScheduleOptions::FIELD)>(                            \
      app, NAME, [](const Options& o) { return o.schedule.FIELD; }, \
      [](Options& o, const decltype(ScheduleOptions::FIELD)& v) { o.schedule.FIELD = v; }, TYPE, HELP)
#define PACEWISE_WORD(NAME, FIELD, SHOW, PARSE, TYPE, HELP)                   \
  add<std::string>(                                                           \
      app, NAME, [](const Options& o) { return std::string(SHOW(o.FIELD)); }, \
      [](Options& o, const std::string& v) { o.FIELD = PARSE(v); }, TYPE, HELP)

FitOptions::FitOptions(CLI::App& app) {
  add_method(app);
  add_pace(app);
  add_graph(app);
  add_run(app);
}

void FitOptions::add_method(CLI::App& app) {
  group_ = "Model";
  preset_option_ = app.add_option("--preset", preset_, "Where the defaults come from: robust, or as in the paper")
                       ->group(group_)
                       ->type_name("robust|paper")
                       ->default_str("robust");
  PACEWISE_NUMBER("--atoms", atoms, "N", "Atoms of the dictionary, >= 1");
  add<double>(
      app, "--beta", [](const Options&) { return 0.0; }, [](Options& o, const double& v) { o.beta = v; }, "B",
      "Weight of the sparsity term, >= 0; twice the lambda of scikit-learn, SPAMS and mlpack");
  app.get_option("--beta")->default_str("by --beta-ratio");
  PACEWISE_NUMBER("--beta-ratio", beta_ratio, "R", "Beta as a share of the one at which all codes are zero, in [0, 1]");
  app.get_option("--beta-ratio")->excludes("--beta");
  PACEWISE_NUMBER("--alpha", alpha, "A", "Weight of the manifold term, >= 0");
  PACEWISE_NUMBER("--gamma", gamma, "G", "Weight of the hypergraph consistency term, >= 0");
  PACEWISE_NUMBER("--eta", eta, "E", "Ridge of the consistency map, > 0 when gamma > 0");
  PACEWISE_WORD("--normalize", normalize, cli::name_of, parse_normalize, "unit|none|standard",
                "Samples to unit norm, nothing, or features to mean 0 and deviation 1");
}

void FitOptions::add_pace(CLI::App& app) {
  group_ = "Self-paced weights";
  PACEWISE_WORD("--level", schedule.level, pacewise::name_of, parse_level, "none|sample|feature|element",
                "What carries a weight; none is ordinary sparse coding");
  PACEWISE_WORD("--regularizer", regularizer, pacewise::name_of, parse_regularizer,
                "hard|linear|polynomial|logarithmic|mixture|welsch", "How weights fall with the loss");
  PACEWISE_WORD("--pace", schedule.pace, pacewise::name_of, parse_pace, "geometric|quantile",
                "How lambda grows: by a factor, or to a share of the losses");
  PACEWISE_SCHEDULE("--mu", mu, "MU", "Geometric pace: lambda grows by this factor, > 1");
  PACEWISE_SCHEDULE("--select", select, "P", "Share of the units selected at first, in (0, 1]");
  PACEWISE_SCHEDULE("--final", final, "P", "Quantile pace: share selected at last; below 1 the worst stay out");
  PACEWISE_SCHEDULE("--pace-iter", pace_iter, "N", "Quantile pace: iterations from --select to --final");
  PACEWISE_SCHEDULE("--plain-iter", plain_iter, "N", "Iterations of plain sparse coding at the start");
  PACEWISE_SCHEDULE("--warm-iter", warm_iter, "N", "Then iterations with the graph terms, before the pace");
  PACEWISE_SCHEDULE("--polish", polish, "N", "At most this many iterations with all weights 1 at the end");
  add<double>(
      app, "--power", [](const Options&) { return Polynomial{}.power; },
      [](Options& o, const double& v) { set_parameter<Polynomial>(o, "--power", [&](auto& r) { r.power = v; }); }, "T",
      "Exponent of the polynomial regularizer, > 1");
  add<double>(
      app, "--log-scale", [](const Options&) { return Logarithmic{}.scale; },
      [](Options& o, const double& v) { set_parameter<Logarithmic>(o, "--log-scale", [&](auto& r) { r.scale = v; }); },
      "C", "Scale of the losses in the logarithmic regularizer; 0: 2 lambda");
  add<double>(
      app, "--mixture-ratio", [](const Options&) { return Mixture{}.ratio; },
      [](Options& o, const double& v) { set_parameter<Mixture>(o, "--mixture-ratio", [&](auto& r) { r.ratio = v; }); },
      "R", "lambda2 / lambda1 of the mixture regularizer, in (0, 1)");
}

void FitOptions::add_graph(CLI::App& app) {
  group_ = "Graph";
  graph_option_ = app.add_option("--graph", graph_, "Kind, or a file: adjacency or Laplacian of the samples (.mtx)")
                      ->group(group_)
                      ->type_name("none|knn|hypergraph|FILE")
                      ->default_str("hypergraph");
  PACEWISE_NUMBER("--k", graph.k, "K", "Neighbours of each sample, >= 1");
  space_ = to_string(Options().graph.space);
  space_option_ =
      app.add_option("--graph-space", space_, "Where neighbours are looked for: raw data, principal components, a file")
          ->group(group_)
          ->type_name("raw|pca:D|half:D|white:D|robust:D|FILE")
          ->default_str(space_);
  PACEWISE_WORD("--edge-weight", graph.weight, cli::name_of, parse_edge_weight, "binary|heat|cosine|probabilistic",
                "Weights of the edges");
  PACEWISE_NUMBER("--heat-width", graph.heat_width, "W", "Of the heat kernel; 0: the mean squared distance");
}

void FitOptions::add_run(CLI::App& app) {
  group_ = "Run";
  PACEWISE_SCHEDULE("--max-iter", max_iter, "N", "Iterations in all, >= 1");
  PACEWISE_SCHEDULE("--tol", tol, "T", "Relative fall of the objective that counts as none, >= 0");
  PACEWISE_NUMBER("--step-tol", step_tol, "T", "Optimality residual asked of each step, > 0");
  PACEWISE_NUMBER("--seed", seed, "N", "Same seed, same result");
}

void FitOptions::collect(FitArguments& arguments) const {
  try {
    Options& o = arguments.options = preset(parse_preset(preset_));
    if (preset_option_->count() > 0) arguments.given.emplace_back("--preset");
    for (const Setting& setting : settings_) {
      if (setting.option->count() == 0) continue;
      setting.apply(o);
      arguments.given.push_back(setting.option->get_name());
    }
    if (graph_option_->count() > 0) {
      if (graph_ == "none" || graph_ == "knn" || graph_ == "hypergraph") {
        o.graph.kind = parse_graph_kind(graph_);
        arguments.given.emplace_back("--graph");
      } else {
        arguments.graph_file = graph_;
      }
    }
    if (space_option_->count() > 0) {
      if (names_space(space_)) {
        o.graph.space = parse_space(space_);
        arguments.given.emplace_back("--graph-space");
      } else {
        arguments.points_file = space_;
      }
    }
    validate(o);
  } catch (const UsageError&) {
    throw;
  } catch (const Error& e) {
    throw UsageError(e.what());
  }
}

}  // namespace pacewise::cli

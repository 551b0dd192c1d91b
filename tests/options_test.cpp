#include "model/options.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>

namespace {

using namespace pacewise;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A field of Options, its name in messages, and the values it must not take; none for fields every value of which is
/// meaningful.
struct Field {
  std::string name;
  std::vector<std::function<void(Options&)>> bad;
};

template <class Set, class... Values>
std::vector<std::function<void(Options&)>> each(Set set, Values... values) {
  return {[set, values](Options& o) { set(o, values); }...};
}

const std::vector<Field>& fields() {
  static const std::vector<Field> table = {
      {"atoms", each([](Options& o, Index x) { o.atoms = x; }, Index{0}, Index{-4})},
      {"beta", each([](Options& o, double x) { o.beta = x; }, -0.1, kNan, kInfinity)},
      {"beta_ratio", each([](Options& o, double x) { o.beta_ratio = x; }, -0.1, 1.1, kNan)},
      {"alpha", each([](Options& o, double x) { o.alpha = x; }, -1.0, kNan, kInfinity)},
      {"gamma", each([](Options& o, double x) { o.gamma = x; }, -1.0, kNan, kInfinity)},
      {"eta", each([](Options& o, double x) { o.eta = x; }, 0.0, -2.0, kNan, kInfinity)},
      {"polynomial power", each([](Options& o, double x) { o.regularizer = Polynomial{x}; }, 1.0, kNan)},
      {"logarithmic scale", each([](Options& o, double x) { o.regularizer = Logarithmic{x}; }, -1.0, kNan)},
      {"mixture ratio", each([](Options& o, double x) { o.regularizer = Mixture{x}; }, 0.0, 1.0)},
      {"mu", each([](Options& o, double x) { o.schedule.mu = x; }, 1.0, 0.5, -2.0, kNan, kInfinity)},
      {"select", each([](Options& o, double x) { o.schedule.select = x; }, 0.0, -0.5, 1.5, kNan)},
      {"final", each([](Options& o, double x) { o.schedule.final = x; }, 0.0, -0.5, 1.5, 0.3, kNan)},
      {"pace_iter", each([](Options& o, int x) { o.schedule.pace_iter = x; }, 0, -1)},
      {"plain_iter", each([](Options& o, int x) { o.schedule.plain_iter = x; }, -1)},
      {"warm_iter", each([](Options& o, int x) { o.schedule.warm_iter = x; }, -1)},
      {"polish", each([](Options& o, int x) { o.schedule.polish = x; }, -1)},
      {"tol", each([](Options& o, double x) { o.schedule.tol = x; }, -1e-3, kNan, kInfinity)},
      {"max_iter", each([](Options& o, int x) { o.schedule.max_iter = x; }, 0, -7)},
      {"k", each([](Options& o, Index x) { o.graph.k = x; }, Index{0}, Index{-1})},
      {"graph_space dimensions", each([](Options& o, Index x) { o.graph.space.dimensions = x; }, Index{0}, Index{-1})},
      {"heat_width", each([](Options& o, double x) { o.graph.heat_width = x; }, -1.0, kNan, kInfinity)},
      {"step_tol", each([](Options& o, double x) { o.step_tol = x; }, 0.0, -1e-3, kNan, kInfinity)},
      {"level", {}},
      {"pace", {}},
      {"graph kind", {}},
      {"graph space kind", {}},
      {"edge weight", {}},
      {"normalized", {}},
      {"graph seed", {}},
      {"normalize", {}},
      {"memory_bytes", {}},
      {"seed", {}},
  };
  return table;
}

TEST(Options, EveryBadValueIsRejectedByName) {
  for (const auto& field : fields())
    for (std::size_t i = 0; i < field.bad.size(); ++i) {
      Options options;
      field.bad[i](options);
      try {
        validate(options);
        ADD_FAILURE() << field.name << ": bad value " << i << " was taken";
      } catch (const Error& e) {
        const std::string text = e.what();
        EXPECT_EQ(text.rfind(field.name + " = ", 0), 0u) << text << ": must begin with the name and the value";
        EXPECT_NE(text.find("must "), std::string::npos) << text;
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
      }
    }
}

TEST(Options, NoFieldIsForgotten) {
  // A structured binding names all members: a new one does not compile until it is listed here and in the table above.
  const Options options;
  const auto& [atoms, beta, beta_ratio, alpha, gamma, eta, regularizer, schedule, graph, normalize, step_tol,
               memory_bytes, seed] = options;
  const auto& [level, pace, mu, select, final, pace_iter, plain_iter, warm_iter, polish, tol, max_iter] = schedule;
  const auto& [kind, k, space, weight, normalized, heat_width, graph_seed] = graph;
  const auto& [space_kind, dimensions] = space;
  constexpr std::size_t options_leaves = 13 - 3, schedule_leaves = 11, graph_leaves = 7 - 1, space_leaves = 2;
  // three of the six regularisers have a parameter
  EXPECT_EQ(fields().size(), options_leaves + 3 + schedule_leaves + graph_leaves + space_leaves);
  std::set<std::string> names;
  for (const auto& field : fields()) EXPECT_TRUE(names.insert(field.name).second) << field.name << " is there twice";
  const std::set<const void*> members = {
      &atoms,     &beta,         &beta_ratio, &alpha,      &gamma,      &eta,       &regularizer, &normalize,
      &step_tol,  &memory_bytes, &seed,       &level,      &pace,       &mu,        &select,      &final,
      &pace_iter, &plain_iter,   &warm_iter,  &polish,     &tol,        &max_iter,  &kind,        &k,
      &weight,    &normalized,   &heat_width, &graph_seed, &space_kind, &dimensions};
  EXPECT_EQ(members.size(), options_leaves + 1 + schedule_leaves + graph_leaves + space_leaves);
}

TEST(Options, DefaultsAndPresetsAreValid) {
  EXPECT_NO_THROW(validate(Options{}));
  EXPECT_NO_THROW(validate(preset(Preset::robust)));
  EXPECT_NO_THROW(validate(preset(Preset::paper)));
  const Options paper = preset(Preset::paper);
  EXPECT_EQ(name_of(paper.regularizer), "linear");
  EXPECT_EQ(paper.schedule.pace, Pace::geometric);
  EXPECT_EQ(paper.schedule.mu, 1.2);
  EXPECT_EQ(paper.schedule.select, 0.5);
  EXPECT_EQ(paper.graph.kind, GraphKind::hypergraph);
  EXPECT_EQ(paper.graph.space.kind, Space::Kind::raw);
  EXPECT_EQ(paper.graph.k, 3);
  EXPECT_EQ(paper.graph.weight, EdgeWeight::binary);
  EXPECT_EQ(to_string(preset(Preset::robust).graph.space), "robust:40");
  EXPECT_EQ(preset(Preset::robust).graph.k, 5);
  EXPECT_EQ(parse_preset("paper"), Preset::paper);
  EXPECT_EQ(parse_preset("robust"), Preset::robust);
  EXPECT_THROW(parse_preset("best"), Error);
}

TEST(Options, BoundariesAreAllowed) {
  Options o;
  o.atoms = 1;
  o.beta = 0;
  o.beta_ratio = 1;
  o.alpha = o.gamma = o.eta = 0;
  o.schedule.select = o.schedule.final = 1;
  o.schedule.pace_iter = o.schedule.max_iter = 1;
  o.schedule.plain_iter = o.schedule.warm_iter = o.schedule.polish = 0;
  o.schedule.tol = 0;
  EXPECT_NO_THROW(validate(o));
  o = {};
  o.schedule.pace = Pace::geometric;
  o.schedule.final = 0.3;  // below select: only the quantile pace reads it
  EXPECT_NO_THROW(validate(o));
}

}  // namespace

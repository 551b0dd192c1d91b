#include "pacewise/options.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "model/options_json.hpp"
#include "pacewise/error.hpp"

namespace {

using namespace pacewise;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The regulariser that has the parameter, where the row is one.
Options options_for(const Option& row) {
  Options options;
  if (!row.regularizer.empty()) options.regularizer = parse_regularizer(row.regularizer);
  return options;
}

/// Values just outside the range, and of other types.
std::vector<OptionValue> bad_values(const Option& row) {
  using Type = Option::Type;
  const std::string word = "no such word";
  if (row.type == Type::flag) return {word, 2.0, std::int64_t{1}};
  if (row.type == Type::choice) return {word, "knn:3", "raw:3", "pca", "pca:0", "pca:x", "", 1.0, true};
  const auto lower = static_cast<std::int64_t>(row.range.lower);
  if (row.type == Type::integer) return {lower - 1, lower - 7, 1.5, kNan, kInfinity, 1e30, word, true};
  std::vector<double> bad = {kNan, kInfinity, -kInfinity,
                             row.range.lower_open ? row.range.lower : row.range.lower - 0.1};
  if (std::isfinite(row.range.upper)) bad.push_back(row.range.upper_open ? row.range.upper : row.range.upper + 0.1);
  std::vector<OptionValue> out = {word, true, std::monostate()};
  for (const double x : bad) {
    if (row.type == Type::numbers)
      out.emplace_back(std::vector<double>{1, x});
    else
      out.emplace_back(x);
  }
  return out;
}

template <class Call>
void expect_one_line(Call&& call, const std::string& name, const std::string& value, const std::string& rule) {
  try {
    call();
    ADD_FAILURE() << name << " = " << value << " was taken";
  } catch (const Error& e) {
    const std::string text = e.what();
    EXPECT_EQ(text.rfind(name + " = " + value, 0), 0u) << text << ": must begin with the name and the value";
    EXPECT_NE(text.find(": must be "), std::string::npos) << text;
    EXPECT_NE(text.find(rule), std::string::npos) << text << ": must hold the rule " << rule;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

TEST(Options, EveryBadValueIsRefusedByNameValueAndRule) {
  for (const Option& row : option_table())
    for (const OptionValue& bad : bad_values(row)) {
      Options options = options_for(row);
      const std::string value = bad.index() == 5 ? "" : to_text(bad);
      expect_one_line([&] { row.set(options, bad); }, row.name, value, row.rule());
    }
}

TEST(Options, ValuesSetPastTheTableAreRefusedToo) {
  for (const Option& row : option_table()) {
    if (row.type == Option::Type::choice || row.type == Option::Type::flag) continue;
    for (const OptionValue& bad : bad_values(row)) {
      if (bad.index() != static_cast<std::size_t>(row.type) + 1) continue;
      Options options = options_for(row);
      row.assign(options, bad);
      expect_one_line([&] { validate(options); }, row.name, "", row.rule());
    }
  }
}

TEST(Options, RulesBetweenOptions) {
  struct Clash {
    Options options;
    const char *name, *value, *rule;
  };
  const Options groups{.level = Level::group, .shape = Shape{2, 2}, .pace = Pace::quantile};
  for (const auto& [options, name, value, rule] : std::vector<Clash>{
           {{.eta = 0}, "eta", "0", "> 0 when gamma > 0"},
           {{.pace = Pace::quantile, .final = 0.3}, "final", "0.3", "at least `select`"},
           {{.final = 0.3}, "final", "0.3", "left alone where the pace is descending"},
           {{.atoms = 3, .atom_penalty = {1, 2}}, "atom_penalty", "2 numbers", "one for each of the 3 atoms"},
           {{.graph_space = {Space::Kind::pca, 0}}, "graph_space", "pca:0", "pca:D"},
           {groups, "pace", "quantile", "descending"},
           {{.window = 4}, "window", "4", "odd"},
           {{.groups = {1, 2}, .shape = Shape{1, 2}}, "shape", "1x2", "groups"}})
    expect_one_line([&] { validate(options); }, name, value, rule);
  Options meant{.final = 0.9};
  imply_pace(meant);
  Options grouped{.level = Level::group}, entries;
  imply_regularizer(grouped);
  imply_regularizer(entries);
  EXPECT_TRUE(std::holds_alternative<Welsch>(grouped.regularizer));
  EXPECT_TRUE(std::holds_alternative<Linear>(entries.regularizer));
  EXPECT_EQ(meant.pace, Pace::quantile) << "nobody named another";
  EXPECT_NO_THROW(validate({.pace = Pace::geometric, .final = 0.3})) << "only the quantile pace reads final";
  EXPECT_NO_THROW(validate({.gamma = 0, .eta = 0}));
  EXPECT_NO_THROW(validate({.atoms = kAuto, .beta = kAuto}));
  expect_one_line([] { parse_shape("3by4"); }, "shape", "3by4", "ROWSxCOLUMNS");
  Options linear;
  EXPECT_THROW(find_option("power")->set(linear, 2.0), Error) << "the linear regulariser has no power";
}

TEST(Options, NoFieldIsForgotten) {
  // A structured binding names all members: a new one does not compile until it is here, and counted.
  const auto [kind, atoms, beta, beta_ratio, l2, atom_penalty, positive_codes, positive_atoms, alpha, gamma, eta,
              normalize, missing, offset, level, groups, shape, window, regularizer, pace, mu, select, final, pace_iter,
              lambda_scale, hidden, stage_iter, plain_iter, warm_iter, polish, contamination, graph, k, graph_space,
              edge_weight, heat_width, normalized_laplacian, max_iter, tol, exact_steps, step_tol, seed] = Options{};
  constexpr std::size_t members = 42;
  std::set<std::string> rows;
  for (const Option& row : option_table()) {
    if (row.regularizer.empty()) {
      EXPECT_TRUE(rows.insert(row.name).second) << row.name << " is there twice";
    }
    EXPECT_FALSE(row.help.empty() || row.group.empty()) << row.name;
    EXPECT_EQ(find_option(row.name), &row);
    EXPECT_EQ(find_option(row.python), &row);
  }
  EXPECT_EQ(rows.size(), members);
}

TEST(Options, EachRowReadsAndWritesItsOwnMember) {
  for (const Option& row : option_table()) {
    Options changed = options_for(row);
    const Options before = changed;
    OptionValue other = std::vector<double>(128, 2.0);
    if (row.type == Option::Type::flag) other = !std::get<bool>(row.get(before));
    if (row.type == Option::Type::integer) {
      const OptionValue now = row.get(before);  // or auto
      other = now.index() == 2 ? std::get<std::int64_t>(now) + 1 : 7;
    }
    if (row.type == Option::Type::real) other = row.range.upper <= 1 ? 0.4375 : 3.25;
    if (row.name == "shape")
      other = std::string("3x4");
    else if (row.type == Option::Type::choice)
      other = row.choices.front() == to_text(row.get(before)) ? row.choices.back() : row.choices.front();
    row.set(changed, other);
    EXPECT_EQ(row.get(changed), other) << row.name;
    for (const Option& another : option_table())
      if (another.name != row.name && (row.name != "regularizer" || another.regularizer.empty())) {
        EXPECT_EQ(another.get(changed), another.get(before)) << row.name << " changes " << another.name;
      }
  }
}

TEST(Options, TextComesBack) {
  for (const Preset which : {Preset::robust, Preset::paper})
    for (const Option& row : option_table()) {
      const OptionValue value = row.get(preset(which));
      if (value.index() == 0) continue;
      EXPECT_EQ(row.parse(to_text(value)), value) << row.name;
    }
  EXPECT_EQ(find_option("atoms")->parse("auto"), OptionValue(std::string("auto")));
  EXPECT_EQ(find_option("beta")->get({.beta = kAuto}), OptionValue(std::string("auto")));
  expect_one_line([] { find_option("atoms")->parse("12x"); }, "atoms", "12x", "an integer >= 1, or auto");
  expect_one_line([] { find_option("seed")->parse("99999999999999999999"); }, "seed", "99999999999999999999",
                  "integer");
}

TEST(Options, DefaultsAndPresetsAreValid) {
  const Options robust = preset(Preset::robust), paper = preset(Preset::paper);
  for (const Options& options : {Options{}, robust, paper}) EXPECT_NO_THROW(validate(options));
  EXPECT_EQ(name_of(paper.regularizer), "linear");
  EXPECT_EQ(to_string(paper.graph_space) + ", " + to_string(robust.graph_space), "raw, robust:40");
  EXPECT_TRUE(paper.pace == Pace::geometric && paper.mu == 1.2 && paper.select == 0.5);
  EXPECT_TRUE(paper.graph == GraphKind::hypergraph && paper.edge_weight == EdgeWeight::binary);
  EXPECT_TRUE(paper.k == 3 && robust.k == 5);
  EXPECT_EQ(parse<Preset>("paper"), Preset::paper);
  expect_one_line([] { parse<Preset>("best"); }, "preset", "best", "robust or paper");
}

TEST(Options, BoundariesAreAllowed) {
  for (const Option& row : option_table())
    for (const double bound : {row.range.lower, row.range.upper}) {
      if (row.type != Option::Type::real && row.type != Option::Type::integer) continue;
      if (!row.range.contains(bound)) continue;
      Options options = options_for(row);
      EXPECT_NO_THROW(row.set(options, bound)) << row.name;
    }
}

TEST(OptionsJson, EveryOptionComesBack) {
  const Options given{.atoms = 3,
                      .beta = 0.25,
                      .atom_penalty = {1, 0, 2.5},
                      .positive_codes = true,
                      .regularizer = Mixture{.ratio = 0.125},
                      .graph_space = {Space::Kind::half, 7},
                      .normalized_laplacian = false,
                      .seed = 9007199254740993};
  const Options read = options_from_json(nlohmann::json::parse(to_json(given).dump()));
  for (const Option& row : option_table()) EXPECT_EQ(row.get(read), row.get(given)) << row.name;
  EXPECT_EQ(to_json(given).size(), option_table().size());
}

TEST(OptionsJson, NamesOfOlderFilesAreKnownAndBadValuesRefused) {
  const Options read = options_from_json(
      {{"n_components", 7}, {"regularizer", "logarithmic"}, {"scale", 2}, {"memory_bytes", 0}, {"beta", nullptr}});
  EXPECT_EQ(read.atoms, 7);
  EXPECT_EQ(std::get<Logarithmic>(read.regularizer).scale, 2);
  EXPECT_FALSE(read.beta);
  EXPECT_EQ(read.k, Options().k);
  EXPECT_THROW(options_from_json({{"atoms", 0}}), Error);
  EXPECT_THROW(options_from_json({{"atoms", "many"}}), Error);
  EXPECT_THROW(options_from_json({{"level", 3}}), Error);
  EXPECT_THROW(options_from_json({{"alpha", {{"a", 1}}}}), Error);
  EXPECT_THROW(options_from_json({{"atom_penalty", {1, "a"}}}), Error);
}

}  // namespace

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "pacewise/error.hpp"
#include "pacewise/options.hpp"

namespace pacewise {
namespace {

using Type = Option::Type;
constexpr std::string_view kAutoName = "auto";

template <class Words>
std::string alternatives(const Words& words) {
  std::string all;
  for (std::size_t i = 0; i < words.size(); ++i)
    all += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + std::string(words[i]);
  return all;
}

template <class Number>
bool read_number(std::string_view text, Number& value) {
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && stop == text.data() + text.size() && !text.empty();
}

// ---- rows: the type follows from the member

template <class Number>
concept Integer = std::is_integral_v<Number> && !std::is_same_v<Number, bool>;

template <Integer Member>
void bind(Option& row, Member Options::*member) {
  row.type = Type::integer;
  if constexpr (sizeof(Member) < sizeof(std::int64_t)) row.range.upper = std::numeric_limits<Member>::max();
  row.get = [member](const Options& o) { return static_cast<std::int64_t>(o.*member); };
  row.assign = [member](Options& o, const OptionValue& v) {
    o.*member = static_cast<Member>(std::get<std::int64_t>(v));
  };
}
void bind(Option& row, double Options::*member) {
  row.get = [member](const Options& o) { return o.*member; };
  row.assign = [member](Options& o, const OptionValue& v) { o.*member = std::get<double>(v); };
}
void bind(Option& row, std::optional<double> Options::*member) {
  row.get = [member](const Options& o) { return o.*member ? OptionValue(*(o.*member)) : OptionValue(); };
  row.assign = [member](Options& o, const OptionValue& v) { o.*member = std::get<double>(v); };
}
void bind(Option& row, bool Options::*member) {
  row.type = Type::flag;
  row.get = [member](const Options& o) { return o.*member; };
  row.assign = [member](Options& o, const OptionValue& v) { o.*member = std::get<bool>(v); };
}
void bind(Option& row, std::vector<double> Options::*member) {
  row.type = Type::numbers;
  row.get = [member](const Options& o) { return (o.*member).empty() ? OptionValue() : OptionValue(o.*member); };
  row.assign = [member](Options& o, const OptionValue& v) { o.*member = std::get<std::vector<double>>(v); };
}
template <class Enum>
requires std::is_enum_v<Enum>
void bind(Option& row, Enum Options::*member) {
  row.type = Type::choice;
  row.choices.assign(words<Enum>.names.begin(), words<Enum>.names.end());
  row.get = [member](const Options& o) { return std::string(name_of(o.*member)); };
  row.assign = [member](Options& o, const OptionValue& v) { o.*member = parse<Enum>(std::get<std::string>(v)); };
}
void bind(Option& row, Space Options::*member) {
  row.type = Type::choice;
  for (const std::string_view name : words<Space::Kind>.names)
    row.choices.push_back(std::string(name) + (row.choices.empty() ? "" : ":D"));
  row.get = [member](const Options& o) { return to_string(o.*member); };
  row.assign = [member](Options& o, const OptionValue& v) { o.*member = parse_space(std::get<std::string>(v)); };
}
void bind(Option& row, std::optional<Shape> Options::*member) {
  row.type = Type::choice;
  row.choices = {"ROWSxCOLUMNS"};
  row.get = [member](const Options& o) { return o.*member ? OptionValue(to_string(*(o.*member))) : OptionValue(); };
  row.assign = [member](Options& o, const OptionValue& v) { o.*member = parse_shape(std::get<std::string>(v)); };
}
void bind(Option& row, Regularizer Options::*member) {
  row.type = Type::choice;
  for (const std::string_view name : regularizer_names()) row.choices.emplace_back(name);
  row.get = [member](const Options& o) { return std::string(name_of(o.*member)); };
  row.assign = [member](Options& o, const OptionValue& v) {
    const auto& name = std::get<std::string>(v);
    if (name != name_of(o.*member)) o.*member = parse_regularizer(name);
  };
}

/// The row takes the word auto, too.
void allow_auto(Option& row) {
  row.automatic = true;
  const OptionValue chosen = row.type == Type::integer ? OptionValue(std::int64_t{kAuto}) : OptionValue(double{kAuto});
  row.get = [get = row.get, chosen](const Options& o) {
    const OptionValue value = get(o);
    return value == chosen ? OptionValue(std::string(kAutoName)) : value;
  };
  row.assign = [assign = row.assign, chosen](Options& o, const OptionValue& v) {
    assign(o, std::holds_alternative<std::string>(v) ? chosen : v);
  };
}

/// Of a regulariser: set where it is the one chosen.
template <class Regularizer_>
Option row_of(const Parameter<Regularizer_>& parameter) {
  Option row;
  row.name = parameter.name;
  row.range = parameter.range;
  row.help = parameter.help;
  row.regularizer = Regularizer_::name;
  if (!parameter.old_name.empty()) row.old_names.emplace_back(parameter.old_name);
  const auto member = parameter.member;
  row.get = [member](const Options& o) {
    const auto* type = std::get_if<Regularizer_>(&o.regularizer);
    return type != nullptr ? OptionValue(type->*member) : OptionValue();
  };
  row.assign = [member, name = row.name](Options& o, const OptionValue& v) {
    auto* type = std::get_if<Regularizer_>(&o.regularizer);
    if (type == nullptr)
      throw Error(name + " = " + to_text(v) + ": only the regularizer " + std::string(Regularizer_::name) +
                  " has it; this one is " + std::string(name_of(o.regularizer)));
    type->*member = std::get<double>(v);
  };
  return row;
}

/// For the test that a new option appears everywhere: PACEWISE_TEST_OPTION=name adds a real number in [0, 1].
void add_test_option(std::vector<Option>& table) {
  const char* name = std::getenv("PACEWISE_TEST_OPTION");
  if (name == nullptr) return;
  static double value = 0.25;
  Option row;
  row.name = name;
  row.group = "Run";
  row.range = {0, 1};
  row.help = "An option of the tests";
  row.get = [](const Options&) { return value; };
  row.assign = [](Options&, const OptionValue& v) { value = std::get<double>(v); };
  table.push_back(row);
}

/// A group of rows, one call for each.
class Table {
 public:
  std::vector<Option> rows;
  void group(const char* name) { group_ = name; }
  template <class Member>
  Option& add(const char* name, const char* symbol, Member Options::*member, const char* help, Range range = {},
              const char* remark = "") {
    Option row;
    row.name = name;
    row.symbol = symbol;
    row.help = help;
    row.remark = remark;
    row.range = range;
    bind(row, member);
    return add(std::move(row));
  }
  Option& add(Option row) {
    row.group = group_;
    return rows.emplace_back(std::move(row));
  }

 private:
  std::string group_;
};

std::vector<Option> make_table() {
  constexpr Range share = {0, 1, true, false};
  Table t;
  using O = Options;
  t.group("Model");
  t.add("kind", "", &O::kind, "What the data are, from which defaults follow; auto: found out, and said");
  t.add("atoms", "r", &O::atoms, "Atoms of the dictionary; auto: chosen by hidden entries, and beta with them",
        at_least(1))
      .python = "n_components";
  allow_auto(t.rows.back());
  t.add("beta", "beta", &O::beta, "Weight of the sparsity term: twice the lambda of scikit-learn, SPAMS and mlpack",
        at_least(0));
  allow_auto(t.rows.back());
  t.add("beta_ratio", "", &O::beta_ratio,
        "Used when beta is not given: beta as a share of the one at which all codes are zero; else chosen with the "
        "atoms, or 0.01 where they are given",
        {0, 1}, "1 is where all codes are zero");
  t.add("l2", "", &O::l2, "Weight of the squared codes; with beta the elastic net", at_least(0));
  t.add("atom_penalty", "", &O::atom_penalty, "Factors of beta, one for each atom; without them all are 1",
        at_least(0));
  t.add("positive_codes", "", &O::positive_codes, "Codes >= 0");
  t.add("positive_atoms", "", &O::positive_atoms, "Atoms >= 0");
  t.add("alpha", "alpha", &O::alpha, "Weight of the manifold term", at_least(0));
  t.add("gamma", "gamma", &O::gamma, "Weight of the hypergraph consistency term", at_least(0));
  t.add("eta", "eta", &O::eta, "Ridge of the consistency map", at_least(0));
  t.add("normalize", "", &O::normalize,
        "Samples to unit norm, features to mean 0 and deviation 1 (standard) or the like without gross outliers "
        "(robust), or nothing");
  t.add("missing", "", &O::missing, "A value that means missing, as NaN does: -999, or the no-data value of a picture");
  t.add("offset", "b", &O::offset, "Learn an offset for each feature, which is added to B S");

  t.group("Self-paced weights");
  t.add("level", "", &O::level, "What carries a weight; none is ordinary sparse coding");
  t.add("groups", "", &O::groups, "Level group: a label for each feature; features of one label share a weight",
        at_least(0));
  t.add("shape", "", &O::shape, "Level group: the features are the pixels of images of this shape, row after row");
  t.add("window", "", &O::window, "Level group, with shape: the side of the square around each pixel, an odd number",
        at_least(1));
  t.add("regularizer", "F", &O::regularizer, "How weights fall with the loss; level group: welsch where none is named");
  for_each_regularizer(
      [&](const auto& type) { for_each_parameter(type, [&](const auto& parameter) { t.add(row_of(parameter)); }); });
  t.add("pace", "", &O::pace,
        "How lambda moves: up by a factor or to a share of the losses, or down to where hidden entries are predicted "
        "best");
  t.add("mu", "mu", &O::mu, "Geometric pace: lambda grows by this factor", above(1));
  t.add("select", "", &O::select, "Share of the units selected at first", share);
  t.add("final", "", &O::final, "Quantile pace: share selected at last; below 1 the worst units stay out", share);
  t.add("pace_iter", "", &O::pace_iter, "Quantile pace: iterations from select to final; 8 where polish is 0",
        at_least(1));
  t.add("lambda_scale", "", &O::lambda_scale,
        "Descending pace: end where lambda is this many robust scales of the residuals; else hidden entries choose",
        above(0));
  t.add("hidden", "", &O::hidden, "Descending pace: share of the entries hidden to choose where it ends",
        {0, 0.5, true, false});
  t.add("stage_iter", "", &O::stage_iter, "Descending pace: iterations at every lambda", at_least(1));
  t.add("plain_iter", "", &O::plain_iter, "Iterations of plain sparse coding at the start", at_least(0));
  t.add("warm_iter", "", &O::warm_iter, "Iterations with the graph terms after that, before the pace", at_least(0));
  t.add("polish", "", &O::polish, "At most this many iterations with all weights 1 at the end", at_least(0));
  t.add("contamination", "", &O::contamination,
        "Share of the training samples that are called outliers; else those with unusual scores",
        {0, 0.5, true, false});

  t.group("Graph");
  t.add("graph", "", &O::graph, "Kind of graph; none switches alpha and gamma off");
  t.add("k", "k", &O::k, "Neighbours of each sample", at_least(1)).python = "n_neighbors";
  t.add("graph_space", "", &O::graph_space, "Where neighbours are looked for: the data, or D principal components");
  t.add("edge_weight", "", &O::edge_weight, "Weights of the edges");
  t.add("heat_width", "", &O::heat_width, "Width of the heat kernel; 0: the mean squared distance", at_least(0));
  t.add("normalized_laplacian", "", &O::normalized_laplacian,
        "Laplacian of a kNN graph normalised: 1 - D^-1/2 A D^-1/2, not D - A");

  t.group("Run");
  t.add("max_iter", "", &O::max_iter, "Iterations in all", at_least(1));
  t.add("tol", "", &O::tol, "Relative fall of the objective that counts as none", at_least(0));
  t.add("exact_steps", "", &O::exact_steps,
        "Solve every step to step_tol; else cheap steps until the objective stalls");
  t.add("step_tol", "", &O::step_tol, "Optimality residual asked of each step at the end", above(0));
  t.add("seed", "", &O::seed, "Same seed, same result", at_least(0)).python = "random_state";
  add_test_option(t.rows);
  for (Option& row : t.rows)
    if (row.python.empty()) row.python = row.name;
  return t.rows;
}

void check(const Option& row, const OptionValue& value, std::string_view called) {
  const auto in_range = [&](double x) {
    if (row.range.contains(x)) return;
    const bool infinite = std::isinf(x) && !std::isfinite(x > 0 ? row.range.upper : row.range.lower);
    refuse(called, to_text(x), (infinite && row.rule() != "finite" ? "finite and " : "") + row.rule(), row.remark);
  };
  if (const auto* x = std::get_if<double>(&value)) in_range(*x);
  if (const auto* i = std::get_if<std::int64_t>(&value))
    if (!row.range.contains(static_cast<double>(*i)))
      refuse(called, std::to_string(*i), static_cast<double>(*i) > row.range.upper ? "smaller" : row.rule(),
             row.remark);
  if (const auto* v = std::get_if<std::vector<double>>(&value))
    for (const double x : *v) in_range(x);
}

}  // namespace

// ---- words

std::size_t find_word(std::string_view option, std::span<const std::string_view> names, std::string_view text) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) refuse(option, std::string(text), alternatives(names));
  return static_cast<std::size_t>(found - names.begin());
}

Space parse_space(std::string_view text) {
  const auto& names = words<Space::Kind>.names;
  const std::size_t colon = text.find(':');
  const auto name = std::find(names.begin(), names.end(), text.substr(0, colon));
  Space space{static_cast<Space::Kind>(name - names.begin()), 0};
  const bool raw = space.kind == Space::Kind::raw;
  const bool dimensions = colon != std::string_view::npos && read_number(text.substr(colon + 1), space.dimensions);
  if (name == names.end() || (raw ? colon != std::string_view::npos : !dimensions || space.dimensions < 1))
    refuse("graph_space", std::string(text), find_option("graph_space")->rule(), "D is an integer >= 1");
  return space;
}

std::string to_string(const Space& space) {
  const std::string name(name_of(space.kind));
  return space.kind == Space::Kind::raw ? name : name + ":" + std::to_string(space.dimensions);
}

Shape parse_shape(std::string_view text) {
  Shape shape;
  const std::size_t times = text.find('x');
  if (times == std::string_view::npos || !read_number(text.substr(0, times), shape.rows) ||
      !read_number(text.substr(times + 1), shape.columns) || shape.rows < 1 || shape.columns < 1)
    refuse("shape", std::string(text), find_option("shape")->rule(), "such as 28x28");
  return shape;
}

std::string to_string(const Shape& shape) { return std::to_string(shape.rows) + "x" + std::to_string(shape.columns); }

std::vector<std::string_view> regularizer_names() {
  std::vector<std::string_view> names;
  for_each_regularizer([&](const auto& type) { names.push_back(type.name); });
  return names;
}

Regularizer parse_regularizer(std::string_view name) {
  std::optional<Regularizer> out;
  for_each_regularizer([&](const auto& type) {
    if (type.name == name) out = type;
  });
  if (!out) refuse("regularizer", std::string(name), alternatives(regularizer_names()));
  return *out;
}

void validate(const Regularizer& regularizer) {
  std::visit(
      [](const auto& type) {
        for_each_parameter(type, [&](const auto& p) { require(p.range, p.name, type.*p.member); });
      },
      regularizer);
}

std::string to_text(const OptionValue& value) {
  struct Writer {
    std::string operator()(std::monostate) const { return "none"; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return to_text(v); }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(const std::vector<double>& v) const { return std::to_string(v.size()) + " numbers"; }
  };
  return std::visit(Writer(), value);
}

// ---- the table

const std::vector<Option>& option_table() {
  static const std::vector<Option> table = make_table();
  return table;
}

const Option* find_option(std::string_view name) {
  for (const Option& row : option_table())
    if (name == row.name || name == row.python ||
        std::find(row.old_names.begin(), row.old_names.end(), name) != row.old_names.end())
      return &row;
  return nullptr;
}

std::string Option::rule() const {
  const std::string otherwise = automatic ? ", or auto" : "";
  switch (type) {
    case Type::integer: {
      Range shown = range;
      if (shown.upper >= std::numeric_limits<int>::max()) shown.upper = std::numeric_limits<double>::infinity();
      return "an integer " + shown.rule() + otherwise;
    }
    case Type::real:
      return range.rule() + otherwise;
    case Type::flag:
      return "true or false";
    case Type::numbers:
      return "numbers " + range.rule();
    case Type::choice:
      break;
  }
  return alternatives(choices);
}

bool Option::names(std::string_view text) const {
  const auto word = [](std::string_view of) { return of.substr(0, of.find(':')); };
  return std::any_of(choices.begin(), choices.end(), [&](const std::string& c) { return word(c) == word(text); });
}

OptionValue Option::parse(const std::string& text) const {
  std::int64_t integer = 0;
  double real = 0;
  if (automatic && text == kAutoName) return text;
  if (type == Type::integer && read_number(text, integer)) return integer;
  if ((type == Type::real || type == Type::numbers) && read_number(text, real)) {
    if (type == Type::numbers) return std::vector<double>{real};
    return real;
  }
  if (type == Type::flag && (text == "true" || text == "false")) return text == "true";
  if (type == Type::choice) return text;
  refuse(name, text, rule(), remark);
}

void Option::set(Options& options, const OptionValue& value, std::string_view called) const {
  if (called.empty()) called = name;
  OptionValue given = value;
  const auto* real = std::get_if<double>(&value);
  if (const auto* i = std::get_if<std::int64_t>(&value); i != nullptr && type == Type::real)
    given = static_cast<double>(*i);
  if (real != nullptr && type == Type::integer && std::floor(*real) == *real && std::abs(*real) < 0x1p53)
    given = static_cast<std::int64_t>(*real);
  const bool chosen = automatic && value == OptionValue(std::string(kAutoName));
  if (!chosen && given.index() != static_cast<std::size_t>(type) + 1) refuse(called, to_text(value), rule(), remark);
  check(*this, given, called);
  assign(options, given);
}

namespace {

constexpr const char* kOfQuantilePace[] = {"select", "final", "pace_iter"};

bool differs(const Options& options, const char* name) {
  const Option& row = *find_option(name);
  return row.get(options) != row.get(Options());
}

}  // namespace

void imply_pace(Options& options) {
  if (options.pace != Pace::descending) return;
  for (const char* name : kOfQuantilePace)
    if (differs(options, name)) options.pace = Pace::quantile;
}

void imply_regularizer(Options& options) {
  if (options.level == Level::group) options.regularizer = Welsch{};
}

Options preset(Preset which, Kind kind) {
  Options options;
  if (which == Preset::robust && kind == Kind::table) {
    options.kind = kind;
    options.atoms = 16;
    options.beta_ratio = 0.003;
    options.l2 = 0.3;
    options.normalize = Normalize::robust;
    options.offset = true;
    options.alpha = 1;
    options.gamma = 0.1;
  }
  if (which == Preset::paper) {
    options.kind = Kind::images;
    options.atoms = 128;
    options.beta_ratio = kBetaRatio;
    options.pace = Pace::geometric;
    options.graph_space = {Space::Kind::raw, 0};
    options.k = 3;
    options.plain_iter = options.warm_iter = 5;
    options.exact_steps = true;
  }
  return options;
}

void validate(const Options& o) {
  for (const Option& row : option_table()) check(row, row.get(o), row.name);
  if (o.graph_space.kind != Space::Kind::raw) static_cast<void>(parse_space(to_string(o.graph_space)));
  if (o.eta < 1e-100 && o.gamma > 0)
    refuse("eta", to_text(o.eta), o.eta > 0 ? ">= 1e-100 when gamma > 0" : "> 0 when gamma > 0",
           "without a ridge the consistency map is not unique");
  if (o.pace == Pace::descending && o.level != Level::none)
    for (const char* name : kOfQuantilePace)
      if (differs(o, name))
        refuse(name, to_text(find_option(name)->get(o)), "left alone where the pace is descending",
               "pace = quantile reads it");
  if (o.level == Level::group && o.pace != Pace::descending)
    refuse("pace", std::string(name_of(o.pace)), "descending at level group");
  if (o.window % 2 == 0) refuse("window", std::to_string(o.window), "odd", "it has a pixel in the middle");
  if (!o.groups.empty() && o.shape)
    refuse("shape", to_string(*o.shape), "left out where groups are given", "they say all");
  if (o.pace == Pace::quantile && o.final < o.select)
    refuse("final", to_text(o.final), "at least `select`", "units are let in, not thrown out");
  if (!o.atom_penalty.empty() && o.atoms != kAuto && static_cast<Index>(o.atom_penalty.size()) != o.atoms)
    refuse("atom_penalty", std::to_string(o.atom_penalty.size()) + " numbers",
           "one for each of the " + std::to_string(o.atoms) + " atoms");
}

}  // namespace pacewise

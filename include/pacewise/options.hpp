#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "pacewise/regularizer.hpp"

namespace pacewise {

using Index = std::int64_t;

// ---- the words of the options: each enumeration with its names, in its order

/// What the data are, from which the defaults follow. table: the columns are quantities of different kinds, each with
/// a centre and a scale of its own. images and spectra: the features are values of one quantity.
enum class Kind : std::uint8_t { automatic, images, table, spectra };
/// What carries a self-paced weight. A unit is one sample, one feature, one entry, or a group of entries of a sample;
/// `none` is ordinary sparse coding.
enum class Level : std::uint8_t { none, sample, feature, element, group };
/// How lambda moves. geometric: up by the factor `mu`. quantile: up to the quantile of the losses that lets in a given
/// share of the units. descending: from infinity (all in) down to the robust scale of the residuals and below it; it
/// ends where entries that were hidden from the fit are predicted best, or at `lambda_scale`.
enum class Pace : std::uint8_t { geometric, quantile, descending };
enum class GraphKind : std::uint8_t { none, knn, hypergraph };
/// binary: 1. heat: exp(-d^2 / width). cosine: max(0, cos). probabilistic: incidence in [0, 1], heat-kernel membership
/// in the hyperedge (the edge's own vertex belongs with 1).
enum class EdgeWeight : std::uint8_t { binary, heat, cosine, probabilistic };
enum class Normalize : std::uint8_t {
  none,
  unit,      // each sample to unit norm over its observed entries
  standard,  // each feature to mean 0 and standard deviation 1 over its observed entries
  robust     // each feature to median 0 and a deviation of 1 that gross outliers do not count in
};
/// The space in which neighbours are looked for. With X - mean = U s V' (samples are the rows of U s):
///   raw; pca:D = U_D s_D; half:D = U_D sqrt(s_D), unit norm; white:D = U_D, unit norm;
///   robust:D = half:D of the data with gross outliers among the entries trimmed, without what noise adds to s.
struct Space {
  enum class Kind : std::uint8_t { raw, pca, half, white, robust };
  Kind kind = Kind::robust;
  Index dimensions = 40;  // D >= 1; not used by raw
  bool operator==(const Space&) const = default;
};
/// Features that are the pixels of an image, row after row
struct Shape {
  Index rows = 0, columns = 0;  // >= 1
  bool operator==(const Shape&) const = default;
};
/// Where the defaults come from. robust: those of Options. paper: images, 128 atoms, geometric pace, k = 3, neighbours
/// of the raw data.
enum class Preset : std::uint8_t { robust, paper };

template <std::size_t N>
struct Words {
  std::string_view option;
  std::array<std::string_view, N> names;
};
template <class Enum>
inline constexpr int words = 0;
template <>
inline constexpr Words<4> words<Kind>{"kind", {"auto", "images", "table", "spectra"}};
template <>
inline constexpr Words<5> words<Level>{"level", {"none", "sample", "feature", "element", "group"}};
template <>
inline constexpr Words<3> words<Pace>{"pace", {"geometric", "quantile", "descending"}};
template <>
inline constexpr Words<3> words<GraphKind>{"graph", {"none", "knn", "hypergraph"}};
template <>
inline constexpr Words<4> words<EdgeWeight>{"edge_weight", {"binary", "heat", "cosine", "probabilistic"}};
template <>
inline constexpr Words<4> words<Normalize>{"normalize", {"none", "unit", "standard", "robust"}};
template <>
inline constexpr Words<5> words<Space::Kind>{"graph_space", {"raw", "pca", "half", "white", "robust"}};
template <>
inline constexpr Words<2> words<Preset>{"preset", {"robust", "paper"}};

/// Where `text` stands among `names`; an Error lists them.
std::size_t find_word(std::string_view option, std::span<const std::string_view> names, std::string_view text);

template <class Enum>
Enum parse(std::string_view text) {
  return static_cast<Enum>(find_word(words<Enum>.option, words<Enum>.names, text));
}
template <class Enum>
constexpr auto name_of(Enum value) -> decltype(words<Enum>.names[0]) {
  return words<Enum>.names[static_cast<std::size_t>(value)];
}
Space parse_space(std::string_view text);  // "raw", "pca:40", ..
std::string to_string(const Space& space);
Shape parse_shape(std::string_view text);  // "28x28"
std::string to_string(const Shape& shape);

// ---- the options

/// In the place of a number: chosen by entries that are hidden from the fit.
inline constexpr int kAuto = -1;
inline constexpr Index kMostAtoms = 128;  // .. of this many atoms at most
inline constexpr double kBetaRatio = 0.01;

/// All options of a fit with their defaults, those of the preset `robust` for images and spectra. Where the data are a
/// table, an option that stands at its default takes that of preset(Preset::robust, Kind::table). Ranges, help and the
/// names by which files, the program and Python know them are in one table, option_table().
struct Options {
  Kind kind = Kind::automatic;  // found out from the data
  // the model
  Index atoms = kAuto;  // r >= 1, or kAuto
  std::optional<double> beta =
      {};  // >= 0, or kAuto; twice the lambda of scikit-learn, SPAMS and mlpack (no factor 1/2 here)
  std::optional<double> beta_ratio =
      {};  // in [0, 1], used when beta is not given: beta = ratio * 2 max_j |w x_j|, the share of the beta at which all
           // codes are zero whatever the dictionary. Where neither is given: chosen with the atoms, else kBetaRatio
  double l2 = 0;                          // >= 0, adds l2 |S|^2: the elastic net
  std::vector<double> atom_penalty = {};  // r numbers >= 0 that multiply beta for each atom; empty: ones
  bool positive_codes = false;            // S >= 0
  bool positive_atoms = false;            // B >= 0
  double alpha = 16;                      // >= 0, manifold term
  double gamma = 1;                       // >= 0, hypergraph consistency term
  double eta = 10;                        // > 0 when gamma > 0, ridge of the consistency map
  Normalize normalize = Normalize::unit;
  std::optional<double> missing = {};  // a value that means missing, as NaN does
  bool offset = false;                 // a number for each feature that is added to B S, learned with the same weights
  // self-paced weights
  Level level = Level::element;
  std::vector<double> groups = {};     // level group: m labels, features of one label are a group; or
  std::optional<Shape> shape = {};     // .. of images, and
  Index window = 5;                    // odd: the pixels of a window x window square around each pixel are a group
  Regularizer regularizer = Linear{};  // with its parameter: Polynomial{.power = 3}
  Pace pace = Pace::descending;
  double mu = 1.2;      // > 1; geometric: lambda *= mu until every unit is in
  double select = 0.5;  // in (0, 1]: share of the non-zero losses below the first lambda
  double final = 1;     // in (0, 1]; quantile: the share reached; below 1 the worst units stay out for good
  int pace_iter = 5;    // >= 1; quantile: iterations from `select` to `final`
  std::optional<double> lambda_scale =
      {};                // > 0; descending: end at this many robust scales; else hidden entries choose
  double hidden = 0.05;  // in (0, 0.5]; descending: share of the entries hidden to choose the end
  int stage_iter = 8;    // >= 1; descending: iterations at a lambda
  int plain_iter = 3;    // >= 0: plain sparse coding at the start (every unit selected, no graph)
  int warm_iter = 3;     // >= 0: then with the alpha and gamma terms
  int polish = 100;  // >= 0: after the pace at most this many iterations with all weights 1; 0: keep the last lambda
  std::optional<double> contamination =
      {};  // in (0, 0.5]: share of the training samples that are outliers; else those beyond their usual scores are
  // graph
  GraphKind graph = GraphKind::hypergraph;  // none switches alpha and gamma off
  Index k = 5;                              // >= 1 neighbours of each sample
  Space graph_space = {};
  EdgeWeight edge_weight = EdgeWeight::binary;
  double heat_width = 0;             // >= 0; 0: the mean squared distance to the k neighbours
  bool normalized_laplacian = true;  // knn: 1 - D^-1/2 A D^-1/2 instead of D - A; a hypergraph's is always normalised
  // run
  int max_iter = 200;  // >= 1
  double tol = 7e-5;   // >= 0: relative fall of the objective, at a fixed lambda, below which it counts as stalled
  bool exact_steps = false;  // every step to step_tol; else cheap steps on a bound of the objective until it stalls
  double step_tol = 1e-6;    // > 0: certificate asked of the codes and dictionary steps at the end of the run
  std::uint64_t seed = 0;    // below 2^63: initial dictionary, replacement of dead atoms, randomised SVD
};

Options preset(Preset which, Kind kind = Kind::images);
/// Where nobody named a pace, an option of the quantile pace that is not at its default asks for that one.
void imply_pace(Options& options);
/// Where nobody named a regulariser, level group takes Welsch's: linear weights find blocks in images worse.
void imply_regularizer(Options& options);

/// The one place where options are checked; an Error names the option, its value and the rule.
void validate(const Options& options);

// ---- the table of options, from which everything else follows: the program's options and help, its manual page and
// completions, the JSON of a model, Python's parameters and their documentation, validation and its messages

/// The value of an option as files and users write it; monostate: not set.
using OptionValue = std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<double>>;
std::string to_text(const OptionValue& value);

struct Option {
  enum class Type : std::uint8_t { flag, integer, real, choice, numbers };  // in the order of OptionValue
  std::string name;    // "beta_ratio"; the program writes it --beta-ratio
  std::string python;  // as scikit-learn calls it, where that differs: "n_components"
  std::string symbol;  // in docs/method.md; empty: none
  std::string group;   // "Model", "Self-paced weights", "Graph" or "Run"
  Type type = Type::real;
  Range range = {};                  // integer, real and each of numbers
  std::vector<std::string> choices;  // choice: the words; "pca:D" stands for pca:1, pca:2, ..
  std::string help;                  // one sentence
  std::string remark;                // for who broke the rule
  std::string regularizer;           // whose parameter it is; empty: an option of every fit
  std::vector<std::string> old_names;
  bool automatic = false;  // takes the word auto, too, for kAuto
  std::function<OptionValue(const Options&)> get;
  std::function<void(Options&, const OptionValue&)> assign;  // a value of the type above that has been checked

  std::string rule() const;                 // "an integer >= 1", "none, knn or hypergraph"
  bool names(std::string_view text) const;  // choice: `text` begins with one of the words, right or wrong after ':'
  OptionValue parse(const std::string& text) const;  // an Error where it is not of the type
  /// Checks and assigns. `called`: the name for messages, if not `name`.
  void set(Options& options, const OptionValue& value, std::string_view called = {}) const;
};

const std::vector<Option>& option_table();
/// By any of its names; nullptr: there is none.
const Option* find_option(std::string_view name);

}  // namespace pacewise

#include "model/kind.hpp"

#include <algorithm>
#include <cmath>

#include "algebra/eigen.hpp"

namespace pacewise {
namespace {

constexpr Index kWide = 32;      // features; with fewer the data are a table
constexpr Index kLooked = 1000;  // looked at, evenly spaced
constexpr double kAlike = 0.5;   // correlation of neighbouring features, and share of features in one range
constexpr double kCentred = 0.2, kSameSpread = 1.25;  // of columns that somebody has standardised

/// The value that this share of the numbers is below
double ranked(Vector<double> x, double share) {
  if (x.empty()) return 0;
  const auto at = x.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(x.size() - 1));
  std::nth_element(x.begin(), at, x.end());
  return *at;
}

/// Some samples, a feature in a column, standardised: 0 where missing. And what each feature is like.
struct Features {
  EigenMatrix<double> standard;
  Vector<double> mean, deviation, range;  // deviation 0: constant
};

template <class T>
Features look_at(const Problem<T>& p, std::optional<double> missing) {
  const Index m = p.values.rows, n = std::min(p.values.cols, kLooked);
  Features f{EigenMatrix<double>::Zero(n, m), Vector<double>(m, 0), Vector<double>(m, 0), Vector<double>(m, 0)};
  for (Index i = 0; i < m; ++i) {
    Vector<Index> seen;
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (Index j = 0; j < n; ++j) {
      const Index from = n > 1 ? j * (p.values.cols - 1) / (n - 1) : 0;
      const auto x = static_cast<double>(p.values(i, from));
      if (std::isnan(x) || x == missing || !(p.weights(i, from) > 0)) continue;
      seen.push_back(j);
      f.standard(j, i) = x;
      least = std::min(least, x), most = std::max(most, x);
      f.mean[i] += x;
    }
    if (seen.empty() || !(most > least)) {
      f.standard.col(i).setZero();
      continue;
    }
    const auto count = static_cast<double>(seen.size());
    f.mean[i] /= count;
    for (const Index j : seen) f.standard(j, i) -= f.mean[i];
    f.deviation[i] = f.standard.col(i).stableNorm() / std::sqrt(count);
    f.range[i] = most - least;
    f.standard.col(i) /= f.deviation[i] * std::sqrt(count);
  }
  return f;
}

std::string words_of(const Options& o) {
  const bool unit = o.normalize == Normalize::unit;
  std::string out = unit                                 ? "samples to unit norm"
                    : o.normalize == Normalize::none     ? "as they are"
                    : o.normalize == Normalize::standard ? "columns centred and scaled"
                                                         : "columns centred and scaled robustly";
  if (o.offset) out += ", an offset for each";
  out += o.atoms == kAuto ? ", atoms chosen by hidden entries" : ", " + std::to_string(o.atoms) + " atoms";
  if (o.l2 > 0) out += ", l2 = " + to_text(o.l2);
  return out;
}

}  // namespace

template <class T>
KindFound find_kind(const Problem<T>& problem, const Options& options, bool pictures) {
  const Index m = problem.values.rows;
  const auto side = static_cast<Index>(std::lround(std::sqrt(static_cast<double>(m))));
  const bool square = side * side == m;
  if (pictures || options.shape) return {Kind::images, "they have the shape of pictures"};
  // what is never below 0 adds up, and has no centre
  if (options.positive_codes || options.positive_atoms) return {Kind::spectra, "atoms or codes >= 0 are asked for"};
  if (m < kWide) return {Kind::table, "fewer than " + std::to_string(kWide) + " features"};
  const Features f = look_at(problem, options.missing);
  Vector<double> alike, spread, off_centre, range;
  for (Index i = 0; i < m; ++i) {
    if (!(f.deviation[i] > 0)) continue;
    spread.push_back(f.deviation[i]);
    off_centre.push_back(std::abs(f.mean[i]) / f.deviation[i]);
    range.push_back(f.range[i]);
    if (i > 0 && f.deviation[i - 1] > 0) alike.push_back(std::abs(f.standard.col(i).dot(f.standard.col(i - 1))));
  }
  if (ranked(alike, 0.5) > kAlike)
    return {square ? Kind::images : Kind::spectra,
            square ? "as many features as a square has pixels, neighbours alike" : "neighbouring features are alike"};
  const bool standardised =
      ranked(off_centre, 0.5) < kCentred && ranked(spread, 0.9) < kSameSpread * ranked(spread, 0.1);
  const double wide = kAlike * ranked(range, 0.9);
  const auto in_one = std::count_if(range.begin(), range.end(), [&](double r) { return r >= wide; });
  const bool one_range = static_cast<double>(in_one) > kAlike * static_cast<double>(range.size());
  if (square && one_range && !standardised)
    return {Kind::images, "as many features as a square has pixels, in one range"};
  return {Kind::table, standardised ? "features are standardised"
                       : !one_range ? "features have different ranges"
                                    : "neighbouring features are not alike"};
}

Options for_kind(Kind kind, const Options& given, const std::vector<std::string>& named) {
  Options out = preset(Preset::robust, kind);
  const auto is_named = [&](const char* name) { return std::find(named.begin(), named.end(), name) != named.end(); };
  const Options defaults;
  if ((given.beta && given.beta != kAuto) || given.beta_ratio != defaults.beta_ratio || is_named("beta_ratio"))
    out.l2 = defaults.l2;
  for (const Option& row : option_table()) {
    const OptionValue value = row.get(given);
    if (value.index() != 0 && (value != row.get(defaults) || is_named(row.name.c_str()))) row.assign(out, value);
  }
  // A trimmed fit keeps what its pace lets in first: a slower one finds wrong entries better (AUROC .971 for .959 on
  // MNIST with 10 % salt and pepper).
  const bool usual = out.pace_iter == defaults.pace_iter && !is_named("pace_iter");
  if (out.pace == Pace::quantile && out.polish == 0 && usual) out.pace_iter = 8;
  out.kind = kind;
  return out;
}

template <class T>
Options settle_kind(const Problem<T>& problem, const Options& given, const std::vector<std::string>& named,
                    bool pictures) {
  const Kind kind = given.kind == Kind::automatic ? find_kind(problem, given, pictures).kind : given.kind;
  return for_kind(kind, given, named);
}

template <class T>
std::string kind_note(const Problem<T>& problem, const Options& settled, bool pictures) {
  if (settled.kind == Kind::automatic) return {};  // a run of an earlier version
  const KindFound found = find_kind(problem, settled, pictures);
  const std::string kind(name_of(settled.kind));
  return "The data are taken as " + (settled.kind == Kind::table ? "a " + kind : kind) + " (" +
         (found.kind == settled.kind ? found.why : "as asked") + "): " + words_of(settled) + ".";
}

#define PACEWISE_INSTANTIATE(T)                                                                           \
  template KindFound find_kind(const Problem<T>&, const Options&, bool);                                  \
  template Options settle_kind(const Problem<T>&, const Options&, const std::vector<std::string>&, bool); \
  template std::string kind_note(const Problem<T>&, const Options&, bool);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

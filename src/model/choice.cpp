#include "model/choice.hpp"

#include <algorithm>
#include <cmath>

#include "model/fitter.hpp"
#include "pace/descent.hpp"

namespace pacewise {
namespace {

// judged on so many entries of samples, but at least and at most on so many samples: with half of its 1,797 samples
// digits want half as many atoms
constexpr Index kEntries = 1200000, kLeast = 1500, kSamples = 2000;
constexpr Index kFewest = 2, kMany = 32;                // atoms: at first at least, and where beta is chosen
constexpr double kRatios[] = {0.003, 0.01, 0.03, 0.1};  // of beta, a share of the one at which all codes are zero
constexpr std::size_t kFirstRatio = 1;
constexpr int kStageIter = 4;
constexpr double kChance = 2.5;  // over the root of the number of hidden entries: a gain that says nothing
constexpr double kWorse = 0.01;  // an error that is larger by this share has risen
// A smaller beta costs time: on nearly clean data, where the pace ends above so many robust scales, it must be better
// by this share. In dirty data errors differ little, since wrong entries count alike whatever predicts them.
constexpr double kPays = 0.05, kNearlyClean = 2.1;

Index samples_of(Index m, Index n) { return std::min(n, std::clamp(kEntries / m, kLeast, kSamples)); }

/// Some of the samples, evenly spaced
template <class T>
struct Some {
  Matrix<T> values;
  Weights<T> weights;

  explicit Some(const Problem<T>& all) {
    const MatrixView<const T>& X = all.values;
    const Index n = samples_of(X.rows, X.cols);
    const Weights<T>& w = all.weights;
    values.resize(X.rows, n);
    weights.feature = w.feature;
    if (!w.entry.empty()) weights.entry.resize(X.rows, n);
    for (Index j = 0; j < n; ++j) {
      const Index from = n > 1 ? j * (X.cols - 1) / (n - 1) : 0;
      std::copy_n(X.col(from), X.rows, values.col(j));
      if (!w.entry.empty()) std::copy_n(w.entry.col(from), X.rows, weights.entry.col(j));
      if (!w.sample.empty()) weights.sample.push_back(w.sample[static_cast<std::size_t>(from)]);
    }
  }
};

template <class T>
class Judge {
 public:
  Judge(const Problem<T>& problem, const Options& options, const Control& control, std::vector<Candidate>& tried)
      : some_(problem), options_(options), control_(control), tried_(tried) {
    control_.progress = nullptr;
    all_in_ = !descends(options);
    options_.pace = Pace::descending;
    // of groups hidden entries cannot tell the stage
    if (options_.level == Level::none || options_.level == Level::group) options_.level = Level::element;
    options_.groups.clear();
    options_.shape.reset();
    for (const char* name : {"select", "final", "pace_iter"})
      find_option(name)->assign(options_, find_option(name)->get(Options()));
    options_.lambda_scale.reset();
    options_.graph = GraphKind::none;
    options_.alpha = options_.gamma = 0;
    options_.max_iter = std::numeric_limits<int>::max();
    options_.stage_iter = std::min(options_.stage_iter, kStageIter);
  }

  /// The error of hidden entries with these; remembered among the candidates
  double operator()(Index atoms, std::size_t ratio) {
    Options o = options_;
    o.atoms = atoms;
    if (chooses_beta(options_)) {
      o.beta.reset();
      o.beta_ratio = kRatios[ratio];
    }
    FitInputs inputs;
    inputs.judge_stages = all_in_ ? 1 : std::numeric_limits<int>::max();
    Fitter<T> fitter({some_.values, some_.weights}, o, control_, inputs, nullptr);
    iterate<T>(fitter, nullptr);
    const auto& stages = fitter.stages();
    Candidate c;
    c.atoms = atoms;
    c.beta_ratio = o.beta_ratio.value_or(kBetaRatio);
    c.error = std::numeric_limits<double>::infinity();
    if (!stages.empty()) {  // none: it was stopped
      const Stage& best = stages[static_cast<std::size_t>(all_in_ ? 0 : fitter.chosen_stage())];
      c.error = best.error();
      c.scale = best.scale;
    }
    tried_.push_back(c);
    return c.error;
  }

 private:
  Some<T> some_;
  Options options_;
  Control control_;
  std::vector<Candidate>& tried_;
  bool all_in_ = false;
};

}  // namespace

template <class T>
Options choose_settings(const Problem<T>& problem, Options options, const Control& control, const FitInputs& inputs,
                        std::vector<Candidate>& tried) {
  if (options.atoms == kAuto && is_given(inputs.dictionary)) options.atoms = inputs.dictionary.cols;
  if (options.atoms == kAuto && is_given(inputs.codes)) options.atoms = inputs.codes.rows;
  if (options.atoms == kAuto && !options.atom_penalty.empty()) options.atoms = std::ssize(options.atom_penalty);
  const bool atoms = options.atoms == kAuto, penalty = chooses_beta(options);
  if (!atoms && !penalty) return options;
  validate(problem, control, options.missing);
  Judge<T> judge(problem, options, control, tried);
  const Index m = problem.values.rows, n = samples_of(m, problem.values.cols);
  const Index most = std::min({kMostAtoms, 2 * m, std::max<Index>(1, n / 2)});
  struct Setting {
    Index atoms;
    std::size_t ratio;
    double error;
  };
  Setting best{atoms ? std::min(most, std::clamp<Index>(m / 16, kFewest, 16)) : options.atoms, kFirstRatio, 0};
  best.error = judge(best.atoms, best.ratio);
  Setting last = best;
  bool rises = false;
  // few atoms are all tried, as the error may rise before it falls; then more as long as they predict better
  const auto grow = [&](Index limit) {
    for (Index next = 2 * last.atoms; atoms && !rises && next <= limit && !control.stop(); next *= 2) {
      last = {next, best.ratio, judge(next, best.ratio)};
      rises = next > kMany && last.error > (1 + kWorse) * best.error;
      // where nothing is wrong and settings are level, more atoms say more of the data; else they absorb what is wrong
      const bool level = std::isinf(tried.back().scale) && last.error < (1 + kWorse) * best.error;
      if (level || last.error < best.error) best = {next, best.ratio, std::min(last.error, best.error)};
    }
  };
  // larger penalties, else smaller ones
  const auto tune = [&](Setting at) {
    for (const int step : {1, -1}) {
      for (bool better = penalty; better && !control.stop();) {
        const std::size_t other = at.ratio + static_cast<std::size_t>(step);
        if (other >= std::size(kRatios)) break;
        const double now = judge(at.atoms, other);
        better = now < (step < 0 && tried.back().scale > kNearlyClean ? 1 - kPays : 1) * at.error;
        if (better) at = {at.atoms, other, now};
      }
      if (at.ratio != kFirstRatio) break;
    }
    return at;
  };
  grow(std::min(most, kMany));
  // penalties matter more where there are more atoms: with the most of these, too
  const Hiding hiding = plan_hiding(options.hidden, static_cast<double>(m * n));
  const double chance = kChance / std::sqrt(hiding.share * hiding.draws * static_cast<double>(m * n));
  const bool fewer = best.atoms < last.atoms;
  best = tune(best);
  if (fewer)
    if (const Setting other = tune(last); other.error < (1 - chance) * best.error) best = other;
  rises = best.atoms < last.atoms;
  last = best;
  grow(most);
  options.atoms = best.atoms;
  if (penalty) {
    options.beta.reset();
    options.beta_ratio = kRatios[best.ratio];
  }
  return options;
}

template Options choose_settings(const Problem<float>&, Options, const Control&, const FitInputs&,
                                 std::vector<Candidate>&);
template Options choose_settings(const Problem<double>&, Options, const Control&, const FitInputs&,
                                 std::vector<Candidate>&);

}  // namespace pacewise

#include "model/fitter.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <utility>

#include "solve/objective.hpp"

namespace pacewise {
namespace {

/// Rounding of the objective itself: a rise within it is none.
template <class T>
constexpr double kRise = std::is_same_v<T, double> ? 1e-10 : 2e-5;

/// .. of cheap steps, whose products are in float
constexpr double kCheapRise = 1e-6;

}  // namespace

/// 1 for each unit with data; empty: all have
template <class T>
Vector<char> Fitter<T>::observed() const {
  if (level_ == Level::feature) {
    Vector<char> any = parts_.front().observed();
    for (const Part<T>& part : parts_) {
      if (part.observed().empty()) any.clear();
      for (std::size_t i = 0; i < any.size(); ++i) any[i] = std::max(any[i], part.observed()[i]);
    }
    return any;
  }
  const bool all =
      std::all_of(parts_.begin(), parts_.end(), [](const Part<T>& part) { return part.observed().empty(); });
  if (all) return {};
  return all_samples([&](const Part<T>& part) {
    const Index units = part.samples() * (weighs_entries(level_) ? m_ : 1);
    return part.observed().empty() ? Vector<char>(units, char{1}) : part.observed();
  });
}

template <class T>
std::pair<const Part<T>*, Index> Fitter<T>::find(Index j) const {
  auto part = parts_.begin();
  for (; j >= part->samples(); ++part) j -= part->samples();
  return {&*part, j};
}

template <class T>
StepOptions Fitter<T>::step_options() const {
  StepOptions o;
  o.tuning = tuning_;
  const double now =
      loose_steps(state_.schedule, options_) ? std::min(100 * state_.step_tol, tuning_.loose_tol) : state_.step_tol;
  o.tol = std::max({options_.step_tol, now, std::is_same_v<T, double> ? 1e-12 : 1e-5});
  return o;
}

template <class T>
double Fitter<T>::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

/// Losses at the current B and S. While polishing exactly nobody asks for those of units.
template <class T>
void Fitter<T>::measure() {
  const Level level = exact_ && state_.schedule.phase == Phase::polish ? Level::none : level_;
  for (Part<T>& part : parts_) part.measure(state_.dictionary, level, exact_, control_);
  if (level == Level::feature) sum_features();
}

template <class T>
void Fitter<T>::sum_features() {
  feature_losses_ = parts_.front().losses();
  for (std::size_t p = 1; p < parts_.size(); ++p)
    for (Index i = 0; i < m_; ++i) feature_losses_[i] += parts_[p].losses()[i];
}

/// All sums at the current point
template <class T>
void Fitter<T>::evaluate() {
  SS_ = sum([&](const Part<T>& part) { return part.gram(exact_, false, control_); });
  QQ_ = mapped() ? map_gram() : EigenMatrix<double>();
  sum_terms();
  measure();
  sum_pace();
}

template <class T>
EigenMatrix<double> Fitter<T>::map_gram() const {
  return sum([&](const Part<T>& part) { return part.map_gram(exact_, control_); });
}

/// V <- the best weights for the losses now, at the iteration's lambda
template <class T>
void Fitter<T>::set_pace() {
  feature_weights_.clear();
  if (level_ == Level::feature && paced())
    solve_weights(feature_losses_, options_.regularizer, state_.schedule.lambda, feature_weights_, control_,
                  state_.schedule.center);
  for (Part<T>& part : parts_)
    part.set_pace(state_.schedule.lambda, feature_weights_, control_, state_.schedule.center);
}

/// Fit and F
template <class T>
void Fitter<T>::sum_pace() {
  if (level_ == Level::feature && paced()) {
    Vector<T> v = parts_.front().weights();
    if (!exact_)
      solve_weights(feature_losses_, options_.regularizer, state_.schedule.lambda, v, control_, state_.schedule.center);
    pace_ = summarize(feature_losses_, v, observed(), options_.regularizer, state_.schedule.lambda, control_,
                      state_.schedule.center);
  } else if (level_ == Level::feature) {
    pace_ = PaceSummary();
    for (const Part<T>& part : parts_) pace_.fit += std::accumulate(part.losses().begin(), part.losses().end(), 0.0);
  } else {
    pace_ = sum([&](const Part<T>& part) { return part.pace_sums(control_); }).summary();
  }
  if (!state_.descent.settled) return;
  held_.fit = pace_.fit;  // the weights are given, and F with them
  pace_ = held_;
}

/// Sparsity, manifold and consistency
template <class T>
void Fitter<T>::sum_terms() {
  const CodeSums sums = sum([&](const Part<T>& part) { return part.code_sums(terms(part), exact_, control_); });
  cancelled_ = QQ_.size() > 0 ? options_.gamma * sums.edges : 0;
  terms_ = code_objective(sums, penalty(), graph_terms() ? options_.alpha : 0, options_.gamma, options_.eta,
                          graph_terms() ? QQ_ : EigenMatrix<double>(), SS_);
}

/// The value below which this share of the non-zero losses lies
template <class T>
double Fitter<T>::loss_quantile_of(double share) const {
  if (level_ == Level::feature) return loss_quantile(feature_losses_, share, observed(), control_);
  if (level_ == Level::sample) {
    const Vector<T> losses = all_samples([](const Part<T>& part) { return part.losses(); });
    return loss_quantile(losses, share, observed(), control_);
  }
  const auto of_entries = [&]<class U>(U) {
    Index pieces = 0;
    for (const Part<T>& part : parts_) pieces += block_count(part.samples());
    const LossesInPieces<U> losses = [&](const auto& use) {
      Index from = 0;
      for (const Part<T>& part : parts_) {
        part.template entry_losses<U>(from, use, control_);
        from += block_count(part.samples());
      }
    };
    return loss_quantile<U>(pieces, losses, share, control_);
  };
  if (exact_) return of_entries(T());
  return of_entries(0.0F);
}

template <class T>
LossSummary Fitter<T>::summarize_losses() const {
  LossSummary out;
  if (level_ == Level::none) return out;
  const Options& s = options_;
  if (descends(s)) {
    if (!ends_stage(state_.schedule, s)) return out;
    if (weighs_entries(level_)) {  // the mean square of a group is a variance, the median of squares is not
      out.spread = (level_ == Level::group ? 1 : 1.4826) * std::sqrt(loss_quantile_of(0.5));
    } else {
      const Vector<T> losses =
          level_ == Level::feature ? feature_losses_ : all_samples([](const Part<T>& part) { return part.losses(); });
      Vector<double> roots;
      for (const T l : losses)
        if (l > T(0)) roots.push_back(std::sqrt(static_cast<double>(l)));
      const RobustMoments moments = robust_moments(std::move(roots));
      out.center = moments.median;
      out.spread = moments.scale;
    }
    return out;
  }
  if (about_to_pace(state_.schedule, s))
    out.lambda_select = loss_quantile_of(s.pace == Pace::quantile ? quantile_share(s, 0) : s.select);
  if (state_.schedule.phase != Phase::paced) return out;
  if (s.pace == Pace::quantile)
    out.lambda_target = loss_quantile_of(quantile_share(s, state_.schedule.in_phase));
  else
    out.largest = pace_.largest;
  return out;
}

template <class T>
Objective Fitter<T>::objective_now() const {
  Objective o = terms_;
  o.fit = pace_.fit;
  o.pace = pace_.value;
  return o;
}

template <class T>
void Fitter<T>::begin_iteration() {
  if (over_) return;
  if (ends_stage(state_.schedule, options_)) end_stage();
  if (over_) return;
  const Phase was = state_.schedule.phase;
  const int stage = state_.schedule.stage;
  const bool all_in = !paced();
  state_.schedule = advance(state_.schedule, summarize_losses(), options_);
  if (state_.schedule.stage > stage) state_.schedule.brief = is_past_best(state_.descent.stages, stage);
  if (descends(options_) && all_in && paced() && level_ != Level::element) {  // from here on gross outliers count
    for (Part<T>& part : parts_) part.set_lambda(state_.schedule.lambda, state_.schedule.center);
    measure();
  }
  if (paced()) state_.pace_lambda = state_.schedule.lambda;
  record_ = Record();
  record_.iteration = state_.iteration + 1;
  record_.phase = state_.schedule.phase;
  record_.lambda = state_.schedule.lambda;
  if (exact_ != exact(state_.schedule)) {
    exact_ = !exact_;
    if (exact_ && paced()) {  // with the weights that cheap steps went on with: the best ones
      measure();
      set_pace();
    }
    evaluate();
  } else if (was != state_.schedule.phase) {
    sum_terms();
  }
}

template <class T>
bool Fitter<T>::interrupted() {
  if (over_) return true;
  if (control_.cancelled())
    fail(Termination::cancelled, "the cancel flag was set");
  else if (control_.late())
    fail(Termination::time_limit, "the deadline passed");
  return over_;
}

template <class T>
void Fitter<T>::fail(Termination why, std::string detail) {
  over_ = true;
  termination_ = why;
  detail_ = std::move(detail);
  take_state(std::move(before_));
}

/// Each step minimises its part of J at fixed lambda: J may not rise.
template <class T>
void Fitter<T>::check_descent(const char* step) {
  if (interrupted()) return;  // a sum cut short says nothing
  const Objective now = objective_now();
  const double rise = now.total() - objective_;
  // |H - Q S|^2 is a difference of numbers up to |H|^2
  if (!(rise <= (exact_ ? kRise<T> : kCheapRise) * (now.magnitude() + cancelled_))) {
    std::ostringstream text;
    text.precision(17);
    text << "iteration " << record_.iteration << ", " << step << " step: the objective went from " << objective_
         << " to " << now.total() << " at lambda " << state_.schedule.lambda;
    fail(Termination::numerical_trouble, text.str());
    return;
  }
  objective_ = now.total();
}

template <class T>
void Fitter<T>::update_weights() {
  if (over_) return;
  for (Part<T>& part : parts_) part.set_lambda(state_.schedule.lambda, state_.schedule.center);
  const bool held = exact_ && paced();  // else the iteration begins with the weights that are best for its lambda
  if (held) sum_pace();
  record_.objective_before = objective_ = objective_now().total();
  set_pace();
  sum_pace();
  record_.selected = pace_.selected;
  record_.mean_weight = pace_.mean_weight;
  if (!held) record_.objective_before = objective_ = objective_now().total();
  if (show_weights_ && !exact_ && paced())
    shown_weights_ = level_ == Level::feature ? feature_weights_ : all_samples([&](const Part<T>& part) {
      return weighs_entries(level_) ? part.entry_weights(control_) : part.weights();
    });
  check_descent("weights");
}

template <class T>
void Fitter<T>::update_dictionary() {
  if (over_) return;
  if (options_.offset && !state_.descent.settled) update_offset();  // later it stays, as the weights do
  if (over_) return;
  EigenMatrix<double> B = eigen(state_.dictionary).template cast<double>();
  if (exact_) {
    const DictionaryReport report = solve_dictionary(
        [&](bool rows) {
          return sum([&](const Part<T>& part) {
            return dictionary_curvature(part.dictionary_problem(), rows, tuning_, control_);
          });
        },
        [&](const EigenMatrix<double>& at) {
          return sum([&](const Part<T>& part) { return dictionary_gradient(part.dictionary_problem(), at, control_); });
        },
        options_.positive_atoms, B, step_options(), control_);
    record_.certificate.dictionary = report.certificate;
    if (interrupted()) return;
    eigen(state_.dictionary) = B.template cast<T>();
    pace_.fit = report.fit;  // all that has changed; losses are wanted again after the codes step
    check_descent("dictionary");
    return;
  }
  record_.certificate.dictionary = std::numeric_limits<double>::infinity();
  const bool weighted = parts_.front().weighs_samples();
  Curvature bound;
  bound.A = weighted ? sum([&](const Part<T>& part) { return part.gram(false, true, control_); }) : SS_;
  bound.f = parts_.front().row_bounds();
  for (const Part<T>& part : parts_) bound.f = bound.f.cwiseMax(part.row_bounds());
  const EigenMatrix<double> N = sum([&](const Part<T>& part) { return part.cheap_gradient(control_); });
  if (interrupted()) return;
  sweep_atoms(bound, N, options_.positive_atoms, 1, 0, B, tuning_, control_);
  eigen(state_.dictionary) = B.template cast<T>();
  interrupted();  // the fit is known again after the codes step, and checked there
}

/// An atom no sample uses is replaced by a sample drawn in proportion to its self-paced weight times its residual, with
/// each entry taken from the data as far as it is trusted and from the reconstruction otherwise: an outlier, or a
/// corrupted entry, must not become an atom. Its codes are zero, so the objective stays.
template <class T>
void Fitter<T>::revive_atoms() {
  if (over_) return;
  const Index r = options_.atoms;
  Vector<char> used(r);
  for (Index k = 0; k < r; ++k) used[k] = SS_(k, k) > 0 ? 1 : 0;
  record_.dead_atoms = static_cast<Index>(std::count(used.begin(), used.end(), char{0}));
  // With beta so large that nothing is used, or at the very start, there is nothing to learn from: leave the draw.
  if (record_.dead_atoms == 0 || record_.dead_atoms == r) return;
  const Vector<double> losses =
      all_samples([&](const Part<T>& part) { return part.trusted_losses(state_.dictionary, control_.to_the_end()); });
  Random random(state_.random);
  EigenMatrix<double> B = eigen(state_.dictionary).template cast<double>();
  const auto trusted = [&](Index j) {
    const auto [part, at] = find(j);
    return part->trusted_sample(state_.dictionary, at);
  };
  pacewise::revive_atoms(used, losses, trusted, options_.positive_atoms, random, B);
  eigen(state_.dictionary) = B.template cast<T>();
  state_.random = random.state();
}

template <class T>
void Fitter<T>::update_consistency() {
  if (over_ || !graph_terms() || !(options_.gamma > 0)) return;
  if (sum([](const Part<T>& part) { return part.graph.incidence.rows; }) == 0) return;
  const bool first = QQ_.size() == 0;
  EigenMatrix<double> ridged = SS_;
  ridged.diagonal().array() += options_.eta;
  for (Part<T>& part : parts_) part.update_consistency(ridged, exact_, control_);
  if (interrupted()) return;
  QQ_ = map_gram();
  if (!exact_) record_.certificate.consistency = std::numeric_limits<double>::infinity();
  if (!exact_ && !first) return;
  if (exact_)
    record_.certificate.consistency =
        sum([&](const Part<T>& part) { return part.consistency_gap(ridged, control_); }).relative();
  sum_terms();
  if (first)  // the term has just come in
    record_.objective_before = objective_ = objective_now().total();
  if (exact_) check_descent("consistency");
}

template <class T>
void Fitter<T>::update_codes() {
  if (over_) return;
  const int passes = static_cast<int>(state_.schedule.phase == Phase::polish ? tuning_.passes : tuning_.first_passes);
  record_.certificate.codes = exact_ ? 0 : std::numeric_limits<double>::infinity();
  for (Part<T>& part : parts_) {
    const CodeTerms<T> own = terms(part);
    if (exact_)
      record_.certificate.codes = std::max(
          record_.certificate.codes, part.solve_codes(state_.dictionary, own, step_options(), control_).certificate);
    else
      part.improve_codes(state_.dictionary, own, passes, static_cast<int>(tuning_.sweeps), control_);
  }
  if (interrupted()) return;
  SS_ = sum([&](const Part<T>& part) { return part.gram(exact_, false, control_); });
  sum_terms();
  measure();
  sum_pace();
  check_descent("codes");
}

template <class T>
double Fitter<T>::density() const {
  const Index nonzero = sum([&](const Part<T>& part) { return part.nonzeros(control_); });
  return static_cast<double>(nonzero) / static_cast<double>(std::max<Index>(n_ * options_.atoms, 1));
}

template <class T>
bool Fitter<T>::end_iteration(const Callback<T>& callback) {
  if (over_) return false;
  record_.objective = objective_now();
  record_.density = density();
  record_.seconds = elapsed();
  if (interrupted()) return false;
  ++state_.iteration;
  state_.seconds = record_.seconds;
  state_.schedule =
      conclude(state_.schedule, record_.objective.total(), record_.objective.magnitude(), state_.iteration, options_,
               state_.schedule.phase == Phase::held || !parts_.front().data.weights.entry.empty());
  const double magnitude = record_.objective.magnitude();
  const double fall = magnitude > 0 ? (record_.objective_before - record_.objective.total()) / magnitude : 0;
  state_.step_tol = std::clamp(0.01 * fall, std::min(options_.step_tol, 1e-4), 1e-4);
  state_.history.push_back(record_);
  before_ = whole_state(std::move(before_));
  if (state_.schedule.finished)
    termination_ = state_.schedule.stalled ? Termination::converged : Termination::iteration_limit;
  if (!callback) return true;
  const bool made = !shown_weights_.empty();
  if (made) before_.weights = std::move(shown_weights_);
  const bool more = callback(record_, before_);
  if (made) before_.weights.clear();
  shown_weights_.clear();
  if (!more) {
    fail(Termination::cancelled, "the callback asked to stop");
    return false;
  }
  return true;
}

template class Fitter<float>;
template class Fitter<double>;

}  // namespace pacewise

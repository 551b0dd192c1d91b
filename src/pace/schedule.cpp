#include "pace/schedule.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "algebra/sums.hpp"
#include "pace/descent.hpp"

namespace pacewise {

double quantile_share(const Options& options, int step) {
  const double way = options.pace_iter > 1 ? std::min(1.0, step / static_cast<double>(options.pace_iter - 1)) : 1.0;
  return options.select + way * (options.final - options.select);
}

namespace {

ScheduleState enter(Phase phase, double lambda) {
  ScheduleState next;
  next.phase = phase;
  next.lambda = lambda;
  return next;
}

ScheduleState after_pace(const ScheduleState& state, const Options& options) {
  if (options.polish > 0) return enter(Phase::polish, std::numeric_limits<double>::infinity());
  return enter(Phase::held, state.lambda);
}

/// Within the pace: the next lambda, or what follows the pace.
ScheduleState next_pace(const ScheduleState& state, const LossSummary& losses, const Options& options) {
  ScheduleState next = state;
  next.last_objective = std::numeric_limits<double>::quiet_NaN();
  if (options.pace == Pace::geometric) {
    if (losses.largest < state.lambda) return after_pace(state, options);
    next.lambda = state.lambda * options.mu;
  } else {
    if (state.in_phase >= options.pace_iter) return after_pace(state, options);
    next.lambda = losses.lambda_target;
  }
  // All losses zero: there is nothing left to pace.
  if (!(next.lambda > 0)) return after_pace(state, options);
  return next;
}

}  // namespace

bool descends(const Options& options) { return options.level != Level::none && options.pace == Pace::descending; }

bool ends_stage(const ScheduleState& state, const Options& options) {
  return descends(options) && state.phase == Phase::paced &&
         state.in_phase >= stage_iterations(options, state.stage, state.brief);
}

bool ends_last_stage(const ScheduleState& state, const Options& options) {
  return ends_stage(state, options) && state.stage + 1 == std::ssize(stage_scales(options));
}

bool about_to_pace(const ScheduleState& state, const Options& options) {
  if (options.level == Level::none || descends(options)) return false;
  if (state.phase == Phase::plain) return state.in_phase >= options.plain_iter && options.warm_iter == 0;
  return state.phase == Phase::warm && state.in_phase >= options.warm_iter;
}

namespace {

/// Plain, then stage after stage, the first with all in
ScheduleState descend(const ScheduleState& state, const LossSummary& losses, const Options& options) {
  const bool plain = state.phase == Phase::plain;
  if (plain ? state.in_phase < options.plain_iter : !ends_stage(state, options)) return state;
  ScheduleState next = enter(Phase::paced, state.lambda);
  next.before = state.before;
  if (plain) return next;
  next.stage = state.stage + 1;
  const double scale = stage_scales(options)[static_cast<std::size_t>(next.stage)];
  const double root = robust_cutoff(options.regularizer) * scale * losses.spread;
  next.center = losses.center;
  if (root > 0) next.lambda = root * root;  // else nothing is left to explain
  return next;
}

}  // namespace

ScheduleState advance(const ScheduleState& state, const LossSummary& losses, const Options& options) {
  if (descends(options) && state.phase != Phase::polish) return descend(state, losses, options);
  switch (state.phase) {
    case Phase::plain:
      return state.in_phase < options.plain_iter ? state : advance(enter(Phase::warm, state.lambda), losses, options);
    case Phase::warm:
      if (!about_to_pace(state, options)) return state;
      if (!(losses.lambda_select > 0)) return after_pace(state, options);
      return enter(Phase::paced, losses.lambda_select);
    case Phase::paced:
      return next_pace(state, losses, options);
    case Phase::held:
    case Phase::polish:
      break;
  }
  return state;
}

namespace {

bool counted_out(const ScheduleState& state, int iteration, const Options& options) {
  return iteration - state.before >= options.max_iter ||
         (state.phase == Phase::polish && state.in_phase >= options.polish);
}

}  // namespace

namespace {

/// Without a polish the weights stay, and what the pace lets in first decides the answer.
bool trims(const ScheduleState& state, const Options& options) {
  return options.polish == 0 && options.level != Level::none && !descends(options) &&
         (state.phase == Phase::paced || state.phase == Phase::held);
}

}  // namespace

bool loose_steps(const ScheduleState& state, const Options& options) {
  return state.loose || (trims(state, options) && !state.exact && !options.exact_steps);
}

bool exact_steps(const ScheduleState& state, const Options& options) {
  if (descends(options) && state.phase != Phase::polish) return false;  // on the way down nobody needs them
  return options.exact_steps || state.exact || trims(state, options) ||
         (state.phase == Phase::polish && state.in_phase + 2 >= options.polish);
}

ScheduleState conclude(const ScheduleState& state, double objective, double magnitude, int iteration,
                       const Options& options, bool weighted) {
  ScheduleState next = state;
  ++next.in_phase;
  const bool last_phase = state.phase == Phase::held || state.phase == Phase::polish ||
                          (state.phase == Phase::warm && options.level == Level::none);
  const double fall = state.last_objective - objective;  // NaN after a change of phase or lambda: never "stalled"
  const bool exact = exact_steps(state, options);
  // The weights that a descending pace holds are estimates. Exact iterations then lower J by some 1e-4 for long and
  // change nothing: the errors of five damaged sets of images by .001 at most, their time by up to two fifths.
  const double tol = exact && descends(options) ? 4 * options.tol : options.tol;
  next.last_objective = objective;
  next.stalled = last_phase && std::abs(fall) <= tol * magnitude;
  if (next.stalled && (!exact || loose_steps(state, options))) {  // cheap steps, then loose ones, then exact ones
    next.stalled = false;
    next.exact = true;
    next.loose = !exact && weighted;
  }
  next.finished = next.stalled || counted_out(next, iteration, options);
  return next;
}

ScheduleState reopen(const ScheduleState& state, int iteration, const Options& options) {
  ScheduleState next = state;
  next.finished = state.stalled || (iteration > 0 && counted_out(state, iteration, options));
  return next;
}

namespace {

/// The leading bits of a number >= 0: 2^15 classes in its order
constexpr std::size_t kClasses = std::size_t{1} << 15U;
std::size_t class_of(float x) { return (std::bit_cast<std::uint32_t>(x) >> 16U) % kClasses; }
std::size_t class_of(double x) { return static_cast<std::size_t>(std::bit_cast<std::uint64_t>(x) >> 48U) % kClasses; }

/// What one worker knows of the losses: integers and extremes, the same whoever counts
template <class T>
struct Count {
  std::vector<std::ptrdiff_t> members = std::vector<std::ptrdiff_t>(kClasses, 0);  // of every class
  std::ptrdiff_t tiny = 0;
  T largest = 0, next = std::numeric_limits<T>::infinity();
  Vector<T> alike;
};

}  // namespace

template <class T>
double loss_quantile(const Vector<T>& losses, double share, const Vector<char>& observed, const Control& control) {
  constexpr Index kUnits = Index{1} << 15;
  const auto size = static_cast<Index>(losses.size());
  const LossesInPieces<T> pieces = [&](const auto& use) {
    const auto give = [&](Index first, Index length, int worker) {
      const Index piece = first / kUnits;
      if (observed.empty()) {
        use(piece, losses.data() + first, length, worker);
        return;
      }
      Vector<T> seen;
      seen.reserve(static_cast<std::size_t>(length));
      for (Index u = first; u < first + length; ++u)
        if (observed[u] != 0) seen.push_back(losses[u]);
      use(piece, seen.data(), static_cast<Index>(seen.size()), worker);
    };
    parallel_for(size, control.to_the_end(), give, kUnits);
  };
  return loss_quantile<T>(block_count(size, kUnits), pieces, share, control);
}

// The loss of a rank without sorting, or storing, all of them: its class first, then the losses of that class.
template <class T>
double loss_quantile(Index pieces, const LossesInPieces<T>& losses, double share, const Control& control) {
  struct Sum {
    double losses = 0;
    Index units = 0;
  };
  std::vector<Sum> sums(static_cast<std::size_t>(pieces));
  std::vector<Count<T>> workers(static_cast<std::size_t>(thread_count(control)));
  losses([&](Index piece, const T* l, Index count, int worker) {
    sums[static_cast<std::size_t>(piece)] = {l1_norm<T>(l, count), count};
    Count<T>& mine = workers[static_cast<std::size_t>(worker)];
    for (Index u = 0; u < count; ++u) ++mine.members[class_of(l[u])];
    mine.largest = std::max(mine.largest, static_cast<T>(max_norm<T>(l, count)));
  });
  Sum total;
  for (const Sum& sum : sums) total = {total.losses + sum.losses, total.units + sum.units};
  if (!(total.losses > 0)) return 0;
  Count<T> all;
  for (const Count<T>& mine : workers) {
    for (std::size_t c = 0; c < kClasses; ++c) all.members[c] += mine.members[c];
    all.largest = std::max(all.largest, mine.largest);
  }
  // body(l, what the worker knows) for every loss
  const auto over = [&](const auto& body) {
    losses([&](Index, const T* l, Index count, int worker) {
      for (Index u = 0; u < count; ++u) body(l[u], workers[static_cast<std::size_t>(worker)]);
    });
  };
  // What is left of an exact reconstruction is rounding and does not count.
  const double rounding = 1e-12 * total.losses / static_cast<double>(total.units);
  const auto counts = [rounding](T l) { return static_cast<double>(l) > rounding; };
  const std::size_t edge = class_of(static_cast<T>(rounding));
  if (all.members[edge] > 0) over([&](T l, Count<T>& mine) { mine.tiny += class_of(l) == edge && !counts(l) ? 1 : 0; });
  for (const Count<T>& mine : workers) all.members[edge] -= mine.tiny;
  std::fill_n(all.members.begin(), edge, 0);
  const auto count = std::accumulate(all.members.begin(), all.members.end(), std::ptrdiff_t{0});
  const auto rank = static_cast<std::ptrdiff_t>(share * static_cast<double>(count));
  std::size_t at = 0;
  std::ptrdiff_t below = 0;  // in lower classes
  while (below + all.members[at] <= std::min(rank, count - 1)) below += all.members[at++];
  over([&](T l, Count<T>& mine) {
    if (class_of(l) == at && counts(l)) mine.alike.push_back(l);
  });
  for (const Count<T>& mine : workers) all.alike.insert(all.alike.end(), mine.alike.begin(), mine.alike.end());
  T value = all.largest;
  if (rank < count) {
    std::nth_element(all.alike.begin(), all.alike.begin() + (rank - below), all.alike.end());
    value = all.alike[static_cast<std::size_t>(rank - below)];
  }
  if (below > 0 || *std::min_element(all.alike.begin(), all.alike.end()) < value)
    return static_cast<double>(value) * (rank < count ? 1 : 1 + 1e-6);  // a share of 1: just above the largest
  // Nobody is strictly below: equal losses (duplicates). The next larger one, or room enough to weigh them by half.
  over([&](T l, Count<T>& mine) {
    if (l > value) mine.next = std::min(mine.next, l);
  });
  for (const Count<T>& mine : workers) all.next = std::min(all.next, mine.next);
  return std::isinf(all.next) ? 2 * static_cast<double>(value) : static_cast<double>(all.next);
}

#define PACEWISE_INSTANTIATE(T)                                                                    \
  template double loss_quantile<T>(const Vector<T>&, double, const Vector<char>&, const Control&); \
  template double loss_quantile<T>(Index, const LossesInPieces<T>&, double, const Control&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

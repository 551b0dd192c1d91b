#include "pacewise/pace/schedule.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "pacewise/algebra/sums.hpp"

namespace pacewise {

Pace parse_pace(std::string_view text) {
  if (text == "geometric") return Pace::geometric;
  if (text == "quantile") return Pace::quantile;
  throw Error("pace = " + std::string(text) + ": must be geometric or quantile");
}

std::string_view name_of(Pace pace) { return pace == Pace::geometric ? "geometric" : "quantile"; }

std::string_view name_of(Phase phase) {
  constexpr std::string_view names[] = {"plain", "warm", "paced", "held", "polish"};
  return names[static_cast<int>(phase)];
}

double quantile_share(const ScheduleOptions& options, int step) {
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

ScheduleState after_pace(const ScheduleState& state, const ScheduleOptions& options) {
  if (options.polish > 0) return enter(Phase::polish, std::numeric_limits<double>::infinity());
  return enter(Phase::held, state.lambda);
}

/// Within the pace: the next lambda, or what follows the pace.
ScheduleState next_pace(const ScheduleState& state, const LossSummary& losses, const ScheduleOptions& options) {
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

bool about_to_pace(const ScheduleState& state, const ScheduleOptions& options) {
  if (options.level == Level::none) return false;
  if (state.phase == Phase::plain) return state.in_phase >= options.plain_iter && options.warm_iter == 0;
  return state.phase == Phase::warm && state.in_phase >= options.warm_iter;
}

ScheduleState advance(const ScheduleState& state, const LossSummary& losses, const ScheduleOptions& options) {
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

bool counted_out(const ScheduleState& state, int iteration, const ScheduleOptions& options) {
  return iteration >= options.max_iter || (state.phase == Phase::polish && state.in_phase >= options.polish);
}

}  // namespace

ScheduleState conclude(const ScheduleState& state, double objective, double magnitude, int iteration,
                       const ScheduleOptions& options) {
  ScheduleState next = state;
  ++next.in_phase;
  const bool last_phase = state.phase == Phase::held || state.phase == Phase::polish ||
                          (state.phase == Phase::warm && options.level == Level::none);
  const double fall = state.last_objective - objective;  // NaN after a change of phase or lambda: never "stalled"
  next.last_objective = objective;
  next.stalled = last_phase && std::abs(fall) <= options.tol * magnitude;
  next.finished = next.stalled || counted_out(next, iteration, options);
  return next;
}

ScheduleState reopen(const ScheduleState& state, int iteration, const ScheduleOptions& options) {
  ScheduleState next = state;
  next.finished = state.stalled || (iteration > 0 && counted_out(state, iteration, options));
  return next;
}

namespace {

/// The leading bits of a positive number: 2^15 classes in its order
std::size_t class_of(float x) { return std::bit_cast<std::uint32_t>(x) >> 16U; }
std::size_t class_of(double x) { return static_cast<std::size_t>(std::bit_cast<std::uint64_t>(x) >> 48U); }
constexpr std::size_t kClasses = std::size_t{1} << 15U;

}  // namespace

template <class T>
double loss_quantile(const Vector<T>& losses, double share, const std::vector<char>& observed) {
  const auto over = [&](const auto& body) {
    for (std::size_t u = 0; u < losses.size(); ++u)
      if (observed.empty() || observed[u] != 0) body(losses[u]);
  };
  double mean = 0;
  auto units = static_cast<std::ptrdiff_t>(losses.size());
  if (observed.empty()) {
    mean = sum_of_sizes<T>(losses.data(), units);
  } else {
    units = 0;
    over([&](T l) {
      mean += static_cast<double>(l);
      ++units;
    });
  }
  if (units == 0 || !(mean > 0)) return 0;
  const double rounding = 1e-12 * mean / static_cast<double>(units);
  const auto counts = [rounding](T l) { return static_cast<double>(l) > rounding; };
  // The loss of a rank without sorting, or copying, all of them: its class first, then the losses of that class.
  std::vector<std::ptrdiff_t> members(kClasses, 0);
  T smallest = std::numeric_limits<T>::infinity(), largest = 0;
  std::ptrdiff_t count = 0;
  over([&](T l) {
    if (!counts(l)) return;
    ++members[class_of(l)];
    ++count;
    smallest = std::min(smallest, l);
    largest = std::max(largest, l);
  });
  const auto rank = static_cast<std::ptrdiff_t>(share * static_cast<double>(count));
  T value = largest;
  if (rank < count) {
    std::size_t at = 0;
    std::ptrdiff_t below = 0;
    while (below + members[at] <= rank) below += members[at++];
    Vector<T> alike;
    alike.reserve(static_cast<std::size_t>(members[at]));
    over([&](T l) {
      if (counts(l) && class_of(l) == at) alike.push_back(l);
    });
    std::nth_element(alike.begin(), alike.begin() + (rank - below), alike.end());
    value = alike[static_cast<std::size_t>(rank - below)];
  }
  if (smallest < value)  // a share of 1: just above the largest
    return static_cast<double>(value) * (rank < count ? 1 : 1 + 1e-6);
  // Nobody is strictly below: equal losses (duplicates). The next larger one, or room enough to weigh them by half.
  T larger = std::numeric_limits<T>::infinity();
  over([&](T l) {
    if (l > value) larger = std::min(larger, l);
  });
  return std::isinf(larger) ? 2 * static_cast<double>(value) : static_cast<double>(larger);
}

template double loss_quantile<float>(const Vector<float>&, double, const std::vector<char>&);
template double loss_quantile<double>(const Vector<double>&, double, const std::vector<char>&);

}  // namespace pacewise

#include "pace/descent.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "algebra/random.hpp"

namespace pacewise {
namespace {

constexpr double kWidest = 16, kNarrowest = 0.25;  // in robust scales
constexpr double kEnough = 2000;                   // hidden entries
constexpr double kSmallShare = 0.1;                // hidden at once where there are too few for one draw

}  // namespace

std::vector<double> stage_scales(const Options& options) {
  std::vector<double> scales{std::numeric_limits<double>::infinity()};
  const double last = options.lambda_scale.value_or(kNarrowest);
  for (double f = kWidest; f > 1.0001 * last; f /= std::sqrt(2.0)) scales.push_back(f);
  scales.push_back(last);
  return scales;
}

int stage_iterations(const Options& options, int stage, bool brief) {
  const double scale = stage_scales(options)[static_cast<std::size_t>(stage)];
  return brief || (std::isfinite(scale) && scale > 1.5) ? std::max(1, options.stage_iter / 4) : options.stage_iter;
}

double robust_cutoff(const Regularizer& regularizer) {
  const auto efficiency = [&](double c) {
    double once = 0, twice = 0;  // E r^2 v, E r^2 v^2 by the midpoint rule
    constexpr double step = 0.005;
    for (double r = step / 2; r < 9; r += step) {
      const double density = std::sqrt(2 / 3.14159265358979323846) * std::exp(-r * r / 2) * step;
      const double v = pace_weight(regularizer, r * r, c * c);
      once += density * r * r * v;
      twice += density * r * r * v * v;
    }
    return once * once / twice;
  };
  double low = 0.5, high = 50;
  for (int halving = 0; halving < 50; ++halving) {
    const double c = (low + high) / 2;
    (efficiency(c) < 0.95 ? low : high) = c;
  }
  return high;
}

Hiding plan_hiding(double share, double entries) {
  if (share * entries >= kEnough) return {share, 1};
  share = std::max(share, std::min(kSmallShare, kEnough / std::max(entries, 1.0)));
  const double draws = std::ceil(kEnough / (share * std::max(entries, 1.0)) - 1e-9);
  return {share, static_cast<int>(std::clamp(draws, 1.0, std::floor(1 / share)))};
}

bool is_hidden(std::uint64_t seed, const Hiding& hiding, int draw, Index i, Index j) {
  const auto mixed = [](std::uint64_t x) { return Random(x).bits(); };
  const std::uint64_t sample = mixed(seed ^ mixed(static_cast<std::uint64_t>(j)));
  const double u = static_cast<double>(mixed(sample + static_cast<std::uint64_t>(i)) >> 11U) * 0x1p-53;
  return u >= draw * hiding.share && u < (draw + 1) * hiding.share;
}

double Stage::gain_error() const {
  if (hidden < 2) return std::numeric_limits<double>::infinity();
  const double mean = gain / hidden;
  return std::sqrt(std::max(gain_squares / hidden - mean * mean, 0.0) / (hidden - 1));
}

std::string verdict(const std::vector<Stage>& stages, int chosen, Level level, double not_trusted) {
  const auto text = [](double value, const char* format) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, format, value);
    return std::string(buffer);
  };
  const std::string units = level == Level::sample ? "samples" : level == Level::feature ? "features" : "entries";
  const std::string share = text(100 * not_trusted, "%.1f") + "% of the " + units + " are not trusted";
  const Stage& stage = stages[static_cast<std::size_t>(chosen)];
  const bool judged = stage.hidden > 0;
  if (not_trusted < 0.005) {
    const std::string nothing = "Nothing is wrong with these data: " + share;
    return judged && chosen == 0 ? nothing + "; hidden entries are predicted best with all in." : nothing + ".";
  }
  const std::string where = text(stage.scale, "%.2g") + " times the robust scale of the residuals";
  if (!judged) return share + ": the pace ended at " + where + ", as asked.";
  const double gain = stage.mean_gain() / stages.front().error();
  return share + ": the pace stopped at " + where + ", where hidden entries are predicted best, " +
         text(100 * gain, "%.0f") + "% better than with all in.";
}

bool is_past_best(const std::vector<Stage>& stages, int stage) {
  double best = std::numeric_limits<double>::infinity();
  for (int t = 1; t < stage; ++t)
    if (const Stage& other = stages[static_cast<std::size_t>(t)]; gains(other, stages.front()))
      best = std::min(best, other.error());
  const Stage& now = stages[static_cast<std::size_t>(stage)];
  return now.error() - best > 2 * now.gain_error();
}

bool gains(const Stage& stage, const Stage& first) {
  return stage.mean_gain() > std::max(2 * stage.gain_error(), 0.02 * first.error());
}

bool is_better(const Stage& stage, const Stage& kept, const Stage& first) {
  return gains(stage, first) && stage.mean_gain() - stage.gain_error() > kept.mean_gain();
}

}  // namespace pacewise

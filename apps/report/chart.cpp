#include "apps/report/chart.hpp"

#include <algorithm>
#include <cmath>

#include "apps/report/page.hpp"
#include "apps/report/svg.hpp"

namespace pacewise {
namespace {

constexpr double kLeft = 74, kRight = 690, kTop = 26, kObjective = 190, kGap = 44, kPace = 110;

/// A step to a new value of lambda starts a new piece where `cut`.
template <class Value, class Tip>
std::string curve(const std::vector<Record>& history, const Axis& x, const Axis& y, std::size_t number, bool cut,
                  Value&& value, Tip&& tip) {
  std::string path, dots;
  const Record* before = nullptr;
  for (const Record& r : history) {
    const double v = value(r);
    if (!std::isfinite(v)) continue;
    const bool joined = before != nullptr && (!cut || (before->lambda == r.lambda && before->phase == r.phase));
    path += (joined ? "L" : "M") + svg_point(x(r.iteration), y(v));
    dots += svg_dot(x(r.iteration), y(v), number,
                    "iteration " + std::to_string(r.iteration) + " (" + std::string(name_of(r.phase)) + "): " + tip(r));
    before = &r;
  }
  return "<path class=\"curve s" + std::to_string(number + 1) + "\" d=\"" + path + "\"/>\n" + dots;
}

std::string bands(const std::vector<Record>& history, const Axis& x, double bottom) {
  std::string out;
  std::size_t first = 0;
  bool shaded = false;
  const auto edge = [&](int iteration) { return std::clamp(x(iteration - 0.5), kLeft, kRight); };
  while (first < history.size()) {
    std::size_t end = first;
    while (end < history.size() && history[end].phase == history[first].phase) ++end;
    const double from = edge(history[first].iteration);
    const double to = end < history.size() ? edge(history[end].iteration) : kRight;
    if (shaded)
      out += "<rect class=\"band\" x=\"" + fixed_text(from, 1) + "\" y=\"" + fixed_text(kTop, 1) + "\" width=\"" +
             fixed_text(to - from, 1) + "\" height=\"" + fixed_text(bottom - kTop, 1) + "\"/>\n";
    const std::string name(name_of(history[first].phase));
    if (to - from > 11.0 * static_cast<double>(name.size())) out += svg_text((from + to) / 2, kTop - 8, name, "middle");
    shaded = !shaded;
    first = end;
  }
  return out;
}

std::string percent(double share) { return fixed_text(100 * share, 1) + "%"; }

std::string at_lambda(const Record& r) {
  return std::isfinite(r.lambda) ? " at lambda " + figure_text(r.lambda, 4) : std::string();
}

std::string objective_panel(const std::vector<Record>& history, const Axis& x, double bottom) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Record& r : history) {
    const double value = r.objective.total();
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (!(low <= high)) low = high = 0;
  const Axis y{low, high > low ? high : low + 1, bottom - 8, kTop + 8};
  std::string out = svg_line(kLeft, kTop, kLeft, bottom) + svg_line(kLeft, bottom, kRight, bottom);
  for (const double v : ticks(y.from, y.to, 4)) {
    out += svg_line(kLeft, y(v), kRight, y(v), "grid");
    out += svg_text(kLeft - 7, y(v) + 4, figure_text(v, 5), "end");
  }
  return out + curve(
                   history, x, y, 0, true, [](const Record& r) { return r.objective.total(); },
                   [](const Record& r) { return "objective " + figure_text(r.objective.total()) + at_lambda(r); });
}

std::string pace_panel(const std::vector<Record>& history, const Axis& x, double top, double bottom) {
  const Axis y{0, 1, bottom, top};
  std::string out = svg_line(kLeft, top, kLeft, bottom) + svg_line(kLeft, bottom, kRight, bottom);
  for (const double v : {0.0, 0.5, 1.0}) {
    if (v > 0) out += svg_line(kLeft, y(v), kRight, y(v), "grid");
    out += svg_text(kLeft - 7, y(v) + 4, fixed_text(100 * v, 0) + "%", "end");
  }
  out += curve(
      history, x, y, 1, false, [](const Record& r) { return r.selected; },
      [](const Record& r) { return percent(r.selected) + " of the units selected" + at_lambda(r); });
  return out + curve(
                   history, x, y, 2, false, [](const Record& r) { return r.mean_weight; },
                   [](const Record& r) { return "mean weight " + fixed_text(r.mean_weight); });
}

}  // namespace

std::string convergence_chart(const std::vector<Record>& history) {
  if (history.empty()) return {};
  const bool paced =
      std::any_of(history.begin(), history.end(), [](const Record& r) { return std::isfinite(r.lambda); });
  const double last = std::max(history.back().iteration, history.front().iteration + 1);
  const double middle = kTop + kObjective, top = middle + kGap, bottom = paced ? top + kPace : middle;
  const Axis x{static_cast<double>(history.front().iteration), last, kLeft + 6, kRight - 6};
  std::string svg = "<figure class=\"chart\"><svg viewBox=\"0 0 700 " + fixed_text(bottom + 52, 0) +
                    "\" role=\"img\" aria-label=\"objective" + (paced ? " and pace" : "") +
                    " over the iterations\">\n" + bands(history, x, bottom);
  for (const double v : ticks(x.from, x.to, 8, true)) {
    svg += svg_line(x(v), bottom, x(v), bottom + 5);
    svg += svg_text(x(v), bottom + 20, fixed_text(v, 0), "middle");
  }
  svg += svg_text((kLeft + kRight) / 2, bottom + 44, "iteration", "middle");
  svg += objective_panel(history, x, middle);
  if (paced) svg += pace_panel(history, x, top, bottom);
  svg += "</svg>\n<figcaption class=\"legend\">" + legend_entry(0, "objective, joined where lambda is the same");
  if (paced) svg += legend_entry(1, "share of units selected") + legend_entry(2, "mean weight");
  return svg + "</figcaption></figure>\n";
}

std::string stage_chart(const std::vector<Stage>& stages, int chosen) {
  std::size_t count = 0;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (; count < stages.size() && stages[count].hidden > 0; ++count) {
    const double error = stages[count].error(), deviation = count > 0 ? stages[count].gain_error() : 0;
    low = std::min(low, error - (std::isfinite(deviation) ? deviation : 0));
    high = std::max(high, error + (std::isfinite(deviation) ? deviation : 0));
  }
  if (count == 0) return {};
  const double bottom = kTop + kObjective;
  const Axis x{0, std::max(1.0, static_cast<double>(count - 1)), kLeft + 24, kRight - 24};
  const Axis y{low, high > low ? high : low + 1, bottom - 8, kTop + 16};
  std::string svg = "<figure class=\"chart\"><svg viewBox=\"0 0 700 " + fixed_text(bottom + 52, 0) +
                    "\" role=\"img\" aria-label=\"error of hidden entries at every stage\">\n";
  svg += svg_line(kLeft, kTop, kLeft, bottom) + svg_line(kLeft, bottom, kRight, bottom);
  for (const double v : ticks(y.from, y.to, 4)) {
    svg += svg_line(kLeft, y(v), kRight, y(v), "grid");
    svg += svg_text(kLeft - 7, y(v) + 4, figure_text(v, 3), "end");
  }
  std::string path, dots;
  for (std::size_t k = 0; k < count; ++k) {
    const Stage& stage = stages[k];
    const double at = x(static_cast<double>(k)), error = stage.error(), deviation = k > 0 ? stage.gain_error() : 0;
    const std::string scale = std::isinf(stage.scale) ? "all in" : figure_text(stage.scale, 2);
    if (static_cast<int>(k) == chosen) {
      svg += svg_line(at, kTop, at, bottom);
      svg += svg_text(at, kTop - 8, "stopped here", k == 0 ? "start" : k + 1 == count ? "end" : "middle");
    }
    svg += svg_text(at, bottom + 20, scale, "middle");
    path += (k == 0 ? "M" : "L") + svg_point(at, y(error));
    std::string tip = scale + (k > 0 ? " robust scales" : "") + ": error " + figure_text(error, 4);
    if (k > 0 && std::isfinite(deviation)) {
      svg += svg_line(at, y(error - deviation), at, y(error + deviation));
      tip += ", gain " + figure_text(stage.mean_gain(), 3) + ", standard error " + figure_text(deviation, 2);
    }
    dots += svg_dot(at, y(error), 0, tip);
  }
  svg += "<path class=\"curve s1\" d=\"" + path + "\"/>\n" + dots;
  svg += svg_text((kLeft + kRight) / 2, bottom + 44, "lambda in robust scales of the residuals", "middle");
  return svg + "</svg>\n<figcaption class=\"legend\">" +
         legend_entry(0, "error of hidden entries, with the standard error of its difference to all in") +
         "</figcaption></figure>\n";
}

}  // namespace pacewise

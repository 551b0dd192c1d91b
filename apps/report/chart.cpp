#include "apps/report/chart.hpp"

#include <algorithm>
#include <cmath>

#include "apps/report/page.hpp"

namespace pacewise {
namespace {

constexpr double kLeft = 74, kRight = 690, kMiddle = (kLeft + kRight) / 2, kTop = 26;
constexpr double kHeight = 190, kGap = 44, kPaceHeight = 110;  // of the panels, and between them

/// Around the origin, about 7 pixels wide: three can be told apart in grey
constexpr const char* kShapes[] = {"<circle r=\"3.3\"/>", "<path d=\"M-3 -3H3V3H-3Z\"/>",
                                   "<path d=\"M0 -4.4L4.4 0L0 4.4L-4.4 0Z\"/>"};

/// Data to pixels along one direction
struct Axis {
  double from = 0, to = 1;     // data
  double first = 0, last = 1;  // pixels
  double operator()(double x) const { return to > from ? first + (x - from) / (to - from) * (last - first) : first; }
};

std::string colour(std::size_t number) { return "s" + std::to_string(number % std::size(kShapes) + 1); }

std::string point(double x, double y) { return fixed_text(x, 1) + " " + fixed_text(y, 1); }

std::string line(double x1, double y1, double x2, double y2, const char* kind = "axis") {
  return std::string("<path class=\"") + kind + "\" d=\"M" + point(x1, y1) + "L" + point(x2, y2) + "\"/>\n";
}

struct Dot {
  double x, y;
  std::string tip;
  bool joined = true;  // to the one before
};

std::string curve(const Axis& x, const Axis& y, std::size_t number, const std::vector<Dot>& all) {
  std::string path, dots;
  for (const Dot& dot : all) {
    if (!std::isfinite(dot.y)) continue;
    path += (dot.joined && !path.empty() ? "L" : "M") + point(x(dot.x), y(dot.y));
    dots += svg_dot(x(dot.x), y(dot.y), number, dot.tip);
  }
  return "<path class=\"curve " + colour(number) + "\" d=\"" + path + "\"/>\n" + dots;
}

/// The axes, and a line with its number at each of `at`
template <class Text>
std::string panel(const Axis& y, double top, double bottom, const std::vector<double>& at, const Text& text) {
  std::string out = line(kLeft, top, kLeft, bottom) + line(kLeft, bottom, kRight, bottom);
  for (const double v : at) {
    if (y(v) < bottom) out += line(kLeft, y(v), kRight, y(v), "grid");
    out += svg_text(kLeft - 7, y(v) + 4, text(v), "end");
  }
  return out;
}

/// The upper panel, from the smallest to the largest number that is finite
std::string upper_panel(Axis& y, const std::vector<double>& values, int digits) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double v : values) {
    if (!std::isfinite(v)) continue;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  if (!(low <= high)) low = high = 0;
  y = {low, high > low ? high : low + 1, kTop + kHeight - 8, kTop + 16};
  return panel(y, kTop, kTop + kHeight, ticks(y.from, y.to, 4), [&](double v) { return figure_text(v, digits); });
}

std::string figure(const std::string& label, const std::string& axis, double bottom, const std::string& drawing,
                   const std::string& legend) {
  return "<figure class=\"chart\"><svg viewBox=\"0 0 700 " + fixed_text(bottom + 52, 0) +
         "\" role=\"img\" aria-label=\"" + label + "\">\n" + drawing + svg_text(kMiddle, bottom + 44, axis, "middle") +
         "</svg>\n<figcaption class=\"legend\">" + legend + "</figcaption></figure>\n";
}

/// Every other phase is a band, and each has its name where there is room
std::string bands(const std::vector<Record>& history, const Axis& x, double bottom) {
  std::string out;
  bool shaded = false;
  const auto edge = [&](int iteration) { return std::clamp(x(iteration - 0.5), kLeft, kRight); };
  for (auto first = history.begin(), end = first; first != history.end(); first = end, shaded = !shaded) {
    end = std::find_if(first, history.end(), [&](const Record& r) { return r.phase != first->phase; });
    const double from = edge(first->iteration), to = end != history.end() ? edge(end->iteration) : kRight;
    if (shaded)
      out += "<path class=\"band\" d=\"M" + point(from, kTop) + "H" + fixed_text(to, 1) + "V" + fixed_text(bottom, 1) +
             "H" + fixed_text(from, 1) + "Z\"/>\n";
    const std::string name(name_of(first->phase));
    if (to - from > 11.0 * static_cast<double>(name.size())) out += svg_text((from + to) / 2, kTop - 8, name, "middle");
  }
  return out;
}

}  // namespace

std::vector<double> ticks(double from, double to, int wanted, bool whole) {
  if (!(to > from) || !std::isfinite(to - from)) return {from};
  const double raw = (to - from) / wanted, power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = power;
  for (const double factor : {2.0, 5.0, 10.0})
    if (step < raw * 0.75) step = factor * power;
  if (whole) step = std::max(1.0, std::round(step));
  std::vector<double> out;
  const double slack = 1e-9 * step;
  for (double k = std::ceil((from - slack) / step); k * step <= to + slack; ++k)
    out.push_back(k == 0 ? 0 : k * step);  // no "-0"
  return out;
}

std::string svg_text(double x, double y, const std::string& words, const char* anchor) {
  return "<text x=\"" + fixed_text(x, 1) + "\" y=\"" + fixed_text(y, 1) + "\" text-anchor=\"" + anchor + "\">" +
         escape_html(words) + "</text>\n";
}

std::string svg_dot(double x, double y, std::size_t number, const std::string& tip) {
  return "<g class=\"dot " + colour(number) + "\" transform=\"translate(" + point(x, y) + ")\"><title>" +
         escape_html(tip) + "</title>" + kShapes[number % std::size(kShapes)] + "</g>\n";
}

std::string legend_entry(std::size_t number, const std::string& name) {
  return "<span><svg class=\"key\" viewBox=\"-14 -6 28 12\" aria-hidden=\"true\"><path class=\"curve " +
         colour(number) + "\" d=\"M-14 0H14\"/><g class=\"dot " + colour(number) + "\">" +
         kShapes[number % std::size(kShapes)] + "</g></svg>" + escape_html(name) + "</span> ";
}

std::string convergence_chart(const std::vector<Record>& history) {
  if (history.empty()) return {};
  const bool paced =
      std::any_of(history.begin(), history.end(), [](const Record& r) { return std::isfinite(r.lambda); });
  const double middle = kTop + kHeight, top = middle + kGap, bottom = paced ? top + kPaceHeight : middle;
  const int first = history.front().iteration;
  const Axis x{static_cast<double>(first), static_cast<double>(std::max(history.back().iteration, first + 1)),
               kLeft + 6, kRight - 6};
  std::vector<double> objectives;
  std::vector<Dot> objective, selected, weight;
  for (const Record& r : history) {
    const std::string name = "iteration " + std::to_string(r.iteration) + " (" + std::string(name_of(r.phase)) + "): ";
    const std::string lambda = std::isfinite(r.lambda) ? " at lambda " + figure_text(r.lambda, 4) : std::string();
    const bool same = &r != history.data() && (&r - 1)->lambda == r.lambda && (&r - 1)->phase == r.phase;
    const double J = objectives.emplace_back(r.objective.total()), i = r.iteration;
    objective.push_back({i, J, name + "objective " + figure_text(J) + lambda, same});
    selected.push_back({i, r.selected, name + fixed_text(100 * r.selected, 1) + "% of the units selected" + lambda});
    weight.push_back({i, r.mean_weight, name + "mean weight " + fixed_text(r.mean_weight)});
  }
  std::string svg = bands(history, x, bottom);
  for (const double v : ticks(x.from, x.to, 8, true))
    svg += line(x(v), bottom, x(v), bottom + 5) + svg_text(x(v), bottom + 20, fixed_text(v, 0), "middle");
  Axis y;
  svg += upper_panel(y, objectives, 5);  // sets y
  svg += curve(x, y, 0, objective);
  std::string legend = legend_entry(0, "objective, joined where lambda is the same");
  if (paced) {
    y = {0, 1, bottom, top};
    svg += panel(y, top, bottom, {0, 0.5, 1}, [](double v) { return fixed_text(100 * v, 0) + "%"; });
    svg += curve(x, y, 1, selected) + curve(x, y, 2, weight);
    legend += legend_entry(1, "share of units selected") + legend_entry(2, "mean weight");
  }
  return figure(std::string("objective") + (paced ? " and pace" : "") + " over the iterations", "iteration", bottom,
                svg, legend);
}

std::string stage_chart(const std::vector<Stage>& stages, int chosen) {
  const auto judged =
      std::find_if(stages.begin(), stages.end(), [](const Stage& s) { return !(s.hidden > 0); }) - stages.begin();
  if (judged == 0) return {};
  const double bottom = kTop + kHeight, last = static_cast<double>(judged - 1);
  const Axis x{0, std::max(1.0, last), kLeft + 24, kRight - 24};
  std::vector<Dot> dots;
  std::vector<double> values;  // errors with their standard errors
  for (const Stage& s : std::span(stages).first(static_cast<std::size_t>(judged))) {
    std::string tip = std::isinf(s.scale) ? "all in" : figure_text(s.scale, 2);
    const double at = static_cast<double>(dots.size()), error = s.error(), off = at > 0 ? s.gain_error() : 0;
    tip += (at > 0 ? " robust scales: error " : ": error ") + figure_text(error, 4);
    if (at > 0 && std::isfinite(off))
      tip += ", gain " + figure_text(s.mean_gain(), 3) + ", standard error " + figure_text(off, 2);
    dots.push_back({at, error, tip});
    values.insert(values.end(), {error, error - off, error + off});
  }
  Axis y;
  std::string svg = upper_panel(y, values, 3);
  for (const Dot& dot : dots) {
    const double at = x(dot.x), off = values[3 * static_cast<std::size_t>(dot.x) + 2] - dot.y;
    if (dot.x == chosen)
      svg += line(at, kTop, at, bottom) + svg_text(at, kTop - 8, "stopped here",
                                                   dot.x == 0      ? "start"
                                                   : dot.x == last ? "end"
                                                                   : "middle");
    const double scale = stages[static_cast<std::size_t>(dot.x)].scale;
    svg += svg_text(at, bottom + 20, std::isinf(scale) ? "all in" : figure_text(scale, 2), "middle");
    if (off > 0 && std::isfinite(off)) svg += line(at, y(dot.y - off), at, y(dot.y + off));
  }
  return figure("error of hidden entries at every stage", "lambda in robust scales of the residuals", bottom,
                svg + curve(x, y, 0, dots),
                legend_entry(0, "error of hidden entries, with the standard error of its difference to all in"));
}

}  // namespace pacewise

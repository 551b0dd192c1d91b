#include "apps/report/svg.hpp"

#include <cmath>

#include "apps/report/page.hpp"

namespace pacewise {
namespace {

constexpr std::size_t kShapes = 3;

/// Around the origin, about 7 pixels wide: three can be told apart in grey
constexpr const char* kShape[kShapes] = {
    "<circle r=\"3.3\"/>",
    "<path d=\"M-3 -3H3V3H-3Z\"/>",
    "<path d=\"M0 -4.4L4.4 0L0 4.4L-4.4 0Z\"/>",
};

std::string colour_class(std::size_t number) { return "s" + std::to_string(number % kShapes + 1); }

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

std::string svg_point(double x, double y) { return fixed_text(x, 1) + " " + fixed_text(y, 1); }

std::string svg_text(double x, double y, const std::string& words, const char* anchor) {
  return "<text x=\"" + fixed_text(x, 1) + "\" y=\"" + fixed_text(y, 1) + "\" text-anchor=\"" + anchor + "\">" +
         escape_html(words) + "</text>\n";
}

std::string svg_line(double x1, double y1, double x2, double y2, const char* kind) {
  return std::string("<path class=\"") + kind + "\" d=\"M" + svg_point(x1, y1) + "L" + svg_point(x2, y2) + "\"/>\n";
}

std::string svg_dot(double x, double y, std::size_t number, const std::string& tip) {
  return "<g class=\"dot " + colour_class(number) + "\" transform=\"translate(" + svg_point(x, y) + ")\"><title>" +
         escape_html(tip) + "</title>" + kShape[number % kShapes] + "</g>\n";
}

std::string legend_entry(std::size_t number, const std::string& name) {
  const std::string colour = colour_class(number);
  return "<span><svg class=\"key\" viewBox=\"-14 -6 28 12\" aria-hidden=\"true\"><path class=\"curve " + colour +
         "\" d=\"M-14 0H14\"/><g class=\"dot " + colour + "\">" + kShape[number % kShapes] + "</g></svg>" +
         escape_html(name) + "</span> ";
}

}  // namespace pacewise

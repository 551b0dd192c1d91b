#include <algorithm>
#include <cmath>

#include "algebra/error.hpp"
#include "apps/report/chart.hpp"
#include "apps/report/page.hpp"
#include "apps/report/svg.hpp"

namespace pacewise {
namespace {

constexpr double kLeft = 62, kRight = 690, kTop = 26, kBottom = 300;

void check(const Series& s) {
  const auto equal = [&](const char* part, std::size_t length) {
    if (length != s.x.size())
      throw Error("series " + s.name + ": " + part + " has length " + std::to_string(length) +
                  ": must equal that of x, " + std::to_string(s.x.size()));
  };
  equal("y", s.y.size());
  if (s.low.empty() && s.high.empty()) return;
  equal("low", s.low.size());
  equal("high", s.high.size());
}

bool drawn(const Series& s, std::size_t i) { return std::isfinite(s.x[i]) && std::isfinite(s.y[i]); }
bool banded(const Series& s, std::size_t i) {
  return drawn(s, i) && !s.low.empty() && std::isfinite(s.low[i]) && std::isfinite(s.high[i]);
}

struct Extent {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  void add(double v) {
    least = std::min(least, v);
    most = std::max(most, v);
  }
  /// with some room at both ends
  Axis axis(double room, double first, double last) const {
    double margin = room * (most - least);
    if (!(margin > 0)) margin = most > least ? 0 : std::max(std::abs(most) * 0.1, 0.5);
    return {least - margin, most + margin, first, last};
  }
};

/// Consecutive points that `keep`, as [first, end)
template <class Keep, class Use>
void pieces(std::size_t count, Keep&& keep, Use&& use) {
  for (std::size_t first = 0; first < count;) {
    std::size_t end = first;
    while (end < count && keep(end)) ++end;
    if (end > first) use(first, end);
    first = std::max(end, first) + 1;
  }
}

std::string dashes_of(std::size_t number, bool dashed) {
  if (dashed) return " stroke-dasharray=\"6 4\"";
  return number < 9 ? "" : " stroke-dasharray=\"2 3\"";
}

std::string tip_of(const Series& s, std::size_t i, const std::string& x_name) {
  std::string tip = s.name + "; " + x_name + " " + figure_text(s.x[i]) + ": " + figure_text(s.y[i], 4);
  if (banded(s, i)) tip += " (" + figure_text(s.low[i], 4) + " to " + figure_text(s.high[i], 4) + ")";
  return tip;
}

std::string band_of(const Series& s, std::size_t number, const Axis& x, const Axis& y) {
  std::string path;
  pieces(
      s.x.size(), [&](std::size_t i) { return banded(s, i); },
      [&](std::size_t first, std::size_t end) {
        for (std::size_t i = first; i < end; ++i) path += (i == first ? "M" : "L") + svg_point(x(s.x[i]), y(s.high[i]));
        for (std::size_t i = end; i-- > first;) path += "L" + svg_point(x(s.x[i]), y(s.low[i]));
        path += "Z";
      });
  if (path.empty()) return {};
  return "<path class=\"spread s" + std::to_string(number % 9 + 1) + "\" d=\"" + path + "\"/>\n";
}

std::string curve_of(const Series& s, std::size_t number, const Axis& x, const Axis& y) {
  std::string path;
  pieces(
      s.x.size(), [&](std::size_t i) { return drawn(s, i); },
      [&](std::size_t first, std::size_t end) {
        for (std::size_t i = first; i < end; ++i) path += (i == first ? "M" : "L") + svg_point(x(s.x[i]), y(s.y[i]));
      });
  return "<path class=\"curve s" + std::to_string(number % 9 + 1) + "\"" + dashes_of(number, s.dashed) + " d=\"" +
         path + "\"/>\n";
}

std::string frame(const Axis& x, const Axis& y, const std::string& x_name, const std::string& y_name, bool whole) {
  std::string out = svg_line(kLeft, kTop, kLeft, kBottom) + svg_line(kLeft, kBottom, kRight, kBottom);
  for (const double v : ticks(y.from, y.to, 5)) {
    out += svg_line(kLeft, y(v), kRight, y(v), "grid");
    out += svg_text(kLeft - 7, y(v) + 4, figure_text(v, 5), "end");
  }
  for (const double v : ticks(x.from, x.to, 7, whole)) {
    out += svg_line(x(v), kBottom, x(v), kBottom + 5);
    out += svg_text(x(v), kBottom + 20, figure_text(v, 6), "middle");
  }
  out += svg_text((kLeft + kRight) / 2, kBottom + 44, x_name, "middle");
  return out + svg_text(2, kTop - 10, y_name, "start");
}

}  // namespace

std::string line_chart(const std::vector<Series>& series, const std::string& x_name, const std::string& y_name,
                       const std::string& aria_label) {
  Extent across, up;
  bool whole = true;  // along x
  for (const Series& s : series) {
    check(s);
    for (std::size_t i = 0; i < s.x.size(); ++i) {
      if (!drawn(s, i)) continue;
      across.add(s.x[i]);
      up.add(s.y[i]);
      whole = whole && s.x[i] == std::round(s.x[i]);
      if (!banded(s, i)) continue;
      up.add(s.low[i]);
      up.add(s.high[i]);
    }
  }
  if (!(across.least <= across.most)) return {};
  const Axis x = across.axis(0.02, kLeft, kRight), y = up.axis(0.06, kBottom, kTop);
  std::string svg = "<figure class=\"chart\"><svg viewBox=\"0 0 700 352\" role=\"img\" aria-label=\"" +
                    escape_html(aria_label) + "\">\n" + frame(x, y, x_name, y_name, whole);
  for (std::size_t k = 0; k < series.size(); ++k) svg += band_of(series[k], k, x, y);
  for (std::size_t k = 0; k < series.size(); ++k) svg += curve_of(series[k], k, x, y);
  for (std::size_t k = 0; k < series.size(); ++k)
    for (std::size_t i = 0; i < series[k].x.size(); ++i)
      if (drawn(series[k], i)) svg += svg_dot(x(series[k].x[i]), y(series[k].y[i]), k, tip_of(series[k], i, x_name));
  svg += "</svg>\n<figcaption class=\"legend\">";
  for (std::size_t k = 0; k < series.size(); ++k)
    svg += legend_entry(k, series[k].name, dashes_of(k, series[k].dashed));
  return svg + "</figcaption></figure>\n";
}

}  // namespace pacewise

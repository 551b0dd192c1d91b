#include "pacewise/report/chart.hpp"

#include <algorithm>
#include <cmath>

#include "pacewise/report/page.hpp"

namespace pacewise {
namespace {

constexpr double kLeft = 70, kRight = 690, kTop = 24, kObjective = 200, kGap = 40, kPace = 110;

struct Axis {
  double from = 0, to = 1;     // data
  double first = 0, last = 1;  // pixels
  double operator()(double x) const { return to > from ? first + (x - from) / (to - from) * (last - first) : first; }
};

std::string text(double x, double y, const std::string& words, const char* anchor) {
  return "<text x=\"" + fixed_text(x, 1) + "\" y=\"" + fixed_text(y, 1) + "\" text-anchor=\"" + anchor + "\">" +
         escape_html(words) + "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2) {
  return "<path class=\"axis\" d=\"M" + fixed_text(x1, 1) + " " + fixed_text(y1, 1) + "L" + fixed_text(x2, 1) + " " +
         fixed_text(y2, 1) + "\"/>\n";
}

/// A step to a new value of lambda starts a new piece where `cut`.
template <class Value>
std::string curve(const std::vector<Record>& history, const Axis& x, const Axis& y, const char* kind, bool cut,
                  Value&& value) {
  std::string path, dots;
  const Record* before = nullptr;
  for (const Record& r : history) {
    const double v = value(r);
    if (!std::isfinite(v)) continue;
    const std::string point = fixed_text(x(r.iteration), 1) + " " + fixed_text(y(v), 1);
    const bool joined = before != nullptr && (!cut || (before->lambda == r.lambda && before->phase == r.phase));
    path += (joined ? "L" : "M") + point;
    dots += "M" + point + "h0";
    before = &r;
  }
  std::string out = std::string("<path class=\"") + kind + "\" d=\"" + path + "\"/>\n";
  if (cut)
    out += std::string("<path class=\"") + kind + "\" style=\"stroke-width:4;stroke-linecap:round\" d=\"" + dots +
           "\"/>\n";
  return out;
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
    if (to - from > 7.0 * static_cast<double>(name.size())) out += text((from + to) / 2, kTop - 8, name, "middle");
    shaded = !shaded;
    first = end;
  }
  return out;
}

}  // namespace

std::string convergence_chart(const std::vector<Record>& history) {
  if (history.empty()) return {};
  double low = history[0].objective.total(), high = low;
  for (const Record& r : history) {
    low = std::min(low, r.objective.total());
    high = std::max(high, r.objective.total());
  }
  const double last = std::max(history.back().iteration, history.front().iteration + 1);
  const double middle = kTop + kObjective, top = middle + kGap, bottom = top + kPace;
  const Axis x{static_cast<double>(history.front().iteration), last, kLeft, kRight};
  const Axis y{low, high > low ? high : low + 1, middle - 6, kTop + 6};
  const Axis share{0, 1, bottom, top};
  std::string svg = "<svg viewBox=\"0 0 700 " + fixed_text(bottom + 40, 0) +
                    "\" role=\"img\" aria-label=\"objective and pace over the iterations\">\n";
  svg += bands(history, x, bottom);
  svg += line(kLeft, kTop, kLeft, middle) + line(kLeft, middle, kRight, middle) + line(kLeft, top, kLeft, bottom) +
         line(kLeft, bottom, kRight, bottom) + line(kLeft, top, kRight, top);
  svg +=
      text(kLeft - 8, kTop + 10, figure_text(high, 4), "end") + text(kLeft - 8, middle - 2, figure_text(low, 4), "end");
  svg += text(kLeft - 8, top + 8, "100%", "end") + text(kLeft - 8, bottom, "0%", "end");
  svg += text(kLeft, bottom + 18, std::to_string(history.front().iteration), "start") +
         text(kRight, bottom + 18, std::to_string(history.back().iteration), "end") +
         text((kLeft + kRight) / 2, bottom + 18, "iteration", "middle");
  svg += curve(history, x, y, "a", true, [](const Record& r) { return r.objective.total(); });
  svg += curve(history, x, share, "b", false, [](const Record& r) { return r.selected; });
  svg += curve(history, x, share, "c", false, [](const Record& r) { return r.mean_weight; });
  svg +=
      "</svg>\n<p class=\"legend\"><span><i class=\"a\"></i>objective, joined where lambda is the same</span> "
      "<span><i class=\"b\"></i>share of units selected</span> <span><i class=\"c\"></i>mean weight</span></p>\n";
  return svg;
}

}  // namespace pacewise

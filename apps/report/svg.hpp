#pragma once
#include <string>
#include <vector>

namespace pacewise {

/// The parts that the charts are drawn from; markup for inside an <svg>.

/// Data to pixels along one direction.
struct Axis {
  double from = 0, to = 1;     // data
  double first = 0, last = 1;  // pixels
  double operator()(double x) const { return to > from ? first + (x - from) / (to - from) * (last - first) : first; }
};

/// Round numbers (1, 2 or 5 times a power of ten apart) in [from, to], about `wanted` of them; `whole`: integers only.
std::vector<double> ticks(double from, double to, int wanted, bool whole = false);

/// "x y" for a path
std::string svg_point(double x, double y);
std::string svg_text(double x, double y, const std::string& words, const char* anchor);
std::string svg_line(double x1, double y1, double x2, double y2, const char* kind = "axis");
/// A dot that tells `tip` when pointed at. `number` chooses its shape out of 3 and its colour (class s1 to s3).
std::string svg_dot(double x, double y, std::size_t number, const std::string& tip);
/// An entry of a legend, HTML: a piece of line with its dot, and the name.
std::string legend_entry(std::size_t number, const std::string& name);

}  // namespace pacewise

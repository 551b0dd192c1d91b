#include "apps/cli/describe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/cli/outcome.hpp"
#include "apps/cli/signals.hpp"
#include "apps/report/table.hpp"

namespace pacewise::cli {
namespace {

constexpr Index kNumbers = Index{1} << 16;  // looked at in one go

struct Extent {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  Index missing = 0, zero = 0;

  void add(const double* value, Index count) {
    for (Index i = 0; i < count; ++i) {  // comparisons with NaN are false
      least = value[i] < least ? value[i] : least;
      most = value[i] > most ? value[i] : most;
      missing += value[i] != value[i] ? 1 : 0;
      zero += value[i] == 0 ? 1 : 0;
    }
  }
  Extent& operator+=(const Extent& other) {
    least = std::min(least, other.least);
    most = std::max(most, other.most);
    missing += other.missing;
    zero += other.zero;
    return *this;
  }
};

Extent range_of(const Table<double>& table, const Control& control) {
  Extent all;
  if (table.sparse) {
    const auto stored = static_cast<Index>(table.sparse->value.size());
    all.add(table.sparse->value.data(), stored);
    const Index absent = table.samples() * table.features() - stored;
    const double nothing = 0;
    if (absent > 0) all.add(&nothing, 1);
    all.zero += std::max<Index>(absent - 1, 0);
    return all;
  }
  return parallel_sum(
      table.samples() * table.features(), control, all,
      [&](Index first, Index count, int, Extent& extent) { extent.add(table.values.data + first, count); }, kNumbers);
}

std::string shape_of(const Table<double>& table) {
  std::string text;
  for (const Index length : table.sample_shape) text += (text.empty() ? "" : " x ") + std::to_string(length);
  return text;
}

}  // namespace

int describe_data(const InfoArguments& a) {
  Console console(false, Progress::automatic);
  Control control = control_of(a.data);
  const Table<double> table = read_as_stored(a.data, console);
  const Extent range = range_of(table, control);
  if (interrupted()) throw Interrupted("interrupted");
  const Index count = table.samples() * table.features();
  const bool any = range.missing < count;
  if (a.json) {
    nlohmann::json out = {{"format", table.format},   {"samples", table.samples()}, {"features", table.features()},
                          {"sparse", !!table.sparse}, {"mapped", table.mapped},     {"missing", range.missing},
                          {"zeros", range.zero}};
    out["least"] = any && std::isfinite(range.least) ? nlohmann::json(range.least) : nlohmann::json();
    out["most"] = any && std::isfinite(range.most) ? nlohmann::json(range.most) : nlohmann::json();
    if (table.labels) out["classes"] = table.labels->names.size();
    console.clear_line();
    write_stdout(out.dump(2) + "\n");
    return kDone;
  }
  const auto share = [&](Index part) {
    return fmt::format("{} ({:.1f}%)", part, 100 * static_cast<double>(part) / static_cast<double>(count));
  };
  TextTable t;
  t.rows = {{"format", table.format + (table.sparse ? ", sparse" : "") + (table.mapped ? ", mapped" : "")},
            {"samples x features", fmt::format("{} x {}", table.samples(), table.features())}};
  if (!table.sample_shape.empty()) t.rows.push_back({"shape of a sample", shape_of(table)});
  t.rows.push_back({"range", any ? fmt::format("{:g} .. {:g}", range.least, range.most) : "-"});
  t.rows.push_back({"missing", share(range.missing)});
  t.rows.push_back({"zeros", share(range.zero)});
  if (table.labels) t.rows.push_back({"classes", std::to_string(table.labels->names.size())});
  console.print(to_text(t));
  return kDone;
}

}  // namespace pacewise::cli

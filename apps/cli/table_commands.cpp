// impute and clean: data in, data out; the model is learned on the way.
#include <fmt/format.h>

#include <cmath>

#include "apps/cli/commands.hpp"
#include "apps/cli/outcome.hpp"
#include "apps/cli/outputs.hpp"
#include "apps/cli/signals.hpp"
#include "apps/cli/trust_report.hpp"
#include "model/kind.hpp"
#include "model/model.hpp"

namespace pacewise::cli {
namespace {

constexpr std::size_t kShown = 10;
constexpr double kFarOff = 0.25;  // of a loss as large as its lambda, where weights are 0
constexpr double kBelieved =
    1.0 / 3;  // with this confidence and more; doubt begins at 1/2, where every fourth is right

/// Data, and a model of them by the defaults of their kind
struct Learned {
  Console console;
  Table<double> table;
  Problem<double> problem;
  Model<double> model;
  Matrix<double> values;  // to be changed and written

  explicit Learned(const TableArguments& a) : console(a.quiet, Progress::automatic) {
    check_files({{"DATA", a.data.path}, {"--weights", a.weights}},
                {{{"--output", a.output}}, {{"--cells", a.cells}, Holds::rows}}, a.force);
    DataSource source = a.data;
    source.options.keep_text = a.output.ends_with(".csv");
    table = read_data<double>(source, console);
    problem.values = table.values;
    problem.weights = read_weights<double>(a.weights, table.features(), table.samples(), console);
    const bool pictures = table.sample_shape.size() > 1;
    Options options = settle_kind(problem, a.options, a.named, pictures);
    options.graph = GraphKind::none;  // samples tied to their neighbours are for clusters
    const FitInputs inputs{.note = kind_note(problem, options, pictures)};
    const Control control = control_of(a.data);
    console.note(inputs.note);
    console.stage(fmt::format("learning from {} samples x {} features", table.samples(), table.features()));
    Result<double> result = fit<double>(problem, options, control, nullptr, inputs);
    if (interrupted()) throw Interrupted("interrupted; nothing was written");
    model = make_model(std::move(result), problem, {}, control);
    for (const std::string& note : model.notes)
      if (note != inputs.note) console.note(note);
    values = Matrix<double>(table.values);
  }

  void write(const std::string& path) {
    if (interrupted()) throw Interrupted("interrupted; nothing was written");
    Names names = names_for(table, table.feature_names);
    names.beside = table.beside;
    write_table<double>(path, values.view(), names);
  }
  std::string feature_of(Index i) const { return feature_name(table.feature_names, i); }
};

}  // namespace

int run_impute(const TableArguments& a) {
  Learned in(a);
  const Matrix<double> mended = in.model.mend(in.problem, {}, control_of(a.data));
  Index filled = 0;
  for (Index u = 0; u < in.values.size(); ++u) {
    double& x = in.values.data()[u];
    if (!std::isnan(x) && x != in.model.options.missing) continue;
    x = mended.data()[u];
    ++filled;
  }
  in.write(a.output);
  in.console.print(
      fmt::format("{} of {} values were missing and are filled in: {}\n", filled, in.values.size(), a.output));
  return kDone;
}

int run_clean(const TableArguments& a) {
  Learned in(a);
  std::vector<WrongCell> cells = in.model.find_wrong_cells(in.problem, {}, control_of(a.data));
  // where hidden entries say that nothing is wrong, only what stands out all the same
  const bool sound = in.model.descent.settled && in.model.descent.chosen == 0;
  std::erase_if(cells, [&](const WrongCell& c) { return c.confidence > (sound ? kFarOff : kBelieved); });
  std::string list = "row,column,old,new,confidence\n";
  TextTable shown;
  shown.head = {"row", "column", "old", "new", "confidence"};
  for (const WrongCell& c : cells) {
    in.values(c.feature, c.sample) = c.expected;
    const std::string row = sample_name(in.table, c.sample), column = in.feature_of(c.feature);
    list += fmt::format("{},{},{},{},{}\n", csv_field(row), csv_field(column), csv_number(c.given),
                        csv_number(c.expected), csv_number(c.confidence));
    if (shown.rows.size() < kShown)
      shown.rows.push_back({row, column, figure_text(c.given), figure_text(c.expected), fixed_text(c.confidence)});
  }
  in.write(a.output);
  if (!a.cells.empty()) write_text(a.cells, list);
  std::string text = fmt::format("{} of {} cells were replaced: {}\n", cells.size(), in.values.size(), a.output);
  if (!cells.empty()) text += to_text(shown);
  if (cells.size() > kShown)
    text += a.cells.empty() ? "The others are listed with --cells LIST.csv.\n" : "All of them: " + a.cells + "\n";
  in.console.print(text);
  return kDone;
}

}  // namespace pacewise::cli

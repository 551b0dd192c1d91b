#include "apps/cli/fit_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/cli/confusion.hpp"
#include "apps/cli/trust_report.hpp"
#include "apps/report/chart.hpp"

namespace pacewise::cli {

namespace {

/// Tiles in a row: as many as are two screen pixels a pixel, fewer where that fills the last row
Index across_for(Index count, Index columns) {
  const Index most = std::min(count, std::clamp<Index>(450 / (columns + 1), 4, 16));
  for (Index across = most; 2 * across > most; --across)
    if (count % across == 0) return across;
  return most;
}

}  // namespace

template <class T>
void add_atoms(Page& page, const Matrix<T>& dictionary, Index rows, Index columns) {
  const bool strips = rows == 0;
  if (strips && dictionary.rows() > kLongestStrip) return;
  const Index shown = std::min<Index>(dictionary.cols(), strips ? 64 : 128);
  const MatrixView<const T> atoms = dictionary.view().columns(0, shown);
  page.heading("Learned atoms");
  if (!strips) {
    page.pictures({montage<T>(fmt::format("{} of {} atoms, each stretched to its own range", shown, dictionary.cols()),
                              atoms, {rows, columns}, across_for(shown, columns))});
    return;
  }
  double most = 0;
  for (Index k = 0; k < shown; ++k)
    for (Index i = 0; i < atoms.rows; ++i) most = std::max(most, std::abs(static_cast<double>(atoms(i, k))));
  const Range range{-most, most};
  page.pictures({montage<T>(fmt::format("{} of {} atoms, one per row, a column per feature: black {}, grey 0, white {}",
                                        shown, dictionary.cols(), figure_text(-most, 3), figure_text(most, 3)),
                            atoms, {0, 0}, 1, &range)});
}

void add_convergence(Page& page, const std::vector<Record>& history) {
  page.heading("Course of the run");
  page.markup(convergence_chart(history));
}

template <class T>
TextTable summary_table(const Model<T>& m) {
  const int iterations = m.iteration;
  TextTable t;
  t.rows = {{"samples x features", fmt::format("{} x {}", m.samples, m.features)},
            {"atoms", std::to_string(m.dictionary.cols())},
            {"level", std::string(name_of(m.options.level))},
            {"ended", std::string(name_of(m.termination))},
            {"iterations", std::to_string(iterations)},
            {"objective", figure_text(m.objective.total())},
            {"  fit", figure_text(m.objective.fit)},
            {"  pace", figure_text(m.objective.pace)},
            {"  sparsity", figure_text(m.objective.sparsity)},
            {"  manifold", figure_text(m.objective.manifold)},
            {"  consistency", figure_text(m.objective.consistency)},
            {"certificate: codes", figure_text(m.certificate.codes, 3)},
            {"certificate: dictionary", figure_text(m.certificate.dictionary, 3)},
            {"certificate: consistency", figure_text(m.certificate.consistency, 3)},
            {"lambda", figure_text(m.lambda)},
            {"selected", fixed_text(100 * m.selected, 1) + "%"},
            {"density of the codes", fixed_text(100 * m.density, 1) + "%"},
            {"seconds", fixed_text(m.seconds, 2)}};
  if (m.descent.settled)
    t.rows.insert(t.rows.end() - 4, {"certificate: weights", figure_text(m.certificate.weights, 3)});
  return t;
}

TextTable stage_table(const std::vector<Stage>& stages, int chosen) {
  TextTable t;
  t.head = {"robust scales", "lambda", "error of hidden entries", "gain over all in", "standard error", ""};
  for (std::size_t k = 0; k < stages.size() && stages[k].hidden > 0; ++k) {
    const Stage& s = stages[k];
    const double all_in = stages.front().error();
    t.rows.push_back({std::isinf(s.scale) ? "all in" : figure_text(s.scale, 3), figure_text(s.lambda, 3),
                      figure_text(s.error(), 4), k == 0 ? "" : fixed_text(100 * s.mean_gain() / all_in, 1) + "%",
                      k == 0 ? "" : fixed_text(100 * s.gain_error() / all_in, 1) + "%",
                      static_cast<int>(k) == chosen ? "stopped here" : ""});
  }
  return t;
}

std::vector<std::string> certificate_notes() {
  return {"Certificates are 0 at an optimum, each for what the others returned.",
          "Codes: S is the last step, so this is how exactly it was solved.",
          "Dictionary, consistency: B and Q came before S; how far they would still move.",
          "Weights, of a descending pace: how far those in use are from those of the returned residuals, on average."};
}

namespace {

/// Of a table: what each atom says of the features, the strongest reddest
template <class T>
void add_atom_table(Page& page, const Matrix<T>& dictionary, const std::vector<std::string>& names) {
  TextTable t;
  t.head = {"feature"};
  for (Index k = 0; k < std::min<Index>(dictionary.cols(), kTableColumns); ++k) t.head.push_back(std::to_string(k));
  for (Index i = 0; i < dictionary.rows(); ++i) {
    t.rows.push_back({feature_name(names, i)});
    t.shade.push_back({0});
    for (Index k = 0; k + 1 < std::ssize(t.head); ++k) {
      t.rows.back().push_back(fixed_text(static_cast<double>(dictionary(i, k)), 2));
      t.shade.back().push_back(static_cast<double>(dictionary(i, k)));
    }
  }
  page.heading("Learned atoms");
  page.paragraph("A column for each atom, in deviations of the features: red above the centre, blue below.");
  page.table(t);
}

template <class T>
void add_clusters(Page& page, const FitReport<T>& report) {
  if (report.clustering == nullptr || report.labels == nullptr || report.clustering->assignment.empty()) return;
  page.heading("Clusters against labels");
  TextTable scores;
  scores.head = {"measure", "mean", "sd", "min", "max"};
  for (const Measure& measure : kMeasures) {
    const Spread s = spread_of(report.clustering->runs, measure);
    scores.rows.push_back({measure.name, fixed_text(s.mean), fixed_text(s.sd), fixed_text(s.min), fixed_text(s.max)});
  }
  page.table(scores);
  page.paragraph(fmt::format(
      "k-means++ on {}codes, {} runs. Below, the run with the least inertia: samples of each label by cluster, "
      "every cluster named after the label it is matched with, one to one.",
      report.model.options.normalize == Normalize::unit ? "unit-norm " : "", report.clustering->runs.size()));
  page.table(confusion_table(*report.labels, report.clustering->assignment));
}

template <class T>
void add_first_samples(Page& page, const FitReport<T>& report, std::pair<Index, Index> shape) {
  if (shape.first == 0) return;
  const Index shown = std::min<Index>(report.result.data.values.cols(), 32);
  page.heading("First samples");
  page.pictures({montage<T>("as the solvers saw them", report.result.data.values.view().columns(0, shown), shape,
                            std::min<Index>(shown, 8))});
}

}  // namespace

template <class T>
std::string fit_page(const FitReport<T>& report) {
  const Result<T>& r = report.result;
  const bool table = report.model.options.kind == Kind::table;
  const auto shape = table ? std::pair<Index, Index>() : picture_shape(report.table.sample_shape, r.data.values.rows());
  Page page("Pacewise fit: " + report.name);
  page.table(summary_table(report.model));
  std::string certificates;
  for (const std::string& line : certificate_notes()) certificates += (certificates.empty() ? "" : " ") + line;
  page.paragraph(certificates);
  for (const std::string& note : r.notes) page.paragraph("Note: " + note);
  if (table && r.options.level != Level::none) add_trust(page, report, shape);
  if (const TextTable stages = stage_table(report.model.descent.stages, report.model.descent.chosen);
      report.model.descent.settled && !stages.rows.empty()) {
    page.heading("Where the pace stopped");
    page.paragraph(
        "Some entries were hidden from the fit. From all in, lambda fell stage by stage; the stage that predicts them "
        "best is "
        "kept if it gains more than two standard errors and 2% over all in. The error is a mean of capped squares.");
    page.markup(stage_chart(report.model.descent.stages, report.model.descent.chosen));
    page.table(stages);
  }
  add_convergence(page, r.history);
  if (r.options.level == Level::none)
    add_first_samples(page, report, shape);
  else if (!table)
    add_trust(page, report, shape);
  add_clusters(page, report);
  if (table && r.data.values.rows() <= kTableColumns)
    add_atom_table(page, r.dictionary, report.table.feature_names);
  else
    add_atoms(page, r.dictionary, shape.first, shape.second);
  return page.html();
}

#define PACEWISE_INSTANTIATE(T)                                      \
  template void add_atoms<T>(Page&, const Matrix<T>&, Index, Index); \
  template TextTable summary_table<T>(const Model<T>&);              \
  template std::string fit_page<T>(const FitReport<T>&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise::cli

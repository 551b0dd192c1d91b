#include "cli/fit_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/png.hpp"
#include "pacewise/report/chart.hpp"

namespace pacewise::cli {

std::pair<Index, Index> picture_shape(const std::vector<Index>& sample_shape, Index features) {
  if (sample_shape.size() == 2 && sample_shape[0] > 1 && sample_shape[1] > 1) return {sample_shape[0], sample_shape[1]};
  const auto side = static_cast<Index>(std::lround(std::sqrt(static_cast<double>(features))));
  if (side * side == features && side >= 4) return {side, side};
  return {0, 0};
}

template <class T>
std::string montage_png(MatrixView<const T> values, Index rows, Index columns, Index across, const Range* range) {
  const Index down = (values.cols + across - 1) / across;
  const Index width = across * (columns + 1) + 1, height = down * (rows + 1) + 1;
  std::string pixels(static_cast<std::size_t>(width * height), '\x80');
  for (Index t = 0; t < values.cols; ++t) {
    const T* tile = values.col(t);
    const auto [least, most] = std::minmax_element(tile, tile + rows * columns);
    const double low = range != nullptr ? range->low : static_cast<double>(*least);
    const double high = range != nullptr ? range->high : static_cast<double>(*most);
    const Index left = t % across * (columns + 1) + 1, top = t / across * (rows + 1) + 1;
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < columns; ++j) {
        const double v = static_cast<double>(tile[i * columns + j]);
        const double share = high > low && std::isfinite(v) ? std::clamp((v - low) / (high - low), 0.0, 1.0) : 0.5;
        pixels[static_cast<std::size_t>((top + i) * width + left + j)] = static_cast<char>(std::lround(255 * share));
      }
  }
  return grey_png(static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height), pixels);
}

template <class T>
void add_atoms(Page& page, const Matrix<T>& dictionary, Index rows, Index columns) {
  if (rows == 0) return;
  const Index shown = std::min<Index>(dictionary.cols(), 128), across = std::min<Index>(shown, 16);
  page.heading("Learned atoms");
  page.pictures({{fmt::format("{} of {} atoms, each stretched to its own range", shown, dictionary.cols()),
                  montage_png<T>(dictionary.view().columns(0, shown), rows, columns, across),
                  static_cast<int>(std::min<Index>(across * (columns + 1) * 2, 940))}});
}

void add_convergence(Page& page, const std::vector<Record>& history) {
  page.heading("Course of the run");
  page.markup(convergence_chart(history));
}

template <class T>
TextTable summary_table(const Result<T>& r) {
  const double worst = std::max({r.certificate.codes, r.certificate.dictionary, r.certificate.consistency});
  const int iterations = r.state.iteration;
  TextTable t;
  t.rows = {{"samples x features", fmt::format("{} x {}", r.data.values.cols(), r.data.values.rows())},
            {"atoms", std::to_string(r.state.dictionary.cols())},
            {"ended", std::string(name_of(r.termination))},
            {"iterations", std::to_string(iterations)},
            {"objective", figure_text(r.objective.total())},
            {"  fit", figure_text(r.objective.fit)},
            {"  pace", figure_text(r.objective.pace)},
            {"  sparsity", figure_text(r.objective.sparsity)},
            {"  manifold", figure_text(r.objective.manifold)},
            {"  consistency", figure_text(r.objective.consistency)},
            {"certificate", figure_text(worst, 3)},
            {"lambda", figure_text(r.lambda)},
            {"selected", fixed_text(100 * r.selected, 1) + "%"},
            {"density of the codes", fixed_text(100 * r.density, 1) + "%"},
            {"seconds", fixed_text(r.state.seconds, 2)}};
  return t;
}

template <class T>
std::string fit_page(const Result<T>& r, const std::string& name, const std::vector<Index>& sample_shape,
                     const Scores* scores) {
  Page page("Pacewise fit: " + name);
  TextTable table = summary_table(r);
  if (scores != nullptr) {
    table.rows.push_back({"ACC of clustered codes", fixed_text(scores->acc)});
    table.rows.push_back({"purity", fixed_text(scores->purity)});
    table.rows.push_back({"NMI", fixed_text(scores->nmi)});
    table.rows.push_back({"ARI", fixed_text(scores->ari)});
  }
  page.table(table);
  for (const std::string& note : r.notes) page.paragraph("Note: " + note);
  add_convergence(page, r.state.history);
  const Index m = r.data.values.rows(), n = r.data.values.cols();
  const auto [rows, columns] = picture_shape(sample_shape, m);
  if (rows == 0) return page.html();
  add_atoms(page, r.state.dictionary, rows, columns);
  const Index shown = std::min<Index>(n, 32), across = std::min<Index>(shown, 16);
  const int width = static_cast<int>(std::min<Index>(across * (columns + 1) * 2, 940));
  page.heading("First samples");
  page.pictures({{"as the solvers saw them",
                  montage_png<T>(r.data.values.view().columns(0, shown), rows, columns, across), width}});
  if (r.options.schedule.level == Level::element) {
    const Range unit{0, 1};
    const MatrixView<const T> weights(r.weights.data(), m, n);
    page.pictures({{"self-paced weights of their entries: black 0 (not believed), white 1",
                    montage_png<T>(weights.columns(0, shown), rows, columns, across, &unit), width}});
  }
  return page.html();
}

#define PACEWISE_INSTANTIATE(T)                                                                \
  template std::string montage_png<T>(MatrixView<const T>, Index, Index, Index, const Range*); \
  template void add_atoms<T>(Page&, const Matrix<T>&, Index, Index);                           \
  template TextTable summary_table<T>(const Result<T>&);                                       \
  template std::string fit_page<T>(const Result<T>&, const std::string&, const std::vector<Index>&, const Scores*);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise::cli

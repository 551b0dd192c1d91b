#include "apps/cli/trust_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "apps/cli/inputs.hpp"
#include "solve/weights.hpp"

namespace pacewise::cli {
namespace {

constexpr Index kAcross = 8, kPictures = 16, kRows = 20;
constexpr Range kUnit{0, 1};

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

template <class T>
bool observed(const Data<T>& data, Index j) {
  for (Index i = 0; i < data.values.rows(); ++i)
    if (data.weights(i, j) > T(0)) return true;
  return false;
}

/// "12 (cat)"
template <class T>
std::string with_label(const FitReport<T>& report, Index sample) {
  const Labels* labels = report.labels;
  const std::string name = sample_name(report.table, sample);
  return labels == nullptr ? name : fmt::format("{} ({})", name, labels->names[at(labels->value[at(sample)])]);
}

std::vector<Index> largest(const std::vector<double>& score, Index count) {
  std::vector<Index> order;
  for (std::size_t j = 0; j < score.size(); ++j)
    if (!std::isnan(score[j])) order.push_back(static_cast<Index>(j));
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return score[at(a)] > score[at(b)]; });
  order.resize(std::min(order.size(), at(count)));
  return order;
}

const char* score_text(Level level) {
  switch (level) {
    case Level::sample:
      return "Score: the sample's loss as a multiple of lambda; its weight falls as it grows.";
    case Level::feature:
      return "Score: the sample's loss over the trusted features, as a multiple of the mean sample's.";
    default:
      return "Score: mean over the sample's entries of loss / lambda, at most 1 each.";
  }
}

/// Samples above, what the fit makes of them below, both on the scale of the sample.
template <class T>
Matrix<T> with_reconstructions(const Result<T>& r, const std::vector<Index>& samples) {
  const Index m = r.data.values.rows(), count = static_cast<Index>(samples.size());
  const Index blocks = (count + kAcross - 1) / kAcross, across = std::min(count, kAcross);
  Matrix<T> tiles(m, 2 * blocks * across, std::numeric_limits<T>::quiet_NaN());
  for (Index c = 0; c < count; ++c) {
    const Index j = samples[at(c)], tile = c / across * 2 * across + c % across;
    const T* x = r.data.values.col(j);
    const auto [least, most] = std::minmax_element(x, x + m);
    const T low = *least, span = *most > *least ? *most - *least : T(1);
    for (Index i = 0; i < m; ++i) {
      T model = 0;
      for (Index k = 0; k < r.codes.rows(); ++k) model += r.dictionary(i, k) * r.codes(k, j);
      if (r.data.weights(i, j) > T(0)) tiles(i, tile) = (x[i] - low) / span;
      tiles(i, tile + across) = (model - low) / span;
    }
  }
  return tiles;
}

template <class T>
void add_pictures(Page& page, const FitReport<T>& report, std::pair<Index, Index> shape,
                  const std::vector<Index>& samples, const std::vector<double>& score) {
  const Index across = std::min<Index>(static_cast<Index>(samples.size()), kAcross);
  std::string list;
  for (const Index j : samples)
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", with_label(report, j), figure_text(score[at(j)], 3));
  const Matrix<T> tiles = with_reconstructions(report.result, samples);
  page.pictures({montage<T>("Samples, below each its reconstruction. From left to right, with scores: " + list,
                            tiles.view(), shape, across, &kUnit)});
}

template <class T>
void add_least_trusted(Page& page, const FitReport<T>& report, std::pair<Index, Index> shape) {
  const Result<T>& r = report.result;
  const Level level = r.options.level;
  const std::vector<double> score = distrust(r);
  page.heading("Least trusted samples");
  page.paragraph(score_text(level));
  if (shape.first > 0) {
    add_pictures(page, report, shape, largest(score, kPictures), score);
    return;
  }
  TextTable t;
  t.head = {"sample", "score"};
  if (level == Level::sample) t.head.emplace_back("weight");
  if (report.labels != nullptr) t.head.emplace_back("label");
  for (const Index j : largest(score, kRows)) {
    t.rows.push_back({sample_name(report.table, j), figure_text(score[at(j)], 4)});
    if (level == Level::sample) t.rows.back().push_back(fixed_text(static_cast<double>(r.weights[at(j)])));
    if (report.labels != nullptr) t.rows.back().push_back(report.labels->names[at(report.labels->value[at(j)])]);
  }
  page.table(t);
}

/// Weights of the shown samples (or of all features) as tiles; missing entries have no value.
template <class T>
Matrix<T> weight_tiles(const Data<T>& data, const std::vector<Index>& samples,
                       const std::vector<unsigned char>& bytes) {
  const Index m = data.values.rows(), tiles = samples.empty() ? 1 : static_cast<Index>(samples.size());
  Matrix<T> out(m, tiles);
  for (Index c = 0; c < tiles; ++c)
    for (Index i = 0; i < m; ++i)
      out(i, c) = !samples.empty() && !(data.weights(i, samples[at(c)]) > T(0))
                      ? std::numeric_limits<T>::quiet_NaN()
                      : static_cast<T>(bytes[at(c * m + i)]) / T(255);
  return out;
}

template <class T>
std::vector<unsigned char> last_weights(const Result<T>& r, const std::vector<Index>& samples) {
  const Index m = r.data.values.rows();
  std::vector<unsigned char> out;
  const auto add = [&](Index first) {
    for (Index i = 0; i < m; ++i)
      out.push_back(static_cast<unsigned char>(std::lround(255 * static_cast<double>(r.weights[at(first + i)]))));
  };
  if (samples.empty()) add(0);
  for (const Index j : samples) add(j * m);
  return out;
}

template <class T>
void add_map(Page& page, const FitReport<T>& report, std::pair<Index, Index> shape) {
  const Result<T>& r = report.result;
  const bool features = r.options.level == Level::feature;
  if (shape.first == 0 && r.data.values.rows() > kLongestStrip) return;
  std::vector<Index> samples = report.weights.samples();
  if (!features && samples.empty()) samples = largest(distrust(r), WeightHistory<T>::kTiles);
  const Index across = features ? 1 : std::min<Index>(static_cast<Index>(samples.size()), kAcross);
  std::vector<Picture> frames;
  const auto add = [&](const std::string& caption, const std::vector<unsigned char>& bytes) {
    const Matrix<T> tiles = weight_tiles(r.data, samples, bytes);
    frames.push_back(montage<T>(caption, tiles.view(), shape, across, &kUnit));
    if (features && shape.first > 0)
      frames.back().width = static_cast<int>(std::clamp<Index>(8 * shape.second, 96, 480));
  };
  for (const auto& f : report.weights.frames())
    add(fmt::format("iteration {}: lambda {}, {:.1f}% selected", f.iteration, figure_text(f.lambda, 4),
                    100 * f.selected),
        f.weights);
  add(fmt::format("at the end: lambda {}, {:.1f}% selected", figure_text(r.lambda, 4), 100 * r.selected),
      last_weights(r, samples));
  page.heading(features ? "Weights of the features" : "Weights of the entries");
  const std::string greys =
      std::string("Black 0: not trusted, white 1") + (!features && r.data.missing > 0 ? ", grey: missing." : ".");
  if (features) {
    page.frames(greys, frames);
    return;
  }
  std::string list;
  for (const Index j : samples) list += (list.empty() ? "" : ", ") + std::to_string(j);
  if (shape.first > 0) {
    Matrix<T> shown(r.data.values.rows(), static_cast<Index>(samples.size()));
    for (std::size_t c = 0; c < samples.size(); ++c)
      std::copy_n(r.data.values.col(samples[c]), shown.rows(), shown.col(static_cast<Index>(c)));
    page.pictures(
        {montage<T>("Samples with the least weight when the pace began: " + list, shown.view(), shape, across)});
    page.frames("The weights of their entries. " + greys, frames);
  } else {
    page.frames(
        fmt::format("A row per sample, a column per feature; samples with the least weight when the pace began: "
                    "{}. {}",
                    list, greys),
        frames);
  }
}

/// Of a table: the cells in doubt, and the rows that have most of them
template <class T>
void add_doubted_cells(Page& page, const FitReport<T>& report) {
  const Table<T>& table = report.table;
  page.heading("Doubted cells");
  if (report.cells.empty()) {
    page.paragraph(
        "No cell is in doubt: each has a confidence of at least 1/2, judged by codes that have not seen it.");
    return;
  }
  page.paragraph(
      fmt::format("{} of {} cells have a confidence below 1/2, judged by codes that have not seen them. The least "
                  "trusted ones, with "
                  "what the model expects there:",
                  report.cells.size(), table.values.rows * table.values.cols));
  TextTable list;
  list.head = {"sample", "feature", "given", "expected", "confidence"};
  std::map<Index, double> of_sample, of_feature;  // doubt
  std::map<std::pair<Index, Index>, double> doubt;
  for (const WrongCell& c : report.cells) {
    if (std::ssize(list.rows) < kRows)
      list.rows.push_back({sample_name(table, c.sample), feature_name(table.feature_names, c.feature),
                           figure_text(c.given), figure_text(c.expected, 4), fixed_text(c.confidence, 2)});
    doubt[{c.sample, c.feature}] = 1 - c.confidence;
    of_sample[c.sample] += 1 - c.confidence;
    of_feature[c.feature] += 1 - c.confidence;
  }
  page.table(list);
  const auto most = [](const std::map<Index, double>& of, Index count) {
    std::vector<Index> keys;
    for (const auto& [key, value] : of) keys.push_back(key);
    std::stable_sort(keys.begin(), keys.end(), [&](Index a, Index b) { return of.at(a) > of.at(b); });
    keys.resize(std::min(keys.size(), at(count)));
    return keys;
  };
  std::vector<Index> features = most(of_feature, kTableColumns);
  if (table.values.rows <= kTableColumns) {
    features.resize(at(table.values.rows));
    std::iota(features.begin(), features.end(), Index{0});
  }
  TextTable map;
  map.head = {"sample"};
  for (const Index i : features) map.head.push_back(feature_name(table.feature_names, i));
  for (const Index j : most(of_sample, kRows)) {
    map.rows.push_back({sample_name(table, j)});
    map.shade.push_back({0});
    for (const Index i : features) {
      const auto found = doubt.find({j, i});
      map.rows.back().push_back(figure_text(static_cast<double>(table.values(i, j)), 4));
      map.shade.back().push_back(found == doubt.end() ? 0 : found->second);
    }
  }
  page.heading("Samples with doubted cells");
  page.paragraph("Those with most doubt first; the redder a cell, the less it is trusted.");
  page.table(map);
}

template <class T>
void add_feature_table(Page& page, const Result<T>& r, const std::vector<std::string>& names) {
  std::vector<double> doubt;
  for (const T v : r.weights) doubt.push_back(1 - static_cast<double>(v));
  TextTable t;
  t.head = {"feature", "weight", "loss"};
  for (const Index i : largest(doubt, kRows))
    t.rows.push_back({feature_name(names, i), fixed_text(static_cast<double>(r.weights[at(i)])),
                      figure_text(static_cast<double>(r.losses[at(i)]), 4)});
  page.paragraph("The least trusted features:");
  page.table(t);
}

}  // namespace

std::string feature_name(const std::vector<std::string>& names, Index feature) {
  return names.empty() ? std::to_string(feature) : names[at(feature)];
}

template <class T>
std::vector<double> distrust(const Result<T>& r) {
  const Index m = r.data.values.rows(), n = r.data.values.cols();
  const Level level = r.options.level;
  std::vector<double> score(at(n), std::numeric_limits<double>::quiet_NaN());
  Vector<T> over_trusted;
  const T* loss = r.losses.data();
  double scale = r.lambda;
  if (level == Level::feature) {
    Control control;
    control.threads = r.threads;
    Weights<T> trusted = r.data.weights;
    combine(r.data.weights, r.weights, level, m, n, trusted);
    over_trusted = unit_losses<T>(r.data.values, trusted, r.dictionary, r.codes, Level::sample, control);
    loss = over_trusted.data();
    scale = std::accumulate(over_trusted.begin(), over_trusted.end(), 0.0) / static_cast<double>(n);
  }
  for (Index j = 0; j < n; ++j) {
    if (!observed(r.data, j)) continue;
    if (level != Level::element) {
      score[at(j)] = scale > 0 ? static_cast<double>(loss[j]) / scale : 0;
      continue;
    }
    double sum = 0, count = 0;
    for (Index i = 0; i < m; ++i) {
      if (!(r.data.weights(i, j) > T(0))) continue;
      sum += std::min(1.0, static_cast<double>(loss[j * m + i]) / scale);
      ++count;
    }
    score[at(j)] = sum / count;
  }
  return score;
}

template <class T>
void add_trust(Page& page, const FitReport<T>& report, std::pair<Index, Index> shape) {
  const Result<T>& r = report.result;
  if (!std::isfinite(r.lambda)) {
    page.paragraph("The run ended before the pace began: every weight is 1.");
    return;
  }
  if (report.model.options.kind == Kind::table)
    add_doubted_cells(page, report);
  else if (r.options.level != Level::sample)
    add_map(page, report, shape);
  if (r.options.level == Level::feature && shape.first == 0) add_feature_table(page, r, report.table.feature_names);
  add_least_trusted(page, report, shape);
}

#define PACEWISE_INSTANTIATE(T)                               \
  template std::vector<double> distrust<T>(const Result<T>&); \
  template void add_trust<T>(Page&, const FitReport<T>&, std::pair<Index, Index>);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise::cli

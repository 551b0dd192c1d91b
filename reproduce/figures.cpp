#include "reproduce/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/cli/montage.hpp"
#include "apps/report/chart.hpp"

namespace pacewise::reproduce {
namespace {

constexpr int kSeed = 1;
constexpr Index kShown = 10;

Control one_thread(const Runner& runner) {
  Control control;
  control.threads = 1;
  control.cancel = runner.cancel();
  return control;
}

/// Columns become upright pictures, `across` in a row; pointing at one tells its name.
Picture montage(const Dataset& dataset, const std::string& caption, const Matrix<double>& images, Index across,
                std::vector<std::string> names, const cli::Range* range = nullptr) {
  Matrix<double> turned(images.rows(), images.cols());
  for (Index j = 0; j < images.cols(); ++j) {
    const std::vector<double> picture = upright(dataset, images.col(j));
    std::copy(picture.begin(), picture.end(), turned.col(j));
  }
  return cli::montage<double>(caption, turned.view(), {dataset.side, dataset.side}, across, std::move(names), range);
}

std::vector<Index> spread_over(Index count, Index wanted) {
  std::vector<Index> out;
  for (Index i = 0; i < std::min(count, wanted); ++i)
    out.push_back((2 * i + 1) * count / (2 * std::min(count, wanted)));
  return out;
}

Picture draw_samples(const Dataset& dataset, const std::vector<double>& rhos) {
  const std::vector<Index> shown = spread_over(dataset.values.cols(), kShown);
  const auto across = static_cast<Index>(shown.size());
  Matrix<double> tiles(dataset.values.rows(), across * static_cast<Index>(rhos.size()));
  std::string words;
  std::vector<std::string> names;
  for (std::size_t r = 0; r < rhos.size(); ++r) {
    const Matrix<double> images = noisy(dataset, rhos[r], kSeed);
    for (Index c = 0; c < across; ++c) {
      const Index j = shown[static_cast<std::size_t>(c)];
      std::copy_n(images.col(j), images.rows(), tiles.col(static_cast<Index>(r) * across + c));
      names.push_back(fmt::format("image {}, rho = {}", j + 1, rhos[r]));
    }
    words += (r == 0 ? "" : ", ") + fmt::format("{}", rhos[r]);
  }
  return montage(dataset, "From top to bottom: rho = " + words + ". Each image stretched to its own range.", tiles,
                 across, std::move(names));
}

PaceCourse follow_pace(const Dataset& dataset, Method method, double rho, const Setting& setting,
                       const Runner& runner) {
  const Matrix<double> noise = noise_of(dataset, rho, kSeed), values = noisy(dataset, rho, kSeed);
  const Options options = fit_options(method, Source::half, setting, kSeed, dataset.values.cols());
  const Level level = options.level;
  const Data<double> data = prepare<double>({values.view(), {}}, options.normalize);
  const std::vector<double> seen = noise_levels(noise, data.sample_scale, level), raw = noise_levels(noise, {}, level);
  PaceCourse out;
  out.method = method;
  const auto look = [&](const Record& record, const State<double>& state) {
    const std::vector<double> weights(state.weights.begin(), state.weights.end());
    PaceStep step{record.iteration, std::nan(""), std::nan(""), record.mean_weight};
    if (!weights.empty()) {
      step.correlation = correlation(seen, weights);
      step.raw_correlation = correlation(raw, weights);
    }
    out.steps.push_back(step);
    return true;
  };
  const Result<double> result = fit<double>({values.view(), {}}, options, one_thread(runner), look);
  out.history = result.state.history;
  out.dictionary = result.state.dictionary;
  return out;
}

HiddenStep look_at_hidden(const Dataset& dataset, const Occluded& images, const Record& record,
                          const Vector<double>& weights) {
  HiddenStep step;
  step.iteration = record.iteration;
  double sum[2] = {0, 0}, count[2] = {0, 0};
  for (std::size_t u = 0; u < images.hidden.size(); ++u) {
    const int which = images.hidden[u] != 0 ? 1 : 0;
    sum[which] += weights.empty() ? 1 : weights[u];
    ++count[which];
  }
  step.hidden_weight = sum[1] / count[1];
  step.other_weight = sum[0] / count[0];
  if (weights.empty()) return step;
  const Index m = dataset.values.rows();
  const std::vector<Index> chosen = spread_over(static_cast<Index>(images.covered.size()), kShown);
  const auto across = static_cast<Index>(chosen.size());
  const double white = *std::max_element(images.values.data(), images.values.data() + images.values.size());
  Matrix<double> tiles(m, 2 * across);
  std::vector<std::string> names(static_cast<std::size_t>(2 * across));
  for (Index c = 0; c < across; ++c) {
    const Index j = images.covered[static_cast<std::size_t>(chosen[static_cast<std::size_t>(c)])];
    for (Index i = 0; i < m; ++i) tiles(i, c) = images.values(i, j) / white;
    std::copy_n(weights.data() + j * m, m, tiles.col(across + c));
    names[static_cast<std::size_t>(c)] = fmt::format("image {}", j + 1);
    names[static_cast<std::size_t>(across + c)] = fmt::format("weights of image {}", j + 1);
  }
  const cli::Range unit{0, 1};
  step.maps = montage(dataset,
                      fmt::format("iteration {}: mean weight {:.2f} under the squares, {:.2f} elsewhere",
                                  step.iteration, step.hidden_weight, step.other_weight),
                      tiles, across, std::move(names), &unit);
  return step;
}

std::vector<HiddenStep> follow_hidden(const Dataset& dataset, const Setting& setting, const Runner& runner) {
  const Occluded images = occlude(dataset, kSeed);
  const Options options = fit_options(Method::spsc_e, Source::half, setting, kSeed, dataset.values.cols());
  std::vector<HiddenStep> out;
  fit<double>({images.values.view(), {}}, options, one_thread(runner),
              [&](const Record& record, const State<double>& state) {
                out.push_back(look_at_hidden(dataset, images, record, state.weights));
                return true;
              });
  return out;
}

Series series_of(const PaceCourse& course, double PaceStep::*value, bool dashed = false) {
  Series s;
  s.name = name_of(course.method);
  s.dashed = dashed;
  for (const PaceStep& step : course.steps) {
    s.x.push_back(step.iteration);
    s.y.push_back(step.*value);
  }
  return s;
}

/// What the paper claims of its Fig. 2, said of ours.
std::string verdict(const PaceCourse& course) {
  const auto first = std::find_if(course.steps.begin(), course.steps.end(),
                                  [](const PaceStep& s) { return !std::isnan(s.correlation); });
  if (first == course.steps.end()) return {};
  const auto last = std::find_if(course.steps.rbegin(), course.steps.rend(),
                                 [](const PaceStep& s) { return !std::isnan(s.correlation); });
  return fmt::format(
      "{}: correlation {:+.2f} at its first paced iteration ({}), {:+.2f} at its last; mean weight {:.2f} "
      "to {:.2f}, then 1. ",
      name_of(course.method), first->correlation, first->correlation < 0 ? "negative" : "not negative",
      last->correlation, first->mean_weight, last->mean_weight);
}

void add_pace(Page& page, const Figures& figures) {
  std::vector<Series> seen, raw, weights;
  std::string words;
  for (const PaceCourse& course : figures.courses) {
    seen.push_back(series_of(course, &PaceStep::correlation));
    raw.push_back(series_of(course, &PaceStep::raw_correlation));
    weights.push_back(series_of(course, &PaceStep::mean_weight));
    words += verdict(course);
  }
  page.heading("Fig. 2: noise level and weight per iteration");
  page.paragraph(
      fmt::format("rho = {}. The noise level of a unit (sample, feature or entry) is its mean absolute noise. {}The "
                  "paper says that "
                  "the correlation is negative at the start and that weights rise to 1.",
                  figures.rho, words));
  page.markup(line_chart(seen, "iteration", "correlation", "correlation of noise level and weight per iteration"));
  page.paragraph("The same with the noise in pixels, before samples are scaled to unit norm:");
  page.markup(line_chart(raw, "iteration", "correlation", "correlation of pixel noise and weight per iteration"));
  page.paragraph("Mean weight per iteration:");
  page.markup(line_chart(weights, "iteration", "mean weight", "mean weight per iteration"));
}

void add_hidden(Page& page, const std::vector<HiddenStep>& steps) {
  std::vector<Picture> frames;
  Series hidden, other;
  hidden.name = "under the squares";
  other.name = "elsewhere";
  for (const HiddenStep& step : steps) {
    if (!step.maps.png.empty()) frames.push_back(step.maps);
    hidden.x.push_back(step.iteration);
    hidden.y.push_back(step.hidden_weight);
    other.x.push_back(step.iteration);
    other.y.push_back(step.other_weight);
  }
  page.heading("Weights of partly hidden images over the iterations");
  page.paragraph(
      "Every fifth clean image has a black or white square over it; SPSC-E is not told which or where. Top: the "
      "images; bottom: the "
      "weights of their pixels: black 0 (not believed), white 1.");
  page.frames("SPSC-E", frames);
  page.markup(line_chart({hidden, other}, "iteration", "mean weight", "mean weight of hidden and other entries"));
}

}  // namespace

std::vector<double> noise_levels(MatrixView<const double> noise, const Vector<double>& scale, Level level) {
  std::vector<double> out(static_cast<std::size_t>(level == Level::sample    ? noise.cols
                                                   : level == Level::feature ? noise.rows
                                                                             : noise.rows * noise.cols),
                          0.0);
  for (Index j = 0; j < noise.cols; ++j)
    for (Index i = 0; i < noise.rows; ++i) {
      const double size = std::abs(noise(i, j)) / (scale.empty() ? 1 : scale[static_cast<std::size_t>(j)]);
      if (level == Level::sample) out[static_cast<std::size_t>(j)] += size / static_cast<double>(noise.rows);
      if (level == Level::feature) out[static_cast<std::size_t>(i)] += size / static_cast<double>(noise.cols);
      if (level == Level::element) out[static_cast<std::size_t>(j * noise.rows + i)] = size;
    }
  return out;
}

double correlation(const std::vector<double>& a, const std::vector<double>& b) {
  const auto n = static_cast<double>(a.size());
  double mean_a = 0, mean_b = 0, aa = 0, bb = 0, ab = 0;
  for (std::size_t u = 0; u < a.size(); ++u) {
    mean_a += a[u] / n;
    mean_b += b[u] / n;
  }
  for (std::size_t u = 0; u < a.size(); ++u) {
    aa += (a[u] - mean_a) * (a[u] - mean_a);
    bb += (b[u] - mean_b) * (b[u] - mean_b);
    ab += (a[u] - mean_a) * (b[u] - mean_b);
  }
  return aa > 0 && bb > 0 ? ab / std::sqrt(aa * bb) : std::nan("");
}

Figures make_figures(const Dataset& dataset, const std::vector<double>& rhos, const Setting& setting, Runner& runner) {
  Figures out;
  out.rho = *std::max_element(rhos.begin(), rhos.end());
  out.courses.resize(out.rho > 0 ? kSelfPaced.size() : 0);
  std::vector<std::function<void()>> tasks;
  tasks.emplace_back([&] { out.hidden = follow_hidden(dataset, setting, runner); });
  for (std::size_t i = 0; i < out.courses.size(); ++i)
    tasks.emplace_back([&, i] { out.courses[i] = follow_pace(dataset, kSelfPaced[i], out.rho, setting, runner); });
  runner.complete(tasks, std::string(title_of(dataset.name)) + ", figures");
  out.samples = draw_samples(dataset, rhos);
  return out;
}

void add_figures(Page& page, const Dataset& dataset, const Figures& figures) {
  page.heading(fmt::format("Fig. 1: {} under noise", title_of(dataset.name)));
  page.pictures({figures.samples});
  if (!figures.courses.empty()) add_pace(page, figures);
  add_hidden(page, figures.hidden);
  if (figures.courses.empty()) return;
  const PaceCourse& course = figures.courses.front();
  page.heading(fmt::format("Course of {} at rho = {}", name_of(course.method), figures.rho));
  page.markup(convergence_chart(course.history));
  page.heading(fmt::format("Atoms of {} at rho = {}", name_of(course.method), figures.rho));
  std::vector<std::string> names;
  for (Index k = 0; k < course.dictionary.cols(); ++k) names.push_back(fmt::format("atom {}", k + 1));
  page.pictures(
      {montage(dataset, fmt::format("All {} atoms, each stretched to its own range", course.dictionary.cols()),
               course.dictionary, 16, std::move(names))});
}

}  // namespace pacewise::reproduce

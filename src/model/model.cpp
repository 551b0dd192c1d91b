#include "model/model.hpp"

#include <algorithm>
#include <cmath>

#include "model/kind.hpp"
#include "model/model_file.hpp"
#include "storage/container.hpp"
#include "storage/file_error.hpp"

namespace pacewise {
namespace {

constexpr Index kThresholdSamples = 500;
constexpr double kUsual = 3;  // robust standard deviations

/// The value below which a share of the numbers lies, by linear interpolation; NaN of none.
double quantile(Vector<double> values, double share) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<Index>(place), above = std::min(below + 1, static_cast<Index>(values.size()) - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

/// What is usual among the scores of training samples, coded as new samples are, without the graph: of at most
/// 500, evenly spaced. A score is a mean of squares; its root is about normal, and three standard deviations above
/// the median once in 740.
template <class T>
void learn_usual_scores(Model<T>& model, MatrixView<const T> X, const Control& control) {
  const Index count = std::min(X.cols, kThresholdSamples);
  Matrix<T> some(X.rows, count);
  for (Index i = 0; i < count; ++i)
    std::copy_n(X.col(count > 1 ? i * (X.cols - 1) / (count - 1) : 0), X.rows, some.col(i));
  EncodeOptions options;
  if (std::is_same_v<T, float>) options.tol = 1e-5;
  const Vector<T> judged = calibrate<T>(model, some, options, control.to_the_end()).outlier_score;
  Vector<double> scores;
  std::copy_if(judged.begin(), judged.end(), std::back_inserter(scores), [](T score) { return !std::isnan(score); });
  if (model.options.contamination || scores.empty()) {
    model.outlier_threshold = quantile(std::move(scores), 1 - model.options.contamination.value_or(0));
    return;
  }
  for (double& score : scores) score = std::sqrt(score);
  const RobustMoments usual = robust_moments(std::move(scores));
  model.outlier_threshold = std::pow(usual.median + kUsual * usual.scale, 2);
}

template <class T>
Model<T> resumable(const std::string& path) {
  AnyModel any = load_any(path);
  if (auto* model = std::get_if<Model<T>>(&any)) return std::move(*model);
  throw ReadError(printable(path, 200) + ": was made in " + (sizeof(T) == 4 ? "double" : "single") +
                  " precision; resume with data of that type");
}

template <class T>
Model<T> fit_with(const Problem<T>& problem, Options options, const FitControl& given) {
  if (!(given.max_seconds > 0)) refuse("max_seconds", to_text(given.max_seconds), "> 0");
  if (given.every < 1) refuse("every", std::to_string(given.every), ">= 1");
  Control control;
  control.threads = given.threads;
  control.cancel = given.cancel;
  if (std::isfinite(given.max_seconds)) control.end_after(given.max_seconds);
  FitInputs inputs{.graph = given.graph,
                   .graph_points = given.graph_points,
                   .dictionary = given.dictionary,
                   .groups = given.groups,
                   .codes = given.codes};
  validate(problem, control, options.missing);
  const Sources sources = sources_of(problem, inputs);
  Model<T> start;
  if (!given.resume.empty()) {
    start = resumable<T>(given.resume);
    check_resumed(start, problem, sources);
    start.options.max_iter = options.max_iter;
    start.options.tol = options.tol;
    options = start.options;
  } else {
    options = settle_kind(problem, options);
  }
  const Callback<T> callback = [&](const Record& record, const State<T>& state) {
    if (!given.checkpoint.empty() && record.iteration % given.every == 0)
      checkpoint_of(problem, sources, options, &state).save(given.checkpoint);
    return !given.callback || given.callback(record);
  };
  inputs.note = kind_note(problem, options);
  Result<T> result = fit<T>(problem, options, control, callback, inputs, start.iteration > 0 ? &start : nullptr);
  return make_model(std::move(result), problem, sources, control);
}

}  // namespace

template <class T>
Sources sources_of(const Problem<T>& problem, const FitInputs& inputs) {
  const MatrixView<const T>& X = problem.values;
  Sources sources;
  for (Index j = 0; j < X.cols; ++j)
    sources.data_checksum = checksum(sources.data_checksum, X.col(j), static_cast<std::size_t>(X.rows) * sizeof(T));
  const Weights<T>& w = problem.weights;
  sources.weights = !(w.sample.empty() && w.feature.empty() && w.entry.empty());
  sources.graph = inputs.graph != nullptr;
  sources.graph_points = is_given(inputs.graph_points);
  return sources;
}

template <class T>
Model<T> make_model(Result<T> result, const Problem<T>& problem, const Sources& sources, const Control& control) {
  Model<T> model = static_cast<Model<T>&&>(result);
  model.sources = sources;
  learn_usual_scores(model, problem.values, control);
  return model;
}

template <class T>
Model<T> checkpoint_of(const Problem<T>& problem, const Sources& sources, const Options& options,
                       const State<T>* state) {
  Model<T> model;
  model.complete = false;
  model.termination = Termination::cancelled;
  if (state != nullptr) static_cast<State<T>&>(model) = *state;
  model.options = options;
  model.samples = problem.values.cols;
  model.features = problem.values.rows;
  model.sources = sources;
  return model;
}

template <class T>
void check_resumed(const Model<T>& stored, const Problem<T>& problem, const Sources& given, const std::string& who) {
  const auto same = [&](bool used, bool now, const char* what) {
    if (used && !now) throw Error(who + ": the run used " + what + "; give the same again");
    if (!used && now) throw Error(who + ": the run had no " + what + "; leave it out");
  };
  if (stored.samples != problem.values.cols || stored.features != problem.values.rows ||
      stored.sources.data_checksum != given.data_checksum)
    throw Error(line_of(who, ": the run was made from other data (", stored.samples, " samples x ", stored.features,
                        " features); give the same again"));
  same(stored.sources.weights, given.weights, "weights");
  same(stored.sources.graph, given.graph, "graph");
  same(stored.sources.graph_points, given.graph_points, "graph_points");
}

template <class T>
Matrix<T> points_of(const Model<T>& m) {
  if (m.options.normalize == Normalize::unit) return m.codes;
  Matrix<T> points(m.features, m.samples);
  eigen(points).noalias() = eigen(m.dictionary) * eigen(m.codes);
  return points;
}

Model<float> fit(const Problem<float>& X, const Options& options, const FitControl& control) {
  return fit_with(X, options, control);
}
Model<double> fit(const Problem<double>& X, const Options& options, const FitControl& control) {
  return fit_with(X, options, control);
}

#define PACEWISE_INSTANTIATE(T)                                                                        \
  template Sources sources_of(const Problem<T>&, const FitInputs&);                                    \
  template Model<T> make_model(Result<T>, const Problem<T>&, const Sources&, const Control&);          \
  template Model<T> checkpoint_of(const Problem<T>&, const Sources&, const Options&, const State<T>*); \
  template Matrix<T> points_of(const Model<T>&);                                                       \
  template void check_resumed(const Model<T>&, const Problem<T>&, const Sources&, const std::string&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

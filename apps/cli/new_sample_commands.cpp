// encode, mend, score, reconstruct: what a model says about samples it has not seen.
#include <fmt/format.h>

#include <cmath>

#include "apps/cli/commands.hpp"
#include "apps/cli/outcome.hpp"
#include "apps/cli/outputs.hpp"
#include "apps/cli/signals.hpp"
#include "evaluate/scores.hpp"
#include "model/encode.hpp"
#include "model/model_file.hpp"
#include "pacewise/steps.hpp"

namespace pacewise::cli {
namespace {

void stop_if_interrupted() {
  if (interrupted()) throw Interrupted("interrupted; nothing was written");
}

/// Data and weights for a model of precision T.
template <class T>
struct NewSamples {
  Table<T> table;
  Problem<T> problem;

  NewSamples(const ModelDataArguments& a, const Model<T>& model, Console& console)
      : table(read_data<T>(a.data, console, model.feature_names)) {
    if (table.features() != model.features)
      throw ReadError(fmt::format("{}: has {} features, the model {}; give data of the same kind",
                                  printable(a.data.path, 200), table.features(), model.features));
    problem.values = table.values;
    problem.weights = read_weights<T>(a.weights, table.features(), table.samples(), console);
  }
};

/// Codes by orthogonal matching pursuit, of samples on the scale of the model.
template <class T>
Encoding<T> pursue(const ModelDataArguments& a, const Model<T>& model, const Problem<T>& problem,
                   const Control& control) {
  Data<T> data =
      prepare(problem, model.normalization.kind, &model.normalization, control, false, model.options.missing);
  Encoding<T> e;
  e.codes = orthogonal_mp(Problem<T>(data.values, data.weights), model.dictionary,
                          a.nonzeros.value_or(model.dictionary.cols()), a.error.value_or(0), control);
  e.sample_scale = std::move(data.sample_scale);
  e.notes = std::move(data.notes);
  return e;
}

template <class T>
int encode_with(const ModelDataArguments& a, const Model<T>& model, Console& console) {
  const bool pursuit = a.nonzeros || a.error;
  if ((model.options.level == Level::none || pursuit) && !a.weights_out.empty())
    throw UsageError(std::string("--weights-out: ") + (pursuit ? "matching pursuit" : "a model of level none") +
                     " has no self-paced weights; leave it out");
  if (pursuit && model.options.positive_codes)
    throw UsageError(
        "--nonzeros, --error: codes of this model are >= 0, those of matching pursuit are not; leave them out");
  const NewSamples<T> in(a, model, console);
  console.stage(fmt::format("coding {} samples", in.table.samples()));
  EncodeOptions options;
  options.paced = !a.plain;
  const Control control = control_of(a.data);
  const Encoding<T> e = pursuit ? pursue(a, model, in.problem, control) : model.encode(in.problem, options, control);
  stop_if_interrupted();
  console.notes(e.notes);
  write_codes(a.output, e.codes, names_for(in.table, numbered("atom", e.codes.rows())));
  if (!a.scale_out.empty()) {
    Vector<T> scale = e.sample_scale;
    if (scale.empty()) scale.assign(static_cast<std::size_t>(in.table.samples()), T(1));
    write_table<T>(a.scale_out, {scale.data(), 1, static_cast<Index>(scale.size())}, names_for(in.table, {"scale"}));
  }
  if (!a.weights_out.empty()) {
    Vector<T> weights = e.weights;
    const bool element = model.options.level == Level::element, sample = model.options.level == Level::sample;
    const Index units = element ? model.features * in.table.samples() : sample ? in.table.samples() : model.features;
    if (weights.empty()) weights.assign(static_cast<std::size_t>(units), T(1));
    write_unit_weights(a.weights_out, weights, model.options.level, in.table);
  }
  return kDone;
}

template <class T>
int mend_with(const ModelDataArguments& a, const Model<T>& model, Console& console) {
  const NewSamples<T> in(a, model, console);
  console.stage(fmt::format("mending {} samples", in.table.samples()));
  EncodeOptions options;
  options.paced = !a.plain;
  const Matrix<T> data = model.mend(in.problem, options, control_of(a.data));
  stop_if_interrupted();
  write_table<T>(a.output, data.view(), names_for(in.table, in.table.feature_names));
  return kDone;
}

/// How well the scores find what is known to be bad: 0.5 is chance, 1 is perfect.
template <class T>
void print_auroc(const std::string& path, const Trust<T>& trust, Console& console) {
  const Table<T> truth = read_data<T>({path}, console);
  const Index m = trust.confidence.rows(), n = trust.confidence.cols(), count = truth.features() * truth.samples();
  const bool entries = truth.features() == m && truth.samples() == n && m > 1;
  if (!entries && (count != n || (truth.features() != 1 && truth.samples() != 1)))
    throw ReadError(fmt::format("{}: is {} x {}; the truth is {} numbers (samples) or {} x {} (entries)",
                                printable(path, 200), truth.samples(), truth.features(), n, n, m));
  std::vector<double> doubt;
  std::vector<bool> bad;
  for (Index u = 0; u < count; ++u) {
    const auto score = static_cast<double>(entries ? 1 - trust.confidence.data()[u]
                                                   : trust.outlier_score[static_cast<std::size_t>(u)]);
    if (std::isnan(score)) continue;  // nothing was observed
    doubt.push_back(score);
    bad.push_back(truth.values.data[u] != T(0));
  }
  const double area = auroc(doubt, bad);
  if (std::isnan(area))
    throw ReadError(printable(path, 200) + ": all are good or all are bad; the AUROC needs both, 0 and not 0");
  console.print(fmt::format("AUROC of {}: {:.4f}\n", entries ? "the entries' confidence" : "the outlier scores", area));
}

template <class T>
int score_with(const ModelDataArguments& a, const Model<T>& model, Console& console) {
  const NewSamples<T> in(a, model, console);
  console.stage(fmt::format("scoring {} samples", in.table.samples()));
  EncodeOptions options;
  options.paced = !a.plain;
  options.folds = a.folds;
  const Trust<T> trust = model.score(in.problem, options, control_of(a.data));
  stop_if_interrupted();
  if (!a.confidence.empty())
    write_table<T>(a.confidence, trust.confidence.view(), names_for(in.table, in.table.feature_names));
  const auto n = static_cast<Index>(trust.outlier_score.size());
  if (!a.output.empty())
    write_table<T>(a.output, {trust.outlier_score.data(), 1, n}, names_for(in.table, {"outlier_score"}));
  if (!a.truth.empty()) print_auroc(a.truth, trust, console);
  if (!a.output.empty() || !a.confidence.empty() || !a.truth.empty()) return kDone;
  console.clear_line();
  std::string text = "sample  outlier_score\n";
  for (Index j = 0; j < n; ++j)
    text += fmt::format("{:<6}  {:.6f}\n", sample_name(in.table, j),
                        static_cast<double>(trust.outlier_score[static_cast<std::size_t>(j)]));
  write_stdout(text);
  return kDone;
}

template <class T>
int reconstruct_with(const ReconstructArguments& a, const Model<T>& model, Console& console) {
  const Table<T> codes = read_data<T>({a.codes}, console);
  if (codes.features() != model.dictionary.cols())
    throw ReadError(fmt::format("{}: has {} columns, the model {} atoms; give codes of this model",
                                printable(a.codes, 200), codes.features(), model.dictionary.cols()));
  for (Index j = 0; j < codes.samples(); ++j)
    for (Index k = 0; k < codes.features(); ++k)
      if (!std::isfinite(codes.values(k, j)))
        throw ReadError(
            fmt::format("{}: row {}, column {} is not finite; codes are finite", printable(a.codes, 200), j, k));
  Vector<T> scale;
  if (!a.scale.empty()) {
    const Table<T> table = read_data<T>({a.scale}, console);
    const Index count = table.features() * table.samples();
    if (count != codes.samples())
      throw ReadError(
          fmt::format("{}: holds {} numbers for {} samples", printable(a.scale, 200), count, codes.samples()));
    scale.resize(static_cast<std::size_t>(count));
    for (Index i = 0; i < count; ++i)
      scale[static_cast<std::size_t>(i)] = table.features() == 1 ? table.values(0, i) : table.values(i, 0);
  }
  const Matrix<T> data = model.reconstruct(codes.values, scale);
  write_table<T>(a.output, data.view(), {model.feature_names, codes.sample_names, codes.id_name});
  return kDone;
}

void check(const ModelDataArguments& a) {
  check_files({{"MODEL", a.model}, {"DATA", a.data.path}, {"--weights", a.weights}, {"--truth", a.truth}},
              {{{"--output", a.output}},
               {{"--weights-out", a.weights_out}},
               {{"--scale-out", a.scale_out}},
               {{"--confidence", a.confidence}}},
              a.force);
}

}  // namespace

int run_encode(const ModelDataArguments& a) {
  check(a);
  return with_model(a, [&](const auto& model, Console& console) { return encode_with(a, model, console); });
}

int run_mend(const ModelDataArguments& a) {
  check(a);
  return with_model(a, [&](const auto& model, Console& console) { return mend_with(a, model, console); });
}

int run_score(const ModelDataArguments& a) {
  check(a);
  return with_model(a, [&](const auto& model, Console& console) { return score_with(a, model, console); });
}

int run_reconstruct(const ReconstructArguments& a) {
  check_files({{"MODEL", a.model}, {"CODES", a.codes}, {"--scale", a.scale}}, {{{"--output", a.output}}}, a.force);
  return with_model(a, [&](const auto& model, Console& console) { return reconstruct_with(a, model, console); });
}

}  // namespace pacewise::cli

#include "model/encode.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "algebra/random.hpp"
#include "model/part.hpp"
#include "pace/descent.hpp"
#include "solve/residual.hpp"
#include "solve/weights.hpp"

namespace pacewise {
namespace {

// Where the user does not say: codes that have not seen an entry judge it better in tables; on images and spectra they
// cost five times as much for nothing (docs/defaults.md)
constexpr Index kFolds = 15, kFoldFeatures = 256;
// .. with less of a ridge than a fit needs: nearly all of the sample is seen, and what it shrinks looks wrong. Not so
// where a few features are all that is seen: with four, sound cells look wrong
constexpr double kFoldRidge = 1.0 / 3;
constexpr Index kFewFeatures = 8;

template <class T>
void require(const Model<T>& model, MatrixView<const T> values, const EncodeOptions& how) {
  if (!(how.tol > 0)) refuse("tol", to_text(how.tol), "> 0");
  if (values.rows != model.dictionary.rows())
    throw Error("features of the data = " + std::to_string(values.rows) +
                ": must equal those of the model = " + std::to_string(model.dictionary.rows()));
}

template <class T>
struct Encoded {
  Data<T> data;
  Encoding<T> encoding;
};

/// The dictionary by which weights are found: a descending pace did that without a graph, which makes the samples of
/// its codes alike
template <class T>
const Matrix<T>& reference(const Model<T>& model) {
  return model.descent.settled ? model.descent.dictionary : model.dictionary;
}

/// Objective of one sample: sum v l + F(v; lambda) over its observed units, and beta |s|_1
struct SampleValue {
  double total = 0;
  double magnitude = 0;
};

template <class T>
Vector<SampleValue> sample_values(const Model<T>& model, const Encoding<T>& e, const Vector<char>& observed,
                                  const Control& control) {
  const Index n = e.codes.cols(), units = static_cast<Index>(e.losses.size()) / std::max<Index>(n, 1);
  Vector<SampleValue> out(n);
  const Penalty penalty = penalty_of(model.options, model.beta);
  parallel_for(n, control, [&](Index first, Index count, int) {
    for (Index j = first; j < first + count; ++j) {
      double fit = 0, pace = 0, sparsity = 0;
      for (Index u = j * units; u < (j + 1) * units; ++u) {
        if (!observed.empty() && observed[u] == 0) continue;
        const auto v = static_cast<double>(e.weights[u]);
        fit += v * static_cast<double>(e.losses[u]);
        pace += std::visit([&](const auto& type) { return type.value(v, model.lambda); }, model.options.regularizer);
      }
      for (Index k = 0; k < e.codes.rows(); ++k) {
        const auto s = static_cast<double>(e.codes(k, j));
        sparsity += penalty.of(k) * std::abs(s) + penalty.l2 * s * s;
      }
      out[j] = {fit + pace + sparsity, fit + std::abs(pace) + sparsity};
    }
  });
  return out;
}

/// V and S steps in turn. Each sample stops when its own objective stalls and keeps its weights from then on: its codes
/// do not depend on the samples that came with it.
template <class T>
void alternate(const Model<T>& model, const Data<T>& data, const CodesProblem<T>& codes, Weights<T>& effective,
               const StepOptions& step, const EncodeOptions& options, const Control& control, Encoding<T>& e) {
  const Index m = data.values.rows(), n = data.values.cols();
  const auto units = static_cast<std::ptrdiff_t>(model.options.level == Level::element ? m : 1);
  const Vector<char> observed = observed_units(data.weights, m, n, model.options.level, control);
  Vector<double> last(n, std::numeric_limits<double>::infinity());
  Vector<Index> open(n);
  std::iota(open.begin(), open.end(), Index{0});
  e.weights.assign(e.losses.size(), T(1));
  Vector<T> v;
  for (; e.iterations < options.max_iter && !open.empty() && !control.stop(); ++e.iterations) {
    solve_weights(e.losses, model.options.regularizer, model.lambda, v, control);
    for (const Index j : open) std::copy_n(v.data() + j * units, units, e.weights.data() + j * units);
    combine(data.weights, e.weights, model.options.level, m, n, effective);
    e.report = solve_codes(codes, e.codes, step, control);
    unit_losses<T>(data.values, data.weights, codes.B, e.codes, model.options.level, control, e.losses);
    const auto values = sample_values(model, e, observed, control);
    const auto stalled = [&](Index j) {
      const SampleValue& now = values[j];
      const double fall = std::exchange(last[j], now.total) - now.total;
      return fall <= options.stall * now.magnitude;
    };
    std::erase_if(open, stalled);
  }
}

/// Codes and losses of new entries as a descending pace finds those of its own: from all in down to the chosen lambda,
/// by cheap steps, with the dictionary of its end. Started at that lambda, codes would keep to what is wrong.
template <class T>
void descend(const Model<T>& model, const Data<T>& data, const Penalty& penalty, const Control& control,
             Encoding<T>& e) {
  const Tuning tuning;
  const Descent<T>& d = model.descent;
  const Groups groups = Groups::of(model.options, data.values.rows(), model.groups);
  Part<T> part(data, {}, model.options, groups, tuning, control);
  part.S = Matrix<T>(d.dictionary.cols(), data.values.cols());
  const CodeTerms<T> terms = part.terms(penalty, false, {});
  const Level level = model.options.level;
  const auto improve = [&](double lambda, double center, int iterations, double sweeps) {
    part.set_lambda(lambda, center);
    for (int it = 0; it < iterations && !control.stop(); ++it) {
      part.measure(d.dictionary, level, false, control);
      part.set_pace(lambda, {}, control, center);
      part.improve_codes(d.dictionary, terms, 0, static_cast<int>(sweeps), control);
      ++e.iterations;
    }
  };
  improve(std::numeric_limits<double>::infinity(), 0, 1, tuning.start_sweeps);
  for (int t = 0; t <= d.chosen; ++t) {
    const Stage& stage = d.stages[static_cast<std::size_t>(t)];
    improve(stage.lambda, stage.center, stage_iterations(model.options, t), tuning.sweeps);
  }
  part.measure(d.dictionary, level, true, control);
  e.losses = part.losses();
  if (std::isinf(d.lambda)) part.mark_gross();
  solve_weights(part.losses(), model.options.regularizer, d.lambda, e.weights, control, d.center);
  e.weights = part.of_entries(std::move(e.weights));
  if (all_one(e.weights)) e.weights.clear();
  e.codes = std::move(part.S);
}

/// `by_reference`: codes over the dictionary by which weights are found, else over the model's own; `ridge`: times l2
template <class T>
Encoding<T> encode_prepared(const Model<T>& model, const Data<T>& data, const EncodeOptions& options,
                            const Control& control, bool by_reference, double ridge = 1) {
  Encoding<T> e;
  const Index m = data.values.rows(), n = data.values.cols();
  Weights<T> effective = data.weights;
  // features keep the weights they earned in training: new samples do not vote on them
  if (options.paced && model.options.level == Level::feature && !model.weights.empty()) {
    e.weights = model.weights;
    combine(data.weights, e.weights, Level::feature, m, n, effective);
  }
  StepOptions step;
  step.tol = options.tol;
  Penalty penalty = penalty_of(model.options, model.beta);
  penalty.l2 *= ridge;
  const bool weighs_samples =
      options.paced && (weighs_entries(model.options.level) || model.options.level == Level::sample);
  if (weighs_samples && model.descent.settled) {
    descend(model, data, penalty, control, e);
    if (!e.weights.empty()) combine(data.weights, e.weights, model.options.level, m, n, effective);
  } else {
    const CodesProblem<T> codes{data.values, effective, reference(model), penalty, {}};
    e.codes = Matrix<T>(model.dictionary.cols(), n);
    e.report = solve_codes(codes, e.codes, step, control);
    e.losses = unit_losses<T>(data.values, data.weights, codes.B, e.codes, model.options.level, control);
    if (weighs_samples && !std::isinf(model.lambda))
      alternate(model, data, codes, effective, step, options, control, e);
  }
  // The weight of a whole sample says how far to learn from it. Its codes do without: with weight 0 they would be 0.
  const bool whole = model.options.level == Level::sample;
  if (model.descent.settled && (!by_reference || whole)) {  // the weights are found: now the model's own dictionary
    const CodesProblem<T> own{
        data.values, whole ? data.weights : effective, by_reference ? reference(model) : model.dictionary, penalty, {}};
    e.report = solve_codes(own, e.codes, step, control);
    unit_losses<T>(data.values, data.weights, own.B, e.codes, model.options.level, control, e.losses);
    Groups::of(model.options, m, model.groups).losses(e.losses.data(), n);
  }
  e.sample_scale = data.sample_scale;
  e.notes = data.notes;
  return e;
}

template <class T>
Encoded<T> encode_data(const Model<T>& model, const Problem<T>& problem, const EncodeOptions& options,
                       const Control& control, bool by_reference = false) {
  require(model, problem.values, options);
  Data<T> data =
      prepare(problem, model.normalization.kind, &model.normalization, control, false, model.options.missing);
  Encoding<T> e = encode_prepared(model, data, options, control, by_reference);
  return {std::move(data), std::move(e)};
}

/// Into how many groups the features are dealt, each judged by codes that have not seen it; 0: by all in one. By
/// default as many as the model was calibrated with.
Index fold_count(const EncodeOptions& options, Index features, bool calibrated) {
  if (options.folds && (*options.folds < 0 || *options.folds == 1))
    refuse("folds", std::to_string(*options.folds), "0 or an integer >= 2", "one fold would leave nothing to see");
  const Index folds = options.folds.value_or(calibrated ? kFolds : 0);
  return features < 2 ? 0 : std::min(folds, features);
}

/// Losses of entries by codes that have not seen them. The features are dealt at random, in the same way for all
/// samples: a sample's losses do not depend on those that come with it.
template <class T>
Vector<T> held_out_losses(const Model<T>& model, const Data<T>& data, const EncodeOptions& options, Index folds,
                          const Control& control) {
  const Index m = data.values.rows(), n = data.values.cols();
  Vector<Index> dealt(m);
  std::iota(dealt.begin(), dealt.end(), Index{0});
  Random random;
  for (Index i = m - 1; i > 0; --i) std::swap(dealt[i], dealt[random.below(i + 1)]);
  Vector<T> out(m * n, T(0)), losses;
  for (Index k = 0; k < folds && !control.stop(); ++k) {
    Data<T> seen = data;
    if (seen.weights.feature.empty()) seen.weights.feature.assign(m, T(1));
    for (Index at = k; at < m; at += folds) {
      seen.weights.feature[dealt[at]] = 0;
      for (Index j = 0; j < n; ++j) seen.values(dealt[at], j) = 0;
    }
    const Encoding<T> e = encode_prepared(model, seen, options, control, true, m < kFewFeatures ? 1 : kFoldRidge);
    unit_losses<T>(data.values, data.weights, reference(model), e.codes, Level::element, control, losses);
    for (Index at = k; at < m; at += folds)
      for (Index j = 0; j < n; ++j) out[j * m + dealt[at]] = losses[j * m + dealt[at]];
  }
  Groups::of(model.options, m, model.groups).losses(out.data(), n);
  return out;
}

/// The losses by which entries are judged
template <class T>
Vector<T> entry_losses(const Model<T>& model, const Data<T>& data, const EncodeOptions& options, Index folds,
                       const Control& control) {
  if (folds > 0) return held_out_losses(model, data, options, folds, control);
  Encoding<T> e = encode_prepared(model, data, options, control, true);
  if (weighs_entries(model.options.level)) return std::move(e.losses);
  return unit_losses<T>(data.values, data.weights, reference(model), e.codes, Level::element, control);
}

/// Where confidence in an entry judged by codes that have not seen it ends: (c s_i)^2 with c as in a pace of linear
/// weights, 1 - l / lambda, that ends at one robust scale, and s_i the robust scale of the feature's residuals, by
/// their upper quartile, since half of a column may be constant. A scale far below the usual one says no more than
/// that.
template <class T>
Vector<T> held_out_lambdas(const Data<T>& data, const Vector<T>& losses, const Control& control) {
  constexpr double quartile = 1.1503494, least = 0.6;  // of |z|, z standard normal; of the median scale
  const Index m = data.values.rows(), n = data.values.cols();
  Vector<T> squares(m), of;
  for (Index i = 0; i < m; ++i) {
    of.clear();
    for (Index j = 0; j < n; ++j)
      if (data.weights(i, j) > T(0)) of.push_back(losses[j * m + i]);
    squares[i] = static_cast<T>(loss_quantile(of, 0.75, {}, control) / (quartile * quartile));
  }
  const double floor = least * least * loss_quantile(squares, 0.5, {}, control), c = robust_cutoff(Linear{});
  for (T& s : squares) s = static_cast<T>(c * c * std::max(static_cast<double>(s), floor));
  return squares;
}

template <class T>
Trust<T> trust_of(const Model<T>& model, const Data<T>& data, const Vector<T>& losses, Index folds,
                  const Control& control) {
  const Index m = data.values.rows(), n = data.values.cols();
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  const bool by_feature = folds > 0 && !model.held_out_lambda.empty();
  const auto lambda = [&](Index i) {
    const double own = by_feature ? static_cast<double>(model.held_out_lambda[i]) : model.entry_lambda;
    return own > 0 ? own : 1;
  };
  const Groups groups = Groups::of(model.options, m, model.groups);
  Trust<T> out{Vector<T>(n, nan), {}};
  out.confidence.resize_for_overwrite(m, n);
  const auto of_sample = [&](Index j) {
    double sum = 0;
    Index count = 0;
    T* trust = out.confidence.col(j);
    for (Index i = 0; i < m; ++i) {
      trust[i] = static_cast<T>(confidence_of(static_cast<double>(losses[j * m + i]) / lambda(i)));
    }
    groups.weights(trust);
    for (Index i = 0; i < m; ++i) {
      if (data.weights(i, j) > T(0)) {
        sum += 1 - static_cast<double>(trust[i]);
        ++count;
      } else {
        trust[i] = nan;
      }
    }
    if (count > 0) out.outlier_score[j] = static_cast<T>(sum / static_cast<double>(count));
  };
  parallel_for(n, control.to_the_end(), [&](Index first, Index count, int) {
    for (Index j = first; j < first + count; ++j) of_sample(j);
  });
  return out;
}

template <class T>
void to_units_of_data(const Model<T>& model, const Vector<T>& sample_scale, Matrix<T>& X) {
  const auto& norm = model.normalization;
  for (Index j = 0; j < X.cols(); ++j)
    for (Index i = 0; i < X.rows(); ++i) {
      if (!norm.offset.empty()) X(i, j) += norm.offset[i];
      if (!norm.shift.empty())
        X(i, j) = X(i, j) * norm.scale[i] + norm.shift[i];
      else if (norm.kind == Normalize::unit && !sample_scale.empty())
        X(i, j) *= sample_scale[j];
    }
}

}  // namespace

template <class T>
Encoding<T> Model<T>::encode(const Problem<T>& Y, const EncodeOptions& how, const Control& control) const {
  return encode_data(*this, Y, how, control).encoding;
}

template <class T>
Matrix<T> Model<T>::mend(const Problem<T>& Y, const EncodeOptions& how, const Control& control) const {
  const Encoded<T> e = encode_data(*this, Y, how, control, true);
  const Vector<T>& v = e.encoding.weights;
  const Index m = e.data.values.rows();
  Matrix<T> out = e.data.values;
  for_each_residual<T, T>(e.data.values, reference(*this), e.encoding.codes, control.to_the_end(),
                          [&](Index first, MatrixView<T> R, MatrixView<const T>, int) {
                            for (Index j = first; j < first + R.cols; ++j)
                              for (Index i = 0; i < m; ++i) {
                                const Index unit = unit_of(this->options.level, m, i, j);
                                const T trust = !(e.data.weights(i, j) > T(0)) ? T(0) : v.empty() ? T(1) : v[unit];
                                out(i, j) -= (1 - trust) * R(i, j - first);
                              }
                          });
  to_units_of_data(*this, e.encoding.sample_scale, out);
  return out;
}

template <class T>
Matrix<T> Model<T>::reconstruct(MatrixView<const T> codes_of_samples, const Vector<T>& scale) const {
  const Matrix<T>& B = this->dictionary;
  if (codes_of_samples.rows != B.cols())
    throw Error("rows of the codes = " + std::to_string(codes_of_samples.rows) +
                ": must equal the number of atoms = " + std::to_string(B.cols()));
  if (!scale.empty() && std::ssize(scale) != codes_of_samples.cols)
    throw Error("length of sample_scale = " + std::to_string(scale.size()) +
                ": must equal the number of samples = " + std::to_string(codes_of_samples.cols));
  const SerialBlas serial;
  Matrix<T> out(B.rows(), codes_of_samples.cols);
  eigen(out).noalias() = eigen(B) * eigen(codes_of_samples);
  to_units_of_data(*this, scale, out);
  return out;
}

template <class T>
Trust<T> Model<T>::score(const Problem<T>& Y, const EncodeOptions& how, const Control& control) const {
  require(*this, Y.values, how);
  const Data<T> data = prepare(Y, normalization.kind, &normalization, control, false, this->options.missing);
  const Index folds = fold_count(how, data.values.rows(), !held_out_lambda.empty());
  return trust_of(*this, data, entry_losses(*this, data, how, folds, control), folds, control);
}

template <class T>
std::vector<WrongCell> Model<T>::find_wrong_cells(const Problem<T>& Y, const EncodeOptions& how,
                                                  const Control& control) const {
  const Trust<T> trust = score(Y, how, control);
  const Index m = trust.confidence.rows(), n = trust.confidence.cols();
  Matrix<T> seen(Y.values);
  std::vector<WrongCell> cells;
  for (Index j = 0; j < n; ++j) {
    const T* c = trust.confidence.col(j);
    // else nothing would be left to tell what is expected
    const bool some = std::any_of(c, c + m, [](T confidence) { return confidence >= T(0.5); });
    for (Index i = 0; i < m; ++i) {
      if (!(c[i] < T(0.5))) continue;
      cells.push_back({j, i, static_cast<double>(Y.values(i, j)), 0, static_cast<double>(c[i])});
      if (some) seen(i, j) = std::numeric_limits<T>::quiet_NaN();
    }
  }
  if (cells.empty()) return cells;
  const Matrix<T> expected = mend({seen, Y.weights}, how, control);
  for (WrongCell& cell : cells) cell.expected = static_cast<double>(expected(cell.feature, cell.sample));
  std::stable_sort(cells.begin(), cells.end(),
                   [](const WrongCell& a, const WrongCell& b) { return a.confidence < b.confidence; });
  return cells;
}

template <class T>
Trust<T> calibrate(Model<T>& model, const Problem<T>& problem, const EncodeOptions& options, const Control& control) {
  const Data<T> data =
      prepare(problem, model.normalization.kind, &model.normalization, control, false, model.options.missing);
  const Index m = data.values.rows(), folds = fold_count(options, m, m < kFoldFeatures);
  const Vector<T> losses = entry_losses(model, data, options, folds, control);
  if (folds > 0) model.held_out_lambda = held_out_lambdas(data, losses, control);
  return trust_of(model, data, losses, folds, control);
}

#define PACEWISE_INSTANTIATE(T)                                                                                       \
  template Encoding<T> Model<T>::encode(const Problem<T>&, const EncodeOptions&, const Control&) const;               \
  template Matrix<T> Model<T>::reconstruct(MatrixView<const T>, const Vector<T>&) const;                              \
  template Matrix<T> Model<T>::mend(const Problem<T>&, const EncodeOptions&, const Control&) const;                   \
  template Trust<T> Model<T>::score(const Problem<T>&, const EncodeOptions&, const Control&) const;                   \
  template std::vector<WrongCell> Model<T>::find_wrong_cells(const Problem<T>&, const EncodeOptions&, const Control&) \
      const;                                                                                                          \
  template Trust<T> calibrate<T>(Model<T>&, const Problem<T>&, const EncodeOptions&, const Control&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

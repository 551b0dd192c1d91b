#include <algorithm>
#include <charconv>
#include <cmath>

#include "model/fitter.hpp"
#include "solve/residual.hpp"

// What a fit returns.

namespace pacewise {

/// A step that ended above any tolerance is not passed over, and a point far from an optimum is not "converged".
template <class T>
void Fitter<T>::judge_steps(double codes) {
  constexpr double kLoose = 1e-3, kFar = 1e-2;
  const auto rounded = [](double value) -> std::string {
    char text[16];
    return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, 3).ptr};
  };
  int loose = 0;
  double worst = kLoose;
  std::string which;
  for (const Record& r : state_.history)
    for (const auto& [name, residual] :
         {std::pair{"codes", r.certificate.codes}, {"dictionary", r.certificate.dictionary}}) {
      if (!(std::isfinite(residual) && residual > kLoose)) continue;
      ++loose;
      if (residual <= worst) continue;
      worst = residual;
      which = std::string(name) + " step of iteration " + std::to_string(r.iteration);
    }
  if (loose > 0)
    notes_.push_back(std::to_string(loose) + (loose == 1 ? " step" : " steps") + " ended above a residual of " +
                     rounded(kLoose) + "; the worst is the " + which + " at " + rounded(worst) + ".");
  if (termination_ != Termination::converged || codes <= kFar) return;
  termination_ = Termination::numerical_trouble;
  detail_ = "the objective stalled, but the codes have a residual of " + rounded(codes);
}

namespace {

/// Where confidence in one entry ends: at the lambda of a pace over entries; where nothing was wrong, at that of the
/// first moderate stage; else at the loss that 95 % of the training entries stay below.
template <class T>
double entry_lambda(const Result<T>& r, const Control& control) {
  const Descent<T>& d = r.descent;
  if (weighs_entries(r.options.level) && !std::isinf(r.lambda)) return r.lambda;
  const auto moderate =
      std::find_if(d.stages.begin(), d.stages.end(), [](const Stage& stage) { return stage.scale <= 4; });
  if (r.options.level == Level::element && d.settled && moderate != d.stages.end()) return moderate->lambda;
  const LossesInPieces<T> losses = [&](const auto& use) {
    for_each_residual<T, T>(r.data.values, d.settled ? d.dictionary : r.dictionary, d.settled ? d.codes : r.codes,
                            control, [&](Index first, MatrixView<T> R, MatrixView<const T>, int worker) {
                              for (Index j = 0; j < R.cols; ++j) {
                                for (Index i = 0; i < R.rows; ++i) R(i, j) *= R(i, j);
                                weigh(r.data.weights, first + j, R.col(j), R.rows);
                              }
                              use(first / kBlock, R.data, R.rows * R.cols, worker);
                            });
  };
  return loss_quantile<T>(block_count(r.data.values.cols()), losses, 0.95, control);
}

}  // namespace

template <class T>
Result<T> Fitter<T>::result() {
  // What is reported is computed afresh at the returned point, in T, cancelled or not: it takes one pass.
  control_.cancel = nullptr;
  control_.deadline.reset();
  Result<T> out;
  auto& state = static_cast<State<T>&>(out);
  before_ = State<T>();
  if (!state_.descent.settled)
    for (Part<T>& part : parts_) part.hide({}, control_);
  const bool held = exact_;
  exact_ = true;
  evaluate();
  if (held) {
    state = whole_state();
  } else {  // cheap iterations leave no weights behind
    for (Part<T>& part : parts_) part.set_pace(std::numeric_limits<double>::infinity(), {}, control_);
    state = whole_state();
    set_pace();
  }
  sum_pace();
  out.objective = objective_now();
  out.certificate.codes =
      sum([&](const Part<T>& part) { return part.codes_gap(state_.dictionary, terms(part), control_); }).relative();
  const EigenMatrix<double> B = eigen(state_.dictionary).template cast<double>();
  out.certificate.dictionary = dictionary_residual(
      sum([&](const Part<T>& part) {
        return dictionary_curvature(part.dictionary_problem(), false, tuning_, control_);
      }),
      sum([&](const Part<T>& part) { return dictionary_gradient(part.dictionary_problem(), B, control_); }).N,
      options_.positive_atoms, B);
  if (graph_terms() && QQ_.size() > 0) {
    EigenMatrix<double> ridged = SS_;
    ridged.diagonal().array() += options_.eta;
    out.certificate.consistency =
        sum([&](const Part<T>& part) { return part.consistency_gap(ridged, control_); }).relative();
  }
  out.density = density();
  for (Part<T>& part : parts_) {
    part.forget_weights();
    if (state_.descent.settled) part.release_weights();
    part.measure(state_.dictionary, level_, true, control_);
    if (std::isinf(state_.pace_lambda)) part.mark_gross();
  }
  if (level_ == Level::feature) sum_features();
  const auto losses = [this] {
    return level_ == Level::feature ? feature_losses_ : all_samples([](const Part<T>& part) { return part.losses(); });
  };
  out.losses = losses();
  out.lambda = state_.pace_lambda;
  if (level_ != Level::none) {
    const double center = state_.descent.settled ? state_.descent.center : state_.schedule.center;
    solve_weights(out.losses, options_.regularizer, out.lambda, out.weights, control_, center);
    if (state_.descent.settled) {  // those that were used, and how far they are from these
      const Vector<T> now = out.weights;
      measure_reference();
      out.losses = losses();
      solve_weights(out.losses, options_.regularizer, out.lambda, out.weights, control_, center);
      double apart = 0;
      for (std::size_t u = 0; u < now.size(); ++u) apart += std::abs(static_cast<double>(now[u] - out.weights[u]));
      out.certificate.weights = apart / static_cast<double>(now.size());
      const Vector<char> seen = observed();
      double count = 0, doubted = 0;
      for (std::size_t u = 0; u < out.weights.size(); ++u)
        if (seen.empty() || seen[u] != 0) {
          ++count;
          doubted += out.weights[u] < T(0.5) ? 1 : 0;
        }
      notes_.push_back(verdict(state_.descent.stages, state_.descent.chosen, level_, doubted / std::max(count, 1.0)));
    }
    out.selected =
        summarize(out.losses, out.weights, observed(), options_.regularizer, out.lambda, control_, center).selected;
  }
  judge_steps(out.certificate.codes);
  out.termination = termination_;
  out.detail = detail_;
  out.options = options_;
  out.threads = thread_count(control_);
  out.notes = notes_;
  if (!groups_.empty()) {
    if (inputs_.groups != nullptr) out.groups = *inputs_.groups;
    groups_.weights(out.weights.data(), n_);
  }
  out.samples = n_;
  out.features = m_;
  out.data = std::move(parts_.front().data);
  out.graph = std::move(parts_.front().graph);
  for (std::size_t p = 1; p < parts_.size(); ++p) {
    append(out.graph, out.data.values.cols(), std::move(parts_[p].graph), parts_[p].samples());
    append(out.data, std::move(parts_[p].data));
  }
  out.normalization = out.data.normalization;
  out.sample_scale = out.data.sample_scale;
  out.entry_lambda = entry_lambda(out, control_);
  return out;
}

#define PACEWISE_INSTANTIATE(T)                       \
  template void Fitter<T>::judge_steps(double codes); \
  template Result<T> Fitter<T>::result();
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

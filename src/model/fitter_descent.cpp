#include <algorithm>
#include <limits>
#include <utility>

#include "model/fitter.hpp"

// A descending pace: what it hides, which stage it keeps, and the weights and offset that stay.

namespace pacewise {

/// The entries of this draw count for nothing until it is over
template <class T>
void Fitter<T>::hide() {
  Index first = 0;
  for (Part<T>& part : parts_) {
    const auto is_hidden = [&](Index i, Index j) {
      return pacewise::is_hidden(options_.seed, hiding_, state_.descent.draw, i, first + j);
    };
    part.hide(options_.lambda_scale ? std::function<bool(Index, Index)>() : is_hidden, control_);
    first += part.samples();
  }
}

template <class T>
void Fitter<T>::begin_draw() {
  constexpr double kAllIn = std::numeric_limits<double>::infinity();
  if (!weighs_entries(level_))
    for (Part<T>& part : parts_) {  // not with the weights of the draw before, which a resumed run does not have
      part.set_pace(kAllIn, {}, control_);
      part.set_lambda(kAllIn, 0);
    }
  if (descends(options_)) hide();
  start();
}

/// The stage is over: what it says of hidden entries decides whether it is the one to keep.
template <class T>
void Fitter<T>::end_stage() {
  Descent<T>& d = state_.descent;
  const int t = state_.schedule.stage;
  const bool given = options_.lambda_scale.has_value();
  bool last = ends_last_stage(state_.schedule, options_);
  if (t == std::ssize(d.stages)) d.stages.emplace_back().scale = stage_scales(options_)[static_cast<std::size_t>(t)];
  Stage& stage = d.stages[static_cast<std::size_t>(t)];
  stage.lambda = state_.schedule.lambda;
  stage.center = state_.schedule.center;
  Vector<T> errors;
  for (Part<T>& part : parts_) {
    const Vector<T> more = part.hidden_errors(state_.dictionary, terms(part), d.cap, control_);
    errors.insert(errors.end(), more.begin(), more.end());
  }
  if (t == 0) d.first_errors = errors;
  for (std::size_t u = 0; u < errors.size(); ++u) {
    const double e = static_cast<double>(errors[u]), gain = e - static_cast<double>(d.first_errors[u]);
    stage.sum += e;
    stage.gain += gain;
    stage.gain_squares += gain * gain;
  }
  stage.hidden += static_cast<double>(errors.size());
  if (d.draw + 1 == d.draws) {  // the sums are complete
    const bool better = is_better(stage, d.stages[static_cast<std::size_t>(d.chosen)], d.stages.front());
    if (t == 0 || (given ? last : better)) keep_stage();
    if (d.draws == 1 && stage.scale < 0.5001 && is_past_best(d.stages, t)) last = true;
    if (!last) return;
    d.first_errors.clear();
    settle();
  } else if (last) {
    ++d.draw;
    state_.schedule = ScheduleState();
    state_.schedule.before = state_.iteration;
    begin_draw();
    exact_ = exact(state_.schedule);
    evaluate();
  }
}

/// Back to the stage that is kept, whose weights stay. Entries that no code has seen have larger losses than others:
/// what was hidden is coded first.
template <class T>
void Fitter<T>::settle() {
  Descent<T>& d = state_.descent;
  state_.dictionary = d.dictionary;
  state_.pace_lambda = d.lambda;
  if (options_.offset) return_to_offset(d.offsets);
  Index first = 0;
  for (Part<T>& part : parts_) {
    part.S = Matrix<T>(d.codes.view().columns(first, part.samples()));
    first += part.samples();
  }
  if (!options_.lambda_scale) {
    for (Part<T>& part : parts_) part.hide({}, control_);
    state_.schedule.lambda = d.lambda;
    state_.schedule.center = d.center;
    for (int turn = stage_iterations(options_, d.chosen); turn > 0 && !control_.stop(); --turn) {
      for (Part<T>& part : parts_) part.set_lambda(d.lambda, d.center);
      measure();
      set_pace();
      for (Part<T>& part : parts_)
        part.improve_codes(d.dictionary, terms(part), 0, static_cast<int>(tuning_.sweeps), control_);
    }
    d.codes = all_codes();
  }
  d.settled = true;
  hold_weights();
  state_.schedule.phase = Phase::polish;
  state_.schedule.in_phase = 0;
  state_.schedule.lambda = std::numeric_limits<double>::infinity();
  state_.schedule.center = 0;
  exact_ = exact(state_.schedule);
  evaluate();
}

template <class T>
void Fitter<T>::remember(const std::vector<Candidate>& candidates) {
  if (candidates.empty()) return;
  notes_.push_back(std::to_string(options_.atoms) + " atoms and beta = " + to_text(state_.beta) + " were chosen: of " +
                   std::to_string(candidates.size()) + " settings that predict hidden entries best.");
  before_.candidates = state_.candidates = candidates;
}

template <class T>
void Fitter<T>::keep_stage() {
  Descent<T>& d = state_.descent;
  d.chosen = state_.schedule.stage;
  d.lambda = state_.schedule.lambda;
  d.center = state_.schedule.center;
  d.dictionary = state_.dictionary;
  d.codes = all_codes();
  d.offsets = state_.offsets.cols();
}

/// Losses, of the user's weights, where a descending pace judged them
template <class T>
void Fitter<T>::measure_reference() {
  const Descent<T>& d = state_.descent;
  Index first = 0;
  for (Part<T>& part : parts_) {
    Matrix<T> codes(d.codes.view().columns(first, part.samples()));
    std::swap(codes, part.S);
    part.measure(d.dictionary, level_, true, control_.to_the_end());
    if (std::isinf(d.lambda)) part.mark_gross();
    std::swap(codes, part.S);
    first += part.samples();
  }
  if (level_ == Level::feature) sum_features();
}

/// From here on the weights stay as the pace has found them, and samples are coupled by the graph of the mended data.
template <class T>
void Fitter<T>::hold_weights() {
  const Descent<T>& d = state_.descent;
  measure_reference();
  if (level_ == Level::feature)
    solve_weights(feature_losses_, options_.regularizer, d.lambda, held_weights_, control_, d.center);
  PaceSums sums;
  Index first = 0;
  for (Part<T>& part : parts_) {
    const Vector<T> losses = part.losses();
    const Vector<T> v = part.hold_weights(d.lambda, d.center, held_weights_, parts_.size() > 1, control_.to_the_end());
    if (level_ != Level::feature)
      sums += pace_sums(losses, v, part.observed(), options_.regularizer, d.lambda, control_.to_the_end(), d.center);
    if (inputs_.graph == nullptr && couples()) {
      Matrix<T> codes(d.codes.view().columns(first, part.samples()));
      std::swap(codes, part.S);
      const Data<T> mended = part.mended(v, d.dictionary, control_.to_the_end());
      std::swap(codes, part.S);
      part.set_graph(graph_of(mended, first));
    }
    first += part.samples();
  }
  held_ = level_ == Level::feature ? summarize(feature_losses_, held_weights_, observed(), options_.regularizer,
                                               d.lambda, control_.to_the_end(), d.center)
                                   : sums.summary();
}

/// b <- b + sum_j w v (x - B s) / sum_j w v: the data are what is left when it is taken away
template <class T>
void Fitter<T>::update_offset() {
  const auto sums = sum([&](const Part<T>& part) { return part.offset_sums(state_.dictionary, control_); });
  if (interrupted()) return;
  Matrix<T> all(m_, state_.offsets.cols() + 1);
  std::copy_n(state_.offsets.data(), state_.offsets.size(), all.data());
  for (Index i = 0; i < m_; ++i)
    if (sums.weight[i] > 0) all(i, all.cols() - 1) = static_cast<T>(sums.residual[i] / sums.weight[i]);
  subtract_offsets(all);
}

/// .. all of these, as far as that has not been done
template <class T>
void Fitter<T>::subtract_offsets(const Matrix<T>& all) {
  for (Index c = state_.offsets.cols(); c < all.cols(); ++c)
    for (Part<T>& part : parts_) part.subtract_offset(Vector<T>(all.col(c), all.col(c) + m_), control_.to_the_end());
  if (all.cols() >= state_.offsets.cols()) state_.offsets = all;
}

/// The offset as it was after so many updates, which is one more
template <class T>
void Fitter<T>::return_to_offset(Index updates) {
  Matrix<T> all(m_, state_.offsets.cols() + 1);
  std::copy_n(state_.offsets.data(), state_.offsets.size(), all.data());
  for (Index c = updates; c < state_.offsets.cols(); ++c) eigen(all).rightCols(1) -= eigen(all).col(c);
  subtract_offsets(all);
}

#define PACEWISE_INSTANTIATE(T)                                                \
  template void Fitter<T>::hide();                                             \
  template void Fitter<T>::begin_draw();                                       \
  template void Fitter<T>::end_stage();                                        \
  template void Fitter<T>::remember(const std::vector<Candidate>& candidates); \
  template void Fitter<T>::keep_stage();                                       \
  template void Fitter<T>::settle();                                           \
  template void Fitter<T>::measure_reference();                                \
  template void Fitter<T>::hold_weights();                                     \
  template void Fitter<T>::update_offset();                                    \
  template void Fitter<T>::subtract_offsets(const Matrix<T>& all);             \
  template void Fitter<T>::return_to_offset(Index updates);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

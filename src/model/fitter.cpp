#include "model/fitter.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <utility>

#include "solve/objective.hpp"

namespace pacewise {
namespace {

/// Rounding of the objective itself: a rise within it is none.
template <class T>
constexpr double kRise = std::is_same_v<T, double> ? 1e-10 : 2e-5;

/// .. of cheap steps, whose products are in float
constexpr double kCheapRise = 1e-6;

bool normalise(Vector<double>& atom) {
  const double norm = eigen(atom).norm();
  if (norm > 0) eigen(atom) /= norm;
  return norm > 0;
}

}  // namespace

template <class T>
Fitter<T>::Fitter(const Problem<T>& problem, const Options& options, const Control& control, const FitInputs& inputs,
                  const State<T>* resume)
    : options_(options),
      inputs_(inputs),
      tuning_(inputs.tuning),
      show_weights_(inputs.show_weights),
      control_(control),
      began_(std::chrono::steady_clock::now()),
      m_(problem.values.rows),
      n_(problem.values.cols),
      level_(options.level) {
  validate(options_);
  groups_ = Groups::of(options_, m_, inputs.groups == nullptr ? Sparse() : *inputs.groups);
  make_parts(problem);
  if (resume != nullptr) {
    if (resume->descent.settled) {
      state_.descent = resume->descent;
      subtract_offsets(resume->offsets);
      hold_weights();  // and the graph
    }
    check_resumed(*resume);
    exact_ = resume->history.empty() ? exact(resume->schedule) : !std::isinf(resume->history.back().certificate.codes);
    take_state(*resume);
    began_ -=
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(state_.seconds));
    state_.schedule = reopen(state_.schedule, state_.iteration, options_);
    if (state_.schedule.stalled) termination_ = Termination::converged;
  } else {
    exact_ = exact(state_.schedule);
    begin_draw();
  }
  evaluate();
  before_ = whole_state();
  interrupted();
}

template <class T>
void Fitter<T>::make_parts(const Problem<T>& problem) {
  Data<T> data = prepare<T>(problem, options_.normalize, nullptr, control_, descends(options_));
  notes_ = data.notes;
  const auto largest = static_cast<double>(eigen(data.values).cwiseAbs().maxCoeff());
  in_float_ = largest == 0 || (largest > 1e-12 && largest < 1e12);
  if (descends(options_)) {
    if (!in_float_)
      refuse("values", to_text(largest) + " is the largest", "between 1e-12 and 1e12 for a descending pace",
             "scale them");
    hiding_ = plan_hiding(options_.hidden, static_cast<double>(m_ * n_ - data.missing));
    const double deviation = robust_moments(data).deviation;
    state_.descent.cap = 4 * deviation * deviation;
    state_.descent.draws = options_.lambda_scale ? 1 : hiding_.draws;
  }
  Vector<Index> first{0};
  first.insert(first.end(), inputs_.parts.begin(), inputs_.parts.end());
  first.push_back(n_);
  if (std::adjacent_find(first.begin(), first.end(), std::greater_equal<>()) != first.end())
    throw Error("parts: first samples must ascend, from 1 to " + std::to_string(n_ - 1));
  const auto count = std::ssize(first) - 1;
  if (count > 1 && inputs_.graph != nullptr) throw Error("graph: parts build their own; give none");
  parts_.reserve(static_cast<std::size_t>(count));
  for (Index p = 0; p < count; ++p) {
    Data<T> mine;
    if (count > 1)
      mine = slice(data, first[p], first[p + 1] - first[p]);
    else
      std::swap(mine, data);
    // a descending pace takes the graph of what it has mended, later
    Graph graph = descends(options_) && inputs_.graph == nullptr ? Graph() : graph_of(mine, first[p]);
    parts_.emplace_back(std::move(mine), std::move(graph), options_, groups_, tuning_, control_);
  }
}

/// 1 for each unit with data; empty: all have
template <class T>
std::vector<char> Fitter<T>::observed() const {
  if (level_ == Level::feature) {
    std::vector<char> any = parts_.front().observed();
    for (const Part<T>& part : parts_) {
      if (part.observed().empty()) any.clear();
      for (std::size_t i = 0; i < any.size(); ++i) any[i] = std::max(any[i], part.observed()[i]);
    }
    return any;
  }
  const bool all =
      std::all_of(parts_.begin(), parts_.end(), [](const Part<T>& part) { return part.observed().empty(); });
  if (all) return {};
  return all_samples([&](const Part<T>& part) {
    const Index units = part.samples() * (weighs_entries(level_) ? m_ : 1);
    return part.observed().empty() ? std::vector<char>(static_cast<std::size_t>(units), char{1}) : part.observed();
  });
}

template <class T>
Graph Fitter<T>::graph_of(const Data<T>& data, Index first) {
  const Index n = data.values.cols();
  if (!couples()) return {};
  if (inputs_.graph != nullptr) {
    const Graph& graph = *inputs_.graph;
    if (graph.laplacian.rows != n && options_.alpha > 0)
      throw Error("graph: its Laplacian has " + std::to_string(graph.laplacian.rows) +
                  " rows: must equal the number of samples = " + std::to_string(n));
    if (graph.incidence.cols != n && options_.gamma > 0)
      throw Error("graph: its incidence has " + std::to_string(graph.incidence.cols) +
                  " columns: must equal the number of samples = " + std::to_string(n) + " (or set gamma = 0)");
    if (!graph.laplacian.empty()) check_laplacian(graph.laplacian);
    for (const double h : graph.incidence.value)
      if (!std::isfinite(h)) throw Error("graph: its incidence holds a value that is not finite");
    return graph;
  }
  if (options_.graph == GraphKind::none) return {};
  Options o = options_;
  if (n < 2) {
    notes_.emplace_back("One sample has no neighbours: the graph terms are off.");
    return {};
  }
  if (o.k >= n) {
    notes_.push_back("k = " + std::to_string(o.k) + " neighbours were asked for, but there are only " +
                     std::to_string(n) + " samples: k = " + std::to_string(n - 1) + " is used.");
    o.k = n - 1;
  }
  const auto noted = [this](Graph graph) {
    notes_.insert(notes_.end(), graph.notes.begin(), graph.notes.end());
    return graph;
  };
  if (inputs_.graph_points == nullptr) return noted(build_graph<T>(data, o, control_));
  if (inputs_.graph_points->cols() != n_)
    throw Error("graph_points has " + std::to_string(inputs_.graph_points->cols()) +
                " columns: must equal the number of samples = " + std::to_string(n_));
  const Data<double> points =
      prepare<double>({inputs_.graph_points->view().columns(first, n), {}}, Normalize::none, nullptr, control_);
  return noted(build_graph_from_neighbours<double>(nearest<double>(points, o.k, control_), points, o));
}

template <class T>
std::pair<const Part<T>*, Index> Fitter<T>::find(Index j) const {
  auto part = parts_.begin();
  for (; j >= part->samples(); ++part) j -= part->samples();
  return {&*part, j};
}

template <class T>
Matrix<T> Fitter<T>::all_codes() const {
  Matrix<T> all;
  all.resize_for_overwrite(options_.atoms, n_);
  T* codes = all.data();
  for (const Part<T>& part : parts_) codes = std::copy_n(part.S.data(), part.S.size(), codes);
  return all;
}

/// All of the state, with what the parts hold
template <class T>
State<T> Fitter<T>::whole_state() const {
  State<T> all = state_;
  const Index r = options_.atoms;
  all.codes = all_codes();
  if (mapped()) {
    all.consistency.resize_for_overwrite(sum([](const Part<T>& part) { return part.Qt.cols(); }), r);
    Index row = 0;
    for (const Part<T>& part : parts_) {
      parallel_for(part.Qt.cols(), control_.to_the_end(), [&](Index first, Index count, int) {
        eigen(all.consistency).middleRows(row + first, count) = eigen(part.Qt.view().columns(first, count)).transpose();
      });
      row += part.Qt.cols();
    }
  }
  if (exact_)
    all.weights = level_ == Level::feature ? parts_.front().weights()
                                           : all_samples([](const Part<T>& part) { return part.weights(); });
  return all;
}

template <class T>
void Fitter<T>::take_state(State<T> state) {
  if (const Index updates = state.offsets.cols(); updates >= state_.offsets.cols()) {
    subtract_offsets(state.offsets);
  } else {  // back to a state before
    return_to_offset(updates);
    state.offsets = state_.offsets;
  }
  Index first = 0, row = 0;
  const Index units = weighs_entries(level_) ? m_ : 1;
  if (!state.descent.settled && state_.descent.settled)  // back to before that
    for (Part<T>& part : parts_) {
      part.release_weights();
      if (inputs_.graph == nullptr) part.set_graph({});
    }
  for (Part<T>& part : parts_) {
    const Index n = part.samples(), e = part.graph.incidence.rows;
    part.S = Matrix<T>(state.codes.view().columns(first, n));
    part.Qt = Matrix<T>();
    if (!state.consistency.empty()) {
      part.Qt.resize_for_overwrite(options_.atoms, e);
      eigen(part.Qt) = eigen(state.consistency).middleRows(row, e).transpose();
    }
    part.set_pace(std::numeric_limits<double>::infinity(), {}, control_);
    if (!state.weights.empty() && exact_)
      part.set_weights(level_ == Level::feature ? state.weights
                                                : Vector<T>(state.weights.begin() + first * units,
                                                            state.weights.begin() + (first + n) * units));
    part.set_lambda(state.schedule.lambda, state.schedule.center);
    first += n;
    row += e;
  }
  state_ = std::move(state);
  state_.codes = Matrix<T>();
  state_.consistency = Matrix<T>();
  state_.weights.clear();
  if (descends(options_) && !state_.descent.settled) hide();
}

// ---- a descending pace

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
  if (descends(options_)) hide();
  start();
}

/// The stage is over: what it says of hidden entries decides whether it is the one to keep.
template <class T>
void Fitter<T>::end_stage() {
  Descent<T>& d = state_.descent;
  const int t = state_.schedule.stage;
  const bool last = ends_last_stage(state_.schedule, options_), given = options_.lambda_scale.has_value();
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
    const Stage& best = d.stages[static_cast<std::size_t>(d.chosen)];
    const bool better = gains(stage, d.stages.front()) && stage.error() < best.error();
    if (t == 0 || (given ? last : better)) keep_stage();
    if (!last) return;
    d.settled = true;
    d.first_errors.clear();
    state_.dictionary = d.dictionary;
    state_.pace_lambda = d.lambda;
    if (options_.offset) return_to_offset(d.offsets);
    hold_weights();
    Index first = 0;
    for (Part<T>& part : parts_) {
      part.S = Matrix<T>(d.codes.view().columns(first, part.samples()));
      first += part.samples();
    }
    state_.schedule.phase = Phase::polish;
    state_.schedule.in_phase = 0;
    state_.schedule.lambda = std::numeric_limits<double>::infinity();
    state_.schedule.center = 0;
  } else if (last) {
    ++d.draw;
    state_.schedule = ScheduleState();
    state_.schedule.before = state_.iteration;
    begin_draw();
  } else {
    return;
  }
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
    const Vector<T> v = part.hold_weights(d.lambda, d.center, held_weights_, control_.to_the_end());
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

/// r different samples, scaled to unit norm; where there are not enough, random directions
template <class T>
Matrix<T> Fitter<T>::draw_atoms(Random& random) const {
  std::vector<double> eligible = all_samples([&](const Part<T>& part) {
    std::vector<double> out(static_cast<std::size_t>(part.samples()), 0.0);
    for (Index j = 0; j < part.samples(); ++j)
      for (Index i = 0; i < m_ && !(out[static_cast<std::size_t>(j)] > 0); ++i)
        if (part.data.values(i, j) != T(0) && part.data.weights(i, j) > T(0)) out[static_cast<std::size_t>(j)] = 1;
    return out;
  });
  Matrix<T> B(m_, options_.atoms);
  Vector<double> atom(m_);
  for (Index k = 0; k < B.cols(); ++k) {
    const Index j = random.draw(eligible);
    if (j >= 0) {
      eligible[static_cast<std::size_t>(j)] = 0;
      const auto [part, at] = find(j);
      std::copy_n(part->data.values.col(at), m_, atom.begin());
      part->set_aside(at, [&](Index i) { atom[i] = 0; });
    } else {
      for (double& x : atom) x = random.normal();
    }
    normalise(atom);
    std::copy(atom.begin(), atom.end(), B.col(k));
  }
  return B;
}

template <class T>
void Fitter<T>::start() {
  const Index r = options_.atoms;
  const auto check = [](const char* name, const Matrix<double>& given, Index rows, Index cols) {
    if (given.rows() != rows || given.cols() != cols)
      throw Error(std::string(name) + " is " + std::to_string(given.cols()) + " x " + std::to_string(given.rows()) +
                  ": must be " + std::to_string(cols) + " x " + std::to_string(rows));
    if (!all_finite(given.data(), given.size())) throw Error(std::string(name) + " has a value that is not finite");
  };
  Random random(options_.seed);
  if (options_.offset && state_.offsets.empty()) {
    state_.dictionary = Matrix<T>(m_, r);
    for (Part<T>& part : parts_) {
      part.S = Matrix<T>(r, part.samples());
      part.measure(state_.dictionary, level_, exact_, control_);
    }
    update_offset();
  }
  if (state_.descent.draw == 0)
    state_.beta = options_.beta ? *options_.beta : options_.beta_ratio * [this] {
      double top = 0;
      for (const Part<T>& part : parts_) top = std::max(top, part.zero_beta());
      return top;
    }();
  penalty().validate(r);
  state_.dictionary = draw_atoms(random);
  if (inputs_.dictionary != nullptr) {
    if (inputs_.dictionary->cols() != r || inputs_.dictionary->rows() != m_)
      throw Error("dictionary has " + std::to_string(inputs_.dictionary->cols()) + " atoms of " +
                  std::to_string(inputs_.dictionary->rows()) + " features: must have " + std::to_string(r) + " of " +
                  std::to_string(m_));
    check("dictionary", *inputs_.dictionary, m_, r);
    state_.dictionary = cast<T, double>(*inputs_.dictionary);
  }
  EigenMatrix<double> B = eigen(state_.dictionary).template cast<double>();
  project_atoms(B, options_.positive_atoms);
  eigen(state_.dictionary) = B.template cast<T>();
  state_.random = random.state();
  if (inputs_.codes != nullptr) {
    check("codes", *inputs_.codes, r, n_);
    Matrix<T> codes = cast<T, double>(*inputs_.codes);
    if (options_.positive_codes) eigen(codes) = eigen(codes).cwiseMax(T(0));
    Index first = 0;
    for (Part<T>& part : parts_) {
      part.S = Matrix<T>(codes.view().columns(first, part.samples()));
      first += part.samples();
    }
    return;
  }
  // S^(0): plain sparse coding over the first atoms
  StepOptions step = step_options();
  if (!exact_) step.tol = std::max(step.tol, tuning_.start_tol);
  for (Part<T>& part : parts_) {
    part.S = Matrix<T>(r, part.samples());
    if (!exact_) {
      part.measure(state_.dictionary, level_, false, control_);
      part.improve_codes(state_.dictionary, terms(part), 0, static_cast<int>(tuning_.start_sweeps), control_);
    }
    // exact ones would see what is hidden
    if (!descends(options_)) part.solve_codes(state_.dictionary, terms(part), step, control_);
  }
}

template <class T>
void Fitter<T>::check_resumed(const State<T>& s) const {
  const Index units = unit_count(level_, m_, n_);
  if (s.dictionary.rows() != m_ || s.codes.cols() != n_ || s.dictionary.cols() != options_.atoms ||
      s.codes.rows() != options_.atoms || (!s.weights.empty() && static_cast<Index>(s.weights.size()) != units) ||
      (!s.consistency.empty() &&
       (s.consistency.rows() != sum([](const Part<T>& part) { return part.graph.incidence.rows; }) ||
        s.consistency.cols() != options_.atoms)))
    throw Error("resume: the stored state is for " + std::to_string(s.codes.cols()) + " samples, " +
                std::to_string(s.dictionary.rows()) + " features, " + std::to_string(s.dictionary.cols()) +
                " atoms and does not fit these data and options");
}

template <class T>
StepOptions Fitter<T>::step_options() const {
  StepOptions o;
  o.tuning = tuning_;
  o.tol = std::max({options_.step_tol, state_.step_tol, std::is_same_v<T, double> ? 1e-12 : 1e-5});
  return o;
}

template <class T>
double Fitter<T>::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

/// Losses at the current B and S. While polishing exactly nobody asks for those of units.
template <class T>
void Fitter<T>::measure() {
  const Level level = exact_ && state_.schedule.phase == Phase::polish ? Level::none : level_;
  for (Part<T>& part : parts_) part.measure(state_.dictionary, level, exact_, control_);
  if (level == Level::feature) sum_features();
}

template <class T>
void Fitter<T>::sum_features() {
  feature_losses_ = parts_.front().losses();
  for (std::size_t p = 1; p < parts_.size(); ++p)
    for (Index i = 0; i < m_; ++i) feature_losses_[i] += parts_[p].losses()[i];
}

/// All sums at the current point
template <class T>
void Fitter<T>::evaluate() {
  SS_ = sum([&](const Part<T>& part) { return part.gram(exact_, false, control_); });
  QQ_ = mapped() ? map_gram() : EigenMatrix<double>();
  sum_terms();
  measure();
  sum_pace();
}

template <class T>
EigenMatrix<double> Fitter<T>::map_gram() const {
  return sum([&](const Part<T>& part) { return part.map_gram(exact_, control_); });
}

/// V <- the best weights for the losses now, at the iteration's lambda
template <class T>
void Fitter<T>::set_pace() {
  feature_weights_.clear();
  if (level_ == Level::feature && paced())
    solve_weights(feature_losses_, options_.regularizer, state_.schedule.lambda, feature_weights_, control_,
                  state_.schedule.center);
  for (Part<T>& part : parts_)
    part.set_pace(state_.schedule.lambda, feature_weights_, control_, state_.schedule.center);
}

/// Fit and F
template <class T>
void Fitter<T>::sum_pace() {
  if (level_ == Level::feature && paced()) {
    Vector<T> v = parts_.front().weights();
    if (!exact_)
      solve_weights(feature_losses_, options_.regularizer, state_.schedule.lambda, v, control_, state_.schedule.center);
    pace_ = summarize(feature_losses_, v, observed(), options_.regularizer, state_.schedule.lambda, control_,
                      state_.schedule.center);
  } else if (level_ == Level::feature) {
    pace_ = PaceSummary();
    for (const Part<T>& part : parts_) pace_.fit += std::accumulate(part.losses().begin(), part.losses().end(), 0.0);
  } else {
    pace_ = sum([&](const Part<T>& part) { return part.pace_sums(control_); }).summary();
  }
  if (!state_.descent.settled) return;
  held_.fit = pace_.fit;  // the weights are given, and F with them
  pace_ = held_;
}

/// Sparsity, manifold and consistency
template <class T>
void Fitter<T>::sum_terms() {
  const CodeSums sums = sum([&](const Part<T>& part) { return part.code_sums(terms(part), exact_, control_); });
  cancelled_ = QQ_.size() > 0 ? options_.gamma * sums.edges : 0;
  terms_ = code_objective(sums, penalty(), graph_terms() ? options_.alpha : 0, options_.gamma, options_.eta,
                          graph_terms() ? QQ_ : EigenMatrix<double>(), SS_);
}

/// The value below which this share of the non-zero losses lies
template <class T>
double Fitter<T>::loss_quantile_of(double share) const {
  if (level_ == Level::feature) return loss_quantile(feature_losses_, share, observed(), control_);
  if (level_ == Level::sample) {
    const Vector<T> losses = all_samples([](const Part<T>& part) { return part.losses(); });
    return loss_quantile(losses, share, observed(), control_);
  }
  const auto of_entries = [&]<class U>(U) {
    Index pieces = 0;
    for (const Part<T>& part : parts_) pieces += block_count(part.samples());
    const LossesInPieces<U> losses = [&](const auto& use) {
      Index from = 0;
      for (const Part<T>& part : parts_) {
        part.template entry_losses<U>(from, use, control_);
        from += block_count(part.samples());
      }
    };
    return loss_quantile<U>(pieces, losses, share, control_);
  };
  if (exact_) return of_entries(T());
  return of_entries(0.0F);
}

template <class T>
LossSummary Fitter<T>::summarize_losses() const {
  LossSummary out;
  if (level_ == Level::none) return out;
  const Options& s = options_;
  if (descends(s)) {
    if (!ends_stage(state_.schedule, s)) return out;
    if (weighs_entries(level_)) {  // the mean square of a group is a variance, the median of squares is not
      out.spread = (level_ == Level::group ? 1 : 1.4826) * std::sqrt(loss_quantile_of(0.5));
    } else {
      const Vector<T> losses =
          level_ == Level::feature ? feature_losses_ : all_samples([](const Part<T>& part) { return part.losses(); });
      Vector<double> roots;
      for (const T l : losses)
        if (l > T(0)) roots.push_back(std::sqrt(static_cast<double>(l)));
      const RobustMoments moments = robust_moments(std::move(roots));
      out.center = moments.median;
      out.spread = moments.scale;
    }
    return out;
  }
  if (about_to_pace(state_.schedule, s))
    out.lambda_select = loss_quantile_of(s.pace == Pace::quantile ? quantile_share(s, 0) : s.select);
  if (state_.schedule.phase != Phase::paced) return out;
  if (s.pace == Pace::quantile)
    out.lambda_target = loss_quantile_of(quantile_share(s, state_.schedule.in_phase));
  else
    out.largest = pace_.largest;
  return out;
}

template <class T>
Objective Fitter<T>::objective_now() const {
  Objective o = terms_;
  o.fit = pace_.fit;
  o.pace = pace_.value;
  return o;
}

template <class T>
void Fitter<T>::begin_iteration() {
  if (over_) return;
  if (ends_stage(state_.schedule, options_)) end_stage();
  if (over_) return;
  const Phase was = state_.schedule.phase;
  const bool all_in = !paced();
  state_.schedule = advance(state_.schedule, summarize_losses(), options_);
  if (descends(options_) && all_in && paced() && level_ != Level::element) {  // from here on gross outliers count
    for (Part<T>& part : parts_) part.set_lambda(state_.schedule.lambda, state_.schedule.center);
    measure();
  }
  if (paced()) state_.pace_lambda = state_.schedule.lambda;
  record_ = Record();
  record_.iteration = state_.iteration + 1;
  record_.phase = state_.schedule.phase;
  record_.lambda = state_.schedule.lambda;
  if (exact_ != exact(state_.schedule)) {
    exact_ = !exact_;
    evaluate();
  } else if (was != state_.schedule.phase) {
    sum_terms();
  }
}

template <class T>
bool Fitter<T>::interrupted() {
  if (over_) return true;
  if (control_.cancelled())
    fail(Termination::cancelled, "the cancel flag was set");
  else if (control_.late())
    fail(Termination::time_limit, "the deadline passed");
  return over_;
}

template <class T>
void Fitter<T>::fail(Termination why, std::string detail) {
  over_ = true;
  termination_ = why;
  detail_ = std::move(detail);
  take_state(std::move(before_));
}

/// Each step minimises its part of J at fixed lambda: J may not rise.
template <class T>
void Fitter<T>::check_descent(const char* step) {
  if (interrupted()) return;  // a sum cut short says nothing
  const Objective now = objective_now();
  const double rise = now.total() - objective_;
  // |H - Q S|^2 is a difference of numbers up to |H|^2
  if (!(rise <= (exact_ ? kRise<T> : kCheapRise) * (now.magnitude() + cancelled_))) {
    std::ostringstream text;
    text.precision(17);
    text << "iteration " << record_.iteration << ", " << step << " step: the objective went from " << objective_
         << " to " << now.total() << " at lambda " << state_.schedule.lambda;
    fail(Termination::numerical_trouble, text.str());
    return;
  }
  objective_ = now.total();
}

template <class T>
void Fitter<T>::update_weights() {
  if (over_) return;
  for (Part<T>& part : parts_) part.set_lambda(state_.schedule.lambda, state_.schedule.center);
  const bool held = exact_ && paced();  // else the iteration begins with the weights that are best for its lambda
  if (held) sum_pace();
  record_.objective_before = objective_ = objective_now().total();
  set_pace();
  sum_pace();
  record_.selected = pace_.selected;
  record_.mean_weight = pace_.mean_weight;
  if (!held) record_.objective_before = objective_ = objective_now().total();
  if (show_weights_ && !exact_ && paced())
    shown_weights_ = level_ == Level::feature ? feature_weights_ : all_samples([&](const Part<T>& part) {
      return weighs_entries(level_) ? part.entry_weights(control_) : part.weights();
    });
  check_descent("weights");
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

template <class T>
void Fitter<T>::update_dictionary() {
  if (over_) return;
  if (options_.offset && !state_.descent.settled) update_offset();  // later it stays, as the weights do
  if (over_) return;
  EigenMatrix<double> B = eigen(state_.dictionary).template cast<double>();
  if (exact_) {
    const DictionaryReport report = solve_dictionary(
        [&](bool rows) {
          return sum([&](const Part<T>& part) {
            return dictionary_curvature(part.dictionary_problem(), rows, tuning_, control_);
          });
        },
        [&](const EigenMatrix<double>& at) {
          return sum([&](const Part<T>& part) { return dictionary_gradient(part.dictionary_problem(), at, control_); });
        },
        options_.positive_atoms, B, step_options(), control_);
    record_.certificate.dictionary = report.certificate;
    if (interrupted()) return;
    eigen(state_.dictionary) = B.template cast<T>();
    pace_.fit = report.fit;  // all that has changed; losses are wanted again after the codes step
    check_descent("dictionary");
    return;
  }
  record_.certificate.dictionary = std::numeric_limits<double>::infinity();
  const bool weighted = parts_.front().weighs_samples();
  Curvature bound;
  bound.A = weighted ? sum([&](const Part<T>& part) { return part.gram(false, true, control_); }) : SS_;
  bound.f = parts_.front().row_bounds();
  for (const Part<T>& part : parts_) bound.f = bound.f.cwiseMax(part.row_bounds());
  const EigenMatrix<double> N = sum([&](const Part<T>& part) { return part.cheap_gradient(control_); });
  if (interrupted()) return;
  sweep_atoms(bound, N, options_.positive_atoms, 1, 0, B, tuning_, control_);
  eigen(state_.dictionary) = B.template cast<T>();
  interrupted();  // the fit is known again after the codes step, and checked there
}

/// An atom no sample uses is replaced by a sample drawn in proportion to its self-paced weight times its residual, with
/// each entry taken from the data as far as it is trusted and from the reconstruction otherwise: an outlier, or a
/// corrupted entry, must not become an atom. Its codes are zero, so the objective stays.
template <class T>
void Fitter<T>::revive_atoms() {
  if (over_) return;
  const Index r = options_.atoms;
  const Marks used = sum([&](const Part<T>& part) { return part.used_atoms(control_); });
  record_.dead_atoms = static_cast<Index>(std::count(used.begin(), used.end(), char{0}));
  // With beta so large that nothing is used, or at the very start, there is nothing to learn from: leave the draw.
  if (record_.dead_atoms == 0 || record_.dead_atoms == r) return;
  const Vector<double> losses =
      all_samples([&](const Part<T>& part) { return part.trusted_losses(state_.dictionary, control_.to_the_end()); });
  Random random(state_.random);
  EigenMatrix<double> B = eigen(state_.dictionary).template cast<double>();
  const auto trusted = [&](Index j) {
    const auto [part, at] = find(j);
    return part->trusted_sample(state_.dictionary, at);
  };
  pacewise::revive_atoms(used, {losses.begin(), losses.end()}, trusted, options_.positive_atoms, random, B);
  eigen(state_.dictionary) = B.template cast<T>();
  state_.random = random.state();
}

template <class T>
void Fitter<T>::update_consistency() {
  if (over_ || !graph_terms() || !(options_.gamma > 0)) return;
  if (sum([](const Part<T>& part) { return part.graph.incidence.rows; }) == 0) return;
  const bool first = QQ_.size() == 0;
  EigenMatrix<double> ridged = SS_;
  ridged.diagonal().array() += options_.eta;
  for (Part<T>& part : parts_) part.update_consistency(ridged, exact_, control_);
  if (interrupted()) return;
  QQ_ = map_gram();
  if (!exact_) record_.certificate.consistency = std::numeric_limits<double>::infinity();
  if (!exact_ && !first) return;
  if (exact_)
    record_.certificate.consistency =
        sum([&](const Part<T>& part) { return part.consistency_gap(ridged, control_); }).relative();
  sum_terms();
  if (first)  // the term has just come in
    record_.objective_before = objective_ = objective_now().total();
  if (exact_) check_descent("consistency");
}

template <class T>
void Fitter<T>::update_codes() {
  if (over_) return;
  const int passes = static_cast<int>(state_.schedule.phase == Phase::polish ? tuning_.passes : tuning_.first_passes);
  record_.certificate.codes = exact_ ? 0 : std::numeric_limits<double>::infinity();
  for (Part<T>& part : parts_) {
    const CodeTerms<T> own = terms(part);
    if (exact_)
      record_.certificate.codes = std::max(
          record_.certificate.codes, part.solve_codes(state_.dictionary, own, step_options(), control_).certificate);
    else
      part.improve_codes(state_.dictionary, own, passes, static_cast<int>(tuning_.sweeps), control_);
  }
  if (interrupted()) return;
  SS_ = sum([&](const Part<T>& part) { return part.gram(exact_, false, control_); });
  sum_terms();
  measure();
  sum_pace();
  check_descent("codes");
}

template <class T>
double Fitter<T>::density() const {
  const Index nonzero = sum([&](const Part<T>& part) { return part.nonzeros(control_); });
  return static_cast<double>(nonzero) / static_cast<double>(std::max<Index>(n_ * options_.atoms, 1));
}

template <class T>
bool Fitter<T>::end_iteration(const Callback<T>& callback) {
  if (over_) return false;
  record_.objective = objective_now();
  record_.density = density();
  record_.seconds = elapsed();
  if (interrupted()) return false;
  ++state_.iteration;
  state_.seconds = record_.seconds;
  state_.schedule =
      conclude(state_.schedule, record_.objective.total(), record_.objective.magnitude(), state_.iteration, options_);
  const double magnitude = record_.objective.magnitude();
  const double fall = magnitude > 0 ? (record_.objective_before - record_.objective.total()) / magnitude : 0;
  state_.step_tol = std::clamp(0.01 * fall, std::min(options_.step_tol, 1e-4), 1e-4);
  state_.history.push_back(record_);
  before_ = whole_state();
  if (state_.schedule.finished)
    termination_ = state_.schedule.stalled ? Termination::converged : Termination::iteration_limit;
  if (!callback) return true;
  const bool made = !shown_weights_.empty();
  if (made) before_.weights = std::move(shown_weights_);
  const bool more = callback(record_, before_);
  if (made) before_.weights.clear();
  shown_weights_.clear();
  if (!more) {
    fail(Termination::cancelled, "the callback asked to stop");
    return false;
  }
  return true;
}

template <class T>
Result<T> Fitter<T>::result() {
  // What is reported is computed afresh at the returned point, in T, cancelled or not: it takes one pass.
  control_.cancel = nullptr;
  control_.deadline.reset();
  Result<T> out;
  before_ = State<T>();
  if (!state_.descent.settled)
    for (Part<T>& part : parts_) part.hide({}, control_);
  const bool held = exact_;
  exact_ = true;
  evaluate();
  if (held) {
    out.state = whole_state();
  } else {  // cheap iterations leave no weights behind
    for (Part<T>& part : parts_) part.set_pace(std::numeric_limits<double>::infinity(), {}, control_);
    out.state = whole_state();
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
    const double center = state_.descent.center;
    solve_weights(out.losses, options_.regularizer, out.lambda, out.weights, control_, center);
    if (state_.descent.settled) {  // those that were used, and how far they are from these
      const Vector<T> now = out.weights;
      measure_reference();
      out.losses = losses();
      solve_weights(out.losses, options_.regularizer, out.lambda, out.weights, control_, center);
      double apart = 0;
      for (std::size_t u = 0; u < now.size(); ++u) apart += std::abs(static_cast<double>(now[u] - out.weights[u]));
      out.certificate.weights = apart / static_cast<double>(now.size());
      const std::vector<char> seen = observed();
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
  out.termination = termination_;
  out.detail = detail_;
  out.options = options_;
  out.threads = thread_count(control_);
  out.notes = notes_;
  if (!groups_.empty()) {
    if (inputs_.groups != nullptr) out.groups = *inputs_.groups;
    for (Index j = 0; j < n_; ++j) groups_.weights(out.weights.data() + j * m_);
  }
  out.data = std::move(parts_.front().data);
  out.graph = std::move(parts_.front().graph);
  for (std::size_t p = 1; p < parts_.size(); ++p) {
    append(out.graph, out.data.values.cols(), std::move(parts_[p].graph), parts_[p].samples());
    append(out.data, std::move(parts_[p].data));
  }
  return out;
}

template class Fitter<float>;
template class Fitter<double>;

}  // namespace pacewise

#include "model/fitter.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <utility>

#include "algebra/dense.hpp"
#include "solve/consistency.hpp"
#include "solve/dictionary.hpp"

namespace pacewise {
namespace {

/// Rounding of the objective itself: a rise within it is none.
template <class T>
constexpr double kRise = std::is_same_v<T, double> ? 1e-10 : 2e-5;

/// .. of cheap steps, whose products are in float
constexpr double kCheapRise = 1e-6;

/// 2 max_j |w_j x_j|: above this beta, 0 is optimal for every sample and every dictionary of unit atoms.
template <class T>
double zero_beta(const Data<T>& data) {
  double top = 0;
  for (Index j = 0; j < data.values.cols(); ++j) {
    double sum = 0;
    for (Index i = 0; i < data.values.rows(); ++i) {
      const double wx = static_cast<double>(data.weights(i, j)) * static_cast<double>(data.values(i, j));
      sum += wx * wx;
    }
    top = std::max(top, 2 * std::sqrt(sum));
  }
  return top;
}

template <class T>
bool normalise(T* atom, Index m) {
  double norm = 0;
  for (Index i = 0; i < m; ++i) norm += static_cast<double>(atom[i]) * static_cast<double>(atom[i]);
  norm = std::sqrt(norm);
  if (!(norm > 0)) return false;
  for (Index i = 0; i < m; ++i) atom[i] = static_cast<T>(static_cast<double>(atom[i]) / norm);
  return true;
}

/// r different samples, scaled to unit norm; where there are not enough, random directions
template <class T>
Matrix<T> draw_atoms(const Data<T>& data, Index r, Random& random) {
  const Index m = data.values.rows(), n = data.values.cols();
  std::vector<double> eligible(static_cast<std::size_t>(n), 0.0);
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i)
      if (data.values(i, j) != T(0) && data.weights(i, j) > T(0)) {
        eligible[static_cast<std::size_t>(j)] = 1;
        break;
      }
  Matrix<T> B(m, r);
  for (Index k = 0; k < r; ++k) {
    const Index j = random.draw(eligible);
    if (j >= 0) {
      eligible[static_cast<std::size_t>(j)] = 0;
      std::copy_n(data.values.col(j), m, B.col(k));
    } else {
      for (Index i = 0; i < m; ++i) B(i, k) = static_cast<T>(random.normal());
    }
    normalise(B.col(k), m);
  }
  return B;
}

}  // namespace

template <class T>
Fitter<T>::Fitter(const Problem<T>& problem, const Options& options, const Control& control, const FitInputs& inputs,
                  const State<T>* resume)
    : options_(options), tuning_(inputs.tuning), control_(control), began_(std::chrono::steady_clock::now()) {
  validate(options_);
  data_ = prepare<T>(problem, options_.normalize, nullptr, control_);
  m_ = data_.values.rows();
  n_ = data_.values.cols();
  level_ = options_.level;
  notes_ = data_.notes;
  observed_ = observed_units(data_.weights, m_, n_, level_, control_);
  effective_ = data_.weights;
  build_graph_of_data(inputs);
  if (resume != nullptr) {
    check_resumed(*resume);
    take_state(*resume);
    began_ -=
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(state_.seconds));
    state_.schedule = reopen(state_.schedule, state_.iteration, options_);
    if (state_.schedule.stalled) termination_ = Termination::converged;
  } else {
    start(inputs);
  }
  terms_ = code_terms<T>(state_.codes, penalty(), coupling(), options_.eta, control_);
  refresh_losses();
  remember();
  interrupted();
}

/// state_ and the w v that goes with it
template <class T>
void Fitter<T>::take_state(State<T> state) {
  state_ = std::move(state);
  effective_ = data_.weights;
  if (state_.weights.empty()) return;
  if (one_copy())
    effective_.entry.take(std::exchange(state_.weights, {}), m_, n_);
  else
    combine(data_.weights, state_.weights, level_, m_, n_, effective_);
}

template <class T>
void Fitter<T>::remember() {
  before_ = state_;
  if (one_copy()) before_.weights = effective_.entry.numbers();
}

template <class T>
void Fitter<T>::start(const FitInputs& inputs) {
  const Index r = options_.atoms;
  const auto check = [](const char* name, const Matrix<double>& given, Index rows, Index cols) {
    if (given.rows() != rows || given.cols() != cols)
      throw Error(std::string(name) + " is " + std::to_string(given.cols()) + " x " + std::to_string(given.rows()) +
                  ": must be " + std::to_string(cols) + " x " + std::to_string(rows));
    if (!all_finite(given.data(), given.size())) throw Error(std::string(name) + " has a value that is not finite");
  };
  Random random(options_.seed);
  state_.beta = options_.beta ? *options_.beta : options_.beta_ratio * zero_beta(data_);
  penalty().validate(r);
  state_.dictionary = draw_atoms(data_, r, random);
  if (inputs.dictionary != nullptr) {
    if (inputs.dictionary->cols() != r || inputs.dictionary->rows() != m_)
      throw Error("dictionary has " + std::to_string(inputs.dictionary->cols()) + " atoms of " +
                  std::to_string(inputs.dictionary->rows()) + " features: must have " + std::to_string(r) + " of " +
                  std::to_string(m_));
    check("dictionary", *inputs.dictionary, m_, r);
    state_.dictionary = cast<T, double>(*inputs.dictionary);
  }
  EigenMatrix<double> B = eigen(state_.dictionary).template cast<double>();
  project_atoms(B, options_.positive_atoms);
  eigen(state_.dictionary) = B.template cast<T>();
  state_.random = random.state();
  state_.codes = Matrix<T>(r, n_);
  if (inputs.codes != nullptr) {
    check("codes", *inputs.codes, r, n_);
    state_.codes = cast<T, double>(*inputs.codes);
    if (options_.positive_codes) eigen(state_.codes) = eigen(state_.codes).cwiseMax(T(0));
    return;
  }
  // S^(0): plain sparse coding over the first atoms
  StepOptions options = step_options();
  if (!exact()) {
    improve_codes(codes_problem(), nullptr, 0, static_cast<int>(tuning_.start_sweeps), state_.codes, control_);
    options.tol = std::max(options.tol, tuning_.start_tol);
  }
  solve_codes(codes_problem(), state_.codes, options, control_);
}

template <class T>
void Fitter<T>::build_graph_of_data(const FitInputs& inputs) {
  const bool wanted = options_.alpha > 0 || options_.gamma > 0;
  if (!wanted) return;
  if (inputs.graph != nullptr) {
    graph_ = *inputs.graph;
    if (graph_.laplacian.rows != n_ && options_.alpha > 0)
      throw Error("graph: its Laplacian has " + std::to_string(graph_.laplacian.rows) +
                  " rows: must equal the number of samples = " + std::to_string(n_));
    if (graph_.incidence.cols != n_ && options_.gamma > 0)
      throw Error("graph: its incidence has " + std::to_string(graph_.incidence.cols) +
                  " columns: must equal the number of samples = " + std::to_string(n_) + " (or set gamma = 0)");
    if (!graph_.laplacian.empty()) check_laplacian(graph_.laplacian);
    for (const double h : graph_.incidence.value)
      if (!std::isfinite(h)) throw Error("graph: its incidence holds a value that is not finite");
    return;
  }
  if (options_.graph == GraphKind::none) return;
  Options o = options_;
  if (n_ < 2) {
    notes_.emplace_back("One sample has no neighbours: the graph terms are off.");
    return;
  }
  if (o.k >= n_) {
    notes_.push_back("k = " + std::to_string(o.k) + " neighbours were asked for, but there are only " +
                     std::to_string(n_) + " samples: k = " + std::to_string(n_ - 1) + " is used.");
    o.k = n_ - 1;
  }
  if (inputs.graph_points != nullptr) {
    if (inputs.graph_points->cols() != n_)
      throw Error("graph_points has " + std::to_string(inputs.graph_points->cols()) +
                  " columns: must equal the number of samples = " + std::to_string(n_));
    const Data<double> points = prepare<double>({*inputs.graph_points, {}}, Normalize::none, nullptr, control_);
    graph_ = build_graph_from_neighbours<double>(nearest<double>(points, o.k, control_), points, o);
  } else {
    graph_ = build_graph<T>(data_, o, control_);
  }
  notes_.insert(notes_.end(), graph_.notes.begin(), graph_.notes.end());
}

template <class T>
void Fitter<T>::check_resumed(const State<T>& s) const {
  const Index units = unit_count(level_, m_, n_);
  if (s.dictionary.rows() != m_ || s.codes.cols() != n_ || s.dictionary.cols() != options_.atoms ||
      s.codes.rows() != options_.atoms || (!s.weights.empty() && static_cast<Index>(s.weights.size()) != units) ||
      (!s.consistency.empty() &&
       (s.consistency.rows() != graph_.incidence.rows || s.consistency.cols() != options_.atoms)))
    throw Error("resume: the stored state is for " + std::to_string(s.codes.cols()) + " samples, " +
                std::to_string(s.dictionary.rows()) + " features, " + std::to_string(s.dictionary.cols()) +
                " atoms and does not fit these data and options");
}

template <class T>
Coupling<T> Fitter<T>::coupling() const {
  Coupling<T> c;
  if (!graph_terms()) return c;
  if (!graph_.laplacian.empty()) {
    c.laplacian = &graph_.laplacian;
    c.alpha = options_.alpha;
  }
  if (!graph_.incidence.empty() && !state_.consistency.empty()) {
    c.incidence = &graph_.incidence;
    c.consistency = &state_.consistency;
    c.gamma = options_.gamma;
  }
  return c;
}

template <class T>
CodesProblem<T> Fitter<T>::codes_problem() const {
  return {data_.values, effective_, state_.dictionary, penalty(), coupling()};
}

template <class T>
DictionaryProblem<T> Fitter<T>::dictionary_problem() const {
  return {data_.values, effective_, state_.codes, options_.positive_atoms};
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

template <class T>
void Fitter<T>::refresh_losses() {
  unit_losses<T>(data_.values, data_.weights, state_.dictionary, state_.codes, level_, control_, losses_);
}

/// Those of entries are as large as the data: while B and S move they are only in the way. Small ones stay: to be given
/// fresh pages in every iteration would cost them 3 % of the fit.
template <class T>
void Fitter<T>::forget_losses() {
  constexpr std::size_t large = std::size_t{1} << 25;
  if (losses_.size() * sizeof(T) >= large) losses_ = Vector<T>();
}

template <class T>
LossSummary Fitter<T>::summarize_losses() const {
  LossSummary out;
  if (level_ == Level::none) return out;
  const Options& s = options_;
  if (about_to_pace(state_.schedule, s))
    out.lambda_select =
        loss_quantile(losses_, s.pace == Pace::quantile ? quantile_share(s, 0) : s.select, observed_, control_);
  if (state_.schedule.phase != Phase::paced) return out;
  if (s.pace == Pace::quantile) {
    out.lambda_target = loss_quantile(losses_, quantile_share(s, state_.schedule.in_phase), observed_, control_);
    return out;
  }
  for (std::size_t u = 0; u < losses_.size(); ++u)
    if (observed_.empty() || observed_[u] != 0) out.largest = std::max(out.largest, static_cast<double>(losses_[u]));
  return out;
}

template <class T>
void Fitter<T>::sum_up() {
  pace_ = summarize(losses_, pace_weights(), observed_, options_.regularizer, state_.schedule.lambda, control_);
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
  const Phase was = state_.schedule.phase;
  state_.schedule = advance(state_.schedule, summarize_losses(), options_);
  if (paced()) state_.pace_lambda = state_.schedule.lambda;
  record_ = Record();
  record_.iteration = state_.iteration + 1;
  record_.phase = state_.schedule.phase;
  record_.lambda = state_.schedule.lambda;
  if (was != state_.schedule.phase) terms_ = code_terms<T>(state_.codes, penalty(), coupling(), options_.eta, control_);
  sum_up();
  record_.objective_before = objective_ = objective_now().total();
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
  if (!(rise <= (exact() ? kRise<T> : kCheapRise) * now.magnitude())) {
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
  if (over_ || level_ == Level::none) return;
  if (!paced() && pace_weights().empty()) return;
  if (paced()) {
    Vector<T> v = one_copy() ? effective_.entry.release() : std::move(state_.weights);
    solve_weights(losses_, options_.regularizer, state_.schedule.lambda, v, control_);
    if (one_copy()) {
      effective_.entry.take(std::move(v), m_, n_);
    } else {
      state_.weights = std::move(v);
      combine(data_.weights, state_.weights, level_, m_, n_, effective_);
    }
    sum_up();
  } else {  // polishing: back to the user's weights alone
    state_.weights.clear();
    effective_ = data_.weights;
    sum_up();
    record_.objective_before = objective_ = objective_now().total();
  }
  check_descent("weights");
}

template <class T>
void Fitter<T>::update_dictionary() {
  if (over_) return;
  forget_losses();
  if (!exact()) {
    improve_dictionary(dictionary_problem(), 1, state_.dictionary, control_);
    record_.certificate.dictionary = std::numeric_limits<double>::infinity();
    interrupted();
    return;  // the fit is known again after the codes step, and checked there
  }
  const DictionaryReport report =
      solve_dictionary<T>(dictionary_problem(), state_.dictionary, step_options(), control_);
  record_.certificate.dictionary = report.certificate;
  if (interrupted()) return;
  pace_.fit = report.fit;  // all that has changed; losses are wanted again after the codes step
  check_descent("dictionary");
}

/// An atom no sample uses is replaced by a sample drawn in proportion to its self-paced weight times its residual, with
/// each entry taken from the data as far as it is trusted and from the reconstruction otherwise: an outlier, or a
/// corrupted entry, must not become an atom. Its codes are zero, so the objective stays.
template <class T>
void Fitter<T>::revive_atoms() {
  if (over_) return;
  const Index r = options_.atoms;
  const Marks used = parallel_sum(n_, control_.to_the_end(), Marks(r), [&](Index first, Index count, int, Marks& mine) {
    for (Index j = first; j < first + count; ++j)
      for (Index k = 0; k < r; ++k)
        if (state_.codes(k, j) != T(0)) mine[k] = 1;
  });
  record_.dead_atoms = static_cast<Index>(std::count(used.begin(), used.end(), char{0}));
  // With beta so large that nothing is used, or at the very start, there is nothing to learn from: leave the draw.
  if (record_.dead_atoms == 0 || record_.dead_atoms == r) return;
  const Vector<T> residual =
      unit_losses<T>(data_.values, effective_, state_.dictionary, state_.codes, Level::sample, control_);
  std::vector<double> chance(residual.begin(), residual.end());
  Random random(state_.random);
  for (Index k = 0; k < r; ++k) {
    if (used[k] != 0) continue;
    const Index j = random.draw(chance);
    if (j < 0) break;
    chance[static_cast<std::size_t>(j)] = 0;
    T* atom = state_.dictionary.col(k);
    for (Index i = 0; i < m_; ++i) {
      T model = 0;
      for (Index l = 0; l < r; ++l)
        if (l != k) model += state_.dictionary(i, l) * state_.codes(l, j);
      T trust = data_.weights(i, j) > T(0) ? T(1) : T(0);
      if (!pace_weights().empty() && level_ == Level::element)
        trust *= pace_weights()[static_cast<std::size_t>(j * m_ + i)];
      if (!pace_weights().empty() && level_ == Level::feature) trust *= pace_weights()[static_cast<std::size_t>(i)];
      atom[i] = trust * data_.values(i, j) + (1 - trust) * model;
      if (options_.positive_atoms) atom[i] = std::max(atom[i], T(0));
    }
    if (!normalise(atom, m_)) std::fill_n(atom, m_, T(0));
  }
  state_.random = random.state();
}

template <class T>
void Fitter<T>::update_consistency() {
  if (over_ || !graph_terms() || !(options_.gamma > 0) || graph_.incidence.empty()) return;
  const bool first = state_.consistency.empty();
  const StepReport report =
      solve_consistency<T>(graph_.incidence, state_.codes, options_.eta, state_.consistency, control_);
  record_.certificate.consistency = report.certificate;
  if (interrupted() || (!first && !exact())) return;
  terms_ = code_terms<T>(state_.codes, penalty(), coupling(), options_.eta, control_);
  if (first)  // the term has just come in
    record_.objective_before = objective_ = objective_now().total();
  if (exact()) check_descent("consistency");
}

template <class T>
void Fitter<T>::update_codes() {
  if (over_) return;
  const CodesProblem<T> problem = codes_problem();
  if (problem.coupling.manifold() && !order_) order_.emplace(graph_.laplacian, control_, tuning_);
  const CoupledGraph* order = order_ ? &*order_ : nullptr;
  if (exact()) {
    record_.certificate.codes = solve_codes(problem, state_.codes, step_options(), control_, order).certificate;
  } else {
    const bool early = state_.schedule.phase == Phase::plain || state_.schedule.phase == Phase::warm;
    const double passes = early ? tuning_.first_passes : tuning_.passes;
    improve_codes(problem, order, static_cast<int>(passes), static_cast<int>(tuning_.sweeps), state_.codes, control_);
    record_.certificate.codes = std::numeric_limits<double>::infinity();
  }
  if (interrupted()) return;
  terms_ = code_terms<T>(state_.codes, penalty(), coupling(), options_.eta, control_);
  refresh_losses();
  sum_up();
  check_descent("codes");
}

template <class T>
double Fitter<T>::density() const {
  const Index all =
      parallel_sum(n_, control_.to_the_end(), Index{0}, [&](Index first, Index count, int, Index& nonzero) {
        const T* codes = state_.codes.col(first);
        nonzero += options_.atoms * count - std::count(codes, codes + options_.atoms * count, T(0));
      });
  return static_cast<double>(all) / static_cast<double>(std::max<Index>(state_.codes.size(), 1));
}

template <class T>
bool Fitter<T>::end_iteration(const Callback<T>& callback) {
  if (over_) return false;
  record_.objective = objective_now();
  record_.selected = pace_.selected;
  record_.mean_weight = pace_.mean_weight;
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
  remember();
  if (state_.schedule.finished)
    termination_ = state_.schedule.stalled ? Termination::converged : Termination::iteration_limit;
  if (callback && !callback(record_, before_)) {
    fail(Termination::cancelled, "the callback asked to stop");
    return false;
  }
  return true;
}

template <class T>
Result<T> Fitter<T>::result() {
  // What is reported is computed afresh at the returned point, cancelled or not: it takes one pass.
  control_.cancel = nullptr;
  control_.deadline.reset();
  Result<T> out;
  before_ = State<T>();
  terms_ = code_terms<T>(state_.codes, penalty(), coupling(), options_.eta, control_);
  refresh_losses();
  sum_up();
  out.objective = objective_now();
  out.certificate.codes = codes_certificate(codes_problem(), state_.codes, control_);
  out.certificate.dictionary = dictionary_certificate<T>(dictionary_problem(), state_.dictionary, control_);
  if (coupling().consistent())
    out.certificate.consistency =
        consistency_certificate<T>(graph_.incidence, state_.codes, options_.eta, state_.consistency, control_);
  if (one_copy()) state_.weights = effective_.entry.release();
  effective_ = Weights<T>();
  out.lambda = state_.pace_lambda;
  if (level_ != Level::none) {
    solve_weights(losses_, options_.regularizer, out.lambda, out.weights, control_);
    out.selected = summarize(losses_, out.weights, observed_, options_.regularizer, out.lambda, control_).selected;
  }
  out.density = density();
  out.termination = termination_;
  out.detail = detail_;
  out.options = options_;
  out.threads = thread_count(control_);
  out.notes = notes_;
  out.losses = std::move(losses_);
  out.data = std::move(data_);
  out.graph = std::move(graph_);
  out.state = std::move(state_);
  return out;
}

template class Fitter<float>;
template class Fitter<double>;

}  // namespace pacewise

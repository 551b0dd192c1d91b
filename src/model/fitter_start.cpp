#include <algorithm>
#include <cmath>
#include <utility>

#include "model/fitter.hpp"

// How a fit begins: from scratch, or from a stored state.

namespace pacewise {
namespace {

bool normalise(Vector<double>& atom) {
  const double norm = eigen(atom).norm();
  if (norm > 0) eigen(atom) /= norm;
  return norm > 0;
}

// By how many robust deviations of the data a hidden entry is missed at most. With a lower cap strokes on a black
// background pass for errors. Where settings are compared it is lower all the same: predictions near the middle are
// less far from wrong entries, and with a higher one the fewest atoms would win by that.
constexpr double kCapOfStages = 2, kCapOfSettings = 1.75;

/// Steps compute squares in float.
template <class T>
void check_range(const Problem<T>& problem, const Data<T>& data) {
  Index feature = 0, sample = 0;
  const double largest = static_cast<double>(eigen(data.values).cwiseAbs().maxCoeff(&feature, &sample));
  if (largest == 0 || (largest > 1e-12 && largest < 1e12)) return;
  const double given = static_cast<double>(problem.values(feature, sample));
  const std::string normalised = given == largest || given == -largest ? "" : ", normalised " + to_text(largest);
  throw Error(
      "values: " + to_text(given) + " at sample " + std::to_string(sample) + ", feature " + std::to_string(feature) +
      " is the largest in size" + normalised + ": must be between 1e-12 and 1e12; " +
      (largest > 1 ? "if it stands for a missing value, say so (missing = " + to_text(given) + "), else " : "") +
      "scale the data");
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
  Data<T> data = prepare<T>(problem, options_.normalize, nullptr, control_, descends(options_), options_.missing);
  if (!inputs_.note.empty()) notes_.push_back(inputs_.note);
  notes_.insert(notes_.end(), data.notes.begin(), data.notes.end());
  check_range(problem, data);
  if (is_given(inputs_.graph_points) && inputs_.graph_points.cols != n_)
    throw Error("graph_points has " + std::to_string(inputs_.graph_points.cols) +
                " columns: must equal the number of samples = " + std::to_string(n_));
  if (descends(options_)) {
    hiding_ = plan_hiding(options_.hidden, static_cast<double>(m_ * n_ - data.missing));
    const double deviation = robust_moments(data).deviation;
    state_.descent.cap = std::pow((inputs_.judge_stages > 0 ? kCapOfSettings : kCapOfStages) * deviation, 2);
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
  if (!is_given(inputs_.graph_points)) return noted(build_graph<T>(data, o, control_));
  const Data<double> points =
      prepare<double>({inputs_.graph_points.columns(first, n), {}}, Normalize::none, nullptr, control_);
  return noted(build_graph_from_neighbours<double>(nearest<double>(points, o.k, control_), points, o));
}

template <class T>
Matrix<T> Fitter<T>::all_codes(Matrix<T> into) const {
  into.resize_for_overwrite(options_.atoms, n_);
  T* codes = into.data();
  for (const Part<T>& part : parts_) codes = std::copy_n(part.S.data(), part.S.size(), codes);
  return into;
}

/// All of the state, with what the parts hold, in the memory of `into`
template <class T>
State<T> Fitter<T>::whole_state(State<T> into) const {
  State<T> all = state_;
  const Index r = options_.atoms;
  all.codes = all_codes(std::move(into.codes));
  if (mapped()) {
    all.consistency = std::move(into.consistency);
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
  } else {  // back to a state before, to rounding; who goes on from it subtracts what it lists from the raw data
    return_to_offset(updates);
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

/// r different samples, scaled to unit norm; where there are not enough, random directions
template <class T>
Matrix<T> Fitter<T>::draw_atoms(Random& random) const {
  Vector<double> eligible = all_samples([&](const Part<T>& part) {
    Vector<double> out(part.samples(), 0.0);
    for (Index j = 0; j < part.samples(); ++j)
      for (Index i = 0; i < m_ && !(out[j] > 0); ++i)
        if (part.data.values(i, j) != T(0) && part.data.weights(i, j) > T(0)) out[j] = 1;
    return out;
  });
  Matrix<T> B(m_, options_.atoms);
  Vector<double> atom(m_);
  for (Index k = 0; k < B.cols(); ++k) {
    const Index j = random.draw(eligible);
    if (j >= 0) {
      eligible[j] = 0;
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
  const auto check_finite = [](const char* name, const MatrixView<const double>& given) {
    if (!eigen(given).allFinite()) throw Error(std::string(name) + " has a value that is not finite");
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
    state_.beta = options_.beta ? *options_.beta : options_.beta_ratio.value_or(kBetaRatio) * [this] {
      double top = 0;
      for (const Part<T>& part : parts_) top = std::max(top, part.zero_beta());
      return top;
    }();
  penalty().validate(r);
  state_.dictionary = draw_atoms(random);
  if (const auto& B = inputs_.dictionary; is_given(B)) {
    if (B.cols != r || B.rows != m_)
      throw Error("dictionary has " + std::to_string(B.cols) + " atoms of " + std::to_string(B.rows) +
                  " features: must have " + std::to_string(r) + " of " + std::to_string(m_));
    check_finite("dictionary", B);
    state_.dictionary = cast<T>(B);
  }
  EigenMatrix<double> B = eigen(state_.dictionary).template cast<double>();
  project_atoms(B, options_.positive_atoms);
  eigen(state_.dictionary) = B.template cast<T>();
  state_.random = random.state();
  if (const auto& given = inputs_.codes; is_given(given)) {
    if (given.rows != r || given.cols != n_)
      throw Error("codes is " + std::to_string(given.cols) + " x " + std::to_string(given.rows) + ": must be " +
                  std::to_string(n_) + " x " + std::to_string(r));
    check_finite("codes", given);
    Matrix<T> codes = cast<T>(given);
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
    if (descends(options_)) {  // exact ones would see what is hidden
      part.measure(state_.dictionary, level_, false, control_);
      part.improve_codes(state_.dictionary, terms(part), 0, static_cast<int>(tuning_.start_sweeps), control_);
    } else {
      part.solve_codes(state_.dictionary, terms(part), step, control_);
    }
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

#define PACEWISE_INSTANTIATE(T)                                                                         \
  template Fitter<T>::Fitter(const Problem<T>& problem, const Options& options, const Control& control, \
                             const FitInputs& inputs, const State<T>* resume);                          \
  template void Fitter<T>::make_parts(const Problem<T>& problem);                                       \
  template Graph Fitter<T>::graph_of(const Data<T>& data, Index first);                                 \
  template Matrix<T> Fitter<T>::all_codes(Matrix<T> into) const;                                        \
  template State<T> Fitter<T>::whole_state(State<T> into) const;                                        \
  template void Fitter<T>::take_state(State<T> state);                                                  \
  template Matrix<T> Fitter<T>::draw_atoms(Random& random) const;                                       \
  template void Fitter<T>::start();                                                                     \
  template void Fitter<T>::check_resumed(const State<T>& s) const;
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

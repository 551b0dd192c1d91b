#include <algorithm>
#include <cmath>
#include <utility>

#include "model/verify.hpp"
#include "pace/descent.hpp"
#include "solve/residual.hpp"

namespace pacewise {
namespace {

constexpr double kCheap = 1e-5;  // of the objective after cheap steps
constexpr double kStep = 1e-6;   // .. and of the residual that a step reports, beside the one at the returned point

bool is_cheap(const Record& r) { return std::isinf(r.certificate.codes); }

/// As the schedule is gone through again, record by record. What depends on the data, lambda and whether cheap steps
/// have stalled (by the tolerance of that time), is taken from the records.
template <class T>
class Course {
 public:
  Course(const Model<T>& model, const Model<T>& found, const Data<T>& data)
      : model_(model),
        found_(found),
        o_(model.options),
        old_(o_.kind == Kind::automatic),  // before kinds, all steps were exact
        weighted_(!data.weights.entry.empty()) {
    for (const double h : found.graph.incidence.value) cancelled_ += o_.gamma * h * h;
  }

  /// How many iterations, from the first on, can be so
  Index sound() {
    const auto& history = model_.history;
    for (std::size_t t = 0; t < history.size(); ++t)
      if (!enter(t) || !holds(t)) return static_cast<Index>(t);
    return std::ssize(history);
  }
  /// Where the run then stands
  bool ends_as_stated() const {
    const ScheduleState& s = model_.schedule;
    const bool limit = model_.termination == Termination::iteration_limit;
    return at_.phase == s.phase && at_.in_phase == s.in_phase && at_.stage == s.stage && at_.brief == s.brief &&
           at_.before == s.before && at_.lambda == s.lambda && at_.finished == s.finished && at_.stalled == s.stalled &&
           (old_ || (at_.exact == s.exact && at_.loose == s.loose)) &&
           (descends(o_) && !settled_ ? s.center >= 0 : s.center == 0) && draw_ == model_.descent.draw &&
           settled_ == model_.descent.settled &&
           (at_.last_objective == s.last_objective ||
            (std::isnan(at_.last_objective) && std::isnan(s.last_objective))) &&
           (model_.history.empty() || limit == (s.finished && !s.stalled));
  }

 private:
  /// at_ becomes the state in which iteration t runs; false: the schedule has none of this phase and lambda
  bool enter(std::size_t t) {
    const Record& r = model_.history[t];
    if (r.iteration != static_cast<int>(t) + 1 || !(r.lambda > 0)) return false;
    fresh_ = t == 0;
    if (ends_stage(at_, o_) && !end_stage()) return false;
    LossSummary losses;
    if (r.phase == Phase::paced) {
      losses.lambda_select = losses.lambda_target = r.lambda;
      losses.largest = std::numeric_limits<double>::infinity();
    }
    const ScheduleState before = at_;
    at_ = advance(at_, losses, o_);
    if (descends(o_) && at_.phase == Phase::paced) {
      if (at_.stage > before.stage) at_.brief = is_brief(t);
      if (at_.stage > 0 && (at_.stage > before.stage || before.phase != Phase::paced)) at_.lambda = r.lambda;
    }
    fresh_ = fresh_ || at_.phase != before.phase || at_.stage != before.stage || at_.lambda != before.lambda;
    return at_.phase == r.phase && at_.lambda == r.lambda;
  }

  /// Of a descending pace. Draws but the last one go through all stages.
  bool end_stage() {
    const Descent<T>& d = model_.descent;
    const bool final = draw_ + 1 >= d.draws;
    const auto t = static_cast<std::size_t>(at_.stage);
    bool last = ends_last_stage(at_, o_);
    if (final) {
      if (t >= d.stages.size() || d.stages[t].lambda != at_.lambda) return false;
      last = last || (d.draws == 1 && d.stages[t].scale < 0.5001 && is_past_best(d.stages, at_.stage));
    }
    if (!last) return true;
    fresh_ = true;
    const double objective = at_.last_objective;
    const int before = at_.before;
    at_ = ScheduleState();
    if (final) {
      settled_ = true;
      at_.phase = Phase::polish;
      at_.stage = static_cast<int>(t);
      at_.brief = brief_;
      at_.last_objective = objective;
      at_.before = before;
    } else {
      ++draw_;
      at_.before = iterations_;
    }
    return true;
  }

  /// What hidden entries said in a draw before the last is not kept: it follows from what was done
  bool is_brief(std::size_t t) {
    const auto& history = model_.history;
    if (draw_ + 1 >= model_.descent.draws) return brief_ = is_past_best(model_.descent.stages, at_.stage - 1);
    std::size_t end = t;
    while (end < history.size() && history[end].phase == Phase::paced && history[end].lambda == history[t].lambda)
      ++end;
    if (end == history.size()) return brief_ = model_.schedule.brief;
    return brief_ = static_cast<int>(end - t) < stage_iterations(o_, at_.stage, false);
  }

  /// Whether the numbers of the record go with one another and with those of the record before
  bool holds(std::size_t t) {
    const Record& r = model_.history[t];
    const Objective& J = r.objective;
    const bool cheap = is_cheap(r) || (!fresh_ && is_cheap(model_.history[t - 1]));  // adds up in float
    const double slack =
        (cheap ? kCheap : VerifyTolerance<T>::relative) * (J.magnitude() + (J.consistency != 0 ? cancelled_ : 0));
    const Range share{0, 1};
    const auto close = [](double a, double b) { return std::abs(a - b) <= 1e-6; };
    bool good = std::isfinite(J.magnitude()) && std::isfinite(r.objective_before) && J.fit >= 0 && J.sparsity >= 0 &&
                J.manifold >= -slack && J.consistency >= -slack && J.total() <= r.objective_before + slack &&
                share.contains(r.selected) && share.contains(r.mean_weight) && share.contains(r.density) &&
                r.dead_atoms >= 0 && r.dead_atoms <= o_.atoms;
    // the weights: all 1; those that the pace has found; or the best ones for this lambda
    if (settled_)
      good = good && close(r.selected, found_.selected) && std::abs(J.pace - found_.objective.pace) <= slack;
    else if (std::isinf(r.lambda))
      good = good && r.selected == 1 && r.mean_weight == 1 && J.pace == 0;
    else if (pace_weight(o_.regularizer, r.lambda, r.lambda) == 0)
      good = good && r.mean_weight <= r.selected + 1e-6;
    // exact where the schedule asks for it, and from then on
    const Certificate& c = r.certificate;
    if (r.phase == Phase::plain || (descends(o_) && r.phase == Phase::paced))  // without the graph
      good = good && J.manifold == 0 && J.consistency == 0 && c.consistency == 0;
    good = good && c.weights == 0 && c.codes >= 0 && c.dictionary >= 0 && c.consistency >= 0 &&
           is_cheap(r) == std::isinf(c.dictionary);
    ScheduleState asked = at_;
    asked.exact = false;
    if (exact_steps(asked, o_)) {
      good = good && !is_cheap(r);
    } else {
      good = good && (fresh_ || !is_cheap(r) || is_cheap(model_.history[t - 1]));
      at_.exact = !is_cheap(r);
    }
    if (!fresh_)  // nothing has changed since
      good = good && std::abs(r.objective_before - model_.history[t - 1].objective.total()) <= slack;
    const bool held = settled_ && weighs_entries(o_.level) && !all_one(model_.weights);
    at_ = conclude(at_, J.total(), J.magnitude(), r.iteration, o_,
                   !old_ && (weighted_ || held || at_.phase == Phase::held));
    iterations_ = r.iteration;
    return good;
  }

  const Model<T>&model_, &found_;
  const Options& o_;
  const bool old_, weighted_;
  ScheduleState at_;
  double cancelled_ = 0;  // gamma |H|^2, of which the consistency term is what is left
  bool fresh_ = true;     // phase, lambda or draw differ from those of the record before
  bool settled_ = false, brief_ = false;
  int draw_ = 0, iterations_ = 0;
};

/// The entries that the draws so far have hidden, of those observed
template <class T>
double count_hidden(const Options& o, const Data<T>& data, int draws) {
  const Index m = data.values.rows(), n = data.values.cols();
  const Hiding hiding = plan_hiding(o.hidden, static_cast<double>(m * n - data.missing));
  double count = 0;
  for (int draw = 0; draw < draws && !o.lambda_scale; ++draw)
    for (Index j = 0; j < n; ++j)
      for (Index i = 0; i < m; ++i)
        if (data.weights(i, j) > T(0) && is_hidden(o.seed, hiding, draw, i, j)) ++count;
  return count;
}

/// How many stages, from the first on, can be so; of a pace that has come to its end
template <class T>
Index sound_stages(const Model<T>& model, const Data<T>& data) {
  const Descent<T>& d = model.descent;
  const std::vector<double> scales = stage_scales(model.options);
  const double hidden = count_hidden(model.options, data, d.draws);
  Index sound = 0;
  int kept = 0;
  for (const Stage& s : d.stages) {
    const double slack = 1e-9 * (std::abs(s.sum) + std::abs(d.stages.front().sum)) + 1e-300;
    const auto t = static_cast<std::size_t>(sound);
    if (t >= scales.size() || s.scale != scales[t] || s.hidden != hidden || !(s.sum >= 0) ||
        s.sum > d.cap * hidden * (1 + 1e-6) || std::abs(s.sum - d.stages.front().sum - s.gain) > slack ||
        s.gain * s.gain > s.gain_squares * hidden * (1 + 1e-9) + slack || (sound == 0 && s.gain_squares != 0) ||
        (weighs_entries(model.options.level) ? s.center != 0 : !(s.center >= 0)))
      return sound;
    if (!model.options.lambda_scale && t > 0 && is_better(s, d.stages[static_cast<std::size_t>(kept)], d.stages[0]))
      kept = static_cast<int>(sound);
    ++sound;
  }
  if (model.options.lambda_scale) kept = static_cast<int>(sound) - 1;
  const bool same = kept == d.chosen && sound > 0 && d.lambda == d.stages[static_cast<std::size_t>(kept)].lambda &&
                    d.center == d.stages[static_cast<std::size_t>(kept)].center;
  return same ? sound : kept;
}

/// Of a run that chooses beta by its share: as it began, before all offsets but the first were taken away
template <class T>
double beta_of(const Model<T>& model, const Data<T>& data) {
  const Options& o = model.options;
  if (o.beta && *o.beta != kAuto) return *o.beta;
  double top = 0;
  for (Index j = 0; j < data.values.cols(); ++j) {
    double sum = 0;
    for (Index i = 0; i < data.values.rows(); ++i) {
      if (data.bounded() && data.gross(i, j)) continue;
      auto x = static_cast<double>(data.values(i, j));
      for (Index c = 1; c < model.offsets.cols(); ++c) x += static_cast<double>(model.offsets(i, c));
      sum += std::pow(static_cast<double>(data.weights(i, j)) * x, 2);
    }
    top = std::max(top, 2 * std::sqrt(sum));
  }
  return o.beta_ratio.value_or(kBetaRatio) * top;
}

/// The largest difference of two entries; what is not stored is 0. Old files lack the incidence.
double apart(const Sparse& a, const Sparse& b, bool old) {
  if (a.empty() && (old || b.empty())) return 0;
  if (a.rows != b.rows || a.cols != b.cols) return std::numeric_limits<double>::infinity();
  double most = 0;
  Vector<double> column(a.rows, 0.0);  // 0 again after each
  const auto each = [&](const Sparse& s, Index j, const auto& use) {
    for (auto p = s.start[static_cast<std::size_t>(j)]; p < s.start[static_cast<std::size_t>(j) + 1]; ++p)
      use(column[s.index[static_cast<std::size_t>(p)]], s.value[static_cast<std::size_t>(p)]);
  };
  for (Index j = 0; j < a.cols; ++j) {
    each(a, j, [](double& x, double value) { x += value; });
    each(b, j, [](double& x, double value) { x -= value; });
    for (const Sparse* s : {&a, &b})
      each(*s, j, [&](double& x, double) { most = std::max(most, std::abs(std::exchange(x, 0))); });
  }
  return most;
}

}  // namespace

template <class T>
void verify_course(const Model<T>& model, const Model<T>& found, const Data<T>& data, const AddFigure& add) {
  const double beta = beta_of(model, data);
  add("beta", model.beta, beta, beta, 0);
  const Graph &graph = model.graph, &built = found.graph;
  const bool old = model.options.kind == Kind::automatic;
  add("graph: difference", 0,
      std::max(apart(graph.laplacian, built.laplacian, old), apart(graph.incidence, built.incidence, old)), 1, 0);
  add("offset", model.options.offset ? 1 : 0, model.offsets.empty() ? 0 : 1, 0, 0);
  const std::vector<Candidate>& tried = model.candidates;
  const bool chosen = tried.empty() || std::any_of(tried.begin(), tried.end(), [&](const Candidate& c) {
                        return c.atoms == model.options.atoms &&
                               (!model.options.beta_ratio || c.beta_ratio == *model.options.beta_ratio);
                      });
  add("atoms and beta among those tried", 1, chosen ? 1 : 0, 0, 0);
  const auto said = [&](const std::string& note) {
    return std::find(model.notes.begin(), model.notes.end(), note) != model.notes.end();
  };
  const auto repeated = std::count_if(found.notes.begin(), found.notes.end(), said);
  add("notes", static_cast<double>(repeated), static_cast<double>(found.notes.size()), 0, 0);
  const ScheduleState& end = model.schedule;
  const bool explained = end.stalled ? model.detail == found.detail : model.detail.empty() == end.finished;
  add("what is said of the end", 1, explained ? 1 : 0, 0, 0);
  Course<T> course(model, found, data);
  add("iterations in order", model.iteration, static_cast<double>(course.sound()), 0, 0);
  const bool ends = course.ends_as_stated();
  add("end of the run", 1, ends ? 1 : 0, 0, 0);
  const Descent<T>& d = model.descent;
  if (d.settled)
    add("stages in order", static_cast<double>(d.stages.size()), static_cast<double>(sound_stages(model, data)), 0, 0);
  if (model.history.empty()) return;
  const Record& last = model.history.back();
  const Objective& J = last.objective;
  add("last density", last.density, found.density, 1, 0);
  const double fall = J.magnitude() > 0 ? (last.objective_before - J.total()) / J.magnitude() : 0;
  const double least = std::min(model.options.step_tol, 1e-4);
  add("tolerance of the next step", model.step_tol, std::clamp(0.01 * fall, least, 1e-4), 0, 0);
  if (descends(model.options) && !d.settled) return;  // entries were hidden
  const double slack = is_cheap(last) ? kCheap * J.magnitude() : 0;
  const auto part = [&](const char* name, double Objective::*member) {
    add(name, J.*member, found.objective.*member, std::max(std::abs(J.*member), std::abs(found.objective.*member)),
        slack);
  };
  part("last fit", &Objective::fit);
  part("last pace", &Objective::pace);
  part("last sparsity", &Objective::sparsity);
  part("last manifold", &Objective::manifold);
  part("last consistency", &Objective::consistency);
  if (!is_cheap(last))
    add("last certificate: codes", last.certificate.codes, found.certificate.codes,
        std::max(last.certificate.codes, found.certificate.codes), std::max(VerifyTolerance<T>::certificate, kStep));
}

template void verify_course(const Model<float>&, const Model<float>&, const Data<float>&, const AddFigure&);
template void verify_course(const Model<double>&, const Model<double>&, const Data<double>&, const AddFigure&);

}  // namespace pacewise

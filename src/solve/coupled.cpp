#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>
#include <utility>

#include "solve/coupled_passes.hpp"
#include "solve/coupled_system.hpp"
#include "solve/lasso.hpp"

namespace pacewise {
namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// Memory that serves one purpose after another
class Room {
 public:
  /// So many zeros; what was there before is gone.
  template <class Number>
  Number* zeros(std::size_t count) {
    if (bytes_.size() < count * sizeof(Number)) {
      bytes_ = {};
      bytes_.resize(count * sizeof(Number));
    }
    auto* const first = reinterpret_cast<Number*>(bytes_.data());
    std::uninitialized_value_construct_n(first, count);
    return first;
  }

 private:
  Vector<std::byte> bytes_;
};

/// alpha > 0 couples the samples. A round:
///   1. gradient g of all smooth terms at S, certificate;
///   2. accelerated proximal gradient steps until the support settles (beta > 0):
///        s <- soft(y - g(y) / (2 c_j), beta / (2 c_j)),   c_j = CoupledSystem::bound(j)
///      kept only if the objective fell;
///   3. on the support with its signs, Newton:  (A + alpha L)_PP d = -g_P/2 - beta sign/2  by conjugate gradients
///      preconditioned sample by sample, and a line search along the path clipped where signs would change.
/// Near the solution the support is right and step 3 is exact. Directions are found in the arithmetic U, gradients and
/// what a step is worth are computed in double.
template <class T, class U>
class Coupled {
 public:
  Coupled(const CodesModel<T>& model, Matrix<T>& S, const StepOptions& options, const Control& control, int patience)
      : model_(model),
        S_(S),
        options_(options),
        control_(control),
        n_(model.samples()),
        r_(model.atoms()),
        blocks_(n_),
        patience_(patience),
        beta_(model.problem().beta),
        system_(model, options, control),
        gradient_(r_, n_),
        partial_(at(blocks_.count())) {
    for (int t = 0; t < thread_count(control); ++t) {
      scratch_.emplace_back(model, blocks_.size());
      wide_.emplace_back(r_, blocks_.size());
      image_of_block_.emplace_back(at(r_ * blocks_.size()));
    }
  }

  StepReport solve() {
    const double goal = std::max(options_.tol, precision_floor<T>() / 4) * model_.scale();
    StepReport report;
    double best = std::numeric_limits<double>::infinity();
    bool exact = false;  // best is from the data and that of the codes returned
    int stale = 0;
    damping_ = least_damping();
    refresh_gradient(std::is_same_v<U, float> && !model_.shared());
    if (beta_ > 0 && system_.lead()) {  // supports first, before anything is made for them
      accelerate(goal);
      system_.follow();
    }
    for (;; ++report.rounds) {
      double violation = this->violation();
      if (updated_ && (violation <= goal || beta_ == 0 || report.rounds == options_.max_rounds || stale >= patience_)) {
        refresh_gradient();
        violation = this->violation();
      }
      if (control_.stop()) break;
      stale = violation < (beta_ > 0 ? 0.9 : 0.999) * best ? 0 : stale + 1;
      if (violation < best) {
        best = violation;
        if (kKeepsBest) {
          best_ = S_;
          exact = !updated_;
        }
      } else if (beta_ == 0) {  // Newton is exact here but for rounding: shorter steps from here on
        damping_ = std::max(16 * damping_, epsilon() * system_.largest_bound());
        S_ = best_;
        refresh_gradient();
      }
      if (violation <= goal || report.rounds == options_.max_rounds || stale > patience_) {
        if (!kKeepsBest) {
          best = violation;
          exact = !updated_;
        }
        break;
      }
      system_.grow(S_, gradient_);
      if (beta_ > 0) accelerate(goal);
      system_.choose(S_, true);
      newton_step(0.1 * goal);
    }
    if (!best_.empty()) S_ = best_;
    if (!exact) {
      refresh_gradient();
      best = control_.stop() ? std::numeric_limits<double>::infinity() : violation();
    }
    report.certificate = best / model_.scale();
    report.converged = report.certificate <= options_.tol;
    return report;
  }

 private:
  /// Every step lowers the objective, but the certificate may rise: codes it was least at are kept. In float that would
  /// be for nothing: either the last codes have reached the goal, or double goes on from them.
  static constexpr bool kKeepsBest = std::is_same_v<U, double>;
  static double epsilon() { return static_cast<double>(std::numeric_limits<T>::epsilon()); }

  /// Calls body(block, worker) for all blocks and adds up what it returns, in block order.
  template <class Body>
  double over_blocks(Body&& body) {
    parallel_blocks(blocks_.count(), control_,
                    [&](Index block, int worker) { partial_[at(block)] = body(block, worker); });
    double total = 0;
    for (const double p : partial_) total += p;
    return total;
  }
  template <class Body>
  double over_samples(Body&& body) {
    return over_blocks([&](Index block, int) {
      double sum = 0;
      for (Index j = blocks_.first(block); j < blocks_.end(block); ++j) sum += body(j);
      return sum;
    });
  }
  /// the unknowns of a block are contiguous
  std::pair<std::size_t, std::size_t> range(Index block) const {
    return {at(system_.begin(blocks_.first(block))), at(system_.begin(blocks_.end(block)))};
  }

  void refresh_gradient(bool rough = false) {
    parallel_blocks(blocks_.count(), control_, [&](Index block, int worker) {
      const Index first = blocks_.first(block), b = blocks_.length(block);
      model_.gradient(S_, first, gradient_.view().columns(first, b), scratch_[static_cast<std::size_t>(worker)], rough);
    });
    updated_ = rough;
  }

  double violation() {
    parallel_blocks(blocks_.count(), control_, [&](Index block, int) {
      double worst = 0;
      for (Index j = blocks_.first(block); j < blocks_.end(block); ++j)
        for (Index k = 0; k < r_; ++k)
          worst = std::max(worst, kkt_distance(gradient_(k, j), static_cast<double>(S_(k, j)), beta_));
      partial_[at(block)] = worst;
    });
    return *std::max_element(partial_.begin(), partial_.end());
  }

  /// the unknowns of sample j
  template <class Number>
  void gather(const Matrix<Number>& from, Index j, U* x) const {
    for (Index a = 0; a < system_.count(j); ++a) x[a] = static_cast<U>(from(system_.atom(j, a), j));
  }
  /// Two packed vectors, zero. They are dead where a change is weighed: `move` takes their place.
  std::pair<U*, U*> two_vectors(std::size_t size) {
    constexpr std::size_t line = 64 / sizeof(U);
    const std::size_t distance = (size + line - 1) / line * line;
    U* const first = room_.template zeros<U>(2 * distance);
    return {first, first + distance};
  }

  // Step 2. Momentum restarts when it points uphill; g(y) = g + 2 (A + alpha L)(y - s0) needs no data.
  void accelerate(double goal) {
    system_.choose(S_, false);
    const auto size = at(system_.unknowns());
    pull_.resize(size);
    now_.resize(size);
    over_samples([&](Index j) {
      gather(gradient_, j, pull_.data() + system_.begin(j));
      gather(S_, j, now_.data() + system_.begin(j));
      return 0.0;
    });
    if (system_.packed()) from_ = now_;  // else it is S itself
    U *ahead = nullptr, *next_ahead = nullptr;
    std::tie(ahead, next_ahead) = two_vectors(size);
    // Without entry weights such a step costs half an iteration of conjugate gradients: where those were many, more of
    // these first.
    constexpr int settled_steps = 12, usual = 30;
    const int many = model_.shared() && iterations_ > 40 ? std::min(4 * iterations_, 400) : usual;
    const int max_steps = system_.leading() ? 2 * usual : many;
    using Form = typename CoupledSystem<T, U>::Form;
    const Form form = system_.near_leads() && !refused_ ? Form::near : Form::exact;
    double momentum = 1;
    int settled = 0;
    for (int step = 0; step < max_steps && settled < settled_steps && !control_.stop(); ++step) {
      if (system_.packed())
        over_blocks([&](Index block, int) {
          system_.spread(block, ahead);
          return 0.0;
        });
      const double next = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2, push = (momentum - 1) / next;
      double uphill = 0;
      changes_.assign(partial_.size(), 0.0);
      moves_.assign(partial_.size(), 0.0);
      uphill = over_blocks([&](Index block, int worker) {
        system_.apply(block, worker, form, ahead, image_of_block_[static_cast<std::size_t>(worker)].data());
        return proximal_block(block, worker, push, ahead, next_ahead);
      });
      std::swap(ahead, next_ahead);
      double changed = 0;
      for (const double c : changes_) changed += c;
      const double move = *std::max_element(moves_.begin(), moves_.end());
      momentum = uphill > 0 ? 1 : next;
      settled = changed == 0 ? settled + 1 : 0;
      if (move <= 0.5 * goal) break;
    }
    // s0 + (s - s0), which keeps the digits of s0 that U has not
    refused_ = !go_if_lower([&](std::size_t i, double s0) {
      return now_[i] == U(0) ? 0.0 : s0 + (static_cast<double>(now_[i]) - static_cast<double>(static_cast<U>(s0)));
    });
    if (refused_) system_.widen_bounds();
  }

  /// One proximal step and the extrapolation for the samples of a block; returns <y - s_new, s_new - s_old>.
  double proximal_block(Index block, int worker, double push, const U* ahead, U* next) {
    ProximalSums sums;
    const Index first = system_.begin(blocks_.first(block));
    const U* image = image_of_block_[static_cast<std::size_t>(worker)].data();
    for (Index j = blocks_.first(block); j < blocks_.end(block); ++j) {
      const double c = system_.bound(j);
      if (!(c > 0)) continue;
      const Index begin = system_.begin(j);
      const ProximalScale<U> by{static_cast<U>(2 * c), static_cast<U>(1 / (2 * c)), static_cast<U>(beta_ / (2 * c)),
                                static_cast<U>(push)};
      const auto step_from = [&](const auto* s0) {
        proximal_step(system_.count(j), by, s0, pull_.data() + begin, image + (begin - first), ahead + begin,
                      now_.data() + begin, next + begin, sums);
      };
      if (system_.packed())
        step_from(from_.data() + begin);
      else
        step_from(std::as_const(S_).col(j));
    }
    changes_[at(block)] = sums.changed;
    moves_[at(block)] = sums.move;
    return sums.uphill;
  }

  /// Goes from s to to(i, s), packed, and returns true if that lowers f; else S stays.
  ///   f(S + D) - f(S) = <g, D> + D'(A + alpha L)D + beta (|S + D| - |S|): no cancellation of large numbers
  /// The gradient goes along by 2 (A + alpha L) D: it wants no pass over the data of its own.
  template <class To>
  bool go_if_lower(const To& to) {
    const MatrixView<double> move(room_.template zeros<double>(at(r_ * n_)), r_, n_);
    over_samples([&](Index j) {
      for (Index a = 0; a < system_.count(j); ++a) {
        const Index k = system_.atom(j, a);
        const auto s = static_cast<double>(S_(k, j));
        move(k, j) = static_cast<double>(static_cast<T>(to(at(system_.begin(j) + a), s))) - s;
      }
      return 0.0;
    });
    const double change = over_blocks([&](Index block, int worker) {
      const Index first = blocks_.first(block), b = blocks_.length(block);
      const auto image = wide_[static_cast<std::size_t>(worker)].view().columns(0, b);
      constexpr bool rough = std::is_same_v<U, float>;  // the last gradient comes from the data again
      model_.curvature(move, first, image, scratch_[static_cast<std::size_t>(worker)], rough);
      double sum = 0;
      for (Index j = first; j < first + b; ++j)
        for (Index a = 0; a < system_.count(j); ++a) {
          const Index k = system_.atom(j, a);
          const double s = static_cast<double>(S_(k, j)), d = move(k, j);
          sum += (gradient_(k, j) + image(k, j - first)) * d + beta_ * (std::abs(s + d) - std::abs(s));
        }
      for (Index j = 0; j < b; ++j)
        for (Index k = 0; k < r_; ++k) gradient_(k, first + j) += 2 * image(k, j);
      return sum;
    });
    if (control_.stop()) return false;
    updated_ = true;
    if (!(change < 0)) {
      refresh_gradient();
      return false;
    }
    over_samples([&](Index j) {
      for (Index a = 0; a < system_.count(j); ++a) {
        const Index k = system_.atom(j, a);
        S_(k, j) = static_cast<T>(static_cast<double>(S_(k, j)) + move(k, j));
      }
      return 0.0;
    });
    return true;
  }

  // Step 3
  void newton_step(double goal) {
    const auto size = at(system_.unknowns());
    if (size == 0 || control_.stop()) return;
    for (auto* v : {&residual_, &step_}) v->assign(size, U(0));
    system_.factorise(damping_);
    over_samples([&](Index j) {
      for (Index a = 0; a < system_.count(j); ++a) {
        const Index k = system_.atom(j, a);
        const double sign = S_(k, j) > T(0) ? 1 : S_(k, j) < T(0) ? -1 : 0;
        residual_[at(system_.begin(j) + a)] =
            beta_ > 0 && sign == 0 ? U(0) : static_cast<U>(-(gradient_(k, j) + beta_ * sign) / 2);
      }
      return 0.0;
    });
    conjugate_gradients(goal / 2);
    if (control_.stop() || iterations_ == 0) return;
    // Where A + alpha L is singular on the support, d runs off along a direction without curvature and the clipped path
    // is useless: damp until steps are taken nearly whole, then undamp.
    const double taken = line_search();
    if (taken < 0.25)
      damping_ = std::max(10 * damping_, 1e-6 * system_.largest_bound());
    else if (taken == 1)
      damping_ = damping_ > 1e-8 * system_.largest_bound() ? 0.1 * damping_ : least_damping();
  }

  /// With beta = 0 nothing bounds codes along near-duplicate atoms but the precision: they grow from small to large,
  /// and their rounding must not outgrow what is gained.
  double least_damping() const { return beta_ == 0 ? epsilon() * system_.largest_bound() : 0; }

  /// step_ = (A + alpha L + damping)_PP^-1 residual_, to a tenth or to the goal
  void conjugate_gradients(double goal) {
    // image is dead once the residual is updated: the preconditioned residual takes its place
    U *direction = nullptr, *image = nullptr;
    std::tie(direction, image) = two_vectors(at(system_.unknowns()));
    const auto refresh = [&](U keep) {  // direction <- preconditioned + keep * direction, spread
      over_blocks([&](Index block, int) {
        const auto [begin, end] = range(block);
        turn(static_cast<Index>(end - begin), keep, image + begin, direction + begin);
        system_.spread(block, direction);
        return 0.0;
      });
    };
    moves_.assign(partial_.size(), 0.0);
    const auto preconditioned_norm = [&](double t) {  // one pass: step, residual, preconditioner, their product
      return over_blocks([&](Index block, int worker) {
        const auto [begin, end] = range(block);
        const auto count = static_cast<Index>(end - begin);
        moves_[at(block)] = advance(count, static_cast<U>(t), direction + begin, image + begin, step_.data() + begin,
                                    residual_.data() + begin);
        system_.precondition(block, worker, image + begin);
        return damped_product(count, U(0), residual_.data() + begin, image + begin);
      });
    };
    const auto left = [&] { return *std::max_element(moves_.begin(), moves_.end()); };  // max |residual|
    double rho = preconditioned_norm(0);
    const double stop_at = std::max(goal, 0.1 * left());
    refresh(U(0));
    constexpr int max_iterations = 2000;
    for (iterations_ = 0; iterations_ < max_iterations && rho > 0 && left() > stop_at && !control_.stop();
         ++iterations_) {
      const double curvature = over_blocks([&](Index block, int worker) {
        const auto [begin, end] = range(block);
        system_.apply(block, worker, CoupledSystem<T, U>::Form::exact, direction, image + begin);
        return damped_product(static_cast<Index>(end - begin), static_cast<U>(damping_), direction + begin,
                              image + begin);
      });
      if (!(curvature > 0)) break;
      const double next = preconditioned_norm(rho / curvature);
      refresh(static_cast<U>(next / rho));
      rho = next;
    }
  }

  /// s + t d, with a coordinate that would change its sign stopped at zero
  double clipped(double s, double d, double t) const {
    const double to = s + t * d;
    return beta_ > 0 && to * s < 0 ? 0 : to;
  }

  /// Halves t until f falls along D = clip(S + t d) - S. Returns the t taken, 0 if none lowers f.
  double line_search() {
    double t = 1;
    for (int halving = 0; halving < 30 && !control_.stop(); ++halving, t /= 2)
      if (go_if_lower([&](std::size_t i, double s) { return clipped(s, static_cast<double>(step_[i]), t); })) return t;
    return 0;
  }

  const CodesModel<T>& model_;
  Matrix<T>& S_;
  const StepOptions& options_;
  const Control& control_;
  const Index n_, r_;
  const EvenBlocks blocks_;
  const int patience_;  // rounds without progress
  const double beta_;
  CoupledSystem<T, U> system_;
  double damping_ = 0;       // of the Newton systems
  int iterations_ = 0;       // of the last conjugate gradients
  bool updated_ = false;     // the gradient is rough, or has gone along with S since it was computed from the data
  bool refused_ = false;     // the last proximal steps did not lower the objective
  Matrix<T> best_;           // the codes of the smallest certificate so far
  Matrix<double> gradient_;  // r x n
  std::vector<Matrix<double>> wide_;
  std::vector<double> partial_, moves_, changes_;
  std::vector<typename CodesModel<T>::Scratch> scratch_;
  std::vector<Vector<U>> image_of_block_;  // of each worker: (A + alpha L)(y - s0) for a block of samples
  // packed unknowns
  Vector<U> from_, pull_, now_;
  Vector<U>&residual_ = pull_, &step_ = now_;  // the conjugate gradients' names for them
  Room room_;                                  // y - s0 and the next, or direction and image, then a change of S
};

/// Directions in float, and in double where those do not lead to the goal
template <class T>
StepReport solve_connected(const CodesModel<T>& model, Matrix<T>& S, const StepOptions& options,
                           const Control& control) {
  if (model.problem().beta > 0) {
    const StepReport rough = Coupled<T, float>(model, S, options, control, 10).solve();
    if (rough.converged || control.stop()) return rough;
  }
  return Coupled<T, double>(model, S, options, control, 40).solve();
}

template <class T>
StepReport solve_group(const CodesModel<T>& model, const Groups& groups, std::size_t group, Matrix<T>& S,
                       StepOptions options, const Control& control) {
  const std::vector<Index>& samples = groups.members[group];
  const CodesModel<T> part = model.part(groups, group);
  // a group may store as much as its share of the samples
  const double share = static_cast<double>(part.samples()) / static_cast<double>(model.samples());
  options.memory_bytes = static_cast<std::size_t>(share * memory_for_systems(model, options)) + 1;
  Matrix<T> codes(S.rows(), part.samples());
  for (Index j = 0; j < part.samples(); ++j) std::copy_n(S.col(samples[at(j)]), S.rows(), codes.col(j));
  const StepReport report = solve_connected(part, codes, options, control);
  for (Index j = 0; j < part.samples(); ++j) std::copy_n(codes.col(j), S.rows(), S.col(samples[at(j)]));
  return report;
}

}  // namespace

/// Samples that no path of the graph connects are problems of their own: their numbers stay in the cache, and each
/// takes the steps it needs.
template <class T>
StepReport solve_coupled(const CodesModel<T>& model, Matrix<T>& S, const StepOptions& options, const Control& control) {
  const auto groups = separate_groups(*model.problem().coupling.laplacian, kBlock);
  if (groups.members.size() < 2) return solve_connected(model, S, options, control);
  std::vector<StepReport> reports(groups.members.size(), {std::numeric_limits<double>::infinity(), 0, false});
  // a large group has all threads to itself, the others have one each, those of most samples first
  std::vector<std::size_t> small;
  for (std::size_t g = 0; g < groups.members.size(); ++g) {
    if (4 * static_cast<Index>(groups.members[g].size()) <= model.samples())
      small.push_back(g);
    else if (!control.stop())
      reports[g] = solve_group(model, groups, g, S, options, control);
  }
  std::stable_sort(small.begin(), small.end(),
                   [&](std::size_t a, std::size_t b) { return groups.members[a].size() > groups.members[b].size(); });
  Control alone = control;
  alone.threads = 1;
  parallel_blocks(static_cast<Index>(small.size()), control, [&](Index i, int) {
    const std::size_t g = small[at(i)];
    reports[g] = solve_group(model, groups, g, S, options, alone);
  });
  StepReport out;
  for (const StepReport& report : reports) {
    out.certificate = std::max(out.certificate, report.certificate);
    out.rounds = std::max(out.rounds, report.rounds);
  }
  out.converged = out.certificate <= options.tol;
  return out;
}

template StepReport solve_coupled<float>(const CodesModel<float>&, Matrix<float>&, const StepOptions&, const Control&);
template StepReport solve_coupled<double>(const CodesModel<double>&, Matrix<double>&, const StepOptions&,
                                          const Control&);

}  // namespace pacewise

#pragma once
#include <algorithm>
#include <chrono>
#include <optional>

#include "algebra/random.hpp"
#include "model/fit.hpp"
#include "model/part.hpp"
#include "pace/descent.hpp"
#include "pace/schedule.hpp"

namespace pacewise {

/// The whole of a fit: dictionary, schedule, objective, history; its parts hold the samples. Every step lowers the
/// objective at the iteration's lambda; that is checked, and a rise ends the run with the state before the iteration.
template <class T>
class Fitter {
 public:
  Fitter(const Problem<T>& problem, const Options& options, const Control& control, const FitInputs& inputs,
         const State<T>* resume);

  bool finished() const { return over_ || state_.schedule.finished || judged(); }
  void begin_iteration();
  void update_weights();
  void update_dictionary();
  void revive_atoms();
  void update_consistency();
  void update_codes();
  bool end_iteration(const Callback<T>& callback);
  Result<T> result();

  const std::vector<Stage>& stages() const { return state_.descent.stages; }
  int chosen_stage() const { return state_.descent.chosen; }
  /// Of the choice of atoms and beta, where there was one
  void remember(const std::vector<Candidate>& candidates);

 private:
  bool judged() const {
    const Descent<T>& d = state_.descent;
    return inputs_.judge_stages > 0 && (d.settled || std::ssize(d.stages) >= inputs_.judge_stages);
  }
  void make_parts(const Problem<T>& problem);
  bool couples() const { return options_.alpha > 0 || options_.gamma > 0; }
  Graph graph_of(const Data<T>& data, Index first);
  void start();
  Matrix<T> draw_atoms(Random& random) const;
  void check_resumed(const State<T>& state) const;
  /// The sum over the parts, in their order, of what they return
  template <class Of>
  auto sum(const Of& of) const {
    auto all = of(parts_.front());
    for (std::size_t p = 1; p < parts_.size(); ++p) all += of(parts_[p]);
    return all;
  }
  /// The numbers that of(part) returns, one for each sample
  template <class Of>
  auto all_samples(const Of& of) const {
    auto all = of(parts_.front());
    for (std::size_t p = 1; p < parts_.size(); ++p) {
      const auto more = of(parts_[p]);
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }
  /// The part that has sample j, and j there
  std::pair<const Part<T>*, Index> find(Index j) const;

  Penalty penalty() const { return penalty_of(options_, state_.beta); }
  bool graph_terms() const {
    if (descends(options_) && state_.schedule.phase != Phase::polish) return false;
    return state_.schedule.phase != Phase::plain && couples();
  }
  void judge_steps(double codes);
  bool exact(const ScheduleState& schedule) const { return exact_steps(schedule, options_); }
  bool mapped() const {  // there is a Q
    return std::any_of(parts_.begin(), parts_.end(), [](const Part<T>& part) { return !part.Qt.empty(); });
  }
  bool paced() const { return !std::isinf(state_.schedule.lambda); }
  CodeTerms<T> terms(const Part<T>& part) const { return part.terms(penalty(), graph_terms(), QQ_); }
  // ---- a descending pace
  void begin_draw();
  void hide();
  void end_stage();
  void keep_stage();
  void settle();
  void measure_reference();
  void hold_weights();
  Matrix<T> all_codes(Matrix<T> into = {}) const;
  State<T> whole_state(State<T> into = {}) const;
  void take_state(State<T> state);
  Vector<char> observed() const;
  void measure();
  void sum_features();
  void evaluate();
  EigenMatrix<double> map_gram() const;
  void set_pace();
  void update_offset();
  void subtract_offsets(const Matrix<T>& all);
  void return_to_offset(Index updates);
  void sum_terms();
  void sum_pace();
  double loss_quantile_of(double share) const;
  LossSummary summarize_losses() const;
  Objective objective_now() const;
  void check_descent(const char* step);
  void fail(Termination why, std::string detail);
  bool interrupted();
  double elapsed() const;
  StepOptions step_options() const;
  double density() const;

  SerialBlas serial_;
  Options options_;
  const FitInputs& inputs_;
  Tuning tuning_;
  bool show_weights_;
  Control control_;
  std::chrono::steady_clock::time_point began_;
  std::vector<std::string> notes_;
  Index m_ = 0, n_ = 0;
  Groups groups_;
  Level level_;  // of the losses: none keeps the samples' losses
  std::vector<Part<T>> parts_;
  State<T> state_;   // codes, consistency and weights are with the parts
  State<T> before_;  // after the last completed iteration, all of it
  Vector<T> feature_losses_, feature_weights_;
  Vector<T> shown_weights_;  // those of entries in a cheap iteration, for the callback
  PaceSummary held_;         // of the weights that a descending pace has found
  Vector<T> held_weights_;   // .. of features; of other units they are with the parts
  Hiding hiding_;
  EigenMatrix<double> SS_, QQ_;  // S S'; Q'Q, empty before the first Q-step
  PaceSummary pace_;             // sums over the losses and weights
  Objective terms_;              // sparsity, manifold, consistency at the current S and Q
  double cancelled_ = 0;         // gamma |H|^2, of which the consistency term is what is left
  Record record_;
  double objective_ = 0;  // after the last step
  bool exact_ = false;    // how the steps of this iteration are solved, and its sums
  bool over_ = false;
  Termination termination_ = Termination::iteration_limit;
  std::string detail_;
};

/// Algorithm 1
template <class T>
void iterate(Fitter<T>& fitter, const Callback<T>& callback);

extern template class Fitter<float>;
extern template class Fitter<double>;

}  // namespace pacewise

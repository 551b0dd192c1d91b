#pragma once
#include <chrono>
#include <optional>

#include "algebra/random.hpp"
#include "model/fit.hpp"
#include "pace/schedule.hpp"
#include "solve/coupled.hpp"
#include "solve/dictionary.hpp"
#include "solve/weights.hpp"

namespace pacewise {

/// The steps of the fit loop over one state. Every step lowers the objective at the iteration's lambda; that is checked
/// after each one, and a rise ends the run with the state before the iteration.
template <class T>
class Fitter {
 public:
  Fitter(const Problem<T>& problem, const Options& options, const Control& control, const FitInputs& inputs,
         const State<T>* resume);

  bool finished() const { return over_ || state_.schedule.finished; }
  void begin_iteration();
  void update_weights();
  void update_dictionary();
  void revive_atoms();
  void update_consistency();
  void update_codes();
  bool end_iteration(const Callback<T>& callback);
  Result<T> result();

 private:
  void start(const FitInputs& inputs);
  void build_graph_of_data(const FitInputs& inputs);
  void check_resumed(const State<T>& state) const;
  Coupling<T> coupling() const;
  CodesProblem<T> codes_problem() const;
  DictionaryProblem<T> dictionary_problem() const;
  Penalty penalty() const { return penalty_of(options_, state_.beta); }
  bool exact() const { return exact_steps(state_.schedule, options_); }
  bool graph_terms() const {
    return state_.schedule.phase != Phase::plain && !(graph_.laplacian.empty() && graph_.incidence.empty());
  }
  bool paced() const { return !std::isinf(state_.schedule.lambda); }
  /// Where entries are paced and the user gave them no weights, w v is v: it is kept once, in effective_.
  bool one_copy() const { return level_ == Level::element && data_.weights.entry.empty(); }
  const Vector<T>& pace_weights() const { return one_copy() ? effective_.entry.numbers() : state_.weights; }
  void take_state(State<T> state);
  void remember();
  void refresh_losses();
  void forget_losses();
  void sum_up();
  Objective objective_now() const;
  void check_descent(const char* step);
  void fail(Termination why, std::string detail);
  bool interrupted();
  double elapsed() const;
  StepOptions step_options() const;
  LossSummary summarize_losses() const;
  double density() const;

  SerialBlas serial_;
  Options options_;
  Tuning tuning_;
  Control control_;
  std::chrono::steady_clock::time_point began_;
  Data<T> data_;
  Graph graph_;
  std::optional<CoupledGraph> order_;  // of the samples in proximal passes
  std::vector<std::string> notes_;
  Index m_ = 0, n_ = 0;
  Level level_;                 // of the losses: none keeps the samples' losses
  std::vector<char> observed_;  // units with data
  State<T> state_, before_;     // before_: the state after the last completed iteration
  Weights<T> effective_;        // w v
  Vector<T> losses_;            // at the current B and S
  PaceSummary pace_;            // sums over the losses and weights
  Objective terms_;             // sparsity, manifold, consistency at the current S and Q
  Record record_;
  double objective_ = 0;  // after the last step
  bool over_ = false;
  Termination termination_ = Termination::iteration_limit;
  std::string detail_;
};

extern template class Fitter<float>;
extern template class Fitter<double>;

}  // namespace pacewise

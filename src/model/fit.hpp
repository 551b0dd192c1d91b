#pragma once
#include <functional>
#include <string>
#include <vector>

#include "data/problem.hpp"
#include "graph/graph.hpp"
#include "pace/schedule.hpp"
#include "pacewise/options.hpp"
#include "solve/objective.hpp"

namespace pacewise {

/// Why a fit ended, and what its result then means.
enum class Termination : std::uint8_t {
  converged,         // the objective stalled at a fixed lambda: a stationary point to the tolerance
  iteration_limit,   // max_iter or the polish count ran out: a valid point of lower objective, not yet stationary
  time_limit,        // the deadline passed: the state after the last completed iteration
  cancelled,         // the cancel flag or the callback: likewise
  numerical_trouble  // a step raised the objective or made it non-finite: the state before that step, numbers in
                     // `detail`
};
std::string_view name_of(Termination termination);

/// Optimality residuals, 0 at the optimum and scale-free; infinity where not computed.
struct Certificate {
  double codes = 0, dictionary = 0, consistency = 0;
};

/// One iteration of the fit.
struct Record {
  int iteration = 0;  // from 1
  Phase phase = Phase::plain;
  double lambda = 0;    // infinity: every weight is 1
  double selected = 1;  // share of the observed units with loss < lambda
  double mean_weight = 1;
  Objective objective;          // after the iteration, at its lambda
  double objective_before = 0;  // at the same lambda, before the iteration's steps
  Certificate certificate;      // of each step, at the point that step returned
  double density = 0;           // share of non-zero codes
  Index dead_atoms = 0;         // used by no sample when the iteration began, replaced in it
  double seconds = 0;           // since the start of the fit
};

/// Everything the loop carries from one iteration to the next. Plain data: a run resumed from a stored state goes on
/// with the same bits.
template <class T>
struct State {
  Matrix<T> dictionary;   // B, m x r
  Matrix<T> codes;        // S, r x n
  Matrix<T> consistency;  // Q, e x r; empty before the first Q-step
  Vector<T> weights;      // v, one per unit; empty: all 1
  ScheduleState schedule;
  double pace_lambda = std::numeric_limits<double>::infinity();  // the last finite lambda
  double beta = 0;
  double step_tol = 1e-4;  // certificate asked of the next iteration's steps
  std::uint64_t random = 0;
  int iteration = 0;
  double seconds = 0;
  std::vector<Record> history;
};

template <class T>
struct Result {
  State<T> state;
  Data<T> data;  // the training data as the solvers saw them
  Graph graph;
  Options options;  // what was used
  Termination termination = Termination::converged;
  std::string detail;
  Objective objective;      // at the returned point
  Certificate certificate;  // all residuals at the returned point: how far from a joint stationary point
  double lambda = 0;        // pace_lambda: where weights are read off, in encode too
  Vector<T> losses;         // of every unit at the returned point
  Vector<T> weights;        // v at `lambda` for these losses: whom to trust (polishing itself runs with 1)
  double selected = 1;
  double density = 0;
  int threads = 1;
  std::vector<std::string> notes;  // what a user should know about how the data were handled
};

/// Called after every iteration; false stops the run.
template <class T>
using Callback = std::function<bool(const Record&, const State<T>&)>;

struct FitInputs {
  const Graph* graph = nullptr;                  // instead of building one
  const Matrix<double>* graph_points = nullptr;  // D x n: look for neighbours in this space
  const Matrix<double>* dictionary = nullptr;    // m x r: the first B; else samples drawn at random
  const Matrix<double>* codes = nullptr;         // r x n: the first S; else plain sparse coding
};

/// Algorithm 1 of the paper as corrected in the design: plain sparse coding, then with the graph terms, then paced.
template <class T>
Result<T> fit(const Problem<T>& problem, const Options& options, const Control& control,
              const Callback<T>& callback = nullptr, const FitInputs& inputs = {}, const State<T>* resume = nullptr);

/// The result at a stored state, recomputed from the raw data without taking a step: what a run reported can be checked
/// against it.
template <class T>
Result<T> recompute(const Problem<T>& problem, const Options& options, const Control& control, const State<T>& state,
                    const FitInputs& inputs = {});

}  // namespace pacewise

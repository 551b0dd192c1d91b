#pragma once
#include <functional>
#include <string>
#include <vector>

#include "data/problem.hpp"
#include "graph/graph.hpp"
#include "pace/schedule.hpp"
#include "pacewise/options.hpp"
#include "pacewise/tuning.hpp"
#include "solve/codes.hpp"

namespace pacewise {

/// A finished fit: the model, and the training data as the solvers saw them.
template <class T>
struct Result : Model<T> {
  Data<T> data;
  int threads = 1;
};

/// Called after every iteration; false stops the run.
template <class T>
using Callback = std::function<bool(const Record&, const State<T>&)>;

struct FitInputs {
  const Graph* graph = nullptr;                // instead of building one
  MatrixView<const double> graph_points = {};  // D x n: look for neighbours in this space
  MatrixView<const double> dictionary = {};    // m x r: the first B; else samples drawn at random
  const Sparse* groups = nullptr;              // m x m: level group, instead of labels or windows
  MatrixView<const double> codes = {};         // r x n: the first S; else plain sparse coding
  Tuning tuning = {};
  Vector<Index> parts = {};   // the first sample of each part but the first, ascending: parts have no graph in common
  bool show_weights = false;  // the callback's state has the weights of every iteration
  std::string note = {};      // what is said of the data first
  int judge_stages = 0;       // > 0: the run is over when so many stages of a descending pace, or all, are judged
};

/// An empty view of no size at all was not given; one of 0 samples or atoms was, and is refused.
inline bool is_given(MatrixView<const double> a) { return a.rows > 0 || a.cols > 0; }

/// What codes cost, by the options and the beta used
inline Penalty penalty_of(const Options& o, double beta) {
  return {beta, o.l2, o.positive_codes, {o.atom_penalty.begin(), o.atom_penalty.end()}};
}

/// Algorithm 1 of the paper as corrected in docs/method.md: plain sparse coding, then with the graph terms, then paced.
template <class T>
Result<T> fit(const Problem<T>& problem, const Options& options, const Control& control,
              const Callback<T>& callback = nullptr, const FitInputs& inputs = {}, const State<T>* resume = nullptr);

}  // namespace pacewise

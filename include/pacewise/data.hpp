#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pacewise/matrix.hpp"
#include "pacewise/options.hpp"

namespace pacewise {

/// How a computation may run: on how many threads, and when it must stop. Results never depend on it.
struct Control {
  int threads = 0;                            // 0: as many as the machine has
  const std::atomic<bool>* cancel = nullptr;  // set by the caller, polled once per block of work
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
  const std::function<void(double share)>* progress = nullptr;  // called by the calling thread, shares ascending
  double from = 0, to = 1;                                      // the range of shares that this computation covers

  bool cancelled() const { return cancel != nullptr && cancel->load(std::memory_order_relaxed); }
  bool late() const { return deadline && std::chrono::steady_clock::now() > *deadline; }
  bool stop() const { return cancelled() || late(); }
  void report(double share) const {
    if (progress != nullptr) (*progress)(from + share * (to - from));
  }
  /// Stops this many seconds from now; 30 years at most, which the clock can hold.
  void end_after(double seconds) {
    using Clock = std::chrono::steady_clock;
    const std::chrono::duration<double> time(std::min(seconds, 1e9));
    deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
  }
  /// for a step that is the part [begin, end] of this computation
  Control part(double begin, double end) const {
    return {threads, cancel, deadline, progress, from + begin * (to - from), from + end * (to - from)};
  }
  /// As many threads, and nothing stops it: for short work whose result is wanted whole
  Control to_the_end() const { return {threads, nullptr, {}, nullptr}; }
};

/// Weights that multiply: omega_ij = sample_j * feature_i * entry_ij. An empty part stands for ones.
template <class T>
struct Weights {
  Vector<T> sample;   // n
  Vector<T> feature;  // m
  Matrix<T> entry;    // m x n

  T operator()(Index i, Index j) const {
    T w = 1;
    if (!sample.empty()) w *= sample[static_cast<std::size_t>(j)];
    if (!feature.empty()) w *= feature[static_cast<std::size_t>(i)];
    if (!entry.empty()) w *= entry(i, j);
    return w;
  }
};

/// What the user hands over. `values` stays the caller's: it must outlive the call and is never written.
template <class T>
struct Problem {
  MatrixView<const T> values;  // X, m x n: a column is a sample. NaN = missing = weight 0
  Weights<T> weights;          // the user's, finite and >= 0, separate from the values

  Problem() = default;
  Problem(MatrixView<const T> x, Weights<T> w = {}) : values(x), weights(std::move(w)) {}
  /// Any matrix of this type of number, without a copy.
  template <class M>
  requires std::convertible_to<const M&, MatrixView<const T>> Problem(const M& x, Weights<T> w = {})
      : Problem(MatrixView<const T>(x), std::move(w)) {}
};

/// How new samples are brought to the scale of the training data, and results back.
template <class T>
struct Normalization {
  Normalize kind = Normalize::none;
  Vector<T> shift, scale;  // standard, robust: x -> (x - shift_i) / scale_i, each of length m; else empty
  Vector<T> offset = {};   // m, learned: then x -> x - offset_i; or empty
  // what is further from the centre is a gross outlier: it counts for nothing at first, and never for its sample's norm
  double center = 0, cutoff = std::numeric_limits<double>::infinity();
};

struct Graph {
  Sparse laplacian;                // L, n x n
  Sparse incidence;                // H, e x n (e = n: one hyperedge per vertex, itself and its k nearest)
  std::vector<std::string> notes;  // what was done that the user should know (missing entries, isolated samples)
};

/// The graph of the samples X (m x n, NaN = missing), by options.graph, k, graph_space, edge_weight,
/// normalized_laplacian, heat_width and seed. X is taken as it is: fit() normalises before it builds its own.
Graph build_graph(MatrixView<const float> X, const Options& options = {}, const Control& control = {});
Graph build_graph(MatrixView<const double> X, const Options& options = {}, const Control& control = {});

}  // namespace pacewise

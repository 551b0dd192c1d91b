#include "graph/neighbours.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "algebra/index.hpp"
#include "graph/rough.hpp"

namespace pacewise {
namespace {

constexpr Index kQueries = 256, kTargets = 1024;  // one panel of products; any size gives the same neighbours
constexpr Index kChunk = 16;                      // targets tested at once
constexpr Index kPatience = 32;                   // exact distances a query may need before products must be finer
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Candidate {
  double low;  // the distance is at least this
  std::int32_t target;
};

struct Ranked {
  double distance;
  std::int32_t target;
  bool operator<(const Ranked& other) const {
    return distance != other.distance ? distance < other.distance : target < other.target;
  }
};

/// Squared distance by direct summation in double: eight partial sums, always added in the same order. Equal in both
/// directions to the last bit. Infinite where the two samples have no common entry.
template <class T>
double squared_distance(const T* x, const T* y, Index m, double scale, bool complete) {
  double sum[8] = {};
  if (complete) {
    Index i = 0;
    for (; i + 8 <= m; i += 8)
      for (Index lane = 0; lane < 8; ++lane) {
        const double d = static_cast<double>(x[i + lane]) * scale - static_cast<double>(y[i + lane]) * scale;
        sum[lane] += d * d;
      }
    for (Index lane = 0; i < m; ++i, ++lane) {
      const double d = static_cast<double>(x[i]) * scale - static_cast<double>(y[i]) * scale;
      sum[lane] += d * d;
    }
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
  }
  Index common = 0;
  for (Index i = 0; i < m; ++i) {
    const double d = static_cast<double>(x[i]) * scale - static_cast<double>(y[i]) * scale;
    if (std::isnan(d)) continue;
    sum[0] += d * d;
    ++common;
  }
  return common == 0 ? kInfinity : sum[0] * (static_cast<double>(m) / static_cast<double>(common));
}

/// What one query knows so far: `limit` is never below its k-th distance, so a target whose lower bound exceeds it is
/// out for good. Candidates are evaluated when too many have gathered, hence memory is bounded whatever the data.
template <class Distance>
class Query {
 public:
  void begin(Index k, Index capacity) {
    k_ = to_size(k);
    capacity_ = to_size(capacity);
    limit_ = kInfinity;
    evaluated_ = 0;
    highs_.clear();
    pending_.clear();
    best_.clear();
  }
  Index evaluated() const { return evaluated_; }
  Index pending() const { return static_cast<Index>(pending_.size()); }
  double limit() const { return limit_; }

  void offer(std::int32_t target, double low, double high, const Distance& distance) {
    if (low > limit_) return;
    pending_.push_back({low, target});
    push_smallest(highs_, high);
    if (highs_.size() == k_) limit_ = std::min(limit_, highs_.front());
    if (pending_.size() < capacity_) return;
    std::erase_if(pending_, [&](const Candidate& c) { return c.low > limit_; });
    if (pending_.size() > capacity_ / 2) evaluate(distance);
  }

  /// the k nearest, in order
  const std::vector<Ranked>& finish(const Distance& distance) {
    evaluate(distance);
    std::sort_heap(best_.begin(), best_.end());
    return best_;
  }

 private:
  template <class V>
  void push_smallest(std::vector<V>& heap, const V& value) const {
    if (heap.size() == k_) {
      if (!(value < heap.front())) return;
      std::pop_heap(heap.begin(), heap.end());
      heap.back() = value;
    } else {
      heap.push_back(value);
    }
    std::push_heap(heap.begin(), heap.end());
  }

  void evaluate(const Distance& distance) {
    std::sort(pending_.begin(), pending_.end(), [](const Candidate& a, const Candidate& b) { return a.low < b.low; });
    for (const Candidate& c : pending_) {
      if (c.low > limit_) break;
      const double d = distance(c.target);
      ++evaluated_;
      if (d == kInfinity) continue;
      push_smallest(best_, Ranked{d, c.target});
      if (best_.size() == k_) limit_ = std::min(limit_, best_.front().distance);
    }
    pending_.clear();
  }

  std::size_t k_ = 0, capacity_ = 0;
  Index evaluated_ = 0;  // exact distances so far
  double limit_ = kInfinity;
  std::vector<double> highs_;       // max-heap of the k smallest upper bounds
  std::vector<Candidate> pending_;  // not yet evaluated
  std::vector<Ranked> best_;        // max-heap of the k nearest evaluated
};

/// Neighbours among distinct samples: for each query the k nearest others, fewer where fewer are comparable. R is the
/// arithmetic of the products that rule targets out; those it cannot are measured exactly, so it changes no answer.
template <class T, class R>
class Search {
 public:
  Search(MatrixView<const T> X, const Observed& observed, const EqualSamples& equal, Index k, const Control& control)
      : X_(X),
        equal_(equal),
        scale_(observed.scale() / 2),
        rough_(X, observed, equal.representative, control),
        k_(std::min(k, equal.groups() - 1)) {}

  double scale() const { return scale_; }

  /// Calls found(query, ranked, list) for each distinct sample of the blocks marked in `todo`; `list` is memory it may
  /// use. A block in which products in R rule out too little is given up and stays marked, unless `patient`.
  template <class Found>
  void run(std::vector<char>& todo, bool patient, const Control& control, const Found& found) {
    const Index u = rough_.samples();
    std::vector<Scratch> scratch(to_size(thread_count(control)));
    const auto blocks = static_cast<Index>(todo.size());
    std::atomic<Index> done{0};
    parallel_blocks(blocks, control, [&](Index block, int worker) {
      if (todo[to_size(block)] == 0) return;
      const Index first = block * kQueries, queries = block_length(u, block, kQueries);
      Scratch& mine = scratch[to_size(worker)];
      mine.prepare(rough_.complete());
      for (Index q = 0; q < queries; ++q) mine.query[to_size(q)].begin(k_, 1024 + 4 * k_);
      for (Index target = 0; target < u && k_ > 0; target += kTargets) {
        if (control.stop()) return;
        const Index targets = std::min(kTargets, u - target);
        rough_.products(target, targets, first, queries, {mine.s.data(), targets, queries},
                        {mine.c.data(), targets, queries});
        Index evaluated = 0;
        for (Index q = 0; q < queries; ++q) {
          scan(first + q, target, targets, mine.s.data() + q * targets,
               rough_.complete() ? nullptr : mine.c.data() + q * targets, mine.query[to_size(q)]);
          evaluated += mine.query[to_size(q)].evaluated() + mine.query[to_size(q)].pending();
        }
        if (!patient && evaluated > queries * (kPatience + 8 * k_ + (target + targets) / 16)) return;
      }
      for (Index q = 0; q < queries; ++q)
        found(first + q, mine.query[to_size(q)].finish(Exact{this, first + q}), mine.list);
      todo[to_size(block)] = 0;
      const double share = static_cast<double>(++done) / static_cast<double>(blocks);
      if (worker == 0 && control.neighbours_done != nullptr) (*control.neighbours_done)(share);
    });
  }

 private:
  struct Exact {
    const Search* search;
    Index query;
    double operator()(std::int32_t target) const {
      const auto& columns = search->equal_.representative;
      return squared_distance(search->X_.col(columns[to_size(query)]), search->X_.col(columns[to_size(target)]),
                              search->X_.rows, search->scale_, search->rough_.complete());
    }
  };

  struct Scratch {
    Matrix<R> s, c;
    std::vector<Query<Exact>> query;
    std::vector<Ranked> list;
    void prepare(bool complete) {
      if (!query.empty()) return;
      s = Matrix<R>(kTargets, kQueries);
      if (!complete) c = Matrix<R>(kTargets, kQueries);
      query.resize(kQueries);
    }
  };

  /// A target is a candidate unless f (s + low_i + low_j) > limit. In the arithmetic of the products that reads
  ///   s_t + low_t - w c_t <= bound;   complete: w = 0, bound = limit - low_i;   missing: w = limit / m, bound = -low_i
  /// with w and bound rounded upwards.
  void scan(Index i, Index target, Index targets, const R* s, const R* c, Query<Exact>& query) const {
    const R* low = rough_.rounded_low() + target;
    const Exact exact{this, i};
    R w = 0, bound = 0;
    double limit = -1;
    for (Index t = 0; t < targets; t += kChunk) {
      if (query.limit() != limit) set_bound(limit = query.limit(), i, c != nullptr, w, bound);
      const Index end = std::min(t + kChunk, targets);
      if (end - t == kChunk && !any_below(s + t, low + t, c == nullptr ? nullptr : c + t, w, bound)) continue;
      for (Index p = t; p < end; ++p) {
        if (target + p == i) continue;
        const double common = c == nullptr ? 1 : static_cast<double>(c[p]);
        if (common < 0.5) continue;
        const double factor = c == nullptr ? 1 : static_cast<double>(rough_.features()) / common;
        const double sum = static_cast<double>(s[p]);
        const double slack = factor * rough_.underflow();
        query.offer(static_cast<std::int32_t>(target + p),
                    factor * (sum + rough_.low(target + p) + rough_.low(i)) - slack,
                    factor * (sum + rough_.high(target + p) + rough_.high(i)) + slack, exact);
      }
    }
  }

  void set_bound(double limit, Index i, bool holes, R& w, R& bound) const {
    constexpr double up = 1 + 8 * static_cast<double>(std::numeric_limits<R>::epsilon());
    const double raw = (holes ? 0 : limit) - rough_.low(i) + rough_.underflow();
    w = holes && limit < kInfinity ? static_cast<R>(up * limit / static_cast<double>(rough_.features())) : R(0);
    bound = limit < kInfinity ? static_cast<R>(raw > 0 ? raw * up : raw / up) : std::numeric_limits<R>::infinity();
  }

  static bool any_below(const R* s, const R* low, const R* c, R w, R bound) {
    int below = 0;
    if (c == nullptr)
      for (Index t = 0; t < kChunk; ++t) below |= s[t] + low[t] <= bound;
    else
      for (Index t = 0; t < kChunk; ++t) below |= s[t] + low[t] - w * c[t] <= bound;
    return below != 0;
  }

  MatrixView<const T> X_;
  const EqualSamples& equal_;
  double scale_;
  RoughDistances<R> rough_;
  Index k_;
};

/// From distinct samples to all: a target stands for all samples equal to it, and the query's equals come at distance
/// 0.
void expand(const EqualSamples& equal, Index group, const std::vector<Ranked>& ranked, double unscale,
            std::vector<Ranked>& list, Neighbours& out) {
  list.clear();
  const auto add = [&](Index g, double distance) {
    const Index end = std::min(equal.start[to_size(g + 1)], equal.start[to_size(g)] + out.k + 1);
    for (Index p = equal.start[to_size(g)]; p < end; ++p) list.push_back({distance, equal.member[to_size(p)]});
  };
  add(group, 0);
  for (const Ranked& r : ranked) {
    if (static_cast<Index>(list.size()) > out.k && r.distance > list.back().distance) break;
    add(r.target, r.distance);
  }
  std::sort(list.begin(), list.end());
  for (Index p = equal.start[to_size(group)]; p < equal.start[to_size(group + 1)]; ++p) {
    const std::int32_t self = equal.member[to_size(p)];
    Index filled = 0;
    for (const Ranked& r : list) {
      if (filled == out.k) break;
      if (r.target == self) continue;
      out.index[to_size(self * out.k + filled)] = r.target;
      out.squared_distance[to_size(self * out.k + filled)] = r.distance * unscale * unscale;
      ++filled;
    }
  }
}

}  // namespace

template <class T>
Neighbours nearest(MatrixView<const T> X, Index k, const Control& control) {
  const Index n = X.cols;
  if (X.empty())
    throw Error("X: " + std::to_string(n) + " samples of " + std::to_string(X.rows) + " features, must not be empty");
  if (n > std::numeric_limits<std::int32_t>::max())
    throw Error("X: " + std::to_string(n) + " samples, must be below 2^31");
  if (k < 1 || k >= n)
    throw Error("k = " + std::to_string(k) + ": must be at least 1 and less than the number of samples, " +
                std::to_string(n));
  const std::size_t size = checked_size(k, n);
  Neighbours out{k, n, std::vector<std::int32_t>(size, -1), std::vector<double>(size, kInfinity), false};
  const Observed observed = observe(X, control);
  const EqualSamples equal = group_equal(X, observed, control);
  out.rescaled = std::any_of(observed.count.begin(), observed.count.end(), [&](auto c) { return c > 0 && c < X.rows; });
  if (equal.groups() == 0 || control.stop()) return out;
  std::vector<char> todo(to_size(block_count(equal.groups(), kQueries)), char{1});
  const auto search = [&](auto rough, bool patient) {  // in the arithmetic of `rough`
    Search<T, decltype(rough)> all(X, observed, equal, k, control);
    all.run(todo, patient, control, [&](Index group, const std::vector<Ranked>& ranked, std::vector<Ranked>& list) {
      expand(equal, group, ranked, 1 / all.scale(), list, out);
    });
  };
  // Products in float cost half of those in double and mostly rule out as much: what they cannot decide comes after.
  search(float{}, std::is_same_v<T, float>);
  if constexpr (std::is_same_v<T, double>)
    if (!control.stop() && std::any_of(todo.begin(), todo.end(), [](char open) { return open != 0; }))
      search(double{}, true);
  return out;
}

template Neighbours nearest<float>(MatrixView<const float>, Index, const Control&);
template Neighbours nearest<double>(MatrixView<const double>, Index, const Control&);

}  // namespace pacewise

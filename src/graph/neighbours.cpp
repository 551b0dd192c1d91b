#include "graph/neighbours.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "algebra/eigen.hpp"
#include "algebra/simd.hpp"
#include "graph/observed.hpp"

namespace pacewise {
namespace {

// one panel of products, 512 KiB of float, in the second-level cache; any size gives the same neighbours
constexpr Index kQueries = 256, kTargets = 512;
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

/// below = s + low - w c <= bound, target by target; without c where nothing is missing
template <class R>
PACEWISE_WIDE_TEMPLATE void mark(const R* s, const R* low, const R* c, R w, R bound, Index targets, char* below) {
  if (c == nullptr)
    for (Index t = 0; t < targets; ++t) below[t] = s[t] + low[t] <= bound;
  else
    for (Index t = 0; t < targets; ++t) below[t] = s[t] + low[t] - w * c[t] <= bound;
}

/// The k nearest of every sample of a list. Products in R select a few candidates by a bound on their rounding error;
/// those are measured exactly, by differences in double, so R changes no answer. With z the centred samples (0 where
/// missing), o their 0/1 masks, N = |z_i|^2 + |z_j|^2 and c_ij = o_i'o_j the squared distance is
///   complete:  N - 2 z_i'z_j = N + s_ij,      missing:  (m / c_ij) (z_i^2'o_j + o_i'z_j^2 - 2 z_i'z_j) = (m / c_ij)
///   s_ij.
/// A sum of p products in any order is off by at most p u / (1 - p u) times the sum of their sizes, here at most N: the
/// distance lies in f (s + low_i + low_j) .. f (s + high_i + high_j), f = 1 or m / c, where low and high of a sample
/// are its norm (complete) or 0 (missing), minus or plus error() times its norm.
template <class T, class R>
class Search {
 public:
  Search(const Samples<T>& X, const Observed& observed, const Vector<std::int32_t>& samples, Index k,
         const Control& control)
      : X_(X.values), samples_(samples), scale_(observed.scale() / 2), k_(static_cast<std::size_t>(k)) {  // |z| < 1
    const Index m = X_.rows, u = static_cast<Index>(samples.size());
    complete_ = std::all_of(samples.begin(), samples.end(), [&](auto j) { return observed.count[j] == m; });
    z_ = Matrix<R>(m, u);
    if (!complete_) mask_ = square_ = Matrix<R>(m, u);
    low_.resize(u);
    high_.resize(u);
    rounded_low_.resize(u);
    underflow_ = 8 * static_cast<double>(m + 8) * static_cast<double>(std::numeric_limits<R>::min());
    parallel_for(u, control, [&](Index first, Index count, int) {
      for (Index j = first; j < first + count; ++j) {
        const T* x = X_.col(samples[j]);
        double norm = 0;
        for (Index i = 0; i < m; ++i) {
          if (!complete_ && X.missing(i, samples[j])) continue;
          const R z = static_cast<R>(static_cast<double>(x[i]) * scale_ - observed.mean[i] * scale_);
          z_(i, j) = z;
          norm += static_cast<double>(z) * static_cast<double>(z);
          if (complete_) continue;
          mask_(i, j) = 1;
          square_(i, j) = z * z;
        }
        low_[j] = (complete_ ? norm : 0) - error() * norm;
        high_[j] = (complete_ ? norm : 0) + error() * norm;
        rounded_low_[j] = static_cast<R>(low_[j]);
      }
    });
  }

  /// Writes the neighbours of the blocks of queries marked in `open` and clears their marks. A block in which R leaves
  /// too many candidates is given up, unless `patient`.
  void run(Vector<char>& open, bool patient, const Control& control, Neighbours& out) const {
    const Index u = z_.cols(), blocks = static_cast<Index>(open.size());
    std::vector<Scratch> scratch(static_cast<std::size_t>(thread_count(control)));
    std::atomic<Index> done{std::count(open.begin(), open.end(), char{0})};
    const auto search = [&](Index first, Index queries, int worker) {
      const Index block = first / kQueries;
      if (open[block] == 0) return;
      Scratch& mine = scratch[static_cast<std::size_t>(worker)];
      mine.best.assign(kQueries, {});
      Index measured = 0, settled = 0;
      for (Index target = 0; target < u && settled < queries; target += kTargets) {
        if (control.stop()) return;
        const Index targets = std::min(kTargets, u - target);
        multiply(target, targets, first, queries, mine);
        settled = 0;
        for (Index q = 0; q < queries; ++q) {
          measured += scan(first + q, target, targets, mine, q);
          settled += settled_at_zero(mine.best[static_cast<std::size_t>(q)]) ? 1 : 0;
        }
        if (!patient && measured > queries * (32 + 8 * out.k + (target + targets) / 16)) return;
      }
      for (Index q = 0; q < queries; ++q) {
        std::vector<Ranked>& best = mine.best[static_cast<std::size_t>(q)];
        std::sort_heap(best.begin(), best.end());
        Index p = samples_[first + q] * out.k;
        for (const Ranked& r : best) {
          out.index[p] = samples_[r.target];
          out.squared_distance[p++] = r.distance / scale_ / scale_;
        }
      }
      open[block] = 0;
      ++done;
      if (worker == 0) control.report(static_cast<double>(done) / static_cast<double>(blocks));
    };
    parallel_for(u, control, search, kQueries);
  }

 private:
  struct Scratch {
    Matrix<R> s, c;                         // targets x queries
    std::vector<std::vector<Ranked>> best;  // of each query: max-heap of the k nearest measured so far
    std::vector<Candidate> candidates;
    std::vector<double> high;
  };

  /// In units of N: the products; then centring (each z is off by u |z|, the squared distance by 4 u N); the evaluation
  /// in double of the distance, at most 2 N, and of the norms; and the few operations that compare s with its bounds.
  double error() const {
    const double m = static_cast<double>(z_.rows()), u = std::numeric_limits<R>::epsilon() / 2.0, v = 0x1p-53;
    const double terms = (complete_ ? 1 : 3) * m + 3, size = complete_ ? 1 : 2;
    if (terms * u > 0.25) return 8;  // no statement: everything is a candidate
    return 1.01 * (size * terms * u / (1 - terms * u) + 4 * (m + 8) * v + 32 * u);
  }

  /// s and, where entries are missing, c
  void multiply(Index target, Index targets, Index query, Index queries, Scratch& mine) const {
    const auto product = [&](const Matrix<R>& left, const Matrix<R>& right) {
      return eigen(left.view().columns(target, targets)).transpose() * eigen(right.view().columns(query, queries));
    };
    mine.s.resize_for_overwrite(targets, queries);
    eigen(mine.s).noalias() = R(-2) * product(z_, z_);
    if (complete_) return;
    mine.c.resize_for_overwrite(targets, queries);
    eigen(mine.s).noalias() += product(square_, mask_);
    eigen(mine.s).noalias() += product(mask_, square_);
    eigen(mine.c).noalias() = product(mask_, mask_);
  }

  /// Targets come in ascending order: once all k are at distance 0 no later one can take a place.
  bool settled_at_zero(const std::vector<Ranked>& best) const {
    return best.size() == k_ && best.front().distance == 0;
  }

  /// One query against one panel of targets. Returns how many it measured.
  Index scan(Index i, Index target, Index targets, Scratch& mine, Index q) const {
    std::vector<Ranked>& best = mine.best[static_cast<std::size_t>(q)];
    if (settled_at_zero(best)) return 0;
    double limit = best.size() == k_ ? best.front().distance : kInfinity;
    select(i, target, targets, mine.s.col(q), complete_ ? nullptr : mine.c.col(q), limit, mine);
    if (mine.high.size() > k_) {  // k of this panel are no farther than the k-th smallest upper bound
      const auto kth = mine.high.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
      std::nth_element(mine.high.begin(), kth, mine.high.end());
      limit = std::min(limit, *kth);
    }
    Index measured = 0;
    for (const Candidate& candidate : mine.candidates) {
      const bool full = best.size() == k_;
      if (candidate.low > limit || (full && candidate.low >= best.front().distance)) continue;  // ties: smaller index
      const Ranked found{squared_distance(i, candidate.target), candidate.target};
      ++measured;
      if (full && !(found < best.front())) continue;
      if (full) {
        std::pop_heap(best.begin(), best.end());
        best.pop_back();
      }
      best.push_back(found);
      std::push_heap(best.begin(), best.end());
    }
    return measured;
  }

  /// The targets with f (s + low_i + low_t) <= limit. In the arithmetic of the products that reads
  ///   s_t + low_t - w c_t <= bound;   complete: w = 0, bound = limit - low_i;   missing: w = limit / m, bound = -low_i
  /// with w and bound rounded upwards.
  void select(Index i, Index target, Index targets, const R* s, const R* c, double limit, Scratch& mine) const {
    constexpr double up = 1 + 8 * static_cast<double>(std::numeric_limits<R>::epsilon());
    const double m = static_cast<double>(X_.rows), raw = (complete_ ? limit : 0) - low_[i] + underflow_;
    const R w = !complete_ && limit < kInfinity ? static_cast<R>(up * limit / m) : R(0);
    const R bound =
        limit < kInfinity ? static_cast<R>(raw > 0 ? raw * up : raw / up) : std::numeric_limits<R>::infinity();
    mine.candidates.clear();
    mine.high.clear();
    char below[kTargets + 1];
    mark(s, rounded_low_.data() + target, c, w, bound, targets, below);
    below[targets] = 1;  // where the search ends
    const auto next = [&](Index p) {
      return static_cast<const char*>(std::memchr(below + p, 1, static_cast<std::size_t>(targets + 1 - p))) - below;
    };
    for (Index p = next(0); p < targets; p = next(p + 1)) {
      const double common = complete_ ? m : static_cast<double>(c[p]), factor = m / common;
      if (target + p == i || common < 0.5) continue;
      const double sum = static_cast<double>(s[p]);
      const double lower = factor * (sum + low_[target + p] + low_[i] - underflow_);
      if (lower > limit) continue;
      mine.candidates.push_back({std::max(lower, 0.0), static_cast<std::int32_t>(target + p)});
      mine.high.push_back(factor * (sum + high_[target + p] + high_[i] + underflow_));
    }
  }

  /// By direct summation in double: eight partial sums, always added in the same order. Equal in both directions to the
  /// last bit.
  double squared_distance(Index a, Index b) const {
    const T *x = X_.col(samples_[a]), *y = X_.col(samples_[b]);
    const R *in_x = complete_ ? nullptr : mask_.col(a), *in_y = complete_ ? nullptr : mask_.col(b);
    const Index m = X_.rows;
    double sum[8] = {}, common = complete_ ? static_cast<double>(m) : 0;
    const auto add = [&](Index i, Index lane) {
      double d = static_cast<double>(x[i]) * scale_ - static_cast<double>(y[i]) * scale_;
      if (in_x != nullptr) {
        const auto both = static_cast<double>(in_x[i] * in_y[i]);
        d *= both;
        common += both;
      }
      sum[lane] += d * d;
    };
    Index i = 0;
    for (; i + 8 <= m; i += 8)
      for (Index lane = 0; lane < 8; ++lane) add(i + lane, lane);
    for (Index lane = 0; i < m; ++i, ++lane) add(i, lane);
    const double total = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
    return complete_ ? total : total * (static_cast<double>(m) / common);
  }

  MatrixView<const T> X_;
  const Vector<std::int32_t>& samples_;
  double scale_, underflow_ = 0;  // what products below the smallest normal number can add to the error
  std::size_t k_;
  bool complete_ = true;
  Matrix<R> z_, mask_, square_;  // m x u; the last two are empty when nothing is missing
  Vector<double> low_, high_;    // u
  Vector<R> rounded_low_;        // u
};

}  // namespace

template <class T>
Neighbours nearest(const Samples<T>& X, Index k, const Control& control) {
  const Index n = X.values.cols;
  if (n > std::numeric_limits<std::int32_t>::max())
    throw Error("X: " + std::to_string(n) + " samples, must be below 2^31");
  if (k < 1 || k >= n)
    throw Error("k = " + std::to_string(k) + ": must be at least 1 and less than the number of samples, " +
                std::to_string(n));
  const std::size_t size = checked_size(k, n);
  Neighbours out{k, n, Vector<std::int32_t>(size, -1), Vector<double>(size, kInfinity)};
  const Observed observed = observe(X, control);
  Vector<std::int32_t> samples;  // those with an observed entry
  for (std::int32_t j = 0; j < n; ++j)
    if (observed.count[j] > 0) samples.push_back(j);
  const auto u = static_cast<Index>(samples.size());
  if (u < 2 || control.stop()) return out;
  // Products in float cost half of those in double and mostly rule out as much; double does what they leave.
  Vector<char> open(block_count(u, kQueries), char{1});
  Search<T, float>(X, observed, samples, std::min(k, u - 1), control).run(open, false, control, out);
  if (!control.stop() && std::find(open.begin(), open.end(), char{1}) != open.end())
    Search<T, double>(X, observed, samples, std::min(k, u - 1), control).run(open, true, control, out);
  return out;
}

template Neighbours nearest<float>(const Samples<float>&, Index, const Control&);
template Neighbours nearest<double>(const Samples<double>&, Index, const Control&);

}  // namespace pacewise

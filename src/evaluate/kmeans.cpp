#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include "algebra/eigen.hpp"
#include "algebra/parallel.hpp"
#include "algebra/random.hpp"
#include "algebra/simd.hpp"
#include "pacewise/evaluate.hpp"

namespace pacewise {
namespace {

constexpr Index kSamples = 256;  // per block
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// |a - b|^2 in eight partial sums: a fixed order that the compiler can still vectorise.
PACEWISE_WIDE_VECTORS
double squared_distance(const double* a, const double* b, Index m) {
  double part[8] = {};
  Index i = 0;
  for (; i + 8 <= m; i += 8)
    for (Index l = 0; l < 8; ++l) part[l] += (a[i + l] - b[i + l]) * (a[i + l] - b[i + l]);
  for (Index l = 0; i < m; ++i, ++l) part[l] += (a[i] - b[i]) * (a[i] - b[i]);
  return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
}

PACEWISE_WIDE_VECTORS
void add_difference(const double* x, const double* origin, Index m, double* sum) {
  for (Index i = 0; i < m; ++i) sum[i] += x[i] - origin[i];
}

double squared_norm(const double* a, Index m) { return std::inner_product(a, a + m, a, 0.0); }

/// One restart of Lloyd's algorithm
class Lloyd {
 public:
  Lloyd(MatrixView<const double> x, const Vector<double>& norm2, const KMeansOptions& options, const Control& control)
      : x_(x),
        norm2_(norm2),
        options_(options),
        control_(control),
        k_(options.clusters),
        label_(static_cast<std::size_t>(x.cols), 0),
        distance_(x.cols, 0.0),
        centers_(x.rows, k_),
        means_(x.rows, k_) {}

  /// nothing where control.stop() came first
  std::optional<KMeansRun> run(Random random) {
    if (options_.init == Seeding::random)
      seed_random(random);
    else
      seed_plus_plus(random);
    double inertia = kInfinity;
    for (int iteration = 0;; ++iteration) {
      const auto previous = label_;
      if (!control_.stop()) assign();
      const bool repaired = repair_empty();
      const double now = update();
      if (control_.stop()) return {};
      const bool settled =
          iteration > 0 && !repaired && (inertia - now <= options_.tol * inertia || label_ == previous);
      inertia = now;
      if (settled || iteration == options_.max_iter)
        return KMeansRun{std::move(label_), std::move(centers_), inertia, iteration};
      std::swap(centers_, means_);
    }
  }

 private:
  void put_center(Index c, Index sample) { std::copy_n(x_.col(sample), x_.rows, centers_.col(c)); }

  void seed_random(Random& random) {
    Vector<Index> order(x_.cols);
    std::iota(order.begin(), order.end(), Index{0});
    for (Index c = 0; c < k_; ++c) {  // Fisher-Yates, the first k places
      std::swap(order[c], order[c + random.below(x_.cols - c)]);
      put_center(c, order[c]);
    }
  }

  /// k-means++: the next centre is drawn in proportion to the squared distance to the centres so far; of several draws
  /// the one that leaves the smallest sum is taken.
  void seed_plus_plus(Random& random) {
    const int draws =
        options_.candidates > 0 ? options_.candidates : 2 + static_cast<int>(std::log(static_cast<double>(k_)));
    Vector<double> nearest(x_.cols, kInfinity), trial(nearest), best(nearest);  // squared, to centres so far
    Index sample = random.below(x_.cols);
    distances_to(sample, nearest, nearest);
    for (Index c = 0;; ++c) {
      put_center(c, sample);
      if (c + 1 == k_ || control_.stop()) return;
      double least = kInfinity;
      for (int draw = 0; draw < draws; ++draw) {
        Index candidate = random.draw(nearest);
        if (candidate < 0) candidate = random.below(x_.cols);  // every sample is a centre already: duplicates
        distances_to(candidate, nearest, trial);
        const double left = std::accumulate(trial.begin(), trial.end(), 0.0);
        if (!(left < least) && draw > 0) continue;
        least = left;
        sample = candidate;
        best.swap(trial);
      }
      nearest = best;
    }
  }

  /// to_j = min(from_j, |x_j - x_sample|^2)
  void distances_to(Index sample, const Vector<double>& from, Vector<double>& to) {
    over_blocks([&](Index first, Index count) {
      for (Index j = first; j < first + count; ++j)
        to[j] = std::min(from[j], squared_distance(x_.col(j), x_.col(sample), x_.rows));
    });
  }

  template <class Body>
  void over_blocks(const Body& body) const {
    parallel_for(
        x_.cols, control_, [&](Index first, Index count, int) { body(first, count); }, kSamples);
  }

  std::int32_t& label(Index j) { return label_[static_cast<std::size_t>(j)]; }

  /// score = |c|^2 - 2 c'x = |x - c|^2 - |x|^2. A score is off by at most 2 (m + 4) eps (|x|^2 + |c|^2), so every
  /// centre within twice that of the best is measured directly: the label is that of the direct distances.
  void assign() {
    Vector<double> center_norm2(k_);
    for (Index c = 0; c < k_; ++c) center_norm2[c] = squared_norm(centers_.col(c), x_.rows);
    const double largest = *std::max_element(center_norm2.begin(), center_norm2.end());
    const double relative = 4 * static_cast<double>(x_.rows + 4) * std::numeric_limits<double>::epsilon();
    over_blocks([&](Index first, Index count) {
      Matrix<double> scores(k_, count);
      for (Index j = 0; j < count; ++j) std::copy(center_norm2.begin(), center_norm2.end(), scores.col(j));
      eigen(scores).noalias() -= 2 * eigen(centers_).transpose() * eigen(x_.columns(first, count));
      for (Index j = first; j < first + count; ++j) {
        const double* score = scores.col(j - first);
        const Index best = std::min_element(score, score + k_) - score;
        const double limit = score[best] + relative * (norm2_[j] + largest);
        label(j) = static_cast<std::int32_t>(best);
        if (std::count_if(score, score + k_, [&](double s) { return s <= limit; }) == 1) continue;
        double nearest = kInfinity;
        for (Index c = 0; c < k_; ++c) {
          if (score[c] > limit) continue;
          const double d = squared_distance(x_.col(j), centers_.col(c), x_.rows);
          if (d < nearest) label(j) = static_cast<std::int32_t>(c);
          nearest = std::min(nearest, d);
        }
      }
    });
  }

  void measure_distances() {
    over_blocks([&](Index first, Index count) {
      for (Index j = first; j < first + count; ++j)
        distance_[j] = squared_distance(x_.col(j), centers_.col(label(j)), x_.rows);
    });
  }

  /// An empty cluster takes the sample farthest from its centre, unless that would empty another or is no way off.
  bool repair_empty() {
    Vector<Index> count(k_, 0);
    for (const std::int32_t c : label_) ++count[c];
    if (std::find(count.begin(), count.end(), 0) == count.end()) return false;
    measure_distances();
    bool repaired = false;
    for (Index c = 0; c < k_; ++c) {
      if (count[c] > 0) continue;
      Index far = -1;
      for (Index j = 0; j < x_.cols; ++j)
        if (count[label(j)] > 1 && distance_[j] > (far < 0 ? 0 : distance_[far])) far = j;
      if (far < 0) break;
      --count[label(far)];
      label(far) = static_cast<std::int32_t>(c);
      count[c] = 1;
      distance_[far] = 0;
      put_center(c, far);
      repaired = true;
    }
    return repaired;
  }

  /// The inertia at the present centres, and the means of the present clusters: x_0 + sum (x - x_0) / count with x_0
  /// the first member, which is exact for duplicates. A cluster is summed in the order of the samples, so it does not
  /// matter who sums which.
  double update() {
    std::vector<Vector<Index>> members(static_cast<std::size_t>(k_));
    for (Index j = 0; j < x_.cols; ++j) members[static_cast<std::size_t>(label(j))].push_back(j);
    const auto update_mean = [&](Index c, Index, int) {
      const Vector<Index>& cluster = members[static_cast<std::size_t>(c)];
      const double* origin = cluster.empty() ? centers_.col(c) : x_.col(cluster[0]);  // an empty one stays
      double* mean = means_.col(c);
      std::fill_n(mean, x_.rows, 0.0);
      for (const Index j : cluster) {
        distance_[j] = squared_distance(x_.col(j), centers_.col(c), x_.rows);
        add_difference(x_.col(j), origin, x_.rows, mean);
      }
      const auto count = static_cast<double>(std::max<std::size_t>(cluster.size(), 1));
      for (Index i = 0; i < x_.rows; ++i) mean[i] = origin[i] + mean[i] / count;
    };
    parallel_for(k_, control_, update_mean, 1);
    return std::accumulate(distance_.begin(), distance_.end(), 0.0);
  }

  const MatrixView<const double> x_;  // m x n
  const Vector<double>& norm2_;       // n, |x_j|^2
  const KMeansOptions& options_;
  const Control control_;
  const Index k_;
  std::vector<std::int32_t> label_;  // n
  Vector<double> distance_;          // n, |x_j - c_label|^2
  Matrix<double> centers_, means_;   // m x k; the means of the present clusters are the next centres
};

template <class T>
void check(MatrixView<const T> X, const KMeansOptions& options) {
  validate(options);
  if (X.rows < 1) refuse("rows of X", "0", ">= 1");
  if (options.clusters > X.cols)
    refuse("clusters", std::to_string(options.clusters), "at most the number of samples, " + std::to_string(X.cols));
  for (Index j = 0; j < X.cols; ++j)
    for (Index i = 0; i < X.rows; ++i)
      if (!std::isfinite(X(i, j)))
        refuse("X", to_text(static_cast<double>(X(i, j))), "finite",
               "sample " + std::to_string(j) + ", feature " + std::to_string(i) + " (from 0)");
}

/// Double copy of the samples, to unit norm where asked for. The largest entry is divided out first: no overflow.
template <class T>
Matrix<double> copy_samples(MatrixView<const T> X, bool unit_norm) {
  Matrix<double> out = cast<double>(X);
  if (!unit_norm) return out;
  for (Index j = 0; j < X.cols; ++j) {
    double largest = 0, sum = 0;
    for (Index i = 0; i < X.rows; ++i) largest = std::max(largest, std::abs(out(i, j)));
    if (!(largest > 0)) continue;
    for (Index i = 0; i < X.rows; ++i) sum += (out(i, j) / largest) * (out(i, j) / largest);
    const double root = std::sqrt(sum);
    for (Index i = 0; i < X.rows; ++i) out(i, j) = out(i, j) / largest / root;
  }
  return out;
}

/// Independent streams: the seed and the run are hashed into the starting state.
Random stream(std::uint64_t seed, Index run) {
  return Random(Random(Random(seed).bits() + static_cast<std::uint64_t>(run)).bits());
}

template <class T>
std::vector<KMeansRun> cluster(MatrixView<const T> X, const KMeansOptions& options, const Control& control) {
  check(X, options);
  MatrixView<const double> x;
  Matrix<double> copy;
  if constexpr (std::is_same_v<T, double>) x = X;
  if (options.unit_norm || !std::is_same_v<T, double>) x = (copy = copy_samples(X, options.unit_norm)).view();
  Vector<double> norm2(X.cols);
  for (Index j = 0; j < X.cols; ++j) norm2[j] = squared_norm(x.col(j), X.rows);
  // inertia <= n max |x - c|^2 <= 4 n max |x|^2
  if (!std::isfinite(16 * static_cast<double>(X.cols) * *std::max_element(norm2.begin(), norm2.end())))
    throw Error("X: squared distances overflow; divide the values by their range");

  Control inner = control, outer = control;
  (options.runs >= thread_count(control) ? inner : outer).threads = 1;
  std::vector<std::optional<KMeansRun>> found(static_cast<std::size_t>(options.runs));
  const auto one = [&](Index run, Index, int) {
    found[static_cast<std::size_t>(run)] = Lloyd(x, norm2, options, inner).run(stream(options.seed, run));
  };
  parallel_for(options.runs, outer, one, 1);
  std::vector<KMeansRun> out;
  for (std::optional<KMeansRun>& run : found)
    if (run) out.push_back(std::move(*run));
  return out;
}

}  // namespace

void validate(const KMeansOptions& o) {
  require({1, 0x1p31, false, true}, "clusters", static_cast<double>(o.clusters));
  require(at_least(1), "runs", o.runs);
  require(at_least(0), "candidates", o.candidates);
  require(at_least(1), "max_iter", o.max_iter);
  require(at_least(0), "tol", o.tol);
}

std::vector<KMeansRun> kmeans(MatrixView<const float> X, const KMeansOptions& options, const Control& control) {
  return cluster(X, options, control);
}
std::vector<KMeansRun> kmeans(MatrixView<const double> X, const KMeansOptions& options, const Control& control) {
  return cluster(X, options, control);
}

}  // namespace pacewise

#include "evaluate/kmeans.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include "algebra/dense.hpp"
#include "algebra/random.hpp"
#include "algebra/simd.hpp"

namespace pacewise {
namespace {

constexpr Index kSampleBlock = 256;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

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

double squared_norm(const double* a, Index m) {
  double sum = 0;
  for (Index i = 0; i < m; ++i) sum += a[i] * a[i];
  return sum;
}

struct Samples {
  MatrixView<const double> x;  // m x n
  Vector<double> norm2;        // n, |x_j|^2
  double scale = 1;            // largest |x_j|, or 1
  Matrix<float> rough;         // x / scale
};

/// One restart: its state and its scratch memory.
class Lloyd {
 public:
  Lloyd(const Samples& samples, const KMeansOptions& options, const Control& control)
      : samples_(samples),
        x_(samples.x),
        options_(options),
        control_(control),
        k_(options.clusters),
        label_(at(x_.cols), 0),
        previous_(at(x_.cols)),
        distance_(at(x_.cols), 0),
        others_(at(x_.cols), 0),
        centers_(x_.rows, k_),
        means_(x_.rows, k_),
        rough_centers_(x_.rows, k_),
        center_norm2_(at(k_)),
        moved_(at(k_), 0),
        count_(at(k_)),
        start_(at(k_) + 1),
        next_(at(k_)),
        member_(at(x_.cols)),
        scratch_(at(std::min<Index>(thread_count(control), block_count(x_.cols, kSampleBlock)))) {}

  /// nothing where control.stop() came first
  std::optional<KMeansRun> run(Random random) {
    if (options_.init == Seeding::random)
      seed_random(random);
    else
      seed_plus_plus(random);
    if (control_.stop()) return {};
    assign(true);
    bool repaired = repair_empty();
    double inertia = measure();
    int iteration = 0;
    while (iteration < options_.max_iter) {
      if (control_.stop()) return {};
      ++iteration;
      std::swap(centers_, means_);
      previous_ = label_;
      assign(repaired);
      repaired = repair_empty();
      const double now = measure();
      if (control_.stop()) return {};
      const bool stalled = inertia - now <= options_.tol * inertia;
      inertia = now;
      if (!repaired && (stalled || label_ == previous_)) break;
    }
    return KMeansRun{std::move(label_), std::move(centers_), inertia, iteration};
  }

 private:
  void put_center(Index c, Index sample) { std::copy_n(x_.col(sample), x_.rows, centers_.col(c)); }

  void seed_random(Random& random) {
    std::vector<Index> order(at(x_.cols));
    std::iota(order.begin(), order.end(), Index{0});
    for (Index c = 0; c < k_; ++c) {  // Fisher-Yates, the first k places
      std::swap(order[at(c)], order[at(c + random.below(x_.cols - c))]);
      put_center(c, order[at(c)]);
    }
  }

  /// k-means++: the next centre is drawn in proportion to the squared distance to the centres so far; of several draws
  /// the one that leaves the smallest sum is taken.
  void seed_plus_plus(Random& random) {
    const int draws =
        options_.candidates > 0 ? options_.candidates : 2 + static_cast<int>(std::log(static_cast<double>(k_)));
    std::vector<double> nearest(at(x_.cols), std::numeric_limits<double>::infinity());  // squared, to centres so far
    std::vector<double> trial(nearest), best(nearest);
    Index sample = random.below(x_.cols);
    distances_to(sample, nearest, nearest);
    for (Index c = 0;; ++c) {
      put_center(c, sample);
      if (c + 1 == k_ || control_.stop()) return;
      double least = std::numeric_limits<double>::infinity();
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
  void distances_to(Index sample, const std::vector<double>& from, std::vector<double>& to) {
    over_samples(
        [&](Index j, int) { to[at(j)] = std::min(from[at(j)], squared_distance(x_.col(j), x_.col(sample), x_.rows)); });
  }

  template <class Body>
  void over_samples(const Body& body) {
    parallel_blocks(block_count(x_.cols, kSampleBlock), control_, [&](Index block, int worker) {
      const Index first = block * kSampleBlock, last = first + block_length(x_.cols, block, kSampleBlock);
      for (Index j = first; j < last; ++j) body(j, worker);
    });
  }

  /// A label stays where the triangle inequality says so: the own centre is no farther than |x - c| + (its move), the
  /// others no nearer than before less the largest move. `everybody`: bounds are not to be had.
  void assign(bool everybody) {
    double largest = 0;
    for (Index c = 0; c < k_; ++c) {
      center_norm2_[at(c)] = squared_norm(centers_.col(c), x_.rows);
      largest = std::max(largest, center_norm2_[at(c)]);
      for (Index i = 0; i < x_.rows; ++i) rough_centers_(i, c) = static_cast<float>(centers_(i, c) / samples_.scale);
    }
    const double far = *std::max_element(moved_.begin(), moved_.end());
    open_.clear();
    for (Index j = 0; j < x_.cols; ++j) {
      others_[at(j)] -= far;
      const double own = (std::sqrt(distance_[at(j)]) + moved_[at(label_[at(j)])]) * (1 + 1e-12);
      if (everybody || !(own < others_[at(j)] * (1 - 1e-12))) open_.push_back(j);
    }
    const auto size = static_cast<Index>(open_.size());
    parallel_blocks(block_count(size, kSampleBlock), control_, [&](Index block, int worker) {
      const Index first = block * kSampleBlock, length = block_length(size, block, kSampleBlock);
      Scratch& w = scratch_[at(worker)];
      if (w.score.empty()) {
        w.score.resize(k_, kSampleBlock);
        w.x.resize(x_.rows, kSampleBlock);
      }
      for (Index j = 0; j < length; ++j) std::copy_n(samples_.rough.col(open_[at(first + j)]), x_.rows, w.x.col(j));
      // score = -2 c'x / scale^2; with |c|^2 / scale^2 added it is (|x - c|^2 - |x|^2) / scale^2
      gemm<float>(Op::transposed, Op::plain, -2, rough_centers_, w.x.view().columns(0, length), 0,
                  w.score.view().columns(0, length));
      for (Index j = 0; j < length; ++j) assign_one(open_[at(first + j)], w.score.col(j), largest);
    });
  }

  /// The scores carry the rounding of float, so every centre within that error of the best is measured directly: the
  /// assignment is that of the direct distances.
  void assign_one(Index j, const float* score, double largest_center) {
    const double scale2 = samples_.scale * samples_.scale, norm2 = samples_.norm2[at(j)];
    // |error of x'c| <= (m + 2) eps |x||c|, twice that in the score
    const double error = 2 * static_cast<double>(x_.rows + 4) *
                         static_cast<double>(std::numeric_limits<float>::epsilon()) * (norm2 + largest_center);
    const auto value = [&](Index c) { return static_cast<double>(score[c]) * scale2 + center_norm2_[at(c)]; };
    double best = std::numeric_limits<double>::infinity(), second = best;
    Index own = 0;
    for (Index c = 0; c < k_; ++c) {
      const double v = value(c);
      if (v < best) {
        second = best;
        best = v;
        own = c;
      } else {
        second = std::min(second, v);
      }
    }
    if (second > best + 2 * error) {
      label_[at(j)] = static_cast<std::int32_t>(own);
      others_[at(j)] = std::sqrt(std::max(0.0, norm2 + second - error));
      return;
    }
    others_[at(j)] = 0;
    double nearest = std::numeric_limits<double>::infinity();
    for (Index c = 0; c < k_; ++c) {
      if (value(c) > best + 2 * error) continue;
      const double d = squared_distance(x_.col(j), centers_.col(c), x_.rows);
      if (d < nearest) {
        nearest = d;
        label_[at(j)] = static_cast<std::int32_t>(c);
      }
    }
  }

  bool repair_empty() {
    std::fill(count_.begin(), count_.end(), 0);
    for (const std::int32_t c : label_) ++count_[at(c)];
    bool repaired = false;
    for (Index c = 0; c < k_; ++c) {
      if (count_[at(c)] > 0) continue;
      if (!repaired)
        over_samples([&](Index j, int) {
          distance_[at(j)] = squared_distance(x_.col(j), centers_.col(label_[at(j)]), x_.rows);
        });
      Index far = -1;
      for (Index j = 0; j < x_.cols; ++j)
        if (count_[at(label_[at(j)])] > 1 && distance_[at(j)] > (far < 0 ? 0 : distance_[at(far)])) far = j;
      if (far < 0) break;
      --count_[at(label_[at(far)])];
      label_[at(far)] = static_cast<std::int32_t>(c);
      count_[at(c)] = 1;
      distance_[at(far)] = 0;
      put_center(c, far);
      repaired = true;
    }
    return repaired;
  }

  /// The inertia, and with the samples at hand the means for the next iteration, by cluster:
  /// mean = x_0 + sum (x - x_0) / count with x_0 the first member, which is exact for duplicates. The members are
  /// summed in order of their index, so it does not matter who sums which cluster.
  double measure() {
    start_[0] = 0;
    for (Index c = 0; c < k_; ++c) start_[at(c + 1)] = start_[at(c)] + count_[at(c)];
    std::copy_n(start_.begin(), k_, next_.begin());
    for (Index j = 0; j < x_.cols; ++j) member_[at(next_[at(label_[at(j)])]++)] = j;
    parallel_blocks(k_, control_, [&](Index c, int) {
      const double* center = centers_.col(c);
      double* mean = means_.col(c);
      const Index first = start_[at(c)], last = start_[at(c + 1)];
      if (first == last) {  // stays where it is
        std::copy_n(center, x_.rows, mean);
        moved_[at(c)] = 0;
        return;
      }
      const double* origin = x_.col(member_[at(first)]);
      std::fill_n(mean, x_.rows, 0.0);
      for (Index s = first; s < last; ++s) {
        const double* x = x_.col(member_[at(s)]);
        distance_[at(member_[at(s)])] = squared_distance(x, center, x_.rows);
        add_difference(x, origin, x_.rows, mean);
      }
      const double count = static_cast<double>(last - first);
      for (Index i = 0; i < x_.rows; ++i) mean[i] = origin[i] + mean[i] / count;
      moved_[at(c)] = std::sqrt(squared_distance(mean, center, x_.rows));
    });
    double sum = 0;
    for (const double d : distance_) sum += d;
    return sum;
  }

  struct Scratch {
    Matrix<float> x;      // m x block
    Matrix<float> score;  // k x block
  };

  const Samples& samples_;
  const MatrixView<const double> x_;
  const KMeansOptions& options_;
  const Control control_;
  const Index k_;
  std::vector<std::int32_t> label_;     // n
  std::vector<std::int32_t> previous_;  // n, label_ one iteration ago
  std::vector<double> distance_;        // n, |x_j - c_label|^2
  std::vector<double> others_;          // n, no other centre is nearer than this
  std::vector<Index> open_;             // the samples whose label may change
  Matrix<double> centers_, means_;      // m x k; the means of the present clusters are the next centres
  Matrix<float> rough_centers_;         // m x k
  std::vector<double> center_norm2_;    // k
  std::vector<double> moved_;           // k, |mean - centre|
  std::vector<Index> count_;            // k
  std::vector<Index> start_;            // k + 1, cluster c is member_[start_[c]] up to start_[c + 1]
  std::vector<Index> next_;             // k, scratch of the counting sort
  std::vector<Index> member_;           // n, samples sorted by cluster
  std::vector<Scratch> scratch_;        // per worker
};

std::string text(double value) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

template <class T>
void validate(MatrixView<const T> X, const KMeansOptions& options) {
  const auto fail = [](const char* name, const std::string& value, const std::string& rule) {
    throw Error(std::string("kmeans: ") + name + " = " + value + ": " + rule);
  };
  if (X.rows < 1) fail("rows of X", std::to_string(X.rows), "must be at least 1");
  if (options.clusters < 1) fail("clusters", std::to_string(options.clusters), "must be at least 1");
  if (options.clusters > X.cols)
    fail("clusters", std::to_string(options.clusters),
         "must not exceed the number of samples, " + std::to_string(X.cols));
  if (options.clusters > std::numeric_limits<std::int32_t>::max())
    fail("clusters", std::to_string(options.clusters), "must be below 2^31");
  if (options.runs < 1) fail("runs", std::to_string(options.runs), "must be at least 1");
  if (options.candidates < 0)
    fail("candidates", std::to_string(options.candidates), "must be at least 1, or 0 for 2 + log(clusters)");
  if (options.max_iter < 1) fail("max_iter", std::to_string(options.max_iter), "must be at least 1");
  if (!(options.tol >= 0 && std::isfinite(options.tol)))
    fail("tol", text(options.tol), "must be finite and at least 0");
  for (Index j = 0; j < X.cols; ++j)
    for (Index i = 0; i < X.rows; ++i)
      if (!std::isfinite(X(i, j)))
        fail("X", text(X(i, j)),
             "at sample " + std::to_string(j) + ", feature " + std::to_string(i) + " (from 0): must be finite");
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

}  // namespace

template <class T>
std::vector<KMeansRun> kmeans(MatrixView<const T> X, const KMeansOptions& options, const Control& control) {
  validate(X, options);
  Matrix<double> copy;
  Samples samples;
  bool direct = false;
  if constexpr (std::is_same_v<T, double>) {
    direct = !options.unit_norm;
    if (direct) samples.x = X;
  }
  if (!direct) {
    copy = copy_samples(X, options.unit_norm);
    samples.x = copy.view();
  }
  for (Index j = 0; j < X.cols; ++j) samples.norm2.push_back(squared_norm(samples.x.col(j), X.rows));
  // inertia <= n max |x - c|^2 <= 4 n max |x|^2
  const double largest = *std::max_element(samples.norm2.begin(), samples.norm2.end());
  if (!std::isfinite(16 * static_cast<double>(X.cols) * largest))
    throw Error("kmeans: X: squared distances overflow; divide the values by their range");

  if (largest > 0) samples.scale = std::sqrt(largest);
  samples.rough.resize(X.rows, X.cols);
  for (Index j = 0; j < X.cols; ++j)
    for (Index i = 0; i < X.rows; ++i) samples.rough(i, j) = static_cast<float>(samples.x(i, j) / samples.scale);

  const bool over_runs = options.runs >= thread_count(control);
  Control inner = control, outer = control;
  (over_runs ? inner : outer).threads = 1;
  std::vector<std::optional<KMeansRun>> found(static_cast<std::size_t>(options.runs));
  parallel_blocks(options.runs, outer, [&](Index run, int) {
    found[at(run)] = Lloyd(samples, options, inner).run(stream(options.seed, run));
  });
  std::vector<KMeansRun> out;
  for (std::optional<KMeansRun>& run : found)
    if (run) out.push_back(std::move(*run));
  return out;
}

std::vector<KMeansRun> kmeans(MatrixView<const float> X, const KMeansOptions& options, const Control& control) {
  return kmeans<float>(X, options, control);
}
std::vector<KMeansRun> kmeans(MatrixView<const double> X, const KMeansOptions& options, const Control& control) {
  return kmeans<double>(X, options, control);
}
template std::vector<KMeansRun> kmeans<float>(MatrixView<const float>, const KMeansOptions&, const Control&);
template std::vector<KMeansRun> kmeans<double>(MatrixView<const double>, const KMeansOptions&, const Control&);

}  // namespace pacewise

#include "graph/low_rank.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "algebra/dense.hpp"
#include "algebra/index.hpp"
#include "algebra/random.hpp"
#include "graph/part_of.hpp"

namespace pacewise {
namespace {

constexpr Index kSamples = 256;      // columns of Y in memory at once, per worker
constexpr Index kPartialSums = 16;   // sums over samples are formed in this many parts, whatever the threads
constexpr Index kOversampling = 20;  // the sketch has this many dimensions more than asked for
constexpr Index kExactSize = 256;    // up to this many samples or features the sketch spans everything
constexpr int kPasses = 10;          // subspace iterations at most
constexpr int kFillRounds = 5;       // rounds of fitting, and filling or trimming, before the last fit,
constexpr int kFillPasses = 3;       // each of so many iterations, from where the last one stopped
/// Directions of the models in rounds of trimming, as a share of D. Many would take wild entries for signal.
constexpr double kTrimShares[kFillRounds] = {0.025, 0.075, 0.15, 0.3, 0.5};
constexpr double kRitzTolerance = 1e-6;

/// Y = scale (X - mean) block by block. Once there is a model L = W p_j of it, what is missing is what the model says,
/// and of what is there only the part that can be believed is kept, l + (1 - (y - l)^2 / reach^2)^2 (y - l) within
/// reach and l beyond (Tukey): a copy of X is never made.
template <class T>
class CentredData {
 public:
  CentredData(MatrixView<const T> X, const Observed& observed) : X_(X), observed_(observed), scale_(observed.scale()) {}

  Index features() const { return X_.rows; }
  Index samples() const { return X_.cols; }
  double scale() const { return scale_; }

  MatrixView<const double> load(Index first, Index count, Vector<double>& memory) const {
    memory.resize(checked_size(X_.rows, kSamples + 1));
    const MatrixView<double> Y(memory.data(), X_.rows, count);
    double* says = memory.data() + X_.rows * kSamples;
    for (Index j = 0; j < count; ++j) {
      const T* x = X_.col(first + j);
      const bool whole = observed_.count[to_size(first + j)] == X_.rows;
      if (!whole || !reach_.empty()) say(first + j, says);
      for (Index i = 0; i < X_.rows; ++i) {
        const double y = static_cast<double>(x[i]) * scale_ - observed_.mean[to_size(i)] * scale_;
        if (!whole && std::isnan(x[i]))
          Y(i, j) = says[i];
        else
          Y(i, j) = reach_.empty() ? y : says[i] + believed(y - says[i], reach_[to_size(i)]);
      }
    }
    return Y;
  }

  /// From now on the first `rank` directions of the model stand in for what is missing.
  void stand_in(const LowRank& model, Index rank) {
    rank_ = std::min(rank, model.directions.cols());
    directions_ = model.directions;
    points_ = model.points;
  }

  /// .. and for the rest beyond reach: 8 times the feature's standard deviation from the model, as its median absolute
  /// deviation over samples drawn at even distances tells it, or that of all features where it is larger; but half of
  /// what it was at least, or what a better model explains would stay out for good.
  void trim(const Control& control) {
    const Index m = X_.rows, most = std::clamp<Index>((Index{1} << 24) / std::max<Index>(m, 1), 32, 1024);
    const Index drawn = std::min(X_.cols, most);
    Matrix<double> deviation(drawn, m);
    std::vector<Vector<double>> says(to_size(thread_count(control)), Vector<double>(to_size(m)));
    parallel_blocks(drawn, control, [&](Index at, int worker) {
      const Index j = at * X_.cols / drawn;
      double* model = says[to_size(worker)].data();
      say(j, model);
      for (Index i = 0; i < m; ++i)
        deviation(at, i) = std::abs((static_cast<double>(X_(i, j)) - observed_.mean[to_size(i)]) * scale_ - model[i]);
    });
    constexpr double to_sd = 1.4826, reach = 8;
    Vector<double> all(deviation.data(), deviation.data() + deviation.size());
    const double usual = median(all.data(), all.data() + all.size());
    reach_.resize(to_size(m), 0.0);
    for (Index i = 0; i < m; ++i) {
      double& far = reach_[to_size(i)];
      far = std::max(far / 2, reach * to_sd * std::max(usual, median(deviation.col(i), deviation.col(i) + drawn)));
    }
  }

 private:
  /// out = W p_j; the same operations for every sample, so that equal samples stay equal
  void say(Index j, double* out) const {
    std::fill_n(out, X_.rows, 0.0);
    for (Index d = 0; d < rank_; ++d) {
      const double p = points_(d, j);
      const double* w = directions_.col(d);
      for (Index i = 0; i < X_.rows; ++i) out[i] += p * w[i];
    }
  }

  static double believed(double away, double reach) {
    if (!(std::abs(away) < reach)) return 0;
    const double t = away / reach, kept = 1 - t * t;
    return kept * kept * away;
  }

  /// of what is not NaN; reorders
  static double median(double* first, double* last) {
    last = std::remove_if(first, last, [](double x) { return std::isnan(x); });
    if (first == last) return 0;
    std::nth_element(first, first + (last - first) / 2, last);
    return first[(last - first) / 2];
  }

  MatrixView<const T> X_;
  const Observed& observed_;
  double scale_;
  Index rank_ = 0;
  Matrix<double> directions_, points_;
  std::vector<double> reach_;  // of each feature; empty: everything is believed
};

/// sum over blocks of samples of term(first, Y_block, out, worker), out m x l, in a fixed order
template <class T, class Term>
Matrix<double> sum_over_samples(const CentredData<T>& data, Index l, const Control& control, const Term& term) {
  const Index blocks = block_count(data.samples(), kSamples), parts = std::min(kPartialSums, blocks);
  std::vector<Matrix<double>> partial(to_size(parts));
  std::vector<Vector<double>> memory(to_size(thread_count(control)));
  std::atomic<Index> done{0};
  parallel_blocks(parts, control, [&](Index part, int worker) {
    partial[to_size(part)] = Matrix<double>(data.features(), l);
    for (Index block = part * blocks / parts; block < (part + 1) * blocks / parts; ++block) {
      if (control.stop()) return;
      const Index first = block * kSamples, count = block_length(data.samples(), block, kSamples);
      term(first, data.load(first, count, memory[to_size(worker)]), partial[to_size(part)].view(), worker);
      const double share = static_cast<double>(++done) / static_cast<double>(blocks);
      if (worker == 0 && control.neighbours_done != nullptr) (*control.neighbours_done)(share);
    }
  });
  Matrix<double> sum(data.features(), l);
  for (const Matrix<double>& part : partial)
    for (Index p = 0; p < part.size(); ++p) sum.data()[p] += part.data()[p];
  return sum;
}

/// Y Omega, Omega n x l Gaussian: every block of samples has its own stream of random numbers
template <class T>
Matrix<double> sketch(const CentredData<T>& data, Index l, std::uint64_t seed, const Control& control) {
  Random root(seed);
  std::vector<std::uint64_t> stream(to_size(block_count(data.samples(), kSamples)));
  for (auto& s : stream) s = root.bits();
  std::vector<Matrix<double>> omega(to_size(thread_count(control)));
  return sum_over_samples(data, l, control,
                          [&](Index first, MatrixView<const double> Y, MatrixView<double> out, int w) {
                            omega[to_size(w)].resize(Y.cols, l);
                            Random random(stream[to_size(first / kSamples)]);
                            for (Index p = 0; p < omega[to_size(w)].size(); ++p)
                              omega[to_size(w)].data()[p] = random.normal();
                            gemm<double>(Op::plain, Op::plain, 1, Y, omega[to_size(w)], 1, out);
                          });
}

/// Y Y' Q
template <class T>
Matrix<double> apply_gram(const CentredData<T>& data, const Matrix<double>& Q, const Control& control) {
  std::vector<Matrix<double>> codes(to_size(thread_count(control)));
  return sum_over_samples(data, Q.cols(), control,
                          [&](Index, MatrixView<const double> Y, MatrixView<double> out, int w) {
                            codes[to_size(w)].resize(Q.cols(), Y.cols);
                            gemm<double>(Op::transposed, Op::plain, 1, Q, Y, 0, codes[to_size(w)].view());  // C = Q'Y
                            gemm<double>(Op::plain, Op::transposed, 1, Y, codes[to_size(w)], 1, out);  // out += Y C'
                          });
}

void fix_signs(Matrix<double>& directions) {
  for (Index d = 0; d < directions.cols(); ++d) {
    double* w = directions.col(d);
    const double* largest =
        std::max_element(w, w + directions.rows(), [](double a, double b) { return std::abs(a) < std::abs(b); });
    if (*largest < 0)
      for (Index i = 0; i < directions.rows(); ++i) w[i] = -w[i];
  }
}

/// max_d |Y Y'w_d - theta_d w_d| / theta_d,  Y Y'w = raw e
double worst_residual(const Matrix<double>& raw, const Matrix<double>& leading, const Matrix<double>& W,
                      const std::vector<double>& theta) {
  Matrix<double> gap(W.rows(), W.cols());
  gemm<double>(Op::plain, Op::plain, 1, raw, leading, 0, gap.view());
  double worst = 0;
  for (Index d = 0; d < W.cols(); ++d) {
    double sum = 0;
    for (Index i = 0; i < W.rows(); ++i) {
      const double g = gap(i, d) - theta[to_size(d)] * W(i, d);
      sum += g * g;
    }
    worst = std::max(worst, std::sqrt(sum) / theta[to_size(d)]);
  }
  return worst;
}

/// Subspace iteration with Rayleigh-Ritz: Q -> orth(Y Y'Q) until every wanted pair (theta = s^2, w) has
/// |Y Y'w - theta w| <= tolerance theta. Gives all but the points; Q stays for a warm start.
template <class T>
LowRank leading_directions(const CentredData<T>& data, Index dimensions, double smallest, int passes, Matrix<double>& Q,
                           const Control& control) {
  const Index m = data.features(), l = Q.cols();
  const bool everything = l == m || l == data.samples();
  for (int pass = 1;; ++pass) {
    const PartOf step(control, (pass - 1.0) / passes, static_cast<double>(pass) / passes);
    Matrix<double> raw = apply_gram(data, Q, step.control());
    Matrix<double> E(l, l);  // eigenvectors of Q'Y Y'Q
    gemm<double>(Op::transposed, Op::plain, 1, Q, raw, 0, E.view());
    for (Index j = 0; j < l; ++j)
      for (Index i = 0; i < j; ++i) E(i, j) = E(j, i) = 0.5 * (E(i, j) + E(j, i));
    std::vector<double> theta = symmetric_eigen(E);  // ascending: the wanted ones are the last
    std::reverse(theta.begin(), theta.end());
    // Y Y' is known to rounding relative to theta_0: below that a direction is noise
    const double cut = std::max(smallest * smallest, 1e-13 * theta.front());
    const Index kept = std::count_if(theta.begin(), theta.begin() + dimensions, [&](double t) { return t > cut; });
    Matrix<double> leading(l, kept);
    for (Index d = 0; d < kept; ++d) std::copy_n(E.col(l - 1 - d), l, leading.col(d));
    LowRank model{Matrix<double>(m, kept), {}, std::vector<double>(to_size(kept)), 0};
    gemm<double>(Op::plain, Op::plain, 1, Q, leading, 0, model.directions.view());
    if (!everything && pass < passes && !control.stop() &&
        worst_residual(raw, leading, model.directions, theta) > kRitzTolerance) {
      orthonormalise(raw);
      Q = std::move(raw);
      continue;
    }
    fix_signs(model.directions);
    for (Index d = 0; d < kept; ++d) model.values[to_size(d)] = std::sqrt(theta[to_size(d)]);
    return model;
  }
}

Matrix<double> transposed(const Matrix<double>& a) {
  Matrix<double> out(a.cols(), a.rows());
  for (Index j = 0; j < a.cols(); ++j)
    for (Index i = 0; i < a.rows(); ++i) out(j, i) = a(i, j);
  return out;
}

/// points = W'Y and |Y|^2. Not by gemm: its rounding depends on where a column stands, and equal samples shall have
/// equal points.
template <class T>
void add_coordinates(const CentredData<T>& data, LowRank& model, const Control& control) {
  const Matrix<double> rows = transposed(model.directions);
  const Index D = rows.rows(), m = data.features();
  model.points.resize(D, data.samples());
  model.points.fill(0);
  std::vector<double> energy(to_size(data.samples()), 0.0);
  std::vector<Vector<double>> memory(to_size(thread_count(control)));
  parallel_blocks(block_count(data.samples(), kSamples), control, [&](Index block, int worker) {
    const Index first = block * kSamples;
    const MatrixView<const double> Y =
        data.load(first, block_length(data.samples(), block, kSamples), memory[to_size(worker)]);
    for (Index j = 0; j < Y.cols; ++j) {
      double* p = model.points.col(first + j);
      for (Index i = 0; i < m; ++i) {
        const double y = Y(i, j);
        energy[to_size(first + j)] += y * y;
        const double* w = rows.col(i);
        for (Index d = 0; d < D; ++d) p[d] += w[d] * y;
      }
    }
  });
  model.energy = std::accumulate(energy.begin(), energy.end(), 0.0);
}

}  // namespace

template <class T>
LowRank low_rank(MatrixView<const T> X, const Observed& observed, Index dimensions, bool trimmed, std::uint64_t seed,
                 const Control& control) {
  const SerialBlas serial;
  const Index m = X.rows, n = X.cols, smaller = std::min(m, n), D = std::min({dimensions, m, n - 1});
  CentredData<T> data(X, observed);
  if (D < 1) return {Matrix<double>(m, 0), Matrix<double>(0, n), {}, 0};
  const Index l = smaller <= kExactSize ? smaller : std::min(smaller, D + kOversampling);
  const int rounds = trimmed || observed.missing > 0 ? kFillRounds : 0;
  const double most_passes = 1 + rounds * kFillPasses + kPasses;  // the sketch is one
  Matrix<double> Q(m, l);
  if (l == m) {
    for (Index i = 0; i < m; ++i) Q(i, i) = 1;
  } else {
    Q = sketch(data, l, seed, PartOf(control, 0, 1 / most_passes).control());
    orthonormalise(Q);
  }
  // singular values that the rounding of the entries themselves could make
  const double smallest = static_cast<double>(std::numeric_limits<T>::epsilon()) * observed.largest * data.scale() *
                          std::sqrt(static_cast<double>(m) * static_cast<double>(n));
  for (int left = rounds;; --left) {
    const int before = 1 + (rounds - left) * kFillPasses, passes = left > 0 ? kFillPasses : kPasses;
    const PartOf round(control, before / most_passes, (before + passes) / most_passes);
    LowRank model = leading_directions(data, D, smallest, passes, Q, round.control());
    add_coordinates(data, model, control);
    if (left == 0 || control.stop()) return model;
    const double share = trimmed ? kTrimShares[rounds - left] : 1;
    data.stand_in(model, static_cast<Index>(std::ceil(share * static_cast<double>(D))));
    if (trimmed) data.trim(control);
  }
}

template LowRank low_rank<float>(MatrixView<const float>, const Observed&, Index, bool, std::uint64_t, const Control&);
template LowRank low_rank<double>(MatrixView<const double>, const Observed&, Index, bool, std::uint64_t,
                                  const Control&);

}  // namespace pacewise

#include "graph/low_rank.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algebra/dense.hpp"
#include "algebra/eigen.hpp"
#include "algebra/random.hpp"
#include "algebra/simd.hpp"

namespace pacewise {
namespace {

constexpr Index kSamples = 256;      // columns of Y in memory at once, per worker
constexpr Index kPartialSums = 16;   // sums over samples are formed in this many parts, whatever the threads
constexpr Index kOversampling = 20;  // the sketch has this many dimensions more than asked for
constexpr Index kExactSize = 256;    // up to this many samples or features the sketch spans everything
constexpr int kPasses = 10;          // subspace iterations at most
constexpr int kFillRounds = 5;       // rounds of fitting, and filling or trimming, before the last fit,
constexpr int kFillPasses = 3;       // each of so many iterations, from where the last one stopped
/// Directions of the models in rounds of trimming, as a share of D. Many would take gross outliers for signal.
constexpr double kTrimShares[kFillRounds] = {0.025, 0.075, 0.15, 0.3, 0.5};
constexpr double kRitzTolerance = 1e-6;

/// of what is not NaN; reorders
double median(double* first, double* last) {
  last = std::remove_if(first, last, [](double x) { return std::isnan(x); });
  if (first == last) return 0;
  std::nth_element(first, first + (last - first) / 2, last);
  return first[(last - first) / 2];
}

/// y <- prediction + psi(y - prediction), Tukey's psi(r) = (1 - (r / cutoff)^2)^2 r within the cutoff, 0 beyond
PACEWISE_WIDE_VECTORS void trim(const double* prediction, const double* cutoff, Index m, double* y) {
  for (Index i = 0; i < m; ++i) {
    const double r = y[i] - prediction[i], kept = 1 - (r / cutoff[i]) * (r / cutoff[i]);
    y[i] = prediction[i] + (kept > 0 ? kept * kept * r : 0);
  }
}

/// y = W p, W m x D
PACEWISE_WIDE_VECTORS void combine(const double* W, const double* p, Index m, Index D, double* y) {
  std::fill_n(y, m, 0.0);
  for (Index d = 0; d < D; ++d)
    for (Index i = 0; i < m; ++i) y[i] += p[d] * W[d * m + i];
}

/// p = Wt y, Wt D x m
PACEWISE_WIDE_VECTORS void project(const double* Wt, const double* y, Index m, Index D, double* p) {
  std::fill_n(p, D, 0.0);
  for (Index i = 0; i < m; ++i)
    for (Index d = 0; d < D; ++d) p[d] += y[i] * Wt[i * D + d];
}

/// Y = scale (X - mean) block by block; a copy of X is never made. Once there is a model, y_j ~ W p_j, a missing entry
/// is the prediction, and an observed one the prediction plus psi of its residual.
template <class T>
class CentredData {
 public:
  CentredData(const Samples<T>& X, const Observed& observed)
      : X_(X), observed_(observed), scale_(observed.scale()), centre_(observed.mean) {
    for (double& value : centre_) value *= scale_;
  }

  Index features() const { return X_.values.rows; }
  Index samples() const { return X_.values.cols; }
  double scale() const { return scale_; }

  MatrixView<const double> load(Index first, Index count, Vector<double>& memory) const {
    const Index m = features();
    memory.resize(checked_size(m, kSamples + 1));
    const MatrixView<double> Y(memory.data(), m, count);
    double* prediction = memory.data() + m * kSamples;
    for (Index j = 0; j < count; ++j) {
      const T* x = X_.values.col(first + j);
      const bool complete = observed_.count[first + j] == m;
      if (!complete || !cutoff_.empty()) predict(first + j, prediction);
      double* y = Y.col(j);
      for (Index i = 0; i < m; ++i) y[i] = static_cast<double>(x[i]) * scale_ - centre_[i];
      if (!cutoff_.empty()) trim(prediction, cutoff_.data(), m, y);
      for (Index i = 0; i < m && !complete; ++i)
        if (X_.missing(i, first + j)) y[i] = prediction[i];
    }
    return Y;
  }

  /// From now on the first `rank` directions of the model predict.
  void set_model(const LowRank& model, Index rank) {
    rank_ = std::min(rank, model.directions.cols());
    directions_ = model.directions;
    points_ = model.points;
  }

  /// Cutoffs: 8 times the feature's standard deviation from the model, by its median absolute deviation over samples
  /// drawn at even distances, or that of all features where it is larger; but half of what it was at least, or what a
  /// better model explains would stay out for good.
  void set_cutoffs(const Control& control) {
    constexpr double to_sd = 1.4826, cutoff = 8;
    const Index m = features(), most = std::clamp<Index>((Index{1} << 24) / std::max<Index>(m, 1), 32, 1024);
    const Index drawn = std::min(samples(), most);
    Matrix<double> deviation(drawn, m);
    std::vector<Vector<double>> memory(static_cast<std::size_t>(thread_count(control)), Vector<double>(m));
    const auto deviate = [&](Index row, Index, int worker) {
      const Index j = row * samples() / drawn;
      double* prediction = memory[static_cast<std::size_t>(worker)].data();
      predict(j, prediction);
      for (Index i = 0; i < m; ++i)
        deviation(row, i) =
            X_.missing(i, j)
                ? std::numeric_limits<double>::quiet_NaN()
                : std::abs((static_cast<double>(X_.values(i, j)) - observed_.mean[i]) * scale_ - prediction[i]);
    };
    parallel_for(drawn, control, deviate, 1);
    Vector<double> all = deviation.numbers();
    const double usual = median(all.data(), all.data() + all.size());
    cutoff_.resize(m, 0.0);
    for (Index i = 0; i < m; ++i)
      cutoff_[i] = std::max(cutoff_[i] / 2,
                            cutoff * to_sd * std::max(usual, median(deviation.col(i), deviation.col(i) + drawn)));
  }

 private:
  /// out = W p_j; the same operations for every sample, so that equal samples stay equal
  void predict(Index j, double* out) const { combine(directions_.data(), points_.col(j), features(), rank_, out); }

  const Samples<T>& X_;
  const Observed& observed_;
  double scale_;
  Vector<double> centre_;  // scale * mean
  Index rank_ = 0;
  Matrix<double> directions_, points_;
  Vector<double> cutoff_;  // of each feature; empty: observed entries are taken as they are
};

/// sum over blocks of samples of term(first, Y_block, out, worker), out m x l, in a fixed order
template <class T, class Term>
Matrix<double> sum_over_samples(const CentredData<T>& data, Index l, const Control& control, const Term& term) {
  const auto n = static_cast<double>(data.samples());
  Vector<Vector<double>> memory(thread_count(control));
  std::atomic<Index> done{0};
  const EigenMatrix<double> all = parallel_sum(
      data.samples(), control, EigenMatrix<double>(EigenMatrix<double>::Zero(data.features(), l)),
      [&](Index first, Index count, int worker, EigenMatrix<double>& sum) {
        term(first, data.load(first, count, memory[worker]), MatrixView<double>(sum.data(), data.features(), l),
             worker);
        done += count;
        if (worker == 0) control.report(static_cast<double>(done) / n);
      },
      kSamples, kPartialSums);
  Matrix<double> out(data.features(), l);
  eigen(out) = all;
  return out;
}

/// Y Omega, Omega n x l Gaussian: every block of samples has its own stream of random numbers
template <class T>
Matrix<double> sketch(const CentredData<T>& data, Index l, std::uint64_t seed, const Control& control) {
  Random root(seed);
  Vector<std::uint64_t> stream(block_count(data.samples(), kSamples));
  for (auto& s : stream) s = root.bits();
  Vector<Matrix<double>> omega(thread_count(control));
  return sum_over_samples(data, l, control,
                          [&](Index first, MatrixView<const double> Y, MatrixView<double> out, int w) {
                            omega[w].resize(Y.cols, l);
                            Random random(stream[first / kSamples]);
                            for (Index p = 0; p < omega[w].size(); ++p) omega[w].data()[p] = random.normal();
                            gemm<double>(Op::plain, Op::plain, 1, Y, omega[w], 1, out);
                          });
}

/// Y Y' Q
template <class T>
Matrix<double> apply_gram(const CentredData<T>& data, const Matrix<double>& Q, const Control& control) {
  Vector<Matrix<double>> codes(thread_count(control));
  return sum_over_samples(data, Q.cols(), control,
                          [&](Index, MatrixView<const double> Y, MatrixView<double> out, int w) {
                            codes[w].resize(Q.cols(), Y.cols);
                            gemm<double>(Op::transposed, Op::plain, 1, Q, Y, 0, codes[w].view());  // C = Q'Y
                            gemm<double>(Op::plain, Op::transposed, 1, Y, codes[w], 1, out);       // out += Y C'
                          });
}

void fix_signs(Matrix<double>& directions) {
  for (Index d = 0; d < directions.cols(); ++d) {
    auto w = eigen(directions).col(d);
    if (std::abs(w.minCoeff()) > w.maxCoeff()) w = -w;
  }
}

/// max_d |Y Y'w_d - theta_d w_d| / theta_d,  Y Y'w = raw e
double worst_residual(const Matrix<double>& raw, const Matrix<double>& leading, const Matrix<double>& W,
                      const Vector<double>& theta) {
  Matrix<double> gap(W.rows(), W.cols());
  gemm<double>(Op::plain, Op::plain, 1, raw, leading, 0, gap.view());
  double worst = 0;
  for (Index d = 0; d < W.cols(); ++d)
    worst = std::max(worst, (eigen(gap).col(d) - theta[d] * eigen(W).col(d)).norm() / theta[d]);
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
    Matrix<double> raw = apply_gram(data, Q, control.part((pass - 1.0) / passes, static_cast<double>(pass) / passes));
    Matrix<double> E(l, l);  // eigenvectors of Q'Y Y'Q
    gemm<double>(Op::transposed, Op::plain, 1, Q, raw, 0, E.view());
    eigen(E) = (0.5 * (eigen(E) + eigen(E).transpose())).eval();
    const auto ascending = symmetric_eigen(E);  // the wanted ones are the last
    const Vector<double> theta(ascending.rbegin(), ascending.rend());
    // Y Y' is known to rounding relative to theta_0: below that a direction is noise
    const double cut = std::max(smallest * smallest, 1e-13 * theta.front());
    const Index kept = std::count_if(theta.begin(), theta.begin() + dimensions, [&](double t) { return t > cut; });
    Matrix<double> leading(l, kept);
    for (Index d = 0; d < kept; ++d) std::copy_n(E.col(l - 1 - d), l, leading.col(d));
    LowRank model{Matrix<double>(m, kept), {}, Vector<double>(kept), 0};
    gemm<double>(Op::plain, Op::plain, 1, Q, leading, 0, model.directions.view());
    if (!everything && pass < passes && !control.stop() &&
        worst_residual(raw, leading, model.directions, theta) > kRitzTolerance) {
      orthonormalise(raw);
      Q = std::move(raw);
      continue;
    }
    fix_signs(model.directions);
    for (Index d = 0; d < kept; ++d) model.values[d] = std::sqrt(theta[d]);
    return model;
  }
}

/// points = W'Y and |Y|^2. Not by gemm: its rounding depends on where a column stands, and equal samples shall have
/// equal points.
template <class T>
void add_coordinates(const CentredData<T>& data, LowRank& model, const Control& control) {
  const Index D = model.directions.cols(), m = data.features();
  Matrix<double> rows(D, m);
  eigen(rows) = eigen(model.directions).transpose();
  model.points.resize(D, data.samples());
  model.points.fill(0);
  Vector<double> energy(data.samples(), 0.0);
  Vector<Vector<double>> memory(thread_count(control));
  const auto locate = [&](Index first, Index count, int worker) {
    const MatrixView<const double> Y = data.load(first, count, memory[worker]);
    for (Index j = 0; j < Y.cols; ++j) {
      project(rows.data(), Y.col(j), m, D, model.points.col(first + j));
      energy[first + j] = eigen(Y).col(j).squaredNorm();
    }
  };
  parallel_for(data.samples(), control, locate, kSamples);
  model.energy = std::accumulate(energy.begin(), energy.end(), 0.0);
}

}  // namespace

template <class T>
LowRank low_rank(const Samples<T>& X, const Observed& observed, Index dimensions, bool trimmed, std::uint64_t seed,
                 const Control& control) {
  const SerialBlas serial;
  const Index m = X.values.rows, n = X.values.cols, smaller = std::min(m, n), D = std::min({dimensions, m, n - 1});
  CentredData<T> data(X, observed);
  if (D < 1) return {Matrix<double>(m, 0), Matrix<double>(0, n), {}, 0};
  const Index l = smaller <= kExactSize ? smaller : std::min(smaller, D + kOversampling);
  const int rounds = trimmed || observed.missing > 0 ? kFillRounds : 0;
  const double most_passes = 1 + rounds * kFillPasses + kPasses;  // the sketch is one
  Matrix<double> Q(m, l);
  if (l == m) {
    eigen(Q).setIdentity();
  } else {
    Q = sketch(data, l, seed, control.part(0, 1 / most_passes));
    orthonormalise(Q);
  }
  // singular values that the rounding of the entries themselves could make
  const double smallest = static_cast<double>(std::numeric_limits<T>::epsilon()) * observed.largest * data.scale() *
                          std::sqrt(static_cast<double>(m) * static_cast<double>(n));
  for (int left = rounds;; --left) {
    const int before = 1 + (rounds - left) * kFillPasses, passes = left > 0 ? kFillPasses : kPasses;
    LowRank model = leading_directions(data, D, smallest, passes, Q,
                                       control.part(before / most_passes, (before + passes) / most_passes));
    add_coordinates(data, model, control);
    if (left == 0 || control.stop()) return model;
    const double share = trimmed ? kTrimShares[rounds - left] : 1;
    data.set_model(model, static_cast<Index>(std::ceil(share * static_cast<double>(D))));
    if (trimmed) data.set_cutoffs(control);
  }
}

template LowRank low_rank(const Samples<float>&, const Observed&, Index, bool, std::uint64_t, const Control&);
template LowRank low_rank(const Samples<double>&, const Observed&, Index, bool, std::uint64_t, const Control&);

}  // namespace pacewise

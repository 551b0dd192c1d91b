#include "graph/low_rank.hpp"

#include <Eigen/QR>
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
constexpr Index kLanes = 8;          // samples that go through the rounds side by side
constexpr Index kPartialSums = 16;   // sums over samples are formed in this many parts, whatever the threads,
constexpr Index kGramSums = 8;       // .. or this many, of m x m numbers
constexpr Index kOversampling = 20;  // subspaces have this many dimensions more than asked for
constexpr Index kExactSize = 256;    // up to this many samples or features a subspace is everything
constexpr Index kGramSize = 1024;    // up to this many features Y Y' is formed once: as much work as 3 iterations
constexpr int kPasses = 10;          // subspace iterations at most,
constexpr int kGramPasses = 30;      // .. with Y Y' at hand
constexpr int kFillRounds = 5;       // rounds of fitting, and filling or trimming, before the last,
constexpr int kFillPasses = 3;       // .. of as many iterations where all samples are learned from, else of one
/// Samples, at even distances, that those rounds learn from; at least 50 for each dimension. The last fit is of all:
/// with a model of 4,096 only, of 30,000 images in noise as strong as they are, it is not .69 of the neighbours that
/// show the same digit but .62.
constexpr Index kLearned = 4096;
/// Samples that cutoffs are made of: 256 change 2 % of the neighbours (Fashion-MNIST, 1,000).
constexpr Index kDeviations = 1024;
/// Directions of the models in rounds of trimming, as a share of D. Many would take gross outliers for signal.
constexpr double kTrimShares[kFillRounds] = {0.025, 0.075, 0.15, 0.3, 0.5};
constexpr double kRitzTolerance = 1e-6, kFilledTolerance = 1e-3;  // of data as they are; after rounds

/// of what is not NaN; reorders
double median(double* first, double* last) {
  last = std::remove_if(first, last, [](double x) { return std::isnan(x); });
  if (first == last) return 0;
  std::nth_element(first, first + (last - first) / 2, last);
  return first[(last - first) / 2];
}

/// y = prediction + psi(raw - prediction), Tukey's psi(r) = (1 - (r / cutoff)^2)^2 r within the cutoff, 0 beyond, and 0
/// where raw is NaN. Here and below of kLanes samples side by side: equal samples stay equal.
PACEWISE_WIDE_VECTORS void trim(const double* raw, const double* prediction, const double* cutoff, Index m, double* y) {
  for (Index i = 0; i < m; ++i, raw += kLanes, prediction += kLanes, y += kLanes) {
    const double inverse = 1 / cutoff[i];
    PACEWISE_SIMD
    for (Index lane = 0; lane < kLanes; ++lane) {
      const double r = raw[lane] - prediction[lane], kept = 1 - (r * inverse) * (r * inverse);
      y[lane] = prediction[lane] + (kept > 0 ? kept * kept * r : 0);
    }
  }
}

/// y = W p, Wt D x m
PACEWISE_WIDE_VECTORS void combine(const double* Wt, const double* p, Index m, Index D, double* y) {
  for (Index i = 0; i < m; ++i) {
    double sum[kLanes] = {};
    for (Index d = 0; d < D; ++d) {
      PACEWISE_SIMD
      for (Index lane = 0; lane < kLanes; ++lane) sum[lane] += p[d * kLanes + lane] * Wt[i * D + d];
    }
    std::copy_n(sum, kLanes, y + i * kLanes);
  }
}

/// p = Wt y
PACEWISE_WIDE_VECTORS void project(const double* Wt, const double* y, Index m, Index D, double* p) {
  std::fill_n(p, D * kLanes, 0.0);
  for (Index i = 0; i < m; ++i)
    for (Index d = 0; d < D; ++d) {
      PACEWISE_SIMD
      for (Index lane = 0; lane < kLanes; ++lane) p[d * kLanes + lane] += y[i * kLanes + lane] * Wt[i * D + d];
    }
}

/// kLanes samples on their way through the rounds, the lanes of a number side by side; and columns of Y
struct Lanes {
  Vector<double> raw, y, prediction, p, block;
};

/// Y = scale (X - mean) of the samples that are learned from, and the way of any sample through the rounds. After a
/// round, y ~ W p, a missing entry is the prediction, and an observed one the prediction plus psi of its residual.
template <class T>
class CentredData {
 public:
  CentredData(const Samples<T>& X, const Observed& observed, Index learned)
      : X_(X), observed_(observed), learned_(learned), scale_(observed.scale()), centre_(observed.mean) {
    for (double& value : centre_) value *= scale_;
  }

  Index features() const { return X_.values.rows; }
  Index all() const { return X_.values.cols; }
  Index learned() const { return learned_; }
  double scale() const { return scale_; }
  void learn_from_all() { learned_ = all(); }
  bool as_it_is() const { return rounds_.empty(); }

  /// of those that are learned from, after all rounds
  MatrixView<const double> load(Index first, Index count, Lanes& lanes) const {
    const Index m = features();
    lanes.block.resize(checked_size(m, kSamples));
    const MatrixView<double> Y(lanes.block.data(), m, count);
    for (Index group = 0; group < count; group += kLanes) {
      const Index in_group = std::min(kLanes, count - group);
      refine(first + group, in_group, learned_, lanes);
      for (Index i = 0; i < m; ++i)
        for (Index lane = 0; lane < in_group; ++lane) Y(i, group + lane) = lanes.y[i * kLanes + lane];
    }
    return Y;
  }

  /// Samples first .. first + count of `drawn` at even distances, count <= kLanes, through all rounds.
  void refine(Index first, Index count, Index drawn, Lanes& lanes) const {
    const Index m = features();
    lanes.raw.resize(checked_size(m, kLanes));
    lanes.y.resize(checked_size(m, kLanes));
    lanes.prediction.resize(checked_size(m, kLanes));
    Index from[kLanes];
    for (Index lane = 0; lane < kLanes; ++lane) from[lane] = sample(first + std::min(lane, count - 1), drawn);
    for (Index i = 0; i < m; ++i)
      for (Index lane = 0; lane < kLanes; ++lane)
        lanes.raw[i * kLanes + lane] = static_cast<double>(X_.values(i, from[lane])) * scale_ - centre_[i];
    for (Index lane = 0; lane < kLanes; ++lane)
      for (Index i = 0; i < m && observed_.count[from[lane]] < m; ++i)
        if (X_.missing(i, from[lane])) lanes.raw[i * kLanes + lane] = std::numeric_limits<double>::quiet_NaN();
    const auto missing = [](double x) { return std::isnan(x); };
    std::replace_copy_if(lanes.raw.begin(), lanes.raw.end(), lanes.y.begin(), missing, 0.0);
    for (const Round& round : rounds_) {
      const Index D = round.Wt.rows();
      lanes.p.resize(checked_size(D, kLanes));
      project(round.Wt.data(), lanes.y.data(), m, D, lanes.p.data());
      combine(round.Wt.data(), lanes.p.data(), m, D, lanes.prediction.data());
      trim(lanes.raw.data(), lanes.prediction.data(), round.cutoff.data(), m, lanes.y.data());
    }
  }

  /// A round with the first `rank` directions. Cutoffs: 8 times the feature's standard deviation from the model, by its
  /// median absolute deviation over samples drawn at even distances, or that of all features where it is larger; but
  /// half of what it was at least, or what a better model explains would stay out for good.
  void add_round(const LowRank& model, Index rank, bool trimmed, const Control& control) {
    constexpr double to_sd = 1.4826, cutoff = 8;
    const Index m = features(), most = std::clamp<Index>((Index{1} << 24) / std::max<Index>(m, 1), 32, kDeviations);
    const Index drawn = std::min(learned_, most);
    const Vector<double> before = rounds_.empty() ? Vector<double>(m, 0.0) : rounds_.back().cutoff;
    rounds_.push_back({model.directions.leftCols(std::min(rank, model.directions.cols())).transpose(),
                       Vector<double>(m, std::numeric_limits<double>::infinity())});
    if (!trimmed) return;
    Matrix<double> deviation(drawn, m);
    for_each(drawn, control, [&](Index first, Index count, const Lanes& lanes) {
      for (Index i = 0; i < m; ++i)
        for (Index j = 0; j < count; ++j)
          deviation(first + j, i) = std::abs(lanes.raw[i * kLanes + j] - lanes.prediction[i * kLanes + j]);
    });
    Vector<double> all = deviation.numbers();
    const double usual = median(all.data(), all.data() + all.size());
    for (Index i = 0; i < m; ++i)
      rounds_.back().cutoff[i] =
          std::max(before[i] / 2, cutoff * to_sd * std::max(usual, median(deviation.col(i), deviation.col(i) + drawn)));
  }

  /// take(first, count, lanes) for groups of `drawn` samples at even distances, after all rounds
  template <class Take>
  void for_each(Index drawn, const Control& control, const Take& take) const {
    Vector<Lanes> memory(thread_count(control));
    const auto body = [&](Index first, Index count, int worker) {
      refine(first, count, drawn, memory[worker]);
      take(first, count, memory[worker]);
    };
    parallel_for(drawn, control, body, kLanes);
  }

 private:
  struct Round {
    EigenMatrix<double> Wt;  // directions of the model, transposed
    Vector<double> cutoff;   // of each feature
  };

  Index sample(Index j, Index drawn) const { return j * all() / drawn; }

  const Samples<T>& X_;
  const Observed& observed_;
  Index learned_;
  double scale_;
  Vector<double> centre_;  // scale * mean
  std::vector<Round> rounds_;
};

/// sum over blocks of samples of what term(Y_block, sum) adds to `sum`, m x l, in a fixed order
template <class T, class Term>
EigenMatrix<double> sum_over_samples(const CentredData<T>& data, Index l, Index groups, const Control& control,
                                     const Term& term) {
  const Index n = data.learned();
  Vector<Lanes> memory(thread_count(control));
  std::atomic<Index> done{0};
  const auto add = [&](Index first, Index count, int worker, EigenMatrix<double>& sum) {
    term(eigen(data.load(first, count, memory[worker])), sum);
    done += count;
    if (worker == 0) control.report(static_cast<double>(done) / static_cast<double>(n));
  };
  const EigenMatrix<double> zero = EigenMatrix<double>::Zero(data.features(), l);
  return parallel_sum(n, control, zero, add, kSamples, groups);
}

/// Y Y' Q
template <class T>
EigenMatrix<double> apply_gram(const CentredData<T>& data, const EigenMatrix<double>& Q, const Control& control) {
  return sum_over_samples(data, Q.cols(), kPartialSums, control, [&](const auto& Y, EigenMatrix<double>& sum) {
    const EigenMatrix<double> C = Q.transpose() * Y;
    sum.noalias() += Y * C.transpose();
  });
}

/// Y Y'
template <class T>
EigenMatrix<double> whole_gram(const CentredData<T>& data, const Control& control) {
  const auto add = [](const auto& Y, EigenMatrix<double>& sum) {
    sum.template selfadjointView<Eigen::Lower>().rankUpdate(Y);
  };
  return sum_over_samples(data, data.features(), kGramSums, control, add).template selfadjointView<Eigen::Lower>();
}

/// An orthonormal basis of the span of the columns
EigenMatrix<double> orthonormal(const EigenMatrix<double>& A) {
  return Eigen::HouseholderQR<EigenMatrix<double>>(A).householderQ() *
         EigenMatrix<double>::Identity(A.rows(), A.cols());
}

/// Subspace iteration with Rayleigh-Ritz: Q -> orth(Y Y'Q), once, or in the last fit until every wanted pair
/// (theta = s^2, w) has |Y Y'w - theta w| <= tolerance theta. Gives all but the points; Q stays for a warm start.
template <class T>
LowRank leading_directions(const CentredData<T>& data, Index dimensions, double smallest, bool last,
                           EigenMatrix<double>& Q, const Control& control) {
  const Index m = data.features(), l = Q.cols();
  const double tolerance = data.as_it_is() ? kRitzTolerance : kFilledTolerance;
  const bool formed = last && m <= kGramSize;
  const EigenMatrix<double> G = formed ? whole_gram(data, control.part(0, 0.5)) : EigenMatrix<double>();
  const int fill = data.learned() < data.all() ? 1 : kFillPasses;
  const int passes = l == m ? 1 : !last ? fill : formed ? kGramPasses : kPasses;
  for (int pass = 1;; ++pass) {
    const double before = (pass - 1.0) / passes, after = static_cast<double>(pass) / passes;
    const EigenMatrix<double> raw =
        formed ? EigenMatrix<double>(G * Q) : apply_gram(data, Q, control.part(before, after));
    if (formed) control.report(0.5 + 0.5 * after);
    EigenMatrix<double> E = Q.transpose() * raw;
    E = (0.5 * (E + E.transpose())).eval();
    const Vector<double> ascending = symmetric_eigen({E.data(), l, l});  // E now has the eigenvectors
    const Eigen::VectorXd descending = eigen(ascending).reverse();
    // Y Y' is known to rounding relative to the largest: below that a direction is noise
    const double cut = std::max(smallest * smallest, 1e-13 * descending[0]);
    const Index kept = (descending.head(dimensions).array() > cut).count();
    const Eigen::VectorXd theta = descending.head(kept);
    const EigenMatrix<double> leading = E.rowwise().reverse().leftCols(kept);
    LowRank model{Q * leading, {}, Vector<double>(kept), 0};
    const EigenMatrix<double> gap = raw * leading - model.directions * theta.asDiagonal();
    const bool exact = (gap.colwise().norm().transpose().array() <= tolerance * theta.array()).all();
    if (l < m) Q = orthonormal(raw);
    if (!exact && pass < passes && !control.stop()) continue;
    for (Index d = 0; d < kept; ++d) {  // the largest entry is positive
      auto w = model.directions.col(d);
      if (std::abs(w.minCoeff()) > w.maxCoeff()) w = -w;
      model.values[d] = std::sqrt(theta[d]);
    }
    return model;
  }
}

/// points = W'Y of all samples and |Y|^2. Not by the BLAS: its rounding depends on where a column stands, and equal
/// samples shall have equal points.
template <class T>
void add_coordinates(const CentredData<T>& data, LowRank& model, const Control& control) {
  const Index D = model.directions.cols(), m = data.features(), n = data.all();
  const EigenMatrix<double> Wt = model.directions.transpose();
  model.points.resize(D, n);
  model.points.fill(0);
  Vector<double> energy(n, 0.0);
  data.for_each(n, control, [&](Index first, Index count, Lanes& lanes) {
    lanes.p.resize(checked_size(D, kLanes));
    project(Wt.data(), lanes.y.data(), m, D, lanes.p.data());
    for (Index j = 0; j < count; ++j) {
      for (Index d = 0; d < D; ++d) model.points(d, first + j) = lanes.p[d * kLanes + j];
      for (Index i = 0; i < m; ++i) energy[first + j] += lanes.y[i * kLanes + j] * lanes.y[i * kLanes + j];
    }
  });
  model.energy = std::accumulate(energy.begin(), energy.end(), 0.0);
}

}  // namespace

template <class T>
LowRank low_rank(const Samples<T>& X, const Observed& observed, Index dimensions, bool trimmed, std::uint64_t seed,
                 const Control& control) {
  const SerialBlas serial;
  const int rounds = trimmed || observed.missing > 0 ? kFillRounds : 0;
  const Index m = X.values.rows, n = X.values.cols, smaller = std::min(m, n), D = std::min({dimensions, m, n - 1});
  if (D < 1) return {EigenMatrix<double>(m, 0), Matrix<double>(0, n), {}, 0};
  CentredData<T> data(X, observed, rounds > 0 ? std::min(n, std::max(kLearned, 50 * D)) : n);
  const Index l = smaller <= kExactSize ? smaller : std::min(smaller, D + kOversampling);
  const double most_passes = 1 + rounds + kPasses;
  EigenMatrix<double> Q = EigenMatrix<double>::Identity(m, l);
  if (l < m) {  // Y Y' Omega, Omega Gaussian
    Random random(seed);
    for (Index p = 0; p < Q.size(); ++p) Q.data()[p] = random.normal();
    Q = orthonormal(apply_gram(data, Q, control.part(0, 1 / most_passes)));
  }
  // singular values that the rounding of the entries themselves could make
  const double smallest = static_cast<double>(std::numeric_limits<T>::epsilon()) * observed.largest * data.scale() *
                          std::sqrt(static_cast<double>(m) * static_cast<double>(n));
  for (int round = 0;; ++round) {
    const bool last = round == rounds;  // of all samples
    if (last) data.learn_from_all();
    LowRank model = leading_directions(data, D, smallest, last, Q,
                                       control.part((1 + round) / most_passes, last ? 1 : (2 + round) / most_passes));
    if (last || control.stop()) {
      add_coordinates(data, model, control);
      return model;
    }
    const double share = trimmed ? kTrimShares[round] : 1;
    data.add_round(model, static_cast<Index>(std::ceil(share * static_cast<double>(D))), trimmed, control);
  }
}

template LowRank low_rank(const Samples<float>&, const Observed&, Index, bool, std::uint64_t, const Control&);
template LowRank low_rank(const Samples<double>&, const Observed&, Index, bool, std::uint64_t, const Control&);

}  // namespace pacewise

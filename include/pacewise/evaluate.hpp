#pragma once
#include <vector>

#include "pacewise/data.hpp"

namespace pacewise {

enum class Seeding : std::uint8_t { random, plus_plus };
template <>
inline constexpr Words<2> words<Seeding>{"init", {"random", "k-means++"}};

struct KMeansOptions {
  Index clusters = 8;  // 1 <= clusters <= n
  Seeding init = Seeding::plus_plus;
  int runs = 30;           // >= 1
  int candidates = 0;      // k-means++: draws per centre, the best is kept; 0: 2 + log(clusters), as scikit-learn does
  int max_iter = 300;      // >= 1
  double tol = 1e-6;       // >= 0: relative fall of the inertia below which a run ends; 0 runs to a fixed point
  bool unit_norm = false;  // scale every sample to unit norm first (the recommended protocol); a zero sample stays zero
  std::uint64_t seed = 0;
};

/// An Error names the option, its value and the rule.
void validate(const KMeansOptions& options);

struct KMeansRun {
  std::vector<std::int32_t> assignment;  // n
  Matrix<double> centers;                // m x clusters
  double inertia = 0;                    // sum of squared distances to the assigned centre, at the returned centres
  int iterations = 0;
};

/// Lloyd's algorithm, `runs` independent restarts (run r depends on seed and r alone). An empty cluster is given the
/// sample farthest from its centre; it stays empty only where no sample has a positive distance to spare. A sample goes
/// to the centre with the smallest distance, ties to the smaller index. X is m x n and finite.
///
/// Threads go over the runs, or over blocks of samples where the runs are too few; same bits for any number of threads.
/// A run that control.stop() cuts short is left out, so fewer than `runs` (even none) may come back.
std::vector<KMeansRun> kmeans(MatrixView<const float> X, const KMeansOptions& options, const Control& control = {});
std::vector<KMeansRun> kmeans(MatrixView<const double> X, const KMeansOptions& options, const Control& control = {});

/// Agreement of a clustering with labels, each 1 for a perfect match.
///   acc     share of samples on the best one-to-one matching of clusters and labels (Hungarian)
///   purity  share of samples that carry the majority label of their cluster
///   nmi     I(L, A) / ((H(L) + H(A)) / 2); 1 where both have one class (0/0), 0 where only one of them has
///   ari     adjusted Rand index; 1 where the two partitions are the same, also where both are trivial (0/0)
/// The limit cases are those of scikit-learn.
struct Scores {
  double acc = 0, purity = 0, nmi = 0, ari = 0;
};

/// Labels and clusters may be any integers; both of the same length >= 1.
Scores clustering_scores(const std::vector<std::int32_t>& labels, const std::vector<std::int32_t>& assignment);

}  // namespace pacewise

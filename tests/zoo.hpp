// Problems on which the steps are judged: random ones and hard ones, at every level, from one seed.
#pragma once
#include <string>

#include "pacewise/options.hpp"
#include "reference.hpp"
#include "solve/dictionary.hpp"

namespace zoo {

using namespace pacewise;

inline constexpr Level kLevels[] = {Level::none, Level::sample, Level::feature, Level::element};

template <class T>
struct Instance {
  std::string name;
  Matrix<T> X, B, S, Q;
  Weights<T> weights;
  Sparse L, H;
};

struct Shape {
  std::string name;
  Index m, n, r;
  bool near_duplicates = false;  // atoms in pairs of correlation > 0.999999
  bool duplicate_codes = false;  // rank-deficient codes
  double missing = 0;            // share of entries of weight 0
  bool wide_weights = false;     // weights over 1e-6 .. 1e6
  bool zero_samples = false;
  bool constant_features = false;
  bool unobserved = false;  // a sample and a feature without any observed entry
  Index rings = 1;          // graphs that nothing connects: samples j, j + rings, j + 2 rings, ..
  bool cut = false;         // the ring has zeros where it joins two thirds, a sixth and a sixth of the samples
};

inline std::vector<Shape> shapes() {
  return {{"random", 12, 20, 8},
          {"near-duplicate atoms", 12, 15, 8, true},
          {"more atoms than features", 6, 20, 15},
          {"one atom", 9, 10, 1},
          {"one sample", 9, 1, 5},
          {"fewer samples than atoms", 10, 5, 9},
          {"rank-deficient codes", 10, 14, 6, false, true},
          {"zero samples", 8, 12, 5, false, false, 0, false, true},
          {"constant features", 8, 12, 5, false, false, 0, false, false, true},
          {"unobserved sample and feature", 8, 12, 5, false, false, 0.1, false, false, false, true},
          {"90% missing", 20, 25, 6, false, false, 0.9},
          {"weights 1e-6 to 1e6", 12, 18, 7, false, false, 0, true}};
}

/// L = D - A of rings, normalised as 1 - D^-1/2 A D^-1/2; H: a vertex and its ring neighbour
inline void ring(Index n, Sparse& L, Sparse& H, Index rings = 1) {
  std::vector<Triplet> l, h;
  for (Index j = 0; j < n; ++j) {
    const auto at = static_cast<std::int32_t>(j);
    const auto next = static_cast<std::int32_t>(j + rings < n ? j + rings : j % rings);
    if (n > 2 * rings) {
      l.push_back({at, at, 1});
      l.push_back({at, next, -0.5});
      l.push_back({next, at, -0.5});
    }
    h.push_back({at, at, 1});
    if (n > 1) h.push_back({at, next, 1});
  }
  L = sparse_from_triplets(n, n, l);
  H = sparse_from_triplets(n, n, h);
}

template <class T>
Instance<T> make(const Shape& shape, Level level, std::uint64_t seed) {
  Random random(seed);
  Instance<T> p;
  p.name = shape.name + ", level " + std::string(name_of(level));
  const Index m = shape.m, n = shape.n, r = shape.r;
  p.B = Matrix<T>(m, r);
  for (Index k = 0; k < r; ++k) {
    double norm = 0;
    for (Index i = 0; i < m; ++i) {
      double b = random.normal();
      if (shape.near_duplicates && k % 2 == 1) b = static_cast<double>(p.B(i, k - 1)) + 2e-4 * b;
      p.B(i, k) = static_cast<T>(b);
      norm += b * b;
    }
    for (Index i = 0; i < m; ++i) p.B(i, k) = static_cast<T>(static_cast<double>(p.B(i, k)) / std::sqrt(norm));
  }
  p.S = Matrix<T>(r, n);
  for (Index j = 0; j < n; ++j)
    for (Index k = 0; k < r; ++k)
      if (random.uniform() < 0.4) p.S(k, j) = static_cast<T>(random.normal());
  if (shape.duplicate_codes)
    for (Index j = 0; j < n; ++j)
      for (Index k = 1; k < r; k += 2) p.S(k, j) = p.S(k - 1, j);
  p.X = Matrix<T>(m, n);
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i) {
      double x = 0.3 * random.normal();
      for (Index k = 0; k < r; ++k) x += 1.5 * static_cast<double>(p.B(i, k)) * static_cast<double>(p.S(k, j));
      if (shape.zero_samples && j % 3 == 0) x = 0;
      if (shape.constant_features && i % 3 == 0) x = 0.7;
      p.X(i, j) = static_cast<T>(x);
    }
  const auto weight = [&] { return shape.wide_weights ? std::pow(10.0, 12 * random.uniform() - 6) : random.uniform(); };
  if (level == Level::sample)
    for (Index j = 0; j < n; ++j) p.weights.sample.push_back(static_cast<T>(weight()));
  if (level == Level::feature)
    for (Index i = 0; i < m; ++i) p.weights.feature.push_back(static_cast<T>(weight()));
  if (level == Level::element || shape.missing > 0 || shape.unobserved) {
    p.weights.entry = Matrix<T>(m, n, T(1));
    for (Index j = 0; j < n; ++j)
      for (Index i = 0; i < m; ++i) {
        double w = level == Level::element ? weight() : 1;
        if (random.uniform() < shape.missing || (shape.unobserved && (j == 0 || i == 0))) w = 0;
        p.weights.entry(i, j) = static_cast<T>(w);
        if (w == 0) p.X(i, j) = 0;
      }
  }
  ring(n, p.L, p.H, shape.rings);
  const auto piece = [&](Index j) { return j < 2 * n / 3 ? 0 : j < 5 * n / 6 ? 1 : 2; };
  for (Index j = 0; j < n && shape.cut; ++j)
    for (Index at = p.L.start[static_cast<std::size_t>(j)]; at < p.L.start[static_cast<std::size_t>(j + 1)]; ++at)
      if (piece(p.L.index[static_cast<std::size_t>(at)]) != piece(j)) p.L.value[static_cast<std::size_t>(at)] = 0;
  p.Q = Matrix<T>(n, r);
  for (Index k = 0; k < r; ++k)
    for (Index e = 0; e < n; ++e) p.Q(e, k) = static_cast<T>(0.2 * random.normal());
  return p;
}

template <class T>
reference::Setting setting(const Instance<T>& p, double alpha, const Penalty& penalty, double gamma, double eta = 0) {
  using reference::wide;
  return {wide(p.X), wide(p.weights, p.X.rows(), p.X.cols()),
          wide(p.B), wide(p.S),
          wide(p.L), wide(p.H),
          wide(p.Q), penalty,
          alpha,     gamma,
          eta};
}

}  // namespace zoo

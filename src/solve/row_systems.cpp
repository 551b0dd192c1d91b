#include "solve/row_systems.hpp"

#include <algorithm>
#include <cmath>

#include "algebra/simd.hpp"

namespace pacewise {
namespace {

template <class Real>
using Lanes [[gnu::vector_size(64), gnu::may_alias]] = Real;

constexpr Index kTile = 4, kTileSize = kTile * kTile;

// Element k, l of a lower triangle of tiles is number row_offset(k) + column_offset(l): tile (I, J) is the J-th of row
// I.
Index row_offset(Index k) { return (k / kTile) * (k / kTile + 1) / 2 * kTileSize + k % kTile * kTile; }
Index column_offset(Index l) { return l / kTile * kTileSize + l % kTile; }

[[gnu::always_inline]] inline Index tile(Index i, Index j) { return (i * (i + 1) / 2 + j) * kTileSize; }

enum class As : std::uint8_t { itself, transposed };

/// sum += x y, all 4 x 4, x and y as they are or transposed
template <As x_as, As y_as, class V>
[[gnu::always_inline]] inline void add_product(V* sum, const V* x, const V* y) {
  constexpr Index xa = x_as == As::itself ? kTile : 1, xk = kTile + 1 - xa;
  constexpr Index yk = y_as == As::itself ? kTile : 1, yc = kTile + 1 - yk;
#pragma GCC unroll 4
  for (Index k = 0; k < kTile; ++k)
#pragma GCC unroll 4
    for (Index a = 0; a < kTile; ++a)
#pragma GCC unroll 4
      for (Index c = 0; c < kTile; ++c) sum[a * kTile + c] += x[a * xa + k * xk] * y[k * yk + c * yc];
}

/// A tile on the diagonal: its lower Cholesky factor, with 1 / l_kk on the diagonal and zeros above. A pivot lost to
/// rounding is raised to what rounding leaves of it.
template <class Real>
[[gnu::always_inline]] inline void factor_tile(Lanes<Real>* t) {
  constexpr Real least = 16 * std::numeric_limits<Real>::epsilon();
  for (Index k = 0; k < kTile; ++k) {
    Lanes<Real> pivot = t[k * kTile + k];
    for (Index lane = 0; lane < 64 / static_cast<Index>(sizeof(Real)); ++lane)
      pivot[lane] = 1 / std::sqrt(std::max(pivot[lane], least));
    t[k * kTile + k] = pivot;
    for (Index a = k + 1; a < kTile; ++a) t[a * kTile + k] *= pivot;
    for (Index c = k + 1; c < kTile; ++c) {
      t[k * kTile + c] = Lanes<Real>{};
      for (Index a = c; a < kTile; ++a) t[a * kTile + c] -= t[a * kTile + k] * t[c * kTile + k];
    }
  }
}

/// L of M + D = L L', tile by tile from the left
template <class Real>
PACEWISE_WIDE_TEMPLATE void factor_systems(const Real* gram, const Real* diagonal, Index tiles, Real* factor) {
  using V = Lanes<Real>;
  const V* M = reinterpret_cast<const V*>(gram);
  V* A = reinterpret_cast<V*>(factor);
  for (Index j = 0; j < tiles; ++j) {
    const V* top = A + tile(j, 0);
    const V* corner = A + tile(j, j);
    for (Index i = j; i < tiles; ++i) {
      V* to = A + tile(i, j);
      const V* row = A + tile(i, 0);
      V sum[kTileSize] = {};
      for (Index k = 0; k < j; ++k)
        add_product<As::itself, As::transposed>(sum, row + k * kTileSize, top + k * kTileSize);
      for (Index e = 0; e < kTileSize; ++e) sum[e] = M[tile(i, j) + e] - sum[e];
      for (Index a = 0; a < kTile && i == j; ++a) sum[a * kTile + a] += diagonal[i * kTile + a];
      if (i == j) {
        factor_tile<Real>(sum);
      } else {  // times the inverse of the corner's transpose
        for (Index k = 0; k < kTile; ++k)
          for (Index a = 0; a < kTile; ++a) {
            V x = sum[a * kTile + k];
            for (Index c = 0; c < k; ++c) x -= sum[a * kTile + c] * corner[k * kTile + c];
            sum[a * kTile + k] = x * corner[k * kTile + k];
          }
      }
      for (Index e = 0; e < kTileSize; ++e) to[e] = sum[e];
    }
  }
}

/// x <- (L L')^-1 x
template <class Real>
PACEWISE_WIDE_TEMPLATE void solve_systems(const Real* numbers, Index tiles, Real* right) {
  using V = Lanes<Real>;
  const V* L = reinterpret_cast<const V*>(numbers);
  V* x = reinterpret_cast<V*>(right);
  for (Index i = 0; i < tiles; ++i) {
    V* xi = x + i * kTile;
    V sum[kTile];
    for (Index a = 0; a < kTile; ++a) sum[a] = xi[a];
    for (Index j = 0; j < i; ++j)
      for (Index a = 0; a < kTile; ++a)
        for (Index c = 0; c < kTile; ++c) sum[a] -= L[tile(i, j) + a * kTile + c] * x[j * kTile + c];
    const V* corner = L + tile(i, i);
    for (Index a = 0; a < kTile; ++a) {
      for (Index c = 0; c < a; ++c) sum[a] -= corner[a * kTile + c] * sum[c];
      sum[a] *= corner[a * kTile + a];
    }
    for (Index a = 0; a < kTile; ++a) xi[a] = sum[a];
  }
  for (Index i = tiles - 1; i >= 0; --i) {
    V* xi = x + i * kTile;
    const V* corner = L + tile(i, i);
    V known[kTile];
    for (Index a = kTile - 1; a >= 0; --a) {
      V sum = xi[a];
      for (Index c = a + 1; c < kTile; ++c) sum -= corner[c * kTile + a] * known[c];
      known[a] = sum * corner[a * kTile + a];
    }
    for (Index a = 0; a < kTile; ++a) xi[a] = known[a];
    for (Index j = 0; j < i; ++j) {
      V* xj = x + j * kTile;
      for (Index a = 0; a < kTile; ++a)
        for (Index c = 0; c < kTile; ++c) xj[c] -= L[tile(i, j) + a * kTile + c] * known[a];
    }
  }
}

/// L -> L^-1 in place, columns from the right, each from the bottom: (L^-1)_ij = -(sum_k (L^-1)_ik L_kj) (L_jj)^-1
template <class Real>
PACEWISE_WIDE_TEMPLATE void invert_factors(Real* numbers, Index tiles) {
  using V = Lanes<Real>;
  V* L = reinterpret_cast<V*>(numbers);
  for (Index j = tiles - 1; j >= 0; --j) {
    V* corner = L + tile(j, j);
    for (Index c = 0; c < kTile; ++c)
      for (Index a = c + 1; a < kTile; ++a) {
        V sum{};
        for (Index k = c; k < a; ++k) sum += corner[a * kTile + k] * corner[k * kTile + c];
        corner[a * kTile + c] = -sum * corner[a * kTile + a];
      }
    for (Index i = tiles - 1; i > j; --i) {
      const V* row = L + tile(i, 0);
      V sum[kTileSize] = {};
      for (Index k = j + 1; k <= i; ++k) add_product<As::itself, As::itself>(sum, row + k * kTileSize, L + tile(k, j));
      V* to = L + tile(i, j);
      for (Index a = 0; a < kTile; ++a)
        for (Index c = 0; c < kTile; ++c) {
          V x{};
          for (Index k = c; k < kTile; ++k) x -= sum[a * kTile + k] * corner[k * kTile + c];
          to[a * kTile + c] = x;
        }
    }
  }
}

/// sums += x x' o (L^-1)' L^-1
template <class Real>
PACEWISE_WIDE_TEMPLATE void add_curvature(const Real* inverse_factors, Index tiles, const Real* solution, Real* sums) {
  using V = Lanes<Real>;
  const V* L = reinterpret_cast<const V*>(inverse_factors);
  const V* x = reinterpret_cast<const V*>(solution);
  V* to = reinterpret_cast<V*>(sums);
  for (Index i = 0; i < tiles; ++i)
    for (Index j = 0; j <= i; ++j) {
      V sum[kTileSize] = {};
      for (Index k = i; k < tiles; ++k) add_product<As::transposed, As::itself>(sum, L + tile(k, i), L + tile(k, j));
      V* out = to + tile(i, j);
      for (Index a = 0; a < kTile; ++a)
        for (Index c = 0; c < kTile; ++c)
          out[a * kTile + c] += sum[a * kTile + c] * x[i * kTile + a] * x[j * kTile + c];
    }
}

/// grams[t] += sum_e product_e weights[sample_e][t], for `pack` vectors of rows t, their Grams `stride` numbers apart
template <Index pack, class Real, class Pair>
PACEWISE_WIDE_TEMPLATE void add_pairs(const Pair* pairs, Index count, const Real* weights, Real* grams, Index stride) {
  using V = Lanes<Real>;
  constexpr Index lanes = 64 / static_cast<Index>(sizeof(Real));
  V sum[pack];
  for (Index t = 0; t < pack; ++t) sum[t] = *reinterpret_cast<const V*>(grams + t * stride);
  for (Index e = 0; e < count; ++e) {
    const V* w = reinterpret_cast<const V*>(weights + pairs[e].sample * pack * lanes);
    for (Index t = 0; t < pack; ++t) sum[t] += w[t] * pairs[e].product;
  }
  for (Index t = 0; t < pack; ++t) *reinterpret_cast<V*>(grams + t * stride) = sum[t];
}

}  // namespace

/// The pairs of atoms that samples use together: those of number t of a triangle from start[t] to start[t + 1]
template <class T, class Real>
struct RowSystems<T, Real>::Pairs {
  struct Pair {
    std::int32_t sample;  // counted from the chunk's first
    Real product;         // s_k s_l
  };
  std::vector<std::size_t> start;
  std::vector<Pair> pairs;
};

template <class T, class Real>
struct RowSystems<T, Real>::Worker {
  Vector<Real> system, solution, sums;
};

template <class T, class Real>
RowSystems<T, Real>::RowSystems(Index u, Index m, const Weights<T>& weights, double bytes)
    : weights_(&weights), m_(m), u_(u), tiles_(block_count(u, kTile)), vectors_(block_count(m, kLanes)) {
  const double each = std::max(1.0, static_cast<double>(numbers()) * sizeof(Real));
  while (pack_ > 1 && static_cast<double>(pack_) * each > bytes) pack_ /= 2;
  const auto packs = static_cast<double>(block_count(vectors_, pack_));
  strip_ = pack_ * static_cast<Index>(std::max(1.0, std::min(packs, bytes / each / static_cast<double>(pack_))));
}

template <class T, class Real>
RowSystems<T, Real>::RowSystems(const UsedCodes& codes, Index u, const Weights<T>& weights, Index m, double bytes,
                                const Control& control)
    : RowSystems(u, m, weights, bytes) {
  codes_ = &codes;
  n_ = static_cast<Index>(codes.start.size()) - 1;
  root_.resize(static_cast<std::size_t>(n_));
  parallel_blocks(block_count(n_), control, [&](Index block, int) {
    for (Index j = block * kBlock; j < block * kBlock + block_length(n_, block); ++j) {
      double top = 0;
      for (Index i = 0; i < m_; ++i) top = std::max(top, static_cast<double>(weights(i, j)));
      root_[static_cast<std::size_t>(j)] = std::sqrt(top);
    }
  });
}

template <class T, class Real>
RowSystems<T, Real>::RowSystems(const Matrix<double>& M, const Weights<T>& weights, Index m, double bytes)
    : RowSystems(M.rows(), m, weights, bytes) {
  shared_ = &M;
}

// Enough samples for some hundred to every pair, few enough for their list to stay small
template <class T, class Real>
Index RowSystems<T, Real>::end_of_chunk(Index first) const {
  constexpr std::size_t room = std::size_t{1} << 18;
  constexpr Index most = 4096;  // their weights are copied
  std::size_t pairs = 0;
  Index last = first;
  for (; last < n_; ++last) {
    const std::size_t p =
        codes_->start[static_cast<std::size_t>(last + 1)] - codes_->start[static_cast<std::size_t>(last)];
    pairs += p * (p + 1) / 2;
    if ((pairs > room || last - first >= most) && last > first) break;
  }
  return last;
}

template <class T, class Real>
void RowSystems<T, Real>::gather_pairs(Index first, Index last, Pairs& out, const Control& control) const {
  // Pairs (k, l), k >= l, with the same k are one block's: it counts and fills them in the order of samples.
  constexpr std::int32_t groups = 8;
  const auto each = [&](const auto& visit) {
    parallel_blocks(groups, control, [&](Index group, int) {
      for (Index j = first; j < last; ++j) {
        const std::size_t begin = codes_->start[static_cast<std::size_t>(j)];
        const std::size_t end = codes_->start[static_cast<std::size_t>(j + 1)];
        for (std::size_t a = begin; a < end; ++a) {
          if (codes_->atom[a] % groups != group) continue;
          const Index row = row_offset(codes_->atom[a]);
          for (std::size_t b = begin; b <= a; ++b)
            visit(j, static_cast<std::size_t>(row + column_offset(codes_->atom[b])), a, b);
        }
      }
    });
  };
  out.start.assign(static_cast<std::size_t>(numbers() / kLanes) + 1, 0);
  each([&](Index, std::size_t at, std::size_t, std::size_t) { ++out.start[at + 1]; });
  if (control.stop()) return;
  for (std::size_t at = 1; at < out.start.size(); ++at) out.start[at] += out.start[at - 1];
  out.pairs.resize(out.start.back());
  std::vector<std::size_t> next(out.start.begin(), out.start.end() - 1);
  each([&](Index j, std::size_t at, std::size_t a, std::size_t b) {
    const double root = root_[static_cast<std::size_t>(j)];
    out.pairs[next[at]++] = {static_cast<std::int32_t>(j - first),
                             static_cast<Real>((root * codes_->code[a]) * (root * codes_->code[b]))};
  });
}

// Those of the strip whose first vector of rows this is
template <class T, class Real>
void RowSystems<T, Real>::make_grams(Index first, const Control& control) {
  const Index packs = block_count(std::min(strip_, vectors_ - first), pack_);
  made_ = -1;
  grams_.resize(static_cast<std::size_t>(packs));
  parallel_blocks(packs, control, [&](Index pack, int) {
    grams_[static_cast<std::size_t>(pack)].assign(static_cast<std::size_t>(pack_ * numbers()), Real(0));
  });
  if (control.stop()) return;
  if (shared_ != nullptr)
    scale_shared(first, packs, control);
  else
    add_codes(first, packs, control);
  if (!control.stop()) made_ = first;
}

template <class T, class Real>
void RowSystems<T, Real>::scale_shared(Index first, Index packs, const Control& control) {
  parallel_blocks(packs * pack_, control, [&](Index vector, int) {
    Real* grams = gram(vector);
    const Index top = (first + vector) * kLanes;
    for (Index lane = 0; lane < std::min(kLanes, m_ - top); ++lane) {
      const double phi = static_cast<double>(weights_->feature[static_cast<std::size_t>(top + lane)]);
      for (Index k = 0; k < u_; ++k)
        for (Index l = 0; l <= k; ++l)
          grams[(row_offset(k) + column_offset(l)) * kLanes + lane] = static_cast<Real>(phi * (*shared_)(k, l));
    }
  });
}

template <class T, class Real>
void RowSystems<T, Real>::add_codes(Index first, Index packs, const Control& control) {
  Pairs pairs;
  std::vector<Vector<Real>> weights(static_cast<std::size_t>(thread_count(control)));
  for (Index from = 0, to = 0; from < n_ && !control.stop(); from = to) {
    to = end_of_chunk(from);
    gather_pairs(from, to, pairs, control);
    if (control.stop()) return;
    parallel_blocks(packs, control, [&](Index pack, int worker) {
      const Index rows = pack_ * kLanes;
      Vector<Real>& w = weights[static_cast<std::size_t>(worker)];
      w.assign(static_cast<std::size_t>((to - from) * rows), Real(0));
      const Index top = first * kLanes + pack * rows, count = std::min(rows, m_ - top);
      for (Index j = from; j < to; ++j) {
        const double root = root_[static_cast<std::size_t>(j)];
        if (root == 0) continue;
        Real* out = w.data() + (j - from) * rows;
        for (Index i = 0; i < count; ++i)
          out[i] = static_cast<Real>(static_cast<double>((*weights_)(top + i, j)) / root / root);
      }
      Real* grams = gram(pack * pack_);
      const auto add = pack_ == 8   ? add_pairs<8, Real, typename Pairs::Pair>
                       : pack_ == 4 ? add_pairs<4, Real, typename Pairs::Pair>
                       : pack_ == 2 ? add_pairs<2, Real, typename Pairs::Pair>
                                    : add_pairs<1, Real, typename Pairs::Pair>;
      for (std::size_t at = 0; at + 1 < pairs.start.size(); ++at)
        if (pairs.start[at] < pairs.start[at + 1])
          add(pairs.pairs.data() + pairs.start[at], static_cast<Index>(pairs.start[at + 1] - pairs.start[at]), w.data(),
              grams + static_cast<Index>(at) * kLanes, numbers());
    });
  }
}

template <class T, class Real>
void RowSystems<T, Real>::solve_vector(Index vector, const Real* gram, const Vector<Real>& diagonal,
                                       const Matrix<double>& y, Matrix<double>& x, bool with_hessian, Worker& w) const {
  const Index first = vector * kLanes, count = std::min(kLanes, m_ - first), padded = tiles_ * kTile;
  w.solution.assign(static_cast<std::size_t>(padded * kLanes), Real(0));
  for (Index k = 0; k < u_; ++k)
    for (Index lane = 0; lane < count; ++lane)
      w.solution[static_cast<std::size_t>(k * kLanes + lane)] = static_cast<Real>(x(k, first + lane));
  w.system.resize(static_cast<std::size_t>(numbers()));
  factor_systems(gram, diagonal.data(), tiles_, w.system.data());
  solve_systems(w.system.data(), tiles_, w.solution.data());
  for (Index k = 0; k < u_; ++k) {
    Real* from = w.solution.data() + k * kLanes;
    for (Index lane = 0; lane < count; ++lane) {
      x(k, first + lane) = y(k, first + lane) + static_cast<double>(from[lane]);
      from[lane] = static_cast<Real>(x(k, first + lane));
    }
  }
  if (!with_hessian) return;
  invert_factors(w.system.data(), tiles_);
  add_curvature(w.system.data(), tiles_, w.solution.data(), w.sums.data());
}

template <class T, class Real>
void RowSystems<T, Real>::solve(const std::vector<double>& diagonal, const Matrix<double>& y, Matrix<double>& x,
                                Matrix<double>* hessian, const Control& control) {
  if (hessian != nullptr) hessian->fill(0);
  Vector<Real> added(static_cast<std::size_t>(tiles_ * kTile), Real(1));
  for (std::size_t k = 0; k < diagonal.size(); ++k) added[k] = static_cast<Real>(std::min(diagonal[k], 1e30));
  std::vector<Worker> workers(static_cast<std::size_t>(thread_count(control)));
  for (Index first = 0; first < vectors_ && !control.stop(); first += strip_) {
    if (made_ != first) make_grams(first, control);
    if (made_ != first) return;  // stopped
    // a fixed number of groups, each with its own Hessian: sums in the order of groups, whatever the threads
    const Index vectors = std::min(strip_, vectors_ - first), groups = std::min<Index>(vectors, 16);
    std::vector<Matrix<double>> sums(static_cast<std::size_t>(hessian != nullptr ? groups : 0), Matrix<double>(u_, u_));
    parallel_blocks(groups, control, [&](Index group, int worker) {
      Worker& w = workers[static_cast<std::size_t>(worker)];
      w.sums.assign(static_cast<std::size_t>(hessian != nullptr ? numbers() : 0), Real(0));
      for (Index v = group; v < vectors && !control.stop(); v += groups)
        solve_vector(first + v, gram(v), added, y, x, hessian != nullptr, w);
      if (hessian == nullptr) return;
      Matrix<double>& sum = sums[static_cast<std::size_t>(group)];
      for (Index k = 0; k < u_; ++k)
        for (Index l = 0; l <= k; ++l) {
          const Real* lanes = w.sums.data() + (row_offset(k) + column_offset(l)) * kLanes;
          for (Index lane = 0; lane < kLanes; ++lane) sum(k, l) += 2 * static_cast<double>(lanes[lane]);
        }
    });
    for (const Matrix<double>& sum : sums)
      for (Index l = 0; l < u_; ++l)
        for (Index k = l; k < u_; ++k) (*hessian)(k, l) += sum(k, l);
  }
  if (hessian == nullptr) return;
  for (Index l = 0; l < u_; ++l)
    for (Index k = 0; k < l; ++k) (*hessian)(k, l) = (*hessian)(l, k);
}

template class RowSystems<float, float>;
template class RowSystems<float, double>;
template class RowSystems<double, float>;
template class RowSystems<double, double>;

}  // namespace pacewise

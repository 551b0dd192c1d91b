#include "graph/observed.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <unordered_map>

#include "algebra/index.hpp"

namespace pacewise {
namespace {

constexpr Index kSamples = 1024;  // per block: partial sums are m per block

/// First observed value of each feature. Means are taken of x - pivot, so a constant feature has its exact value as
/// mean and vanishes exactly once centred.
template <class T>
std::vector<double> pivots(MatrixView<const T> X) {
  std::vector<double> pivot(to_size(X.rows), 0.0);
  std::vector<Index> open(to_size(X.rows));
  for (Index i = 0; i < X.rows; ++i) open[to_size(i)] = i;
  for (Index j = 0; j < X.cols && !open.empty(); ++j)
    std::erase_if(open, [&](Index i) {
      if (std::isnan(X(i, j))) return false;
      pivot[to_size(i)] = static_cast<double>(X(i, j));
      return true;
    });
  return pivot;
}

struct Partial {
  std::vector<double> sum;
  std::vector<Index> count;
  double largest = 0;
};

template <class T>
void observe_block(MatrixView<const T> X, Index first, const std::vector<double>& pivot, std::int32_t* observed,
                   Partial& out) {
  out.sum.assign(to_size(X.rows), 0.0);
  out.count.assign(to_size(X.rows), 0);
  for (Index j = 0; j < X.cols; ++j) {
    std::int32_t present = 0;
    for (Index i = 0; i < X.rows; ++i) {
      const double x = static_cast<double>(X(i, j));
      if (std::isnan(x)) continue;
      if (std::isinf(x))
        throw Error("X: sample " + std::to_string(first + j) + ", feature " + std::to_string(i) +
                    " is infinite, must be finite (or NaN where missing)");
      out.sum[to_size(i)] += x - pivot[to_size(i)];
      out.largest = std::max(out.largest, std::abs(x));
      ++out.count[to_size(i)];
      ++present;
    }
    observed[j] = present;
  }
}

template <class T>
std::uint64_t hash_sample(const T* x, Index m) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  std::uint64_t h = 0x9e3779b97f4a7c15ULL;
  for (Index i = 0; i < m; ++i) {
    // -0 and +0 are equal, and so are all NaN
    const std::uint64_t bits = x[i] == 0 ? 0 : std::isnan(x[i]) ? 1 : std::bit_cast<Bits>(x[i]);
    h = (h ^ bits) * 0xff51afd7ed558ccdULL;
    h ^= h >> 32;
  }
  return h;
}

template <class T>
bool equal_samples(const T* a, const T* b, Index m) {
  for (Index i = 0; i < m; ++i)
    if (!(a[i] == b[i]) && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
  return true;
}

}  // namespace

double Observed::scale() const {
  return largest > 0 ? std::ldexp(1.0, -std::clamp(std::ilogb(largest), -1000, 1000) - 1) : 1;
}

template <class T>
Observed observe(MatrixView<const T> X, const Control& control) {
  const std::vector<double> pivot = pivots(X);
  const Index blocks = block_count(X.cols, kSamples);
  std::vector<Partial> partial(to_size(blocks));
  Observed out;
  out.count.assign(to_size(X.cols), 0);
  parallel_blocks(blocks, control, [&](Index block, int) {
    const Index first = block * kSamples;
    observe_block(X.columns(first, block_length(X.cols, block, kSamples)), first, pivot, out.count.data() + first,
                  partial[to_size(block)]);
  });
  std::vector<Index> count(to_size(X.rows), 0);
  out.mean.assign(to_size(X.rows), 0.0);
  Index present = 0;
  for (const Partial& part : partial) {
    if (part.sum.empty()) continue;  // stopped before it began
    for (Index i = 0; i < X.rows; ++i) {
      out.mean[to_size(i)] += part.sum[to_size(i)];
      count[to_size(i)] += part.count[to_size(i)];
      present += part.count[to_size(i)];
    }
    out.largest = std::max(out.largest, part.largest);
  }
  for (Index i = 0; i < X.rows; ++i) {
    const double shift = count[to_size(i)] > 0 ? out.mean[to_size(i)] / static_cast<double>(count[to_size(i)]) : 0;
    out.mean[to_size(i)] =
        std::isfinite(shift) ? pivot[to_size(i)] + shift : 0;  // sums of numbers near the largest one overflow
  }
  out.missing = X.rows * X.cols - present;
  return out;
}

template <class T>
EqualSamples group_equal(MatrixView<const T> X, const Observed& observed, const Control& control) {
  const Index n = X.cols;
  std::vector<std::uint64_t> hash(to_size(n), 0);
  parallel_blocks(block_count(n, kSamples), control, [&](Index block, int) {
    const Index end = block * kSamples + block_length(n, block, kSamples);
    for (Index j = block * kSamples; j < end; ++j) hash[to_size(j)] = hash_sample(X.col(j), X.rows);
  });
  EqualSamples out;
  out.group.assign(to_size(n), -1);
  if (control.stop()) return out;                              // not every hash is there
  std::unordered_multimap<std::uint64_t, std::int32_t> known;  // hash -> groups that have it
  known.reserve(to_size(n));
  for (Index j = 0; j < n; ++j) {
    if (observed.count[to_size(j)] == 0) continue;
    const auto [begin, end] = known.equal_range(hash[to_size(j)]);
    const auto same = std::find_if(begin, end, [&](const auto& entry) {
      return equal_samples(X.col(out.representative[to_size(entry.second)]), X.col(j), X.rows);
    });
    if (same != end) {
      out.group[to_size(j)] = same->second;
      continue;
    }
    out.group[to_size(j)] = static_cast<std::int32_t>(out.groups());
    known.emplace(hash[to_size(j)], out.group[to_size(j)]);
    out.representative.push_back(static_cast<std::int32_t>(j));
  }
  out.start.assign(out.representative.size() + 1, 0);
  for (const std::int32_t g : out.group)
    if (g >= 0) ++out.start[to_size(g) + 1];
  for (std::size_t g = 1; g < out.start.size(); ++g) out.start[g] += out.start[g - 1];
  out.member.resize(to_size(out.start.back()));
  std::vector<Index> next(out.start.begin(), out.start.end() - 1);
  for (Index j = 0; j < n; ++j)
    if (out.group[to_size(j)] >= 0)
      out.member[to_size(next[to_size(out.group[to_size(j)])]++)] = static_cast<std::int32_t>(j);
  return out;
}

template Observed observe<float>(MatrixView<const float>, const Control&);
template Observed observe<double>(MatrixView<const double>, const Control&);
template EqualSamples group_equal<float>(MatrixView<const float>, const Observed&, const Control&);
template EqualSamples group_equal<double>(MatrixView<const double>, const Observed&, const Control&);

}  // namespace pacewise

#pragma once
#include <cmath>
#include <cstdint>

#include "pacewise/matrix.hpp"

namespace pacewise {

/// SplitMix64: the same numbers on every compiler and platform, which std::normal_distribution does not promise.
/// Its whole state is one word, so a checkpoint stores it as one number.
class Random {
 public:
  explicit Random(std::uint64_t seed = 0) : state_(seed) {}
  std::uint64_t state() const { return state_; }

  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// uniform on [0, 1)
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  /// uniform on {0, .., n-1}
  Index below(Index n) { return static_cast<Index>(uniform() * static_cast<double>(n)); }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * 3.14159265358979323846 * uniform());
  }
  /// index drawn in proportion to weight >= 0; -1 where the weights sum to zero
  Index draw(const Vector<double>& weight) {
    double total = 0;
    for (const double w : weight) total += w;
    if (!(total > 0)) return -1;
    double left = uniform() * total;
    Index last = -1;
    for (Index i = 0; i < std::ssize(weight); ++i) {
      if (weight[i] <= 0) continue;
      last = i;
      if ((left -= weight[i]) < 0) break;
    }
    return last;
  }

 private:
  std::uint64_t state_;
};

}  // namespace pacewise

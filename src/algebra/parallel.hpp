#pragma once
#include <algorithm>
#include <functional>

#include "pacewise/data.hpp"

namespace pacewise {

int thread_count(const Control& control);

/// Calls body(block, worker) once for every block in [0, blocks), worker in [0, thread_count). Which worker gets which
/// block is open, so a body writes only what belongs to its block and uses `worker` for scratch memory alone; sums are
/// formed by the caller afterwards, in block order. Blocks not yet begun are skipped once control.stop(); an exception
/// of a body is rethrown here.
void parallel_blocks(Index blocks, const Control& control, const std::function<void(Index block, int worker)>& body);

/// Samples or rows are cut into blocks of this fixed size, whatever the number of threads: that fixes the order of
/// sums.
inline constexpr Index kBlock = 64;
inline Index block_count(Index n, Index size = kBlock) { return (n + size - 1) / size; }
inline Index block_length(Index n, Index block, Index size = kBlock) { return std::min(size, n - block * size); }

/// Calls body(first, count, worker) for consecutive ranges of at most `size` of n things.
template <class Body>
void parallel_for(Index n, const Control& control, const Body& body, Index size = kBlock) {
  parallel_blocks(block_count(n, size), control,
                  [&](Index block, int worker) { body(block * size, block_length(n, block, size), worker); });
}

/// The sum over all ranges of what body(first, count, worker, sum) adds to `sum`, the same for any number of threads:
/// ranges are taken in at most `groups` consecutive groups, each summed from a copy of `zero` in its order, and the
/// sums are added in the order of the groups. Incomplete once control.stop().
template <class Sum, class Body>
Sum parallel_sum(Index n, const Control& control, const Sum& zero, const Body& body, Index size = kBlock,
                 Index groups = 16) {
  const Index blocks = block_count(n, size);
  groups = std::clamp<Index>(groups, 1, std::max<Index>(blocks, 1));
  std::vector<Sum> sums(static_cast<std::size_t>(groups), zero);
  parallel_blocks(groups, control, [&](Index g, int worker) {
    for (Index block = g * blocks / groups; block < (g + 1) * blocks / groups && !control.stop(); ++block)
      body(block * size, block_length(n, block, size), worker, sums[static_cast<std::size_t>(g)]);
  });
  for (std::size_t g = 1; g < sums.size(); ++g) sums[0] += sums[g];
  return std::move(sums[0]);
}

/// A mark for each of some things; the sum of marks has those of both.
struct Marks : Vector<char> {
  explicit Marks(Index n) : Vector<char>(n, char{0}) {}
  Marks& operator+=(const Marks& other) {
    for (Index i = 0; i < std::ssize(*this); ++i) (*this)[i] = std::max((*this)[i], other[i]);
    return *this;
  }
};

/// While one lives, BLAS runs single-threaded (our threads are over blocks); the last one to go restores the setting.
class SerialBlas {
 public:
  SerialBlas();
  ~SerialBlas();
  SerialBlas(const SerialBlas&) = delete;
  SerialBlas& operator=(const SerialBlas&) = delete;
};

}  // namespace pacewise

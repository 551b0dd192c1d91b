#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>

#include "algebra/matrix.hpp"

namespace pacewise {

/// How a computation may run: on how many threads, and when it must stop. Results never depend on it.
struct Control {
  int threads = 0;                            // 0: as many as the machine has
  const std::atomic<bool>* cancel = nullptr;  // set by the caller, polled once per block of work
  std::optional<std::chrono::steady_clock::time_point> deadline;
  const std::function<void(double share)>* progress = nullptr;  // called by the calling thread, shares ascending
  double from = 0, to = 1;                                      // the range of shares that this computation covers

  bool cancelled() const { return cancel != nullptr && cancel->load(std::memory_order_relaxed); }
  bool late() const { return deadline && std::chrono::steady_clock::now() > *deadline; }
  bool stop() const { return cancelled() || late(); }
  void report(double share) const {
    if (progress != nullptr) (*progress)(from + share * (to - from));
  }
  /// for a step that is the part [begin, end] of this computation
  Control part(double begin, double end) const {
    return {threads, cancel, deadline, progress, from + begin * (to - from), from + end * (to - from)};
  }
  /// As many threads, and nothing stops it: for short work whose result is wanted whole
  Control to_the_end() const { return {threads, nullptr, {}, nullptr}; }
};

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

/// The same in blocks of one to two times that, as equal as can be: the last is no remnant.
class EvenBlocks {
 public:
  explicit EvenBlocks(Index n) : n_(n), size_(block_count(n, std::max<Index>(n / kBlock, 1))) {}
  Index size() const { return size_; }
  Index count() const { return n_ > 0 ? block_count(n_, size_) : 0; }
  Index first(Index block) const { return block * size_; }
  Index end(Index block) const { return std::min(n_, first(block) + size_); }
  Index length(Index block) const { return end(block) - first(block); }

 private:
  Index n_, size_;
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

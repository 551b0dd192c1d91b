#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>

namespace pacewise {

/// How a computation may run: on how many threads, and when it must stop. Results never depend on it.
struct Control {
  int threads = 0;                            // 0: as many as the machine has
  const std::atomic<bool>* cancel = nullptr;  // set by the caller, polled once per block of work
  std::optional<std::chrono::steady_clock::time_point> deadline = {};
  const std::function<void(double share)>* progress = nullptr;  // called by the calling thread, shares ascending
  double from = 0, to = 1;                                      // the range of shares that this computation covers

  bool cancelled() const { return cancel != nullptr && cancel->load(std::memory_order_relaxed); }
  bool late() const { return deadline && std::chrono::steady_clock::now() > *deadline; }
  bool stop() const { return cancelled() || late(); }
  void report(double share) const {
    if (progress != nullptr) (*progress)(from + share * (to - from));
  }
  /// Stops this many seconds from now; 30 years at most, which the clock can hold.
  void end_after(double seconds) {
    using Clock = std::chrono::steady_clock;
    const std::chrono::duration<double> time(std::min(seconds, 1e9));
    deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
  }
  /// for a step that is the part [begin, end] of this computation
  Control part(double begin, double end) const {
    return {threads, cancel, deadline, progress, from + begin * (to - from), from + end * (to - from)};
  }
  /// As many threads, and nothing stops it: for short work whose result is wanted whole
  Control to_the_end() const { return {threads, nullptr, {}, nullptr}; }
};

}  // namespace pacewise

#pragma once
#include <functional>

#include "algebra/parallel.hpp"

namespace pacewise::python {

/// Where the working thread has a question answered by the thread that called from Python.
class Desk {
 public:
  virtual ~Desk() = default;
  /// Runs `question` in the caller's thread with the GIL held; waits for the answer. false once the call is doomed.
  virtual bool ask(const std::function<bool()>& question) = 0;
};

/// Runs `work` in another thread without the GIL. Meanwhile the caller's thread answers questions and looks for
/// signals every 50 ms; Ctrl-C, or an exception of a question, sets the cancel flag and is raised once `work` is back.
/// The number of threads is resolved in the caller's thread: limits set for it (threadpoolctl) count.
void run(int threads, const std::function<void(const Control& control, Desk& desk)>& work);

inline void run(int threads, const std::function<void(const Control& control)>& work) {
  run(threads, [&](const Control& control, Desk&) { work(control); });
}

}  // namespace pacewise::python

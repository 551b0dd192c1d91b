#pragma once
#include <functional>

#include "algebra/parallel.hpp"

namespace pacewise::python {

/// Lets the worker thread call Python in the thread that called from Python.
class Caller {
 public:
  virtual ~Caller() = default;
  /// Runs `callback` there with the GIL held and returns its answer; false once the run is to stop.
  virtual bool call(const std::function<bool()>& callback) = 0;
};

/// Runs `work` in a worker thread without the GIL. Meanwhile the caller's thread runs callbacks and looks for signals
/// every 50 ms; Ctrl-C, or an exception of a callback, sets the cancel flag and is raised once `work` has returned.
/// The number of threads is resolved in the caller's thread: limits set for it (threadpoolctl) count.
void run(int threads, const std::function<void(const Control& control, Caller& caller)>& work);

inline void run(int threads, const std::function<void(const Control& control)>& work) {
  run(threads, [&](const Control& control, Caller&) { work(control); });
}

}  // namespace pacewise::python

#pragma once
#include <functional>

namespace pacewise {

/// Calls work(worker) at most once for each worker in [0, threads), worker 0 in the calling thread, and returns when
/// all calls have returned. Workers share the work by a counter of their own: one that the system starts late may find
/// nothing to do, and is then not waited for. `work` does not throw. Inside `work`, another call runs on one thread.
void run_on_threads(int threads, const std::function<void(int worker)>& work);

}  // namespace pacewise

#pragma once
#include <atomic>
#include <cstddef>
#include <functional>

namespace pacewise::reproduce {

/// Calls work(i) for every i in [0, count) on `threads` threads of their own (0: as many as the machine has), in this
/// order of beginning. The calling thread waits, and calls finished(i) once for each that ended, in order of ending,
/// and waiting() several times a second. Nothing new begins once *cancel; what ends after that is not reported. The
/// first exception is rethrown here when all threads have ended.
void run_in_parallel(std::size_t count, int threads, const std::atomic<bool>* cancel,
                     const std::function<void(std::size_t)>& work, const std::function<void(std::size_t)>& finished,
                     const std::function<void()>& waiting);

}  // namespace pacewise::reproduce

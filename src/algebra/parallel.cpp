#include "algebra/parallel.hpp"

#include <omp.h>

#include <exception>
#include <mutex>

#include "algebra/blas_kernels.hpp"
#include "algebra/thread_pool.hpp"

// OpenBLAS's own controls; with another BLAS behind the same symbols they are absent, and there is nothing to control.
extern "C" {
void openblas_set_num_threads(int) __attribute__((weak));
int openblas_get_num_threads() __attribute__((weak));
}

namespace pacewise {

// OpenMP's number, so that OMP_NUM_THREADS and threadpoolctl count.
// More threads than the machine can run only wait for each other.
int thread_count(const Control& control) {
  const int most = std::max(16, 2 * omp_get_num_procs());
  return std::min(control.threads > 0 ? control.threads : omp_get_max_threads(), most);
}

void parallel_blocks(Index blocks, const Control& control, const std::function<void(Index, int)>& body) {
  const SerialBlas serial;
  std::exception_ptr failure;
  std::mutex failure_lock;
  std::atomic<bool> failed{false};
  // Each worker begins with a range of its own, the same in every loop over as many blocks, so that it finds in its
  // cache what it left there; then it helps the others.
  struct alignas(64) Blocks {
    std::atomic<Index> next;
    Index end;
  };
  const auto workers = static_cast<int>(std::clamp<Index>(blocks, 1, thread_count(control)));
  std::vector<Blocks> ranges(static_cast<std::size_t>(workers));
  for (int w = 0; w < workers; ++w) {
    ranges[static_cast<std::size_t>(w)].next = blocks * w / workers;
    ranges[static_cast<std::size_t>(w)].end = blocks * (w + 1) / workers;
  }
  run_on_threads(workers, [&](int worker) {
    try {
      for (int turn = 0; turn < workers; ++turn) {
        Blocks& range = ranges[static_cast<std::size_t>((worker + turn) % workers)];
        while (!failed && !control.stop()) {
          const Index block = range.next++;
          if (block >= range.end) break;
          body(block, worker);
        }
      }
    } catch (...) {
      const std::lock_guard lock(failure_lock);
      if (!failure) failure = std::current_exception();
      failed = true;
    }
  });
  if (failure) std::rethrow_exception(failure);
}

namespace {
std::mutex blas_lock;
int blas_users = 0;
int blas_threads_before = 1;
}  // namespace

SerialBlas::SerialBlas() {
  static const bool chosen = (choose_blas_kernels(), true);  // once, before the library's first product
  static_cast<void>(chosen);
  const std::lock_guard lock(blas_lock);
  if (blas_users++ > 0 || openblas_get_num_threads == nullptr) return;
  blas_threads_before = openblas_get_num_threads();
  if (blas_threads_before != 1) openblas_set_num_threads(1);
}

SerialBlas::~SerialBlas() {
  const std::lock_guard lock(blas_lock);
  if (--blas_users > 0 || openblas_set_num_threads == nullptr) return;
  if (blas_threads_before != 1) openblas_set_num_threads(blas_threads_before);
}

}  // namespace pacewise

#include "algebra/parallel.hpp"

#include <omp.h>

#include <exception>
#include <mutex>

// OpenBLAS's own controls; with another BLAS behind the same symbols they are absent, and there is nothing to control.
extern "C" {
void openblas_set_num_threads(int) __attribute__((weak));
int openblas_get_num_threads() __attribute__((weak));
}

namespace pacewise {

int thread_count(const Control& control) { return control.threads > 0 ? control.threads : omp_get_max_threads(); }

void parallel_blocks(Index blocks, const Control& control, const std::function<void(Index, int)>& body) {
  const SerialBlas serial;
  const int threads = static_cast<int>(std::clamp<Index>(blocks, 1, thread_count(control)));
  if (threads == 1) {  // a team of one inside another is no small thing to OpenMP
    for (Index block = 0; block < blocks && !control.stop(); ++block) body(block, 0);
    return;
  }
  std::exception_ptr failure;
  std::mutex failure_lock;
  std::atomic<bool> failed{false};
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (Index block = 0; block < blocks; ++block) {
    if (failed.load(std::memory_order_relaxed) || control.stop()) continue;
    try {
      body(block, omp_get_thread_num());
    } catch (...) {
      const std::lock_guard lock(failure_lock);
      if (!failure) failure = std::current_exception();
      failed = true;
    }
  }
  if (failure) std::rethrow_exception(failure);
}

namespace {
std::mutex blas_lock;
int blas_users = 0;
int blas_threads_before = 1;
}  // namespace

SerialBlas::SerialBlas() {
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

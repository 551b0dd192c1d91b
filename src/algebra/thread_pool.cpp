#include "algebra/thread_pool.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

// Not OpenMP's threads: libgomp's spin for milliseconds before they sleep, which only the environment can change. With
// more threads than free cores a fit took two to five times as long (measured under other load, not on idle cores).

namespace pacewise {
namespace {

/// A thread that waits spins this long before it sleeps: about the time that waking it takes.
constexpr std::chrono::microseconds kSpin{100};

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

struct Task {
  const std::function<void(int)>* work;
  int worker;
};
const Task kRunning{};

/// A thread and the one task it has: null (idle) -> a task (given) -> kRunning -> null.
class Worker {
 public:
  Worker() {
    std::thread([this] { loop(); }).detach();
  }
  void give(const Task& task) {
    task_ = &task;
    task_.notify_one();
  }
  /// Takes the task back where it has not begun, else waits for its end.
  void finish(const Task& task) {
    const Task* expected = &task;
    if (!task_.compare_exchange_strong(expected, nullptr)) wait_while(&kRunning);
  }

 private:
  void loop() {
    for (;;) {
      wait_while(nullptr);
      const Task* task = task_;
      if (task == nullptr || !task_.compare_exchange_strong(task, &kRunning)) continue;  // it was taken back
      (*task->work)(task->worker);
      task_ = nullptr;
      task_.notify_one();
    }
  }
  void wait_while(const Task* value) {
    for (const auto end = std::chrono::steady_clock::now() + kSpin; std::chrono::steady_clock::now() < end;)
      for (int i = 0; i < 16; ++i) {
        if (task_ != value) return;
        pause();
      }
    task_.wait(value);
  }

  std::atomic<const Task*> task_{nullptr};
};

/// Idle workers. Callers in several threads have workers of their own.
struct Pool {
  std::mutex lock;
  std::vector<Worker*> idle;
};

/// Never destroyed: its threads wait until the process ends. A forked child has none of them and begins with none.
Pool*& pool() {
  static Pool* current = [] {
    ::pthread_atfork(nullptr, nullptr, [] { pool() = new Pool; });
    return new Pool;
  }();
  return current;
}

thread_local bool inside = false;

}  // namespace

void run_on_threads(int threads, const std::function<void(int)>& work) {
  if (threads <= 1 || inside) {
    work(0);
    return;
  }
  const auto helpers = static_cast<std::size_t>(threads) - 1;
  std::vector<Worker*> team;
  std::vector<Task> tasks;
  const std::function<void(int)> marked = [&](int worker) {
    inside = true;
    work(worker);
    inside = false;
  };
  {
    const std::lock_guard lock(pool()->lock);
    std::vector<Worker*>& idle = pool()->idle;
    while (idle.size() < helpers) idle.push_back(new Worker);
    team.assign(idle.end() - static_cast<std::ptrdiff_t>(helpers), idle.end());
    idle.resize(idle.size() - helpers);
  }
  for (int worker = 1; worker < threads; ++worker) tasks.push_back({&marked, worker});
  for (std::size_t t = 0; t < helpers; ++t) team[t]->give(tasks[t]);
  marked(0);
  for (std::size_t t = 0; t < helpers; ++t) team[t]->finish(tasks[t]);
  const std::lock_guard lock(pool()->lock);
  pool()->idle.insert(pool()->idle.end(), team.begin(), team.end());
}

}  // namespace pacewise

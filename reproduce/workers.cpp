#include "reproduce/workers.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace pacewise::reproduce {
namespace {

struct Shared {
  std::mutex lock;
  std::condition_variable news;
  std::deque<std::size_t> ended;
  std::size_t next = 0;
  int running = 0;
  bool stop = false;
  std::exception_ptr failure;
};

void serve(Shared& shared, std::size_t count, const std::atomic<bool>* cancel,
           const std::function<void(std::size_t)>& work) {
  std::unique_lock lock(shared.lock);
  while (!shared.stop && shared.next < count && !cancel->load(std::memory_order_relaxed)) {
    const std::size_t i = shared.next++;
    lock.unlock();
    std::exception_ptr failure;
    try {
      work(i);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure && !shared.failure) shared.failure = failure;
    if (failure) shared.stop = true;
    if (!failure && !cancel->load(std::memory_order_relaxed)) shared.ended.push_back(i);
    shared.news.notify_one();
  }
  --shared.running;
  shared.news.notify_one();
}

/// Ends the threads on every way out, also where `finished` throws.
struct Team {
  Shared& shared;
  std::vector<std::thread> members;
  ~Team() {
    {
      const std::lock_guard lock(shared.lock);
      shared.stop = true;
    }
    for (std::thread& member : members) member.join();
  }
};

}  // namespace

void run_in_parallel(std::size_t count, int threads, const std::atomic<bool>* cancel,
                     const std::function<void(std::size_t)>& work, const std::function<void(std::size_t)>& finished,
                     const std::function<void()>& waiting) {
  static constexpr std::chrono::milliseconds pause{150};
  const auto wanted =
      threads > 0 ? static_cast<std::size_t>(threads) : std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
  Shared shared;
  {
    Team team{shared, {}};
    std::unique_lock lock(shared.lock);
    for (std::size_t t = 0; t < std::min(wanted, count); ++t) {
      team.members.emplace_back([&] { serve(shared, count, cancel, work); });
      ++shared.running;
    }
    while (shared.running > 0 || !shared.ended.empty()) {
      if (shared.ended.empty()) shared.news.wait_for(lock, pause);
      std::deque<std::size_t> ended;
      ended.swap(shared.ended);
      lock.unlock();
      for (const std::size_t i : ended) finished(i);
      waiting();
      lock.lock();
    }
    lock.unlock();
  }
  if (shared.failure) std::rethrow_exception(shared.failure);
}

}  // namespace pacewise::reproduce

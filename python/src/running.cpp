#include "running.hpp"

#include <nanobind/nanobind.h>
#include <pthread.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace nb = nanobind;

namespace pacewise::python {
namespace {

constexpr std::chrono::milliseconds kSignalInterval{50};

class SharedDesk final : public Desk {
 public:
  bool ask(const std::function<bool()>& question) override {
    std::unique_lock lock(mutex_);
    question_ = &question;
    changed_.notify_all();
    changed_.wait(lock, [&] { return question_ == nullptr; });
    return answer_;
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  /// Without the GIL: waits for a question, the end, or the time to look for signals. True at the end.
  bool wait(const std::function<bool()>*& question) {
    const nb::gil_scoped_release released;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kSignalInterval, [&] { return question_ != nullptr || closed_; });
    question = question_;
    return closed_;
  }

  void answer(bool value) {
    const std::lock_guard lock(mutex_);
    answer_ = value;
    question_ = nullptr;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<bool()>* question_ = nullptr;
  bool answer_ = false, closed_ = false;
};

/// A thread that does one job after the other, until it is dismissed.
class Hand {
 public:
  Hand() {
    std::thread([this] { work(); }).detach();
  }
  void dismiss() {
    const std::lock_guard lock(mutex_);
    dismissed_ = true;
    changed_.notify_all();
  }
  void begin(const std::function<void()>& job) {
    const std::lock_guard lock(mutex_);
    job_ = &job;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return job_ == nullptr; });
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return job_ != nullptr || dismissed_; });
      if (dismissed_) break;
      lock.unlock();
      (*job_)();
      lock.lock();
      job_ = nullptr;
      changed_.notify_all();
    }
    delete this;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* job_ = nullptr;
  bool dismissed_ = false;
};

/// A few hands are kept from call to call: OpenMP keeps its threads for the thread that started them, and the allocator
/// its memory. A forked child has to have its own. All under the GIL.
class Hands {
 public:
  static Hands& of_process() {
    static auto* const all = new Hands;  // never destroyed: threads wait to the end
    return *all;
  }
  Hand* take() {
    if (idle_.empty()) return new Hand;
    Hand* const hand = idle_.back();
    idle_.pop_back();
    return hand;
  }
  void give_back(Hand* hand) {
    constexpr std::size_t kept = 4;
    if (idle_.size() < kept)
      idle_.push_back(hand);
    else
      hand->dismiss();
  }

 private:
  Hands() {
    idle_.reserve(8);
    ::pthread_atfork(nullptr, nullptr, [] { of_process().idle_.clear(); });
  }
  std::vector<Hand*> idle_;
};

/// A hand at work: whatever happens, it is done before what it works on is gone.
class Borrowed {
 public:
  explicit Borrowed(const std::function<void()>& job) : hand_(Hands::of_process().take()) { hand_->begin(job); }
  ~Borrowed() {
    hand_->wait();
    Hands::of_process().give_back(hand_);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

 private:
  Hand* hand_;
};

/// Calls `body`; true where it went well, else `failure` is set.
template <class Body>
bool kept(std::exception_ptr& failure, Body&& body) {
  try {
    body();
    return true;
  } catch (...) {
    failure = std::current_exception();
    return false;
  }
}

}  // namespace

void run(int threads, const std::function<void(const Control&, Desk&)>& work) {
  std::atomic<bool> cancel{false};
  Control control;
  control.threads = threads;
  control.threads = thread_count(control);
  control.cancel = &cancel;

  SharedDesk desk;
  std::exception_ptr failure, python_failure;
  const std::function<void()> job = [&] {
    kept(failure, [&] { work(control, desk); });
    desk.close();
  };
  for (const Borrowed hand(job);;) {
    const std::function<bool()>* question = nullptr;
    const bool over = desk.wait(question);
    if (question != nullptr) {
      bool answer = false;
      if (!python_failure && !kept(python_failure, [&] { answer = (*question)(); })) cancel = true;
      desk.answer(answer);
    }
    if (over) break;
    if (!python_failure && PyErr_CheckSignals() != 0) {
      kept(python_failure, [] { throw nb::python_error(); });
      cancel = true;
    }
  }
  if (python_failure) std::rethrow_exception(python_failure);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace pacewise::python

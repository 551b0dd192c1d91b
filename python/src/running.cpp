#include "running.hpp"

#include <nanobind/nanobind.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace nb = nanobind;

namespace pacewise::python {
namespace {

constexpr std::chrono::milliseconds kSignalInterval{50};

class CallbackQueue final : public Caller {
 public:
  bool call(const std::function<bool()>& callback) override {
    std::unique_lock lock(mutex_);
    callback_ = &callback;
    changed_.notify_all();
    changed_.wait(lock, [&] { return callback_ == nullptr; });
    return answer_;
  }
  void answer(bool value) {
    const std::lock_guard lock(mutex_);
    answer_ = value;
    callback_ = nullptr;
    changed_.notify_all();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  /// Without the GIL: waits for a callback, the end of the work or the time to look for signals. False at the end.
  bool wait(const std::function<bool()>*& callback) {
    const nb::gil_scoped_release released;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kSignalInterval, [&] { return callback_ != nullptr || closed_; });
    callback = callback_;
    return !closed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<bool()>* callback_ = nullptr;
  bool answer_ = false, closed_ = false;
};

}  // namespace

void run(int threads, const std::function<void(const Control&, Caller&)>& work) {
  std::atomic<bool> cancel{false};
  Control control;
  control.threads = threads;
  control.threads = thread_count(control);
  control.cancel = &cancel;

  CallbackQueue queue;
  std::exception_ptr failure, python_failure;
  std::thread worker([&] {
    try {
      work(control, queue);
    } catch (...) {
      failure = std::current_exception();
    }
    queue.close();
  });
  for (const std::function<bool()>* callback = nullptr; queue.wait(callback);) {
    bool answer = false;
    try {
      if (!python_failure && callback != nullptr) answer = (*callback)();
      if (!python_failure && PyErr_CheckSignals() != 0) throw nb::python_error();
    } catch (...) {
      python_failure = std::current_exception();
      cancel = true;
    }
    if (callback != nullptr) queue.answer(answer && !python_failure);
  }
  worker.join();
  if (python_failure) std::rethrow_exception(python_failure);
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError,
                    "the machine has not enough memory for this; give fewer samples or atoms, or float32");
    throw nb::python_error();
  }
}

}  // namespace pacewise::python

#include "apps/cli/signals.hpp"

#include <csignal>

namespace pacewise::cli {
namespace {

std::atomic<bool> flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

constexpr int kStopping[] = {SIGINT, SIGTERM, SIGHUP};  // the last: the terminal was closed

/// The first one ends the work in good order; the second one, the program.
extern "C" void on_signal(int) {
  flag.store(true, std::memory_order_relaxed);
  for (const int number : kStopping) std::signal(number, SIG_DFL);
}

}  // namespace

void catch_signals() {
  struct sigaction action {};  // without SA_RESTART: a read that waits for a pipe ends with EINTR
  action.sa_handler = on_signal;
  for (const int number : kStopping) {
    struct sigaction before {};
    sigaction(number, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);  // nohup stays nohup
  }
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a failed write with a message, not a silent death
  std::signal(SIGXFSZ, SIG_IGN);  // so is a file that may not grow any more
}

const std::atomic<bool>& interrupted() { return flag; }

}  // namespace pacewise::cli

#include "apps/cli/signals.hpp"

#include <csignal>

namespace pacewise::cli {
namespace {

std::atomic<bool> flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

extern "C" void on_signal(int) {
  flag.store(true, std::memory_order_relaxed);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

void catch_signals() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a failed write with a message, not a silent death
  std::signal(SIGXFSZ, SIG_IGN);  // so is a file that may not grow any more
}

const std::atomic<bool>& interrupted() { return flag; }

}  // namespace pacewise::cli

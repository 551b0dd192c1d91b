#pragma once
#include <atomic>

namespace pacewise::cli {

/// From here on the first SIGINT or SIGTERM sets the flag; the second one kills the process as usual.
void catch_signals();
const std::atomic<bool>& interrupted();

}  // namespace pacewise::cli

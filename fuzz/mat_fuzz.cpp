#include "memory_file.hpp"

/// The header of a v5 file fills 128 bytes; what follows is fuzzed.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string start = "MATLAB 5.0 MAT-file";
  start.resize(124, ' ');
  start.append("\0\1IM", 4);
  return pacewise::fuzz::read_bytes(start, data, size);
}

#include "memory_file.hpp"

/// The header of a v7.3 file fills 128 bytes; HDF5 begins at byte 512.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string start = "MATLAB 7.3 MAT-file";
  start.resize(124, ' ');
  start.append("\0\2IM", 4);
  return pacewise::fuzz::read_bytes(start, data, size);
}

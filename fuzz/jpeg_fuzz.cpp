#include "memory_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return pacewise::fuzz::read_bytes("\xff\xd8\xff", data, size);
}

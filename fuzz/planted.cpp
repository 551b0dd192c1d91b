#include <cstring>
#include <memory>

#include "targets.hpp"

namespace pacewise::fuzz {
namespace {

bool guessed(std::string_view input) {
  return input.size() > 3 && input[0] == 'P' && input[1] == 'W' && input[2] == 'X';
}

}  // namespace

void planted_overflow(std::string_view input) {
  if (!guessed(input)) return;
  const std::unique_ptr<char[]> copy(new char[input.size()]);
  std::memcpy(copy.get(), input.data(), input.size());
  volatile char beyond = copy[input.size()];
  static_cast<void>(beyond);
}

void planted_allocation(std::string_view input) {
  if (!guessed(input)) return;
  const std::unique_ptr<char[]> huge(new char[std::size_t{100} << 20U]);
  volatile char touched = huge[0] = 1;
  static_cast<void>(touched);
}

void planted_hang(std::string_view input) {
  volatile bool forever = guessed(input);
  while (forever) {
  }
}

}  // namespace pacewise::fuzz

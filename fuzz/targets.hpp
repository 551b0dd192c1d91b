#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace pacewise::fuzz {

/// The input cut into the arrays of a sound zip file, so that the checksums do not keep the fuzzer out: each piece is
/// preceded by its length.
std::string zip_of_arrays(std::string_view input);

/// Faults that the fuzzer must find, each behind three bytes it has to guess.
void planted_overflow(std::string_view input);
void planted_allocation(std::string_view input);
void planted_hang(std::string_view input);

}  // namespace pacewise::fuzz

#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace pacewise {

/// Appends the digits at `at` to `whole`, eight at a time within one word; the number of digits, or -1 where [at, end)
/// is too short to look at a whole word or there are more than 19 digits (`whole` may have overflowed).
inline int take_digits(const char*& at, const char* end, std::uint64_t& whole) {
  static constexpr std::uint64_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  for (int taken = 0; taken <= 16;) {
    if (end - at < 8) return -1;
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    word ^= 0x3030303030303030U;  // a digit is its value now, anything else is above 9
    const std::uint64_t other = ((word + 0x7676767676767676U) | word) & 0x8080808080808080U;
    const int run = other == 0 ? 8 : std::countr_zero(other) / 8;
    if (run == 0) return taken;
    word <<= static_cast<unsigned>(8 * (8 - run));  // zeros before the digits, nothing behind them
    word = 10 * word + (word >> 8U);                // pairs of digits
    constexpr std::uint64_t mask = 0x000000FF000000FFU;
    word = ((word & mask) * 0x000F424000000064U + ((word >> 16U) & mask) * 0x0000271000000001U) >> 32U;
    whole = whole * powers[run] + word;
    at += run;
    taken += run;
    if (run < 8) return taken;
  }
  return -1;
}

/// The number at [at, end) where it is an easy one, and the address after it; else nullptr: std::from_chars knows them
/// all. Easy is d[.d][e[+-]d] = w 10^x with w and 10^|x| exact in T: one correctly rounded operation gives the nearest
/// T, bit for bit what std::from_chars gives.
template <class T>
inline const char* parse_easy_decimal(const char* at, const char* end, T& value) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  constexpr bool wide = sizeof(T) == 8;
  constexpr std::uint64_t most_whole = wide ? std::uint64_t{1} << 53U : std::uint64_t{1} << 24U;
  constexpr int most_power = wide ? 22 : 10;
  static constexpr T powers[] = {T(1e0),  T(1e1),  T(1e2),  T(1e3),  T(1e4),  T(1e5),  T(1e6),  T(1e7),
                                 T(1e8),  T(1e9),  T(1e10), T(1e11), T(1e12), T(1e13), T(1e14), T(1e15),
                                 T(1e16), T(1e17), T(1e18), T(1e19), T(1e20), T(1e21), T(1e22)};
  if (end - at < 9) return nullptr;
  const bool negative = *at == '-';
  at += negative ? 1 : 0;
  std::uint64_t whole = 0;
  const int digits = take_digits(at, end, whole);
  if (digits <= 0 || digits > 19) return nullptr;
  int power = 0;
  if (*at == '.') {
    ++at;
    const int decimals = take_digits(at, end, whole);
    if (decimals <= 0 || digits + decimals > 19) return nullptr;
    power = -decimals;
  }
  if ((*at | 0x20) == 'e') {
    ++at;
    const bool down = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) ++at;
    std::uint64_t shift = 0;
    const int length = take_digits(at, end, shift);
    if (length <= 0 || length > 3) return nullptr;
    power += down ? -static_cast<int>(shift) : static_cast<int>(shift);
  }
  if (whole > most_whole || power > most_power || power < -most_power) return nullptr;
  const T exact = static_cast<T>(whole);
  const T magnitude = power < 0 ? exact / powers[-power] : exact * powers[power];
  value = negative ? -magnitude : magnitude;
  return at;
}

}  // namespace pacewise

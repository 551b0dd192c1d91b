#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace pacewise {

__extension__ using Uint128 = unsigned __int128;

/// 5^q for |q| <= kMostPower, scaled by a power of two to [2^127, 2^128). Cut off above; below 0 the quotient 2^b /
/// 5^-q cut off, plus 1 as far as 5^-q fits in 64 bits: the forms for which the test in nearest_decimal is proven.
inline constexpr int kMostPower = 55;

constexpr std::size_t place_of_power(int q) {
  const int place = kMostPower + q;
  return static_cast<std::size_t>(place);
}

constexpr Uint128 scaled_reciprocal(Uint128 divisor, bool round_up) {
  Uint128 quotient = 0, rest = 1;
  for (int bits = 0; bits < 128;) {  // long division, a bit at a time, from the first bit that is 1
    const bool carry = (rest >> 127U) != 0;
    rest <<= 1U;
    const bool bit = carry || rest >= divisor;
    if (bit) rest -= divisor;
    quotient = 2 * quotient + (bit ? 1 : 0);
    bits += quotient != 0 ? 1 : 0;
  }
  return round_up ? quotient + 1 : quotient;
}

inline constexpr auto kPowersOfFive = [] {
  std::array<Uint128, 2 * kMostPower + 1> table{};
  Uint128 power = 1;
  for (int q = 0; q <= kMostPower; ++q) {
    Uint128 scaled = power;
    while ((scaled >> 127U) == 0) scaled <<= 1U;
    table[place_of_power(q)] = scaled;
    if (q > 0) table[place_of_power(-q)] = scaled_reciprocal(power, q <= 27);
    power *= 5;
  }
  return table;
}();

/// The T nearest to w 10^power, for 0 < w and |power| <= kMostPower, by the algorithm of Eisel and Lemire (Lemire,
/// Number parsing at a gigabyte per second, 2021): 64 to 128 bits of w 5^power decide the rounding. False where they do
/// not, or where the result is no normal number.
template <class T>
inline bool nearest_decimal(std::uint64_t w, int power, T& value) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr int kept = std::numeric_limits<T>::digits - 1;  // explicit bits of the mantissa
  constexpr int bias = std::numeric_limits<T>::max_exponent - 1;
  constexpr int even_from = sizeof(T) == 8 ? -4 : -17,
                even_to = sizeof(T) == 8 ? 23 : 10;  // powers that can be halfway
  const Uint128 five = kPowersOfFive[place_of_power(power)];
  const int zeros = std::countl_zero(w);
  w <<= static_cast<unsigned>(zeros);
  const Uint128 first = Uint128{w} * static_cast<std::uint64_t>(five >> 64U);
  auto high = static_cast<std::uint64_t>(first >> 64U), low = static_cast<std::uint64_t>(first);
  constexpr std::uint64_t undecided = ~std::uint64_t{0} >> static_cast<unsigned>(kept + 3);
  if ((high & undecided) == undecided) {
    const auto second = static_cast<std::uint64_t>((Uint128{w} * static_cast<std::uint64_t>(five)) >> 64U);
    low += second;
    high += low < second ? 1 : 0;
  }
  if (low == ~std::uint64_t{0}) return false;
  const auto top = static_cast<unsigned>(high >> 63U);
  const unsigned shift = top + 64 - kept - 3;
  std::uint64_t mantissa = high >> shift;  // one bit more than T has
  // log2(5^power) + 63, cut off
  int exponent = ((217706 * power) >> 16) + 63 + static_cast<int>(top) - zeros;
  if (low <= 1 && power >= even_from && power <= even_to && (mantissa & 3U) == 1 && mantissa << shift == high)
    --mantissa;  // exactly halfway: to even
  mantissa += mantissa & 1U;
  mantissa >>= 1U;
  if (mantissa >> static_cast<unsigned>(kept + 1) != 0) {
    mantissa >>= 1U;
    ++exponent;
  }
  exponent += bias;
  if (exponent <= 0 || exponent >= 2 * bias + 1) return false;
  const auto fraction = static_cast<Bits>(mantissa & ((std::uint64_t{1} << static_cast<unsigned>(kept)) - 1));
  value = std::bit_cast<T>(static_cast<Bits>(fraction | static_cast<Bits>(exponent) << static_cast<unsigned>(kept)));
  return true;
}

/// w 10^power where both factors are exact: one correctly rounded operation (Clinger 1990).
inline bool exact_decimal(std::uint64_t w, int power, double& value) {
  static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                      1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (w > std::uint64_t{1} << 53U || power > 22 || power < -22) return false;
  const auto exact = static_cast<double>(static_cast<std::int64_t>(w));
  value = power <= 0 ? exact / powers[-power] : exact * powers[power];
  return true;
}

/// The same for float, by way of double: rounding twice is rounding once unless the double lies halfway between two
/// floats. In [1e-22, 2^53 1e22] all floats are normal.
inline bool exact_decimal(std::uint64_t w, int power, float& value) {
  double wide = 0;
  if (!exact_decimal(w, power, wide) || (std::bit_cast<std::uint64_t>(wide) & 0x1FFFFFFFU) == 0x10000000U) return false;
  value = static_cast<float>(wide);
  return true;
}

/// The T nearest to w 10^power. `few_digits` says which way is tried first; both give the same bits.
template <class T>
inline bool nearest(std::uint64_t w, int power, bool few_digits, T& value) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  if (few_digits && exact_decimal(w, power, value)) return true;
  if (w == 0) {
    value = 0;
    return true;
  }
  return power <= kMostPower && power >= -kMostPower && nearest_decimal(w, power, value);
}

/// -magnitude or magnitude, without a branch.
template <class T>
inline T with_sign(T magnitude, bool negative) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  return std::bit_cast<T>(std::bit_cast<Bits>(magnitude) | static_cast<Bits>(negative) << (8 * sizeof(T) - 1));
}

/// Eight digits, each its value, the first one in the lowest byte: the number they write.
inline std::uint64_t eight_digits(std::uint64_t word) {
  word = 10 * word + (word >> 8U);  // pairs of digits
  constexpr std::uint64_t mask = 0x000000FF000000FFU;
  return ((word & mask) * 0x000F424000000064U + ((word >> 16U) & mask) * 0x0000271000000001U) >> 32U;
}

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
    whole = whole * powers[run] + eight_digits(word);
    at += run;
    taken += run;
    if (run < 8) return taken;
  }
  return -1;
}

/// The number at [at, end) where it is an easy one, and the address after it; else nullptr: std::from_chars knows them
/// all. Easy is d[.d][e[+-]d] with up to 19 digits; the value is bit for bit what std::from_chars gives.
template <class T>
inline const char* parse_easy_decimal(const char* at, const char* end, T& value) {
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
  T magnitude = 0;
  if (!nearest(whole, power, true, magnitude)) return nullptr;
  value = with_sign(magnitude, negative);
  return at;
}

}  // namespace pacewise

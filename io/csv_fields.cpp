#include "io/csv_fields.hpp"

#include "io/decimal.hpp"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace pacewise {

namespace portable {

std::uint32_t* find_field_ends(const char* text, std::size_t size, Separators separators, std::uint32_t* out) {
  constexpr std::uint64_t ones = 0x0101010101010101U, low = 0x7F7F7F7F7F7F7F7FU;
  const auto equal = [](std::uint64_t word, char c) {  // 0x80 in the bytes that are c, 0 in the others
    const std::uint64_t x = word ^ (ones * static_cast<unsigned char>(c));
    return ~(((x & low) + low) | x | low);
  };
  std::size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text + at, 8);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    std::uint64_t found = equal(word, separators.first) | equal(word, separators.second) | equal(word, '\n');
    for (; found != 0; found &= found - 1)
      *out++ = static_cast<std::uint32_t>(at) + static_cast<std::uint32_t>(std::countr_zero(found)) / 8;
  }
  for (; at < size; ++at)
    if (text[at] == separators.first || text[at] == separators.second || text[at] == '\n')
      *out++ = static_cast<std::uint32_t>(at);
  return out;
}

void count_lines(const char* text, std::size_t size, Lines& lines) {
  for (std::size_t at = 0; at < size; ++at) {
    lines.quotes = lines.quotes || text[at] == '"';
    if (text[at] != '\n') continue;
    ++lines.count;
    if (at + 1 < size) lines.odd = lines.odd || static_cast<unsigned char>(text[at + 1]) <= '#';
  }
}

template <class T>
bool parse_plain_field(const char* at, const char* end, const NumberText& how, T& value) {
  T number = 0;
  if (parse_easy_decimal(at, how.readable, number) != end) return false;
  value = number;
  return true;
}

template bool parse_plain_field(const char*, const char*, const NumberText&, float&);
template bool parse_plain_field(const char*, const char*, const NumberText&, double&);

}  // namespace portable

#if defined(__SSE2__)

namespace {

inline std::uint64_t equal_bytes(const char* text, char a, char b, char c) {
  const __m128i as = _mm_set1_epi8(a), bs = _mm_set1_epi8(b), cs = _mm_set1_epi8(c);
  std::uint64_t out = 0;
  for (std::size_t part = 0; part < 4; ++part) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + 16 * part));
    const __m128i found =
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, as), _mm_cmpeq_epi8(v, bs)), _mm_cmpeq_epi8(v, cs));
    out |= static_cast<std::uint64_t>(static_cast<unsigned>(_mm_movemask_epi8(found))) << 16 * part;
  }
  return out;
}

/// std::popcount is a call into a library where the processor need not have the instruction
inline int bit_count(std::uint64_t x) {
  x -= (x >> 1U) & 0x5555555555555555U;
  x = (x & 0x3333333333333333U) + ((x >> 2U) & 0x3333333333333333U);
  x = (x + (x >> 4U)) & 0x0F0F0F0F0F0F0F0FU;
  return static_cast<int>((x * 0x0101010101010101U) >> 56U);
}

/// The digits of a plain field as one number, w 10^-decimals.
struct Digits {
  std::uint64_t w = 0;
  int decimals = 0;
  bool negative = false;
};

/// 0xFF below `count`, 0 from there on; count in [-16, 32]
inline __m128i first_bytes(std::ptrdiff_t count) {
  alignas(16) static constexpr auto window = [] {
    std::array<unsigned char, 64> out{};
    for (std::size_t i = 0; i < 32; ++i) out[i] = 0xFF;
    return out;
  }();
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(window.data() + 32 - count));
}

inline __m128i load(const char* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }

inline unsigned mask_of(__m128i v) { return static_cast<unsigned>(_mm_movemask_epi8(v)); }

/// 16 digits, each its value
inline std::uint64_t sixteen_digits(__m128i v) {
  const __m128i ten = _mm_set1_epi16(10), low = _mm_set1_epi16(0xFF);
  v = _mm_add_epi16(_mm_mullo_epi16(_mm_and_si128(v, low), ten), _mm_srli_epi16(v, 8));  // 8 numbers of 2 digits
  v = _mm_madd_epi16(v, _mm_set1_epi32(100 | 1 << 16));                                  // 4 of 4
  v = _mm_packs_epi32(v, v);
  v = _mm_madd_epi16(v, _mm_set1_epi32(10000 | 1 << 16));  // 2 of 8
  const auto both = static_cast<std::uint64_t>(_mm_cvtsi128_si64(v));
  return (both & 0xFFFFFFFFU) * 100000000U + (both >> 32U);
}

/// -d.d of at most 32 bytes and 19 digits that count. Everything is aligned at the end of the field: the bytes up to
/// the point move one place to the right, over it, and what stands before the field is wiped out.
template <int kVectors>
inline bool take_aligned(const char* at, const char* end, char point, Digits& out) {
  constexpr std::ptrdiff_t width = std::ptrdiff_t{16} * kVectors;
  const std::ptrdiff_t length = end - at;
  const __m128i zero_digit = _mm_set1_epi8('0'), nine = _mm_set1_epi8(9);
  const __m128i point_a = _mm_set1_epi8('.'), point_b = _mm_set1_epi8(point);
  __m128i v[kVectors];
  unsigned digits = 0, points = 0;
  for (std::ptrdiff_t k = 0; k < kVectors; ++k) {
    v[k] = load(end - width + 16 * k);
    const __m128i d = _mm_sub_epi8(v[k], zero_digit);
    digits |= mask_of(_mm_cmpeq_epi8(_mm_min_epu8(d, nine), d)) << static_cast<unsigned>(16 * k);
    points |= mask_of(_mm_or_si128(_mm_cmpeq_epi8(v[k], point_a), _mm_cmpeq_epi8(v[k], point_b)))
              << static_cast<unsigned>(16 * k);
  }
  const std::uint64_t all = (std::uint64_t{1} << static_cast<unsigned>(width)) - 1;
  const auto before = static_cast<unsigned>(width - length);
  const auto inside = static_cast<unsigned>(all & (all << before));
  points &= inside;
  out.negative = *at == '-';
  const unsigned minus = out.negative ? 1 : 0, has_point = points != 0 ? 1 : 0;
  const std::ptrdiff_t begin = before + minus + has_point;
  if ((inside & ~digits) != (points | minus << before) || (points & (points - 1)) != 0 || begin >= width) return false;
  // bytes before the place after the point move; without a point none does. No branch: whole numbers come unforeseen.
  const std::ptrdiff_t some = -static_cast<std::ptrdiff_t>(has_point);
  const std::ptrdiff_t moved_to = (std::countr_zero(points | 0x80000000U) + 1) & some;
  out.decimals = static_cast<int>((width - moved_to) & some);
  for (std::ptrdiff_t k = 0; k < kVectors; ++k) {
    const __m128i moved = first_bytes(moved_to - 16 * k), wiped = first_bytes(begin - 16 * k);
    const __m128i shifted = load(end - width + 16 * k - 1);
    const __m128i joined = _mm_or_si128(_mm_and_si128(moved, shifted), _mm_andnot_si128(moved, v[k]));
    v[k] = _mm_andnot_si128(wiped, _mm_sub_epi8(joined, zero_digit));
  }
  out.w = sixteen_digits(v[kVectors - 1]);
  if constexpr (kVectors == 2) {
    const auto lead = static_cast<std::uint64_t>(_mm_cvtsi128_si64(v[0]));
    const auto next = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(v[0], v[0])));
    if ((lead | (next & 0xFFFFFFFFFFU)) != 0) return false;  // more than 19 digits
    out.w += (100 * ((next >> 40U) & 0xFFU) + 10 * ((next >> 48U) & 0xFFU) + (next >> 56U)) * 10000000000000000U;
  }
  return true;
}

inline bool take_number(const char* at, const char* end, char point, Digits& out) {
  const std::ptrdiff_t length = end - at;
  if (length <= 16) return length > 0 && take_aligned<1>(at, end, point, out);
  return length <= 32 && take_aligned<2>(at, end, point, out);
}

/// Digits alone, 1 to 4 of them
inline bool take_short_whole(const char* at, const char* end, std::uint64_t& w) {
  std::uint32_t word = 0;
  std::memcpy(&word, end - 4, 4);
  word ^= 0x30303030U;
  word &= ~std::uint32_t{0} << static_cast<unsigned>(8 * (4 - (end - at)));
  if ((((word + 0x76767676U) | word) & 0x80808080U) != 0) return false;
  word = 10 * word + (word >> 8U);  // pairs, in bytes 0 and 2
  w = 100 * (word & 0xFFU) + ((word >> 16U) & 0xFFU);
  return true;
}

template <Length kLength, class T>
inline bool parse_field(const char* at, const char* end, const NumberText& how, T& value) {
  const std::ptrdiff_t length = end - at;
  Digits digits;
  if (kLength == Length::small && length > 0 && length <= 4 && take_short_whole(at, end, digits.w)) {
    value = static_cast<T>(static_cast<std::int64_t>(digits.w));
    return true;
  }
  int power = 0;
  if (!take_number(at, end, how.point, digits)) {
    // d.de+dd
    if (length < 5 || (end[-4] | 0x20) != 'e' || (end[-3] != '-' && end[-3] != '+')) return false;
    const auto tens = static_cast<unsigned char>(end[-2] - '0'), ones = static_cast<unsigned char>(end[-1] - '0');
    if (tens > 9 || ones > 9 || !take_number(at, end - 4, how.point, digits)) return false;
    power = end[-3] == '-' ? -(10 * tens + ones) : 10 * tens + ones;
  }
  T magnitude = 0;
  if (!nearest(digits.w, power - digits.decimals, kLength != Length::large, magnitude)) return false;
  value = with_sign(magnitude, digits.negative);
  return true;
}

}  // namespace

std::uint32_t* find_field_ends(const char* text, std::size_t size, Separators separators, std::uint32_t* out) {
  std::size_t at = 0;
  for (; at + 64 <= size; at += 64) {
    std::uint64_t found = equal_bytes(text + at, separators.first, separators.second, '\n');
    const int count = bit_count(found);
    const auto base = static_cast<std::uint32_t>(at);
    // four at a time without asking: how many there are cannot be predicted, and what is too much is overwritten
    for (int done = 0; done < count; done += 4)
      for (int i = 0; i < 4; ++i) {
        out[done + i] = base + static_cast<std::uint32_t>(std::countr_zero(found | std::uint64_t{1} << 63U));
        found &= found - 1;
      }
    out += count;
  }
  std::uint32_t* last = portable::find_field_ends(text + at, size - at, separators, out);
  for (; out != last; ++out) *out += static_cast<std::uint32_t>(at);
  return last;
}

void count_lines(const char* text, std::size_t size, Lines& lines) {
  const __m128i newline = _mm_set1_epi8('\n'), quote = _mm_set1_epi8('"'), hash = _mm_set1_epi8('#');
  const __m128i zero = _mm_setzero_si128();
  __m128i quotes = zero, odd = zero, total = zero;
  std::size_t at = 0;
  while (at + 16 < size) {  // the byte after a vector is looked at too
    __m128i count = zero;   // in each byte, so at most 255 vectors in a row
    for (int i = 0; i < 255 && at + 16 < size; ++i, at += 16) {
      const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + at));
      const __m128i next = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text + at + 1));
      const __m128i ends = _mm_cmpeq_epi8(v, newline);
      count = _mm_sub_epi8(count, ends);
      quotes = _mm_or_si128(quotes, _mm_cmpeq_epi8(v, quote));
      odd = _mm_or_si128(odd, _mm_and_si128(ends, _mm_cmpeq_epi8(_mm_min_epu8(next, hash), next)));
    }
    total = _mm_add_epi64(total, _mm_sad_epu8(count, zero));
  }
  lines.count += static_cast<std::size_t>(_mm_cvtsi128_si64(total)) +
                 static_cast<std::size_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(total, total)));
  lines.quotes = lines.quotes || _mm_movemask_epi8(quotes) != 0;
  lines.odd = lines.odd || _mm_movemask_epi8(odd) != 0;
  portable::count_lines(text + at, size - at, lines);
}

#else

namespace {

template <Length, class T>
inline bool parse_field(const char* at, const char* end, const NumberText& how, T& value) {
  return portable::parse_plain_field(at, end, how, value);
}

}  // namespace

std::uint32_t* find_field_ends(const char* text, std::size_t size, Separators separators, std::uint32_t* out) {
  return portable::find_field_ends(text, size, separators, out);
}

void count_lines(const char* text, std::size_t size, Lines& lines) { portable::count_lines(text, size, lines); }

#endif

namespace {

template <Length kLength, class T>
std::size_t parse_fields(const char* text, const std::uint32_t* ends, std::size_t count, const NumberText& how,
                         const char*& start, T* out) {
  const NumberText here = how;
  const char* at = start;
  std::size_t done = 0;
  for (; done < count; ++done) {
    const char* end = text + ends[done];
    if (*end == '\n' || !parse_field<kLength>(at, end, here, out[done])) break;
    at = end + 1;
  }
  start = at;
  return done;
}

}  // namespace

template <class T>
std::size_t parse_plain_fields(const char* text, const std::uint32_t* ends, std::size_t count, const NumberText& how,
                               const char*& start, T* out) {
  switch (how.length) {
    case Length::small:
      return parse_fields<Length::small>(text, ends, count, how, start, out);
    case Length::medium:
      return parse_fields<Length::medium>(text, ends, count, how, start, out);
    case Length::large:
      break;
  }
  return parse_fields<Length::large>(text, ends, count, how, start, out);
}

template <class T>
bool parse_plain_field(const char* at, const char* end, const NumberText& how, T& value) {
  switch (how.length) {
    case Length::small:
      return parse_field<Length::small>(at, end, how, value);
    case Length::medium:
      return parse_field<Length::medium>(at, end, how, value);
    case Length::large:
      break;
  }
  return parse_field<Length::large>(at, end, how, value);
}

template std::size_t parse_plain_fields(const char*, const std::uint32_t*, std::size_t, const NumberText&, const char*&,
                                        float*);
template std::size_t parse_plain_fields(const char*, const std::uint32_t*, std::size_t, const NumberText&, const char*&,
                                        double*);
template bool parse_plain_field(const char*, const char*, const NumberText&, float&);
template bool parse_plain_field(const char*, const char*, const NumberText&, double&);

}  // namespace pacewise

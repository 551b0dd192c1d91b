#pragma once
#include <cstddef>
#include <cstdint>

/// The inner loops of the CSV reader: lines, where fields end, and the numbers that plain fields write. Each exists for
/// any machine (portable), and once more for SSE2, which every x86-64 has; both give the same.
namespace pacewise {

/// What ends a field, apart from the line end; the two may be the same.
struct Separators {
  char first = ',', second = ',';
};

/// How long the fields of a text are, mostly: chooses between ways that give the same result, so that a branch goes the
/// same way most of the time.
enum class Length : std::uint8_t { small, medium, large };

inline Length usual_length(std::size_t bytes, std::size_t fields) {
  return bytes < 6 * fields ? Length::small : bytes < 15 * fields ? Length::medium : Length::large;
}

/// What count_lines found in a piece of text.
struct Lines {
  std::size_t count = 0;  // line ends
  bool quotes = false;
  bool odd = false;  // a line may be blank or a comment: it begins with a byte <= '#'
};

/// So many bytes before a field must be readable.
inline constexpr std::size_t kBefore = 64;

void count_lines(const char* text, std::size_t size, Lines& lines);

/// Writes the offsets of all separators and line ends in [text, text + size), ascending, and gives the address after
/// the last one; `out` has room for size + 8.
std::uint32_t* find_field_ends(const char* text, std::size_t size, Separators separators, std::uint32_t* out);

/// How to read numbers: `point` also serves as a decimal point, and the text goes on until `readable`.
struct NumberText {
  char point = '.';
  Length length = Length::medium;
  const char* readable = nullptr;
};

/// Fields as far as they are plain numbers and do not end their line. A plain number is -d.d or a part of it, perhaps
/// with an exponent, that one of the quick ways can read; its value is that of std::from_chars, bit for bit. The first
/// field begins at `start`, which moves to the first field not read; field k ends at text + ends[k]. Gives their
/// number.
template <class T>
std::size_t parse_plain_fields(const char* text, const std::uint32_t* ends, std::size_t count, const NumberText& how,
                               const char*& start, T* out);

/// The same for the one field [at, end).
template <class T>
bool parse_plain_field(const char* at, const char* end, const NumberText& how, T& value);

namespace portable {
void count_lines(const char* text, std::size_t size, Lines& lines);
std::uint32_t* find_field_ends(const char* text, std::size_t size, Separators separators, std::uint32_t* out);
template <class T>
bool parse_plain_field(const char* at, const char* end, const NumberText& how, T& value);
}  // namespace portable

}  // namespace pacewise

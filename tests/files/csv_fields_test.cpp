#include "io/csv_fields.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "algebra/random.hpp"
#include "io/decimal.hpp"
#include "scratch.hpp"

namespace pacewise {
namespace {

std::string random_digits(Random& random, Index count) {
  std::string out;
  for (; count > 0; --count) out += static_cast<char>('0' + random.below(10));
  return out;
}

/// In the middle between two neighbours of type T, exactly: w / 2^k = w 5^k / 10^k, w odd with one bit more than T has.
template <class T>
std::string halfway(Random& random) {
  const auto bits = static_cast<unsigned>(std::numeric_limits<T>::digits);
  const std::uint64_t top = std::uint64_t{1} << bits;
  const Index places = random.below(sizeof(T) == 8 ? 5 : 12);
  Uint128 number = top | (random.bits() & (top - 1)) | 1U;
  for (Index k = 0; k < places; ++k) number *= 5;
  std::string out;
  for (; number > 0 || static_cast<Index>(out.size()) <= places; number /= 10)
    out.insert(out.begin(), static_cast<char>('0' + static_cast<int>(number % 10)));
  if (places > 0) out.insert(out.size() - static_cast<std::size_t>(places), ".");
  return out;
}

std::string random_decimal(Random& random) {
  std::string out = random.uniform() < 0.3 ? "-" : "";
  switch (random.below(6)) {
    case 0:
      return out + random_digits(random, random.below(20) + 1);
    case 1:
      return out + random_digits(random, random.below(18) + 1) + "." + random_digits(random, random.below(18));
    case 2:
      return out + "0." + std::string(static_cast<std::size_t>(random.below(12)), '0') +
             random_digits(random, random.below(19) + 1);
    case 3:
      return out + random_digits(random, 1) + "." + random_digits(random, random.below(19)) + "e" +
             (random.uniform() < 0.5 ? "-" : "+") + random_digits(random, 2);
    case 4:
      return out + halfway<double>(random);
    default:
      return out + halfway<float>(random);
  }
}

template <class T>
T nearest_by_the_c_library(const std::string& text) {
  if constexpr (sizeof(T) == 4) return std::strtof(text.c_str(), nullptr);
  return static_cast<T>(std::strtod(text.c_str(), nullptr));
}

/// Every way to read a plain field, each with what it says of `field`; the count of those that read it.
template <class T>
int expect_same_bits(const std::string& field) {
  const std::string text = std::string(kBefore, '8') + "," + field + ",12345678,";
  const char* at = text.data() + kBefore + 1;
  const char* end = at + field.size();
  const char* readable = text.data() + text.size();
  const T wanted = nearest_by_the_c_library<T>(field);
  int read = 0;
  const auto compare = [&](bool is_read, const T& value) {
    if (!is_read) return;
    ++read;
    EXPECT_EQ(std::memcmp(&value, &wanted, sizeof(T)), 0) << field << ": " << value << ", not " << wanted;
  };
  T value = 0;
  for (const Length length : {Length::small, Length::medium, Length::large})
    compare(parse_plain_field(at, end, {'.', length, readable}, value), value);
  compare(portable::parse_plain_field(at, end, {'.', Length::medium, readable}, value), value);
  return read;
}

TEST(CsvFields, EveryWayGivesTheBitsOfTheCLibrary) {
  Random random(5);
  const int count = std::getenv("PACEWISE_TEST_SCALE") == nullptr ? 200000 : 20000;
  Index read = 0;
  for (int i = 0; i < count; ++i) {
    const std::string field = random_decimal(random);
    read += expect_same_bits<double>(field) + expect_same_bits<float>(field);
    if (HasFailure()) return;
  }
  EXPECT_GT(read, Index{4} * count) << "most decimals are plain";
}

TEST(CsvFields, WhatIsNoPlainNumberIsLeftToOthers) {
  for (const std::string field :
       {"", "-", ".", "-.", "1.2.3", "--1", "+1", "1-", "1e", "e+10", "-e+10", "1x", "0x10", "nan", "1 ", " 1", "1e+1x",
        "12345678901234567890", "123456789012345678901234567890123.5"}) {
    EXPECT_EQ(expect_same_bits<double>(field), 0) << field;
    EXPECT_EQ(expect_same_bits<float>(field), 0) << field;
  }
}

TEST(CsvFields, DecimalComma) {
  const std::string text = std::string(kBefore, ' ') + "-12,5;1.234,5;12345678,";
  const char* at = text.data() + kBefore;
  const char* readable = text.data() + text.size();
  double value = 0;
  const bool read = parse_plain_field(at, at + 5, {',', Length::medium, readable}, value);
  EXPECT_EQ(value, read ? -12.5 : 0);
  EXPECT_FALSE(parse_plain_field(at, at + 5, {'.', Length::medium, readable}, value));
  EXPECT_FALSE(parse_plain_field(at + 6, at + 13, {',', Length::medium, readable}, value));
}

/// Short alphabet, so that separators, line ends and quotes come in every arrangement and at every place of a vector.
TEST(CsvFields, EndsAndLinesAreThoseOfAPlainLoop) {
  Random random(6);
  for (int round = 0; round < 2000; ++round) {
    const std::string_view alphabet = round % 3 == 0 ? "1,\n" : round % 3 == 1 ? "12345678\t,\n #" : "1,\n\"\r\t ";
    std::string text;
    for (Index i = random.below(300); i > 0; --i)
      text += alphabet[static_cast<std::size_t>(random.below(static_cast<Index>(alphabet.size())))];
    const Separators separators{',', round % 2 == 0 ? ',' : '\t'};
    std::vector<std::uint32_t> wanted;
    Lines lines;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == ',' || text[i] == separators.second || text[i] == '\n')
        wanted.push_back(static_cast<std::uint32_t>(i));
      lines.count += text[i] == '\n' ? 1 : 0;
      lines.quotes |= text[i] == '"';
      lines.odd |= text[i] == '\n' && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) <= '#';
    }
    for (const auto find : {find_field_ends, portable::find_field_ends}) {
      std::vector<std::uint32_t> ends(text.size() + 8);
      ends.resize(static_cast<std::size_t>(find(text.data(), text.size(), separators, ends.data()) - ends.data()));
      ASSERT_EQ(ends, wanted) << text;
    }
    for (const auto count : {count_lines, portable::count_lines}) {
      Lines found;
      count(text.data(), text.size(), found);
      ASSERT_EQ(found.count, lines.count) << text;
      ASSERT_EQ(found.quotes, lines.quotes) << text;
      ASSERT_EQ(found.odd, lines.odd) << text;
    }
  }
}

/// A text of many pieces, with all that may stand between numbers, and the numbers in it.
struct Sample {
  std::string text;
  std::vector<double> values;
  Index rows = 0;
};

Sample write_sample(const std::string& delimiter, const std::string& line_end, char point, bool extras) {
  Random random(8);
  Sample out;
  const bool blanks = delimiter.find_first_not_of(' ') == std::string::npos;
  while (out.text.size() < 200000) {
    if (extras && random.uniform() < 0.02) out.text += "# a comment, of 3 words" + line_end;
    if (extras && random.uniform() < 0.02) out.text += (random.uniform() < 0.5 ? "" : "  ") + line_end;
    for (int c = 0; c < 7; ++c) {
      std::string field = random_decimal(random);
      double value = nearest_by_the_c_library<double>(field);
      const double kind = extras ? random.uniform() : 1;
      if (kind < 0.02 && !blanks) {
        field = random.uniform() < 0.5 ? "" : "NA";
        value = std::nan("");
      } else if (kind < 0.04) {
        field = " 17 ";
        value = 17;
      } else if (kind < 0.06) {
        field = "+1e300";
        value = 1e300;
      }
      if (point == ',' && field.find('.') != std::string::npos) field[field.find('.')] = ',';
      out.text += field + (c < 6 ? delimiter : line_end);
      out.values.push_back(value);
    }
    ++out.rows;
  }
  return out;
}

void expect_sample(const std::string& text, const Sample& sample, const std::string& what) {
  const test::Scratch scratch;
  const std::string path = scratch.file("a.csv", text);
  for (const int threads : {1, 3}) {
    ReadOptions options;
    options.threads = threads;
    options.header = false;
    const Table<double> table = read_table<double>(path, options);
    ASSERT_EQ(table.samples(), sample.rows) << what;
    ASSERT_EQ(table.features(), 7) << what;
    for (std::size_t i = 0; i < sample.values.size(); ++i) {
      const double value = table.values.data[i];
      if (std::isnan(sample.values[i]))
        ASSERT_TRUE(std::isnan(value)) << what << " " << i;
      else
        ASSERT_EQ(value, sample.values[i]) << what << " " << i;
    }
  }
}

/// Text with quotes is read row by row, other text piece by piece: both say the same.
TEST(CsvFields, PiecesAndRowsReadTheSame) {
  for (const std::string delimiter : {",", ";", "\t", "|", " ", "  ", ", "})
    for (const std::string line_end : {"\n", "\r\n"})
      for (const bool extras : {false, true}) {
        const Sample sample = write_sample(delimiter, line_end, delimiter == ";" ? ',' : '.', extras);
        const std::string what = "delimiter '" + delimiter + "'" + (extras ? ", extras" : "");
        expect_sample(sample.text, sample, what);
        expect_sample(sample.text.substr(0, sample.text.size() - line_end.size()), sample, what + ", no last line end");
        Sample quoted = sample;
        for (int c = 0; c < 7; ++c) {
          quoted.text += (c == 0 ? "\"4\"" : "5") + (c < 6 ? delimiter : line_end);
          quoted.values.push_back(c == 0 ? 4 : 5);
        }
        ++quoted.rows;
        expect_sample(quoted.text, quoted, what + ", a quote");
      }
}

TEST(CsvFields, ErrorsNameTheLineAlsoFarInside) {
  const Sample sample = write_sample(",", "\n", '.', false);
  const auto complaint = [&](const std::string& line) {
    const test::Scratch scratch;
    const std::string path = scratch.file("a.csv", sample.text + line + "\n" + sample.text);
    return test::read_error_of([&] { read_table<double>(path); });
  };
  const std::string line = "line " + std::to_string(sample.rows + 1);
  EXPECT_NE(complaint("1,2,3,4,5,6").find(line + ": has 6 fields, the first line has 7"), std::string::npos);
  EXPECT_NE(complaint("1,2,3,4,5,6,7,8").find(line + ": has 8 fields, the first line has 7"), std::string::npos);
  EXPECT_NE(complaint("1,2,3,4,x5,6,7").find(line + ", column 5: \"x5\" is not a number"), std::string::npos);
  EXPECT_NE(complaint("1,2,3,4,5,6,7x").find(line + ", column 7: \"7x\" is not a number"), std::string::npos);
}

TEST(CsvFields, LabelsAnywhereInTheRow) {
  for (const int column : {1, 3, 4}) {
    std::string text;
    std::vector<std::int32_t> wanted;
    for (int row = 0; row < 20000; ++row) {
      for (int c = 1; c <= 4; ++c)
        text += (c == column ? (row % 3 == 0 ? "rose" : " lily ") : std::to_string(row)) + (c < 4 ? "," : "\n");
      wanted.push_back(row % 3 == 0 ? 1 : 0);
    }
    const test::Scratch scratch;
    ReadOptions options;
    options.label_column = std::to_string(column);
    const Table<float> table = read_table<float>(scratch.file("a.csv", text), options);
    EXPECT_EQ(table.labels->value, wanted);
    ASSERT_EQ(table.features(), 3);
    for (Index j = 0; j < table.samples(); ++j)
      for (Index i = 0; i < 3; ++i) ASSERT_EQ(table.values(i, j), static_cast<float>(j));
  }
}

}  // namespace
}  // namespace pacewise

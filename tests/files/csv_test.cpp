#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "algebra/random.hpp"
#include "scratch.hpp"

namespace pacewise {
namespace {

std::string random_digits(Random& random, Index count) {
  std::string out;
  for (; count > 0; --count) out += static_cast<char>('0' + random.below(10));
  return out;
}

std::string random_decimal(Random& random) {
  const std::string sign = random.uniform() < 0.3 ? "-" : "", few = random_digits(random, random.below(19));
  switch (random.below(3)) {
    case 0:
      return sign + few + random_digits(random, 1);
    case 1:
      return sign + random_digits(random, random.below(18) + 1) + "." + few;
    default:
      return sign + random_digits(random, 1) + "." + few + "e" + (random.uniform() < 0.5 ? "-" : "+") +
             random_digits(random, 2);
  }
}

template <class T>
T nearest_by_the_c_library(const std::string& text) {
  if constexpr (sizeof(T) == 4) return std::strtof(text.c_str(), nullptr);
  return static_cast<T>(std::strtod(text.c_str(), nullptr));
}

template <class T = double>
Table<T> parse(const std::string& text, const ReadOptions& options = {}) {
  const Scratch scratch;
  return read_table<T>(scratch.file("a.csv", text), options);
}

void expect_six(const std::string& text) {
  const Table<double> table = parse(text);
  ASSERT_EQ(table.features(), 3) << text;
  ASSERT_EQ(table.samples(), 2) << text;
  EXPECT_EQ(values_of(table), (std::vector<double>{1, -2.5, 3, 4, 5e-3, 6})) << text;
}

TEST(CsvFile, DelimitersLineEndsHeadersAndBlanks) {
  for (const std::string header : {"", "#"})
    for (const std::string d : {",", ";", "\t", "|", " ", "   ", ", ", " ; "})
      for (const std::string end : {"\n", "\r\n"})
        for (const std::string last : {"", "\n", "\n\n\n"}) {
          const std::string names = header.empty() ? "" : "a" + d + "b" + d + "c" + end;
          const std::string tail = last.empty() ? "" : end + last.substr(1);
          expect_six(names + "1" + d + "-2.5" + d + "3" + end + "+4" + d + "5e-3" + d + "6.0" + tail);
        }
}

TEST(CsvFile, ByteOrderMarkCommentsAndBlankLines) {
  for (const char* text :
       {"\xef\xbb\xbf"
        "1,-2.5,3\n4,5e-3,6\n",
        "\xef\xbb\xbf"
        "a,b,c\n1,-2.5,3\n4,5e-3,6\n",
        "# written by a program\n\n1,-2.5,3\n   \n# between\n4,5e-3,6\n\n", "  1   -2.5  3  \n\t4\t5e-3 6\n"})
    expect_six(text);
}

TEST(CsvFile, QuotedFieldsAndNames) {
  const Table<double> table = parse("\"a,b\",\"c\"\"d\",e\r\n\"1\",2, \"3\" \r\n4,\"5\",6\r\n");
  EXPECT_EQ(table.feature_names, (std::vector<std::string>{"a,b", "c\"d", "e"}));
  EXPECT_EQ(values_of(table), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  const Table<double> broken_line = parse("\"two\nlines\",b\n1,2\n3,4\n");
  EXPECT_EQ(broken_line.feature_names[0], "two\nlines");
  EXPECT_EQ(broken_line.samples(), 2);
}

TEST(CsvFile, MissingSpellings) {
  const Table<double> table = parse("1,,NA,N/A,NaN,nan,null,?,-,NULL,None,\"\"\n2,3,4,5,6,7,8,9,1,2,3,4\n");
  ASSERT_EQ(table.samples(), 2);
  EXPECT_EQ(table.values(0, 0), 1);
  for (Index i = 1; i < table.features(); ++i) EXPECT_TRUE(std::isnan(table.values(i, 0))) << i;
  for (Index i = 0; i < table.features(); ++i) EXPECT_FALSE(std::isnan(table.values(i, 1))) << i;
}

TEST(CsvFile, DecimalCommaOnlyBesideSemicolons) {
  EXPECT_EQ(values_of(parse("1,5;-2,25\n3;4,0\n")), (std::vector<double>{1.5, -2.25, 3, 4}));
  EXPECT_EQ(values_of(parse("1.5;2\n3;4\n")), (std::vector<double>{1.5, 2, 3, 4}));
  EXPECT_TRUE(has(read_error_of([] { parse("1.234,5;2\n3;4\n"); }), "\"1.234,5\" is not a number"));
  EXPECT_TRUE(has(read_error_of([] { parse("a\tb\n1,5\t2\n"); }), "\"1,5\" is not a number; write a decimal point"));
}

TEST(CsvFile, ExtremesOfTheNumberType) {
  const Table<double> wide = parse("1e400,-1e400,1e-400,0.1,inf\n1,2,3,4,5\n");
  EXPECT_EQ(wide.values(0, 0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(wide.values(1, 0), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(wide.values(2, 0), 0);
  EXPECT_EQ(wide.values(3, 0), 0.1);
  EXPECT_TRUE(std::isinf(wide.values(4, 0)));
  EXPECT_EQ(parse<float>("0.1,16777217\n1,2\n").values(0, 0), 0.1F);
}

/// The nearest number, as the C library says
template <class T>
void expect_nearest() {
  Random random(3);
  std::string text;
  std::vector<std::string> fields{
      "0",  "-0.0",     "9007199254740993",     "9007199254740992e22",  "1e22",   "1e23", "16777217", "0.1e-10", "1.",
      ".5", "00012.50", "18446744073709551615", "18446744073709551616", "5e-324", "1E+2"};
  for (int i = 0; i < 20000; ++i) fields.push_back(random_decimal(random));
  for (const std::string& field : fields) text += "7," + field + "\n";
  const Table<T> table = parse<T>(text);
  ASSERT_EQ(table.samples(), static_cast<Index>(fields.size()));
  for (std::size_t j = 0; j < fields.size(); ++j) {
    const T wanted = nearest_by_the_c_library<T>(fields[j]), found = table.values(1, static_cast<Index>(j));
    ASSERT_EQ(std::memcmp(&found, &wanted, sizeof(T)), 0) << fields[j] << ": " << found << ", not " << wanted;
  }
}
TEST(CsvFile, DecimalsBecomeTheNearestNumber) {
  expect_nearest<float>();
  expect_nearest<double>();
}

TEST(CsvFile, LabelColumn) {
  ReadOptions options;
  options.label_column = "species";
  const std::string text = "width,species,height\n1,\"rose, red\",2\n3,lily,4\n5,lily,6\n";
  const Table<double> named = parse(text, options);
  EXPECT_EQ(named.feature_names, (std::vector<std::string>{"width", "height"}));
  EXPECT_EQ(values_of(named), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  ASSERT_TRUE(named.labels);
  EXPECT_EQ(named.labels->names, (std::vector<std::string>{"lily", "rose, red"}));
  EXPECT_EQ(named.labels->value, (std::vector<std::int32_t>{1, 0, 0}));
  options.label_column = "2";
  EXPECT_EQ(parse(text, options).labels->value, named.labels->value);
  options.label_column = "-2";
  EXPECT_EQ(parse(text, options).labels->value, named.labels->value);
  options.label_column = "-1";
  const Table<double> last = parse("5.1,3.5,setosa\n4.9,3.0,virginica\n", options);
  EXPECT_EQ(last.samples(), 2);
  EXPECT_EQ(last.labels->names, (std::vector<std::string>{"setosa", "virginica"}));
  const Table<double> numbers = parse("5.1,10\n4.9,9\n3,10\n", options);
  EXPECT_EQ(numbers.labels->names, (std::vector<std::string>{"9", "10"})) << "sorted by number";
  const Table<double> unasked = parse("label,a\n1,2\n3,4\n");
  ASSERT_EQ(unasked.notes.size(), 1U);
  EXPECT_TRUE(has(unasked.notes[0], "\"label\" is read as a feature"));
}

TEST(CsvFile, HeaderIsDecidedFromTheContent) {
  EXPECT_EQ(parse("0,1,2,3\n5,6,7,8\n").samples(), 1) << "pandas writes 0,1,2,.. for columns without names";
  EXPECT_EQ(parse(",0,1,2\n0,6,7,8\n").samples(), 1);
  EXPECT_EQ(parse("0,1\n5,6\n").samples(), 2);
  ReadOptions without;
  without.header = false;
  EXPECT_EQ(parse("0,1,2,3\n5,6,7,8\n", without).samples(), 2);
  ReadOptions with;
  with.header = true;
  EXPECT_EQ(parse("7,1,2\n5,6,7\n", with).feature_names, (std::vector<std::string>{"7", "1", "2"}));
  // one bad number in the first row is an error, not a header
  EXPECT_TRUE(has(read_error_of([] { parse("1,x,3\n4,5,6\n"); }), "line 1, column 2"));
}

using Words = std::vector<std::string>;
constexpr const char* kFlowers = "flower,width,kind,height\nann,1,rose,2\nbob,3,lily,4\ncid,,rose,6\n";

TEST(CsvFile, NamesOfSamplesAndTextAreNoFeatures) {
  const Table<double> table = parse(kFlowers);
  EXPECT_EQ(table.feature_names, (Words{"width", "height"}));
  EXPECT_EQ(table.sample_names, (Words{"ann", "bob", "cid"}));
  EXPECT_EQ(table.id_name, "flower");
  ASSERT_EQ(table.notes.size(), 2U);
  EXPECT_TRUE(has(table.notes[0], "text, left out: column \"kind\""));
  EXPECT_TRUE(has(table.notes[1], "column \"flower\" names the samples"));
  EXPECT_EQ(parse("ann,1,2\nbob,3,4\n").sample_names, (Words{"ann", "bob"})) << "without a header";
  EXPECT_EQ(parse(",a,b\n0,1,2\n1,3,4\n").sample_names, (Words{"0", "1"})) << "the index that pandas writes";
  EXPECT_EQ(parse("ID,a\n7,1\n9,3\n").sample_names, (Words{"7", "9"}));
  EXPECT_EQ(parse("a,b\n7,1\n9,3\n").features(), 2) << "numbers under another name are a feature";
  EXPECT_EQ(parse("kind,a,b\nx,1,2\nx,3,4\n").sample_names, Words()) << "what is there twice names nothing";
  EXPECT_EQ(parse("land,2019,2020,2021\nDE,1,2,3\nFR,4,5,6\n").samples(), 2) << "years are names of columns";
  EXPECT_TRUE(has(read_error_of([] { parse("a,b\nx,y\nx,z\n"); }), "no column of numbers"));
}

TEST(CsvFile, ColumnsAreChosen) {
  const auto names = [](const ReadOptions& options) { return parse(kFlowers, options).feature_names; };
  const auto error = [](const ReadOptions& options) { return read_error_of([&] { parse(kFlowers, options); }); };
  ReadOptions o;
  o.columns = {"height", "width"};
  EXPECT_EQ(names(o), (Words{"height", "width"})) << "in the order of the list";
  EXPECT_EQ(values_of(parse(kFlowers, o))[0], 2);
  EXPECT_EQ(parse(kFlowers, o).sample_names, (Words{"ann", "bob", "cid"}));
  o.columns = {"kind"};
  EXPECT_TRUE(has(error(o), "\"rose\" is not a number"));
  o.columns = {"depth"};
  EXPECT_TRUE(has(error(o), "has no column \"depth\"; its columns are flower, width, kind, height"));
  o.columns = {"9"};
  EXPECT_TRUE(has(error(o), "column 9 is not in 1..4"));
  o = {};
  o.drop = {"width"};
  EXPECT_EQ(names(o), (Words{"height"}));
  o.drop = {"width", "height"};
  EXPECT_TRUE(has(error(o), "has no column of numbers"));
  o = {};
  o.id_column = "kind";
  EXPECT_EQ(parse(kFlowers, o).sample_names, (Words{"rose", "lily", "rose"}));
  o.id_column = "none";
  EXPECT_EQ(parse(kFlowers, o).sample_names, Words());
}

TEST(CsvFile, CategoriesBecomeColumns) {
  ReadOptions o;
  for (const Words& which : {Words{"kind"}, Words{"all"}}) {
    o.categorical = which;
    const Table<double> table = parse(kFlowers, o);
    EXPECT_EQ(table.feature_names, (Words{"width", "height", "kind=lily", "kind=rose"}));
    EXPECT_TRUE(std::isnan(table.values(0, 2)));
    EXPECT_EQ(table.values(2, 1), 1);
    EXPECT_EQ(table.values(3, 1), 0);
    EXPECT_EQ(table.values(3, 2), 1);
  }
  // what a model was fitted to: the same columns in new data, in its order, with values it has not seen
  ReadOptions like;
  like.expected = {"height", "kind=rose", "width", "kind=lily"};
  const Table<double> again = parse("kind,width,height\ntulip,1,2\nlily,3,4\n", like);
  EXPECT_EQ(again.feature_names, like.expected);
  EXPECT_EQ(values_of(again), (std::vector<double>{2, 0, 1, 0, 4, 0, 3, 1}));
  EXPECT_TRUE(has(read_error_of([&] { parse("width,height\n1,2\n", like); }), "has no column \"kind\""));
  EXPECT_EQ(parse("1,2,3,4\n5,6,7,8\n", like).features(), 4) << "without a header the places count";
}

TEST(CsvFile, FirstRowWithManyFieldsDoesNotAllocateTheProduct) {
  std::string text = "1";
  for (int i = 0; i < 300000; ++i) text += ",1";
  for (int i = 0; i < 300000; ++i) text += "\n1";
  EXPECT_TRUE(has(read_error_of([&] { parse(text); }), "line 2: has 1 fields, the first line has 300001"));
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
  const Scratch scratch;
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

/// Text without quotes is cut into chunks, text with quotes is read in one piece: both say the same.
TEST(CsvFile, ChunksAndOnePieceReadTheSame) {
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

/// The first error, on any number of threads; 16 copies are more than 8 MB, several chunks
TEST(CsvFile, ErrorsNameTheLineAlsoFarInside) {
  Sample sample = write_sample(",", "\n", '.', false);
  for (int doubled = 0; doubled < 6; ++doubled) {
    sample.text += sample.text;
    sample.rows *= 2;
  }
  ASSERT_GT(sample.text.size(), std::size_t{8} << 20);
  const std::string line = "line " + std::to_string(sample.rows + 1);
  for (const auto& [bad, complaint] : {std::pair{"1,2,3,4,5,6", ": has 6 fields, the first line has 7"},
                                       {"1,2,3,4,5,6,7,8", ": has 8 fields, the first line has 7"},
                                       {"1,2,3,4,x5,6,7", ", column 5: \"x5\" is not a number"},
                                       {"1,2,3,4,5,6,7x", ", column 7: \"7x\" is not a number"}}) {
    const Scratch scratch;
    const std::string path = scratch.file("a.csv", sample.text + bad + "\n" + sample.text + "y\n");
    for (const int threads : {1, 4}) {
      ReadOptions options;
      options.threads = threads;
      EXPECT_TRUE(has(read_error_of([&] { read_table<double>(path, options); }), line + complaint));
    }
  }
}

TEST(CsvFile, LabelsAnywhereInTheRow) {
  for (const int column : {1, 3, 4}) {
    std::string text;
    std::vector<std::int32_t> wanted;
    for (int row = 0; row < 20000; ++row) {
      for (int c = 1; c <= 4; ++c)
        text += (c == column ? (row % 3 == 0 ? "rose" : " lily ") : std::to_string(row)) + (c < 4 ? "," : "\n");
      wanted.push_back(row % 3 == 0 ? 1 : 0);
    }
    ReadOptions options;
    options.label_column = std::to_string(column);
    const Table<float> table = parse<float>(text, options);
    EXPECT_EQ(table.labels->value, wanted);
    ASSERT_EQ(table.features(), 3);
    for (Index j = 0; j < table.samples(); ++j)
      for (Index i = 0; i < 3; ++i) ASSERT_EQ(table.values(i, j), static_cast<float>(j));
  }
}

}  // namespace
}  // namespace pacewise

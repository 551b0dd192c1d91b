#include <algorithm>
#include <charconv>

#include "io/csv_dialect.hpp"
#include "io/formats.hpp"

namespace pacewise {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;  // a piece of work for a thread

struct Chunk {
  std::size_t begin = 0, end = 0;  // whole rows
  Index first_row = 0, rows = 0;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <class T>
class CsvReader {
 public:
  explicit CsvReader(const Reading& reading)
      : reading_(reading),
        bytes_(reading.bytes),
        dialect_(detect_dialect(reading, reading.options.delimiter)),
        text_(bytes_, dialect_.delimiter),
        label_(find_label_column(reading, dialect_)),
        quoted_(bytes_.find('"', dialect_.start) != std::string_view::npos) {}

  Table<T> read() {
    const Index features = dialect_.columns - (label_ >= 0 ? 1 : 0);
    if (features == 0) reading_.fail("", "has no column besides the labels; add the features");
    cut();
    for_chunks(0, 0.1, [&](Chunk& chunk) { chunk.rows = count_rows(chunk); });
    for (Chunk& chunk : chunks_) {
      chunk.first_row = rows_;
      rows_ += chunk.rows;
    }
    if (rows_ == 0) reading_.fail("", "holds no rows of numbers; write at least one");
    // a field and its delimiter take a byte, so more fields than bytes mean rows of different lengths
    if (static_cast<double>(rows_) * static_cast<double>(dialect_.columns) > static_cast<double>(bytes_.size()) + 1)
      for (std::size_t at = dialect_.start; at < bytes_.size(); at = text_.skip_to_row(text_.row_end(at)))
        if (fields_of(at) != dialect_.columns) fail_row(at);
    Table<T> table;
    out_ = allocate(table, features, rows_, reading_);
    labels_.resize(label_ >= 0 ? rows_ : 0);
    for_chunks(0.1, 1, [&](const Chunk& chunk) { parse(chunk); });
    table.notes = dialect_.notes;
    table.feature_names = dialect_.names;
    if (label_ < 0) return table;
    if (dialect_.header) table.feature_names.erase(table.feature_names.begin() + label_);
    LabelColumn column;
    for (const std::string_view field : labels_) column.text.push_back(unquoted(field));
    table.labels = make_labels(column, reading_, line_of("column ", label_ + 1));
    return table;
  }

 private:
  /// Chunks end at line ends; a file with quotes, whose line ends may be inside fields, stays in one piece.
  void cut() {
    for (std::size_t at = dialect_.start, end = 0; at < bytes_.size(); at = end) {
      end = quoted_ || bytes_.size() - at <= kChunk ? bytes_.size() : text_.next_line(at + kChunk);
      chunks_.push_back({at, end, 0, 0});
    }
  }

  void for_chunks(double from, double to, const std::function<void(Chunk&)>& body) {
    reading_.for_blocks(static_cast<Index>(chunks_.size()), from, to, [&](Index c) { body(chunks_[c]); });
  }

  Index count_rows(const Chunk& chunk) const {
    Index rows = 0;
    for (std::size_t at = text_.skip_to_row(chunk.begin); at < chunk.end; ++rows)
      at = text_.skip_to_row(quoted_ ? text_.row_end(at) : text_.next_line(at));
    return rows;
  }

  void parse(const Chunk& chunk) {
    std::size_t at = text_.skip_to_row(chunk.begin);
    for (Index row = chunk.first_row; row < chunk.first_row + chunk.rows; ++row) {
      if (row % 1024 == 0) reading_.at(0, 1);
      at = text_.skip_to_row(parse_row(at, row));
    }
  }

  /// Numbers are read in place; what is no plain number goes the slow way through next_field.
  std::size_t parse_row(const std::size_t start, Index row) {
    T* out = out_.col(row);
    std::size_t at = start, after = start;
    const char* const end = bytes_.data() + bytes_.size();
    for (Index c = 0; c < dialect_.columns; ++c) {
      if (at == std::string_view::npos) fail_row(start);
      if (c != label_) {
        std::size_t first = at;
        while (first < bytes_.size() && text_.is_blank(bytes_[first])) ++first;
        // pixels and counts: up to 7 digits are exact in float and need no from_chars
        unsigned whole = 0;
        for (after = first; after < std::min(first + 7, bytes_.size()) && is_digit(bytes_[after]); ++after)
          whole = 10 * whole + static_cast<unsigned>(bytes_[after] - '0');
        bool number = after > first && text_.is_field_end(after);
        *out = static_cast<T>(whole);
        if (!number) {
          const auto [stop, error] = std::from_chars(bytes_.data() + first, end, *out);
          after = static_cast<std::size_t>(stop - bytes_.data());
          number = error == std::errc() && text_.is_field_end(after);
        }
        if (number) {
          ++out;
          at = text_.after_field(after);
          continue;
        }
      }
      const std::string_view field = text_.next_field(at);
      after = static_cast<std::size_t>(field.data() - bytes_.data()) + field.size();
      if (c == label_)
        labels_[row] = field;
      else
        *out++ = parse_field(field, c);
    }
    if (at != std::string_view::npos) fail_row(start);
    return text_.next_line(after);
  }

  T parse_field(std::string_view field, Index column) const {
    T value = 0;
    const std::string content = unquoted(field);
    const std::string_view plain = trimmed(content);
    if (parse_number(plain, value, dialect_.decimal_comma)) return value;
    if (is_missing(plain)) return std::numeric_limits<T>::quiet_NaN();
    std::string where = line_name(bytes_, static_cast<std::size_t>(field.data() - bytes_.data()));
    where += ", column " + std::to_string(column + 1);
    if (dialect_.header) where += " (" + printable(dialect_.names[static_cast<std::size_t>(column)], 30) + ")";
    reading_.fail(where, line_of("\"", printable(plain, 40), "\" is not a number; ",
                                 parse_number(plain, value, true) ? "write a decimal point, or ';' between the fields"
                                 : rows_ == 1 ? "there is no other line: write the numbers below the names"
                                              : "correct it, remove the column, or name it as the label column"));
  }

  Index fields_of(std::size_t row) const {
    Index fields = 0;
    for (; row != std::string_view::npos; ++fields) text_.next_field(row);
    return fields;
  }

  [[noreturn]] void fail_row(std::size_t row) const {
    reading_.fail(line_name(bytes_, row), line_of("has ", fields_of(row), " fields, the first line has ",
                                                  dialect_.columns, "; give every line the same number"));
  }

  const Reading& reading_;
  std::string_view bytes_;
  CsvDialect dialect_;
  CsvText text_;
  Index label_;
  bool quoted_;
  Index rows_ = 0;
  Vector<Chunk> chunks_;
  MatrixView<T> out_;
  Vector<std::string_view> labels_;
};

}  // namespace

template <class T>
Table<T> read_csv(const Reading& reading) {
  return CsvReader<T>(reading).read();
}

LabelColumn read_csv_labels(const Reading& reading, Index samples) {
  CsvDialect dialect = detect_dialect(reading, reading.options.delimiter);
  // words alone: blanks are part of a label, not delimiters
  if (reading.options.delimiter == 0 && dialect.delimiter == ' ' && reading.options.label_column.empty())
    if (const CsvDialect whole = detect_dialect(reading, ','); whole.columns == 1) dialect = whole;
  Index column = find_label_column(reading, dialect);
  for (std::size_t c = 0; c < dialect.names.size() && column < 0 && dialect.columns > 1; ++c)
    if (is_label_like(dialect.names[c])) column = static_cast<Index>(c);
  if (column < 0 && dialect.columns > 1)
    reading.fail("", line_of("has ", dialect.columns, " columns; name the label column"));
  const CsvText text(reading.bytes, dialect.delimiter);
  LabelColumn out;
  for (std::size_t at = dialect.start; at < reading.bytes.size(); at = text.skip_to_row(text.row_end(at))) {
    const std::vector<std::string> row = text.row(at);
    if (static_cast<Index>(row.size()) != dialect.columns)
      reading.fail(line_name(reading.bytes, at), line_of("has ", row.size(), " fields, the first line has ",
                                                         dialect.columns, "; give every line the same number"));
    out.text.push_back(row[static_cast<std::size_t>(std::max<Index>(column, 0))]);
    reading.at(0, 1);
  }
  const auto count = static_cast<Index>(out.text.size());
  if (!dialect.header && !reading.options.header && samples >= 0 && count == samples + 1)
    out.text.erase(out.text.begin());
  return out;
}

template Table<float> read_csv(const Reading&);
template Table<double> read_csv(const Reading&);

}  // namespace pacewise

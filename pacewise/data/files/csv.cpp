#include "pacewise/data/files/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "pacewise/data/files/csv_dialect.hpp"
#include "pacewise/data/files/decimal.hpp"

namespace pacewise {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 22;

struct Chunk {
  std::size_t begin = 0, end = 0;  // whole rows
  Index first_row = 0, rows = 0;
};

template <class T>
class CsvReader {
 public:
  explicit CsvReader(const Reading& reading)
      : reading_(reading),
        bytes_(reading.bytes),
        dialect_(detect_dialect(reading)),
        text_(bytes_, dialect_.delimiter),
        label_(find_label_column(reading, dialect_)),
        features_(dialect_.columns - (label_ >= 0 ? 1 : 0)) {
    quoted_ = bytes_.find('"', dialect_.start) != std::string_view::npos;
  }

  Table<T> read() {
    if (features_ == 0) reading_.fail("", "has no column besides the labels; add the features");
    cut();
    count();
    const Index rows = chunks_.empty() ? 0 : chunks_.back().first_row + chunks_.back().rows;
    if (rows == 0) reading_.fail("", "holds no rows of numbers; write at least one");
    // a field and its delimiter take a byte, so more fields than bytes mean rows of different lengths
    if (static_cast<double>(rows) * static_cast<double>(dialect_.columns) > static_cast<double>(bytes_.size()) + 1)
      report_ragged();
    out_ = allocate_dense<T>(features_, rows, reading_);
    labels_.assign(label_ >= 0 ? static_cast<std::size_t>(rows) : 0, {});
    reading_.for_blocks(static_cast<Index>(chunks_.size()), 0.1, 1,
                        [&](Index c) { parse(chunks_[static_cast<std::size_t>(c)]); });
    return finish();
  }

 private:
  /// Chunks end at line ends; a file with quotes, whose line ends may be inside fields, stays in one piece.
  void cut() {
    for (std::size_t at = dialect_.start; at < bytes_.size();) {
      std::size_t end = bytes_.size();
      if (!quoted_ && bytes_.size() - at > kChunk) {
        const std::size_t newline = bytes_.find('\n', at + kChunk);
        end = newline == std::string_view::npos ? bytes_.size() : newline + 1;
      }
      chunks_.push_back({at, end, 0, 0});
      at = end;
    }
  }

  void count() {
    reading_.for_blocks(static_cast<Index>(chunks_.size()), 0, 0.1, [&](Index c) {
      Chunk& chunk = chunks_[static_cast<std::size_t>(c)];
      const CsvText text(bytes_.substr(0, chunk.end), dialect_.delimiter);
      for (std::size_t at = text.skip_to_row(chunk.begin); at < chunk.end; at = text.skip_to_row(after_row(text, at)))
        ++chunk.rows;
    });
    Index row = 0;
    for (Chunk& chunk : chunks_) {
      chunk.first_row = row;
      row += chunk.rows;
    }
  }

  std::size_t after_row(const CsvText& text, std::size_t at) const {
    if (quoted_) return text.row_end(at);
    const std::size_t newline = bytes_.find('\n', at);
    return newline == std::string_view::npos ? bytes_.size() : newline + 1;
  }

  void parse(const Chunk& chunk) {
    const CsvText text(bytes_.substr(0, chunk.end), dialect_.delimiter);
    Index row = chunk.first_row;
    const Index last = chunk.first_row + chunk.rows;
    std::size_t at = text.skip_to_row(chunk.begin);
    bool easy = true;
    for (; at < chunk.end && row < last; ++row) {
      const std::size_t end = parse_row(text, at, row, easy);
      if ((row & 1023) == 0) check_cancel();
      at = text.skip_to_row(end);
    }
    if (row != last) reading_.fail(line_name(chunk.begin), "the quotes do not match; close every quoted field");
  }

  void check_cancel() const { reading_.at(0, 1); }

  /// Numbers are read in place; what is no plain number goes the slow way through next_field. Both ways to read a
  /// number give the same bits: where half of a row is not `easy`, that way is not tried any more.
  std::size_t parse_row(const CsvText& text, std::size_t start, Index row, bool& easy) {
    T* out = out_.view.col(row);
    std::size_t at = start;
    const char* end = bytes_.data() + bytes_.size();
    std::size_t after = at;
    Index hard = 0;
    for (Index c = 0; c < dialect_.columns; ++c) {
      if (at == std::string_view::npos) report_row(text, start);
      while (at < bytes_.size() && text.is_blank(bytes_[at])) ++at;
      T value = 0;
      const char* stop = easy ? parse_easy_decimal(bytes_.data() + at, end, value) : nullptr;
      bool number = stop != nullptr;
      if (!number) {
        ++hard;
        const auto [last, error] = std::from_chars(bytes_.data() + at, end, value);
        stop = last;
        number = error == std::errc();
      }
      const auto next = static_cast<std::size_t>(stop - bytes_.data());
      if (c != label_ && number && text.is_field_end(next)) {
        *out++ = value;
        after = next;
        at = text.after_field(next);
        continue;
      }
      const std::string_view field = text.next_field(at);
      after = static_cast<std::size_t>(field.data() - bytes_.data()) + field.size();
      if (c == label_)
        labels_[static_cast<std::size_t>(row)] = field;
      else
        *out++ = parse_field(field, c);
    }
    if (at != std::string_view::npos) report_row(text, start);
    easy = easy && 2 * hard < dialect_.columns;
    const std::size_t newline = bytes_.find('\n', after);
    return newline == std::string_view::npos ? bytes_.size() : newline + 1;
  }

  T parse_field(std::string_view field, Index column) const {
    T value = 0;
    std::string_view plain = trimmed(field);
    std::string content;
    if (!plain.empty() && plain.front() == '"') {
      content = unquoted(plain);
      plain = trimmed(content);
    }
    if (parse_number(plain, dialect_.decimal_comma, value)) return value;
    if (is_missing(plain)) return std::numeric_limits<T>::quiet_NaN();
    std::string where =
        line_name(static_cast<std::size_t>(field.data() - bytes_.data())) + ", column " + std::to_string(column + 1);
    if (dialect_.header) where += " (" + printable(dialect_.names[static_cast<std::size_t>(column)], 30) + ")";
    reading_.fail(where, line_of("\"", printable(plain, 40),
                                 "\" is not a number; correct it, remove the column, or name it as the label column"));
  }

  std::string line_name(std::size_t offset) const {
    return line_of("line ", std::count(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset), '\n') + 1);
  }

  [[noreturn]] void report_row(const CsvText& text, std::size_t start) const {
    std::size_t fields = 0;
    for (std::size_t at = start; at != std::string_view::npos; ++fields) text.next_field(at);
    reading_.fail(line_name(start), line_of("has ", fields, " fields, the first line has ", dialect_.columns,
                                            "; give every line the same number"));
  }

  [[noreturn]] void report_ragged() const {
    for (std::size_t at = dialect_.start; at < bytes_.size(); at = text_.skip_to_row(text_.row_end(at))) {
      Index fields = 0;
      for (std::size_t field = at; field != std::string_view::npos; ++fields) text_.next_field(field);
      if (fields != dialect_.columns) report_row(text_, at);
    }
    reading_.fail("", "its rows have different lengths; give every line the same number of fields");
  }

  Table<T> finish() {
    Table<T> table;
    table.values = out_.view;
    table.owner = out_.owner;
    table.notes = dialect_.notes;
    for (std::size_t c = 0; c < dialect_.names.size(); ++c)
      if (static_cast<Index>(c) != label_) table.feature_names.push_back(dialect_.names[c]);
    if (label_ >= 0) {
      LabelColumn column;
      for (const std::string_view field : labels_) column.text.push_back(unquoted(field));
      table.labels = make_labels(column, reading_, line_of("column ", label_ + 1));
    }
    return table;
  }

  const Reading& reading_;
  std::string_view bytes_;
  CsvDialect dialect_;
  CsvText text_;
  Index label_;
  Index features_;
  bool quoted_ = false;
  std::vector<Chunk> chunks_;
  Dense<T> out_;
  std::vector<std::string_view> labels_;
};

}  // namespace

template <class T>
Table<T> read_csv(const Reading& reading) {
  return CsvReader<T>(reading).read();
}

LabelColumn read_csv_labels(const Reading& reading, Index samples) {
  CsvDialect dialect = detect_dialect(reading);
  // words alone: blanks are part of a label, not delimiters
  if (reading.options.delimiter == 0 && dialect.delimiter == ' ' && reading.options.label_column.empty()) {
    Reading lines = reading;
    lines.options.delimiter = ',';
    CsvDialect whole = detect_dialect(lines);
    if (whole.columns == 1) dialect = std::move(whole);
  }
  const CsvText text(reading.bytes, dialect.delimiter);
  Index column = find_label_column(reading, dialect);
  for (std::size_t c = 0; c < dialect.names.size() && column < 0 && dialect.columns > 1; ++c)
    for (const std::string_view name : {"label", "labels", "class", "target", "gnd", "y", "Y"})
      if (dialect.names[c] == name) column = static_cast<Index>(c);
  if (column < 0 && dialect.columns > 1)
    reading.fail("", line_of("has ", dialect.columns, " columns; name the label column"));
  column = std::max<Index>(column, 0);
  LabelColumn out;
  for (std::size_t at = text.skip_to_row(dialect.start); at < reading.bytes.size();
       at = text.skip_to_row(text.row_end(at))) {
    const std::vector<std::string> row = text.row(at);
    if (static_cast<Index>(row.size()) != dialect.columns)
      reading.fail(line_of("row ", out.text.size() + 1), line_of("has ", row.size(), " fields, the first line has ",
                                                                 dialect.columns, "; give every line the same number"));
    out.text.push_back(row[static_cast<std::size_t>(column)]);
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

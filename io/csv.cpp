#include "io/csv.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "io/csv_dialect.hpp"
#include "io/csv_fields.hpp"
#include "io/decimal.hpp"

namespace pacewise {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 22;  // a piece of work for a thread
constexpr std::size_t kPiece = std::size_t{1} << 15;  // so much is cut into fields, then parsed: it stays in the cache

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
        features_(dialect_.columns - (label_ >= 0 ? 1 : 0)),
        point_(dialect_.decimal_comma ? ',' : '.') {}

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
    for_chunks(0.1, 1, [&](const Chunk& chunk) { parse(chunk); });
    return finish();
  }

 private:
  /// Chunks end at line ends; a file with quotes, whose line ends may be inside fields, stays in one piece.
  void cut() {
    chunks_.clear();
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
    std::atomic<bool> quotes{false};
    for_chunks(0, 0.1, [&](Chunk& chunk) {
      Lines lines;
      count_lines(bytes_.data() + chunk.begin, chunk.end - chunk.begin, lines);
      if (lines.quotes) quotes = true;
      const bool odd = lines.odd || static_cast<unsigned char>(bytes_[chunk.begin]) <= '#';
      chunk.rows = odd ? count_rows(chunk) : static_cast<Index>(lines.count) + (bytes_[chunk.end - 1] != '\n' ? 1 : 0);
    });
    if (quotes) {
      quoted_ = true;
      cut();
      for_chunks(0, 0.1, [&](Chunk& chunk) { chunk.rows = count_rows(chunk); });
    }
    Index row = 0;
    for (Chunk& chunk : chunks_) {
      chunk.first_row = row;
      row += chunk.rows;
    }
  }

  /// Without blank lines and comments.
  Index count_rows(const Chunk& chunk) const {
    const CsvText text(bytes_.substr(0, chunk.end), dialect_.delimiter);
    Index rows = 0;
    for (std::size_t at = text.skip_to_row(chunk.begin); at < chunk.end; at = text.skip_to_row(after_row(text, at)))
      ++rows;
    return rows;
  }

  std::size_t after_row(const CsvText& text, std::size_t at) const {
    if (quoted_) return text.row_end(at);
    const std::size_t newline = bytes_.find('\n', at);
    return newline == std::string_view::npos ? bytes_.size() : newline + 1;
  }

  void for_chunks(double from, double to, const std::function<void(Chunk&)>& body) {
    reading_.for_blocks(static_cast<Index>(chunks_.size()), from, to,
                        [&](Index c) { body(chunks_[static_cast<std::size_t>(c)]); });
  }

  void parse(const Chunk& chunk) {
    const CsvText text(bytes_.substr(0, chunk.end), dialect_.delimiter);
    Place place{text.skip_to_row(chunk.begin), chunk.first_row, chunk.first_row + chunk.rows};
    constexpr std::string_view known = ",;\t|: ";
    if (!quoted_ && known.find(dialect_.delimiter) != std::string_view::npos) {
      parse_rows(text, place, std::min(kBefore, chunk.end));
      parse_plain_rows(text, place, bytes_.rfind('\n', chunk.end - 1) + 1);
    }
    parse_rows(text, place, chunk.end);
    if (place.row != place.last_row)
      reading_.fail(line_name(chunk.begin), "the quotes do not match; close every quoted field");
  }

  void check_cancel() const { reading_.at(0, 1); }

  /// Where a row begins, and which one it is.
  struct Place {
    std::size_t at = 0;
    Index row = 0, last_row = 0;
  };

  /// Row by row and field by field, for text of any kind.
  void parse_rows(const CsvText& text, Place& place, std::size_t end) {
    for (; place.at < end && place.row < place.last_row; ++place.row) {
      const std::size_t after = parse_row(text, place.at, place.row);
      if ((place.row & 1023) == 0) check_cancel();
      place.at = text.skip_to_row(after);
    }
  }

  /// A place inside a row: the field that comes next.
  struct Cursor {
    Place row;
    std::size_t start = 0;
    Index column = 0;
    T* out = nullptr;
  };

  /// Where the fields of a piece of text end is found first, so that the processor can work on many fields at once.
  struct Piece {
    std::size_t begin = 0;
    const std::uint32_t *ends = nullptr, *last = nullptr;
  };

  /// Rows without quotes up to `end`, which is after a line end.
  void parse_plain_rows(const CsvText& text, Place& place, std::size_t end) {
    if (place.at >= end) return;
    const bool blanks = dialect_.delimiter == ' ';
    const Separators separators{dialect_.delimiter, blanks ? '\t' : dialect_.delimiter};
    std::vector<std::uint32_t> ends(kPiece + 8);
    Cursor cursor{place, place.at, 0, out_.view.col(place.row)};
    for (std::size_t at = place.at; at < end; at += kPiece) {
      check_cancel();
      const std::size_t size = std::min(kPiece, end - at);
      const Piece piece{at, ends.data(), find_field_ends(bytes_.data() + at, size, separators, ends.data())};
      const NumberText how{point_, usual_length(size, static_cast<std::size_t>(piece.last - piece.ends)),
                           bytes_.data() + bytes_.size()};
      parse_piece(text, piece, how, cursor);
    }
    place = cursor.row;
    place.at = text.skip_to_row(place.at);
  }

  void parse_piece(const CsvText& text, const Piece& piece, const NumberText& how, Cursor& cursor) {
    const char* const bytes = bytes_.data();
    for (const std::uint32_t* end = piece.ends; end != piece.last; ++end) {
      if (cursor.column == 0) {
        if (static_cast<unsigned char>(bytes[cursor.start]) <= '#')
          cursor.start = cursor.row.at = text.skip_to_row(cursor.start);
        if (piece.begin + *end < cursor.start) continue;  // in a blank line or a comment
        if (cursor.row.row == cursor.row.last_row) return;
      }
      end = parse_numbers(piece, end, how, cursor);
      if (end == piece.last) return;
      parse_any(text, piece.begin + *end, cursor);
    }
  }

  /// As many fields as are plain numbers, and neither labels nor the last of their row.
  const std::uint32_t* parse_numbers(const Piece& piece, const std::uint32_t* end, const NumberText& how,
                                     Cursor& cursor) const {
    const Index stop = label_ >= cursor.column ? label_ : dialect_.columns - 1;
    const Index most = std::clamp<Index>(stop - cursor.column, 0, piece.last - end);
    const char* start = bytes_.data() + cursor.start;
    const std::size_t done =
        parse_plain_fields(bytes_.data() + piece.begin, end, static_cast<std::size_t>(most), how, start, cursor.out);
    cursor.column += static_cast<Index>(done);
    cursor.start = static_cast<std::size_t>(start - bytes_.data());
    cursor.out += done;
    return end + done;
  }

  /// The field that ends at `end`, whatever it is. Runs of blanks are one separator where blanks separate.
  void parse_any(const CsvText& text, std::size_t end, Cursor& cursor) {
    const bool newline = bytes_[end] == '\n', blanks = dialect_.delimiter == ' ';
    const std::size_t stop = end - (newline && end > cursor.start && bytes_[end - 1] == '\r' ? 1 : 0);
    const std::string_view field = bytes_.substr(cursor.start, stop - cursor.start);
    if (!blanks || !field.empty()) {
      if (cursor.column == dialect_.columns) report_row(text, cursor.row.at);
      if (cursor.column == label_)
        labels_[static_cast<std::size_t>(cursor.row.row)] = field;
      else
        *cursor.out++ = parse_unquoted(field, cursor.column);
      ++cursor.column;
    }
    cursor.start = end + 1;
    const bool full = cursor.column == dialect_.columns;
    if (newline ? !full : full && !blanks) report_row(text, cursor.row.at);
    if (!newline) return;
    cursor.column = 0;
    ++cursor.row.row;
    cursor.row.at = cursor.start;
  }

  T parse_unquoted(std::string_view field, Index column) const {
    const std::string_view plain = trimmed(field);
    const char* end = plain.data() + plain.size();
    T value = 0;
    if (!plain.empty() && parse_plain_field(plain.data(), end, {point_, Length::medium, end}, value)) return value;
    return parse_field(field, column);
  }

  /// Numbers are read in place; what is no plain number goes the slow way through next_field.
  std::size_t parse_row(const CsvText& text, std::size_t start, Index row) {
    T* out = out_.view.col(row);
    std::size_t at = start;
    const char* end = bytes_.data() + bytes_.size();
    std::size_t after = at;
    for (Index c = 0; c < dialect_.columns; ++c) {
      if (at == std::string_view::npos) report_row(text, start);
      while (at < bytes_.size() && text.is_blank(bytes_[at])) ++at;
      T value = 0;
      const char* stop = parse_easy_decimal(bytes_.data() + at, end, value);
      bool number = stop != nullptr;
      if (!number) {
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
    const bool comma = parse_number(plain, true, value), alone = chunks_.back().first_row + chunks_.back().rows == 1;
    reading_.fail(where, line_of("\"", printable(plain, 40), "\" is not a number; ",
                                 comma   ? "write a decimal point, or ';' between the fields"
                                 : alone ? "there is no other line: write the numbers below the names"
                                         : "correct it, remove the column, or name it as the label column"));
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
  char point_;  // also a decimal point, beside '.'
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

#pragma once
#include "io/label_column.hpp"

namespace pacewise {

/// How a text file of numbers is written, decided from its first lines.
struct CsvDialect {
  char delimiter = ',';        // ' ': runs of blanks and tabs
  bool decimal_comma = false;  // where ';' separates, ',' is the decimal point
  bool header = false;
  Index columns = 0;
  std::vector<std::string> names;  // of the header
  std::size_t start = 0;           // offset of the first data row
  std::vector<std::string> notes;
};

/// Fields and rows of a text, the one place that knows about quotes, line ends, comments and blanks.
class CsvText {
 public:
  CsvText(std::string_view text, char delimiter) : text_(text), delimiter_(delimiter) {}

  /// Offset of the first row at or after `at`: blank lines and lines that begin with '#' are none.
  std::size_t skip_to_row(std::size_t at) const;
  /// Offset after the line end of the row at `at`; quoted fields may hold line ends.
  std::size_t row_end(std::size_t at) const;
  /// The field at `at`, quotes included; `at` moves to the next field, or to npos after the last one of the row.
  std::string_view next_field(std::size_t& at) const;
  /// Where the next field begins after one that ends at `end`; npos after the last one of the row.
  std::size_t after_field(std::size_t end) const;
  bool is_field_end(std::size_t at) const { return is_line_end(at) || is_delimiter(text_[at]); }
  std::vector<std::string> row(std::size_t at) const;
  bool is_line_end(std::size_t at) const {
    return at >= text_.size() || text_[at] == '\n' ||
           (text_[at] == '\r' && (at + 1 >= text_.size() || text_[at + 1] == '\n'));
  }
  bool is_blank(char c) const { return c == ' ' || (c == '\t' && delimiter_ != '\t'); }
  bool is_delimiter(char c) const { return c == delimiter_ || (delimiter_ == ' ' && c == '\t'); }

 private:
  std::size_t field_end(std::size_t at) const;
  std::string_view text_;
  char delimiter_;
};

/// The content of a field: blanks and quotes taken off, "" is ".
std::string unquoted(std::string_view field);

CsvDialect detect_dialect(const Reading& reading);

/// The column that options.label_column names, or -1 where it is empty.
Index find_label_column(const Reading& reading, const CsvDialect& dialect);

}  // namespace pacewise

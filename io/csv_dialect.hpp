#pragma once
#include "io/text.hpp"

namespace pacewise {

/// Fields and rows of a text, the one place that knows about quotes, line ends, comments and blanks.
class CsvText {
 public:
  CsvText(std::string_view text, char delimiter) : text_(text), delimiter_(delimiter) {}

  /// Offset of the first row at or after `at`: blank lines and lines that begin with '#' are none.
  std::size_t skip_to_row(std::size_t at) const;
  /// Offset after the next line end.
  std::size_t next_line(std::size_t at) const { return std::min(text_.find('\n', at), text_.size() - 1) + 1; }
  /// Offset after the line end of the row at `at`; quoted fields may hold line ends.
  std::size_t row_end(std::size_t at) const;
  /// The field at `at`, quotes included; `at` moves to the next field, or to npos after the last one of the row.
  std::string_view next_field(std::size_t& at) const;
  /// Where the next field begins after one that ends at `end`; npos after the last one of the row.
  std::size_t after_field(std::size_t end) const;
  bool is_field_end(std::size_t at) const { return is_line_end(at) || is_delimiter(text_[at]); }
  std::vector<std::string> row(std::size_t at) const;
  bool is_blank(char c) const { return c == ' ' || (c == '\t' && delimiter_ != '\t'); }

 private:
  bool is_line_end(std::size_t at) const {
    return at >= text_.size() || text_[at] == '\n' ||
           (text_[at] == '\r' && (at + 1 >= text_.size() || text_[at + 1] == '\n'));
  }
  bool is_delimiter(char c) const { return c == delimiter_ || (delimiter_ == ' ' && c == '\t'); }
  std::size_t field_end(std::size_t at) const;

  std::string_view text_;
  char delimiter_;
};

/// How a text file of numbers is written, decided from its first lines.
struct CsvDialect {
  char delimiter = ',';        // ' ': runs of blanks and tabs
  bool decimal_comma = false;  // where ';' separates, ',' is the decimal point
  bool header = false;
  Index columns = 0;
  std::vector<std::string> names;              // of the header
  std::vector<bool> text;                      // by column, whether it holds words
  std::vector<std::vector<std::string>> rows;  // the first ones
  std::size_t start = 0;                       // offset of the first data row
  std::vector<std::string> notes;
};

/// `delimiter`: 0 where it is to be found from the content.
CsvDialect detect_dialect(const Reading& reading, char delimiter);

/// The content of a field: blanks and quotes taken off, "" is ".
std::string unquoted(std::string_view field);

/// The column of that name or number, or -1 where it is empty; `what` it is, for messages.
Index find_column(const Reading& reading, const CsvDialect& dialect, const std::string& wanted, const char* what);

/// Whether the column looks like names of the samples: different words in the first column or under a name such as id,
/// or whole numbers in the first column under such a name or none.
bool names_samples(const CsvDialect& dialect, Index column);

/// A name that usually stands above labels.
bool is_label_like(std::string_view name);

}  // namespace pacewise

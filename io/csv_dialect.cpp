#include "io/csv_dialect.hpp"

#include <algorithm>
#include <cctype>
#include <set>

namespace pacewise {
namespace {

using Rows = std::vector<std::vector<std::string>>;

/// At most 20 rows of the first megabyte, at least two.
Rows first_rows(const CsvText& text, std::size_t start, std::size_t size) {
  Rows rows;
  std::size_t at = text.skip_to_row(start);
  while (at < size && rows.size() < 20 && (at < start + (std::size_t{1} << 20) || rows.size() < 2)) {
    rows.push_back(text.row(at));
    at = text.skip_to_row(text.row_end(at));
  }
  return rows;
}

/// The most telling delimiter first: a ';' file may hold commas, a ',' file may hold blanks.
char detect_delimiter(std::string_view bytes, std::size_t start) {
  char present = 0;
  for (const char candidate : {'\t', ';', ',', '|', ' '}) {
    const Rows rows = first_rows(CsvText(bytes, candidate), start, bytes.size());
    if (rows.empty() || rows[0].size() < 2) continue;
    if (std::all_of(rows.begin(), rows.end(), [&](const auto& row) { return row.size() == rows[0].size(); }))
      return candidate;
    if (present == 0) present = candidate;
  }
  return present == 0 ? ',' : present;
}

bool is_number(std::string_view field, bool decimal_comma) {
  double value = 0;
  return !is_missing(field) && parse_number(field, value, decimal_comma);
}

bool is_text(std::string_view field, bool decimal_comma) {
  return !is_missing(field) && !is_number(field, decimal_comma);
}

/// 0, 1, 2, ..: what pandas writes for columns without names. After a name, or an empty one, from any number: years
bool counts_up(const std::vector<std::string>& row) {
  const std::size_t first = !row.empty() && (row[0].empty() || is_text(row[0], true)) ? 1 : 0;
  Index start = 0;
  if (row.size() < first + 3 || (first == 1 && !parse_number(row[1], start))) return false;
  for (std::size_t c = first; c < row.size(); ++c)
    if (row[c] != std::to_string(start + static_cast<Index>(c - first))) return false;
  return true;
}

/// Fewer numbers than words among the first rows
bool holds_text(const Rows& rows, std::size_t first, std::size_t c) {
  std::size_t texts = 0, numbers = 0;
  for (std::size_t r = first; r < rows.size(); ++r) {
    if (c >= rows[r].size() || is_missing(trimmed(rows[r][c]))) continue;
    const bool text = is_text(trimmed(rows[r][c]), true);
    texts += text ? 1 : 0;
    numbers += text ? 0 : 1;
  }
  return texts > numbers && (first > 0 || texts > 1);
}

/// The first row is a header where it has text above numbers and more texts than numbers: a bad number in the first
/// row of data must not hide the row.
bool looks_like_header(const Rows& rows, bool decimal_comma) {
  std::size_t texts = 0, numbers = 0;
  bool text_above_number = false, numbers_below = false;
  for (std::size_t c = 0; c < rows[0].size(); ++c) {
    const bool text = is_text(rows[0][c], decimal_comma);
    texts += text ? 1 : 0;
    numbers += is_number(rows[0][c], decimal_comma) ? 1 : 0;
    for (std::size_t r = 1; r < rows.size(); ++r) {
      const bool number = c < rows[r].size() && is_number(rows[r][c], decimal_comma);
      text_above_number = text_above_number || (number && text);
      numbers_below = numbers_below || number;
    }
  }
  return texts > numbers && (text_above_number || (numbers == 0 && numbers_below));
}

void add_notes(const Reading& reading, CsvDialect& dialect) {
  if (!reading.options.label_column.empty()) return;
  for (std::size_t c = 0; c < dialect.names.size(); ++c)
    if (const std::string& name = dialect.names[c]; is_label_like(name) && !dialect.text[c])
      dialect.notes.push_back(line_of("column \"", printable(name),
                                      "\" is read as a feature; to use it as labels name it as the label column"));
}

}  // namespace

bool is_label_like(std::string_view name) {
  static constexpr std::string_view names[] = {"label", "labels", "class", "target", "gnd", "y", "Y", "Label", "Class"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

namespace {

/// A name that usually stands above identifiers
bool is_id_like(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  static constexpr std::string_view names[] = {"id",         "index",      "name",     "key", "sample",
                                               "identifier", "unnamed: 0", "rownames", "row"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names) || name.ends_with("_id") ||
         name.ends_with(" id");
}

}  // namespace

std::size_t CsvText::skip_to_row(std::size_t at) const {
  while (at < text_.size()) {
    std::size_t look = at;
    while (look < text_.size() && (text_[look] == ' ' || (delimiter_ == ' ' && text_[look] == '\t'))) ++look;
    if (look < text_.size() && text_[look] != '#' && !is_line_end(look)) return at;
    at = next_line(look);
  }
  return text_.size();
}

/// Offset of the delimiter or line end after the field that begins at `at`.
std::size_t CsvText::field_end(std::size_t at) const {
  while (at < text_.size() && is_blank(text_[at])) ++at;
  if (at < text_.size() && text_[at] == '"') {
    for (++at; at < text_.size() && (text_[at] != '"' || text_.substr(at + 1, 1) == "\""); ++at)
      if (text_[at] == '"') ++at;
  }
  while (!is_field_end(at)) ++at;
  return std::min(at, text_.size());
}

std::size_t CsvText::after_field(std::size_t end) const {
  if (delimiter_ == ' ')
    while (end < text_.size() && (text_[end] == ' ' || text_[end] == '\t')) ++end;
  if (is_line_end(end)) return std::string_view::npos;
  return delimiter_ == ' ' ? end : end + 1;
}

std::string_view CsvText::next_field(std::size_t& at) const {
  const std::size_t start = at, end = field_end(at);
  at = after_field(end);
  return text_.substr(start, end - start);
}

std::size_t CsvText::row_end(std::size_t at) const {
  std::size_t end = at;
  while (at != std::string_view::npos) {
    const std::string_view field = next_field(at);
    end = static_cast<std::size_t>(field.data() - text_.data()) + field.size();
  }
  return next_line(end);
}

std::vector<std::string> CsvText::row(std::size_t at) const {
  std::vector<std::string> out;
  while (at != std::string_view::npos) out.push_back(unquoted(next_field(at)));
  return out;
}

std::string unquoted(std::string_view field) {
  field = trimmed(field);
  if (field.size() < 2 || field.front() != '"' || field.back() != '"') return std::string(field);
  std::string out;
  for (std::size_t i = 1; i + 1 < field.size(); ++i) {
    out += field[i];
    if (field[i] == '"' && field[i + 1] == '"') ++i;
  }
  return out;
}

CsvDialect detect_dialect(const Reading& reading, char delimiter) {
  const std::string_view bytes = reading.bytes;
  const std::string& label = reading.options.label_column;
  CsvDialect dialect;
  dialect.start = bytes.starts_with("\xef\xbb\xbf") ? 3 : 0;
  if (bytes.substr(dialect.start, 4) == "sep=" && bytes.size() > dialect.start + 5) {  // Excel says so
    if (delimiter == 0) delimiter = bytes[dialect.start + 4];
    dialect.start += 5;
  }
  dialect.delimiter = delimiter != 0 ? delimiter : detect_delimiter(bytes, dialect.start);
  dialect.decimal_comma = dialect.delimiter == ';';
  const CsvText text(bytes, dialect.delimiter);
  dialect.start = text.skip_to_row(dialect.start);
  const Rows rows = first_rows(text, dialect.start, bytes.size());
  if (rows.empty()) reading.fail("", "holds no rows; write at least one line of numbers");
  dialect.columns = static_cast<Index>(rows[0].size());
  const bool counted = rows.size() > 1 && counts_up(rows[0]);
  // a label column that is named stands in a header
  const bool named = is_text(label, false) && std::find(rows[0].begin(), rows[0].end(), label) != rows[0].end();
  dialect.header = reading.options.header.value_or(counted || named || looks_like_header(rows, dialect.decimal_comma));
  if (dialect.header) {
    dialect.names = rows[0];
    if (counted && !reading.options.header)
      dialect.notes.emplace_back("the first line counts 0, 1, 2, ..: it is read as names of columns");
    dialect.start = text.skip_to_row(text.row_end(dialect.start));
  }
  for (std::size_t c = 0; c < rows[0].size(); ++c) dialect.text.push_back(holds_text(rows, dialect.header ? 1 : 0, c));
  dialect.rows.assign(rows.begin() + (dialect.header ? 1 : 0), rows.end());
  add_notes(reading, dialect);
  return dialect;
}

bool names_samples(const CsvDialect& dialect, Index column) {
  const auto c = static_cast<std::size_t>(column);
  std::set<std::string> seen;
  for (const auto& row : dialect.rows)
    if (c >= row.size() || !seen.insert(row[c]).second) return false;
  if (dialect.text[c]) return column == 0 || (dialect.header && is_id_like(dialect.names[c]));
  if (!dialect.header || column != 0 || !(dialect.names[0].empty() || is_id_like(dialect.names[0]))) return false;
  Index number = 0;
  return std::all_of(seen.begin(), seen.end(), [&](const std::string& text) { return parse_number(text, number); });
}

Index find_column(const Reading& reading, const CsvDialect& dialect, const std::string& wanted, const char* what) {
  if (wanted.empty()) return -1;
  const auto named = std::find(dialect.names.begin(), dialect.names.end(), wanted);
  if (named != dialect.names.end()) return named - dialect.names.begin();
  Index number = 0;
  if (parse_number(wanted, number)) {
    if (number >= 1 && number <= dialect.columns) return number - 1;
    if (number < 0 && number >= -dialect.columns) return dialect.columns + number;
    reading.fail("", line_of(what, " ", number, " is not in 1..", dialect.columns, "; give a number in that range"));
  }
  std::string known;
  for (std::size_t c = 0; c < std::min<std::size_t>(dialect.names.size(), 10); ++c)
    known += (c == 0 ? "" : ", ") + printable(dialect.names[c], 30);
  reading.fail("", line_of("has no column \"", printable(wanted), "\"; ",
                           dialect.header ? "its columns are " + known + (dialect.names.size() > 10 ? ", .." : "")
                                          : "it has no header, give the column's number"));
}

}  // namespace pacewise

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>

#include "io/csv_dialect.hpp"
#include "io/formats.hpp"

namespace pacewise {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;  // a piece of work for a thread

struct Chunk {
  std::size_t begin = 0, end = 0;  // whole rows
  Index first_row = 0, rows = 0;
};

bool wants(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

template <class T>
class CsvReader {
 public:
  explicit CsvReader(const Reading& reading)
      : reading_(reading),
        bytes_(reading.bytes),
        dialect_(detect_dialect(reading, reading.options.delimiter)),
        text_(bytes_, dialect_.delimiter),
        label_(find_column(reading, dialect_, reading.options.label_column, "label column")),
        use_(dialect_.columns, Use::number),
        fields_(dialect_.columns),
        quoted_(bytes_.find('"', dialect_.start) != std::string_view::npos) {}

  Table<T> read() {
    table_.notes = dialect_.notes;
    choose_columns();
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
    const auto numbers = static_cast<Index>(std::count(use_.begin(), use_.end(), Use::number));
    if (numbers == 0 && indicators_.empty() && reading_.options.categorical.empty())
      reading_.fail("", label_ >= 0 ? "has no column besides the labels; add the features"
                                    : "has no column of numbers; add some, or name columns of text as categorical");
    out_ = allocate(table_, numbers, rows_, reading_);
    for (Index c = 0; c < dialect_.columns; ++c)
      if (use_[c] == Use::text) fields_[c].resize(rows_);
    for_chunks(0.1, 1, [&](const Chunk& chunk) { parse(chunk); });
    name_samples();
    keep_text();
    name_features();
    if (label_ >= 0) {
      LabelColumn column;
      for (Index j = 0; j < rows_; ++j) column.text.push_back(field(label_, j));
      table_.labels = make_labels(column, reading_, line_of("column ", label_ + 1));
    }
    return std::move(table_);
  }

 private:
  enum class Use : std::uint8_t { number, text, none };
  struct Indicator {
    Index column;
    std::string value, name;
  };

  Index column(const std::string& wanted, const char* what) const {
    return find_column(reading_, dialect_, wanted, what);
  }
  std::string name(Index c) const {
    return dialect_.header ? dialect_.names[static_cast<std::size_t>(c)] : std::to_string(c + 1);
  }
  std::string shown(Index c) const { return "\"" + printable(name(c), 30) + "\""; }
  std::string field(Index c, Index row) const { return unquoted(fields_[c][row]); }

  /// What each column is for: what the options say, else what it looks like.
  void choose_columns() {
    const ReadOptions& o = reading_.options;
    const bool all = wants(o.categorical, "all");
    const auto known = [&](const std::string& wanted) {
      return wants(dialect_.names, wanted) || wants(dialect_.names, wanted.substr(0, wanted.rfind('=')));
    };
    const bool expected = o.columns.empty() && std::any_of(o.expected.begin(), o.expected.end(), known);
    const std::vector<std::string>& chosen = expected ? o.expected : o.columns;
    if (!chosen.empty()) std::fill(use_.begin(), use_.end(), Use::none);
    for (const std::string& wanted : chosen) {
      const std::size_t equals = wanted.rfind('=');
      const bool whole = equals == std::string::npos || wants(dialect_.names, wanted);
      const Index c = column(whole ? wanted : wanted.substr(0, equals), "column");
      use_[c] = whole ? Use::number : Use::text;
      if (!whole) indicators_.push_back({c, wanted.substr(equals + 1), wanted});
    }
    for (const std::string& unwanted : o.drop) use_[column(unwanted, "column to drop")] = Use::none;
    for (const std::string& kind : o.categorical)
      if (kind != "all") categorical_.push_back(column(kind, "categorical column"));
    if (o.id_column != "none") id_ = column(o.id_column, "id column");
    const Use spare = chosen.empty() ? Use::number : Use::none;
    for (Index c = 0; o.id_column.empty() && c < dialect_.columns && id_ < 0; ++c)
      if (use_[c] == spare && c != label_ && names_samples(dialect_, c)) id_ = c;
    std::string left_out;
    for (Index c = 0; c < dialect_.columns; ++c) {
      const bool text = use_[c] == Use::number && dialect_.text[static_cast<std::size_t>(c)] && c != label_ && c != id_;
      if (text && all) categorical_.push_back(c);
      if (!text || all || std::find(categorical_.begin(), categorical_.end(), c) != categorical_.end()) continue;
      if (!chosen.empty()) continue;  // then it is an error
      left_out += (left_out.empty() ? "" : ", ") + shown(c);
      use_[c] = Use::none;
      if (o.keep_text) kept_.push_back(c);
    }
    if (!left_out.empty())
      table_.notes.push_back((o.keep_text ? "text, written back as it stands: column " : "text, left out: column ") +
                             left_out + " (name it as categorical, label or id column to use it)");
    for (const Index c : categorical_) use_[c] = Use::text;
    if (label_ >= 0) use_[label_] = Use::text;
    if (label_ >= 0 && o.keep_text && chosen.empty()) kept_.push_back(label_);
    for (const Index c : kept_) use_[c] = Use::text;
    std::sort(kept_.begin(), kept_.end());
    if (id_ >= 0) use_[id_] = Use::text;
    if (id_ >= 0 && o.id_column.empty())
      table_.notes.push_back("column " + (dialect_.header && name(id_).empty() ? "1, without a name," : shown(id_)) +
                             " names the samples and is no feature");
  }

  void name_samples() {
    if (id_ < 0) return;
    table_.id_name = dialect_.header ? name(id_) : "";
    for (Index j = 0; j < rows_; ++j) table_.sample_names.push_back(field(id_, j));
  }

  void keep_text() {
    for (const Index c : kept_) {
      TextColumn& text = table_.beside.emplace_back();
      text.name = dialect_.header ? name(c) : "";
      text.before = std::count(use_.begin(), use_.begin() + c, Use::number);
      for (Index j = 0; j < rows_; ++j) text.values.push_back(field(c, j));
    }
  }

  /// Numbers first, then a feature for each value of a categorical column.
  void name_features() {
    for (const Index c : categorical_) {
      std::set<std::string> values;
      for (Index j = 0; j < rows_; ++j)
        if (const std::string value = field(c, j); !is_missing(value)) values.insert(value);
      if (values.size() > 1000)
        reading_.fail("", line_of("column ", shown(c), " holds ", values.size(),
                                  " values, too many to be categorical; 1000 are the most"));
      for (const std::string& value : values) indicators_.push_back({c, value, name(c) + "=" + value});
    }
    const bool named = dialect_.header || !indicators_.empty();
    for (Index c = 0; c < dialect_.columns; ++c)
      if (named && use_[c] == Use::number) table_.feature_names.push_back(name(c));
    for (const Indicator& i : indicators_) table_.feature_names.push_back(i.name);
    // in the order that was asked for
    std::vector<std::size_t> order(table_.feature_names.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto& wanted = reading_.options.columns.empty() ? reading_.options.expected : reading_.options.columns;
    const auto place = [&](std::size_t i) { return std::find(wanted.begin(), wanted.end(), table_.feature_names[i]); };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
    if (indicators_.empty() && std::is_sorted(order.begin(), order.end())) return;
    const auto before = table_.owner;
    const auto names = std::exchange(table_.feature_names, {});
    const MatrixView<T> numbers = out_;
    out_ = allocate(table_, static_cast<Index>(order.size()), rows_, reading_);
    for (std::size_t to = 0; to < order.size(); ++to) {
      table_.feature_names.push_back(names[order[to]]);
      const auto row = static_cast<Index>(to), from = static_cast<Index>(order[to]);
      for (Index j = 0; j < rows_; ++j) {
        if (from < numbers.rows) {
          out_(row, j) = numbers(from, j);
          continue;
        }
        const Indicator& i = indicators_[order[to] - static_cast<std::size_t>(numbers.rows)];
        const std::string value = field(i.column, j);
        out_(row, j) = is_missing(value) ? std::numeric_limits<T>::quiet_NaN() : value == i.value ? T(1) : T(0);
      }
    }
  }

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
      const bool number = use_[c] == Use::number;
      if (number) {
        std::size_t first = at;
        while (first < bytes_.size() && text_.is_blank(bytes_[first])) ++first;
        const auto [stop, error] = std::from_chars(bytes_.data() + first, end, *out);
        after = static_cast<std::size_t>(stop - bytes_.data());
        if (error == std::errc() && text_.is_field_end(after)) {
          ++out;
          at = text_.after_field(after);
          continue;
        }
      }
      const std::string_view field = text_.next_field(at);
      after = static_cast<std::size_t>(field.data() - bytes_.data()) + field.size();
      if (number) *out++ = parse_field(field, c);
      if (use_[c] == Use::text) fields_[c][row] = field;
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
    if (dialect_.header) where += " (" + printable(name(column), 30) + ")";
    reading_.fail(where, line_of("\"", printable(plain, 40), "\" is not a number; ",
                                 parse_number(plain, value, true) ? "write a decimal point, or ';' between the fields"
                                 : rows_ == 1 ? "there is no other line: write the numbers below the names"
                                              : "correct it, drop the column, or name it as the label column"));
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
  Index label_, id_ = -1;
  Vector<Use> use_;
  Vector<Vector<std::string_view>> fields_;  // of the columns of text, row by row
  bool quoted_;
  std::vector<Index> categorical_, kept_;
  std::vector<Indicator> indicators_;
  Index rows_ = 0;
  Vector<Chunk> chunks_;
  Table<T> table_;
  MatrixView<T> out_;
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
  Index column = find_column(reading, dialect, reading.options.label_column, "label column");
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

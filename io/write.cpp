#include "io/write.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>

#include "storage/atomic_file.hpp"

namespace pacewise {
namespace {

static_assert(std::endian::native == std::endian::little, "write_npy writes the numbers as they lie in memory");

/// Magic, version 1.0 and a dictionary padded so that the numbers begin at a multiple of 64.
std::string npy_header(const char* type, const std::string& shape) {
  std::string text = line_of("{'descr': '", type, "', 'fortran_order': False, 'shape': (", shape, "), }");
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(text.size() & 255U);
  head += static_cast<char>(text.size() >> 8);
  return head + text;
}

/// "nan" for NaN, without a sign.
template <class T>
void append_number(std::string& out, T value) {
  std::array<char, 32> digits{};
  out.append(
      digits.data(),
      std::to_chars(digits.data(), digits.data() + digits.size(), std::isnan(value) ? std::abs(value) : value).ptr);
}

}  // namespace

std::string csv_number(double value) {
  std::string out;
  append_number(out, value);
  return out;
}

std::string csv_field(const std::string& name) {
  if (!name.empty() && name.find_first_of(",;\t|\"\r\n #") == std::string::npos) return name;
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

template <class T>
void write_npy(const std::string& path, MatrixView<const T> values) {
  AtomicFile file(path);
  file.write(npy_header(sizeof(T) == 4 ? "<f4" : "<f8", line_of(values.cols, ", ", values.rows)));
  for (Index j = 0; j < values.cols; ++j) file.write(values.col(j), static_cast<std::size_t>(values.rows) * sizeof(T));
  file.commit();
}

void write_npy(const std::string& path, const std::vector<std::int32_t>& values) {
  AtomicFile file(path);
  file.write(npy_header("<i4", line_of(values.size(), ",")));
  file.write(values.data(), values.size() * sizeof(std::int32_t));
  file.commit();
}

template <class T>
void write_csv(const std::string& path, MatrixView<const T> values, const Names& names) {
  if (!names.columns.empty() && static_cast<Index>(names.columns.size()) != values.rows)
    throw Error(line_of("names: ", names.columns.size(), " for ", values.rows, " columns; give one name per column"));
  AtomicFile file(path);
  std::string line;
  // a line of its first field, words beside the numbers, and the numbers
  const auto write_line = [&](const std::string& first, const auto& word, const auto& add) {
    line = names.rows.empty() ? "" : csv_field(first) + ",";
    auto text = names.beside.begin();
    for (Index i = 0; i <= values.rows; ++i) {
      for (; text != names.beside.end() && text->before <= i; ++text)
        if (const std::string& content = word(*text); content.empty())
          line += ',';
        else
          line += csv_field(content) + ",";
      if (i == values.rows) break;
      add(i);
      line += ',';
    }
    line.back() = '\n';
    file.write(line);
  };
  if (!names.columns.empty())
    write_line(
        names.corner, [](const TextColumn& t) -> const std::string& { return t.name; },
        [&](Index i) { line += csv_field(names.columns[static_cast<std::size_t>(i)]); });
  for (Index j = 0; j < values.cols; ++j) {
    const auto row = static_cast<std::size_t>(j);
    write_line(
        names.rows.empty() ? "" : names.rows[row],
        [&](const TextColumn& t) -> const std::string& { return t.values[row]; },
        [&](Index i) { append_number(line, values(i, j)); });
  }
  file.commit();
}

void write_mtx(const std::string& path, const Sparse& values) {
  AtomicFile file(path);
  file.write("%%MatrixMarket matrix coordinate real general\n");
  file.write(line_of(values.cols, " ", values.rows, " ", values.nonzeros(), "\n"));
  std::string line;
  for (std::size_t j = 0; j + 1 < values.start.size(); ++j) {
    line.clear();
    for (auto k = static_cast<std::size_t>(values.start[j]); k < static_cast<std::size_t>(values.start[j + 1]); ++k) {
      line += line_of(j + 1, ' ', values.index[k] + 1, ' ');
      append_number(line, values.value[k]);
      line += '\n';
    }
    file.write(line);
  }
  file.commit();
}

template <class T>
void write_mtx(const std::string& path, MatrixView<const T> values) {
  AtomicFile file(path);
  file.write(line_of("%%MatrixMarket matrix array real general\n", values.cols, " ", values.rows, "\n"));
  for (Index i = 0; i < values.rows; ++i)
    for (Index j = 0; j < values.cols; ++j) {
      std::string line;
      append_number(line, values(i, j));
      file.write(line += '\n');
    }
  file.commit();
}

template void write_npy(const std::string&, MatrixView<const float>);
template void write_npy(const std::string&, MatrixView<const double>);
template void write_csv(const std::string&, MatrixView<const float>, const Names&);
template void write_csv(const std::string&, MatrixView<const double>, const Names&);
template void write_mtx(const std::string&, MatrixView<const float>);
template void write_mtx(const std::string&, MatrixView<const double>);

}  // namespace pacewise

#include <sstream>

#include "io/formats.hpp"
#include "io/text.hpp"

namespace pacewise {
namespace {

struct Banner {
  bool coordinate = true, pattern = false;
  int symmetry = 0;  // a_ji = symmetry * a_ij; 0: general
};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

Banner read_banner(const Reading& reading, std::string_view line) {
  const auto fail = [&](const std::string& what) { reading.fail("line 1", what); };
  std::istringstream words(lower(line));
  std::string start, object, layout, type, symmetry;
  words >> start >> object >> layout >> type >> symmetry;
  if (symmetry.empty() || object != "matrix")
    fail("the banner is incomplete; it reads %%MatrixMarket matrix coordinate real general");
  Banner out;
  out.coordinate = layout == "coordinate";
  out.pattern = type == "pattern";
  out.symmetry = symmetry == "symmetric" ? 1 : symmetry == "skew-symmetric" ? -1 : 0;
  if (!out.coordinate && layout != "array")
    fail(line_of("\"", printable(layout), "\" is no layout; coordinate and array can be read"));
  if (type != "real" && type != "double" && type != "integer" && !(out.pattern && out.coordinate))
    fail(line_of("values of type \"", printable(type), "\"; real, integer and pattern can be read"));
  if (out.symmetry == 0 && symmetry != "general")
    fail(line_of("symmetry \"", printable(symmetry), "\"; general, symmetric and skew-symmetric can be read"));
  return out;
}

/// Memory holds the transpose: the file's row is our column.
Sparse read_coordinates(const Reading& reading, Scanner& scanner, const Banner& banner, Index rows, Index cols) {
  reading.check_claim(static_cast<double>(rows + cols) * sizeof(Index), "");
  const Index most = static_cast<Index>(reading.bytes.size() / 4) + 1;  // "1 1\n" is the shortest entry
  const Index count = scanner.integer(0, most, "number of entries that fits the file");
  std::vector<Triplet> entries;
  entries.reserve(static_cast<std::size_t>(banner.symmetry == 0 ? count : 2 * count));
  for (Index e = 0; e < count; ++e) {
    const auto row = static_cast<std::int32_t>(scanner.integer(1, rows, "row") - 1);
    const auto col = static_cast<std::int32_t>(scanner.integer(1, cols, "column") - 1);
    const double value = banner.pattern ? 1 : scanner.number();
    entries.push_back({col, row, value});
    if (banner.symmetry != 0 && row != col) entries.push_back({row, col, banner.symmetry * value});
    if (e % 65536 == 0) reading.at(scanner.progress());
  }
  scanner.expect_end(line_of(count, " entries"));
  return sparse_from_triplets(cols, rows, entries);
}

/// Column by column; of a symmetric matrix the lower triangle, of a skew one without the diagonal.
TypedArray read_array(const Reading& reading, Scanner& scanner, const Banner& banner, Index rows, Index cols) {
  const double share = banner.symmetry == 0 ? 1 : 0.4;
  if (share * static_cast<double>(rows) * static_cast<double>(cols) > static_cast<double>(reading.bytes.size()))
    scanner.fail(
        line_of(rows, " x ", cols, " values do not fit in ", reading.bytes.size(), " bytes; the file is truncated"));
  Table<double> table;
  const MatrixView<double> out = allocate(table, cols, rows, reading);
  for (Index j = 0; j < cols; ++j) {
    if (banner.symmetry < 0) out(j, j) = 0;
    for (Index i = banner.symmetry == 0 ? 0 : banner.symmetry > 0 ? j : j + 1; i < rows; ++i) {
      out(j, i) = scanner.number();
      if (banner.symmetry != 0 && i != j) out(i, j) = banner.symmetry * out(j, i);
    }
    reading.at(scanner.progress());
  }
  scanner.expect_end(line_of(rows, " x ", cols, " values"));
  TypedArray array;
  array.shape = {rows, cols};
  array.data = reinterpret_cast<const char*>(out.data);
  array.owner = table.owner;
  return array;
}

Variable read_matrix_market(const Reading& reading) {
  const std::size_t line_end = std::min(reading.bytes.find('\n'), reading.bytes.size());
  const Banner banner = read_banner(reading, reading.bytes.substr(0, line_end));
  Scanner scanner(reading, '%', line_end);
  constexpr Index most = std::numeric_limits<std::int32_t>::max();
  const Index rows = scanner.integer(1, most, "number of rows");
  const Index cols = scanner.integer(1, most, "number of columns");
  if (banner.symmetry != 0 && rows != cols)
    scanner.fail(line_of("a symmetric matrix is square, this one is ", rows, " x ", cols, "; correct the size"));
  Variable out;
  if (banner.coordinate)
    out.sparse = read_coordinates(reading, scanner, banner, rows, cols);
  else
    out.array = read_array(reading, scanner, banner, rows, cols);
  return out;
}

}  // namespace

const Format kMatrixMarket{"mtx", [](std::string_view bytes) { return lower(bytes.substr(0, 14)) == "%%matrixmarket"; },
                           read_matrix_market};

}  // namespace pacewise

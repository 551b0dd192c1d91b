#include "apps/cli/inputs.hpp"

#include <fmt/format.h>

#include <cmath>

#include "apps/cli/outcome.hpp"
#include "apps/cli/signals.hpp"
#include "data/problem.hpp"

namespace pacewise::cli {
namespace {

std::string name_of_file(const std::string& path) { return printable(path, 200); }

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw ReadError(name_of_file(path) + ": " + what);
}

template <class T>
Table<T> read_shown(const std::string& path, ReadOptions options, Console& console) {
  const std::string doing = "reading " + name_of_file(path);
  console.stage(doing);
  options.cancel = &interrupted();
  options.progress = [&](double done) { console.fraction(doing, done); };
  Table<T> table = read_table<T>(path, options);
  if (table.cancelled) throw Interrupted("interrupted while reading " + name_of_file(path) + "; nothing was written");
  console.notes(table.notes, name_of_file(path));
  return table;
}

template <class T>
Table<T> read_dense(const std::string& path, const ReadOptions& options, Console& console) {
  Table<T> table = read_shown<T>(path, options, console);
  try {
    if (table.sparse) densify(table);
  } catch (const ReadError& e) {
    fail(path, e.what());
  }
  return table;
}

ReadOptions options_of(const DataSource& source) {
  ReadOptions options = source.options;
  options.threads = source.threads;
  return options;
}

Sparse sparse_of(const Table<double>& table) {
  std::vector<Triplet> entries;
  for (Index j = 0; j < table.values.cols; ++j)
    for (Index i = 0; i < table.values.rows; ++i)
      if (table.values(i, j) != 0)
        entries.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j), table.values(i, j)});
  return sparse_from_triplets(table.values.rows, table.values.cols, entries);
}

}  // namespace

Control control_of(const DataSource& source) {
  Control control;
  control.threads = source.threads;
  control.cancel = &interrupted();
  return control;
}

template <class T>
Table<T> read_data(const DataSource& source, Console& console, const std::vector<std::string>& features) {
  ReadOptions options = options_of(source);
  options.expected = features;
  Table<T> table = read_dense<T>(source.path, options, console);
  if (table.samples() < 1 || table.features() < 1)
    fail(source.path, fmt::format("holds {} samples of {} features; at least one of each is needed", table.samples(),
                                  table.features()));
  return table;
}

Table<double> read_as_stored(const DataSource& source, Console& console) {
  return read_shown<double>(source.path, options_of(source), console);
}

std::optional<Labels> labels_for(const std::string& path, const std::optional<Labels>& in_data, Index samples,
                                 Console& console) {
  if (path.empty()) {
    if (in_data) console.note(fmt::format("the data file holds labels of {} classes", in_data->names.size()));
    return in_data;
  }
  console.stage("reading " + name_of_file(path));
  ReadOptions options;
  options.cancel = &interrupted();
  Labels labels = read_labels(path, samples, options);
  if (labels.cancelled) throw Interrupted("interrupted while reading " + name_of_file(path));
  return labels;
}

template <class T>
Weights<T> read_weights(const std::string& path, Index m, Index n, Console& console) {
  Weights<T> weights;
  if (path.empty()) return weights;
  const Table<T> table = read_dense<T>(path, {}, console);
  const MatrixView<const T> w = table.values;
  const Index count = w.rows * w.cols;
  const bool vector = w.rows == 1 || w.cols == 1;
  Vector<T> numbers;
  numbers.reserve(static_cast<std::size_t>(count));
  for (Index j = 0; j < w.cols; ++j) numbers.insert(numbers.end(), w.col(j), w.col(j) + w.rows);
  if (w.rows == m && w.cols == n && m > 1) {
    weights.entry = Matrix<T>(m, n);
    std::copy(numbers.begin(), numbers.end(), weights.entry.data());
  } else if (vector && count == n) {
    if (n == m) console.note(name_of_file(path) + ": as many samples as features; taken as weights of the samples");
    weights.sample = std::move(numbers);
  } else if (vector && count == m) {
    weights.feature = std::move(numbers);
  } else {
    fail(path, fmt::format("is {} x {}; weights are {} numbers (samples), {} numbers (features) or {} x {}", w.cols,
                           w.rows, n, m, n, m));
  }
  about(path, [&] { check_weights(weights, m, n, {}); });
  return weights;
}

Graph read_graph(const std::string& path, Index samples, bool normalized, Console& console) {
  console.stage("reading " + name_of_file(path));
  ReadOptions options;
  options.cancel = &interrupted();
  Table<double> table = read_table<double>(path, options);
  if (table.cancelled) throw Interrupted("interrupted while reading " + name_of_file(path));
  const Sparse a = table.sparse ? *table.sparse : sparse_of(table);
  if (a.rows != a.cols || a.rows != samples)
    fail(path, fmt::format("is {} x {}; a graph of {} samples is {} x {}", a.cols, a.rows, samples, samples, samples));
  check_symmetric(a, name_of_file(path).c_str());
  bool positive = false, negative = false;
  for (Index j = 0; j < a.cols; ++j)
    for (Index p = a.start[static_cast<std::size_t>(j)]; p < a.start[static_cast<std::size_t>(j) + 1]; ++p) {
      if (a.index[static_cast<std::size_t>(p)] == j) continue;
      positive |= a.value[static_cast<std::size_t>(p)] > 0;
      negative |= a.value[static_cast<std::size_t>(p)] < 0;
    }
  if (positive && negative)
    fail(path, "has entries of both signs off its diagonal: neither an adjacency (>= 0) nor a Laplacian (<= 0)");
  Graph graph;
  graph.laplacian = negative ? a : graph_laplacian(a, normalized);
  about(path, [&] { check_laplacian(graph.laplacian); });
  console.note(name_of_file(path) + (negative ? ": taken as a Laplacian (entries off the diagonal are <= 0)"
                                              : ": taken as an adjacency (entries off the diagonal are >= 0)"));
  return graph;
}

Matrix<double> read_points(const std::string& path, Index samples, Console& console) {
  const Table<double> table = read_dense<double>(path, {}, console);
  if (table.samples() != samples)
    fail(path,
         fmt::format("holds {} rows for {} samples; give one row of coordinates per sample", table.samples(), samples));
  for (Index j = 0; j < samples; ++j)
    for (Index i = 0; i < table.features(); ++i)
      if (std::isinf(table.values(i, j)))
        fail(path, fmt::format("{} at sample {}, coordinate {}; must be finite, or NaN where it is missing",
                               table.values(i, j), j, i));
  return cast<double>(table.values);
}

Matrix<double> read_matrix(const std::string& path, Console& console) {
  const Table<double> table = read_dense<double>(path, {}, console);
  for (Index j = 0; j < table.samples(); ++j)
    for (Index i = 0; i < table.features(); ++i)
      if (!std::isfinite(table.values(i, j)))
        fail(path, fmt::format("{} in row {}, column {}; must be finite", table.values(i, j), j, i));
  return cast<double>(table.values);
}

template Table<float> read_data(const DataSource&, Console&, const std::vector<std::string>&);
template Table<double> read_data(const DataSource&, Console&, const std::vector<std::string>&);
template Weights<float> read_weights(const std::string&, Index, Index, Console&);
template Weights<double> read_weights(const std::string&, Index, Index, Console&);

}  // namespace pacewise::cli

#pragma once
#include <optional>
#include <string>
#include <typeinfo>

#include "apps/cli/console.hpp"
#include "graph/graph.hpp"
#include "io/table.hpp"
#include "model/model_file.hpp"
#include "storage/file_error.hpp"

namespace pacewise::cli {

/// How every command reads its data file.
struct DataSource {
  std::string path;
  ReadOptions options = {};  // all but the threads
  int threads = 0;
};

/// Its threads, and Ctrl-C
Control control_of(const DataSource& source);

/// Dense values of the file; Interrupted where the user stops it. `features`: of a model, which choose the columns of a
/// file with a header.
template <class T>
Table<T> read_data(const DataSource& source, Console& console, const std::vector<std::string>& features = {});

/// Its name, else its number
template <class T>
std::string sample_name(const Table<T>& table, Index sample) {
  return table.sample_names.empty() ? std::to_string(sample) : table.sample_names[static_cast<std::size_t>(sample)];
}

/// The same, but sparse data stay sparse.
Table<double> read_as_stored(const DataSource& source, Console& console);

/// One label per sample: from the named file, else those the data file itself holds.
std::optional<Labels> labels_for(const std::string& path, const std::optional<Labels>& in_data, Index samples,
                                 Console& console);

/// n numbers: per sample; m: per feature; n x m: per entry. Empty path: no weights.
template <class T>
Weights<T> read_weights(const std::string& path, Index features, Index samples, Console& console);

/// A square symmetric matrix: an adjacency where no entry off the diagonal is negative, a Laplacian where none is
/// positive. `normalized` is of the Laplacian made from an adjacency.
Graph read_graph(const std::string& path, Index samples, bool normalized, Console& console);

/// Coordinates in which neighbours are looked for: n rows.
Matrix<double> read_points(const std::string& path, Index samples, Console& console);

/// Finite numbers, a row of the file in a column.
Matrix<double> read_matrix(const std::string& path, Console& console);

/// body(model, console) with the model that a command names, in its precision
template <class Arguments, class Body>
int with_model(const Arguments& a, const Body& body) {
  Console console(a.quiet, Progress::automatic);
  return std::visit([&](const auto& model) { return body(model, console); }, load_model(a.model));
}

/// Runs `body`, which has to do with a file: what the library says about its arguments ("values: inf at ..", "k = 9:
/// must be ..") then begins with the name of that file.
template <class Body>
auto about(const std::string& path, const Body& body) {
  try {
    return body();
  } catch (const Error& e) {
    if (typeid(e) != typeid(Error)) throw;  // a ReadError names its file, a UsageError needs none
    throw ReadError(printable(path, 200) + ": " + e.what());
  }
}

}  // namespace pacewise::cli

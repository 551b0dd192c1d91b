#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algebra/sparse.hpp"
#include "pacewise/matrix.hpp"
#include "storage/file_error.hpp"

namespace pacewise {

struct ReadOptions {
  std::string variable;  // which array of a .npz, .mat or HDF5 file; also written `file.mat:name`
  // CSV. A column is a name of the header, or a number from 1 (from -1: counted from the end)
  std::string label_column;
  std::string id_column;                 // its words name the samples; empty: found from the content, "none": none
  std::vector<std::string> columns;      // these alone; "sex=f" is 1 where the column sex holds f, else 0
  std::vector<std::string> expected;     // these, in this order, where the header has any of them: a model's
  std::vector<std::string> drop;         // all but these
  std::vector<std::string> categorical;  // one column for each value they hold; "all": every column of text
  bool keep_text = false;                // what is no feature comes back beside the numbers
  bool labels_beside = false;            // IDX: also read the labels file beside `..images-idx3..`
  std::optional<bool> header;            // CSV: whether the first line holds names; empty: decided from the content
  char delimiter = 0;                    // CSV: 0 is decided from the content; ' ' stands for runs of blanks
  int threads = 0;                       // 0: as many as the machine has; the result never depends on it
  std::function<void(double)> progress;  // fraction in [0, 1], called from the calling thread only
  const std::atomic<bool>* cancel = nullptr;  // polled; a cancelled read returns with `cancelled` set and no values
};

/// value[j] in 0..k-1 is the class of sample j; names are sorted, by number where all of them are numbers, else by
/// byte.
struct Labels {
  std::vector<std::int32_t> value;  // n
  std::vector<std::string> names;   // k
  bool cancelled = false;
};

/// A column of words, as it stood in the file
struct TextColumn {
  std::string name;
  Index before = 0;                 // so many features stand before it
  std::vector<std::string> values;  // n
};

/// What a file holds, samples as columns (files hold them as rows). Either `values` or `sparse`, as in the file.
template <class T>
struct Table {
  MatrixView<const T> values;         // m x n, NaN = missing; empty where `sparse` is set
  std::shared_ptr<const void> owner;  // keeps `values` alive: a buffer, or a mapping of the file (do not truncate it)
  std::optional<Sparse> sparse;       // m x n
  std::optional<Labels> labels;       // n
  std::vector<std::string> feature_names;  // m, or empty
  std::vector<std::string> sample_names;   // n, or empty
  std::string id_name;                     // what stands above the names of the samples
  std::vector<TextColumn> beside;          // with keep_text: the labels, and text that is left out
  std::vector<Index> sample_shape;         // e.g. {28, 28}: a sample is that array in row-major order
  std::vector<std::string> notes;          // what the reader decided and the user should know
  std::string format;                      // "npy", "csv", ..
  bool mapped = false;                     // `values` is the file itself, nothing was copied
  bool cancelled = false;

  Index features() const { return sparse ? sparse->rows : values.rows; }
  Index samples() const { return sparse ? sparse->cols : values.cols; }
};

/// Any of the formats, chosen by content: .npy, .npz (also SciPy's sparse ones), CSV and its relatives, MATLAB v5 and
/// v7.3, IDX, Matrix Market, HDF5, each of the stream formats also gzipped, a PNG/JPEG/PGM image or a folder of them.
/// Weights and other plain arrays are read by the same function; a vector of n numbers is 1 x n. ReadError else.
template <class T>
Table<T> read_table(const std::string& path, const ReadOptions& options = {});

/// Labels from a file of any of the formats, numbers or text. `samples`: how many there must be, < 0: any number.
Labels read_labels(const std::string& path, Index samples = -1, const ReadOptions& options = {});

/// Bytes that can be allocated without swapping, as the system and its control groups say.
std::size_t available_memory();

/// Makes a sparse table dense: afterwards it holds `values`. A ReadError with both figures where they do not fit in
/// `available` bytes.
template <class T>
void densify(Table<T>& table, std::size_t available = available_memory());

}  // namespace pacewise

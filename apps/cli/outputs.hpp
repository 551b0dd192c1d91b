#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "pacewise/matrix.hpp"
#include "pacewise/options.hpp"

namespace pacewise::cli {

/// A UsageError where the ending is none we write; empty paths pass. Called before the work, not after it.
void check_table_path(const char* option, const std::string& path);
struct NamedPath {
  std::string option, path;
};
/// A UsageError where an output is also an input, or two outputs are one file, through links too; empty paths pass.
void check_distinct(const std::vector<NamedPath>& inputs, const std::vector<NamedPath>& outputs);
/// A WriteError where nothing can be written there: found before an hour's fit, not after it.
void check_writable(const std::string& path);

/// By its ending: .npy, .csv, or .mtx. Samples, the columns, become rows.
template <class T>
void write_table(const std::string& path, MatrixView<const T> values);
/// .mtx keeps only the non-zeros
template <class T>
void write_codes(const std::string& path, const Matrix<T>& codes);
/// One number per unit of the level: n x 1, m x 1 or n x m.
template <class T>
void write_unit_weights(const std::string& path, const Vector<T>& weights, Level level, Index features);

void write_json(const std::string& path, const nlohmann::json& json);
void write_text(const std::string& path, const std::string& text);

}  // namespace pacewise::cli

#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "io/table.hpp"
#include "io/write.hpp"
#include "pacewise/matrix.hpp"
#include "pacewise/options.hpp"

namespace pacewise::cli {

struct NamedPath {
  std::string option, path;
};
enum class Holds : std::uint8_t { model, table, list, rows, sparse, page, json };
struct Output : NamedPath {
  Holds holds = Holds::table;
};
/// Before the work, not after it: a UsageError where an ending is none we write, where an output is also an input or
/// two are one file, through links too, and where a file of another kind would be replaced without `force`; a
/// WriteError where nothing can be written. Empty paths pass.
void check_files(const std::vector<NamedPath>& inputs, const std::vector<Output>& outputs, bool force);

/// "atom 0", "atom 1", ..
std::vector<std::string> numbered(const char* what, Index count);
/// Of a table that belongs to the samples of `data`: they keep their names, where the data have names.
template <class T>
Names names_for(const Table<T>& data, std::vector<std::string> columns) {
  if (data.feature_names.empty() && data.sample_names.empty()) return {};
  return {std::move(columns), data.sample_names, data.id_name, {}};
}

/// By its ending: .npy, .csv, or .mtx. Samples, the columns, become rows.
template <class T>
void write_table(const std::string& path, MatrixView<const T> values, const Names& names = {});
/// .mtx keeps only the non-zeros
template <class T>
void write_codes(const std::string& path, const Matrix<T>& codes, const Names& names = {});
/// One number per unit of the level: n x 1, m x 1 or n x m.
template <class T>
void write_unit_weights(const std::string& path, const Vector<T>& weights, Level level, const Table<T>& data);

void write_json(const std::string& path, const nlohmann::json& json);
void write_text(const std::string& path, const std::string& text);

}  // namespace pacewise::cli

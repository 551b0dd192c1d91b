#include "apps/cli/outputs.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "apps/cli/outcome.hpp"
#include "io/write.hpp"
#include "storage/atomic_file.hpp"

namespace pacewise::cli {

void check_table_path(const char* option, const std::string& path) {
  if (path.empty() || path.ends_with(".npy") || path.ends_with(".csv") || path.ends_with(".mtx")) return;
  throw UsageError(std::string(option) + " = " + printable(path, 200) + ": must end in .npy, .csv or .mtx");
}

namespace {

/// Whether both are the same regular file, or would be
bool same_file(const std::string& a, const std::string& b) {
  std::error_code failed;
  if (std::filesystem::exists(a, failed) && std::filesystem::exists(b, failed))
    return std::filesystem::is_regular_file(a, failed) && std::filesystem::equivalent(a, b, failed);
  const auto whole = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, failed), failed);
  };
  return whole(a) == whole(b);
}

}  // namespace

void check_distinct(const std::vector<NamedPath>& inputs, const std::vector<NamedPath>& outputs) {
  for (auto out = outputs.begin(); out != outputs.end(); ++out) {
    if (out->path.empty()) continue;
    const auto refuse_same = [&](const NamedPath& other) {
      const std::string file = other.path.substr(0, other.path.find(":/"));  // of HDF5
      if (!file.empty() && same_file(out->path, file))
        throw UsageError(out->option + " = " + printable(out->path, 200) + " is the file of " + other.option +
                         ", too, which would be lost; give another name");
    };
    std::for_each(inputs.begin(), inputs.end(), refuse_same);
    std::for_each(outputs.begin(), out, refuse_same);
  }
}

void check_writable(const std::string& path) {
  if (!path.empty()) const AtomicFile probe(path);
}

template <class T>
void write_table(const std::string& path, MatrixView<const T> values) {
  if (path.ends_with(".npy"))
    write_npy<T>(path, values);
  else if (path.ends_with(".csv"))
    write_csv<T>(path, values);
  else
    write_mtx<T>(path, values);
}

template <class T>
void write_codes(const std::string& path, const Matrix<T>& codes) {
  if (!path.ends_with(".mtx")) {
    write_table<T>(path, codes.view());
    return;
  }
  std::vector<Triplet> entries;
  for (Index j = 0; j < codes.cols(); ++j)
    for (Index k = 0; k < codes.rows(); ++k)
      if (codes(k, j) != T(0))
        entries.push_back(
            {static_cast<std::int32_t>(k), static_cast<std::int32_t>(j), static_cast<double>(codes(k, j))});
  write_mtx(path, sparse_from_triplets(codes.rows(), codes.cols(), entries));
}

template <class T>
void write_unit_weights(const std::string& path, const Vector<T>& weights, Level level, Index features) {
  const Index rows = level == Level::element ? features : 1;
  write_table<T>(path, {weights.data(), rows, static_cast<Index>(weights.size()) / rows});
}

void write_json(const std::string& path, const nlohmann::json& json) {
  write_text(path, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void write_text(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

template void write_table(const std::string&, MatrixView<const float>);
template void write_table(const std::string&, MatrixView<const double>);
template void write_codes(const std::string&, const Matrix<float>&);
template void write_codes(const std::string&, const Matrix<double>&);
template void write_unit_weights(const std::string&, const Vector<float>&, Level, Index);
template void write_unit_weights(const std::string&, const Vector<double>&, Level, Index);

}  // namespace pacewise::cli

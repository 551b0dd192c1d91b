#include "apps/cli/outputs.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/cli/outcome.hpp"
#include "storage/atomic_file.hpp"

namespace pacewise::cli {

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

/// The file of `data.mat:X`
std::string file_of(const std::string& path) {
  std::error_code failed;
  return std::filesystem::exists(path, failed) ? path : path.substr(0, path.rfind(':'));
}

bool ends_in(const std::string& path, const std::vector<std::string>& endings) {
  return std::any_of(endings.begin(), endings.end(), [&](const std::string& e) { return path.ends_with(e); });
}

struct KindOfFile {
  const char* name;
  std::vector<std::string> endings;  // empty: any
  std::vector<std::string> starts;   // of what it may replace; empty: of any text
};

KindOfFile kind_of(const Output& out) {
  const std::vector<std::string> starts = {out.path.ends_with(".npy")   ? "\x93NUMPY"
                                           : out.path.ends_with(".mtx") ? "%%MatrixMarket"
                                                                        : ""};
  switch (out.holds) {
    case Holds::table:
      return {"table", {".npy", ".csv", ".mtx"}, starts};
    case Holds::list:
      return {"list", {".npy", ".csv"}, starts};
    case Holds::rows:
      return {"table", {".csv"}, starts};
    case Holds::sparse:
      return {"sparse matrix", {".mtx"}, starts};
    case Holds::page:
      return {"page", {}, {"<!"}};
    case Holds::json:
      return {"JSON file", {}, {"{", "["}};
    default:
      return {"model", {}, {"PACEWISE"}};
  }
}

void check_ending(const Output& out, const KindOfFile& kind) {
  if (kind.endings.empty() || ends_in(out.path, kind.endings)) return;
  std::string all;
  for (const std::string& e : kind.endings) all += (all.empty() ? "" : e == kind.endings.back() ? " or " : ", ") + e;
  throw UsageError(out.option + " = " + printable(out.path, 200) + ": must end in " + all);
}

/// What is there is replaced by its own kind only.
void check_replaced(const Output& out, const KindOfFile& kind) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(out.path, failed)) return;
  std::ifstream file(out.path, std::ios::binary);
  std::string head(16, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  const auto begins = [&](const std::string& start) {
    if (!start.empty()) return head.starts_with(start);
    const bool text = std::none_of(head.begin(), head.end(), [](char c) { return static_cast<unsigned char>(c) < 9; });
    return text && !head.starts_with("<!") && !head.starts_with("{") && !head.starts_with("%%MatrixMarket");
  };
  if (head.empty() || std::any_of(kind.starts.begin(), kind.starts.end(), begins)) return;
  throw UsageError(out.option + " = " + printable(out.path, 200) + " is there and holds no " + kind.name +
                   ": it would be lost; give another name, or --force");
}

}  // namespace

void check_files(const std::vector<NamedPath>& inputs, const std::vector<Output>& outputs, bool force) {
  for (auto out = outputs.begin(); out != outputs.end(); ++out) {
    if (out->path.empty()) continue;
    const KindOfFile kind = kind_of(*out);
    check_ending(*out, kind);
    const auto refuse_same = [&](const NamedPath& other) {
      if (!other.path.empty() && same_file(out->path, file_of(other.path)))
        throw UsageError(out->option + " = " + printable(out->path, 200) + " is the file of " + other.option +
                         ", too, which would be lost; give another name");
    };
    std::for_each(inputs.begin(), inputs.end(), refuse_same);
    std::for_each(outputs.begin(), out, refuse_same);
    if (!force) check_replaced(*out, kind);
    const AtomicFile probe(out->path);
  }
}

std::vector<std::string> numbered(const char* what, Index count) {
  std::vector<std::string> names;
  for (Index i = 0; i < count; ++i) names.push_back(what + (" " + std::to_string(i)));
  return names;
}

template <class T>
void write_table(const std::string& path, MatrixView<const T> values, const Names& names) {
  if (path.ends_with(".npy"))
    write_npy<T>(path, values);
  else if (path.ends_with(".csv"))
    write_csv<T>(path, values, names);
  else
    write_mtx<T>(path, values);
}

template <class T>
void write_codes(const std::string& path, const Matrix<T>& codes, const Names& names) {
  if (!path.ends_with(".mtx")) {
    write_table<T>(path, codes.view(), names);
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
void write_unit_weights(const std::string& path, const Vector<T>& weights, Level level, const Table<T>& data) {
  Names names = names_for(data, {"weight"});
  if (level == Level::feature && !names.columns.empty()) names = {{"weight"}, data.feature_names, "feature"};
  Index rows = 1;
  if (level == Level::element || level == Level::group) {
    rows = data.features();
    names.columns = data.feature_names;
  }
  write_table<T>(path, {weights.data(), rows, static_cast<Index>(weights.size()) / rows}, names);
}

void write_json(const std::string& path, const nlohmann::json& json) {
  write_text(path, json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void write_text(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

template void write_table(const std::string&, MatrixView<const float>, const Names&);
template void write_table(const std::string&, MatrixView<const double>, const Names&);
template void write_codes(const std::string&, const Matrix<float>&, const Names&);
template void write_codes(const std::string&, const Matrix<double>&, const Names&);
template void write_unit_weights(const std::string&, const Vector<float>&, Level, const Table<float>&);
template void write_unit_weights(const std::string&, const Vector<double>&, Level, const Table<double>&);

}  // namespace pacewise::cli

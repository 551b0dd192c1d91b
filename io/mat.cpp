#include <matio.h>

#include <algorithm>

#include "io/formats.hpp"

namespace pacewise {
namespace {

struct FreeVariable {
  void operator()(matvar_t* variable) const { Mat_VarFree(variable); }
};
using MatVariable = std::unique_ptr<matvar_t, FreeVariable>;

bool numeric_class(matio_classes c) { return c >= MAT_C_DOUBLE && c <= MAT_C_UINT64; }

std::string class_text(const matvar_t& variable) {
  static constexpr std::pair<matio_classes, const char*> names[] = {
      {MAT_C_CELL, "a cell array"},         {MAT_C_STRUCT, "a struct"},           {MAT_C_CHAR, "text"},
      {MAT_C_OBJECT, "an object or table"}, {MAT_C_OPAQUE, "an object or table"}, {MAT_C_FUNCTION, "a function"}};
  if (variable.isComplex != 0) return "complex numbers";
  for (const auto& [kind, name] : names)
    if (kind == variable.class_type) return name;
  return "an unknown class";
}

/// Empty where it holds no numbers.
std::string type_of(const matvar_t& variable) {
  static constexpr std::pair<matio_types, const char*> types[] = {
      {MAT_T_INT8, "i1"},   {MAT_T_UINT8, "u1"}, {MAT_T_INT16, "i2"},  {MAT_T_UINT16, "u2"}, {MAT_T_INT32, "i4"},
      {MAT_T_UINT32, "u4"}, {MAT_T_INT64, "i8"}, {MAT_T_UINT64, "u8"}, {MAT_T_SINGLE, "f4"}, {MAT_T_DOUBLE, "f8"}};
  for (const auto& [kind, name] : types)
    if (kind == variable.data_type && variable.isComplex == 0) return name;
  return {};
}

std::vector<Index> shape_of(const matvar_t& variable) {
  std::vector<Index> shape;
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<Index>::max());
  for (int d = 0; d < variable.rank && variable.dims != nullptr; ++d)
    shape.push_back(static_cast<Index>(std::min(variable.dims[d], most)));
  return shape;
}

/// The characters of a char array, one byte or one UTF-16 unit each (other than ASCII: '?').
std::string text_of(const matvar_t& cell) {
  std::string out;
  const auto unit = static_cast<std::size_t>(std::max(cell.data_size, 1));
  const std::string_view bytes(static_cast<const char*>(cell.data), cell.data == nullptr ? 0 : cell.nbytes);
  for (std::size_t at = 0; at + unit <= bytes.size(); at += unit)
    out += bytes.substr(at + 1, unit - 1).find_first_not_of('\0') == std::string_view::npos ? bytes[at] : '?';
  return out;
}

class Mat : public Container {
 public:
  explicit Mat(const Reading& reading) : Container(reading, "variable") {
    if (reading.bytes[125] == '\x01' || reading.bytes[124] == '\x01') check_mat5(reading);
    const LibraryLock lock;
    file_.reset(Mat_Open(reading.path.c_str(), MAT_ACC_RDONLY), [](mat_t* file) {
      const LibraryLock closing;
      if (file != nullptr) Mat_Close(file);
    });
    if (!file_) reading.fail("", "the MATLAB header is damaged; save it again with save -v7");
    while (const MatVariable variable{Mat_VarReadNextInfo(file_.get())}) {
      if (variable->name == nullptr) continue;
      const bool cell = variable->class_type == MAT_C_CELL;
      const bool numbers = numeric_class(variable->class_type) || variable->class_type == MAT_C_SPARSE;
      const bool loadable = cell || (numbers && variable->isComplex == 0) || is_plain(*variable);
      entries_.push_back({variable->name, shape_of(*variable), loadable, cell, class_text(*variable)});
      reading.at(0);
    }
    if (entries_.empty())
      reading.fail("", "no variable can be read from it; the file is empty or damaged, save it again with save -v7");
  }

  Variable load(const Entry& entry) override {
    const LibraryLock lock;
    MatVariable variable(Mat_VarReadInfo(file_.get(), entry.name.c_str()));
    if (!variable) reading_.fail(entry.name, "cannot be read; save the file again with save -v7");
    if (is_plain(*variable)) return load_plain(entry.name);
    double count = 1;
    const std::vector<Index> shape = shape_of(*variable);
    for (const Index length : shape) count *= static_cast<double>(length);
    if (count == 0) reading_.fail(entry.name, line_of("is ", shape_text(shape), ", it holds no numbers"));
    // an element takes at least one byte, however wide its class is; a sparse matrix 4 bytes a column
    const bool is_sparse = variable->class_type == MAT_C_SPARSE;
    reading_.check_claim(is_sparse && shape.size() == 2 ? 4 * static_cast<double>(shape[1]) : count, entry.name);
    if (Mat_VarReadDataAll(file_.get(), variable.get()) != 0 || (variable->data == nullptr))
      reading_.fail(entry.name, "its data are damaged or truncated; copy the file again");
    Variable out;
    if (variable->class_type == MAT_C_CELL)
      out = cell_text(*variable, entry.name);
    else if (is_sparse)
      out.sparse = sparse(*variable, entry.name);
    else
      out.array = dense(std::move(variable), entry.name);
    return out;
  }

 private:
  /// A dataset of a v7.3 file whose class matio does not recognise, as programs other than MATLAB write them.
  bool is_plain(const matvar_t& variable) const {
    return Mat_GetVersion(file_.get()) == MAT_FT_MAT73 && variable.class_type == MAT_C_EMPTY && variable.rank > 0;
  }

  /// HDF5 lists the axes in the reverse order of MATLAB.
  Variable load_plain(const std::string& name) const {
    const std::unique_ptr<Container> file = kHdf5.open(reading_);
    for (const Entry& entry : file->entries()) {
      if (entry.name != name || !entry.loadable || entry.is_text) continue;
      Variable out = file->load(entry);
      std::reverse(out.array.shape.begin(), out.array.shape.end());
      out.array.fortran = true;
      return out;
    }
    reading_.fail(name, "is not numeric; name a numeric variable");
  }

  TypedArray dense(MatVariable variable, const std::string& name) const {
    TypedArray array;
    array.type = type_of(*variable);
    if (array.type.empty() || !numeric_class(variable->class_type))
      reading_.fail(name, line_of("is ", class_text(*variable), "; name a numeric variable"));
    array.fortran = true;
    array.shape = shape_of(*variable);
    checked_count(reading_, array.shape, item_size(array.type), variable->nbytes, name);
    array.data = static_cast<const char*>(variable->data);
    // a variable may refer to its file until it is freed
    array.owner = std::shared_ptr<const matvar_t>(variable.release(), [file = file_](matvar_t* v) mutable {
      const LibraryLock lock;
      Mat_VarFree(v);
      file.reset();
    });
    return array;
  }

  Variable cell_text(const matvar_t& variable, const std::string& name) const {
    Variable out;
    out.is_text = true;
    auto* const* cells = static_cast<matvar_t* const*>(variable.data);
    for (std::size_t i = 0; i < variable.nbytes / sizeof(matvar_t*); ++i) {
      if (cells[i] == nullptr || cells[i]->class_type != MAT_C_CHAR)
        reading_.fail(name,
                      line_of("cell ", i + 1, " is no text; labels are a numeric vector or a cell array of text"));
      out.text.push_back(text_of(*cells[i]));
    }
    return out;
  }

  Sparse sparse(const matvar_t& variable, const std::string& name) const {
    const auto* stored = static_cast<const mat_sparse_t*>(variable.data);
    const auto damaged = [&] {
      reading_.fail(name, "is no sound sparse matrix of real numbers; save it again with save -v7");
    };
    TypedArray values;
    values.type = type_of(variable);
    const std::vector<Index> shape = shape_of(variable);
    if (shape.size() != 2 || values.type.empty() || stored->jc == nullptr ||
        static_cast<Index>(stored->njc) != shape[1] + 1 || (stored->ndata > 0 && stored->data == nullptr) ||
        (stored->nir > 0 && stored->ir == nullptr))
      damaged();
    reading_.check_claim(static_cast<double>(shape[0]) * sizeof(Index), name);
    const mat_uint32_t* start = stored->jc;
    const std::size_t count = start[shape[1]];
    if (start[0] != 0 || count > stored->nir || count > stored->ndata || !std::is_sorted(start, start + shape[1] + 1))
      damaged();
    values.shape = {static_cast<Index>(count)};
    values.data = static_cast<const char*>(stored->data);
    const std::vector<double> value = count == 0 ? std::vector<double>() : vector_of(values, reading_, name);
    std::vector<Triplet> entries;
    for (Index j = 0; j < shape[1]; ++j)
      for (std::size_t k = start[j]; k < start[j + 1]; ++k) {
        if (static_cast<Index>(stored->ir[k]) >= shape[0]) damaged();
        entries.push_back({static_cast<std::int32_t>(j), static_cast<std::int32_t>(stored->ir[k]), value[k]});
      }
    return sparse_from_triplets(shape[1], shape[0], entries);
  }

  std::shared_ptr<mat_t> file_;
};

bool is_mat(std::string_view bytes) {
  const std::string_view tail = bytes.size() < 128 ? "" : bytes.substr(124, 4);
  return tail == std::string_view("\x00\x01IM", 4) || tail == std::string_view("\x01\x00MI", 4) ||
         tail == std::string_view("\x00\x02IM", 4);
}

}  // namespace

const Format kMat{"mat", is_mat, nullptr,
                  [](const Reading& reading) -> std::unique_ptr<Container> { return std::make_unique<Mat>(reading); },
                  true};

}  // namespace pacewise

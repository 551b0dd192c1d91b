#include "io/mat.hpp"

#include <matio.h>

#include <algorithm>
#include <cstring>

#include "io/hdf5.hpp"
#include "io/library_lock.hpp"
#include "io/mat5_check.hpp"

namespace pacewise {
namespace {

struct FreeVariable {
  void operator()(matvar_t* variable) const { Mat_VarFree(variable); }
};
using MatVariable = std::unique_ptr<matvar_t, FreeVariable>;

bool numeric_class(matio_classes c) { return c >= MAT_C_DOUBLE && c <= MAT_C_UINT64; }

std::string class_text(const matvar_t& variable) {
  if (variable.isComplex != 0) return "complex numbers";
  switch (variable.class_type) {
    case MAT_C_CELL:
      return "a cell array";
    case MAT_C_STRUCT:
      return "a struct";
    case MAT_C_CHAR:
      return "text";
    case MAT_C_OBJECT:
    case MAT_C_OPAQUE:
      return "an object or table";
    case MAT_C_FUNCTION:
      return "a function";
    default:
      return "an unknown class";
  }
}

std::optional<Scalar> scalar_of(matio_types type) {
  switch (type) {
    case MAT_T_INT8:
      return Scalar::int8;
    case MAT_T_UINT8:
      return Scalar::uint8;
    case MAT_T_INT16:
      return Scalar::int16;
    case MAT_T_UINT16:
      return Scalar::uint16;
    case MAT_T_INT32:
      return Scalar::int32;
    case MAT_T_UINT32:
      return Scalar::uint32;
    case MAT_T_INT64:
      return Scalar::int64;
    case MAT_T_UINT64:
      return Scalar::uint64;
    case MAT_T_SINGLE:
      return Scalar::float32;
    case MAT_T_DOUBLE:
      return Scalar::float64;
    default:
      return {};
  }
}

std::vector<Index> shape_of(const matvar_t& variable) {
  std::vector<Index> shape;
  for (int d = 0; d < variable.rank && variable.dims != nullptr; ++d) {
    const std::size_t length = variable.dims[d];
    const auto most = static_cast<std::size_t>(std::numeric_limits<Index>::max());
    shape.push_back(static_cast<Index>(std::min(length, most)));
  }
  return shape;
}

/// The characters of a char array, one byte or one UTF-16 unit each (other than ASCII: '?').
std::string text_of(const matvar_t* cell) {
  std::string out;
  if (cell == nullptr || cell->class_type != MAT_C_CHAR || cell->data == nullptr || cell->data_size <= 0) return out;
  const auto unit = static_cast<std::size_t>(cell->data_size);
  const char* bytes = static_cast<const char*>(cell->data);
  for (std::size_t at = 0; at + unit <= cell->nbytes; at += unit) {
    bool wide = false;
    for (std::size_t b = 1; b < unit; ++b) wide = wide || bytes[at + b] != 0;
    out += wide ? '?' : bytes[at];
  }
  return out;
}

class Mat : public Container {
 public:
  explicit Mat(const Reading& reading) : reading_(reading) {
    if (reading.bytes[125] == '\x01' || reading.bytes[124] == '\x01') check_mat5(reading);
    const LibraryLock lock;
    file_.reset(Mat_Open(reading.path.c_str(), MAT_ACC_RDONLY), [](mat_t* file) {
      const LibraryLock closing;
      if (file != nullptr) Mat_Close(file);
    });
    if (!file_) reading.fail("", "the MATLAB header is damaged; save it again with save -v7");
    for (;;) {
      const MatVariable variable(Mat_VarReadNextInfo(file_.get()));
      if (!variable) break;
      if (variable->name == nullptr) continue;
      Entry entry;
      entry.name = variable->name;
      entry.shape = shape_of(*variable);
      const bool cell = variable->class_type == MAT_C_CELL;
      const bool numbers = numeric_class(variable->class_type) || variable->class_type == MAT_C_SPARSE;
      entry.is_text = cell;
      entry.loadable = cell || (numbers && variable->isComplex == 0) || is_plain(*variable);
      entry.what = class_text(*variable);
      entries_.push_back(std::move(entry));
      reading.at(0);
    }
    if (entries_.empty())
      reading.fail("", "no variable can be read from it; the file is empty or damaged, save it again with save -v7");
  }

  const std::vector<Entry>& entries() const override { return entries_; }
  std::string kind() const override { return "variable"; }

  Variable load(const Entry& entry) override {
    const LibraryLock lock;
    MatVariable variable(Mat_VarReadInfo(file_.get(), entry.name.c_str()));
    if (!variable) reading_.fail(entry.name, "cannot be read; save the file again with save -v7");
    if (is_plain(*variable)) return load_plain(entry.name);
    check_size(*variable, entry.name);
    if (Mat_VarReadDataAll(file_.get(), variable.get()) != 0 || (variable->data == nullptr))
      reading_.fail(entry.name, "its data are damaged or truncated; copy the file again");
    if (variable->class_type == MAT_C_CELL) return cell_text(*variable, entry.name);
    if (variable->class_type == MAT_C_SPARSE) return sparse(*variable, entry.name);
    return dense(std::move(variable), entry.name);
  }

 private:
  /// A dataset of a v7.3 file whose class matio does not recognise, as programs other than MATLAB write them.
  bool is_plain(const matvar_t& variable) const {
    return Mat_GetVersion(file_.get()) == MAT_FT_MAT73 && variable.class_type == MAT_C_EMPTY && variable.rank > 0;
  }

  /// HDF5 lists the axes in the reverse order of MATLAB.
  Variable load_plain(const std::string& name) const {
    const std::unique_ptr<Container> file = open_hdf5(reading_);
    for (const Entry& entry : file->entries()) {
      if (entry.name != name || !entry.loadable || entry.is_text) continue;
      Variable out = file->load(entry);
      std::reverse(out.array.shape.begin(), out.array.shape.end());
      out.array.fortran = true;
      return out;
    }
    reading_.fail(name, "is not numeric; name a numeric variable");
  }

  void check_size(const matvar_t& variable, const std::string& name) const {
    double count = 1;
    for (const Index length : shape_of(variable)) count *= static_cast<double>(length);
    if (count == 0) reading_.fail(name, line_of("is ", shape_text(shape_of(variable)), ", it holds no numbers"));
    if (variable.class_type == MAT_C_SPARSE) {
      // the stored entries are checked by matio against the bytes there are; its column starts follow the width
      if (variable.rank == 2) reading_.check_claim(static_cast<double>(variable.dims[1]), 4, name);
      return;
    }
    // an element takes at least one byte in the file, however wide its class is
    reading_.check_claim(count, 1, name);
    if (variable.compression == MAT_COMPRESSION_NONE && Mat_GetVersion(file_.get()) != MAT_FT_MAT73 &&
        count > static_cast<double>(reading_.stored))
      reading_.fail(name, line_of("is ", shape_text(shape_of(variable)), " in a file of ", reading_.stored,
                                  " bytes; the file is truncated, copy it again"));
  }

  Variable dense(MatVariable variable, const std::string& name) const {
    const std::optional<Scalar> type = scalar_of(variable->data_type);
    if (!type || variable->isComplex != 0 || !numeric_class(variable->class_type))
      reading_.fail(name, line_of("is ", class_text(*variable), "; name a numeric variable"));
    Variable out;
    out.array.type = *type;
    out.array.fortran = true;
    out.array.shape = shape_of(*variable);
    checked_count(reading_, out.array.shape, scalar_size(*type), variable->nbytes, name);
    out.array.data = static_cast<const char*>(variable->data);
    // a variable may refer to its file until it is freed
    out.array.owner = std::shared_ptr<const matvar_t>(variable.release(), [file = file_](matvar_t* v) mutable {
      const LibraryLock lock;
      Mat_VarFree(v);
      file.reset();
    });
    return out;
  }

  Variable cell_text(const matvar_t& variable, const std::string& name) const {
    Variable out;
    out.is_text = true;
    const std::size_t count = variable.nbytes / sizeof(matvar_t*);
    auto* const* cells = static_cast<matvar_t* const*>(variable.data);
    for (std::size_t i = 0; i < count; ++i) {
      if (cells[i] == nullptr || cells[i]->class_type != MAT_C_CHAR)
        reading_.fail(name,
                      line_of("cell ", i + 1, " is no text; labels are a numeric vector or a cell array of text"));
      out.text.push_back(text_of(cells[i]));
    }
    return out;
  }

  Variable sparse(const matvar_t& variable, const std::string& name) const {
    const auto* stored = static_cast<const mat_sparse_t*>(variable.data);
    const std::vector<Index> shape = shape_of(variable);
    const std::optional<Scalar> type = scalar_of(variable.data_type);
    if (shape.size() != 2 || !type || variable.isComplex != 0 || stored->jc == nullptr ||
        static_cast<Index>(stored->njc) != shape[1] + 1 || (stored->ndata > 0 && stored->data == nullptr) ||
        (stored->nir > 0 && stored->ir == nullptr))
      reading_.fail(name, "is no sparse matrix of real numbers; save it again with save -v7");
    reading_.check_claim(static_cast<double>(shape[0]), sizeof(Index), name);
    const auto entries = static_cast<std::size_t>(stored->jc[shape[1]]);
    if (stored->jc[0] != 0 || entries > stored->nir || entries > stored->ndata)
      reading_.fail(name, "its sparse indices are damaged; save it again with save -v7");
    TypedArray values;
    values.type = *type;
    values.shape = {static_cast<Index>(entries)};
    values.data = static_cast<const char*>(stored->data);
    const std::vector<double> value = numbers_of(values);
    std::vector<Triplet> triplets;
    triplets.reserve(entries);
    for (Index j = 0; j < shape[1]; ++j) {
      const std::size_t first = stored->jc[j], last = stored->jc[j + 1];
      if (first > last || last > entries) reading_.fail(name, "its sparse columns are damaged; save it again");
      for (std::size_t k = first; k < last; ++k) {
        if (static_cast<Index>(stored->ir[k]) >= shape[0])
          reading_.fail(name,
                        line_of("row index ", stored->ir[k], " is outside ", shape_text(shape), "; save it again"));
        triplets.push_back({static_cast<std::int32_t>(j), static_cast<std::int32_t>(stored->ir[k]), value[k]});
      }
    }
    Variable out;
    out.sparse = sparse_from_triplets(shape[1], shape[0], std::move(triplets));
    return out;
  }

  const Reading& reading_;
  std::shared_ptr<mat_t> file_;
  std::vector<Entry> entries_;
};

}  // namespace

bool is_mat(std::string_view bytes) {
  if (bytes.size() < 128) return false;
  const std::string_view tail = bytes.substr(124, 4);
  return tail == std::string_view("\x00\x01IM", 4) || tail == std::string_view("\x01\x00MI", 4) ||
         tail == std::string_view("\x00\x02IM", 4);
}

std::unique_ptr<Container> open_mat(const Reading& reading) { return std::make_unique<Mat>(reading); }

}  // namespace pacewise

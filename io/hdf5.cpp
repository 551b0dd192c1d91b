#include "io/hdf5.hpp"

#include <hdf5.h>

#include <algorithm>
#include <cstring>

#include "io/library_lock.hpp"

namespace pacewise {
namespace {

std::recursive_mutex library_lock;

/// An HDF5 identifier and the function that closes it.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  hid_t get() const { return id_; }
  bool bad() const { return id_ < 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

constexpr std::size_t kMostEntries = 10000;

struct Visit {
  std::vector<Entry>* entries;
  hid_t file;
};

std::vector<Index> shape_of(hid_t dataset) {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  const int rank = space.bad() ? -1 : H5Sget_simple_extent_ndims(space.get());
  if (rank <= 0 || rank > H5S_MAX_RANK) return {};
  std::vector<hsize_t> length(static_cast<std::size_t>(rank));
  if (H5Sget_simple_extent_dims(space.get(), length.data(), nullptr) < 0) return {};
  std::vector<Index> shape;
  for (const hsize_t l : length)
    shape.push_back(static_cast<Index>(std::min<hsize_t>(l, std::numeric_limits<Index>::max())));
  return shape;
}

bool is_number(H5T_class_t kind) { return kind == H5T_INTEGER || kind == H5T_FLOAT || kind == H5T_ENUM; }

const char* class_text(H5T_class_t kind) {
  if (kind == H5T_COMPOUND) return "a table of records";
  if (kind == H5T_STRING) return "text";
  return "not numeric";
}

/// Only hard links are followed: a visited file stays within itself. C calls this, so nothing may be thrown.
herr_t visit_link(hid_t group, const char* name, const H5L_info_t* info, void* data) noexcept {
  try {
    auto& visit = *static_cast<Visit*>(data);
    if (visit.entries->size() >= kMostEntries) return 1;
    if (info->type != H5L_TYPE_HARD) return 0;
    const Handle object(H5Oopen(group, name, H5P_DEFAULT), H5Oclose);
    if (object.bad()) {
      visit.entries->push_back(
          {name, {}, false, false, "a dataset that cannot be opened: damaged, or written by a newer HDF5"});
      return 0;
    }
    if (H5Iget_type(object.get()) != H5I_DATASET) return 0;
    const Handle type(H5Dget_type(object.get()), H5Tclose);
    const H5T_class_t kind = type.bad() ? H5T_NO_CLASS : H5Tget_class(type.get());
    Entry entry;
    entry.name = name;
    entry.shape = shape_of(object.get());
    entry.is_text = kind == H5T_STRING;
    entry.loadable = (is_number(kind) || entry.is_text) && !entry.shape.empty();
    entry.what = entry.shape.empty() ? "a single value" : class_text(kind);
    visit.entries->push_back(std::move(entry));
    return 0;
  } catch (...) {
    return -1;
  }
}

class Hdf5 : public Container {
 public:
  explicit Hdf5(const Reading& reading) : reading_(reading), lock_(), file_(open(reading), H5Fclose) {
    Visit visit{&entries_, file_.get()};
    if (H5Lvisit(file_.get(), H5_INDEX_NAME, H5_ITER_INC, visit_link, &visit) < 0)
      reading.fail("", "the HDF5 structure is damaged; copy the file again");
    if (entries_.empty()) reading.fail("", "holds no dataset; save an array in it");
  }

  const std::vector<Entry>& entries() const override { return entries_; }
  std::string kind() const override { return "dataset"; }

  Variable load(const Entry& entry) override {
    const Handle dataset(H5Dopen2(file_.get(), entry.name.c_str(), H5P_DEFAULT), H5Dclose);
    if (dataset.bad()) reading_.fail(entry.name, "cannot be opened; copy the file again");
    const Handle type(H5Dget_type(dataset.get()), H5Tclose);
    const std::size_t item = type.bad() ? 0 : H5Tget_size(type.get());
    if (item == 0) reading_.fail(entry.name, "has no type; copy the file again");
    check_size(dataset.get(), entry, item);
    if (entry.is_text) return load_text(dataset.get(), type.get(), entry, item);
    return load_numbers(dataset.get(), type.get(), entry, item);
  }

 private:
  static hid_t open(const Reading& reading) {
    const hid_t file = H5Fopen(reading.path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) reading.fail("", "the HDF5 header is damaged or the file is truncated; copy it again");
    return file;
  }

  /// Rows in one chunk; 1 where the dataset is not chunked.
  Index chunk_rows(hid_t dataset, const Entry& entry, std::size_t item) const {
    const Handle plan(H5Dget_create_plist(dataset), H5Pclose);
    if (plan.bad() || H5Pget_layout(plan.get()) != H5D_CHUNKED) return 1;
    std::vector<hsize_t> length(entry.shape.size());
    if (H5Pget_chunk(plan.get(), static_cast<int>(length.size()), length.data()) < 0) return 1;
    double count = 1;
    for (const hsize_t l : length) count *= static_cast<double>(l);
    reading_.check_claim(count, static_cast<double>(item), entry.name);
    return static_cast<Index>(length[0]);
  }

  void check_size(hid_t dataset, const Entry& entry, std::size_t item) const {
    const Index count = checked_count(reading_, entry.shape, 1, std::numeric_limits<std::size_t>::max(), entry.name);
    reading_.check_claim(static_cast<double>(count), static_cast<double>(item), entry.name);
    const hsize_t stored = H5Dget_storage_size(dataset);
    if (static_cast<double>(stored) > static_cast<double>(reading_.stored))
      reading_.fail(entry.name, line_of("claims ", stored, " bytes in a file of ", reading_.stored,
                                        "; the file is truncated, copy it again"));
  }

  /// HDF5 converts any number type; float holds integers of up to 16 bits exactly.
  Variable load_numbers(hid_t dataset, hid_t type, const Entry& entry, std::size_t item) const {
    const H5T_class_t kind = H5Tget_class(type);
    const bool narrow = kind == H5T_ENUM || (kind == H5T_FLOAT ? item <= 4 : item <= 2);
    Variable out;
    out.array.type = kind == H5T_ENUM ? Scalar::int32 : narrow ? Scalar::float32 : Scalar::float64;
    out.array.shape = entry.shape;
    const std::size_t width = narrow ? 4 : 8;
    const Index rows = entry.shape[0], features = out.array.count() / rows;
    const Dense<float> words = allocate_dense<float>(features * (narrow ? 1 : 2), rows, reading_);
    char* bytes = reinterpret_cast<char*>(words.view.data);
    const hid_t memory_type = kind == H5T_ENUM ? H5T_NATIVE_INT32 : narrow ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
    const Index chunk = std::max<Index>(chunk_rows(dataset, entry, item), 1);
    const Index wanted = std::max<Index>((Index{1} << 24) / std::max<Index>(features * 8, 1), 1);
    const Index slab = (wanted + chunk - 1) / chunk * chunk;  // whole chunks, so none is decompressed twice
    for (Index first = 0; first < rows; first += slab) {
      const Index count = std::min(slab, rows - first);
      read_rows(dataset, entry, first, count, memory_type, bytes + static_cast<std::size_t>(first * features) * width);
      reading_.at(0.5 * static_cast<double>(first + count) / static_cast<double>(rows));
    }
    out.array.data = bytes;
    out.array.owner = words.owner;
    return out;
  }

  void read_rows(hid_t dataset, const Entry& entry, Index first, Index count, hid_t type, void* out) const {
    std::vector<hsize_t> start(entry.shape.size(), 0), length;
    for (const Index l : entry.shape) length.push_back(static_cast<hsize_t>(l));
    start[0] = static_cast<hsize_t>(first);
    length[0] = static_cast<hsize_t>(count);
    const Handle file_space(H5Dget_space(dataset), H5Sclose);
    const Handle memory_space(H5Screate_simple(static_cast<int>(length.size()), length.data(), nullptr), H5Sclose);
    if (file_space.bad() || memory_space.bad() ||
        H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr, length.data(), nullptr) < 0 ||
        H5Dread(dataset, type, memory_space.get(), file_space.get(), H5P_DEFAULT, out) < 0)
      reading_.fail(entry.name, line_of("rows ", first + 1, " to ", first + count,
                                        " cannot be read: damaged, truncated or packed by a filter that is not ",
                                        "installed; copy or repack the file"));
  }

  Variable load_text(hid_t dataset, hid_t type, const Entry& entry, std::size_t item) const {
    const Handle space(H5Dget_space(dataset), H5Sclose);
    const hssize_t count = space.bad() ? -1 : H5Sget_simple_extent_npoints(space.get());
    Variable out;
    out.is_text = true;
    if (count > 0 && H5Tis_variable_str(type) > 0) {
      std::vector<char*> text(static_cast<std::size_t>(count), nullptr);
      const herr_t status = H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data());
      if (status >= 0)
        for (const char* t : text) out.text.emplace_back(t == nullptr ? "" : t);
      H5Dvlen_reclaim(type, space.get(), H5P_DEFAULT, text.data());
    } else if (count > 0) {
      std::string cells(static_cast<std::size_t>(count) * item, '\0');
      if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells.data()) >= 0)
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
          const std::string cell = cells.substr(i * item, item);
          out.text.push_back(cell.substr(0, cell.find('\0')));
        }
    }
    if (out.text.empty()) reading_.fail(entry.name, "its text cannot be read; copy the file again");
    return out;
  }

  const Reading& reading_;
  LibraryLock lock_;
  Handle file_;
  std::vector<Entry> entries_;
};

}  // namespace

LibraryLock::LibraryLock() : lock_(library_lock) {
  H5E_auto2_t function = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &function, &data_);
  function_ = reinterpret_cast<void*>(function);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

LibraryLock::~LibraryLock() { H5Eset_auto2(H5E_DEFAULT, reinterpret_cast<H5E_auto2_t>(function_), data_); }

std::unique_ptr<Container> open_hdf5(const Reading& reading) { return std::make_unique<Hdf5>(reading); }

}  // namespace pacewise

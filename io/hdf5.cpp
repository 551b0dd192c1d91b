#include <hdf5.h>

#include <algorithm>

#include "io/formats.hpp"

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
  operator hid_t() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

std::vector<Index> shape_of(hid_t dataset) {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  const int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
  if (rank <= 0 || rank > H5S_MAX_RANK) return {};
  std::vector<hsize_t> length(static_cast<std::size_t>(rank));
  if (H5Sget_simple_extent_dims(space, length.data(), nullptr) < 0) return {};
  std::vector<Index> shape;
  for (const hsize_t l : length)
    shape.push_back(static_cast<Index>(std::min<hsize_t>(l, std::numeric_limits<Index>::max())));
  return shape;
}

/// Only hard links are followed: a visited file stays within itself. C calls this, so nothing may be thrown.
herr_t visit_link(hid_t group, const char* name, const H5L_info_t* info, void* data) noexcept {
  try {
    auto& entries = *static_cast<std::vector<Entry>*>(data);
    if (entries.size() >= 10000) return 1;
    if (info->type != H5L_TYPE_HARD) return 0;
    const Handle object(H5Oopen(group, name, H5P_DEFAULT), H5Oclose);
    if (object < 0)
      entries.push_back(
          {name, {}, false, false, "a dataset that cannot be opened: damaged, or written by a newer HDF5"});
    if (object < 0 || H5Iget_type(object) != H5I_DATASET) return 0;
    const Handle type(H5Dget_type(object), H5Tclose);
    const H5T_class_t kind = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
    const bool text = kind == H5T_STRING;
    const bool number = kind == H5T_INTEGER || kind == H5T_FLOAT || kind == H5T_ENUM;
    const std::vector<Index> shape = shape_of(object);
    const char* what = shape.empty()          ? "a single value"
                       : kind == H5T_COMPOUND ? "a table of records"
                       : text                 ? "text"
                                              : "not numeric";
    entries.push_back({name, shape, (number || text) && !shape.empty(), text, what});
    return 0;
  } catch (...) {
    return -1;
  }
}

class Hdf5 : public Container {
 public:
  explicit Hdf5(const Reading& reading)
      : Container(reading, "dataset"), file_(H5Fopen(reading.path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose) {
    if (file_ < 0) reading.fail("", "the HDF5 header is damaged or the file is truncated; copy it again");
    if (H5Lvisit(file_, H5_INDEX_NAME, H5_ITER_INC, visit_link, &entries_) < 0)
      reading.fail("", "the HDF5 structure is damaged; copy the file again");
    if (entries_.empty()) reading.fail("", "holds no dataset; save an array in it");
  }

  Variable load(const Entry& entry) override {
    const Handle dataset(H5Dopen2(file_, entry.name.c_str(), H5P_DEFAULT), H5Dclose);
    const Handle type(dataset < 0 ? -1 : H5Dget_type(dataset), H5Tclose);
    const std::size_t item = type < 0 ? 0 : H5Tget_size(type);
    if (item == 0) reading_.fail(entry.name, "cannot be opened; copy the file again");
    check_claims(dataset, entry, static_cast<double>(item));
    reading_.at(0);
    Variable out;
    out.is_text = entry.is_text;
    if (entry.is_text ? load_text(dataset, type, item, out.text) : load_numbers(dataset, type, entry, out.array))
      return out;
    reading_.fail(entry.name,
                  "cannot be read: damaged, truncated or packed by a filter that is not installed; copy or "
                  "repack the file");
  }

 private:
  void check_claims(hid_t dataset, const Entry& entry, double item) const {
    const Index count = checked_count(reading_, entry.shape, 0, 0, entry.name);
    reading_.check_claim(static_cast<double>(count) * item, entry.name);
    const hsize_t stored = H5Dget_storage_size(dataset);
    if (static_cast<double>(stored) > static_cast<double>(reading_.stored))
      reading_.fail(entry.name, line_of("claims ", stored, " bytes in a file of ", reading_.stored,
                                        "; the file is truncated, copy it again"));
    const Handle plan(H5Dget_create_plist(dataset), H5Pclose);
    std::vector<hsize_t> length(entry.shape.size());
    if (plan < 0 || H5Pget_layout(plan) != H5D_CHUNKED ||
        H5Pget_chunk(plan, static_cast<int>(length.size()), length.data()) < 0)
      return;
    for (const hsize_t l : length) item *= static_cast<double>(l);
    reading_.check_claim(item, entry.name + ", a chunk");
  }

  /// HDF5 converts any number type; float holds integers of up to 16 bits exactly.
  bool load_numbers(hid_t dataset, hid_t type, const Entry& entry, TypedArray& array) const {
    const H5T_class_t kind = H5Tget_class(type);
    const std::size_t item = H5Tget_size(type);
    array.type = kind == H5T_ENUM ? "i4" : item <= (kind == H5T_FLOAT ? 4 : 2) ? "f4" : "f8";
    array.shape = entry.shape;
    const Index bytes = array.count() * static_cast<Index>(item_size(array.type));
    reading_.check_size(static_cast<double>(bytes), entry.name);
    const auto numbers = std::make_shared<Vector<char>>(bytes);
    array.data = numbers->data();
    array.owner = numbers;
    const hid_t wanted = kind == H5T_ENUM     ? H5T_NATIVE_INT32
                         : array.type == "f4" ? H5T_NATIVE_FLOAT
                                              : H5T_NATIVE_DOUBLE;
    return H5Dread(dataset, wanted, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers->data()) >= 0;
  }

  static bool load_text(hid_t dataset, hid_t type, std::size_t item, std::vector<std::string>& out) {
    const Handle space(H5Dget_space(dataset), H5Sclose);
    const hssize_t points = space < 0 ? 0 : H5Sget_simple_extent_npoints(space);
    const auto count = static_cast<std::size_t>(std::max<hssize_t>(points, 0));
    if (H5Tis_variable_str(type) > 0) {
      std::vector<char*> text(count, nullptr);
      if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()) >= 0)
        for (const char* t : text) out.emplace_back(t == nullptr ? "" : t);
      H5Dvlen_reclaim(type, space, H5P_DEFAULT, text.data());
    } else {
      std::string cells(count * item, '\0');
      if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, cells.data()) >= 0)
        for (std::size_t i = 0; i < count; ++i) out.emplace_back(cells.substr(i * item, item).c_str());
    }
    return !out.empty();
  }

  LibraryLock lock_;
  Handle file_;
};

}  // namespace

LibraryLock::LibraryLock() : lock_(library_lock) {
  H5E_auto2_t function = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &function, &data_);
  function_ = reinterpret_cast<void*>(function);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

LibraryLock::~LibraryLock() { H5Eset_auto2(H5E_DEFAULT, reinterpret_cast<H5E_auto2_t>(function_), data_); }

const Format kHdf5{"hdf5", [](std::string_view bytes) { return bytes.starts_with("\x89HDF\r\n\x1a\n"); }, nullptr,
                   [](const Reading& reading) -> std::unique_ptr<Container> { return std::make_unique<Hdf5>(reading); },
                   true};

}  // namespace pacewise

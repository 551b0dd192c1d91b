#include <zip.h>

#include <algorithm>

#include "io/formats.hpp"

namespace pacewise {
namespace {

constexpr const char* kSaveAgain = "write the file again with scipy.sparse.save_npz";

class Npz : public Container {
 public:
  explicit Npz(const Reading& reading) : Container(reading, "array"), file_(open(reading), zip_discard) {
    const zip_int64_t count = zip_get_num_entries(file_.get(), 0);
    for (zip_int64_t i = 0; i < count; ++i) {
      const char* name = zip_get_name(file_.get(), static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW);
      const std::string_view text = name == nullptr ? "" : name;
      if (text.size() > 4 && text.ends_with(".npy"))
        entries_.push_back({std::string(text.substr(0, text.size() - 4)), {}, true, false, {}});
    }
    if (entries_.empty()) reading.fail("", "is a zip file without .npy arrays; write it with numpy.savez");
    sparse_ = has("format") && has("shape") && has("data") &&
              ((has("indices") && has("indptr")) || (has("row") && has("col")));
    if (sparse_) entries_ = {{"X", {}, true, false, {}}};
  }

  Variable load(const Entry& entry) override { return sparse_ ? load_sparse() : load_array(entry.name); }

 private:
  static zip_t* open(const Reading& reading) {
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t* source = zip_source_buffer_create(reading.bytes.data(), reading.bytes.size(), 0, &error);
    zip_t* file = source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, &error);
    if (file == nullptr) {
      zip_source_free(source);
      zip_error_fini(&error);
      reading.fail("", "the zip directory is damaged; the file is truncated or no .npz, copy it again");
    }
    return file;
  }

  bool has(std::string_view name) const {
    return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name; });
  }

  std::shared_ptr<const std::string> content(const std::string& array) const {
    const std::string name = array + ".npy";
    zip_stat_t stat;
    if (zip_stat(file_.get(), name.c_str(), ZIP_FL_ENC_RAW, &stat) != 0)
      reading_.fail(array, line_of("is missing; ", kSaveAgain));
    if (stat.encryption_method != ZIP_EM_NONE)
      reading_.fail(name, "is encrypted; write the file again without a password");
    if (stat.comp_method != ZIP_CM_STORE && stat.comp_method != ZIP_CM_DEFLATE)
      reading_.fail(name, line_of("is packed by zip method ", stat.comp_method,
                                  "; write the file with numpy.savez or numpy.savez_compressed"));
    reading_.check_claim(static_cast<double>(stat.size), name);
    const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> entry(zip_fopen_index(file_.get(), stat.index, 0),
                                                                  zip_fclose);
    const auto out = std::make_shared<std::string>(stat.size, '\0');
    char beyond = 0;  // reading to the end makes libzip check the length and the checksum
    if (!entry || zip_fread(entry.get(), out->data(), out->size()) != static_cast<zip_int64_t>(out->size()) ||
        zip_fread(entry.get(), &beyond, 1) != 0)
      reading_.fail(name,
                    line_of("cannot be unpacked (",
                            zip_error_strerror(entry ? zip_file_get_error(entry.get()) : zip_get_error(file_.get())),
                            "); the file is damaged or truncated, copy it again"));
    reading_.at(0.5);
    return out;
  }

  Variable load_array(const std::string& name) const {
    const auto bytes = content(name);
    return parse_npy(reading_, *bytes, bytes, name);
  }

  std::vector<double> numbers(const std::string& name) const {
    const Variable variable = load_array(name);
    if (variable.is_text) reading_.fail(name, line_of("is no vector of numbers; ", kSaveAgain));
    return vector_of(variable.array, reading_, name);
  }

  Index integer(double value, double limit, std::string_view where) const {
    if (!(value >= 0 && value <= limit) || value != static_cast<double>(static_cast<Index>(value)))
      reading_.fail(where, line_of("holds ", value, ", which is no integer in 0..", static_cast<Index>(limit),
                                   "; the file is damaged"));
    return static_cast<Index>(value);
  }

  /// The row of every entry in a CSR matrix, the column in a CSC matrix.
  std::vector<double> expanded(const std::vector<double>& start, Index outer, std::size_t count) const {
    const auto total = static_cast<double>(count);
    if (static_cast<Index>(start.size()) != outer + 1 || start[0] != 0 || start.back() != total)
      reading_.fail("indptr", line_of("does not fit the data; ", kSaveAgain));
    std::vector<double> out;
    for (std::size_t o = 1; o < start.size(); ++o) {
      const auto end = static_cast<std::size_t>(integer(start[o], total, "indptr"));
      if (end < out.size()) reading_.fail("indptr", "is not sorted; the file is damaged");
      out.resize(end, static_cast<double>(o - 1));
    }
    return out;
  }

  /// format is a 0-dimensional text, which is no array of samples: its bytes are looked at directly.
  std::string format() const {
    const auto bytes = content("format");
    std::string letters;
    for (const char c : bytes->substr(bytes->size() - std::min<std::size_t>(bytes->size(), 12)))
      if (c >= 'a' && c <= 'z') letters += c;
    return letters;
  }

  Variable load_sparse() const {
    const std::vector<double> shape = numbers("shape"), value = numbers("data");
    if (shape.size() != 2) reading_.fail("shape", "does not hold two numbers; the file is damaged");
    const double most = std::numeric_limits<std::int32_t>::max();
    const Index rows = integer(shape[0], most, "shape"), cols = integer(shape[1], most, "shape");
    reading_.check_claim(static_cast<double>(rows + cols) * sizeof(Index), "shape");
    const std::string kind = format();
    std::vector<double> row, col;
    if (kind == "csr") {
      col = numbers("indices");
      row = expanded(numbers("indptr"), rows, value.size());
    } else if (kind == "csc") {
      row = numbers("indices");
      col = expanded(numbers("indptr"), cols, value.size());
    } else if (kind == "coo") {
      row = numbers("row");
      col = numbers("col");
    } else {
      reading_.fail("format", line_of("is \"", printable(kind), "\"; save the matrix as csr, csc or coo"));
    }
    if (row.size() != value.size() || col.size() != value.size())
      reading_.fail("data", line_of("as many indices as numbers are needed; ", kSaveAgain));
    std::vector<Triplet> entries;
    for (std::size_t k = 0; k < value.size(); ++k)  // memory holds the transpose: the file's column is our row
      entries.push_back({static_cast<std::int32_t>(integer(col[k], static_cast<double>(cols - 1), "columns")),
                         static_cast<std::int32_t>(integer(row[k], static_cast<double>(rows - 1), "rows")), value[k]});
    Variable out;
    out.sparse = sparse_from_triplets(cols, rows, entries);
    return out;
  }

  std::unique_ptr<zip_t, void (*)(zip_t*)> file_;
  bool sparse_ = false;
};

}  // namespace

const Format kNpz{
    "npz", [](std::string_view bytes) { return bytes.starts_with("PK\x03\x04") || bytes.starts_with("PK\x05\x06"); },
    nullptr, [](const Reading& reading) -> std::unique_ptr<Container> { return std::make_unique<Npz>(reading); }};

}  // namespace pacewise

#include "io/npz.hpp"

#include <algorithm>

#include "io/npy.hpp"

namespace pacewise {
namespace {

class Npz : public Container {
 public:
  explicit Npz(const Reading& reading) : reading_(reading), directory_(zip_directory(reading)) {
    for (const ZipEntry& entry : directory_) {
      const bool array = entry.name.size() > 4 && entry.name.ends_with(".npy");
      if (array) entries_.push_back({entry.name.substr(0, entry.name.size() - 4), {}, true, false, {}});
    }
    if (entries_.empty()) reading.fail("", "is a zip file without .npy arrays; write it with numpy.savez");
    sparse_ = has("format") && has("shape") && has("data") &&
              ((has("indices") && has("indptr")) || (has("row") && has("col")));
    if (sparse_) entries_ = {{"X", {}, true, false, {}}};
  }

  const std::vector<Entry>& entries() const override { return entries_; }
  std::string kind() const override { return "array"; }
  Variable load(const Entry& entry) override { return sparse_ ? load_sparse() : load_array(entry.name); }

 private:
  bool has(std::string_view name) const {
    return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name; });
  }

  std::string_view content(const std::string& name, std::shared_ptr<const void>& owner) const {
    const auto entry =
        std::find_if(directory_.begin(), directory_.end(), [&](const ZipEntry& e) { return e.name == name + ".npy"; });
    if (entry == directory_.end()) reading_.fail(name, "is missing; write the file again with scipy.sparse.save_npz");
    return zip_content(reading_, *entry, owner);
  }

  Variable load_array(const std::string& name) const {
    std::shared_ptr<const void> owner;
    const std::string_view bytes = content(name, owner);
    return parse_npy(reading_, bytes, owner, name);
  }

  std::vector<double> numbers(const std::string& name) const {
    const Variable variable = load_array(name);
    if (variable.is_text || variable.array.shape.size() != 1)
      reading_.fail(name, "is no vector of numbers; write the file with scipy.sparse.save_npz");
    return numbers_of(variable.array);
  }

  Index integer(double value, double limit, std::string_view where) const {
    if (!(value >= 0 && value <= limit) || value != static_cast<double>(static_cast<Index>(value)))
      reading_.fail(where, line_of("holds ", value, ", which is no integer in 0..", static_cast<Index>(limit),
                                   "; the file is damaged"));
    return static_cast<Index>(value);
  }

  std::vector<Triplet> triplets_of_rows(bool by_row, Index outer, Index inner) const {
    const std::vector<double> value = numbers("data"), index = numbers("indices"), start = numbers("indptr");
    if (start.size() != static_cast<std::size_t>(outer) + 1 || index.size() != value.size() || start[0] != 0 ||
        start.back() != static_cast<double>(value.size()))
      reading_.fail("indptr", "does not fit the data; write the file again with scipy.sparse.save_npz");
    std::vector<Triplet> out;
    out.reserve(value.size());
    const auto count = static_cast<double>(value.size());
    for (Index o = 0; o < outer; ++o) {
      const auto at = static_cast<std::size_t>(o);
      const Index first = integer(start[at], count, "indptr"), last = integer(start[at + 1], count, "indptr");
      for (Index k = first; k < last; ++k) {
        const auto entry = static_cast<std::size_t>(k);
        const auto i = static_cast<std::int32_t>(integer(index[entry], static_cast<double>(inner - 1), "indices"));
        const auto s = static_cast<std::int32_t>(o);
        // memory holds the transpose: the file's column is our row
        out.push_back(by_row ? Triplet{i, s, value[entry]} : Triplet{s, i, value[entry]});
        if (out.size() > value.size()) reading_.fail("indptr", "is not sorted; the file is damaged");
      }
    }
    return out;
  }

  std::vector<Triplet> triplets(Index rows, Index cols) const {
    const std::vector<double> value = numbers("data"), row = numbers("row"), col = numbers("col");
    if (row.size() != value.size() || col.size() != value.size())
      reading_.fail("row", "does not fit the data; write the file again with scipy.sparse.save_npz");
    std::vector<Triplet> out;
    out.reserve(value.size());
    for (std::size_t k = 0; k < value.size(); ++k)
      out.push_back({static_cast<std::int32_t>(integer(col[k], static_cast<double>(cols - 1), "col")),
                     static_cast<std::int32_t>(integer(row[k], static_cast<double>(rows - 1), "row")), value[k]});
    return out;
  }

  /// format is a 0-dimensional text, which is no array of samples: its bytes are looked at directly.
  std::string format() const {
    std::shared_ptr<const void> owner;
    const std::string_view bytes = content("format", owner);
    std::string letters;
    for (const char c : bytes.substr(bytes.size() - std::min<std::size_t>(bytes.size(), 12)))
      if (c >= 'a' && c <= 'z') letters += c;
    return letters;
  }

  Variable load_sparse() const {
    const std::vector<double> shape = numbers("shape");
    if (shape.size() != 2) reading_.fail("shape", "does not hold two numbers; the file is damaged");
    const double most = std::numeric_limits<std::int32_t>::max();
    const Index rows = integer(shape[0], most, "shape"), cols = integer(shape[1], most, "shape");
    reading_.check_claim(static_cast<double>(rows) + static_cast<double>(cols), sizeof(Index), "shape");
    const std::string kind = format();
    Variable out;
    if (kind == "csr")
      out.sparse = sparse_from_triplets(cols, rows, triplets_of_rows(true, rows, cols));
    else if (kind == "csc")
      out.sparse = sparse_from_triplets(cols, rows, triplets_of_rows(false, cols, rows));
    else if (kind == "coo")
      out.sparse = sparse_from_triplets(cols, rows, triplets(rows, cols));
    else
      reading_.fail("format", line_of("is \"", printable(kind), "\"; save the matrix as csr, csc or coo"));
    return out;
  }

  const Reading& reading_;
  std::vector<ZipEntry> directory_;
  std::vector<Entry> entries_;
  bool sparse_ = false;
};

}  // namespace

std::unique_ptr<Container> open_npz(const Reading& reading) { return std::make_unique<Npz>(reading); }

}  // namespace pacewise

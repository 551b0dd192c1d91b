#include <sys/stat.h>

#include <algorithm>
#include <new>

#include "io/formats.hpp"

namespace pacewise {
namespace {

/// Formats people try that hold no numbers we could read.
const char* known_other(std::string_view bytes) {
  static constexpr std::pair<std::string_view, const char*> kinds[] = {
      {"BZh", "is compressed by bzip2; decompress it first"},
      {"\xfd\x37zXZ", "is compressed by xz; decompress it first"},
      {"\x28\xb5\x2f\xfd", "is compressed by zstd; decompress it first"},
      {"\x1f\x8b", "is compressed twice or by an unknown gzip method; decompress it first"},
      {"7z\xbc\xaf", "is a 7z archive; unpack it first"},
      {"PAR1", "is a Parquet file; export it as .csv or .npy"},
      {"%PDF", "is a PDF document; export the numbers as .csv"},
      {"\xd0\xcf\x11\xe0", "is an old Excel file; export it as .csv"},
      {"GIF8", "is a GIF image; convert it to PNG"},
      {"P6", "is a colour PPM image; convert it to PGM or PNG"},
      {"P3", "is a colour PPM image; convert it to PGM or PNG"},
      {"\xff\xfe", "is UTF-16 text; save it as UTF-8"},
      {"\xfe\xff", "is UTF-16 text; save it as UTF-8"}};
  if (bytes.size() > 1 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5)
    return "is a Python pickle; save it with numpy.save";
  for (const auto& [magic, text] : kinds)
    if (bytes.starts_with(magic)) return text;
  return nullptr;
}

bool looks_like_text(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, 4096);
  return std::none_of(head.begin(), head.end(), [](char c) {
    const auto code = static_cast<unsigned char>(c);
    return code < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f';
  });
}

constexpr const Format* kFormats[] = {&kNpy, &kNpz, &kMat, &kHdf5, &kMatrixMarket, &kImage, &kIdx};
constexpr Format kCsv{"csv", looks_like_text};

const Format& format_of(const Reading& reading) {
  const std::string_view bytes = reading.bytes;
  for (const Format* format : kFormats)
    if (format->is(bytes)) return *format;
  if (const char* other = known_other(bytes)) reading.fail("", other);
  if (kCsv.is(bytes)) return kCsv;
  if (reading.path.ends_with(".mat")) reading.fail("", "is no MATLAB v5 or v7.3 file; save it again with save -v7");
  reading.fail("", "its format is not known; give .npy, .npz, .csv, .mat, IDX, .mtx, HDF5 or a folder of images");
}

const Format& detect(const Reading& reading) {
  const Format& format = format_of(reading);
  if (!reading.variable.empty() && format.open == nullptr)
    reading.fail("",
                 line_of("a ", format.name, " file has no variables; leave out \"", printable(reading.variable), "\""));
  if (format.regular && !reading.mapped)
    reading.fail("", line_of("a ", format.name, " file can only be read uncompressed from a regular file; ",
                             "decompress it first"));
  return format;
}

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

template <class T>
void add_labels_beside(const Reading& reading, Table<T>& table) {
  const std::string beside = idx_labels_beside(reading.path);
  if (beside.empty()) {
    table.notes.push_back("no labels file lies beside it");
    return;
  }
  ReadOptions quiet = reading.options;
  quiet.progress = nullptr;
  table.labels = read_labels(beside, table.samples(), quiet);
  if (table.labels->cancelled) throw Cancelled{};
}

/// Only text has columns by name
void check_columns(const std::string& path, const ReadOptions& o, const char* format) {
  if (o.label_column.empty() && (o.id_column.empty() || o.id_column == "none") && o.columns.empty() && o.drop.empty() &&
      o.categorical.empty())
    return;
  throw ReadError(line_of(printable(path, 200), ": is ", format, ", and only a CSV has columns that can be chosen, ",
                          "hold labels or names; leave that out"));
}

template <class T>
Table<T> read_any(const std::string& path, const ReadOptions& options) {
  Table<T> table;
  if (is_directory(path)) {
    check_columns(path, options, "a folder");
    table = read_image_folder<T>(path, options);
    table.format = "images";
    return table;
  }
  const Reading reading = open_reading(path, options);
  const Format& format = detect(reading);
  if (&format != &kCsv) check_columns(path, options, format.name);
  if (format.open != nullptr)
    table = format.open(reading)->template read<T>();
  else if (format.read != nullptr)
    place(format.read(reading), reading, "", table);
  else
    table = read_csv<T>(reading);
  if (&format == &kIdx && options.labels_beside) add_labels_beside(reading, table);
  table.format = format.name;
  return table;
}

LabelColumn any_labels(const Reading& reading, Index samples) {
  const Format& format = detect(reading);
  if (format.open != nullptr) return format.open(reading)->read_labels();
  if (format.read == nullptr) return read_csv_labels(reading, samples);
  if (&format == &kImage) reading.fail("", "is an image; labels are a vector of numbers or text");
  return label_column(format.read(reading), reading, "");
}

}  // namespace

void check_known(const Reading& reading) { format_of(reading); }

template <class T>
Table<T> read_table(const std::string& path, const ReadOptions& options) {
  try {
    return read_any<T>(path, options);
  } catch (const Cancelled&) {
    Table<T> table;
    table.cancelled = true;
    return table;
  } catch (const std::bad_alloc&) {
    throw ReadError(line_of(printable(path, 200), ": does not fit in memory; use fewer samples or more memory"));
  }
}

Labels read_labels(const std::string& path, Index samples, const ReadOptions& options) {
  try {
    if (is_directory(path)) throw ReadError(line_of(printable(path, 200), ": is a folder; give a file of labels"));
    const Reading reading = open_reading(path, options);
    const Labels labels = make_labels(any_labels(reading, samples), reading, "");
    if (labels.value.empty()) reading.fail("", "holds no labels; give one label per sample");
    const auto count = static_cast<Index>(labels.value.size());
    if (samples >= 0 && count != samples)
      reading.fail("", line_of("holds ", count, " labels for ", samples, " samples; give one label per sample"));
    return labels;
  } catch (const Cancelled&) {
    Labels labels;
    labels.cancelled = true;
    return labels;
  } catch (const std::bad_alloc&) {
    throw ReadError(line_of(printable(path, 200), ": does not fit in memory; use fewer labels or more memory"));
  }
}

template Table<float> read_table(const std::string&, const ReadOptions&);
template Table<double> read_table(const std::string&, const ReadOptions&);

}  // namespace pacewise

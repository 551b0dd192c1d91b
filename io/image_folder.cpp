#include "io/image_folder.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "io/label_column.hpp"

namespace pacewise {
namespace {

namespace fs = std::filesystem;

struct Listing {
  std::vector<std::string> files;   // images, sorted
  std::vector<std::string> labels;  // subfolder of each; empty where there are no subfolders
  std::size_t other = 0;            // files that are no images
  std::size_t deeper = 0;           // folders within subfolders
};

std::vector<fs::path> sorted_entries(const Reading& reading, const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string()[0] != '.') entries.push_back(it->path());
  if (error)
    reading.fail("", line_of("cannot list ", printable(folder.string(), 200), ": ", error.message(), "; check it"));
  std::sort(entries.begin(), entries.end(),
            [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
  return entries;
}

bool starts_like_image(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string head(8, '\0');
  stream.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(stream.gcount()));
  // a file that cannot be opened is kept if it is named like an image: reading it gives the proper message
  if (!stream.is_open()) {
    const std::string suffix = file.extension().string();
    return suffix == ".png" || suffix == ".jpg" || suffix == ".jpeg" || suffix == ".pgm";
  }
  return is_image(head);
}

void add_file(Listing& listing, const fs::path& file, const std::string& label) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return;
  if (!starts_like_image(file)) {
    ++listing.other;
    return;
  }
  listing.files.push_back(file.string());
  if (!label.empty()) listing.labels.push_back(label);
}

Listing list_images(const Reading& reading) {
  Listing listing;
  std::error_code error;
  std::string in_root;
  for (const fs::path& entry : sorted_entries(reading, reading.path)) {
    if (!fs::is_directory(entry, error)) {
      add_file(listing, entry, "");
      if (in_root.empty() && !listing.files.empty() && listing.labels.empty()) in_root = entry.filename().string();
      continue;
    }
    for (const fs::path& file : sorted_entries(reading, entry)) {
      if (fs::is_directory(file, error))
        ++listing.deeper;
      else
        add_file(listing, file, entry.filename().string());
    }
  }
  if (listing.files.empty()) reading.fail("", "the folder holds no PNG, JPEG or PGM images; give a folder that does");
  if (!listing.labels.empty() && listing.labels.size() != listing.files.size())
    reading.fail(
        "", line_of("has images both in subfolders and beside them (", listing.files.size() - listing.labels.size(),
                    " of ", listing.files.size(), "); put every image into the subfolder of its label"));
  return listing;
}

GreyImage load_image(const std::string& file, const ReadOptions& options) {
  ReadOptions quiet = options;
  quiet.progress = nullptr;
  return decode_image(open_plain(file, quiet));
}

void check_same(const Reading& reading, const GreyImage& first, const std::string& first_name, const GreyImage& image,
                const std::string& name) {
  const auto describe = [](const GreyImage& i) {
    return line_of(i.width, " x ", i.height, " pixels of ", i.bits, " bits");
  };
  const auto shown = [](const std::string& n) { return printable(fs::path(n).filename().string(), 100); };
  if (image.width != first.width || image.height != first.height || image.bits != first.bits)
    reading.fail("", line_of(shown(first_name), " is ", describe(first), ", ", shown(name), " is ", describe(image),
                             "; give all images one size and depth"));
}

template <class T>
void store(const GreyImage& image, T* out) {
  for (std::size_t i = 0; i < image.pixels.size(); ++i) out[i] = static_cast<T>(image.pixels[i]);
}

}  // namespace

bool is_image(std::string_view bytes) {
  const bool png = bytes.substr(0, 8) == std::string_view("\x89PNG\r\n\x1a\n", 8);
  const bool jpeg = bytes.substr(0, 3) == std::string_view("\xff\xd8\xff", 3);
  const bool pgm = bytes.size() > 2 && bytes[0] == 'P' && (bytes[1] == '2' || bytes[1] == '5') &&
                   (bytes[2] == '\n' || bytes[2] == ' ' || bytes[2] == '\r' || bytes[2] == '\t' || bytes[2] == '#');
  return png || jpeg || pgm;
}

GreyImage decode_image(const Reading& reading) {
  if (!is_image(reading.bytes)) reading.fail("", "is no PNG, JPEG or PGM image; remove it from the folder");
  if (reading.bytes[0] == 'P') return decode_pgm(reading);
  return reading.bytes[1] == 'P' ? decode_png(reading) : decode_jpeg(reading);
}

void set_image_size(const Reading& reading, GreyImage& image, Index width, Index height, int bits_per_pixel) {
  if (width <= 0 || height <= 0)
    reading.fail("", line_of("is an image of ", width, " x ", height, " pixels; save it again"));
  const double pixels = static_cast<double>(width) * static_cast<double>(height);
  // what an 8-bit image of 64 KiB could hold is allowed for any file: small icons compress without limit
  const double bound = kExpansion * static_cast<double>(reading.stored) + 65536;
  if (pixels * bits_per_pixel / 8 > bound)
    reading.fail("", line_of("claims ", width, " x ", height, " pixels in ", reading.stored,
                             " bytes; the file is damaged, save it again"));
  image.width = width;
  image.height = height;
  image.pixels.resize(checked_size(width, height));
}

template <class T>
Table<T> read_image_folder(const std::string& path, const ReadOptions& options) {
  Reading reading;
  reading.path = path;
  reading.options = options;
  const Listing listing = list_images(reading);
  const GreyImage first = load_image(listing.files[0], options);
  const auto count = static_cast<Index>(listing.files.size());
  const Dense<T> out = allocate_dense<T>(first.width * first.height, count, reading);
  constexpr Index group = 16;
  reading.for_blocks(block_count(count, group), 0, 1, [&](Index block) {
    for (Index i = block * group; i < block * group + block_length(count, block, group); ++i) {
      const std::string& file = listing.files[static_cast<std::size_t>(i)];
      const GreyImage image = load_image(file, options);
      check_same(reading, first, listing.files[0], image, file);
      store(image, out.view.col(i));
    }
  });
  Table<T> table;
  table.values = out.view;
  table.owner = out.owner;
  table.sample_shape = {first.height, first.width};
  if (!listing.labels.empty()) {
    LabelColumn column;
    column.text = listing.labels;
    table.labels = make_labels(column, reading, "subfolders");
  }
  if (listing.other > 0) table.notes.push_back(line_of(listing.other, " files are no images and are left out"));
  if (listing.deeper > 0) table.notes.push_back(line_of(listing.deeper, " folders within subfolders are left out"));
  return table;
}

template <class T>
Table<T> read_single_image(const Reading& reading) {
  const GreyImage image = decode_image(reading);
  const Dense<T> out = allocate_dense<T>(image.width * image.height, 1, reading);
  store(image, out.view.data);
  Table<T> table;
  table.values = out.view;
  table.owner = out.owner;
  table.sample_shape = {image.height, image.width};
  return table;
}

template Table<float> read_image_folder(const std::string&, const ReadOptions&);
template Table<double> read_image_folder(const std::string&, const ReadOptions&);
template Table<float> read_single_image(const Reading&);
template Table<double> read_single_image(const Reading&);

}  // namespace pacewise

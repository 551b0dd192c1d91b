#include <algorithm>
#include <filesystem>
#include <fstream>

#include "io/formats.hpp"
#include "io/image.hpp"

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
    if (it->path().filename().native()[0] != '.') entries.push_back(it->path());
  if (error)
    reading.fail("", line_of("cannot list ", printable(folder.string(), 200), ": ", error.message(), "; check it"));
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.native() < b.native(); });
  return entries;
}

bool starts_like_image(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string head(8, '\0');
  stream.read(head.data(), 8);
  // a file that cannot be opened is kept if it is named like an image: reading it gives the proper message
  const std::string suffix = file.extension().string();
  return stream.is_open() ? is_image(head.substr(0, static_cast<std::size_t>(stream.gcount())))
                          : suffix == ".png" || suffix == ".jpg" || suffix == ".jpeg" || suffix == ".pgm";
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
  for (const fs::path& entry : sorted_entries(reading, reading.path)) {
    if (!fs::is_directory(entry, error)) {
      add_file(listing, entry, "");
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

GreyImage decode_image(const Reading& reading) {
  if (!is_image(reading.bytes)) reading.fail("", "is no PNG, JPEG or PGM image; remove it from the folder");
  if (reading.bytes[0] == 'P') return decode_pgm(reading);
  return reading.bytes[1] == 'P' ? decode_png(reading) : decode_jpeg(reading);
}

GreyImage load_image(const std::string& file, const ReadOptions& options) {
  ReadOptions quiet = options;
  quiet.progress = nullptr;
  return decode_image(open_plain(file, quiet));
}

std::string described(const std::string& file, const GreyImage& image) {
  return line_of(printable(fs::path(file).filename().string(), 100), " is ", image.width, " x ", image.height,
                 " pixels of ", image.bits, " bits");
}

}  // namespace

bool is_image(std::string_view bytes) {
  const bool pgm = bytes.size() > 2 && (bytes.starts_with("P2") || bytes.starts_with("P5")) &&
                   std::string_view("\n \r\t#").find(bytes[2]) != std::string_view::npos;
  return pgm || bytes.starts_with("\x89PNG\r\n\x1a\n") || bytes.starts_with("\xff\xd8\xff");
}

template <class T>
Table<T> read_image_folder(const std::string& path, const ReadOptions& options) {
  Reading reading;
  reading.path = path;
  reading.options = options;
  const Listing listing = list_images(reading);
  const GreyImage first = load_image(listing.files[0], options);
  const auto count = static_cast<Index>(listing.files.size());
  Table<T> table;
  table.sample_shape = {first.height, first.width};
  const MatrixView<T> out = allocate(table, first.width * first.height, count, reading);
  constexpr Index group = 16;
  reading.for_blocks(block_count(count, group), 0, 1, [&](Index block) {
    for (Index i = block * group; i < block * group + block_length(count, block, group); ++i) {
      const std::string& file = listing.files[static_cast<std::size_t>(i)];
      const GreyImage image = load_image(file, options);
      if (image.width != first.width || image.height != first.height || image.bits != first.bits)
        reading.fail("", line_of(described(listing.files[0], first), ", ", described(file, image),
                                 "; give all images one size and depth"));
      std::copy(image.pixels.begin(), image.pixels.end(), out.col(i));
    }
  });
  if (!listing.labels.empty()) table.labels = make_labels({{}, listing.labels}, reading, "subfolders");
  if (listing.other > 0) table.notes.push_back(line_of(listing.other, " files are no images and are left out"));
  if (listing.deeper > 0) table.notes.push_back(line_of(listing.deeper, " folders within subfolders are left out"));
  return table;
}

Variable read_image(const Reading& reading) {
  const auto image = std::make_shared<GreyImage>(decode_image(reading));
  Variable out;
  out.array.type = "u2";
  out.array.shape = {1, image->height, image->width};
  out.array.data = reinterpret_cast<const char*>(image->pixels.data());
  out.array.owner = image;
  return out;
}

template Table<float> read_image_folder(const std::string&, const ReadOptions&);
template Table<double> read_image_folder(const std::string&, const ReadOptions&);

}  // namespace pacewise

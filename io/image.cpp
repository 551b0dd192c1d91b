#include <png.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "io/formats.hpp"
#include "io/text.hpp"

namespace pacewise {
namespace {

/// Grey values as stored: 0..255, or 0..65535 where an image has 16 bits. Colour becomes luma, transparency is dropped.
struct GreyImage {
  Index width = 0, height = 0;
  int bits = 8;
  Vector<std::uint16_t> pixels;  // row by row

  GreyImage(const Reading& reading, Index w, Index h, int b) : width(w), height(h), bits(b) {
    reading.check_claim(2 * static_cast<double>(w) * static_cast<double>(h), line_of(w, " x ", h, " pixels"));
    pixels.resize(w * h);
  }
};

struct Source {
  std::string_view bytes;
  std::size_t used = 0;
  char message[80] = {};
};

void read_bytes(png_structp png, png_bytep out, std::size_t count) {
  auto* source = static_cast<Source*>(png_get_io_ptr(png));
  if (count > source->bytes.size() - source->used) png_error(png, "the file ends too early");
  std::memcpy(out, source->bytes.data() + source->used, count);
  source->used += count;
}

void remember(png_structp png, png_const_charp message) {
  auto* source = static_cast<Source*>(png_get_error_ptr(png));
  std::strncpy(source->message, message, sizeof(source->message) - 1);
  png_longjmp(png, 1);
}

void ignore(png_structp, png_const_charp) {}

struct Header {
  png_uint_32 width = 0, height = 0;
  int depth = 0, colour = 0;
};

/// libpng reports errors by longjmp, which must not pass over C++ objects: these two functions have none.
bool read_header(png_structp png, png_infop info, Header* header) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_read_info(png, info);
  png_get_IHDR(png, info, &header->width, &header->height, &header->depth, &header->colour, nullptr, nullptr, nullptr);
  return true;
}

/// 8 or 16 bits, grey or RGB, no alpha, all rows at once into `rows`.
bool read_pixels(png_structp png, png_infop info, png_bytepp rows, std::size_t row_bytes) {
  if (setjmp(png_jmpbuf(png)) != 0) return false;
  png_set_expand(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  if (png_get_rowbytes(png, info) != row_bytes) png_error(png, "unexpected row size");
  png_read_image(png, rows);
  png_read_end(png, nullptr);
  return true;
}

struct Png {
  png_structp png = nullptr;
  png_infop info = nullptr;
  explicit Png(Source& source) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &source, remember, ignore);
    if (png == nullptr) throw std::bad_alloc();
    info = png_create_info_struct(png);
    png_set_read_fn(png, &source, read_bytes);
    png_set_user_limits(png, 1 << 20, 1 << 20);
  }
  ~Png() { png_destroy_read_struct(&png, &info, nullptr); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;
};

/// 0.299 r + 0.587 g + 0.114 b in 16-bit fixed point, rounded; the weights sum to 1, so grey stays grey.
std::uint16_t luma(std::uint32_t r, std::uint32_t g, std::uint32_t b) {
  return static_cast<std::uint16_t>((19595ULL * r + 38470ULL * g + 7471ULL * b + 32768ULL) >> 16);
}

GreyImage decode_png(const Reading& reading) {
  Source source{reading.bytes};
  const Png file(source);
  Header header;
  const auto fail = [&] { reading.fail("PNG", line_of(printable(source.message), "; save the image again")); };
  if (!read_header(file.png, file.info, &header)) fail();
  const bool colour = (header.colour & PNG_COLOR_MASK_COLOR) != 0;
  const std::size_t channels = colour ? 3 : 1, bytes = header.depth == 16 ? 2 : 1;
  GreyImage image(reading, header.width, header.height, header.depth == 16 ? 16 : 8);
  const std::size_t row_bytes = header.width * channels * bytes;
  reading.check_claim(static_cast<double>(row_bytes) * header.height, "PNG");
  Vector<png_byte> raw(row_bytes * header.height);
  Vector<png_bytep> rows(std::size_t{header.height});
  for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = raw.data() + r * row_bytes;
  if (!read_pixels(file.png, file.info, rows.data(), row_bytes)) fail();
  const auto sample = [&](std::size_t i) -> std::uint32_t {
    return bytes == 1 ? raw[i] : static_cast<std::uint32_t>(raw[2 * i] << 8 | raw[2 * i + 1]);
  };
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] =
        colour ? luma(sample(3 * i), sample(3 * i + 1), sample(3 * i + 2)) : static_cast<std::uint16_t>(sample(i));
  return image;
}

/// A warning means that pixels were made up for data that are damaged or missing: that is an error here. A progressive
/// file may refine the same pixels in any number of passes; a real one needs a dozen, libjpeg-turbo stops at 500.
GreyImage decode_jpeg(const Reading& reading) {
  const std::unique_ptr<void, int (*)(tjhandle)> file(tjInitDecompress(), tjDestroy);
  if (!file) throw std::bad_alloc();
  const auto fail = [&] {
    reading.fail("JPEG", line_of(printable(tjGetErrorStr2(file.get()), 100), "; save the image again"));
  };
  const auto* bytes = reinterpret_cast<const unsigned char*>(reading.bytes.data());
  int width = 0, height = 0, sampling = 0, colours = 0;
  if (tjDecompressHeader3(file.get(), bytes, reading.bytes.size(), &width, &height, &sampling, &colours) != 0) fail();
  if (colours == TJCS_CMYK || colours == TJCS_YCCK) reading.fail("JPEG", "is a CMYK image; save it as RGB or grey");
  GreyImage image(reading, width, height, 8);
  Vector<unsigned char> raw(image.pixels.size());
  if (tjDecompress2(file.get(), bytes, reading.bytes.size(), raw.data(), width, 0, height, TJPF_GRAY,
                    TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS | TJFLAG_ACCURATEDCT) != 0)
    fail();
  std::copy(raw.begin(), raw.end(), image.pixels.begin());
  return image;
}

GreyImage decode_pgm(const Reading& reading) {
  const bool plain = reading.bytes[1] == '2';
  Scanner numbers(reading, '#', 2);
  const Index width = numbers.integer(1, 1 << 20, "width"), height = numbers.integer(1, 1 << 20, "height");
  const Index white = numbers.integer(1, 65535, "largest value");
  const Index bytes = white > 255 ? 2 : 1;
  const std::size_t start = numbers.offset() + 1;  // one blank after the header
  const auto needed = static_cast<std::size_t>(width * height * (plain ? 1 : bytes));
  if (start > reading.bytes.size() || needed > reading.bytes.size() - start)
    reading.fail("PGM", line_of(width, " x ", height, " pixels do not fit in ", reading.bytes.size(),
                                " bytes; the file is truncated, copy it again"));
  GreyImage image(reading, width, height, white > 255 ? 16 : 8);
  const auto* raw = reinterpret_cast<const unsigned char*>(reading.bytes.data()) + start;
  for (std::uint16_t& pixel : image.pixels) {
    if (plain)
      pixel = static_cast<std::uint16_t>(numbers.integer(0, white, "pixel"));
    else if (bytes == 1)
      pixel = *raw++;
    else
      pixel = static_cast<std::uint16_t>(raw[0] << 8 | raw[1]), raw += 2;
  }
  return image;
}

namespace fs = std::filesystem;

bool is_image(std::string_view bytes) {
  const bool pgm = bytes.size() > 2 && (bytes.starts_with("P2") || bytes.starts_with("P5")) &&
                   std::string_view("\n \r\t#").find(bytes[2]) != std::string_view::npos;
  return pgm || bytes.starts_with("\x89PNG\r\n\x1a\n") || bytes.starts_with("\xff\xd8\xff");
}

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

Variable read_image(const Reading& reading) {
  const auto image = std::make_shared<GreyImage>(decode_image(reading));
  Variable out;
  out.array.type = "u2";
  out.array.shape = {1, image->height, image->width};
  out.array.data = reinterpret_cast<const char*>(image->pixels.data());
  out.array.owner = image;
  return out;
}

std::string described(const std::string& file, const GreyImage& image) {
  return line_of(printable(fs::path(file).filename().string(), 100), " is ", image.width, " x ", image.height,
                 " pixels of ", image.bits, " bits");
}

}  // namespace

const Format kImage{"image", is_image, read_image};

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

template Table<float> read_image_folder(const std::string&, const ReadOptions&);
template Table<double> read_image_folder(const std::string&, const ReadOptions&);

}  // namespace pacewise

#include <png.h>
#include <turbojpeg.h>

#include "scratch.hpp"

namespace pacewise {
namespace {

void write_png(const std::string& path, unsigned width, unsigned height, int depth, int colour,
               const std::vector<unsigned char>& bytes) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::FILE* file = std::fopen(path.c_str(), "wb");
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, file);
  png_set_IHDR(png, info, width, height, depth, colour, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(png, info);
  const std::size_t row = bytes.size() / height;
  for (unsigned r = 0; r < height; ++r) png_write_row(png, bytes.data() + r * row);
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  std::fclose(file);
}

std::string jpeg(int width, int height, unsigned char grey) {
  const std::vector<unsigned char> pixels(3 * static_cast<std::size_t>(width * height), grey);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  tjhandle file = tjInitCompress();
  tjCompress2(file, pixels.data(), width, 0, height, TJPF_RGB, &bytes, &size, TJSAMP_420, 100, 0);
  std::string out(reinterpret_cast<const char*>(bytes), size);
  tjFree(bytes);
  tjDestroy(file);
  return out;
}

TEST(ImageFolder, SubfoldersAreLabelsAndNamesAreSorted) {
  const Scratch scratch;
  write_png(scratch.path("dog/b.png"), 2, 1, 8, PNG_COLOR_TYPE_GRAY, {3, 4});
  write_png(scratch.path("dog/a.png"), 2, 1, 8, PNG_COLOR_TYPE_GRAY, {1, 2});
  scratch.file("cat/z.pgm", "P5 2 1 255\n\x05\x06");
  scratch.file("cat/readme.txt", "no image");
  scratch.file("cat/.hidden.png", "nothing");
  const Table<float> table = read_table<float>(scratch.folder());
  EXPECT_EQ(values_of(table), (std::vector<float>{5, 6, 1, 2, 3, 4}));
  ASSERT_TRUE(table.labels);
  EXPECT_EQ(table.labels->names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(table.labels->value, (std::vector<std::int32_t>{0, 1, 1}));
  EXPECT_EQ(table.sample_shape, (std::vector<Index>{1, 2}));
  ASSERT_EQ(table.notes.size(), 1U);
  EXPECT_TRUE(has(table.notes[0], "1 files are no images"));
  EXPECT_EQ(table.format, "images");
}

TEST(ImageFolder, ColourBecomesLumaAndDepthIsKept) {
  const Scratch scratch;
  const std::string path = scratch.path("a.png");
  const auto expect = [](const std::string& of, const std::vector<double>& values) {
    EXPECT_EQ(values_of(read_table<double>(of)), values);
  };
  const auto expect_png = [&](unsigned width, int depth, int colour, const std::vector<unsigned char>& bytes,
                              const std::vector<double>& values) {
    write_png(path, width, 1, depth, colour, bytes);
    expect(path, values);
  };
  // red, green, blue, white: 0.299, 0.587, 0.114 and 1 times 255
  expect_png(4, 8, PNG_COLOR_TYPE_RGB, {255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255}, {76, 150, 29, 255});
  expect_png(1, 8, PNG_COLOR_TYPE_GRAY_ALPHA, {99, 10}, {99});
  expect_png(2, 16, PNG_COLOR_TYPE_GRAY, {0x12, 0x34, 0xff, 0xff}, {0x1234, 65535});
  expect_png(8, 1, PNG_COLOR_TYPE_GRAY, {0b10100000}, {255, 0, 255, 0, 0, 0, 0, 0});
  expect(scratch.file("p2.pgm", "P2\n# c\n3 1\n500\n0 7\n500\n"), {0, 7, 500});
  expect(scratch.file("p5.pgm", std::string("P5\n1 1\n300\n\x01\x02", 13)), {258});
}

TEST(ImageFolder, Jpeg) {
  const Scratch scratch;
  const std::string bytes = jpeg(16, 8, 100);
  scratch.file("a.jpg", bytes);
  scratch.file("b.jpg", jpeg(16, 8, 200));
  const Table<double> table = read_table<double>(scratch.folder());
  EXPECT_EQ(table.samples(), 2);
  EXPECT_EQ(table.features(), 128);
  EXPECT_FALSE(table.labels);
  for (Index i = 0; i < 128; ++i) {
    EXPECT_NEAR(table.values(i, 0), 100, 1);
    EXPECT_NEAR(table.values(i, 1), 200, 1);
  }
  const std::string error =
      read_error_of([&] { read_table<double>(scratch.file("cut.jpg", bytes.substr(0, bytes.size() - 20))); });
  EXPECT_TRUE(has(error, "JPEG"));
}

TEST(ImageFolder, ProblemsNameTheFiles) {
  using Files = std::vector<std::pair<const char*, const char*>>;
  for (const auto& [files, part] : std::vector<std::pair<Files, const char*>>{
           {{{"a.pgm", "P5 2 1 255\nab"}, {"b.pgm", "P5 1 2 255\nab"}},
            "a.pgm is 2 x 1 pixels of 8 bits, b.pgm is 1 x 2"},
           {{{"a.pgm", "P5 1 1 255\na"}, {"b.pgm", "P5 1 1 256\nab"}}, "16 bits"},
           {{{"a.pgm", "P5 1 1 255\na"}, {"sub/b.pgm", "P5 1 1 255\na"}}, "beside them (1 of 2)"},
           {{{"a.txt", "no image"}}, "holds no PNG"}}) {
    const Scratch scratch;
    for (const auto& [name, bytes] : files) scratch.file(name, bytes);
    EXPECT_TRUE(has(read_error_of([&] { read_table<float>(scratch.folder()); }), part));
    EXPECT_TRUE(has(read_error_of([&] { read_labels(scratch.folder()); }), "is a folder"));
  }
  const Scratch scratch;
  write_png(scratch.path("a.png"), 64, 64, 8, PNG_COLOR_TYPE_GRAY, std::vector<unsigned char>(4096, 9));
  const std::string bytes = content(scratch.path("a.png"));
  for (std::size_t cut = 9; cut < bytes.size(); cut += 5)
    EXPECT_TRUE(has(read_error_of([&] { read_table<float>(scratch.file("c.png", bytes.substr(0, cut))); }), "PNG"));
}

}  // namespace
}  // namespace pacewise

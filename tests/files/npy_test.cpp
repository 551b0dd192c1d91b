#include <cmath>

#include "scratch.hpp"

namespace pacewise {
namespace {

/// 3 samples of 2 features, 1..6, in type S.
template <class S>
std::string six(bool big, bool fortran) {
  std::string out;
  for (const int v : fortran ? std::vector<int>{1, 3, 5, 2, 4, 6} : std::vector<int>{1, 2, 3, 4, 5, 6})
    out += raw(static_cast<S>(v), big);
  return out;
}

template <class T>
void check_six(const std::string& bytes, const std::string& what) {
  const Scratch scratch;
  const Table<T> table = read_table<T>(scratch.file("a.npy", bytes));
  ASSERT_EQ(table.features(), 2) << what;
  ASSERT_EQ(table.samples(), 3) << what;
  EXPECT_EQ(values_of(table), (std::vector<T>{1, 2, 3, 4, 5, 6})) << what;
  EXPECT_EQ(table.format, "npy");
}

template <class S>
void check_type(const std::string& code) {
  for (const bool big : {false, true})
    for (const bool fortran : {false, true})
      for (const int version : {1, 2, 3}) {
        const std::string type = (big ? ">" : "<") + code;
        const std::string bytes = npy(type, "(3, 2)", six<S>(big, fortran), fortran, version);
        check_six<float>(bytes, type);
        check_six<double>(bytes, type);
      }
}

template <class... Types>
void check_types(std::initializer_list<const char*> codes) {
  const char* const* code = codes.begin();
  (check_type<Types>(*code++), ...);
}

TEST(NpyFile, EveryTypeOrderAndVersion) {
  check_types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t,
              std::uint64_t, float, double>({"i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"});
}

TEST(NpyFile, SignsAndExtremes) {
  const Scratch scratch;
  const auto one = [&](const std::string& type, const std::string& data) {
    return read_table<double>(scratch.file("a.npy", npy(type, "(1, 1)", data))).values(0, 0);
  };
  EXPECT_EQ(one("|i1", raw<std::int8_t>(-128)), -128);
  EXPECT_EQ(one("|u1", raw<std::uint8_t>(255)), 255);
  EXPECT_EQ(one(">i2", raw<std::int16_t>(-2, true)), -2);
  EXPECT_EQ(one("<u8", raw<std::uint64_t>(1ULL << 63)), 0x1p63);
  EXPECT_EQ(one("<i8", raw<std::int64_t>(-(1LL << 40))), -0x1p40);
  EXPECT_TRUE(std::isnan(one("<f4", raw(std::nanf("")))));
  EXPECT_EQ(one("|b1", "\x07"), 1);
}

TEST(NpyFile, HalfPrecision) {
  // 1, -2, 65504 (the largest), 2^-24 (the smallest), -0, infinity, 1/3 rounded, NaN
  const std::vector<std::uint16_t> bits = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x8000, 0x7c00, 0x3555, 0x7e00};
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const bool big : {false, true}) {
    std::string data;
    for (const std::uint16_t b : bits) data += raw(b, big);
    const Scratch scratch;
    auto v = values_of(read_table<double>(scratch.file("h.npy", npy(big ? ">f2" : "<f2", "(8,)", data))));
    EXPECT_TRUE(std::isnan(v.back()) && std::signbit(v[4]));
    v.pop_back();
    EXPECT_EQ(v, (std::vector<double>{1, -2, 65504, 0x1p-24, 0, infinity, 0.333251953125}));
  }
}

/// x[s, i, j] = 100 s + 10 i + j for 2 samples of 3 x 4, in both orders: the same samples must come out.
TEST(NpyFile, ImagesAreFlattenedRowMajor) {
  for (const bool fortran : {false, true}) {
    std::string data(2 * 3 * 4, '\0');
    std::vector<float> expected;
    for (std::size_t s = 0; s < 2; ++s)
      for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 4; ++j) {
          const std::size_t at = fortran ? s + 2 * (i + 3 * j) : (s * 3 + i) * 4 + j;
          data[at] = static_cast<char>(100 * s + 10 * i + j);
          expected.push_back(static_cast<float>(100 * s + 10 * i + j));
        }
    const Scratch scratch;
    const Table<float> table = read_table<float>(scratch.file("i.npy", npy("|u1", "(2, 3, 4)", data, fortran)));
    EXPECT_EQ(values_of(table), expected);
    EXPECT_EQ(table.sample_shape, (std::vector<Index>{3, 4}));
  }
}

/// Many blocks in both layouts, against a plain loop.
TEST(NpyFile, LargeFortranOrderIsTransposed) {
  const Index n = 1000, m = 37;
  std::string data;
  for (Index j = 0; j < m; ++j)
    for (Index i = 0; i < n; ++i) data += raw(static_cast<float>(i * 100 + j));
  const Scratch scratch;
  const std::string path = scratch.file("f.npy", npy("<f4", "(1000, 37)", data, true));
  for (const int threads : {1, 3}) {
    ReadOptions options;
    options.threads = threads;
    const Table<double> table = read_table<double>(path, options);
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < m; ++j) ASSERT_EQ(table.values(j, i), static_cast<double>(i * 100 + j));
  }
}

TEST(NpyFile, LargeFileOfTheSameTypeIsMapped) {
  const Index n = 3000, m = 100;
  std::string data;
  for (Index i = 0; i < n * m; ++i) data += raw(static_cast<double>(i));
  const Scratch scratch;
  const std::string path = scratch.file("m.npy", npy("<f8", "(3000, 100)", data));
  const Table<double> mapped = read_table<double>(path);
  EXPECT_TRUE(mapped.mapped);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapped.values.data) % 64, 0U);
  EXPECT_EQ(mapped.values(99, 2999), static_cast<double>(n * m - 1));
  const Table<float> copied = read_table<float>(path);
  EXPECT_FALSE(copied.mapped);
  EXPECT_EQ(copied.values(99, 2999), static_cast<float>(n * m - 1));
  const Table<double> swapped = read_table<double>(scratch.file("b.npy", npy(">f8", "(3000, 100)", data)));
  EXPECT_FALSE(swapped.mapped);
}

TEST(NpyFile, PythonTwoLongsAndOddSpacingAreRead) {
  const Scratch scratch;
  std::string text = "{\"shape\":(3L,2L),\n 'fortran_order' :False,'descr':'<f8'}";
  const std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + raw(static_cast<std::uint16_t>(text.size())) + text +
                            six<double>(false, false);
  check_six<double>(bytes, "odd header");
  const Table<double> vector = read_table<double>(scratch.file("v.npy", npy("<f8", "(6,)", six<double>(false, false))));
  EXPECT_EQ(vector.features(), 1);
  EXPECT_EQ(vector.samples(), 6);
}

TEST(NpyFile, ProgressEndsAtOneAndCancelIsAValue) {
  const Scratch scratch;
  const std::string path = scratch.file("a.npy", npy("<i4", "(3, 2)", six<std::int32_t>(false, false)));
  ReadOptions options;
  double last = 0;
  options.progress = [&](double fraction) { last = fraction; };
  read_table<double>(path, options);
  EXPECT_EQ(last, 1);
  const std::atomic<bool> cancel{true};
  options.cancel = &cancel;
  const Table<double> table = read_table<double>(path, options);
  EXPECT_TRUE(table.cancelled);
  EXPECT_TRUE(table.values.empty());
}

}  // namespace
}  // namespace pacewise

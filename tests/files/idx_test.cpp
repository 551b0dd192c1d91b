#include "scratch.hpp"

namespace pacewise {
namespace {

std::string idx(char type, const std::vector<std::uint32_t>& shape, const std::string& data) {
  std::string out = {'\0', '\0', type, static_cast<char>(shape.size())};
  for (const std::uint32_t length : shape) out += raw(length, true);
  return out + data;
}

template <class S>
void check_type(char code) {
  const Scratch scratch;
  std::string data;
  for (int i = 1; i <= 6; ++i) data += raw(static_cast<S>(i), true);
  const Table<double> table = read_table<double>(scratch.file("a.idx", idx(code, {3, 2}, data)));
  EXPECT_EQ(values_of(table), (std::vector<double>{1, 2, 3, 4, 5, 6})) << int{code};
}

TEST(IdxFile, EveryType) {
  check_type<std::uint8_t>(0x08);
  check_type<std::int8_t>(0x09);
  check_type<std::int16_t>(0x0b);
  check_type<std::int32_t>(0x0c);
  check_type<float>(0x0d);
  check_type<double>(0x0e);
}

TEST(IdxFile, ImagesWithTheLabelsBeside) {
  const Scratch scratch;
  const std::string images = idx(8, {2, 2, 3}, "abcdefghijkl"), labels = idx(8, {2}, "\x07\x02");
  for (const bool packed : {false, true}) {
    const std::string suffix = packed ? ".gz" : "";
    const std::string path =
        scratch.file("d/t10k-images-idx3-ubyte" + suffix, packed ? deflated(images, 16 + MAX_WBITS) : images);
    scratch.file("d/t10k-labels-idx1-ubyte" + suffix, packed ? deflated(labels, 16 + MAX_WBITS) : labels);
    EXPECT_FALSE(read_table<float>(path).labels) << "only when asked";
    ReadOptions options;
    options.labels_beside = true;
    const Table<float> table = read_table<float>(path, options);
    EXPECT_EQ(table.sample_shape, (std::vector<Index>{2, 3}));
    EXPECT_EQ(table.values(0, 1), 'g');
    ASSERT_TRUE(table.labels);
    EXPECT_EQ(table.labels->names, (std::vector<std::string>{"2", "7"}));
    EXPECT_EQ(table.labels->value, (std::vector<std::int32_t>{1, 0}));
  }
  ReadOptions options;
  options.labels_beside = true;
  const Table<float> alone = read_table<float>(scratch.file("alone.idx", images), options);
  EXPECT_FALSE(alone.labels);
  EXPECT_EQ(alone.notes.size(), 1U);
}

TEST(GzipFile, AnyStreamFormatAndSeveralMembers) {
  const Scratch scratch;
  EXPECT_EQ(read_table<double>(
                scratch.file("a.csv.gz", deflated("1,2\n", 16 + MAX_WBITS) + deflated("3,4\n", 16 + MAX_WBITS)))
                .samples(),
            2);
  EXPECT_EQ(values_of(read_table<double>(
                scratch.file("a.npy.gz", deflated(npy("<f8", "(2,)", raw(1.5) + raw(2.5)), 16 + MAX_WBITS)))),
            (std::vector<double>{1.5, 2.5}));
}

/// 9 MB of zeros become 72 MB of numbers, 8000 times the size of the file: they are all there.
TEST(GzipFile, WhatIsReallyThereIsNoClaim) {
  const Scratch scratch;
  const std::string zeros = npy("|u1", "(9000, 1000)", std::string(9000000, '\0'));
  EXPECT_EQ(read_table<double>(scratch.file("z.npy.gz", deflated(zeros, 16 + MAX_WBITS))).samples(), 9000);
}

TEST(GzipFile, DamageIsNamed) {
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 4000; ++i) text += std::to_string(i * 7919 % 10007) + ",2\n";
  const std::string good = deflated(text, 16 + MAX_WBITS);
  const auto error = [&](const std::string& bytes) {
    return read_error_of([&] { read_table<double>(scratch.file("a.csv.gz", bytes)); });
  };
  EXPECT_TRUE(has(error(good.substr(0, good.size() / 2)), "truncated"));
  EXPECT_TRUE(has(error(good.substr(0, good.size() - 3)), "truncated"));
  std::string flipped = good;
  flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 0xff);
  EXPECT_TRUE(has(error(flipped), "damaged"));
  EXPECT_TRUE(has(error(good + "more"), "bytes follow"));
  EXPECT_TRUE(has(error(deflated("", 16 + MAX_WBITS)), "empty"));
  EXPECT_TRUE(has(error(deflated(good, 16 + MAX_WBITS)), "compressed twice"));
}

}  // namespace
}  // namespace pacewise

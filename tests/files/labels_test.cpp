#include "scratch.hpp"

namespace pacewise {
namespace {

Labels labels_in(const std::string& name, const std::string& bytes, Index samples = -1,
                 const ReadOptions& options = {}) {
  const Scratch scratch;
  return read_labels(scratch.file(name, bytes), samples, options);
}

TEST(LabelFile, NumbersSortByNumberAndTextByBytes) {
  const Labels numbers = labels_in("a.csv", "10\n9\n10\n-1\n");
  EXPECT_EQ(numbers.names, (std::vector<std::string>{"-1", "9", "10"}));
  EXPECT_EQ(numbers.value, (std::vector<std::int32_t>{2, 1, 2, 0}));
  const Labels text = labels_in("a.txt", "red rose\nblue\nred rose\n");
  EXPECT_EQ(text.names, (std::vector<std::string>{"blue", "red rose"}));
  EXPECT_EQ(text.value, (std::vector<std::int32_t>{1, 0, 1}));
}

TEST(LabelFile, HeaderIsDecidedByTheNumberOfSamples) {
  EXPECT_EQ(labels_in("a.csv", "class\n1\n2\n").value.size(), 2U);
  EXPECT_EQ(labels_in("a.csv", "class\ncat\ndog\n", 2).names, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(labels_in("a.csv", "class\ncat\ndog\n", 3).value.size(), 3U);
}

TEST(LabelFile, ColumnOfATable) {
  ReadOptions options;
  options.label_column = "kind";
  EXPECT_EQ(labels_in("a.csv", "x,kind\n1,b\n2,a\n", 2, options).value, (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(labels_in("a.csv", "x,label\n1,b\n2,a\n", 2).value, (std::vector<std::int32_t>{1, 0}));
  EXPECT_TRUE(has(read_error_of([] { labels_in("a.csv", "1,2\n3,4\n"); }), "name the label column"));
}

TEST(LabelFile, EveryShapeOfAVector) {
  const std::string data = raw<std::int32_t>(5) + raw<std::int32_t>(5) + raw<std::int32_t>(2);
  for (const char* shape : {"(3,)", "(3, 1)", "(1, 3)"})
    EXPECT_EQ(labels_in("a.npy", npy("<i4", shape, data), 3).value, (std::vector<std::int32_t>{1, 1, 0}));
  EXPECT_EQ(labels_in("a.mtx", "%%MatrixMarket matrix array integer general\n3 1\n5\n5\n2\n", 3).value,
            (std::vector<std::int32_t>{1, 1, 0}));
}

TEST(LabelFile, Problems) {
  EXPECT_TRUE(has(read_error_of([] { labels_in("a.csv", "1\n2\n3\n", 5); }), "holds 3 labels for 5 samples"));
  EXPECT_TRUE(has(read_error_of([] { labels_in("a.csv", "1\nNA\n3\n"); }), "label 2 is missing"));
  EXPECT_TRUE(has(read_error_of([] { labels_in("a.npy", npy("<f8", "(2,)", raw(1.0) + raw(0.0 / 0.0))); }), "label 2"));
  EXPECT_TRUE(has(read_error_of([] { labels_in("a.npy", npy("|u1", "(2, 2)", "abcd")); }), "one vector"));
  EXPECT_TRUE(has(read_error_of([] { labels_in("a.pgm", "P5 1 1 255\na"); }), "is an image"));
  EXPECT_TRUE(has(read_error_of([] { labels_in("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 0\n"); }),
                  "one dense vector"));
}

}  // namespace
}  // namespace pacewise

#include "scratch.hpp"

namespace pacewise {
namespace {

Table<double> parse(const std::string& text) {
  const Scratch scratch;
  return read_table<double>(scratch.file("a.mtx", "%%MatrixMarket matrix " + text));
}

TEST(MatrixMarketFile, CoordinatesAreTheTransposeInMemory) {
  const Table<double> table = parse("coordinate real general\n% a comment\n%\n2 3 3\n1 2 5\n2 1 -7e-1\n2 3 1\n");
  ASSERT_TRUE(table.sparse);
  EXPECT_EQ(table.samples(), 2);
  EXPECT_EQ(table.features(), 3);
  EXPECT_EQ(*table.sparse, sparse_from_triplets(3, 2, {{1, 0, 5}, {0, 1, -0.7}, {2, 1, 1}}));
}

TEST(MatrixMarketFile, PatternIntegerAndDuplicates) {
  EXPECT_EQ(*parse("coordinate pattern general\n2 2 2\n1 1\n2 1\n").sparse,
            sparse_from_triplets(2, 2, {{0, 0, 1}, {0, 1, 1}}));
  EXPECT_EQ(*parse("coordinate integer general\n1 1 2\n1 1 3\n1 1 4\n").sparse,
            sparse_from_triplets(1, 1, {{0, 0, 7}}));
  EXPECT_EQ(parse("COORDINATE Real General\r\n1 1 1\r\n1 1 3\r\n").sparse->nonzeros(), 1);
}

TEST(MatrixMarketFile, SymmetryFillsTheOtherTriangle) {
  EXPECT_EQ(*parse("coordinate real symmetric\n2 2 2\n1 1 4\n2 1 3\n").sparse,
            sparse_from_triplets(2, 2, {{0, 0, 4}, {1, 0, 3}, {0, 1, 3}}));
  // the file says a(2,1) = 3, a(1,2) = -3; memory holds the transpose
  EXPECT_EQ(*parse("coordinate real skew-symmetric\n2 2 1\n2 1 3\n").sparse,
            sparse_from_triplets(2, 2, {{0, 1, 3}, {1, 0, -3}}));
}

TEST(MatrixMarketFile, Arrays) {
  // column by column in the file: rows (1 3) and (2 4)
  const Table<double> table = parse("array real general\n2 2\n1\n2\n3\n4\n");
  EXPECT_FALSE(table.sparse);
  EXPECT_EQ(values_of(table), (std::vector<double>{1, 3, 2, 4}));
  EXPECT_EQ(values_of(parse("array real symmetric\n2 2\n1\n2\n3\n")), (std::vector<double>{1, 2, 2, 3}));
  // rows (0 -5) and (5 0)
  EXPECT_EQ(values_of(parse("array integer skew-symmetric\n2 2\n5\n")), (std::vector<double>{0, -5, 5, 0}));
}

TEST(MatrixMarketFile, DensifyRefusesWhatDoesNotFit) {
  Table<double> table = parse("coordinate real general\n1000 2000 1\n1000 2000 5\n");
  try {
    densify(table, std::size_t{1} << 20);
    FAIL() << "16 MB do not fit in 1 MiB";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_TRUE(has(text, "15.3 MiB"));
    EXPECT_TRUE(has(text, "1.0 MiB are free"));
  }
  EXPECT_TRUE(table.sparse);
  densify(table);
  EXPECT_EQ(table.values(1999, 999), 5);
  EXPECT_GT(available_memory(), std::size_t{1} << 20);
}

}  // namespace
}  // namespace pacewise

#include "real_data.hpp"

#include <set>

namespace pacewise {
namespace {

TEST(RealData, Coil20) {
  const std::string path = data_folder() + "/COIL20.mat";
  NEED(path);
  const Table<float> table = read_table<float>(path);
  EXPECT_EQ(table.samples(), 1440);
  EXPECT_EQ(table.features(), 1024);
  ASSERT_TRUE(table.labels);
  EXPECT_EQ(table.labels->names.size(), 20U);
  EXPECT_TRUE(table.notes.empty());
  std::vector<int> count(20);
  for (const std::int32_t label : table.labels->value) ++count[static_cast<std::size_t>(label)];
  EXPECT_EQ(count, std::vector<int>(20, 72));
}

TEST(RealData, PieHasItsSamplesAsColumns) {
  const std::string path = data_folder() + "/PIE_pose27.mat";
  NEED(path);
  const Table<double> table = read_table<double>(path);
  EXPECT_EQ(table.samples(), 2856);
  EXPECT_EQ(table.features(), 1024);
  ASSERT_TRUE(table.labels);
  EXPECT_EQ(table.labels->names.size(), 68U);
  ASSERT_EQ(table.notes.size(), 1U);
  EXPECT_TRUE(has(table.notes[0], "transposed"));
}

TEST(RealData, MnistWithItsLabels) {
  const std::string path = data_folder() + "/mnist-t10k-images-idx3-ubyte.gz";
  NEED(path);
  ReadOptions options;
  options.labels_beside = true;
  const Table<float> table = read_table<float>(path, options);
  EXPECT_EQ(table.samples(), 10000);
  EXPECT_EQ(table.features(), 784);
  EXPECT_EQ(table.sample_shape, (std::vector<Index>{28, 28}));
  ASSERT_TRUE(table.labels);
  EXPECT_EQ(table.labels->names.size(), 10U);
  // the first test digits are 7 2 1 0 4
  EXPECT_EQ(std::vector<std::int32_t>(table.labels->value.begin(), table.labels->value.begin() + 5),
            (std::vector<std::int32_t>{7, 2, 1, 0, 4}));
}

}  // namespace
}  // namespace pacewise

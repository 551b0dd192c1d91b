#include <cstdlib>
#include <tuple>

#include "scratch.hpp"

namespace pacewise {
namespace {

/// The evaluation data, which are not part of the project.
std::string data_folder() {
  if (const char* given = std::getenv("PACEWISE_DATA")) return given;
  const std::filesystem::path checkout = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
  return (checkout.parent_path() / "shared" / "data").string();
}

TEST(RealData, HasItsShapeAndLabels) {
  ReadOptions options;
  options.labels_beside = true;
  // PIE has its samples as columns; the first test digits of MNIST are 7 2 1 0 4
  using First = std::vector<std::int32_t>;
  for (const auto& [name, samples, features, classes, first] :
       {std::tuple{"COIL20.mat", 1440, 1024, 20U, First(72, 0)},
        {"PIE_pose27.mat", 2856, 1024, 68U, First{}},
        {"mnist-t10k-images-idx3-ubyte.gz", 10000, 784, 10U, First{7, 2, 1, 0, 4}}}) {
    const std::string path = data_folder() + "/" + name;
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
    const Table<float> table = read_table<float>(path, options);
    EXPECT_EQ(table.samples(), samples) << name;
    EXPECT_EQ(table.features(), features) << name;
    ASSERT_TRUE(table.labels) << name;
    EXPECT_EQ(table.labels->names.size(), classes) << name;
    const auto& value = table.labels->value;
    EXPECT_EQ(First(value.begin(), value.begin() + std::ssize(first)), first) << name;
    EXPECT_EQ(table.notes.size(), samples == 2856 ? 1U : 0U) << name << ": transposed";
  }
}

}  // namespace
}  // namespace pacewise

#include "io/write.hpp"

#include <cmath>

#include "algebra/random.hpp"
#include "scratch.hpp"

namespace pacewise {
namespace {

template <class T>
Matrix<T> sample_matrix() {
  Random random(7);
  Matrix<T> out(5, 13);
  for (Index j = 0; j < out.cols(); ++j)
    for (Index i = 0; i < out.rows(); ++i) out(i, j) = static_cast<T>(random.normal() * std::pow(10, i * 5 - 10));
  out(2, 3) = std::numeric_limits<T>::quiet_NaN();
  out(0, 1) = std::numeric_limits<T>::denorm_min();
  out(1, 1) = -std::numeric_limits<T>::max();
  out(3, 3) = -T(0);
  return out;
}

template <class T>
void expect_same_bits(MatrixView<const T> a, MatrixView<const T> b) {
  ASSERT_EQ(a.rows, b.rows);
  ASSERT_EQ(a.cols, b.cols);
  for (Index j = 0; j < a.cols; ++j)
    for (Index i = 0; i < a.rows; ++i) {
      if (std::isnan(a(i, j)))
        EXPECT_TRUE(std::isnan(b(i, j)));
      else
        EXPECT_EQ(std::memcmp(&a(i, j), &b(i, j), sizeof(T)), 0) << a(i, j) << " " << b(i, j);
    }
}

template <class T>
void check_round_trips() {
  const Scratch scratch;
  const Matrix<T> x = sample_matrix<T>();
  write_npy<T>(scratch.path("a.npy"), x.view());
  expect_same_bits<T>(x.view(), read_table<T>(scratch.path("a.npy")).values);
  write_csv<T>(scratch.path("a.csv"), x.view());
  expect_same_bits<T>(x.view(), read_table<T>(scratch.path("a.csv")).values);
  write_mtx<T>(scratch.path("a.mtx"), x.view());
  expect_same_bits<T>(x.view(), read_table<T>(scratch.path("a.mtx")).values);
  // a window with a stride
  const MatrixView<const T> window = x.view().block(1, 2, 3, 4);
  write_npy<T>(scratch.path("w.npy"), window);
  expect_same_bits<T>(window, read_table<T>(scratch.path("w.npy")).values);
  EXPECT_EQ(scratch.entries(), 4U);
}

TEST(WriteFiles, NumbersComeBackBitForBit) {
  check_round_trips<float>();
  check_round_trips<double>();
}

TEST(WriteFiles, NpyBytesAreWhatNumPyWrites) {
  const Scratch scratch;
  const double values[] = {1, 2, 3, 4, 5, 6};
  write_npy<double>(scratch.path("a.npy"), MatrixView<const double>(values, 2, 3));
  const std::string bytes = content(scratch.path("a.npy"));
  ASSERT_EQ(bytes.size(), 128U + 48U);
  EXPECT_EQ(bytes.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(bytes.substr(10, 60), "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), } ");
  EXPECT_EQ(bytes[127], '\n');
  EXPECT_EQ(std::memcmp(bytes.data() + 128, values, 48), 0);
  write_npy(scratch.path("l.npy"), std::vector<std::int32_t>{3, 1, 3});
  EXPECT_EQ(read_labels(scratch.path("l.npy"), 3).value, (std::vector<std::int32_t>{1, 0, 1}));
}

TEST(WriteFiles, CsvNamesAreQuotedWhereNeeded) {
  const Scratch scratch;
  const double values[] = {1, 2.5, 3, 4};
  const std::vector<std::string> names = {"a, \"b\"", "plain"};
  write_csv<double>(scratch.path("a.csv"), MatrixView<const double>(values, 2, 2), {names, {}});
  EXPECT_EQ(content(scratch.path("a.csv")), "\"a, \"\"b\"\"\",plain\n1,2.5\n3,4\n");
  EXPECT_EQ(read_table<double>(scratch.path("a.csv")).feature_names, names);
  EXPECT_THROW(write_csv<double>(scratch.path("b.csv"), MatrixView<const double>(values, 2, 2), {{"one"}, {}}), Error);
  EXPECT_FALSE(std::filesystem::exists(scratch.path("b.csv")));
}

TEST(WriteFiles, SparseRoundTrip) {
  const Scratch scratch;
  const Sparse a = sparse_from_triplets(4, 3, {{3, 0, 0.1}, {0, 2, -1e-300}, {1, 2, 7}});
  write_mtx(scratch.path("a.mtx"), a);
  EXPECT_EQ(*read_table<double>(scratch.path("a.mtx")).sparse, a);
}

TEST(WriteFiles, FullDeviceIsAWriteError) {
  const double value = 1;
  const MatrixView<const double> x(&value, 1, 1);
  EXPECT_THROW(write_npy<double>("/dev/full", x), WriteError);
  EXPECT_THROW(write_csv<double>("/dev/full", x), WriteError);
  EXPECT_THROW(write_mtx<double>("/dev/full", x), WriteError);
}

}  // namespace
}  // namespace pacewise

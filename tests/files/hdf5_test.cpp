#include <hdf5.h>

#include <cstdio>

#include "scratch.hpp"

namespace pacewise {
namespace {

class Hdf5Writer {
 public:
  explicit Hdf5Writer(const std::string& path, bool exists = false)
      : file_(exists ? H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT)
                     : H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)) {}
  ~Hdf5Writer() { H5Fclose(file_); }
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  /// `stored`: the type in the file; the values are given as double. `chunk` > 0: rows per deflated chunk.
  void numbers(const char* name, hid_t stored, std::vector<hsize_t> shape, const std::vector<double>& values,
               hsize_t chunk = 0) {
    const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    const hid_t plan = H5Pcreate(H5P_DATASET_CREATE);
    const hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    if (chunk > 0) {
      std::vector<hsize_t> length = shape;
      length[0] = chunk;
      H5Pset_chunk(plan, static_cast<int>(length.size()), length.data());
      H5Pset_deflate(plan, 6);
    }
    const hid_t set = H5Dcreate2(file_, name, stored, space, links, plan, H5P_DEFAULT);
    H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(set);
    H5Pclose(links);
    H5Pclose(plan);
    H5Sclose(space);
  }
  void text(const char* name, std::vector<const char*> values) {
    const hsize_t count = values.size();
    const hid_t space = H5Screate_simple(1, &count, nullptr);
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    const hid_t set = H5Dcreate2(file_, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(set);
    H5Tclose(type);
    H5Sclose(space);
  }
  hid_t id() const { return file_; }

 private:
  hid_t file_;
};

TEST(Hdf5File, EveryNumberType) {
  const Scratch scratch;
  const std::string path = scratch.path("a.h5");
  const hid_t types[] = {H5T_STD_I8LE,  H5T_STD_U8BE,  H5T_STD_I16BE,  H5T_STD_U16LE,  H5T_STD_I32LE,  H5T_STD_U32BE,
                         H5T_STD_I64BE, H5T_STD_U64LE, H5T_IEEE_F32BE, H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_IEEE_F64BE};
  for (const hid_t type : types) {
    { Hdf5Writer(path).numbers("X", type, {3, 2}, {1, 2, 3, 4, 5, 6}); }
    EXPECT_EQ(values_of(read_table<float>(path)), (std::vector<float>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(values_of(read_table<double>(path + ":/X")), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  }
}

TEST(Hdf5File, GroupsChunksAndTextLabels) {
  const Scratch scratch;
  const std::string path = scratch.path("a.h5");
  std::vector<double> values(700 * 5 * 4);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  {
    Hdf5Writer writer(path);
    writer.numbers("/train/x", H5T_IEEE_F64LE, {700, 5, 4}, values, 33);
    writer.text("/train/labels", std::vector<const char*>(700, "one"));
    writer.numbers("/other", H5T_STD_I32LE, {2, 2}, {1, 2, 3, 4});
  }
  const Table<double> table = read_table<double>(path + ":/train/x");
  EXPECT_EQ(table.samples(), 700);
  EXPECT_EQ(table.sample_shape, (std::vector<Index>{5, 4}));
  EXPECT_EQ(values_of(table), values);
  ASSERT_TRUE(table.labels);
  EXPECT_EQ(table.labels->names, (std::vector<std::string>{"one"}));
  EXPECT_TRUE(has(read_error_of([&] { read_table<double>(path); }), "other (2 x 2)"));
  EXPECT_TRUE(has(read_error_of([&] { read_table<double>(path + ":/nope"); }), "has no dataset"));
  EXPECT_TRUE(has(read_error_of([&] { read_table<double>(path + ":/train/labels"); }), "text"));
}

/// A v7.3 file of another program: HDF5 after 512 bytes, no class attributes, axes in reverse order.
TEST(Hdf5File, BehindAMatlabHeaderWithoutClasses) {
  const Scratch scratch;
  const std::string path = scratch.path("a.mat");
  {
    const hid_t plan = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_userblock(plan, 512);
    H5Fclose(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, plan, H5P_DEFAULT));
    H5Pclose(plan);
    Hdf5Writer writer(path, true);
    writer.numbers("X", H5T_IEEE_F64LE, {2, 3}, {1, 3, 5, 2, 4, 6});
    writer.numbers("Y", H5T_STD_U8LE, {1, 3}, {9, 4, 9});
  }
  std::string bytes = content(path), head = "MATLAB 7.3 MAT-file";
  head.resize(124, ' ');
  bytes.replace(0, 128, head + std::string("\0\2IM", 4));
  const Table<double> table = read_table<double>(scratch.file("a.mat", bytes));
  EXPECT_EQ(values_of(table), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  ASSERT_TRUE(table.labels);
  EXPECT_EQ(table.labels->value, (std::vector<std::int32_t>{1, 0, 1}));
}

TEST(Hdf5File, ClaimsBeyondTheFileAreRefused) {
  const Scratch scratch;
  const std::string path = scratch.path("huge.h5");
  {
    // nothing is stored: a chunked dataset of 8 TB takes a few hundred bytes
    const Hdf5Writer writer(path);
    const hsize_t shape[] = {1000000, 1000000}, chunk[] = {10, 10};
    const hid_t space = H5Screate_simple(2, shape, nullptr);
    const hid_t plan = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plan, 2, chunk);
    H5Dclose(H5Dcreate2(writer.id(), "X", H5T_IEEE_F64LE, space, H5P_DEFAULT, plan, H5P_DEFAULT));
    H5Pclose(plan);
    H5Sclose(space);
  }
  EXPECT_TRUE(has(read_error_of([&] { read_table<double>(path); }), "claims 7.3 TiB"));
}

TEST(Hdf5File, ErrorsAreSilentAndTheCallersPrinterIsRestored) {
  const Scratch scratch;
  const std::string path = scratch.path("a.h5");
  { Hdf5Writer(path).numbers("X", H5T_IEEE_F64LE, {100, 20}, std::vector<double>(2000, 1.5)); }
  const std::string bytes = content(path);
  H5E_auto2_t before = nullptr, after = nullptr;
  void* data = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &before, &data);
  testing::internal::CaptureStderr();
  for (const std::size_t size : {std::size_t{60}, std::size_t{600}, bytes.size() - 100})
    read_error_of([&] { read_table<double>(scratch.file("cut.h5", bytes.substr(0, size))); });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  H5Eget_auto2(H5E_DEFAULT, &after, &data);
  EXPECT_EQ(before, after);
}

}  // namespace
}  // namespace pacewise

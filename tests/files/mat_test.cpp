#include <matio.h>

#include "scratch.hpp"

namespace pacewise {
namespace {

/// Writes variables with matio, in v5 (packed or not) or v7.3.
class MatWriter {
 public:
  MatWriter(const std::string& path, mat_ft version, bool pack = false)
      : file_(Mat_CreateVer(path.c_str(), nullptr, version)),
        compression_(pack ? MAT_COMPRESSION_ZLIB : MAT_COMPRESSION_NONE) {}
  ~MatWriter() { Mat_Close(file_); }
  MatWriter(const MatWriter&) = delete;
  MatWriter& operator=(const MatWriter&) = delete;

  template <class S>
  void matrix(const char* name, matio_classes kind, matio_types type, std::vector<std::size_t> shape,
              std::vector<S> values, int flags = 0) {
    put(Mat_VarCreate(name, kind, type, static_cast<int>(shape.size()), shape.data(), values.data(), flags));
  }
  void put(matvar_t* variable) {
    ASSERT_NE(variable, nullptr);
    EXPECT_EQ(Mat_VarWrite(file_, variable, compression_), 0);
    Mat_VarFree(variable);
  }

 private:
  mat_t* file_;
  matio_compression compression_;
};

struct Version {
  mat_ft format;
  bool pack;
};
constexpr Version kVersions[] = {{MAT_FT_MAT5, false}, {MAT_FT_MAT5, true}, {MAT_FT_MAT73, false}};

TEST(MatFile, EveryVersionAndSomeClasses) {
  const Scratch scratch;
  for (const Version v : kVersions) {
    const std::string path = scratch.path("a.mat");
    {
      MatWriter writer(path, v.format, v.pack);
      // 3 x 2, column by column
      writer.matrix<double>("fea", MAT_C_DOUBLE, MAT_T_DOUBLE, {3, 2}, {1, 3, 5, 2, 4, 6});
      writer.matrix<std::uint8_t>("gnd", MAT_C_UINT8, MAT_T_UINT8, {3, 1}, {9, 4, 9});
      writer.matrix<std::int16_t>("short", MAT_C_INT16, MAT_T_INT16, {1, 2}, {-7, 8});
      writer.matrix<float>("single", MAT_C_SINGLE, MAT_T_SINGLE, {2, 1}, {0.5F, -1});
      writer.matrix<std::uint8_t>("logical", MAT_C_UINT8, MAT_T_UINT8, {1, 3}, {1, 0, 1}, MAT_F_LOGICAL);
    }
    const Table<double> table = read_table<double>(path);
    EXPECT_EQ(values_of(table), (std::vector<double>{1, 2, 3, 4, 5, 6}));
    ASSERT_TRUE(table.labels);
    EXPECT_EQ(table.labels->names, (std::vector<std::string>{"4", "9"}));
    EXPECT_EQ(values_of(read_table<float>(path + ":short")), (std::vector<float>{-7, 8}));
    EXPECT_EQ(values_of(read_table<float>(path + ":single")), (std::vector<float>{0.5F, -1}));
    EXPECT_EQ(values_of(read_table<float>(path + ":logical")), (std::vector<float>{1, 0, 1}));
    EXPECT_EQ(read_labels(path, 3).value, (std::vector<std::int32_t>{1, 0, 1}));
    EXPECT_TRUE(has(read_error_of([&] { read_table<float>(path + ":none"); }), "fea (3 x 2)"));
  }
}

TEST(MatFile, SamplesAsColumnsAreFoundByTheLabels) {
  const Scratch scratch;
  for (const Version v : kVersions) {
    const std::string path = scratch.path("a.mat");
    {
      MatWriter writer(path, v.format, v.pack);
      writer.matrix<double>("fea", MAT_C_DOUBLE, MAT_T_DOUBLE, {2, 3}, {1, 2, 3, 4, 5, 6});
      writer.matrix<double>("gnd", MAT_C_DOUBLE, MAT_T_DOUBLE, {3, 1}, {1, 2, 3});
      // h x w x n: rows of 2 x 2 images, x[i, j, s] = 100 s + 10 i + j
      writer.matrix<double>("data", MAT_C_DOUBLE, MAT_T_DOUBLE, {2, 2, 3},
                            {0, 10, 1, 11, 100, 110, 101, 111, 200, 210, 201, 211});
    }
    const Table<double> table = read_table<double>(path);
    EXPECT_EQ(table.samples(), 3);
    EXPECT_EQ(values_of(table), (std::vector<double>{1, 2, 3, 4, 5, 6}));
    ASSERT_EQ(table.notes.size(), 1U);
    EXPECT_TRUE(has(table.notes[0], "transposed"));
    const Table<double> images = read_table<double>(path + ":data");
    EXPECT_EQ(images.sample_shape, (std::vector<Index>{2, 2}));
    EXPECT_EQ(values_of(images), (std::vector<double>{0, 1, 10, 11, 100, 101, 110, 111, 200, 201, 210, 211}));
  }
}

TEST(MatFile, SparseStaysSparse) {
  const Scratch scratch;
  for (const Version v : kVersions) {
    const std::string path = scratch.path("s.mat");
    {
      MatWriter writer(path, v.format, v.pack);
      // [[0 5 0] [7 0 1]]
      std::vector<mat_uint32_t> rows = {1, 0, 1}, start = {0, 1, 2, 3};
      std::vector<double> values = {7, 5, 1};
      mat_sparse_t sparse{};
      sparse.nzmax = sparse.nir = sparse.ndata = 3;
      sparse.ir = rows.data();
      sparse.jc = start.data();
      sparse.njc = 4;
      sparse.data = values.data();
      std::size_t shape[] = {2, 3};
      writer.put(Mat_VarCreate("X", MAT_C_SPARSE, MAT_T_DOUBLE, 2, shape, &sparse, MAT_F_DONT_COPY_DATA));
    }
    Table<float> table = read_table<float>(path);
    ASSERT_TRUE(table.sparse);
    EXPECT_EQ(*table.sparse, sparse_from_triplets(3, 2, {{1, 0, 5}, {0, 1, 7}, {2, 1, 1}}));
    densify(table);
    EXPECT_FALSE(table.sparse);
    EXPECT_EQ(values_of(table), (std::vector<float>{0, 5, 0, 7, 0, 1}));
  }
}

TEST(MatFile, CellArrayOfTextIsLabels) {
  const Scratch scratch;
  const std::string path = scratch.path("c.mat");
  {
    MatWriter writer(path, MAT_FT_MAT5);
    std::vector<matvar_t*> cells;
    for (const char* text : {"cat", "ant", "cat"}) {
      std::size_t shape[] = {1, 3};
      cells.push_back(Mat_VarCreate(nullptr, MAT_C_CHAR, MAT_T_UTF8, 2, shape, const_cast<char*>(text), 0));
    }
    std::size_t shape[] = {3, 1};
    writer.put(Mat_VarCreate("labels", MAT_C_CELL, MAT_T_CELL, 2, shape, cells.data(), 0));
    writer.matrix<double>("X", MAT_C_DOUBLE, MAT_T_DOUBLE, {3, 1}, {1, 2, 3});
  }
  const Table<double> table = read_table<double>(path);
  ASSERT_TRUE(table.labels);
  EXPECT_EQ(table.labels->names, (std::vector<std::string>{"ant", "cat"}));
  EXPECT_EQ(table.labels->value, (std::vector<std::int32_t>{1, 0, 1}));
}

TEST(MatFile, TruncationAndOtherClassesAreErrors) {
  const Scratch scratch;
  std::vector<double> values(3000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * i % 1009);
  for (const Version v : kVersions) {
    const std::string whole = scratch.path("a.mat");
    { MatWriter(whole, v.format, v.pack).matrix<double>("X", MAT_C_DOUBLE, MAT_T_DOUBLE, {1000, 3}, values); }
    const std::string bytes = content(whole);
    for (const std::size_t tenths : {1U, 5U, 9U}) {
      const std::string cut = bytes.substr(0, bytes.size() * tenths / 10);
      EXPECT_TRUE(has(read_error_of([&] { read_table<double>(scratch.file("cut.mat", cut)); }), "cut.mat: "));
    }
  }
  const std::string path = scratch.path("o.mat");
  {
    MatWriter writer(path, MAT_FT_MAT5);
    std::size_t shape[] = {1, 2};
    writer.put(Mat_VarCreate("X", MAT_C_CHAR, MAT_T_UTF8, 2, shape, const_cast<char*>("ab"), 0));
    std::vector<double> re = {1, 2}, im = {3, 4};
    mat_complex_split_t both{re.data(), im.data()};
    writer.put(Mat_VarCreate("z", MAT_C_DOUBLE, MAT_T_DOUBLE, 2, shape, &both, MAT_F_COMPLEX));
  }
  EXPECT_TRUE(has(read_error_of([&] { read_table<double>(path); }), "X (text), z (complex numbers)"));
  EXPECT_TRUE(has(read_error_of([&] { read_table<double>(path + ":z"); }), "complex"));
}

}  // namespace
}  // namespace pacewise

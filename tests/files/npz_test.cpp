#include "scratch.hpp"

namespace pacewise {
namespace {

struct Member {
  std::string name, content;
  bool pack = false;
  bool wide = false;  // 64-bit sizes in the extra field
};

/// A zip file written by hand.
std::string zip(const std::vector<Member>& members) {
  std::string body, directory;
  for (const Member& m : members) {
    const std::string data = m.pack ? deflated(m.content, -MAX_WBITS) : m.content;
    const auto crc = static_cast<std::uint32_t>(
        crc32(0, reinterpret_cast<const Bytef*>(m.content.data()), static_cast<uInt>(m.content.size())));
    const auto size = [&](std::size_t s) { return raw(m.wide ? 0xffffffffU : static_cast<std::uint32_t>(s)); };
    std::string extra;
    if (m.wide)
      extra = raw<std::uint16_t>(1) + raw<std::uint16_t>(16) + raw<std::uint64_t>(m.content.size()) +
              raw<std::uint64_t>(data.size());
    const std::string shared = raw<std::uint16_t>(45) + raw<std::uint16_t>(0) + raw<std::uint16_t>(m.pack ? 8 : 0) +
                               raw<std::uint32_t>(0) + raw(crc) + size(data.size()) + size(m.content.size()) +
                               raw(static_cast<std::uint16_t>(m.name.size())) +
                               raw(static_cast<std::uint16_t>(extra.size()));
    directory += std::string("PK\x01\x02", 4) + raw<std::uint16_t>(45) + shared + raw<std::uint16_t>(0) +
                 raw<std::uint16_t>(0) + raw<std::uint16_t>(0) + raw<std::uint32_t>(0) +
                 raw(static_cast<std::uint32_t>(body.size())) + m.name + extra;
    body += std::string("PK\x03\x04", 4) + shared + m.name + extra + data;
  }
  const auto count = raw(static_cast<std::uint16_t>(members.size()));
  return body + directory + std::string("PK\x05\x06", 4) + raw<std::uint32_t>(0) + count + count +
         raw(static_cast<std::uint32_t>(directory.size())) + raw(static_cast<std::uint32_t>(body.size())) +
         raw<std::uint16_t>(0);
}

std::string matrix() {
  std::string data;
  for (int i = 1; i <= 6; ++i) data += raw<double>(i);
  return npy("<f8", "(3, 2)", data);
}
std::string vector(std::initializer_list<int> values, const std::string& type = "<i4") {
  std::string data;
  for (const int v : values) data += raw(v);
  return npy(type, "(" + std::to_string(values.size()) + ",)", data);
}

TEST(NpzFile, StoredDeflatedAndWide) {
  const Scratch scratch;
  for (const bool pack : {false, true})
    for (const bool wide : {false, true}) {
      const std::string path =
          scratch.file("a.npz", zip({{"X.npy", matrix(), pack, wide}, {"y.npy", vector({7, 3, 7}), pack, wide}}));
      const Table<float> table = read_table<float>(path);
      EXPECT_EQ(values_of(table), (std::vector<float>{1, 2, 3, 4, 5, 6}));
      ASSERT_TRUE(table.labels);
      EXPECT_EQ(table.labels->value, (std::vector<std::int32_t>{1, 0, 1}));
      EXPECT_EQ(table.labels->names, (std::vector<std::string>{"3", "7"}));
      EXPECT_EQ(table.format, "npz");
    }
}

TEST(NpzFile, VariableIsNamedInThePathOrTheOptions) {
  const Scratch scratch;
  const std::string path = scratch.file(
      "a.npz", zip({{"first.npy", matrix()}, {"x_test.npy", vector({1, 2})}, {"y_test.npy", vector({5, 5})}}));
  EXPECT_EQ(read_table<double>(path + ":first").samples(), 3);
  ReadOptions options;
  options.variable = "x_test";
  const Table<double> table = read_table<double>(path, options);
  EXPECT_EQ(table.samples(), 2);
  ASSERT_TRUE(table.labels) << "x_test goes with y_test";
  EXPECT_EQ(table.labels->names, (std::vector<std::string>{"5"}));
  options.variable = "other";
  EXPECT_TRUE(has(read_error_of([&] { read_table<double>(path + ":first", options); }), "two variables"));
}

TEST(NpzFile, SamplesAsColumnsAreFoundByTheLabels) {
  const Scratch scratch;
  const Table<double> table =
      read_table<double>(scratch.file("t.npz", zip({{"fea.npy", matrix()}, {"gnd.npy", vector({1, 2})}})));
  EXPECT_EQ(table.samples(), 2);
  EXPECT_EQ(values_of(table), (std::vector<double>{1, 3, 5, 2, 4, 6}));
  ASSERT_EQ(table.notes.size(), 1U);
  EXPECT_TRUE(has(table.notes[0], "transposed"));
}

TEST(NpzFile, LabelsThatDoNotFitAreLeftOutWithANote) {
  const Scratch scratch;
  const Table<double> table =
      read_table<double>(scratch.file("t.npz", zip({{"X.npy", matrix()}, {"y.npy", vector({1, 2, 3, 4, 5})}})));
  EXPECT_FALSE(table.labels);
  ASSERT_EQ(table.notes.size(), 1U);
  EXPECT_TRUE(has(table.notes[0], "5 values for 3 samples"));
}

TEST(NpzFile, TextLabels) {
  const Scratch scratch;
  std::string wide;
  for (const char c : std::string("ab\0\xe4z\0", 6))
    wide += raw(static_cast<std::uint32_t>(static_cast<unsigned char>(c)));
  const std::string path = scratch.file("l.npz", zip({{"labels.npy", npy("<U3", "(2,)", wide)}}));
  const Labels labels = read_labels(path, 2);
  EXPECT_EQ(labels.names, (std::vector<std::string>{"ab", "\xc3\xa4z"}));
  const Labels narrow = read_labels(scratch.file("s.npy", npy("|S2", "(3,)", std::string("b\0aab\0", 6))), 3);
  EXPECT_EQ(narrow.names, (std::vector<std::string>{"aa", "b"}));
  EXPECT_EQ(narrow.value, (std::vector<std::int32_t>{1, 0, 1}));
}

/// [[0 5 0] [7 0 0]] in the three forms that scipy.sparse.save_npz writes.
TEST(NpzFile, ScipySparse) {
  const Scratch scratch;
  std::string shape = npy("<i8", "(2,)", raw<std::int64_t>(2) + raw<std::int64_t>(3));
  using Numbers = std::initializer_list<int>;
  const auto sparse = [&](const std::string& kind, Numbers data, const char* first, Numbers a, const char* second,
                          Numbers b) {
    const std::string bytes = zip({{"data.npy", vector(data)},
                                   {first, vector(a)},
                                   {second, vector(b)},
                                   {"format.npy", npy("|S3", "()", kind)},
                                   {"shape.npy", shape}});
    return read_table<float>(scratch.file(kind + ".npz", bytes)).sparse;
  };
  const Sparse expected = sparse_from_triplets(3, 2, {{1, 0, 5}, {0, 1, 7}});
  EXPECT_EQ(sparse("csr", {5, 7}, "indices.npy", {1, 0}, "indptr.npy", {0, 1, 2}), expected);
  EXPECT_EQ(sparse("csc", {7, 5}, "indices.npy", {1, 0}, "indptr.npy", {0, 1, 2, 2}), expected);
  EXPECT_EQ(sparse("coo", {7, 5}, "row.npy", {1, 0}, "col.npy", {0, 1}), expected);
  EXPECT_TRUE(has(read_error_of([&] {
                    sparse("csr", {5, 7}, "indices.npy", {1, 3}, "indptr.npy", {0, 1, 2});
                  }),
                  "no integer in 0..2"));
  EXPECT_TRUE(has(read_error_of([&] {
                    sparse("csr", {5, 7}, "indices.npy", {1, 0}, "indptr.npy", {0, 2, 1});
                  }),
                  "indptr"));
}

/// The format says rows, the arrays are triplets.
TEST(NpzFile, SparsePartsThatAreMissingAreNamed) {
  const Scratch scratch;
  const std::string bytes = zip({{"format.npy", npy("|S3", "()", "csr")},
                                 {"shape.npy", vector({2, 3})},
                                 {"data.npy", vector({5, 7})},
                                 {"row.npy", vector({1, 0})},
                                 {"col.npy", vector({1, 0})}});
  const std::string error = read_error_of([&] { read_table<float>(scratch.file("s.npz", bytes)); });
  EXPECT_TRUE(has(error, "indices: is missing"));
}

TEST(NpzFile, DamageIsNamed) {
  const Scratch scratch;
  const std::string good = zip({{"X.npy", matrix(), true}});
  const auto error = [&](const std::string& bytes) {
    return read_error_of([&] { read_table<double>(scratch.file("bad.npz", bytes)); });
  };
  for (std::size_t cut = 5; cut < good.size(); cut += 7) EXPECT_TRUE(has(error(good.substr(0, cut)), "zip"));
  std::string flipped = good;
  flipped[45] = static_cast<char>(flipped[45] ^ 0x55);
  EXPECT_TRUE(has(error(flipped), "X.npy"));
  EXPECT_TRUE(has(error(zip({{"readme.txt", "hello"}})), "without .npy arrays"));
  EXPECT_TRUE(has(error(zip({{"a.npy", matrix()}, {"b.npy", matrix()}})), "a, b"));
  EXPECT_TRUE(has(error(zip({{"a.npy", "no array"}})), "is no .npy array"));
  std::string encrypted = zip({{"X.npy", matrix()}});
  encrypted[encrypted.find(std::string("PK\x01\x02", 4)) + 8] = 1;
  EXPECT_TRUE(has(error(encrypted), "encrypted"));
  std::string method = zip({{"X.npy", matrix()}});
  method[method.find(std::string("PK\x01\x02", 4)) + 10] = 14;
  EXPECT_TRUE(has(error(method), "method 14"));
  std::string size = zip({{"X.npy", matrix(), true}});
  const std::size_t entry = size.find(std::string("PK\x01\x02", 4));
  size.replace(entry + 24, 4, raw<std::uint32_t>(2000000000U));
  EXPECT_TRUE(has(error(size), "X.npy: claims 1.9 GiB of data in a file of"));
}

}  // namespace
}  // namespace pacewise

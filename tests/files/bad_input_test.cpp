#include <fcntl.h>
#include <unistd.h>

#include "scratch.hpp"

namespace pacewise {
namespace {

using namespace std::string_literals;
struct Bad {
  const char* name;  // of the file
  std::string bytes;
  const char* message;  // part of what must be said
};

std::string npy_header_only(const std::string& text) {
  return std::string("\x93NUMPY\x01\x00", 8) + raw(static_cast<std::uint16_t>(text.size())) + text;
}

const std::string kMarket = "%%MatrixMarket matrix ";

std::vector<Bad> bad_arrays() {
  return {
      {"empty.npy", "", "the file is empty"},
      {"magic.npy", "\x93NUMPY", "ends inside the .npy header"},
      {"version.npy", std::string("\x93NUMPY\x09\x00\x10\x00", 10), ".npy version 9"},
      {"version0.npy", std::string("\x93NUMPY\x00\x00\x10\x00", 10), ".npy version 0"},
      {"long.npy", std::string("\x93NUMPY\x01\x00\xff\xff{", 11), "ends inside the .npy header"},
      {"long2.npy", std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{", 13), "ends inside the .npy header"},
      {"dict.npy", npy_header_only("no dictionary"), "header is damaged near \"no dictionary\""},
      {"open.npy", npy_header_only("{'descr': '<f8'"), "header is damaged"},
      {"noshape.npy", npy_header_only("{'descr': '<f8', 'fortran_order': False}"), "header is damaged"},
      {"key.npy", npy_header_only("{'colour': 'red'}"), "header is damaged"},
      {"order.npy", npy_header_only("{'descr': '<f8', 'fortran_order': Maybe, 'shape': (1,)}"), "header is damaged"},
      {"neg.npy", npy("<f8", "(-1, 2)", ""), "header is damaged"},
      {"words.npy", npy("<f8", "(a, b)", ""), "header is damaged"},
      {"record.npy", npy_header_only("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}"),
       "named fields"},
      {"short.npy", npy("<f8", "(3, 2)", "0123456789"), "do not fit in the 10 bytes"},
      {"huge.npy", npy("<f8", "(1000000000, 1000000000)", "x"), "damaged"},
      {"large.npy", npy("<f8", "(100000, 100000)", "x"), "truncated"},
      {"wrap.npy", npy("<f8", "(9223372036854775807, 9223372036854775807)", "x"), "damaged"},
      {"over.npy", npy("<f8", "(99999999999999999999,)", "x"), "header is damaged"},
      {"none.npy", npy("<f8", "(0, 5)", ""), "it holds no numbers"},
      {"flat.npy", npy("<f8", "(5, 0)", ""), "it holds no numbers"},
      {"scalar.npy", npy("<f8", "()", raw(1.0)), "has 0 dimensions"},
      {"complex.npy", npy("<c16", "(1,)", std::string(16, '\0')), "complex numbers are not supported"},
      {"object.npy", npy("|O", "(1,)", "x"), "pickled object array"},
      {"date.npy", npy("<M8[ns]", "(1,)", std::string(8, '\0')), "dates are not numbers"},
      {"quad.npy", npy("<f16", "(1,)", std::string(16, '\0')), "floats of 16 to 64 bits"},
      {"type.npy", npy("", "(1,)", "x"), "save booleans"},
      {"text.npy", npy("|S3", "(1,)", "abc"), "holds text"},
      {"texts.npy", npy("<U999999999", "(1,)", "abc"), "does not fit"},
      {"zip.npz", std::string("PK\x03\x04", 4) + "rubbish", "zip directory is damaged"},
      {"none.npz", std::string("PK\x05\x06", 4) + std::string(18, '\0'), "without .npy arrays"},
      {"far.npz", std::string("PK\x05\x06\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\0\0", 22),
       "zip directory is damaged"},
      {"head.idx", std::string("\0\0\x08\x03\0\0", 6), "ends inside the IDX header"},
      {"short.idx", "\0\0\10\1\0\0\0\5abc"s, "do not fit in the 3 bytes"},
      {"more.idx", "\0\0\10\1\0\0\0\1abc"s, "2 bytes follow"},
      {"zero.idx", std::string("\0\0\x08\x01\0\0\0\0", 8), "it holds no numbers"},
      {"huge.idx", std::string("\0\0\x0e\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 16), "damaged"},
      {"type.idx", std::string("\0\0\x0a\x01\0\0\0\x01x", 9), "its format is not known"},
  };
}

std::vector<Bad> bad_texts() {
  std::vector<Bad> out{
      {"ragged.csv", "1,2,3\n4,5\n", "line 2: has 2 fields, the first line has 3"},
      {"wide.csv", "1,2\n3,4\n5,6,7\n", "line 3: has 3 fields, the first line has 2"},
      {"word.csv", "a,b\n1,2\n3,four\n", "line 3, column 2 (b): \"four\" is not a number"},
      {"control.csv", "1,2\n3,\"a\nb\"\n", "\"a\\x0ab\" is not a number"},
      {"blank.csv", "\n\n\n", "holds no rows"},
      {"comments.csv", "# only\n# comments\n", "holds no rows"},
      {"bom.csv", "\xef\xbb\xbf", "holds no rows"},
      {"prose.txt", "It was a dark and stormy night\n", "is not a number"},
      {"quote.csv", "1,2\n3,\"4\n5,6\n", "line 2, column 2"},
      {"nul.csv", "1,2\n3,\0004\n"s, "its format is not known"},
      {"thousands.csv", "1;2\n3;1.000,5\n", "\"1.000,5\" is not a number"},
      {"utf16.csv", "\377\3761\0"s, "UTF-16"},
      {"banner.mtx", "%%MatrixMarket\n", "line 1: the banner is incomplete"},
      {"vector.mtx", "%%MatrixMarket vector coordinate real general\n", "the banner is incomplete"},
      {"layout.mtx", kMarket + "diagonal real general\n", "\"diagonal\" is no layout"},
      {"complex.mtx", kMarket + "coordinate complex general\n", "type \"complex\""},
      {"pattern.mtx", kMarket + "array pattern general\n2 2\n", "type \"pattern\""},
      {"hermitian.mtx", kMarket + "coordinate real hermitian\n", "symmetry \"hermitian\""},
      {"end.mtx", kMarket + "coordinate real general\n", "should follow"},
      {"zero.mtx", kMarket + "coordinate real general\n0 3 0\n", "\"0\" is no number of rows"},
      {"row.mtx", kMarket + "coordinate real general\n2 2 1\n3 1 5\n", "line 3: \"3\" is no row in 1..2"},
      {"col.mtx", kMarket + "coordinate real general\n2 2 1\n1 0 5\n", "line 3: \"0\" is no column in 1..2"},
      {"value.mtx", kMarket + "coordinate real general\n2 2 1\n1 1 x\n", "line 3: \"x\" is not a number"},
      {"few.mtx", kMarket + "coordinate real general\n2 2 2\n1 1 5\n", "truncated"},
      {"many.mtx", kMarket + "coordinate real general\n2 2 1\n1 1 5\n2 2 6\n", "line 4: text follows the 1 entries"},
      {"claim.mtx", kMarket + "coordinate real general\n2 2 1000000000\n", "number of entries that fits the file"},
      {"size.mtx", kMarket + "coordinate real general\n2147483647 2147483647 0\n", "claims"},
      {"square.mtx", kMarket + "coordinate real symmetric\n2 3 0\n", "is square"},
      {"array.mtx", kMarket + "array real general\n100000 100000\n1\n", "do not fit"},
      {"array2.mtx", kMarket + "array real general\n1 1\n1\n2\n", "text follows the 1 x 1 values"},
  };
  for (const char* field :
       {"-.", "1.2.3", "--1", "+-1", "1-", "1e", "e+10", "-e+10", "1x", "0x10", "1 2", "1e+1x", "."})
    out.push_back({"field.csv", std::string("7,8\n9,") + field + "\n", "\" is not a number"});
  return out;
}

std::vector<Bad> bad_others() {
  std::string mat = "MATLAB 5.0 MAT-file";
  mat.resize(124, ' ');
  mat += std::string("\0\1IM", 4);
  std::string mat73 = mat;
  mat73[125] = '\2';
  return {
      {"empty.mat", mat, "no variable can be read"},
      {"tag.mat", mat + "abc", "damaged or truncated"},
      {"length.mat", mat + raw<std::uint32_t>(14) + raw<std::uint32_t>(4000), "damaged or truncated"},
      {"packed.mat", mat + raw<std::uint32_t>(15) + raw<std::uint32_t>(8) + "notzlib!", "damaged at byte"},
      {"type.mat", mat + raw<std::uint32_t>(3) + raw<std::uint32_t>(0), "damaged or truncated"},
      {"v73.mat", mat73 + std::string(900, '\0'), "v73.mat: "},
      {"old.mat", std::string("\0\0\0\0\x01\0\0\0", 8), "is no MATLAB v5 or v7.3 file"},
      {"cut.h5", "\x89HDF\r\n\x1a\n", "HDF5 header is damaged"},
      {"zero.h5", "\x89HDF\r\n\x1a\n" + std::string(2000, '\0'), "HDF5 header is damaged"},
      {"cut.png", "\x89PNG\r\n\x1a\n", "PNG"},
      {"cut.jpg", "\xff\xd8\xff\xe0", "JPEG"},
      {"cut.pgm", "P5\n", "the width should follow"},
      {"few.pgm", "P5 10 10 255\nabc", "10 x 10 pixels do not fit"},
      {"zero.pgm", "P5 0 10 255\n", "\"0\" is no width in 1..1048576"},
      {"black.pgm", "P5 1 1 0\na", "\"0\" is no largest value in 1..65535"},
      {"white.pgm", "P5 1 1 70000\na", "line 1: \"70000\" is no largest value in 1..65535"},
      {"plain.pgm", "P2 2 1 9\n1 12\n", "line 2: \"12\" is no pixel in 0..9"},
      {"colour.ppm", "P6 1 1 255\nabc", "colour PPM"},
      {"a.gif", "GIF89a..", "GIF image"},
      {"a.bz2", "BZh91AY", "bzip2"},
      {"a.xz", "\3757zXZ\0"s, "xz"},
      {"a.zst", "\x28\xb5\x2f\xfd..", "zstd"},
      {"a.7z", "7z\xbc\xaf..", "7z archive"},
      {"a.parquet", "PAR1....", "Parquet"},
      {"a.pdf", "%PDF-1.4", "PDF"},
      {"a.xls", "\xd0\xcf\x11\xe0....", "old Excel"},
      {"a.pkl", "\x80\x04\x95..", "pickle"},
      {"a.bin", std::string("\x01\x02\x03\x04\0\0\0", 7), "its format is not known"},
      {"short.gz", "\x1f\x8b\x08", "truncated"},
  };
}

void check(const std::vector<Bad>& inputs) {
  const Scratch scratch;
  for (const Bad& bad : inputs) {
    const std::string path = scratch.file(bad.name, bad.bytes);
    const std::string error = read_error_of([&] { read_table<float>(path); });
    EXPECT_TRUE(error.starts_with(path + ": ") && has(error, bad.message)) << bad.name << ": " << error;
    EXPECT_EQ(read_error_of([&] { read_table<double>(path); }), error);
  }
}

TEST(BadInput, ArraysAreRefusedWithTheReason) { check(bad_arrays()); }
TEST(BadInput, TextsAreRefusedWithTheReason) { check(bad_texts()); }
TEST(BadInput, OtherFilesAreRefusedWithTheReason) { check(bad_others()); }

TEST(BadInput, PathsThatCannotBeRead) {
  const Scratch scratch;
  const std::string csv = scratch.file("a.csv", "1,2\n3,4\n");
  ASSERT_EQ(::symlink("loop", scratch.path("loop").c_str()), 0);
  const auto refused = [](const std::string& path, const char* part) {
    EXPECT_TRUE(has(read_error_of([&] { read_table<float>(path); }), part));
  };
  refused(scratch.path("none.npy"), "No such file or directory; check the name");
  refused("", "No such file");
  refused(scratch.path("none.mat:X"), "No such file");
  refused(scratch.folder() + "/", "holds no PNG");
  refused(csv + ":X", "a csv file has no variables");
  refused(csv + ":", "nothing after the ':'");
  refused(scratch.path("line\nbreak"), "line\\x0abreak");
  refused("/dev/null", "the file is empty");
  refused(scratch.path("loop"), "cannot read");
  EXPECT_EQ(read_table<float>(scratch.file("with:colon.csv", "1,2\n3,4\n")).samples(), 2);
  if (::geteuid() == 0) return;
  ::chmod(csv.c_str(), 0);
  refused(csv, "Permission denied");
}

TEST(BadInput, LabelColumnsThatAreNotThere) {
  const Scratch scratch;
  const std::string path = scratch.file("a.csv", "a,b\n1,2\n3,4\n");
  const auto error = [&](const std::string& file, const char* column) {
    ReadOptions options;
    options.label_column = column;
    return read_error_of([&] { read_table<float>(file, options); });
  };
  EXPECT_TRUE(has(error(path, "c"), "has no column \"c\"; its columns are a, b"));
  EXPECT_TRUE(has(error(path, "3"), "label column 3 is not in 1..2"));
  EXPECT_TRUE(has(error(path, "0"), "label column 0"));
  EXPECT_TRUE(has(error(scratch.file("b.csv", "1,2\n3,4\n"), "c"), "give the column's number"));
  EXPECT_TRUE(has(error(scratch.file("c.csv", "1\n3\n"), "1"), "no column besides the labels"));
  EXPECT_TRUE(has(error(scratch.file("d.csv", "1,NA\n3,4\n"), "2"), "label 1 is missing"));
}

/// Pipes have no size and cannot be mapped.
TEST(BadInput, PipesAreReadToTheirEnd) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "1,2\n3,4\n", 8), 8);
  ::close(ends[1]);
  EXPECT_EQ(read_table<float>("/dev/fd/" + std::to_string(ends[0])).samples(), 2);
  ::close(ends[0]);
}

}  // namespace
}  // namespace pacewise

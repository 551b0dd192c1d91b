// One program for all fuzz targets: the environment variable PACEWISE_FUZZ names the one to run.
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "io/table.hpp"

namespace pacewise::fuzz {
namespace {

using Body = std::function<int(std::string_view)>;

/// The bytes as a file that never touches a disk.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(::memfd_create("input", MFD_CLOEXEC)) {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t written = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
      if (written <= 0) __builtin_trap();
      done += static_cast<std::size_t>(written);
    }
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

/// Every number is looked at, so a view that reaches outside its memory is found; names and labels must agree in
/// number.
template <class T>
void look_at(const Table<T>& table) {
  T sum = 0;
  for (Index j = 0; j < table.values.cols; ++j)
    for (Index i = 0; i < table.values.rows; ++i) sum += table.values(i, j);
  volatile T sink = sum;
  static_cast<void>(sink);
  if (table.samples() <= 0 || table.features() <= 0) __builtin_trap();
  if (table.labels && static_cast<Index>(table.labels->value.size()) != table.samples()) __builtin_trap();
  if (!table.feature_names.empty() && static_cast<Index>(table.feature_names.size()) != table.features())
    __builtin_trap();
}

/// A message is one line.
void check_message(const Error& error) {
  if (std::string_view(error.what()).find('\n') != std::string_view::npos) __builtin_trap();
}

/// Reads the bytes, their beginning replaced by `start`, as a table and as labels. Nothing but an Error may come out.
int read_bytes(std::string_view start, std::string_view input) {
  std::string bytes(input);
  if (bytes.size() < start.size()) return -1;
  bytes.replace(0, start.size(), start);
  const MemoryFile file(bytes);
  ReadOptions options;
  options.threads = 1;
  for (const char* label_column : {"", "-1"}) {
    options.label_column = label_column;
    try {
      look_at(read_table<float>(file.path(), options));
    } catch (const Error& error) {
      check_message(error);
    }
  }
  try {
    options.label_column.clear();
    read_labels(file.path(), -1, options);
  } catch (const Error& error) {
    check_message(error);
  }
  return 0;
}

template <class N>
std::string raw(N value) {
  std::string out(sizeof(N), '\0');
  std::memcpy(out.data(), &value, sizeof(N));
  return out;
}

/// The input cut into the arrays of a sound zip file, so that the checksums do not keep the fuzzer out: each piece is
/// preceded by its length.
std::string zip_of_arrays(std::string_view input) {
  std::string body, directory;
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(input[at]); };
  const bool triplets = !input.empty() && (byte(0) & 1U) != 0;
  std::uint16_t count = 0;
  std::size_t at = std::min<std::size_t>(1, input.size());
  for (const char* part : {"data.npy", "shape.npy", "format.npy", triplets ? "row.npy" : "indices.npy",
                           triplets ? "col.npy" : "indptr.npy"}) {
    const std::string name(part);
    const std::size_t wanted = at + 2 <= input.size() ? byte(at) + 256U * byte(at + 1) : 0;
    at = std::min(at + 2, input.size());
    const std::string content(input.substr(at, wanted));
    at += content.size();
    const auto length = static_cast<std::uint32_t>(content.size());
    const auto crc = static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(content.data()), length));
    const std::string shared = std::string("\x14\0\0\0\0\0\0\0\0\0", 10) + raw(crc) + raw(length) + raw(length) +
                               raw(static_cast<std::uint16_t>(name.size())) + raw<std::uint16_t>(0);
    directory += std::string("PK\x01\x02\x14\0", 6) + shared + std::string(10, '\0') +
                 raw(static_cast<std::uint32_t>(body.size())) + name;
    body += std::string("PK\x03\x04", 4) + shared + name + content;
    ++count;
  }
  return body + directory + std::string("PK\x05\x06\0\0\0\0", 8) + raw(count) + raw(count) +
         raw(static_cast<std::uint32_t>(directory.size())) + raw(static_cast<std::uint32_t>(body.size())) +
         std::string(2, '\0');
}

/// Files of one format: the input with its beginning replaced by what the format is recognised by.
Body reader(std::string start) {
  return [start = std::move(start)](std::string_view input) { return read_bytes(start, input); };
}

/// The header of a MATLAB file fills 128 bytes; what follows is fuzzed. HDF5 begins at byte 512 of v7.3.
std::string mat_header(std::string text, char version) {
  text.resize(124, ' ');
  return text + '\0' + version + "IM";
}

/// Faults that the fuzzer must find, each behind three bytes it has to guess
Body planted(void (*fault)(std::string_view)) {
  return [fault](std::string_view input) {
    if (input.size() > 3 && input[0] == 'P' && input[1] == 'W' && input[2] == 'X') fault(input);
    return 0;
  };
}

void overflow(std::string_view input) {
  const std::unique_ptr<char[]> copy(new char[input.size()]);
  std::memcpy(copy.get(), input.data(), input.size());
  [[maybe_unused]] volatile char beyond = copy[input.size()];
}

void allocate(std::string_view) {
  const std::unique_ptr<char[]> huge(new char[std::size_t{100} << 20U]);
  [[maybe_unused]] volatile char touched = huge[0] = 1;
}

void hang(std::string_view) {
  for (volatile bool forever = true; forever;) {
  }
}

struct Target {
  const char* name;
  Body body;
};

const Target kTargets[] = {
    {"any", reader("")},
    {"csv", reader("1")},
    {"npy", reader("\x93NUMPY")},
    {"npz", reader("PK\x03\x04")},
    {"npz_entries", [](std::string_view input) { return read_bytes("", zip_of_arrays(input)); }},
    {"mat", reader(mat_header("MATLAB 5.0 MAT-file", 1))},
    {"mat73", reader(mat_header("MATLAB 7.3 MAT-file", 2))},
    {"hdf5", reader("\x89HDF\r\n\x1a\n")},
    {"idx", reader(std::string(2, '\0'))},
    {"mtx", reader("%%MatrixMarket matrix ")},
    {"png", reader("\x89PNG\r\n\x1a\n")},
    {"jpeg", reader("\xff\xd8\xff")},
    {"pgm", reader("P")},
    {"planted_overflow", planted(overflow)},
    {"planted_allocation", planted(allocate)},
    {"planted_hang", planted(hang)},
};

const Target* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* name = std::getenv("PACEWISE_FUZZ");
  const std::string wanted = name == nullptr ? "" : name;
  for (const Target& target : kTargets) {
    if (wanted == "list") std::printf("%s\n", target.name);
    if (wanted == target.name) chosen = &target;
  }
  if (wanted == "list") std::exit(0);
  if (chosen == nullptr) {
    std::fprintf(stderr, "PACEWISE_FUZZ = %s: must be the name of a target, or list\n", wanted.c_str());
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return chosen->body({reinterpret_cast<const char*>(data), size});
}

}  // namespace pacewise::fuzz

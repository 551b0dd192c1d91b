#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "io/table.hpp"

namespace pacewise::fuzz {

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
inline void check_message(const Error& error) {
  if (std::string_view(error.what()).find('\n') != std::string_view::npos) __builtin_trap();
}

/// Reads the bytes, their beginning replaced by `start`, as a table and as labels. Nothing but an Error may come out.
inline int read_bytes(std::string_view start, std::string_view input) {
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

}  // namespace pacewise::fuzz

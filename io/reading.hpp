#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "algebra/parallel.hpp"
#include "io/table.hpp"

namespace pacewise {

/// Thrown inside the readers when the caller cancels; read_table turns it into a value.
struct Cancelled {};

/// One file being read: its bytes, and how the caller wants it read. Readers get this and nothing else.
struct Reading {
  std::string path;                   // for messages and for libraries that open files themselves
  std::string_view bytes;             // the content: mapped, or decompressed
  std::shared_ptr<const void> owner;  // keeps `bytes` alive
  std::size_t stored = 0;             // bytes on the disk, before decompression
  bool mapped = false;
  std::string variable;
  ReadOptions options;

  /// Throws "path: where: what"; `where` may be empty.
  [[noreturn]] void fail(std::string_view where, std::string_view what) const;
  /// The limits on memory, both here. What is really there may take as many bytes as are free; what a file only says it
  /// holds may take 1032 times its size, as much as zlib expands (64 MiB for any file). Each fails else.
  void check_size(double size, std::string_view where) const;
  void check_claim(double size, std::string_view where) const;
  /// What a zlib stream, or one or more gzip members, expand to; `packed` becomes what follows them.
  void inflate(std::string_view& packed, std::string& out, std::string_view where) const;
  /// Reports progress when called by the calling thread (worker 0) and throws Cancelled.
  void at(double fraction, int worker = 0) const;
  /// parallel_for over blocks with progress in [from, to]; of several failing blocks the first one is reported.
  void for_blocks(Index blocks, double from, double to, const std::function<void(Index)>& body) const;
};

/// The file's bytes, memory-mapped where it is a regular file. `path` may end in `:variable`.
Reading open_reading(const std::string& path, const ReadOptions& options);
/// The same for an image of a folder or a file beside another: no `:variable`, no gzip.
Reading open_plain(const std::string& path, const ReadOptions& options);

/// Gives the table m x n numbers without a value; fails where they do not fit in memory.
template <class T>
MatrixView<T> allocate(Table<T>& table, Index rows, Index cols, const Reading& reading) {
  reading.check_size(static_cast<double>(rows) * static_cast<double>(cols) * sizeof(T),
                     line_of(cols, " samples of ", rows, " features"));
  const auto matrix = std::make_shared<Matrix<T>>();
  matrix->resize_for_overwrite(rows, cols);
  table.values = matrix->view();
  table.owner = matrix;
  return matrix->view();
}

}  // namespace pacewise

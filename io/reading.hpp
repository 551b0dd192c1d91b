#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "algebra/parallel.hpp"
#include "io/table.hpp"

namespace pacewise {

/// Thrown inside the readers when the caller cancels; read_table turns it into a value.
struct Cancelled {};

/// zlib expands one byte to at most 1032; nothing a file claims to hold may be larger than that times its size.
inline constexpr double kExpansion = 1032;

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
  /// An array of `count` items of `size` bytes may be claimed by a file of this size.
  void check_claim(double count, double size, std::string_view where) const;
  /// Reports progress when called by the calling thread (worker 0) and throws Cancelled.
  void at(double fraction, int worker = 0) const;
  /// parallel_blocks with progress in [from, to]; of several failing blocks the first one is reported.
  void for_blocks(Index blocks, double from, double to, const std::function<void(Index)>& body) const;
};

/// The file's bytes, memory-mapped where it is a regular file. `path` may end in `:variable`.
Reading open_reading(const std::string& path, const ReadOptions& options);
/// The same for an image of a folder or a file beside another: no `:variable`, no gzip.
Reading open_plain(const std::string& path, const ReadOptions& options);

/// m x n numbers, uninitialised; fails where they do not fit in memory.
template <class T>
struct Dense {
  MatrixView<T> view;
  std::shared_ptr<const void> owner;
};
template <class T>
Dense<T> allocate_dense(Index rows, Index cols, const Reading& reading);

}  // namespace pacewise

#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "storage/file_error.hpp"

namespace pacewise {

/// A file that is there whole or not at all. Bytes go to a temporary in the target's folder; commit() flushes it to the
/// disk, renames it over the target and flushes the folder. Without commit() the destructor removes the temporary and
/// the target is as it was. A symbolic link keeps pointing where it did, an existing file keeps its mode. Targets that
/// are not regular files (pipes, devices, /dev/stdout) are written directly. Every failure is a WriteError.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, std::size_t count);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void commit();

 private:
  void open_temporary(unsigned mode, bool exists);
  void flush();
  void discard() noexcept;
  [[noreturn]] void fail(const char* action, int error);

  std::string path_;       // as the caller wrote it, for messages
  std::string target_;     // symbolic links resolved
  std::string temporary_;  // empty: written directly
  std::string buffer_;     // small writes are gathered
  int descriptor_ = -1;
};

}  // namespace pacewise

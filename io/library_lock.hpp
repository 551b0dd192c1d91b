#pragma once
#include <mutex>

namespace pacewise {

/// HDF5, and matio on top of it, keep global state and print their errors: while one of these lives they are used by
/// one thread and are silent. The user's own setting for printing is restored.
class LibraryLock {
 public:
  LibraryLock();
  ~LibraryLock();
  LibraryLock(const LibraryLock&) = delete;
  LibraryLock& operator=(const LibraryLock&) = delete;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  void* function_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace pacewise

#pragma once
#include <mutex>

#include "io/typed_array.hpp"

namespace pacewise {

/// What is known of a variable before it is loaded.
struct Entry {
  std::string name;          // without a leading '/'
  std::vector<Index> shape;  // as in the file; empty where it is not known cheaply
  bool loadable = true;      // numbers, sparse numbers or text; else `what` says what it is
  bool is_text = false;
  std::string what;
};

/// A file with several named variables: .npz, .mat, HDF5.
class Container {
 public:
  Container(const Reading& reading, std::string kind) : kind_(std::move(kind)), reading_(reading) {}
  virtual ~Container() = default;
  Container(const Container&) = delete;
  Container& operator=(const Container&) = delete;
  virtual Variable load(const Entry& entry) = 0;
  const std::vector<Entry>& entries() const { return entries_; }

  /// The named variable, or the obvious one (X, fea, data, ..; else the only one that is no label), and its labels.
  /// Where the labels number the columns and not the rows, the samples are the columns.
  template <class T>
  Table<T> read();
  /// The named variable, or the obvious one (Y, gnd, labels, ..; else the only one).
  LabelColumn read_labels();

 private:
  const Entry* find(std::string_view name) const;
  const Entry& named() const;
  const Entry& choose_data() const;
  const Entry* labels_of(const Entry& data) const;
  std::string listing() const;
  std::string kind_;  // how a user names a variable of this file, for messages

 protected:
  const Reading& reading_;
  std::vector<Entry> entries_;
};

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

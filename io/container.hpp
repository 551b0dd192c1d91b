#pragma once
#include "io/label_column.hpp"

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
  virtual ~Container() = default;
  virtual const std::vector<Entry>& entries() const = 0;
  virtual Variable load(const Entry& entry) = 0;
  /// How a user names a variable of this file, for messages.
  virtual std::string kind() const = 0;
};

/// The named variable, or the obvious one (X, fea, data, ..; else the only one that is no label), and its labels.
/// Where the labels number the columns and not the rows, the samples are the columns.
template <class T>
Table<T> read_container(const Reading& reading, Container& container);

/// The named variable, or the obvious one (Y, gnd, labels, ..; else the only one).
LabelColumn read_container_labels(const Reading& reading, Container& container);

}  // namespace pacewise

#pragma once
#include "algebra/sparse.hpp"
#include "pacewise/options.hpp"

namespace pacewise {

/// The groups of entries of level `group`. Unit (i, j) is the neighbourhood of entry i in sample j: its loss is the
/// mean of those of its members, (A l_j)_i, and an entry's weight the mean of the weights of the neighbourhoods it is
/// in, (A'v_j)_i, with A (m x m) >= 0 scaled so that no column adds up to more than 1: then no weight exceeds 1. Since
/// <v, A l> = <A'v, l>, both describe the same fit. Separate groups, one label for each feature, are the case in which
/// A averages over the features of a label.
class Groups {
 public:
  Groups() = default;
  /// By options.groups (labels), or options.shape and options.window, or `averaging` where it is not empty; empty at
  /// other levels
  static Groups of(const Options& options, Index m, const Sparse& averaging);

  bool empty() const { return labels_.empty() && average_.empty(); }
  /// l <- A l, of each of some samples; without groups nothing happens, here and below
  template <class U>
  void losses(U* l, Index samples = 1) const;
  template <class U>
  void weights(U* v, Index samples = 1) const;  // v <- A'v

 private:
  Groups(const std::vector<double>& labels, Index m);
  explicit Groups(Sparse averaging);
  template <class U>
  void average(U* l) const;
  template <class U>
  void spread(U* v) const;
  Index features_ = 0;
  Vector<std::int32_t> labels_;  // of features, 0 ..
  Vector<double> share_;         // of a feature in the group of each label
  Sparse average_;               // A', by columns: that of A' is a row of A
};

}  // namespace pacewise

#include "solve/groups.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "pacewise/error.hpp"

namespace pacewise {
namespace {

/// The mean over the window of w x w pixels around each pixel. The image goes on as in a mirror that stands on its
/// edge: rows and columns add up to 1 then, so that at the edge no weight is lost.
Sparse windows(const Shape& shape, Index window) {
  std::vector<Triplet> entries;
  const Index half = window / 2;
  const double share = 1 / static_cast<double>(window * window);
  const auto mirrored = [](Index at, Index length) {
    const Index place = ((at % (2 * length)) + 2 * length) % (2 * length);
    return place < length ? place : 2 * length - 1 - place;
  };
  const auto pixel = [&](Index y, Index x) {
    return static_cast<std::int32_t>(mirrored(y, shape.rows) * shape.columns + mirrored(x, shape.columns));
  };
  for (Index y = 0; y < shape.rows; ++y)
    for (Index x = 0; x < shape.columns; ++x)
      for (Index v = y - half; v <= y + half; ++v)
        for (Index u = x - half; u <= x + half; ++u) entries.push_back({pixel(y, x), pixel(v, u), share});
  return sparse_from_triplets(shape.rows * shape.columns, shape.rows * shape.columns, entries);
}

}  // namespace

Groups Groups::of(const Options& options, Index m, const Sparse& averaging) {
  if (options.level != Level::group) return {};
  const std::string features = std::to_string(m);
  if (!averaging.empty()) {
    if (averaging.rows != m || averaging.cols != m)
      throw Error("groups has shape (" + std::to_string(averaging.rows) + ", " + std::to_string(averaging.cols) +
                  "): must be (" + features + ", " + features + "), features by features");
    if (std::any_of(averaging.value.begin(), averaging.value.end(), [](double a) { return !(a >= 0 && a < 1e100); }))
      throw Error("groups holds a value that is not a share: must be finite and >= 0");
    return Groups(averaging);
  }
  if (!options.groups.empty()) return Groups(options.groups, m);
  if (!options.shape)
    refuse("level", "group", "given its groups", "groups (a label for each feature), or shape and window of images");
  if (options.shape->rows * options.shape->columns != m)
    refuse("shape", to_string(*options.shape), "rows x columns of the " + features + " features");
  return Groups(windows(*options.shape, options.window));
}

Groups::Groups(const std::vector<double>& labels, Index m) : features_(m) {
  if (static_cast<Index>(labels.size()) != m)
    refuse("groups", std::to_string(labels.size()) + " labels",
           "one for each of the " + std::to_string(m) + " features");
  std::map<double, std::int32_t> number;
  for (const double label : labels) {
    const auto [at, fresh] = number.try_emplace(label, static_cast<std::int32_t>(number.size()));
    if (fresh) share_.push_back(0);
    labels_.push_back(at->second);
    share_[at->second] += 1;
  }
  for (double& share : share_) share = 1 / share;
}

Groups::Groups(Sparse averaging) : features_(averaging.cols), average_(std::move(averaging)) {
  double most = 0;
  for (Index j = 0; j < average_.cols; ++j) {
    double sum = 0;
    for (Index p = average_.start[j]; p < average_.start[j + 1]; ++p) sum += average_.value[p];
    most = std::max(most, sum);
  }
  if (!(most > 0)) throw Error("groups is zero everywhere: some entries must be in a group");
  for (double& a : average_.value) a /= most;
  average_ = transpose(average_);
}

template <class U>
void Groups::average(U* l) const {
  if (!labels_.empty()) {
    Vector<double> mean(std::ssize(share_), 0);
    for (std::size_t i = 0; i < labels_.size(); ++i) mean[labels_[i]] += share_[labels_[i]] * static_cast<double>(l[i]);
    for (std::size_t i = 0; i < labels_.size(); ++i) l[i] = static_cast<U>(mean[labels_[i]]);
    return;
  }
  const Vector<U> given(l, l + average_.rows);
  for (Index i = 0; i < average_.cols; ++i) {
    double sum = 0;
    for (Index p = average_.start[i]; p < average_.start[i + 1]; ++p)
      sum += average_.value[p] * static_cast<double>(given[average_.index[p]]);
    l[i] = static_cast<U>(sum);
  }
}

template <class U>
void Groups::spread(U* v) const {
  if (!labels_.empty()) return average(v);  // A is symmetric
  const Vector<U> given(v, v + average_.cols);
  Vector<double> sum(average_.rows, 0);
  for (Index i = 0; i < average_.cols; ++i)
    for (Index p = average_.start[i]; p < average_.start[i + 1]; ++p)
      sum[average_.index[p]] += average_.value[p] * static_cast<double>(given[i]);
  for (Index i = 0; i < average_.rows; ++i) v[i] = static_cast<U>(std::min(sum[i], 1.0));
}

template <class U>
void Groups::losses(U* l, Index samples) const {
  for (Index j = 0; j < samples && !empty(); ++j) average(l + j * features_);
}

template <class U>
void Groups::weights(U* v, Index samples) const {
  for (Index j = 0; j < samples && !empty(); ++j) spread(v + j * features_);
}

template void Groups::losses(float*, Index) const;
template void Groups::losses(double*, Index) const;
template void Groups::weights(float*, Index) const;
template void Groups::weights(double*, Index) const;

}  // namespace pacewise

#include "data/problem.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "algebra/simd.hpp"

namespace pacewise {
namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

/// Calls one(j) for every sample, or feature, on all threads.
template <class One>
void for_each(Index count, const Control& control, const One& one) {
  parallel_blocks(block_count(count), control.to_the_end(), [&](Index block, int) {
    for (Index j = block * kBlock; j < block * kBlock + block_length(count, block); ++j) one(j);
  });
}

/// The first j of which it is true, or -1: the same whichever thread comes upon one first
template <class Wrong>
Index first_where(Index count, const Control& control, const Wrong& wrong) {
  std::vector<Index> found(at(block_count(count)), Index{-1});
  for_each(count, control, [&](Index j) {
    Index& first = found[at(j / kBlock)];
    if (first < 0 && wrong(j)) first = j;
  });
  for (const Index j : found)
    if (j >= 0) return j;
  return -1;
}

template <class Number>
std::string text(Number value) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

std::string place(Index i, Index j) { return "sample " + text(j) + ", feature " + text(i); }

template <class T>
bool observed(const Problem<T>& p, Index i, Index j) {
  return !std::isnan(p.values(i, j)) && p.weights(i, j) > 0;
}

// Like all_finite, these have no way out of their loops and run at the speed of memory.
template <class T>
bool any_infinite(const T* x, Index n) {
  int found = 0;
  for (Index i = 0; i < n; ++i) found |= std::abs(x[i]) > std::numeric_limits<T>::max() ? 1 : 0;
  return found != 0;
}

template <class T>
bool all_weights(const T* w, Index n) {
  int bad = 0;
  for (Index i = 0; i < n; ++i) bad |= !(w[i] >= 0) || !(w[i] <= std::numeric_limits<T>::max()) ? 1 : 0;
  return bad == 0;
}

/// True where none is missing
template <class T>
bool check_values(MatrixView<const T> x, const Control& control) {
  if (x.rows < 1) throw Error("values: " + text(x.rows) + " features; there must be at least 1");
  if (x.cols < 1) throw Error("values: " + text(x.cols) + " samples; there must be at least 1");
  if (x.data == nullptr) throw Error("values: null pointer; it must point to the numbers");
  if (x.stride < x.rows)
    throw Error("values: stride " + text(x.stride) + " must be at least the number of features, " + text(x.rows));
  std::vector<char> holes(at(block_count(x.cols)), char{0});
  const Index j = first_where(x.cols, control, [&](Index column) {
    if (all_finite(x.col(column), x.rows)) return false;
    holes[at(column / kBlock)] = 1;
    return any_infinite(x.col(column), x.rows);
  });
  for (Index i = 0; i < x.rows && j >= 0; ++i)
    if (std::isinf(x(i, j)))
      throw Error("values: " + text(x(i, j)) + " at " + place(i, j) +
                  "; must be finite, or NaN where the entry is missing");
  return std::find(holes.begin(), holes.end(), char{1}) == holes.end();
}

template <class T>
int parts(const Weights<T>& w) {
  return (w.sample.empty() ? 0 : 1) + (w.feature.empty() ? 0 : 1) + (w.entry.empty() ? 0 : 1);
}

/// Each part is finite by now: only a product of several can overflow.
template <class T>
void check_product(const Weights<T>& w, Index m, Index n, const Control& control) {
  if (parts(w) < 2) return;
  const auto overflows = [&](Index i, Index j) { return !std::isfinite(w(i, j)); };
  const Index j = first_where(n, control, [&](Index column) {
    for (Index i = 0; i < m; ++i)
      if (overflows(i, column)) return true;
    return false;
  });
  for (Index i = 0; i < m && j >= 0; ++i)
    if (overflows(i, j))
      throw Error("weights: product sample * feature * entry overflows at " + place(i, j) + "; must be finite");
}

template <class T>
void check_weight(T w, const char* name, const std::string& where) {
  if (!(std::isfinite(w) && w >= 0))
    throw Error(std::string("weights.") + name + ": " + text(w) + " at " + where + "; must be finite and at least 0");
}

template <class T>
void check_weights(const Weights<T>& w, Index m, Index n, const Control& control) {
  const auto check_length = [](const char* name, std::size_t length, const char* unit, Index expected) {
    if (length != 0 && length != at(expected))
      throw Error(std::string("weights.") + name + ": length " + std::to_string(length) + " must equal the number of " +
                  unit + ", " + text(expected));
  };
  check_length("sample", w.sample.size(), "samples", n);
  check_length("feature", w.feature.size(), "features", m);
  const bool has_entry = w.entry.rows() != 0 || w.entry.cols() != 0;
  if (has_entry && (w.entry.rows() != m || w.entry.cols() != n))
    throw Error("weights.entry: " + text(w.entry.rows()) + " features x " + text(w.entry.cols()) +
                " samples must equal the shape of the values, " + text(m) + " x " + text(n));
  for (Index j = 0; j < static_cast<Index>(w.sample.size()); ++j)
    check_weight(w.sample[at(j)], "sample", "sample " + text(j));
  for (Index i = 0; i < static_cast<Index>(w.feature.size()); ++i)
    check_weight(w.feature[at(i)], "feature", "feature " + text(i));
  const Index j =
      first_where(w.entry.cols(), control, [&](Index column) { return !all_weights(w.entry.col(column), m); });
  for (Index i = 0; i < m && j >= 0; ++i) check_weight(w.entry(i, j), "entry", place(i, j));
}

struct Moments {
  double mean = 0, deviation = 0;  // population standard deviation
};

/// sqrt(sum x^2) of the first `count`, with the largest divided out: squares of large and of tiny numbers stay in
/// range.
double norm(const std::vector<double>& x, Index count) {
  double largest = 0, sum = 0;
  for (Index l = 0; l < count; ++l) largest = std::max(largest, std::abs(x[at(l)]));
  if (!(largest > 0)) return 0;
  for (Index l = 0; l < count; ++l) sum += (x[at(l)] / largest) * (x[at(l)] / largest);
  return largest * std::sqrt(sum);
}

/// mean = x_0 + sum (x - x_0) / count, which is exact where all are equal: the deviation is then 0. Overwrites x.
Moments moments(std::vector<double>& x, Index count) {
  if (count == 0) return {};
  const double origin = x[0], size = static_cast<double>(count);
  double sum = 0;
  for (Index l = 0; l < count; ++l) sum += (x[at(l)] - origin) / size;
  const double mean = origin + sum;
  for (Index l = 0; l < count; ++l) x[at(l)] -= mean;
  return {mean, norm(x, count) / std::sqrt(size)};
}

template <class T>
T in_range(double value, const char* what, Index index) {
  const T out = static_cast<T>(value);
  if (!std::isfinite(out))
    throw Error(std::string("values: ") + what + " " + text(index) + " overflows; divide the values by their range");
  return out;
}

std::string count_note(Index count, const char* unit, Index first, const char* what_one, const char* what_many) {
  if (count == 1) return "1 " + std::string(unit) + " " + what_one + " (" + unit + " " + text(first) + ").";
  return text(count) + " " + unit + "s " + what_many + " (the first is " + unit + " " + text(first) + ").";
}

std::string missing_note(Index missing, Index size) {
  char buffer[32];
  const double percent = 100 * static_cast<double>(missing) / static_cast<double>(size);
  char* end = std::to_chars(buffer, buffer + sizeof buffer, percent, std::chars_format::general, 3).ptr;
  return std::string(buffer, end) + "% of entries are missing (" + text(missing) + " of " + text(size) +
         ": NaN or weight 0) and do not count.";
}

/// Of one sample, which entries count: not NaN, weight > 0. Returns how many.
template <class T>
Index find_observed(const Problem<T>& p, Index j, std::vector<char>& here) {
  const Index m = p.values.rows;
  const T* x = p.values.col(j);
  if (parts(p.weights) > 1) {  // a product of small weights may be 0
    for (Index i = 0; i < m; ++i) here[at(i)] = observed(p, i, j) ? 1 : 0;
  } else {
    const bool counts = p.weights.sample.empty() || p.weights.sample[at(j)] > 0;
    for (Index i = 0; i < m; ++i) here[at(i)] = x[i] == x[i] && counts ? 1 : 0;
    if (!p.weights.feature.empty())
      for (Index i = 0; i < m; ++i) here[at(i)] = here[at(i)] != 0 && p.weights.feature[at(i)] > 0 ? 1 : 0;
    if (!p.weights.entry.empty())
      for (Index i = 0; i < m; ++i) here[at(i)] = here[at(i)] != 0 && p.weights.entry(i, j) > 0 ? 1 : 0;
  }
  Index found = 0;
  for (Index i = 0; i < m; ++i) found += here[at(i)];
  return found;
}

/// x -> x and 1, or 0 and 0 where it is NaN. Returns how many are not.
template <class T>
PACEWISE_WIDE_TEMPLATE Index split_holes(const T* __restrict x, Index m, T* __restrict value, T* __restrict weight) {
  Index found = 0;
  for (Index i = 0; i < m; ++i) {
    const bool here = x[i] == x[i];
    value[i] = here ? x[i] : T(0);
    weight[i] = here ? T(1) : T(0);
    found += here ? 1 : 0;
  }
  return found;
}

/// Whether a NaN has a positive weight that only entry weights can take from it
template <class T>
bool needs_entry_weights(const Problem<T>& p, const Control& control) {
  if (!p.weights.entry.empty()) return false;
  return first_where(p.values.cols, control, [&](Index j) {
           for (Index i = 0; i < p.values.rows; ++i)
             if (std::isnan(p.values(i, j)) && p.weights(i, j) > 0) return true;
           return false;
         }) >= 0;
}

/// Features of which no sample has an observed entry: how many, and the first
template <class T>
std::pair<Index, Index> never_observed(const Problem<T>& p, const Control& control) {
  const Index m = p.values.rows, n = p.values.cols;
  std::vector<std::vector<char>> seen(at(block_count(n)));
  parallel_blocks(block_count(n), control.to_the_end(), [&](Index block, int) {
    std::vector<char>& mine = seen[at(block)];
    mine.assign(at(m), char{0});
    Index missing = m;
    for (Index j = block * kBlock; j < block * kBlock + block_length(n, block) && missing > 0; ++j)
      for (Index i = 0; i < m; ++i)
        if (mine[at(i)] == 0 && observed(p, i, j)) {
          mine[at(i)] = 1;
          --missing;
        }
  });
  Index count = 0, first = -1;
  for (Index i = 0; i < m; ++i) {
    if (std::any_of(seen.begin(), seen.end(), [i](const auto& block) { return block[at(i)] != 0; })) continue;
    ++count;
    if (first < 0) first = i;
  }
  return {count, first};
}

/// values = X with 0 where the weight is 0; a NaN of positive weight makes the entry weights.
template <class T>
void move_holes(const Problem<T>& p, bool whole, Data<T>& data, const Control& control) {
  const Index m = p.values.rows, n = p.values.cols;
  const bool make_entry = !whole && needs_entry_weights(p, control), copy_entry = !p.weights.entry.empty();
  data.weights.sample = p.weights.sample;
  data.weights.feature = p.weights.feature;
  data.values.resize_for_overwrite(m, n);
  if (make_entry || copy_entry) data.weights.entry.resize_for_overwrite(m, n);
  std::vector<Index> count(at(n));  // observed entries of every sample
  std::vector<std::vector<char>> scratch(at(block_count(n)));
  for_each(n, control, [&](Index j) {
    const T* x = p.values.col(j);
    T *out = data.values.col(j), *weight = make_entry || copy_entry ? data.weights.entry.col(j) : nullptr;
    if (parts(p.weights) == 0) {
      if (weight != nullptr) {
        count[at(j)] = split_holes(x, m, out, weight);
      } else {
        std::copy_n(x, m, out);
        count[at(j)] = m;
      }
      return;
    }
    std::vector<char>& here = scratch[at(j / kBlock)];
    here.resize(at(m));
    count[at(j)] = find_observed(p, j, here);
    for (Index i = 0; i < m; ++i) out[i] = here[at(i)] != 0 ? x[i] : T(0);
    for (Index i = 0; i < m && weight != nullptr; ++i) {
      const T given = copy_entry ? p.weights.entry(i, j) : T(1);
      weight[i] = x[i] == x[i] ? given : T(0);
    }
  });
  Index empty_samples = 0, first_sample = -1;
  bool all_seen = false;
  for (Index j = 0; j < n; ++j) {
    data.missing += m - count[at(j)];
    all_seen = all_seen || count[at(j)] == m;
    if (count[at(j)] > 0) continue;
    ++empty_samples;
    if (first_sample < 0) first_sample = j;
  }
  if (data.missing > 0) data.notes.push_back(missing_note(data.missing, data.values.size()));
  if (empty_samples > 0)
    data.notes.push_back(
        count_note(empty_samples, "sample", first_sample, "has no observed entry", "have no observed entry"));
  if (all_seen) return;
  const auto [empty_features, first_feature] = never_observed(p, control);
  if (empty_features > 0)
    data.notes.push_back(
        count_note(empty_features, "feature", first_feature, "has no observed entry", "have no observed entry"));
}

/// x_j -> x_j / |x_j|; holes are 0 by now and add nothing to the norm.
template <class T>
void to_unit_norm(Data<T>& data, const Control& control) {
  const Index m = data.values.rows(), n = data.values.cols();
  std::vector<std::vector<double>> scratch(at(block_count(n)));
  Vector<double> norms(at(n));
  for_each(n, control, [&](Index j) {
    std::vector<double>& x = scratch[at(j / kBlock)];
    x.assign(data.values.col(j), data.values.col(j) + m);
    norms[at(j)] = norm(x, m);
  });
  data.sample_scale.assign(at(n), T(1));
  for (Index j = 0; j < n; ++j)
    if (const T scale = in_range<T>(norms[at(j)], "norm of sample", j); scale > 0) data.sample_scale[at(j)] = scale;
  for_each(n, control, [&](Index j) {
    if (!(static_cast<T>(norms[at(j)]) > 0)) return;
    for (Index i = 0; i < m; ++i) data.values(i, j) /= data.sample_scale[at(j)];
  });
}

template <class T>
void measure_features(Data<T>& data, const Control& control) {
  const Index m = data.values.rows(), n = data.values.cols();
  std::vector<std::vector<double>> scratch(at(block_count(m)));
  std::vector<std::optional<Moments>> found(at(m));
  for_each(m, control, [&](Index i) {
    std::vector<double>& x = scratch[at(i / kBlock)];
    x.resize(at(n));
    Index count = 0;
    for (Index j = 0; j < n; ++j)
      if (data.weights(i, j) > 0) x[at(count++)] = data.values(i, j);
    if (count > 0) found[at(i)] = moments(x, count);
  });
  data.normalization.shift.assign(at(m), T(0));
  data.normalization.scale.assign(at(m), T(1));
  Index constant = 0, first = -1;
  for (Index i = 0; i < m; ++i) {
    if (!found[at(i)]) continue;
    data.normalization.shift[at(i)] = in_range<T>(found[at(i)]->mean, "mean of feature", i);
    const T scale = in_range<T>(found[at(i)]->deviation, "standard deviation of feature", i);
    if (scale > 0) {
      data.normalization.scale[at(i)] = scale;
    } else {
      ++constant;
      if (first < 0) first = i;
    }
  }
  if (constant > 0)
    data.notes.push_back(count_note(constant, "feature", first, "is constant and only shifted to 0",
                                    "are constant and only shifted to 0"));
}

template <class T>
void check_given(const Normalization<T>& given, Index m) {
  if (given.kind != Normalize::standard) return;
  if (given.shift.size() != at(m) || given.scale.size() != at(m))
    throw Error("given: shift and scale of length " + std::to_string(given.shift.size()) + " and " +
                std::to_string(given.scale.size()) + " must equal the number of features, " + text(m));
  for (Index i = 0; i < m; ++i) {
    if (!std::isfinite(given.shift[at(i)]))
      throw Error("given: shift " + text(given.shift[at(i)]) + " at feature " + text(i) + "; must be finite");
    if (!(std::isfinite(given.scale[at(i)]) && given.scale[at(i)] > 0))
      throw Error("given: scale " + text(given.scale[at(i)]) + " at feature " + text(i) +
                  "; must be finite and positive");
  }
}

/// x_ij -> (x_ij - shift_i) / scale_i where observed
template <class T>
void apply_standard(Data<T>& data, const Control& control) {
  const Normalization<T>& by = data.normalization;
  const Index m = data.values.rows();
  const auto standard = [&](Index i, Index j) { return (data.values(i, j) - by.shift[at(i)]) / by.scale[at(i)]; };
  const auto overflows = [&](Index i, Index j) { return data.weights(i, j) > 0 && !std::isfinite(standard(i, j)); };
  const Index bad = first_where(data.values.cols(), control, [&](Index j) {
    for (Index i = 0; i < m; ++i)
      if (overflows(i, j)) return true;
    return false;
  });
  for (Index i = 0; i < m && bad >= 0; ++i)
    if (overflows(i, bad))
      throw Error("values: " + text(data.values(i, bad)) + " at " + place(i, bad) +
                  "; overflows on the scale of the training data");
  for_each(data.values.cols(), control, [&](Index j) {
    for (Index i = 0; i < m; ++i)
      if (data.weights(i, j) > 0) data.values(i, j) = standard(i, j);
  });
}

}  // namespace

template <class T>
bool validate(const Problem<T>& problem, const Control& control) {
  const Index m = problem.values.rows, n = problem.values.cols;
  const bool whole = check_values(problem.values, control);
  check_weights(problem.weights, m, n, control);
  check_product(problem.weights, m, n, control);
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i)
      if (observed(problem, i, j)) return whole;
  throw Error("values: every entry is NaN or has weight 0; at least one must be observed");
}

template <class T>
Data<T> prepare(const Problem<T>& problem, Normalize kind, const Normalization<T>* given, const Control& control) {
  const bool whole = validate(problem, control);
  if (given != nullptr) check_given(*given, problem.values.rows);
  Data<T> data;
  move_holes(problem, whole, data, control);
  if (given != nullptr)
    data.normalization = *given;
  else
    data.normalization.kind = kind;
  switch (data.normalization.kind) {
    case Normalize::none:
      break;
    case Normalize::unit:
      to_unit_norm(data, control);
      break;
    case Normalize::standard:
      if (given == nullptr) measure_features(data, control);
      apply_standard(data, control);
      break;
  }
  return data;
}

template <class T>
Matrix<T> with_holes(const Data<T>& data, const Control& control) {
  Matrix<T> out;
  if (data.missing == 0) return out;
  const Index m = data.values.rows();
  out.resize_for_overwrite(m, data.values.cols());
  for_each(data.values.cols(), control, [&](Index j) {
    for (Index i = 0; i < m; ++i)
      out(i, j) = data.weights(i, j) > 0 ? data.values(i, j) : std::numeric_limits<T>::quiet_NaN();
  });
  return out;
}

#define PACEWISE_INSTANTIATE(T)                                                                       \
  template bool validate<T>(const Problem<T>&, const Control&);                                       \
  template Data<T> prepare<T>(const Problem<T>&, Normalize, const Normalization<T>*, const Control&); \
  template Matrix<T> with_holes<T>(const Data<T>&, const Control&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

#include "pacewise/data/problem.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "pacewise/algebra/simd.hpp"

namespace pacewise {
namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

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
bool check_values(MatrixView<const T> x) {
  if (x.rows < 1) throw Error("values: " + text(x.rows) + " features; there must be at least 1");
  if (x.cols < 1) throw Error("values: " + text(x.cols) + " samples; there must be at least 1");
  if (x.data == nullptr) throw Error("values: null pointer; it must point to the numbers");
  if (x.stride < x.rows)
    throw Error("values: stride " + text(x.stride) + " must be at least the number of features, " + text(x.rows));
  bool whole = true;
  for (Index j = 0; j < x.cols; ++j) {
    if (all_finite(x.col(j), x.rows)) continue;
    whole = false;
    if (!any_infinite(x.col(j), x.rows)) continue;
    for (Index i = 0; i < x.rows; ++i)
      if (std::isinf(x(i, j)))
        throw Error("values: " + text(x(i, j)) + " at " + place(i, j) +
                    "; must be finite, or NaN where the entry is missing");
  }
  return whole;
}

template <class T>
int parts(const Weights<T>& w) {
  return (w.sample.empty() ? 0 : 1) + (w.feature.empty() ? 0 : 1) + (w.entry.empty() ? 0 : 1);
}

/// Each part is finite by now: only a product of several can overflow.
template <class T>
void check_product(const Weights<T>& w, Index m, Index n) {
  if (parts(w) < 2) return;
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i)
      if (!std::isfinite(w(i, j)))
        throw Error("weights: product sample * feature * entry overflows at " + place(i, j) + "; must be finite");
}

template <class T>
void check_weight(T w, const char* name, const std::string& where) {
  if (!(std::isfinite(w) && w >= 0))
    throw Error(std::string("weights.") + name + ": " + text(w) + " at " + where + "; must be finite and at least 0");
}

template <class T>
void check_weights(const Weights<T>& w, Index m, Index n) {
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
  for (Index j = 0; j < w.entry.cols(); ++j) {
    if (all_weights(w.entry.col(j), m)) continue;
    for (Index i = 0; i < m; ++i) check_weight(w.entry(i, j), "entry", place(i, j));
  }
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

/// values = X with 0 where the weight is 0; a NaN of positive weight makes the entry weights.
template <class T>
void move_holes(const Problem<T>& p, Data<T>& data) {
  const Index m = p.values.rows, n = p.values.cols;
  data.weights = p.weights;
  data.values.resize(m, n);
  std::vector<char> here(at(m)), seen(at(m), char{0});
  bool all_seen = false;
  Index empty_samples = 0, first_sample = -1;
  for (Index j = 0; j < n; ++j) {
    const T* x = p.values.col(j);
    T* out = data.values.col(j);
    const bool whole = all_finite(x, m);
    Index found = m;
    if (parts(p.weights) > 0) {
      found = find_observed(p, j, here);
      for (Index i = 0; i < m; ++i) out[i] = here[at(i)] != 0 ? x[i] : T(0);
      for (Index i = 0; i < m && !whole && data.weights.entry.empty(); ++i)
        if (std::isnan(x[i]) && p.weights(i, j) > 0) data.weights.entry = Matrix<T>(m, n, T(1));
      if (!whole && !data.weights.entry.empty())
        for (Index i = 0; i < m; ++i) data.weights.entry(i, j) = x[i] == x[i] ? data.weights.entry(i, j) : T(0);
    } else if (whole) {
      std::copy_n(x, m, out);
    } else {
      if (data.weights.entry.empty()) data.weights.entry = Matrix<T>(m, n, T(1));
      found = split_holes(x, m, out, data.weights.entry.col(j));
    }
    data.missing += m - found;
    all_seen = all_seen || found == m;
    if (!all_seen) {
      for (Index i = 0; i < m; ++i) seen[at(i)] = seen[at(i)] != 0 || observed(p, i, j) ? 1 : 0;
      all_seen = std::find(seen.begin(), seen.end(), char{0}) == seen.end();
    }
    if (found > 0) continue;
    ++empty_samples;
    if (first_sample < 0) first_sample = j;
  }
  if (data.missing > 0) data.notes.push_back(missing_note(data.missing, data.values.size()));
  if (empty_samples > 0)
    data.notes.push_back(
        count_note(empty_samples, "sample", first_sample, "has no observed entry", "have no observed entry"));
  const Index empty_features = all_seen ? 0 : static_cast<Index>(std::count(seen.begin(), seen.end(), char{0}));
  const Index first_feature = static_cast<Index>(std::find(seen.begin(), seen.end(), char{0}) - seen.begin());
  if (empty_features > 0)
    data.notes.push_back(
        count_note(empty_features, "feature", first_feature, "has no observed entry", "have no observed entry"));
}

/// x_j -> x_j / |x_j|; holes are 0 by now and add nothing to the norm.
template <class T>
void to_unit_norm(Data<T>& data) {
  const Index m = data.values.rows(), n = data.values.cols();
  std::vector<double> x(at(m));
  data.sample_scale.assign(at(n), T(1));
  for (Index j = 0; j < n; ++j) {
    std::copy_n(data.values.col(j), m, x.begin());
    const T scale = in_range<T>(norm(x, m), "norm of sample", j);
    if (!(scale > 0)) continue;
    data.sample_scale[at(j)] = scale;
    for (Index i = 0; i < m; ++i) data.values(i, j) /= scale;
  }
}

template <class T>
void measure_features(Data<T>& data) {
  const Index m = data.values.rows(), n = data.values.cols();
  std::vector<double> x(at(n));
  data.normalization.shift.assign(at(m), T(0));
  data.normalization.scale.assign(at(m), T(1));
  Index constant = 0, first = -1;
  for (Index i = 0; i < m; ++i) {
    Index count = 0;
    for (Index j = 0; j < n; ++j)
      if (data.weights(i, j) > 0) x[at(count++)] = data.values(i, j);
    if (count == 0) continue;
    const Moments found = moments(x, count);
    data.normalization.shift[at(i)] = in_range<T>(found.mean, "mean of feature", i);
    const T scale = in_range<T>(found.deviation, "standard deviation of feature", i);
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
void apply_standard(Data<T>& data) {
  const Normalization<T>& by = data.normalization;
  for (Index j = 0; j < data.values.cols(); ++j)
    for (Index i = 0; i < data.values.rows(); ++i) {
      if (!(data.weights(i, j) > 0)) continue;
      const T x = (data.values(i, j) - by.shift[at(i)]) / by.scale[at(i)];
      if (!std::isfinite(x))
        throw Error("values: " + text(data.values(i, j)) + " at " + place(i, j) +
                    "; overflows on the scale of the training data");
      data.values(i, j) = x;
    }
}

}  // namespace

template <class T>
bool validate(const Problem<T>& problem) {
  const Index m = problem.values.rows, n = problem.values.cols;
  const bool whole = check_values(problem.values);
  check_weights(problem.weights, m, n);
  check_product(problem.weights, m, n);
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i)
      if (observed(problem, i, j)) return whole;
  throw Error("values: every entry is NaN or has weight 0; at least one must be observed");
}

template <class T>
Data<T> prepare(const Problem<T>& problem, Normalize kind, const Normalization<T>* given) {
  validate(problem);
  if (given != nullptr) check_given(*given, problem.values.rows);
  Data<T> data;
  move_holes(problem, data);
  if (given != nullptr)
    data.normalization = *given;
  else
    data.normalization.kind = kind;
  switch (data.normalization.kind) {
    case Normalize::none:
      break;
    case Normalize::unit:
      to_unit_norm(data);
      break;
    case Normalize::standard:
      if (given == nullptr) measure_features(data);
      apply_standard(data);
      break;
  }
  return data;
}

template <class T>
Matrix<T> with_holes(const Data<T>& data) {
  if (data.missing == 0) return {};
  Matrix<T> out = data.values;
  for (Index j = 0; j < out.cols(); ++j)
    for (Index i = 0; i < out.rows(); ++i)
      if (!(data.weights(i, j) > 0)) out(i, j) = std::numeric_limits<T>::quiet_NaN();
  return out;
}

template bool validate<float>(const Problem<float>&);
template bool validate<double>(const Problem<double>&);
template Data<float> prepare<float>(const Problem<float>&, Normalize, const Normalization<float>*);
template Data<double> prepare<double>(const Problem<double>&, Normalize, const Normalization<double>*);
template Matrix<float> with_holes<float>(const Data<float>&);
template Matrix<double> with_holes<double>(const Data<double>&);

}  // namespace pacewise

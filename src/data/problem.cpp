#include "data/problem.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace pacewise {
namespace {

/// Calls one(j) for every sample, or feature, on all threads.
template <class One>
void for_each(Index count, const Control& control, const One& one) {
  parallel_for(count, control.to_the_end(), [&](Index first, Index some, int) {
    for (Index j = first; j < first + some; ++j) one(j);
  });
}

/// The first j of which it is true, or -1: the same whichever thread comes upon one first
template <class Wrong>
Index first_where(Index count, const Control& control, const Wrong& wrong) {
  Vector<Index> found(block_count(count), -1);
  for_each(count, control, [&](Index j) {
    if (Index& first = found[j / kBlock]; first < 0 && wrong(j)) first = j;
  });
  const auto hit = std::find_if(found.begin(), found.end(), [](Index j) { return j >= 0; });
  return hit == found.end() ? -1 : *hit;
}

/// Of the entries of which it is true, fails with message(i, j) of the first: by sample, then by feature
template <class Wrong, class Message>
void refuse_where(Index m, Index n, const Control& control, const Wrong& wrong, const Message& message) {
  const auto feature = [&](Index j) {
    Index i = 0;
    while (i < m && !wrong(i, j)) ++i;
    return i;
  };
  const Index j = first_where(n, control, [&](Index column) { return feature(column) < m; });
  if (j >= 0) throw Error(message(feature(j), j));
}

template <class Number>
std::string text(Number value) {
  char buffer[32];
  return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

std::string place(Index i, Index j) { return "sample " + text(j) + ", feature " + text(i); }

/// A value that means missing; NaN is equal to none
template <class T>
T mark_of(std::optional<double> missing) {
  return missing ? static_cast<T>(*missing) : std::numeric_limits<T>::quiet_NaN();
}

/// True where none is missing
template <class T>
bool check_values(MatrixView<const T> x, T mark, const Control& control) {
  if (x.rows < 1) throw Error("values: " + text(x.rows) + " features; there must be at least 1");
  if (x.cols < 1) throw Error("values: " + text(x.cols) + " samples; there must be at least 1");
  if (x.data == nullptr) throw Error("values: null pointer; it must point to the numbers");
  if (x.stride < x.rows)
    throw Error("values: stride " + text(x.stride) + " must be at least the number of features, " + text(x.rows));
  const auto some_missing = [&](Index j) {
    return !all_finite(x.col(j), x.rows) ||
           (!std::isnan(mark) && std::find(x.col(j), x.col(j) + x.rows, mark) != x.col(j) + x.rows);
  };
  if (first_where(x.cols, control, some_missing) < 0) return true;
  refuse_where(
      x.rows, x.cols, control, [&](Index i, Index j) { return std::isinf(x(i, j)); },
      [&](Index i, Index j) {
        return "values: " + text(x(i, j)) + " at " + place(i, j) +
               "; must be finite, or NaN where the entry is missing";
      });
  return false;
}

/// sqrt(sum x^2), with the largest divided out: squares of large and of tiny numbers stay in range
template <class T>
double norm(const T* x, Index count) {
  double largest = 0, sum = 0;
  for (Index l = 0; l < count; ++l) largest = std::max(largest, std::abs(static_cast<double>(x[l])));
  if (!(largest > 0)) return 0;
  for (Index l = 0; l < count; ++l)
    sum += (static_cast<double>(x[l]) / largest) * (static_cast<double>(x[l]) / largest);
  return largest * std::sqrt(sum);
}

struct Moments {
  double mean = 0, deviation = 0;  // population standard deviation
};

/// mean = x_0 + sum (x - x_0) / count, which is exact where all are equal: the deviation is then 0. Overwrites x.
Moments moments(Vector<double>& x) {
  const double origin = x[0], size = static_cast<double>(x.size());
  double sum = 0;
  for (const double value : x) sum += (value - origin) / size;
  const double mean = origin + sum;
  for (double& value : x) value -= mean;
  return {mean, norm(x.data(), static_cast<Index>(x.size())) / std::sqrt(size)};
}

template <class T>
T in_range(double value, const char* what, Index index) {
  const T out = static_cast<T>(value);
  if (!std::isfinite(out))
    throw Error(std::string("values: ") + what + " " + text(index) + " overflows; divide the values by their range");
  return out;
}

/// "3 samples have no observed entry (the first is sample 5)." for those marked; nothing where none is
void note_marked(const Vector<char>& marked, const std::string& unit, const char* what_one, const char* what_many,
                 std::vector<std::string>& notes) {
  const Index count = std::count(marked.begin(), marked.end(), char{1});
  const std::string first = unit + " " + text(std::find(marked.begin(), marked.end(), char{1}) - marked.begin());
  if (count == 1) notes.push_back("1 " + unit + " " + what_one + " (" + first + ").");
  if (count > 1) notes.push_back(text(count) + " " + unit + "s " + what_many + " (the first is " + first + ").");
}

std::string missing_note(Index missing, Index size) {
  char buffer[32];
  const double percent = 100 * static_cast<double>(missing) / static_cast<double>(size);
  char* end = std::to_chars(buffer, buffer + sizeof buffer, percent, std::chars_format::general, 3).ptr;
  return std::string(buffer, end) + "% of entries are missing (" + text(missing) + " of " + text(size) +
         ": NaN or weight 0) and do not count.";
}

/// values = X with 0 where the weight is 0; a NaN of positive weight makes the entry weights.
template <class T>
void separate_missing(const Problem<T>& p, bool complete, T mark, Data<T>& data, const Control& control) {
  const auto absent = [&](Index i, Index j) { return std::isnan(p.values(i, j)) || p.values(i, j) == mark; };
  const Index m = p.values.rows, n = p.values.cols;
  const bool given = !p.weights.entry.empty();
  const bool make_entry = !complete && !given && first_where(n, control, [&](Index j) {
                                                   for (Index i = 0; i < m; ++i)
                                                     if (absent(i, j) && p.weights(i, j) > 0) return true;
                                                   return false;
                                                 }) >= 0;
  const bool unweighted = p.weights.sample.empty() && p.weights.feature.empty() && !given;
  data.weights.sample = p.weights.sample;
  data.weights.feature = p.weights.feature;
  data.values.resize_for_overwrite(m, n);
  if (make_entry || given) data.weights.entry.resize_for_overwrite(m, n);
  Vector<Index> missing(n, 0);
  for_each(n, control, [&](Index j) {
    const T* x = p.values.col(j);
    T* out = data.values.col(j);
    T* entry = make_entry || given ? data.weights.entry.col(j) : nullptr;
    if (complete && unweighted) {
      std::copy_n(x, m, out);
      return;
    }
    Index lost = 0;
    for (Index i = 0; i < m; ++i) {
      const bool there = !absent(i, j), counts = there && (unweighted || p.weights(i, j) > 0);
      out[i] = counts ? x[i] : T(0);
      lost += counts ? 0 : 1;
      if (entry != nullptr) entry[i] = !there ? T(0) : given ? p.weights.entry(i, j) : T(1);
    }
    missing[j] = lost;
  });
  Vector<char> empty(n, 0);
  for (Index j = 0; j < n; ++j) {
    data.missing += missing[j];
    empty[j] = missing[j] == m ? 1 : 0;
  }
  if (data.missing == 0) return;
  data.notes.push_back(missing_note(data.missing, m * n));
  note_marked(empty, "sample", "has no observed entry", "have no observed entry", data.notes);
  empty.assign(m, char{0});
  for_each(m, control, [&](Index i) {
    Index j = 0;
    while (j < n && !(data.weights(i, j) > 0)) ++j;
    empty[i] = j == n ? 1 : 0;
  });
  note_marked(empty, "feature", "has no observed entry", "have no observed entry", data.notes);
}

/// x_j -> x_j / |x_j|; missing entries are 0 by now and add nothing to the norm.
template <class T>
void to_unit_norm(Data<T>& data, const Control& control) {
  const Index m = data.values.rows(), n = data.values.cols();
  Vector<double> norms(n);
  for_each(n, control, [&](Index j) {
    Vector<T> kept(data.values.col(j), data.values.col(j) + m);
    for (Index i = 0; i < m && data.bounded(); ++i)
      if (data.gross(i, j)) kept[i] = 0;
    norms[j] = norm(kept.data(), m);
  });
  data.sample_scale.assign(n, T(1));
  for (Index j = 0; j < n; ++j)
    if (const T scale = in_range<T>(norms[j], "norm of sample", j); scale > 0) data.sample_scale[j] = scale;
  for_each(n, control, [&](Index j) {
    if (!(static_cast<T>(norms[j]) > 0)) return;
    for (Index i = 0; i < m; ++i) data.values(i, j) /= data.sample_scale[j];
  });
}

template <class T>
void measure_features(Data<T>& data, const Control& control) {
  const Index m = data.values.rows(), n = data.values.cols();
  Vector<Moments> found(m);
  Vector<char> seen(m, 0), constant(m, 0);
  Vector<Vector<double>> scratch(block_count(m));
  for_each(m, control, [&](Index i) {
    Vector<double>& x = scratch[i / kBlock];
    x.clear();
    for (Index j = 0; j < n; ++j)
      if (data.weights(i, j) > 0) x.push_back(static_cast<double>(data.values(i, j)));
    seen[i] = x.empty() ? 0 : 1;
    if (x.empty()) return;
    if (data.normalization.kind == Normalize::standard) {
      found[i] = moments(x);
    } else {
      const RobustMoments robust = robust_moments(std::move(x));
      found[i] = {robust.median, robust.deviation};
    }
  });
  data.normalization.shift.assign(m, T(0));
  data.normalization.scale.assign(m, T(1));
  for (Index i = 0; i < m; ++i) {
    if (seen[i] == 0) continue;
    data.normalization.shift[i] = in_range<T>(found[i].mean, "mean of feature", i);
    const T scale = in_range<T>(found[i].deviation, "standard deviation of feature", i);
    constant[i] = scale > 0 ? 0 : 1;
    if (scale > 0) data.normalization.scale[i] = scale;
  }
  note_marked(constant, "feature", "is constant and only shifted to 0", "are constant and only shifted to 0",
              data.notes);
}

/// x_ij -> (x_ij - shift_i) / scale_i where observed
template <class T>
void apply_standard(Data<T>& data, const Control& control) {
  const Normalization<T>& by = data.normalization;
  const Index m = data.values.rows(), n = data.values.cols();
  const auto standard = [&](Index i, Index j) { return (data.values(i, j) - by.shift[i]) / by.scale[i]; };
  refuse_where(
      m, n, control, [&](Index i, Index j) { return !std::isfinite(standard(i, j)) && data.weights(i, j) > 0; },
      [&](Index i, Index j) {
        return "values: " + text(data.values(i, j)) + " at " + place(i, j) +
               "; overflows on the scale of the training data";
      });
  for_each(n, control, [&](Index j) {
    for (Index i = 0; i < m; ++i)
      if (data.weights(i, j) > 0) data.values(i, j) = standard(i, j);
  });
}

}  // namespace

template <class T>
void check_weights(const Weights<T>& w, Index m, Index n, const Control& control) {
  const auto check_part = [](const char* name, const Vector<T>& part, const std::string& unit, Index expected) {
    if (!part.empty() && static_cast<Index>(part.size()) != expected)
      throw Error(std::string("weights.") + name + ": length " + std::to_string(part.size()) +
                  " must equal the number of " + unit + "s, " + text(expected));
    for (Index p = 0; p < static_cast<Index>(part.size()); ++p)
      if (!(std::isfinite(part[p]) && part[p] >= 0))
        throw Error(std::string("weights.") + name + ": " + text(part[p]) + " at " + unit + " " + text(p) +
                    "; must be finite and at least 0");
  };
  check_part("sample", w.sample, "sample", n);
  check_part("feature", w.feature, "feature", m);
  const bool has_entry = w.entry.rows() != 0 || w.entry.cols() != 0;
  if (has_entry && (w.entry.rows() != m || w.entry.cols() != n))
    throw Error("weights.entry: " + text(w.entry.rows()) + " features x " + text(w.entry.cols()) +
                " samples must equal the shape of the values, " + text(m) + " x " + text(n));
  if (has_entry)
    refuse_where(
        m, n, control, [&](Index i, Index j) { return !(std::isfinite(w.entry(i, j)) && w.entry(i, j) >= 0); },
        [&](Index i, Index j) {
          return "weights.entry: " + text(w.entry(i, j)) + " at " + place(i, j) + "; must be finite and at least 0";
        });
  // each part is finite by now: only a product of several can overflow
  if ((w.sample.empty() ? 0 : 1) + (w.feature.empty() ? 0 : 1) + (has_entry ? 1 : 0) < 2) return;
  refuse_where(
      m, n, control, [&](Index i, Index j) { return !std::isfinite(w(i, j)); },
      [&](Index i, Index j) {
        return "weights: product sample * feature * entry overflows at " + place(i, j) + "; must be finite";
      });
}

namespace {

template <class T>
bool check(const Problem<T>& problem, T mark, const Control& control) {
  const bool complete = check_values(problem.values, mark, control);
  check_weights(problem.weights, problem.values.rows, problem.values.cols, control);
  return complete;
}

}  // namespace

template <class T>
bool validate(const Problem<T>& problem, const Control& control, std::optional<double> missing) {
  const T mark = mark_of<T>(missing);
  const bool complete = check(problem, mark, control);
  for (Index j = 0; j < problem.values.cols; ++j)
    for (Index i = 0; i < problem.values.rows; ++i)
      if (const T x = problem.values(i, j); !std::isnan(x) && x != mark && problem.weights(i, j) > 0) return complete;
  throw Error("values: every entry is NaN or has weight 0; at least one must be observed");
}

template <class T>
Data<T> prepare(const Problem<T>& problem, Normalize kind, const Normalization<T>* given, const Control& control,
                bool find_bounds, std::optional<double> missing) {
  const T mark = mark_of<T>(missing);
  // new samples may have no observed entry
  const bool complete = given != nullptr ? check(problem, mark, control) : validate(problem, control, missing);
  Data<T> data;
  separate_missing(problem, complete, mark, data, control);
  if (given != nullptr)
    data.normalization = *given;
  else
    data.normalization.kind = kind;
  if (data.normalization.kind == Normalize::standard || data.normalization.kind == Normalize::robust) {
    if (given == nullptr) measure_features(data, control);
    apply_standard(data, control);
  }
  if (find_bounds && given == nullptr) {
    const RobustMoments all = robust_moments(data);
    data.normalization.center = all.median;
    if (all.cutoff > 0) data.normalization.cutoff = all.cutoff;
  }
  const Vector<T> offset = std::exchange(data.normalization.offset, {});
  if (data.normalization.kind == Normalize::unit) to_unit_norm(data, control);
  if (!offset.empty()) subtract(offset, data.weights, data, control);
  return data;
}

RobustMoments robust_moments(Vector<double> x) {
  RobustMoments out;
  if (x.empty()) return out;
  const auto quantile = [](Vector<double>& v, double share) {
    const auto at = v.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(v.size()));
    std::nth_element(v.begin(), at, v.end());
    return *at;
  };
  out.median = quantile(x, 0.5);
  Vector<double> distance;
  for (const double v : x)
    if (v != out.median) distance.push_back(std::abs(v - out.median));
  if (distance.empty()) return out;
  out.scale = 1.4826 * quantile(distance, 0.5);  // both are the standard deviation of normal numbers
  out.cutoff = 10 * std::max(out.scale, quantile(distance, 0.9) / 1.645);
  x.erase(std::remove_if(x.begin(), x.end(), [&](double v) { return std::abs(v - out.median) > out.cutoff; }), x.end());
  out.deviation = moments(x).deviation;
  return out;
}

template <class T>
void subtract(const Vector<T>& offset, const Weights<T>& weights, Data<T>& data, const Control& control) {
  const Index m = data.values.rows();
  for_each(data.values.cols(), control, [&](Index j) {
    for (Index i = 0; i < m; ++i)
      if (weights(i, j) > T(0)) data.values(i, j) -= offset[i];
  });
  Vector<T>& sum = data.normalization.offset;
  if (sum.empty()) sum.assign(m, T(0));
  for (Index i = 0; i < m; ++i) sum[i] += offset[i];
}

template <class T>
RobustMoments robust_moments(const Data<T>& data) {
  constexpr Index kMost = 1000000;
  const Index m = data.values.rows(), entries = m * data.values.cols(), stride = 1 + entries / kMost;
  Vector<double> x;
  for (Index u = 0; u < entries; u += stride)
    if (data.weights(u % m, u / m) > T(0)) x.push_back(static_cast<double>(data.values.data()[u]));
  return robust_moments(std::move(x));
}

#define PACEWISE_INSTANTIATE(T)                                                                            \
  template void check_weights<T>(const Weights<T>&, Index, Index, const Control&);                         \
  template bool validate<T>(const Problem<T>&, const Control&, std::optional<double>);                     \
  template Data<T> prepare<T>(const Problem<T>&, Normalize, const Normalization<T>*, const Control&, bool, \
                              std::optional<double>);                                                      \
  template void subtract(const Vector<T>&, const Weights<T>&, Data<T>&, const Control&);                   \
  template RobustMoments robust_moments(const Data<T>&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

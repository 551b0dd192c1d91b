#include "solve/active_set.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "algebra/simd.hpp"

namespace pacewise {
namespace {

constexpr Index kWidth = 8;

double total(const double* lane) {
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

// Eight right sides side by side, a vector of the language's own so that no compiler turns the loops inside out.
using Lanes = double __attribute__((vector_size(kWidth * sizeof(double))));

// X <- L^-1 X, p x kWidth; two columns of L at a time halve the traffic of X
PACEWISE_WIDE_VECTORS
void forward(const double* L, Index stride, Index p, double* rows) {
  auto* X = reinterpret_cast<Lanes*>(rows);
  Index j = 0;
  for (; j + 2 <= p; j += 2) {
    const double *l = L + j * stride, *m = l + stride;
    const Lanes v = X[j] * l[j], w = (X[j + 1] - v * l[j + 1]) * m[j + 1];
    X[j] = v;
    X[j + 1] = w;
    for (Index i = j + 2; i < p; ++i) X[i] -= v * l[i] + w * m[i];
  }
  if (j < p) X[j] *= L[j * stride + j];
}

// gram -= X'X, rhs_z -= X'z, rhs_y -= X'y
PACEWISE_WIDE_VECTORS
void reduce(const double* rows, Index p, const double* z, const double* y, double (&gram)[kWidth][kWidth],
            double* rhs_z, double* rhs_y) {
  const auto* X = reinterpret_cast<const Lanes*>(rows);
  Lanes sum[kWidth] = {}, sum_z = {}, sum_y = {};
  for (Index a = 0; a < p; ++a) {
    const Lanes x = X[a];
    for (Index t = 0; t < kWidth; ++t) sum[t] += x * rows[a * kWidth + t];
    sum_z += x * z[a];
    sum_y += x * y[a];
  }
  for (Index t = 0; t < kWidth; ++t) {
    for (Index s = 0; s < kWidth; ++s) gram[s][t] -= sum[t][s];
    rhs_z[t] -= sum_z[t];
    rhs_y[t] -= sum_y[t];
  }
}

// v <- L^-T v, w <- L^-T w
PACEWISE_WIDE_VECTORS
void backward(const double* L, Index stride, Index p, double* v, double* w) {
  for (Index j = p - 1; j >= 0; --j) {
    const double* l = L + j * stride;
    double a[kWidth] = {}, b[kWidth] = {};
    Index i = j + 1;
    for (; i + kWidth <= p; i += kWidth)
      for (Index t = 0; t < kWidth; ++t) {
        a[t] += l[i + t] * v[i + t];
        b[t] += l[i + t] * w[i + t];
      }
    double x = v[j] - total(a), y = w[j] - total(b);
    for (; i < p; ++i) {
      x -= l[i] * v[i];
      y -= l[i] * w[i];
    }
    v[j] = x * l[j];
    w[j] = y * l[j];
  }
}

// u = A_:P v, o = A_:P w
PACEWISE_WIDE_VECTORS
void images(MatrixView<const double> A, const std::int32_t* set, Index p, const double* v, const double* w, double* u,
            double* o) {
  const Index r = A.rows;
  std::fill_n(u, r, 0.0);
  std::fill_n(o, r, 0.0);
  Index a = 0;
  for (; a + 2 <= p; a += 2) {
    const double *first = A.col(set[a]), *second = A.col(set[a + 1]);
    const double v0 = v[a], v1 = v[a + 1], w0 = w[a], w1 = w[a + 1];
    for (Index i = 0; i < r; ++i) {
      u[i] += first[i] * v0 + second[i] * v1;
      o[i] += first[i] * w0 + second[i] * w1;
    }
  }
  if (a == p) return;
  const double* last = A.col(set[a]);
  for (Index i = 0; i < r; ++i) {
    u[i] += last[i] * v[a];
    o[i] += last[i] * w[a];
  }
}

// The largest penalty below `now` at which |c - A s(b)|_k = b/2, for every atom:
//   c - zu + b/2 yu = +-b/2   at   b = 2 (c - zu) / (1 - yu)   and   b = -2 (c - zu) / (1 + yu);
// `now` for those that violate it already, 0 for those that never join.
PACEWISE_WIDE_VECTORS
void joining_penalties(Index r, const double* c, const double* zu, const double* yu, double now, double* out) {
  for (Index k = 0; k < r; ++k) {
    const double g = c[k] - zu[k];
    const double up = 2 * g / (1 - yu[k]), down = -2 * g / (1 + yu[k]);
    double joins = up > 0 && up < now ? up : 0;
    joins = down > joins && down < now ? down : joins;
    const double excess = std::abs(g + now / 2 * yu[k]) - now / 2;
    out[k] = excess > 1e-12 * now ? now : joins;
  }
}

// 2 |c - A s(now)|: what the penalty must not be below
PACEWISE_WIDE_VECTORS
void slopes(Index r, const double* c, const double* zu, const double* yu, double now, double* out) {
  for (Index k = 0; k < r; ++k) out[k] = 2 * std::abs(c[k] - zu[k] + now / 2 * yu[k]);
}

/// The k largest of x[0 .. n), k <= n, into the front, the smallest of them at k - 1. For a few, by insertion.
void largest_first(double* x, Index n, Index k) {
  if (k > 16) {
    std::nth_element(x, x + (k - 1), x + n, std::greater<>());
    return;
  }
  std::sort(x, x + k, std::greater<>());
  for (Index i = k; i < n; ++i) {
    const double value = x[i];
    if (!(value > x[k - 1])) continue;
    Index at = k - 1;
    for (; at > 0 && x[at - 1] < value; --at) x[at] = x[at - 1];
    x[at] = value;
  }
}

// Deletes row a of L: the rows below move up, and rotations of neighbouring columns make it triangular again. z and y,
// which solve L z = c, turn with the columns.
PACEWISE_WIDE_VECTORS
void remove_row(double* L, Index stride, Index p, Index a, double* z, double* y) {
  for (Index j = 0; j <= a; ++j) {
    double* l = L + j * stride;
    for (Index i = a; i + 1 < p; ++i) l[i] = l[i + 1];
  }
  double* left = L + a * stride;  // the column in hand, rows j .. p-2
  for (Index j = a; j + 1 < p; ++j) {
    double *right = L + (j + 1) * stride, *out = L + j * stride;
    const double x = left[j], w = 1 / right[j + 1], inverse = 1 / std::sqrt(x * x + w * w);
    const double cosine = x * inverse, sine = w * inverse;
    for (Index i = j + 1; i + 1 < p; ++i) {
      const double s = left[i], t = right[i + 1];
      out[i] = cosine * s + sine * t;
      right[i] = cosine * t - sine * s;
    }
    out[j] = inverse;
    const double z0 = z[j], y0 = y[j];
    z[j] = cosine * z0 + sine * z[j + 1];
    z[j + 1] = cosine * z[j + 1] - sine * z0;
    y[j] = cosine * y0 + sine * y[j + 1];
    y[j + 1] = cosine * y[j + 1] - sine * y0;
    left = right;
  }
}

}  // namespace

ActiveSet::ActiveSet(Index largest) : stride_((largest + kLanes - 1) / kLanes * kLanes + kLanes) {
  static_assert(kLanes == kWidth);
  const auto size = static_cast<std::size_t>(stride_);
  factor_.assign(size * size, 0.0);
  rows_.assign(size * kLanes, 0.0);
  for (auto* v : {&z_, &y_, &zs_, &ys_, &zu_, &yu_, &sign_, &joins_, &order_}) v->assign(size, 0.0);
  set_.resize(size);
  candidates_.resize(size);
  joining_.reserve(size);
  made_.resize(size);
  fresh_.reserve(size);
}

bool ActiveSet::solve(MatrixView<const double> A, const double* c, double beta, double tol, double* s,
                      const Columns& columns) {
  A_ = A;
  r_ = A.rows;
  c_ = c;
  beta_ = beta;
  tol_ = tol;
  stuck_ = 0;
  room_ = kRoom;
  columns_ = columns ? &columns : nullptr;
  if (columns_ != nullptr) std::fill(made_.begin(), made_.end(), char{0});
  if (!start(s)) return false;
  const Index strides = 4 * r_ + 50;
  for (Index stride = 0; stride < strides; ++stride) {
    if (!find_joining()) {  // optimal
      for (Index k = 0; k < r_; ++k) s[k] = 0;
      for (Index a = 0; a < p_; ++a)
        s[set_[static_cast<std::size_t>(a)]] =
            zs_[static_cast<std::size_t>(a)] - b_ / 2 * ys_[static_cast<std::size_t>(a)];
      return true;
    }
    if (!admit()) return false;
  }
  return false;
}

/// The support of s at beta, or nothing at the penalty where the first atom joins
bool ActiveSet::start(const double* s) {
  p_ = 0;
  std::fill(zu_.begin(), zu_.end(), 0.0);
  std::fill(yu_.begin(), yu_.end(), 0.0);
  joining_.clear();
  double top = 0;
  for (Index k = 0; k < r_; ++k) {
    top = std::max(top, 2 * std::abs(c_[k]));
    if (s[k] != 0) joining_.push_back({static_cast<std::int32_t>(k), s[k] > 0 ? 1.0 : -1.0});
  }
  b_ = beta_;
  if (joining_.empty()) {
    b_ = std::max(beta_, top * (1 + 1e-7));
    return true;
  }
  return admit();
}

/// Lets joining_ in, and out again those that turn out to have the wrong sign
bool ActiveSet::admit() {
  if (columns_ != nullptr) make_columns();
  for (std::size_t at = 0; at < joining_.size(); at += kLanes)
    if (!add(joining_.data() + at, static_cast<Index>(std::min<std::size_t>(kLanes, joining_.size() - at))))
      return false;
  const Index before = p_;
  do solve_on_set();
  while (drop_wrong_signs());
  // where those let in throw out as many, fewer at a time
  const Index out = before - p_, in = static_cast<Index>(joining_.size());
  room_ = 2 * out > in ? std::max<Index>(1, room_ / 2) : std::min<Index>(kRoom, 2 * room_);
  images(A_, set_.data(), p_, zs_.data(), ys_.data(), zu_.data(), yu_.data());
  return true;
}

void ActiveSet::make_columns() {
  fresh_.clear();
  for (const Entry& entry : joining_) {
    char& made = made_[static_cast<std::size_t>(entry.atom)];
    if (made == 0) fresh_.push_back(entry.atom);
    made = 1;
  }
  (*columns_)(fresh_.data(), static_cast<Index>(fresh_.size()));
}

/// Lowers the penalty past the next few atoms that join and leaves them in joining_; false when there is nothing to do.
bool ActiveSet::find_joining() {
  // Several atoms let in at once may throw each other out again; where the penalty no longer falls for that, those that
  // violate it are let in one by one, the worst first.
  const bool stuck = stuck_ > 2;
  const bool on_path = b_ > beta_ && !stuck;
  const double before = b_;
  if (on_path) {
    joining_penalties(r_, c_, zu_.data(), yu_.data(), b_, joins_.data());
  } else {
    slopes(r_, c_, zu_.data(), yu_.data(), b_, joins_.data());
  }
  // members are those that have joined; of the others the largest, as many as there is room for
  const double above = on_path ? beta_ : b_ + (b_ > beta_ ? 1e-12 * b_ : tol_);
  Index found = 0;
  for (Index a = 0; a < p_; ++a) joins_[static_cast<std::size_t>(set_[static_cast<std::size_t>(a)])] = 0;
  for (Index k = 0; k < r_; ++k) {
    const double joins = joins_[static_cast<std::size_t>(k)];
    order_[static_cast<std::size_t>(found)] = joins;
    candidates_[static_cast<std::size_t>(found)] = static_cast<std::int32_t>(k);
    found += joins > above ? 1 : 0;
  }
  if (found == 0 && !on_path) {
    stuck_ = 0;
    return b_ > beta_ && find_joining();  // back on the path
  }
  const Index room = stuck ? 1 : std::max<Index>(room_, room_ * p_ / (2 * kRoom));
  double least = above;
  Index equals = 0;  // of those that join at `least` itself, how many there is room for
  if (found > room) {
    largest_first(order_.data(), found, room);
    least = order_[static_cast<std::size_t>(room - 1)];
    equals = room - std::count_if(order_.begin(), order_.begin() + room, [&](double j) { return j > least; });
  }
  if (on_path) b_ = found > room ? std::max(beta_, least) : beta_;
  stuck_ = b_ < before ? 0 : stuck_ + 1;
  joining_.clear();
  for (Index at = 0; at < found; ++at) {
    const Index k = candidates_[static_cast<std::size_t>(at)];
    const double joins = joins_[static_cast<std::size_t>(k)];
    if (joins < least || (joins == least && equals-- <= 0)) continue;
    const double g = c_[k] - zu_[static_cast<std::size_t>(k)] + b_ / 2 * yu_[static_cast<std::size_t>(k)];
    joining_.push_back({static_cast<std::int32_t>(k), g > 0 ? 1.0 : -1.0});
  }
  return true;
}

/// New rows of L: X = (L^-1 A_P,new)', and the factor of A_new,new - X X'
bool ActiveSet::add(const Entry* entries, Index count) {
  double gram[kLanes][kLanes] = {}, rhs_z[kLanes] = {}, rhs_y[kLanes] = {};
  for (Index t = 0; t < count; ++t) {
    const double* column = A_.col(entries[t].atom);
    for (Index a = 0; a < p_; ++a)
      rows_[static_cast<std::size_t>(a * kLanes + t)] = column[set_[static_cast<std::size_t>(a)]];
    for (Index s = 0; s < count; ++s) gram[s][t] = column[entries[s].atom];
    rhs_z[t] = c_[entries[t].atom];
    rhs_y[t] = entries[t].sign;
  }
  for (Index t = count; t < kLanes; ++t)
    for (Index a = 0; a < p_; ++a) rows_[static_cast<std::size_t>(a * kLanes + t)] = 0;
  forward(factor_.data(), stride_, p_, rows_.data());
  reduce(rows_.data(), p_, z_.data(), y_.data(), gram, rhs_z, rhs_y);
  for (Index a = 0; a < p_; ++a) std::copy_n(rows_.data() + a * kLanes, kLanes, factor_.data() + a * stride_ + p_);
  for (Index t = 0; t < count; ++t) {
    const double whole = A_(entries[t].atom, entries[t].atom);
    if (!(gram[t][t] > 1e-10 * whole)) return false;
    const double inverse = 1 / std::sqrt(gram[t][t]);
    double* l = factor_.data() + (p_ + t) * stride_ + p_;
    l[t] = inverse;
    for (Index s = t + 1; s < count; ++s) l[s] = gram[s][t] * inverse;
    const auto at = static_cast<std::size_t>(p_ + t);
    z_[at] = rhs_z[t] * inverse;
    y_[at] = rhs_y[t] * inverse;
    for (Index s = t + 1; s < count; ++s) {
      rhs_z[s] -= l[s] * z_[at];
      rhs_y[s] -= l[s] * y_[at];
      for (Index q = t + 1; q <= s; ++q) gram[s][q] -= l[s] * l[q];
    }
    set_[at] = entries[t].atom;
    sign_[at] = entries[t].sign;
  }
  p_ += count;
  return true;
}

void ActiveSet::solve_on_set() {
  std::copy_n(z_.data(), p_, zs_.data());
  std::copy_n(y_.data(), p_, ys_.data());
  backward(factor_.data(), stride_, p_, zs_.data(), ys_.data());
}

/// An atom that joins just here has the value 0 and stays until its sign is clearly wrong; at beta it must be right.
bool ActiveSet::drop_wrong_signs() {
  constexpr double rounding = 1e-13;
  bool any = false;
  for (Index a = p_ - 1; a >= 0; --a) {
    const auto at = static_cast<std::size_t>(a);
    const double along = (zs_[at] - b_ / 2 * ys_[at]) * sign_[at];
    if (b_ > beta_ ? along >= -rounding * (std::abs(zs_[at]) + b_ * std::abs(ys_[at])) : along > 0) continue;
    remove(a);
    any = true;
  }
  return any;
}

void ActiveSet::remove(Index position) {
  remove_row(factor_.data(), stride_, p_, position, z_.data(), y_.data());
  for (Index a = position; a + 1 < p_; ++a) {
    const auto at = static_cast<std::size_t>(a);
    set_[at] = set_[at + 1];
    sign_[at] = sign_[at + 1];
    zs_[at] = zs_[at + 1];
    ys_[at] = ys_[at + 1];
  }
  --p_;
}

}  // namespace pacewise

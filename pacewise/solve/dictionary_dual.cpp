#include "pacewise/solve/dictionary_dual.hpp"

#include <algorithm>
#include <cmath>

#include "pacewise/algebra/simd.hpp"

namespace pacewise {

template <class T>
struct DictionaryDual<T>::Worker {
  Worker(Index u, bool own_grams)
      : system(u, u), x(u, 1), pairs(own_grams ? kRows : 0, own_grams ? u * (u + 1) / 2 : 0) {}
  Matrix<double> system;  // M_i + delta + Lambda, then its factor, then its inverse
  Matrix<double> x;
  Matrix<double> pairs;  // kRows x u(u+1)/2: entry (k >= l) of the Grams of kRows rows side by side
};

template <class T>
DictionaryDual<T>::DictionaryDual(const DictionaryProblem<T>& problem, const std::vector<double>& curvature,
                                  const Matrix<T>& centre, double delta, const StepOptions& options,
                                  const Control& control)
    : problem_(problem), m_(problem.X.rows), n_(problem.X.cols), u_(0) {
  std::vector<double> inverse(curvature.size(), 0.0);
  std::vector<std::int32_t> place(curvature.size(), -1);
  for (std::size_t k = 0; k < curvature.size(); ++k) {
    if (!(curvature[k] > 0)) continue;
    place[k] = static_cast<std::int32_t>(used_.size());
    used_.push_back(static_cast<Index>(k));
    radius2_.push_back(curvature[k]);
    inverse[k] = 1 / std::sqrt(curvature[k]);
  }
  u_ = static_cast<Index>(used_.size());
  start_.push_back(0);
  for (Index j = 0; j < n_; ++j) {
    for (Index k = 0; k < problem.S.rows; ++k) {
      const auto at = static_cast<std::size_t>(k);
      if (place[at] < 0 || problem.S(k, j) == T(0)) continue;
      atom_.push_back(place[at]);
      code_.push_back(static_cast<double>(problem.S(k, j)) * inverse[at]);
    }
    start_.push_back(atom_.size());
  }
  centre_.resize(u_, m_);
  solution_.resize(u_, m_);
  right_.resize(u_, m_);
  hessian_.resize(u_, u_);
  factor_.resize(u_, u_);
  const auto size = static_cast<std::size_t>(u_);
  lambda_.assign(size, 0.0);
  slope_.assign(size, 0.0);
  direction_.assign(size, 0.0);
  free_.reserve(size);
  recentre(centre, delta);
  if (problem.weights.entry.empty()) {
    make_shared_gram(control);
  } else {
    const double pairs = static_cast<double>(u_ * (u_ + 1)) / 2, rows = static_cast<double>(m_ + kRows);
    const double data = static_cast<double>((m_ + problem.S.rows) * n_) * sizeof(T);
    const double limit =
        options.memory_bytes > 0 ? static_cast<double>(options.memory_bytes) : std::max(2 * data, 256e6);
    keep_grams_ = 8 * pairs * rows <= limit;
    if (keep_grams_) grams_.resize(static_cast<std::size_t>(block_count(m_, kRows)));
  }
  make_right_side(control);
}

template <class T>
double DictionaryDual<T>::sample_weight(Index j) const {
  const auto& sample = problem_.weights.sample;
  return sample.empty() ? 1.0 : static_cast<double>(sample[static_cast<std::size_t>(j)]);
}

// part(:, j) = s_(first + j), scaled as everything here
template <class T>
void DictionaryDual<T>::fill_codes(Index first, Index count, Matrix<double>& part) const {
  part.fill(0);
  for (Index j = 0; j < count; ++j)
    for (std::size_t at = start_[static_cast<std::size_t>(first + j)];
         at < start_[static_cast<std::size_t>(first + j + 1)]; ++at)
      part(atom_[at], j) = code_[at];
}

// M = S diag(omega) S', by a dense product over blocks of samples
template <class T>
void DictionaryDual<T>::make_shared_gram(const Control&) {
  gram_.resize(u_, u_);
  gram_.fill(0);
  Matrix<double> part(u_, std::min(n_, Index{256}));
  for (Index first = 0; first < n_; first += part.cols()) {
    const Index b = std::min(part.cols(), n_ - first);
    fill_codes(first, b, part);
    for (Index j = 0; j < b; ++j) {
      const double root = std::sqrt(sample_weight(first + j));
      for (Index k = 0; k < u_; ++k) part(k, j) *= root;
    }
    gram<double>(Op::plain, 1, part.view().columns(0, b), 1, gram_.view());
  }
}

// q_i = sum_j w_ij v_ij x_ij s_j. Without entry weights a dense product over blocks of samples, else by the nonzeros.
template <class T>
void DictionaryDual<T>::make_right_side(const Control& control) {
  if (problem_.weights.entry.empty()) {
    make_right_side_by_products(control);
    return;
  }
  parallel_blocks(block_count(m_, kRows), control, [&](Index block, int) {
    const Index first = block * kRows, count = block_length(m_, block, kRows);
    for (Index i = first; i < first + count; ++i) std::fill_n(right_.col(i), u_, 0.0);
    for (Index j = 0; j < n_; ++j) {
      const std::size_t begin = start_[static_cast<std::size_t>(j)], end = start_[static_cast<std::size_t>(j + 1)];
      if (begin == end) continue;
      for (Index i = first; i < first + count; ++i) {
        const double wx = static_cast<double>(problem_.weights(i, j)) * static_cast<double>(problem_.X(i, j));
        if (wx == 0) continue;
        double* q = right_.col(i);
        for (std::size_t at = begin; at < end; ++at) q[atom_[at]] += wx * code_[at];
      }
    }
  });
}

template <class T>
void DictionaryDual<T>::make_right_side_by_products(const Control& control) {
  constexpr Index rows = 128, samples = 256;
  const Index blocks = block_count(m_, rows);
  std::vector<Matrix<double>> x(static_cast<std::size_t>(thread_count(control)), Matrix<double>(rows, samples));
  std::vector<double> energy(static_cast<std::size_t>(blocks), 0.0);
  Matrix<double> part(u_, std::min(n_, samples));
  right_.fill(0);
  for (Index first = 0; first < n_ && !control.stop(); first += samples) {
    const Index b = std::min(samples, n_ - first);
    fill_codes(first, b, part);
    parallel_blocks(blocks, control, [&](Index block, int worker) {
      const Index top = block * rows, count = block_length(m_, block, rows);
      const MatrixView<double> wx(x[static_cast<std::size_t>(worker)].data(), count, b);
      double sum = 0;
      for (Index j = 0; j < b; ++j)
        for (Index i = 0; i < count; ++i) {
          const double value = static_cast<double>(problem_.X(top + i, first + j));
          wx(i, j) = static_cast<double>(problem_.weights(top + i, first + j)) * value;
          sum += wx(i, j) * value;
        }
      energy[static_cast<std::size_t>(block)] += sum;
      gemm<double>(Op::plain, Op::transposed, 1, part.view().columns(0, b), wx, 1, right_.view().columns(top, count));
    });
  }
  for (const double e : energy) energy_ += e;
}

// gradient_i = 2 d (phi_i M b_i - q_i),   fit = sum w x^2 + sum_i b_i'(phi_i M b_i - 2 q_i)
template <class T>
typename DictionaryDual<T>::Slope DictionaryDual<T>::slope(const Matrix<T>& B, const Control& control) const {
  constexpr Index rows = 128;
  const Index blocks = block_count(m_, rows);
  Slope out{0, 8 * static_cast<double>(std::numeric_limits<T>::epsilon()) * energy_, Matrix<double>(m_, B.cols())};
  struct Rows {
    Matrix<double> b, image;
  };
  std::vector<Rows> workers(static_cast<std::size_t>(thread_count(control)),
                            Rows{Matrix<double>(u_, rows), Matrix<double>(u_, rows)});
  std::vector<double> fit(static_cast<std::size_t>(blocks), 0.0);
  parallel_blocks(blocks, control, [&](Index block, int worker) {
    Rows& w = workers[static_cast<std::size_t>(worker)];
    const Index first = block * rows, count = block_length(m_, block, rows);
    const auto b = w.b.view().columns(0, count), image = w.image.view().columns(0, count);
    for (Index k = 0; k < u_; ++k) {
      const double d = std::sqrt(radius2_[static_cast<std::size_t>(k)]);
      const T* atom = B.col(used_[static_cast<std::size_t>(k)]) + first;
      for (Index i = 0; i < count; ++i) b(k, i) = d * static_cast<double>(atom[i]);
    }
    gemm<double>(Op::plain, Op::plain, 1, gram_, b, 0, image);
    double sum = 0;
    for (Index i = 0; i < count; ++i) {
      const auto& feature = problem_.weights.feature;
      const double phi = feature.empty() ? 1 : static_cast<double>(feature[static_cast<std::size_t>(first + i)]);
      const double* q = right_.col(first + i);
      for (Index k = 0; k < u_; ++k) {
        sum += b(k, i) * (phi * image(k, i) - 2 * q[k]);
        image(k, i) = phi * image(k, i) - q[k];
      }
    }
    fit[static_cast<std::size_t>(block)] = sum;
    for (Index k = 0; k < u_; ++k) {
      const double d = std::sqrt(radius2_[static_cast<std::size_t>(k)]);
      double* g = out.gradient.col(used_[static_cast<std::size_t>(k)]) + first;
      for (Index i = 0; i < count; ++i) g[i] = 2 * d * image(k, i);
    }
  });
  out.fit = energy_;
  for (const double f : fit) out.fit += f;
  return out;
}

// An estimate of zero is not trusted: with near-singular M the dual is violently curved there. From a larger lambda
// Newton's way back is short, since 1 / |b_k| is nearly linear in lambda.
template <class T>
void DictionaryDual<T>::set_multipliers(const std::vector<double>& multiplier) {
  double top = 0;
  for (Index k = 0; k < u_; ++k) {
    const auto at = static_cast<std::size_t>(k);
    lambda_[at] = multiplier[static_cast<std::size_t>(used_[at])] / radius2_[at];
    top = std::max(top, lambda_[at]);
  }
  for (double& l : lambda_) l = std::max(l, 1e-2 * std::min(top, 1.0));
}

template <class T>
void DictionaryDual<T>::recentre(const Matrix<T>& B, double delta) {
  delta_ = delta;
  for (Index k = 0; k < u_; ++k) {
    const double d = std::sqrt(radius2_[static_cast<std::size_t>(k)]);
    const T* b = B.col(used_[static_cast<std::size_t>(k)]);
    for (Index i = 0; i < m_; ++i) centre_(k, i) = d * static_cast<double>(b[i]);
  }
}

template <class T>
void DictionaryDual<T>::primal(Matrix<T>& B) const {
  for (Index k = 0; k < u_; ++k) {
    const double d = std::sqrt(radius2_[static_cast<std::size_t>(k)]);
    T* b = B.col(used_[static_cast<std::size_t>(k)]);
    for (Index i = 0; i < m_; ++i) b[i] = static_cast<T>(solution_(k, i) / d);
  }
}

template <class T>
void DictionaryDual<T>::pass(Curvature curvature, const Control& control) {
  hessian_is_fresh_ = one_gram() || curvature == Curvature::fresh;
  if (one_gram())
    pass_one_gram(control);
  else
    pass_rows(hessian_is_fresh_, control);
}

// All rows share (M + delta + Lambda)^-1; B = (q + delta b0) times it, Hessian = 2 (B B') o inverse.
template <class T>
void DictionaryDual<T>::pass_one_gram(const Control& control) {
  factor_ = gram_;
  for (Index k = 0; k < u_; ++k) factor_(k, k) += delta_ + lambda_[static_cast<std::size_t>(k)];
  if (!cholesky(factor_)) throw Error("dictionary step: codes are not finite");
  constexpr Index rows = 256;
  const Index blocks = block_count(m_, rows);
  parallel_blocks(blocks, control, [&](Index block, int) {
    const Index first = block * rows, b = block_length(m_, block, rows);
    const auto x = solution_.view().columns(first, b);
    for (Index i = 0; i < b; ++i)
      for (Index k = 0; k < u_; ++k) x(k, i) = right_(k, first + i) + delta_ * centre_(k, first + i);
    cholesky_solve(factor_, x);
  });
  gram<double>(Op::plain, 2, solution_, 0, hessian_.view());
  for (Index k = 0; k < u_; ++k)
    slope_[static_cast<std::size_t>(k)] = hessian_(k, k) / 2 - radius2_[static_cast<std::size_t>(k)];
  cholesky_invert(factor_);
  for (Index l = 0; l < u_; ++l)
    for (Index k = 0; k < u_; ++k) hessian_(k, l) *= factor_(k, l);
}

// pairs(:, kl) += row s_k s_l for the nonzeros of one sample, k >= l; vectorised over the rows of the block
PACEWISE_WIDE_VECTORS
static void add_pairs(const std::int32_t* atom, const double* code, std::size_t count, const double* row,
                      double* pairs) {
  constexpr Index rows = 16;
  for (std::size_t a = 0; a < count; ++a) {  // atoms ascend within a sample: atom[a] >= atom[b]
    const Index k = atom[a];
    double* of_k = pairs + k * (k + 1) / 2 * rows;
    for (std::size_t b = 0; b <= a; ++b) {
      const double product = code[a] * code[b];
      double* sum = of_k + atom[b] * rows;
      for (Index i = 0; i < rows; ++i) sum[i] += product * row[i];
    }
  }
}

// pairs(:, kl) = sum_j (w_ij v_ij)_i s_kj s_lj for the rows i of the block
template <class T>
void DictionaryDual<T>::row_grams(Index first, Index count, Matrix<double>& pairs) const {
  static_assert(kRows == 16);
  pairs.fill(0);
  const auto& weights = problem_.weights;
  double row[kRows] = {};
  for (Index j = 0; j < n_; ++j) {
    const std::size_t begin = start_[static_cast<std::size_t>(j)], end = start_[static_cast<std::size_t>(j + 1)];
    const T* entry = weights.entry.col(j) + first;
    for (Index i = 0; i < count; ++i)
      row[i] =
          sample_weight(j) * static_cast<double>(entry[i]) *
          (weights.feature.empty() ? 1.0 : static_cast<double>(weights.feature[static_cast<std::size_t>(first + i)]));
    add_pairs(atom_.data() + begin, code_.data() + begin, end - begin, row, pairs.data());
  }
}

// b_i into solution_, and where a Hessian is wanted b b' o inverse added to it (lower triangle)
template <class T>
void DictionaryDual<T>::solve_row(Index i, Worker& w, Matrix<double>* hessian) {
  for (Index k = 0; k < u_; ++k) {
    w.system(k, k) += delta_ + lambda_[static_cast<std::size_t>(k)];
    w.x(k, 0) = right_(k, i) + delta_ * centre_(k, i);
  }
  if (!cholesky(w.system)) throw Error("dictionary step: codes or weights are not finite");
  cholesky_solve(w.system, w.x);
  std::copy_n(w.x.data(), u_, solution_.col(i));
  if (hessian == nullptr) return;
  cholesky_invert(w.system);
  for (Index l = 0; l < u_; ++l)
    for (Index k = l; k < u_; ++k) (*hessian)(k, l) += 2 * w.x(k, 0) * w.x(l, 0) * w.system(k, l);
}

template <class T>
void DictionaryDual<T>::pass_rows(bool with_hessian, const Control& control) {
  // A fixed number of groups of row blocks, each with its own Hessian: sums in group order, whatever the threads.
  const bool own_grams = !problem_.weights.entry.empty();
  const Index blocks = block_count(m_, kRows), groups = std::min<Index>(blocks, 16);
  std::vector<Worker> workers;
  for (int t = 0; t < thread_count(control); ++t) workers.emplace_back(u_, own_grams && !keep_grams_);
  std::vector<Matrix<double>> sums(static_cast<std::size_t>(with_hessian ? groups : 0), Matrix<double>(u_, u_));
  parallel_blocks(groups, control, [&](Index group, int worker) {
    Worker& w = workers[static_cast<std::size_t>(worker)];
    for (Index block = group; block < blocks && !control.stop(); block += groups) {
      const Index first = block * kRows, count = block_length(m_, block, kRows);
      Matrix<double>& pairs = keep_grams_ ? grams_[static_cast<std::size_t>(block)] : w.pairs;
      const bool made = keep_grams_ && !pairs.empty();
      if (keep_grams_ && !made) pairs.resize(kRows, u_ * (u_ + 1) / 2);
      if (own_grams && !made) row_grams(first, count, pairs);
      for (Index i = 0; i < count; ++i) {
        if (own_grams) {
          for (Index k = 0; k < u_; ++k)
            for (Index l = 0; l <= k; ++l) w.system(k, l) = pairs(i, k * (k + 1) / 2 + l);
        } else {
          const double phi = static_cast<double>(problem_.weights.feature[static_cast<std::size_t>(first + i)]);
          for (Index l = 0; l < u_; ++l)
            for (Index k = l; k < u_; ++k) w.system(k, l) = phi * gram_(k, l);
        }
        solve_row(first + i, w, with_hessian ? &sums[static_cast<std::size_t>(group)] : nullptr);
      }
    }
  });
  if (with_hessian) hessian_.fill(0);
  for (const auto& s : sums)
    for (Index l = 0; l < u_; ++l)
      for (Index k = l; k < u_; ++k) hessian_(k, l) += s(k, l);
  for (Index l = 0; l < u_; ++l)
    for (Index k = 0; k < l; ++k) hessian_(k, l) = hessian_(l, k);
  for (Index k = 0; k < u_; ++k) {
    double norm2 = 0;
    for (Index i = 0; i < m_; ++i) norm2 += solution_(k, i) * solution_(k, i);
    slope_[static_cast<std::size_t>(k)] = norm2 - radius2_[static_cast<std::size_t>(k)];
  }
}

template <class T>
double DictionaryDual<T>::violation() const {
  double worst = 0;
  for (std::size_t k = 0; k < slope_.size(); ++k) {
    const double h = slope_[k] / radius2_[k];
    worst = std::max(worst, lambda_[k] > 0 ? std::abs(h) : std::max(0.0, h));
  }
  return worst;
}

// Hessian_FF p = h_F. In one dimension h = |b|^2 - d^2 makes Newton creep where |b| >> d, and 1/d - 1/|b| makes it
// nearly exact; both have the same derivative up to a factor, so the secular form only changes the right-hand side.
template <class T>
bool DictionaryDual<T>::newton_direction(bool secular) {
  free_.clear();
  for (Index k = 0; k < u_; ++k)
    if (lambda_[static_cast<std::size_t>(k)] > 0 || slope_[static_cast<std::size_t>(k)] > 0) free_.push_back(k);
  const auto f = static_cast<Index>(free_.size());
  std::fill(direction_.begin(), direction_.end(), 0.0);
  if (f == 0) return false;
  Vector<double> p(static_cast<std::size_t>(f));
  const MatrixView<double> F(factor_.data(), f, f, u_);
  double top = 0;
  for (const Index k : free_) top = std::max(top, hessian_(k, k));
  for (double extra = 1e-14; extra < 10; extra *= 100) {
    for (Index b = 0; b < f; ++b) {
      const Index l = free_[static_cast<std::size_t>(b)];
      for (Index a = b; a < f; ++a) F(a, b) = hessian_(free_[static_cast<std::size_t>(a)], l);
      F(b, b) += extra * F(b, b) + 1e-300;
    }
    if (!cholesky(F)) continue;
    for (Index a = 0; a < f; ++a) {
      const auto k = static_cast<std::size_t>(free_[static_cast<std::size_t>(a)]);
      const double norm2 = slope_[k] + radius2_[k];
      p[static_cast<std::size_t>(a)] = secular ? 2 * norm2 * (std::sqrt(norm2 / radius2_[k]) - 1) : slope_[k];
    }
    cholesky_solve(F, {p.data(), f, 1});
    for (Index a = 0; a < f; ++a)
      direction_[static_cast<std::size_t>(free_[static_cast<std::size_t>(a)])] = p[static_cast<std::size_t>(a)];
    return true;
  }
  return false;
}

// Far from the solution the dual is far from quadratic: a multiplier may grow tenfold or fall to a tenth at once, and
// to zero only from near zero.
template <class T>
double DictionaryDual<T>::bounded(double from, double to) const {
  const double low = from > 10 * delta_ ? 0.1 * from : 0;
  return std::clamp(to, low, 10 * from + 1);
}

// For one atom alone (1 + lambda) |b| is constant: the step that would be exact there, damped. It needs no Hessian and
// leads out of regions where the dual is nearly flat.
template <class T>
void DictionaryDual<T>::fixed_point_step() {
  for (std::size_t k = 0; k < lambda_.size(); ++k) {
    const double ratio = std::sqrt(std::max(0.0, slope_[k] + radius2_[k]) / radius2_[k]);
    lambda_[k] = std::max(0.0, (1 + lambda_[k]) * std::clamp(ratio, 0.5, 2.0) - 1);
  }
}

template <class T>
int DictionaryDual<T>::solve(double accuracy, int max_passes, const Control& control) {
  pass(Curvature::fresh, control);
  int passes = 1;
  const auto open = [&] { return passes < max_passes && !control.stop(); };
  while (violation() > accuracy && open()) {
    const double before = violation();
    const bool ascended = ascend(true, passes, open, control) || ascend(false, passes, open, control);
    // The inverses behind a row's Hessian cost three times its solution: an old one serves while it gains fourfold.
    reuse_ = violation() < before / 4;
    if (!reuse_ && !hessian_is_fresh_ && open()) {
      pass(Curvature::fresh, control);
      ++passes;
    }
    if (ascended) continue;
    if (before < 1e-14 / delta_) break;  // rounding, which 1 / delta magnifies: no direction improves
    fixed_point_step();
    pass(Curvature::fresh, control);
    ++passes;
  }
  return passes;
}

// One Newton step with a line search. Along a path the dual is concave, so its slope falls: a step that leaves the
// slope no more negative than half of what it was positive has raised the dual.
template <class T>
template <class Open>
bool DictionaryDual<T>::ascend(bool secular, int& passes, const Open& open, const Control& control) {
  if (!newton_direction(secular)) return false;
  const std::vector<double> from = lambda_, slope = slope_;
  bool tried = false;
  for (double t = 1; t > 1e-3 && open(); t /= 4) {
    double before = 0, after = 0;
    for (std::size_t k = 0; k < lambda_.size(); ++k) {
      lambda_[k] = direction_[k] == 0 ? from[k] : bounded(from[k], from[k] + t * direction_[k]);
      before += (lambda_[k] - from[k]) * slope[k];
    }
    if (!(before > 0)) break;  // not a direction of ascent
    tried = true;
    pass(reuse_ ? Curvature::reused : Curvature::fresh, control);
    ++passes;
    for (std::size_t k = 0; k < lambda_.size(); ++k) after += (lambda_[k] - from[k]) * slope_[k];
    if (after >= -0.5 * before) return true;
  }
  lambda_ = from;
  if (tried && open()) {
    pass(Curvature::fresh, control);
    ++passes;
  }
  return false;
}

template class DictionaryDual<float>;
template class DictionaryDual<double>;

}  // namespace pacewise

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "pacewise/algebra/simd.hpp"
#include "pacewise/solve/dictionary_dual.hpp"

// The passes over the rows of the dictionary: Gram matrices, right sides, b_i(lambda), gradient and Hessian of the
// dual.
namespace pacewise {

template <class T>
struct DictionaryDual<T>::Worker {
  explicit Worker(Index u) : system(u, u), x(u, 1) {}
  Matrix<double> system;  // M_i + delta + Lambda, then its factor, then its inverse
  Matrix<double> x;
  Matrix<double> grams;  // of a block of rows, where they are not kept
  // of a chunk of samples: codes, s_k s_l, and the weights in the rows of a block
  Matrix<double> codes, products, weights;
};

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

// q_i = sum_j w_ij v_ij x_ij s_j, a dense product over blocks of samples
template <class T>
void DictionaryDual<T>::aim_at_data(const Control& control) {
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

template <class T>
void DictionaryDual<T>::pass(Curvature curvature, const Control& control) {
  hessian_is_fresh_ = one_gram() || curvature == Curvature::fresh;
  if (one_gram())
    pass_one_gram(control);
  else if (problem_.weights.entry.empty() && delta_ >= 1e-6)
    pass_scaled_gram(hessian_is_fresh_, control);
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
  const Index groups = std::min<Index>(blocks, 8);  // whatever the threads
  std::vector<Matrix<double>> parts(static_cast<std::size_t>(groups), Matrix<double>(u_, u_));
  parallel_blocks(groups, control, [&](Index g, int) {
    const Index first = g * m_ / groups, last = (g + 1) * m_ / groups;
    gram<double>(Op::plain, 2, std::as_const(solution_).view().columns(first, last - first), 0,
                 parts[static_cast<std::size_t>(g)].view());
  });
  hessian_.fill(0);
  for (const Matrix<double>& part : parts)
    for (Index i = 0; i < part.size(); ++i) hessian_.data()[i] += part.data()[i];
  for (Index k = 0; k < u_; ++k)
    slope_[static_cast<std::size_t>(k)] = hessian_(k, k) / 2 - radius2_[static_cast<std::size_t>(k)];
  cholesky_invert(factor_);
  for (Index l = 0; l < u_; ++l)
    for (Index k = 0; k < u_; ++k) hessian_(k, l) *= factor_(k, l);
}

// Feature weights: with D = delta + Lambda and D^-1/2 M D^-1/2 = W diag(theta) W', one decomposition serves all rows,
//   (phi_i M + D)^-1 = U diag(1 / (phi_i theta + 1)) U',   U = D^-1/2 W.
// A small delta would make U too ill-conditioned for that: then row by row.
template <class T>
void DictionaryDual<T>::pass_scaled_gram(bool with_hessian, const Control& control) {
  const auto phi = [&](Index i) { return static_cast<double>(problem_.weights.feature[static_cast<std::size_t>(i)]); };
  const auto half = [&](Index k) { return 1 / std::sqrt(delta_ + lambda_[static_cast<std::size_t>(k)]); };
  factor_ = gram_;
  for (Index l = 0; l < u_; ++l)
    for (Index k = 0; k < u_; ++k) factor_(k, l) *= half(k) * half(l);
  const std::vector<double> theta = symmetric_eigen(factor_);
  for (Index l = 0; l < u_; ++l)
    for (Index k = 0; k < u_; ++k) factor_(k, l) *= half(k);
  constexpr Index rows = 256;
  parallel_blocks(block_count(m_, rows), control, [&](Index block, int) {
    const Index first = block * rows, b = block_length(m_, block, rows);
    Matrix<double> x(u_, b), modes(u_, b);
    for (Index i = 0; i < b; ++i)
      for (Index k = 0; k < u_; ++k) x(k, i) = right_(k, first + i) + delta_ * centre_(k, first + i);
    gemm<double>(Op::transposed, Op::plain, 1, factor_, x, 0, modes.view());
    for (Index i = 0; i < b; ++i)
      for (Index t = 0; t < u_; ++t)
        modes(t, i) /= phi(first + i) * std::max(theta[static_cast<std::size_t>(t)], 0.0) + 1;
    gemm<double>(Op::plain, Op::plain, 1, factor_, modes, 0, solution_.view().columns(first, b));
  });
  if (with_hessian) hessian_by_groups(theta, control);
  measure_slope();
}

// The Hessian only steers: rows with nearly the same phi share an inverse, the one of their mean.
//   sum over groups g of  2 (B_g B_g') o (phi_g M + D)^-1
template <class T>
void DictionaryDual<T>::hessian_by_groups(const std::vector<double>& theta, const Control& control) {
  const auto phi = [&](Index i) { return static_cast<double>(problem_.weights.feature[static_cast<std::size_t>(i)]); };
  std::vector<Index> order(static_cast<std::size_t>(m_));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return phi(a) < phi(b); });
  const Index groups = std::min<Index>(m_, 16);
  std::vector<Matrix<double>> parts(static_cast<std::size_t>(groups));
  parallel_blocks(groups, control, [&](Index g, int) {
    const Index first = g * m_ / groups, last = (g + 1) * m_ / groups;
    Matrix<double> members(u_, last - first), scaled(u_, u_), inverse(u_, u_);
    double mean = 0;
    for (Index i = first; i < last; ++i) {
      const Index row = order[static_cast<std::size_t>(i)];
      std::copy_n(solution_.col(row), u_, members.col(i - first));
      mean += phi(row) / static_cast<double>(last - first);
    }
    for (Index t = 0; t < u_; ++t)
      for (Index k = 0; k < u_; ++k)
        scaled(k, t) = factor_(k, t) / std::sqrt(mean * std::max(theta[static_cast<std::size_t>(t)], 0.0) + 1);
    gram<double>(Op::plain, 1, scaled, 0, inverse.view());
    Matrix<double>& part = parts[static_cast<std::size_t>(g)];
    part.resize(u_, u_);
    gram<double>(Op::plain, 2, members, 0, part.view());
    for (Index i = 0; i < part.size(); ++i) part.data()[i] *= inverse.data()[i];
  });
  hessian_.fill(0);
  for (const Matrix<double>& part : parts)
    for (Index i = 0; i < part.size(); ++i) hessian_.data()[i] += part.data()[i];
}

template <class T>
void DictionaryDual<T>::measure_slope() {
  for (Index k = 0; k < u_; ++k) {
    double norm2 = 0;
    for (Index i = 0; i < m_; ++i) norm2 += solution_(k, i) * solution_(k, i);
    slope_[static_cast<std::size_t>(k)] = norm2 - radius2_[static_cast<std::size_t>(k)];
  }
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

// Sparse codes: grams(i, kl) = sum_j w_ij v_ij s_kj s_lj for the rows i of a block, over the pairs k >= l in use
template <class T>
bool DictionaryDual<T>::sparse_row_grams(Index first, Index count, Matrix<double>& grams,
                                         const Control& control) const {
  static_assert(kRows == 16);
  grams.fill(0);
  double row[kRows] = {};
  for (Index j = 0; j < n_; ++j) {
    if (j % 256 == 0 && control.stop()) return false;
    const std::size_t begin = start_[static_cast<std::size_t>(j)], end = start_[static_cast<std::size_t>(j + 1)];
    for (Index i = 0; i < count; ++i) row[i] = static_cast<double>(problem_.weights(first + i, j));
    add_pairs(atom_.data() + begin, code_.data() + begin, end - begin, row, grams.data());
  }
  return true;
}

// Dense codes: one product for all rows of a block,  grams(kl, i) = sum_j (s_kj s_lj) w_ij v_ij,  kl by columns l.
template <class T>
bool DictionaryDual<T>::dense_row_grams(Index first, Index count, Matrix<double>& grams, Worker& w,
                                        const Control& control) const {
  if (w.codes.empty()) {
    const Index samples = std::min(n_, std::clamp<Index>((Index{1} << 21) / pair_count(), 8, 64));
    w.codes.resize(u_, samples);
    w.products.resize(pair_count(), samples);
    w.weights.resize(rows_, samples);
  }
  for (Index from = 0; from < n_; from += w.codes.cols()) {
    if (control.stop()) return false;
    const Index b = std::min(w.codes.cols(), n_ - from);
    fill_codes(from, b, w.codes);
    for (Index j = 0; j < b; ++j) {
      const double* s = w.codes.col(j);
      double* to = w.products.col(j);
      for (Index l = 0; l < u_; to += u_ - l, ++l)
        for (Index k = l; k < u_; ++k) to[k - l] = s[l] * s[k];
      for (Index i = 0; i < count; ++i) w.weights(i, j) = static_cast<double>(problem_.weights(first + i, from + j));
    }
    gemm<double>(Op::plain, Op::transposed, 1, w.products.view().columns(0, b), w.weights.view().block(0, 0, count, b),
                 from > 0 ? 1 : 0, grams.view().columns(0, count));
  }
  return true;
}

// False: stopped half-way, and nothing is left that could be taken for Grams.
template <class T>
bool DictionaryDual<T>::make_grams(Index first, Index count, Matrix<double>& grams, Worker& w,
                                   const Control& control) const {
  grams.resize(dense_ ? pair_count() : rows_, dense_ ? rows_ : pair_count());
  const bool whole =
      dense_ ? dense_row_grams(first, count, grams, w, control) : sparse_row_grams(first, count, grams, control);
  if (!whole) grams.resize(0, 0);
  return whole;
}

// The lower triangle of M_i, row i of a block
template <class T>
void DictionaryDual<T>::unpack(const Matrix<double>& grams, Index i, Matrix<double>& system) const {
  if (dense_) {
    const double* from = grams.col(i);
    for (Index l = 0; l < u_; from += u_ - l, ++l) std::copy_n(from, u_ - l, system.col(l) + l);
  } else {
    for (Index k = 0; k < u_; ++k)
      for (Index l = 0; l <= k; ++l) system(k, l) = grams(i, k * (k + 1) / 2 + l);
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
  const Index rows = own_grams ? rows_ : kRows, blocks = block_count(m_, rows), groups = std::min<Index>(blocks, 16);
  std::vector<Worker> workers;
  for (int t = 0; t < thread_count(control); ++t) workers.emplace_back(u_);
  std::vector<Matrix<double>> sums(static_cast<std::size_t>(with_hessian ? groups : 0), Matrix<double>(u_, u_));
  parallel_blocks(groups, control, [&](Index group, int worker) {
    Worker& w = workers[static_cast<std::size_t>(worker)];
    for (Index block = group; block < blocks && !control.stop(); block += groups) {
      const Index first = block * rows, count = block_length(m_, block, rows);
      Matrix<double>& grams = keep_grams_ ? grams_[static_cast<std::size_t>(block)] : w.grams;
      if (own_grams && (grams.empty() || !keep_grams_) && !make_grams(first, count, grams, w, control)) return;
      for (Index i = 0; i < count; ++i) {
        if (own_grams) {
          unpack(grams, i, w.system);
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
  measure_slope();
}

#define PACEWISE_INSTANTIATE(T)                                      \
  template void DictionaryDual<T>::make_shared_gram(const Control&); \
  template void DictionaryDual<T>::aim_at_data(const Control&);      \
  template void DictionaryDual<T>::pass(DictionaryDual<T>::Curvature, const Control&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

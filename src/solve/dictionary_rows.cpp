#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "algebra/gram_sum.hpp"
#include "solve/dictionary_dual.hpp"

// The passes over the rows of the dictionary: b_i(lambda), gradient and Hessian of the dual.
namespace pacewise {

template <class T>
double DictionaryDual<T>::sample_weight(Index j) const {
  const auto& sample = problem_.weights.sample;
  return sample.empty() ? 1.0 : static_cast<double>(sample[static_cast<std::size_t>(j)]);
}

// part(:, j) = s_(first + j), scaled as everything here
template <class T>
void DictionaryDual<T>::fill_codes(Index first, MatrixView<double> part) const {
  for (Index j = 0; j < part.cols; ++j)
    for (Index a = 0; a < u_; ++a) {
      const auto at = static_cast<std::size_t>(a);
      part(a, j) = static_cast<double>(problem_.S(used_[at], first + j)) * inverse_[at];
    }
}

// M = S diag(omega) S'
template <class T>
void DictionaryDual<T>::make_shared_gram(const Control& control) {
  gram_ = gram_sum(u_, n_, control, [&](Index first, MatrixView<double> part) {
    fill_codes(first, part);
    for (Index j = 0; j < part.cols; ++j) {
      const double root = std::sqrt(sample_weight(first + j));
      for (Index k = 0; k < u_; ++k) part(k, j) *= root;
    }
  });
}

// q_i = sum_j w_ij v_ij x_ij s_j, a dense product over blocks of samples; the codes of the next are filled in meanwhile
template <class T>
void DictionaryDual<T>::aim_at_data(const Control& control) {
  constexpr Index rows = 128, samples = 256;
  const Index blocks = block_count(m_, rows);
  std::vector<Matrix<double>> x(static_cast<std::size_t>(thread_count(control)));
  for (auto& values : x) values.resize_for_overwrite(rows, samples);
  std::vector<double> energy(static_cast<std::size_t>(blocks), 0.0);
  Matrix<double> part(u_, std::min(n_, samples)), next(part);
  data_ = Matrix<double>(u_, m_);
  fill_codes(0, next.view());
  for (Index first = 0; first < n_ && !control.stop(); first += samples) {
    const Index b = std::min(samples, n_ - first);
    std::swap(part, next);
    parallel_blocks(1 + blocks, control, [&](Index task, int worker) {
      if (task == 0) {
        const Index then = first + samples;
        if (then < n_) fill_codes(then, next.view().columns(0, std::min(samples, n_ - then)));
        return;
      }
      const Index block = task - 1, top = block * rows, count = block_length(m_, block, rows);
      const MatrixView<double> wx(x[static_cast<std::size_t>(worker)].data(), count, b);
      double sum = 0;
      for (Index j = 0; j < b; ++j)
        for (Index i = 0; i < count; ++i) {
          const double value = static_cast<double>(problem_.X(top + i, first + j));
          wx(i, j) = static_cast<double>(problem_.weights(top + i, first + j)) * value;
          sum += wx(i, j) * value;
        }
      energy[static_cast<std::size_t>(block)] += sum;
      gemm<double>(Op::plain, Op::transposed, 1, part.view().columns(0, b), wx, 1, data_.view().columns(top, count));
    });
  }
  for (const double e : energy) energy_ += e;
}

// b_i - y_i = (M_i + delta + Lambda)^-1 (-g_i / 2 - lambda o y_i)
template <class T>
void DictionaryDual<T>::pass(Curvature curvature, const Control& control) {
  hessian_is_fresh_ = one_gram() || curvature == Curvature::fresh;
  parallel_blocks(block_count(m_), control, [&](Index block, int) {
    for (Index i = block * kBlock; i < block * kBlock + block_length(m_, block); ++i)
      for (Index k = 0; k < u_; ++k)
        solution_(k, i) = -slope_of_fit_(k, i) / 2 - lambda_[static_cast<std::size_t>(k)] * centre_(k, i);
  });
  if (one_gram())
    pass_one_gram(control);
  else if (problem_.weights.entry.empty() && delta_ >= 1e-6)
    pass_scaled_gram(hessian_is_fresh_, control);
  else
    pass_rows(hessian_is_fresh_, control);
}

// All rows share (M + delta + Lambda)^-1; Hessian = 2 (B B') o inverse.
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
    cholesky_solve(factor_, x);
    for (Index i = 0; i < b; ++i)
      for (Index k = 0; k < u_; ++k) x(k, i) += centre_(k, first + i);
  });
  const Index groups = std::min<Index>(blocks, 8);  // whatever the threads
  std::vector<Matrix<double>> parts(static_cast<std::size_t>(groups));
  parallel_blocks(1 + groups, control, [&](Index task, int) {
    if (task == 0) {
      cholesky_invert(factor_);
      return;
    }
    const Index g = task - 1, first = g * m_ / groups, last = (g + 1) * m_ / groups;
    Matrix<double>& part = parts[static_cast<std::size_t>(g)];
    part.resize_for_overwrite(u_, u_);
    gram<double>(Op::plain, 2, std::as_const(solution_).view().columns(first, last - first), 0, part.view());
  });
  hessian_.fill(0);
  for (const Matrix<double>& part : parts)
    for (Index i = 0; i < part.size(); ++i) hessian_.data()[i] += part.data()[i];
  for (Index k = 0; k < u_; ++k)
    slope_[static_cast<std::size_t>(k)] = hessian_(k, k) / 2 - radius2_[static_cast<std::size_t>(k)];
  for (Index l = 0; l < u_; ++l)
    for (Index k = 0; k < u_; ++k) hessian_(k, l) *= factor_(k, l);
}

// Feature weights: with D = delta + Lambda and D^-1/2 M D^-1/2 = W diag(theta) W', one decomposition serves all rows,
//   (phi_i M + D)^-1 = U diag(1 / (phi_i theta + 1)) U',   U = D^-1/2 W.
// A small delta would make U too ill-conditioned for that: then row by row.
template <class T>
void DictionaryDual<T>::pass_scaled_gram(bool with_hessian, const Control& control) {
  const auto phi = [&](Index i) { return static_cast<double>(problem_.weights.feature[static_cast<std::size_t>(i)]); };
  Vector<double> half(static_cast<std::size_t>(u_));  // D^-1/2
  for (std::size_t k = 0; k < half.size(); ++k) half[k] = 1 / std::sqrt(delta_ + lambda_[k]);
  factor_ = gram_;
  for (Index l = 0; l < u_; ++l)
    for (Index k = 0; k < u_; ++k) factor_(k, l) *= half.data()[k] * half.data()[l];
  const std::vector<double> theta = symmetric_eigen(factor_);
  for (Index l = 0; l < u_; ++l)
    for (Index k = 0; k < u_; ++k) factor_(k, l) *= half.data()[k];
  constexpr Index rows = 256;
  parallel_blocks(block_count(m_, rows), control, [&](Index block, int) {
    const Index first = block * rows, b = block_length(m_, block, rows);
    Matrix<double> modes;
    modes.resize_for_overwrite(u_, b);
    const auto x = solution_.view().columns(first, b);
    gemm<double>(Op::transposed, Op::plain, 1, factor_, x, 0, modes.view());
    for (Index i = 0; i < b; ++i)
      for (Index t = 0; t < u_; ++t)
        modes(t, i) /= phi(first + i) * std::max(theta[static_cast<std::size_t>(t)], 0.0) + 1;
    std::copy_n(centre_.col(first), u_ * b, x.data);
    gemm<double>(Op::plain, Op::plain, 1, factor_, modes, 1, x);
  });
  if (with_hessian) hessian_by_groups(theta, control);
  measure_slope(control);
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
    Matrix<double> members, scaled, inverse;
    members.resize_for_overwrite(u_, last - first);
    scaled.resize_for_overwrite(u_, u_);
    inverse.resize_for_overwrite(u_, u_);
    double mean = 0;
    for (Index i = first; i < last; ++i) {
      const Index row = order[static_cast<std::size_t>(i)];
      std::copy_n(solution_.col(row), u_, members.col(i - first));
      mean += phi(row) / static_cast<double>(last - first);
    }
    for (Index t = 0; t < u_; ++t) {
      const double root = std::sqrt(mean * std::max(theta[static_cast<std::size_t>(t)], 0.0) + 1);
      for (Index k = 0; k < u_; ++k) scaled(k, t) = factor_(k, t) / root;
    }
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
void DictionaryDual<T>::measure_slope(const Control& control) {
  Matrix<double> squares(u_, block_count(m_));
  parallel_blocks(squares.cols(), control, [&](Index block, int) {
    double* sum = squares.col(block);
    for (Index i = block * kBlock; i < block * kBlock + block_length(m_, block); ++i)
      for (Index k = 0; k < u_; ++k) sum[k] += solution_(k, i) * solution_(k, i);
  });
  for (Index k = 0; k < u_; ++k) {
    double sum = 0;
    for (Index block = 0; block < squares.cols(); ++block) sum += squares(k, block);
    slope_[static_cast<std::size_t>(k)] = sum - radius2_[static_cast<std::size_t>(k)];
  }
}

// A Gram for every row: of its entries' weights, or a multiple of the one they share
template <class T>
void DictionaryDual<T>::pass_rows(bool with_hessian, const Control& control) {
  std::vector<double> diagonal(lambda_);
  for (double& d : diagonal) d += delta_;
  Matrix<double>* hessian = with_hessian ? &hessian_ : nullptr;
  std::visit([&](auto& rows) { rows.solve(diagonal, centre_, solution_, hessian, control); }, *rows_);
  measure_slope(control);
}

#define PACEWISE_INSTANTIATE(T)                                      \
  template void DictionaryDual<T>::make_shared_gram(const Control&); \
  template void DictionaryDual<T>::aim_at_data(const Control&);      \
  template void DictionaryDual<T>::pass(DictionaryDual<T>::Curvature, const Control&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

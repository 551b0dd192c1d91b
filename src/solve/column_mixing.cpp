#include "solve/column_mixing.hpp"

#include <algorithm>

#include "algebra/dense.hpp"
#include "algebra/sums.hpp"

namespace pacewise {
// With F_h the residuals of a column, d_h = F_now - F_h:   min_t |F_now - sum_h t_h d_h|^2,
//   y = f_now - sum_h t_h (f_now - f_h),   and the same for what is affine in f.
void ColumnMixing::next(const Matrix<double>& image, Matrix<double>& affine, Matrix<double>& y,
                        const Control& control) {
  const int size = memory_ + 1;
  if (static_cast<int>(past_.size()) < size) past_.emplace_back();
  Past& now = past_[static_cast<std::size_t>(count_ % size)];
  now.image = image;
  now.affine = affine;
  now.residual.resize(image.rows(), image.cols());
  for (Index i = 0; i < y.size(); ++i) now.residual.data()[i] = image.data()[i] - y.data()[i];
  const int used = std::min(count_, memory_);
  std::vector<const Past*> old;
  for (int h = 1; h <= used; ++h) old.push_back(&past_[static_cast<std::size_t>((count_ - h) % size)]);
  ++count_;
  y = image;
  if (used == 0) return;
  parallel_blocks(block_count(image.cols()), control, [&](Index block, int) {
    const Index first = block * kBlock;
    mix(now, old, first, first + block_length(image.cols(), block), affine, y);
  });
}

void ColumnMixing::mix(const Past& now, const std::vector<const Past*>& old, Index first, Index last,
                       Matrix<double>& affine, Matrix<double>& y) {
  const Index rows = y.rows();
  const int used = static_cast<int>(old.size());
  Matrix<double> K(used, used), t(used, 1), d(rows, used);
  for (Index c = first; c < last; ++c) {
    double trace = 0;
    for (int h = 0; h < used; ++h) {
      const double* f = old[static_cast<std::size_t>(h)]->residual.col(c);
      for (Index i = 0; i < rows; ++i) d(i, h) = now.residual(i, c) - f[i];
    }
    for (int h = 0; h < used; ++h) {
      for (int g = h; g < used; ++g) K(g, h) = inner_product<double>(d.col(g), d.col(h), rows);
      t(h, 0) = inner_product<double>(d.col(h), now.residual.col(c), rows);
      trace += K(h, h);
    }
    if (!(trace > 0)) continue;
    for (int h = 0; h < used; ++h) K(h, h) += 1e-10 * trace;
    if (!cholesky(K)) continue;
    cholesky_solve(K, t);
    for (int h = 0; h < used; ++h) {
      const double share = t(h, 0);
      const double* f = old[static_cast<std::size_t>(h)]->image.col(c);
      const double* g = old[static_cast<std::size_t>(h)]->affine.col(c);
      for (Index i = 0; i < rows; ++i) {
        y(i, c) -= share * (now.image(i, c) - f[i]);
        affine(i, c) -= share * (now.affine(i, c) - g[i]);
      }
    }
  }
}

}  // namespace pacewise

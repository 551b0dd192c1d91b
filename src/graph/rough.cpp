#include "graph/rough.hpp"

#include <algorithm>
#include <cmath>

#include "algebra/dense.hpp"
#include "algebra/index.hpp"

namespace pacewise {

template <class T>
template <class U>
RoughDistances<T>::RoughDistances(MatrixView<const U> X, const Observed& observed,
                                  const std::vector<std::int32_t>& samples, const Control& control) {
  const Index m = X.rows, u = static_cast<Index>(samples.size());
  const bool holes =
      std::any_of(samples.begin(), samples.end(), [&](auto j) { return observed.count[to_size(j)] < m; });
  z_ = Matrix<T>(m, u);
  if (holes) mask_ = square_ = Matrix<T>(m, u);
  low_.assign(to_size(u), 0.0);
  high_.assign(to_size(u), 0.0);
  rounded_low_.assign(to_size(u), T(0));
  const double scale = observed.scale() / 2;  // |x - mean| < 2 max |x|
  const double relative = error();
  parallel_blocks(block_count(u), control, [&](Index block, int) {
    for (Index j = block * kBlock; j < block * kBlock + block_length(u, block); ++j) {
      const U* x = X.col(samples[to_size(j)]);
      double norm = 0;
      for (Index i = 0; i < m; ++i) {
        if (std::isnan(x[i])) continue;
        const T z = static_cast<T>(static_cast<double>(x[i]) * scale - observed.mean[to_size(i)] * scale);
        z_(i, j) = z;
        norm += static_cast<double>(z) * static_cast<double>(z);
        if (!holes) continue;
        mask_(i, j) = 1;
        square_(i, j) = z * z;
      }
      low_[to_size(j)] = (holes ? 0 : norm) - relative * norm;
      high_[to_size(j)] = (holes ? 0 : norm) + relative * norm;
      rounded_low_[to_size(j)] = static_cast<T>(low_[to_size(j)]);
    }
  });
}

/// In units of N: the products; then centring (each z is off by u |z|, the squared distance by 4 u N); the evaluation
/// in double of the distance, at most 2 N, and of the norms; and the few operations that compare s with its bounds.
template <class T>
double RoughDistances<T>::error() const {
  const double m = static_cast<double>(z_.rows()), u = std::numeric_limits<T>::epsilon() / 2.0, v = 0x1p-53;
  const double terms = (complete() ? 1 : 3) * m + 3, size = complete() ? 1 : 2;
  if (terms * u > 0.25) return 8;  // no statement: everything is a candidate
  return 1.01 * (size * terms * u / (1 - terms * u) + 4 * (m + 8) * v + 32 * u);
}

template <class T>
double RoughDistances<T>::underflow() const {
  return 8 * static_cast<double>(z_.rows() + 8) * static_cast<double>(std::numeric_limits<T>::min());
}

template <class T>
void RoughDistances<T>::products(Index target, Index targets, Index query, Index queries, MatrixView<T> s,
                                 MatrixView<T> c) const {
  const auto multiply = [&](double a, const Matrix<T>& left, const Matrix<T>& right, double keep, MatrixView<T> out) {
    gemm<T>(Op::transposed, Op::plain, a, left.view().columns(target, targets), right.view().columns(query, queries),
            keep, out);
  };
  multiply(-2, z_, z_, 0, s);
  if (complete()) return;
  multiply(1, square_, mask_, 1, s);
  multiply(1, mask_, square_, 1, s);
  multiply(1, mask_, mask_, 0, c);
}

template class RoughDistances<float>;
template class RoughDistances<double>;
template RoughDistances<float>::RoughDistances(MatrixView<const float>, const Observed&,
                                               const std::vector<std::int32_t>&, const Control&);
template RoughDistances<float>::RoughDistances(MatrixView<const double>, const Observed&,
                                               const std::vector<std::int32_t>&, const Control&);
template RoughDistances<double>::RoughDistances(MatrixView<const double>, const Observed&,
                                                const std::vector<std::int32_t>&, const Control&);

}  // namespace pacewise

#include "graph/observed.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "algebra/eigen.hpp"
#include "algebra/parallel.hpp"

namespace pacewise {
namespace {

constexpr Index kAtOnce = 1024;  // per block: partial sums are m per block

/// First observed value of each feature. Means are taken of x - pivot, so a constant feature has its exact value as
/// mean and vanishes exactly once centred.
template <class T>
Vector<double> pivots(const Samples<T>& X) {
  Vector<double> pivot(X.values.rows, 0.0);
  Vector<Index> open(X.values.rows);
  std::iota(open.begin(), open.end(), Index{0});
  for (Index j = 0; j < X.values.cols && !open.empty(); ++j)
    std::erase_if(open, [&](Index i) {
      if (X.missing(i, j)) return false;
      pivot[i] = static_cast<double>(X.values(i, j));
      return true;
    });
  return pivot;
}

}  // namespace

double Observed::scale() const {
  return largest > 0 ? std::ldexp(1.0, -std::clamp(std::ilogb(largest), -1000, 1000) - 1) : 1;
}

template <class T>
Observed observe(const Samples<T>& X, const Control& control) {
  const Index m = X.values.rows, n = X.values.cols;
  const Vector<double> pivot = pivots(X);
  struct Sums {
    Eigen::VectorXd sum, count;
    double largest = 0;
    Sums& operator+=(const Sums& other) {
      sum += other.sum;
      count += other.count;
      largest = std::max(largest, other.largest);
      return *this;
    }
  };
  Observed out{Vector<double>(m, 0.0), Vector<std::int32_t>(n, 0), 0, 0};
  const auto add = [&](Index first, Index samples, int, Sums& sums) {
    for (Index j = first; j < first + samples; ++j) {
      const T* x = X.values.col(j);
      for (Index i = 0; i < m; ++i) {
        if (X.missing(i, j)) continue;
        sums.sum[i] += static_cast<double>(x[i]) - pivot[i];
        sums.largest = std::max(sums.largest, std::abs(static_cast<double>(x[i])));
        ++sums.count[i];
        ++out.count[j];
      }
    }
  };
  const Sums all = parallel_sum(n, control, Sums{Eigen::VectorXd::Zero(m), Eigen::VectorXd::Zero(m)}, add, kAtOnce);
  for (Index i = 0; i < m; ++i) {
    const double shift = all.count[i] > 0 ? all.sum[i] / all.count[i] : 0;
    out.mean[i] = std::isfinite(shift) ? pivot[i] + shift : 0;  // sums of numbers near the largest one overflow
  }
  out.missing = m * n - std::accumulate(out.count.begin(), out.count.end(), Index{0});
  out.largest = all.largest;
  return out;
}

template Observed observe<float>(const Samples<float>&, const Control&);
template Observed observe<double>(const Samples<double>&, const Control&);

}  // namespace pacewise

#include "solve/mask.hpp"

#include "algebra/simd.hpp"
#include "solve/residual.hpp"

namespace pacewise {
namespace {

constexpr Index kLanes = 8;

struct Summary {
  double top = 0, sum = 0;
};

PACEWISE_WIDE_VECTORS
Summary summarize(const double* w, Index m) {
  double top[kLanes] = {}, sum[kLanes] = {};
  Index i = 0;
  for (; i + kLanes <= m; i += kLanes)
    for (Index t = 0; t < kLanes; ++t) {
      top[t] = top[t] < w[i + t] ? w[i + t] : top[t];
      sum[t] += w[i + t];
    }
  Summary out;
  for (; i < m; ++i) {
    out.top = std::max(out.top, w[i]);
    out.sum += w[i];
  }
  for (Index t = 0; t < kLanes; ++t) {
    out.top = std::max(out.top, top[t]);
    out.sum += sum[t];
  }
  return out;
}

PACEWISE_WIDE_VECTORS
Index count_below(const double* w, Index m, double top) {
  Index count = 0;
  for (Index i = 0; i < m; ++i) count += w[i] < top ? 1 : 0;
  return count;
}

}  // namespace

template <class T>
Mask::Mask(const Weights<T>& weights, Index m, Index n, const Control& control)
    : mean_(static_cast<std::size_t>(n)),
      top_(static_cast<std::size_t>(n)),
      few_(static_cast<std::size_t>(n)),
      begin_(static_cast<std::size_t>(n) + 1) {
  std::vector<Vector<double>> column(static_cast<std::size_t>(thread_count(control)),
                                     Vector<double>(static_cast<std::size_t>(m)));
  const auto weights_of = [&](Index j, int worker) {
    double* w = column[static_cast<std::size_t>(worker)].data();
    std::fill_n(w, m, 1.0);
    weigh(weights, j, MatrixView<double>(w, m, 1));
    return w;
  };
  parallel_blocks(block_count(n), control, [&](Index block, int worker) {
    for (Index j = block * kBlock; j < block * kBlock + block_length(n, block); ++j) {
      const double* w = weights_of(j, worker);
      const Summary s = summarize(w, m);
      const Index below = count_below(w, m, s.top);
      const auto at = static_cast<std::size_t>(j);
      mean_[at] = s.sum / static_cast<double>(m);
      top_[at] = s.top;
      few_[at] = 3 * below <= m ? 1 : 0;
      begin_[at + 1] = few_[at] != 0 ? static_cast<std::size_t>(below) : 0;
    }
  });
  for (Index j = 0; j < n; ++j) {
    begin_[static_cast<std::size_t>(j) + 1] += begin_[static_cast<std::size_t>(j)];
    any_few_ = any_few_ || few(j);
  }
  rows_.resize(begin_.back());
  lacks_.resize(begin_.back());
  if (!any_few_) return;
  // without branches, which masks would mispredict; every number has room until the next one takes its place
  std::vector<std::vector<std::int32_t>> rows(column.size(),
                                              std::vector<std::int32_t>(static_cast<std::size_t>(m) + 1));
  std::vector<Vector<double>> lacks(column.size(), Vector<double>(static_cast<std::size_t>(m) + 1));
  parallel_blocks(block_count(n), control, [&](Index block, int worker) {
    std::int32_t* row = rows[static_cast<std::size_t>(worker)].data();
    double* lack = lacks[static_cast<std::size_t>(worker)].data();
    for (Index j = block * kBlock; j < block * kBlock + block_length(n, block); ++j) {
      if (!few(j)) continue;
      const double *w = weights_of(j, worker), top = this->top(j);
      Index found = 0;
      for (Index i = 0; i < m; ++i) {
        row[found] = static_cast<std::int32_t>(i);
        lack[found] = top - w[i];
        found += w[i] < top ? 1 : 0;
      }
      std::copy_n(row, found, rows_.data() + from(j));
      std::copy_n(lack, found, lacks_.data() + from(j));
    }
  });
}

template Mask::Mask(const Weights<float>&, Index, Index, const Control&);
template Mask::Mask(const Weights<double>&, Index, Index, const Control&);

}  // namespace pacewise

#include "apps/cli/weight_history.hpp"

#include <algorithm>
#include <cmath>

namespace pacewise::cli {
namespace {

constexpr Index kBytes = Index{8} << 20;

}  // namespace

template <class T>
std::vector<Index> least_weighted(const Problem<T>& problem, const Vector<T>& weights, Index count) {
  const Index m = problem.values.rows, n = problem.values.cols;
  std::vector<std::pair<double, Index>> mean;
  for (Index j = 0; j < n; ++j) {
    double sum = 0, observed = 0;
    for (Index i = 0; i < m; ++i) {
      if (std::isnan(problem.values(i, j)) || !(problem.weights(i, j) > T(0))) continue;
      sum += static_cast<double>(weights[static_cast<std::size_t>(j * m + i)]);
      ++observed;
    }
    if (observed > 0) mean.emplace_back(sum / observed, j);
  }
  const auto shown = std::min<std::size_t>(static_cast<std::size_t>(count), mean.size());
  std::partial_sort(mean.begin(), mean.begin() + static_cast<std::ptrdiff_t>(shown), mean.end());
  std::vector<Index> out;
  for (std::size_t k = 0; k < shown; ++k) out.push_back(mean[k].second);
  return out;
}

template <class T>
WeightHistory<T>::WeightHistory(const Problem<T>& problem, Level level) : problem_(problem), level_(level) {
  const Index tiles = level == Level::element ? kTiles : 1;
  limit_ = std::clamp<Index>(kBytes / std::max<Index>(1, tiles * problem.values.rows), 4, kFrames);
}

template <class T>
void WeightHistory<T>::record(const Record& record, const State<T>& state) {
  if (state.weights.empty() || (level_ != Level::element && level_ != Level::feature)) return;
  if (level_ == Level::element && samples_.empty()) samples_ = least_weighted(problem_, state.weights, kTiles);
  if (seen_++ % stride_ != 0) return;
  if (static_cast<Index>(frames_.size()) == limit_) {
    std::vector<Frame> kept;
    for (std::size_t k = 0; k < frames_.size(); k += 2) kept.push_back(std::move(frames_[k]));
    frames_ = std::move(kept);
    stride_ *= 2;
    if ((seen_ - 1) % stride_ != 0) return;
  }
  const Index m = problem_.values.rows;
  Frame frame{record.iteration, record.lambda, record.selected, {}};
  const auto add = [&](Index first) {
    for (Index i = 0; i < m; ++i)
      frame.weights.push_back(static_cast<unsigned char>(
          std::lround(255 * static_cast<double>(state.weights[static_cast<std::size_t>(first + i)]))));
  };
  if (level_ == Level::feature) add(0);
  for (const Index j : samples_) add(j * m);
  frames_.push_back(std::move(frame));
}

template class WeightHistory<float>;
template class WeightHistory<double>;
template std::vector<Index> least_weighted(const Problem<float>&, const Vector<float>&, Index);
template std::vector<Index> least_weighted(const Problem<double>&, const Vector<double>&, Index);

}  // namespace pacewise::cli

#pragma once
#include <vector>

#include "model/fit.hpp"

namespace pacewise::cli {

/// The self-paced weights of a few samples (level element) or of all features (level feature) while the pace runs, for
/// the slider of the report. Bounded: at most kTiles samples and kFrames iterations in bytes, fewer where samples are
/// large; when it is full every other iteration goes, so that what stays is evenly spaced.
template <class T>
class WeightHistory {
 public:
  static constexpr Index kTiles = 16, kFrames = 40;

  struct Frame {
    int iteration = 0;
    double lambda = 0, selected = 1;
    std::vector<unsigned char> weights;  // 255 v, tile by tile, m each
  };

  WeightHistory(const Problem<T>& problem, Level level);

  /// After an iteration. The first one with weights also chooses the samples: those with the smallest mean weight.
  void record(const Record& record, const State<T>& state);

  /// Chosen samples; empty at level feature, and before the pace.
  const std::vector<Index>& samples() const { return samples_; }
  const std::vector<Frame>& frames() const { return frames_; }

 private:
  const Problem<T>& problem_;
  Level level_;
  Index limit_ = kFrames, seen_ = 0, stride_ = 1;
  std::vector<Index> samples_;
  std::vector<Frame> frames_;
};

/// Up to `count` samples with the smallest mean weight over their observed entries (m x n weights), the smallest first.
template <class T>
std::vector<Index> least_weighted(const Problem<T>& problem, const Vector<T>& weights, Index count);

}  // namespace pacewise::cli

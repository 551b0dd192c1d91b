#pragma once
#include <string>
#include <vector>

#include "pacewise/model.hpp"

namespace pacewise {

// A descending pace: from all in, lambda falls stage by stage to the robust scale of the residuals and below it. Where
// to end is chosen by entries that are hidden from the fit: the stage is kept that predicts them best.

/// The scales of its stages: infinity, then 16, 16 / sqrt 2, .. down to a quarter, or to `lambda_scale`.
std::vector<double> stage_scales(const Options& options);

/// Iterations of a stage: `stage_iter`, and a quarter of it where lambda is finite but more than 1.5 robust scales.
/// Longer there, and the dictionary learns what is wrong (faces with 5 % salt and pepper: error .095 becomes .115 with
/// half). `brief`: the quarter in any case.
int stage_iterations(const Options& options, int stage, bool brief = false);

/// c such that an M-estimate with the weights v(r^2; c^2) needs 1 / 0.95 times the data of the mean where the residuals
/// r are standard normal: (E r^2 v)^2 / E r^2 v^2 = 0.95. 4.7 for Tukey's weights, which are `polynomial` with
/// power 1.5.
double robust_cutoff(const Regularizer& regularizer);

/// Draws of hidden entries, each disjoint from the others, that make at least 2,000 of them; where all entries together
/// are not enough, each is hidden once. `share` is raised where the data are small.
struct Hiding {
  double share = 0;
  int draws = 1;
};
Hiding plan_hiding(double share, double entries);

/// Whether entry i of sample j is hidden in this draw: with probability `share`, in one draw at most.
bool is_hidden(std::uint64_t seed, const Hiding& hiding, int draw, Index i, Index j);

/// In a sentence: where the descent ended and why, and the share of the units that is not trusted (v < 1/2).
std::string verdict(const std::vector<Stage>& stages, int chosen, Level level, double not_trusted);

/// Whether an earlier stage gains and predicts hidden entries better, by more than two standard errors: the stages that
/// follow are brief, and below half a robust scale the descent ends.
bool is_past_best(const std::vector<Stage>& stages, int stage);

/// Whether what hidden entries gain in this stage over the first is more than chance and worth it: more than two
/// standard errors, and 2 % of the error.
bool gains(const Stage& stage, const Stage& first);

/// Whether a stage is kept in the place of an earlier one: it gains over the first, and over the earlier one by more
/// than a standard error of that. Where stages are level, the earlier one leaves more of the data as they are.
bool is_better(const Stage& stage, const Stage& kept, const Stage& first);

}  // namespace pacewise

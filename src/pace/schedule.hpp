#pragma once
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "algebra/parallel.hpp"
#include "pacewise/model.hpp"

namespace pacewise {

/// Whether the options ask for a descending pace (pace/descent.hpp)
bool descends(const Options& options);

/// How much of the data the losses of one iteration put in play; all over observed units only.
struct LossSummary {
  double largest = 0;
  double lambda_select = 0;  // the first lambda: a share `select` of the non-zero losses lies below it
  double lambda_target = 0;  // the same for the share the quantile pace wants now
  double center = 0,
         spread = 0;  // of the roots of losses: a descending pace has lambda = (c f spread)^2 above the center
};

/// Share of units the quantile pace wants `step` iterations after its first.
double quantile_share(const Options& options, int step);

/// A descending pace: whether hidden entries are to be judged now, and whether a new lambda is wanted then.
bool ends_stage(const ScheduleState& state, const Options& options);
bool ends_last_stage(const ScheduleState& state, const Options& options);
/// Whether the next iteration is the first of the pace: lambda_select is wanted.
bool about_to_pace(const ScheduleState& state, const Options& options);
/// The state in which the next iteration runs, given the losses now.
ScheduleState advance(const ScheduleState& state, const LossSummary& losses, const Options& options);
/// Whether the steps of the next iteration are solved to their tolerance: always where the options ask for it, once
/// cheap steps have stalled, and in the last two iterations of the polish.
bool exact_steps(const ScheduleState& state, const Options& options);
/// Whether a loose tolerance is enough for them: where entries differ in their weights, as long as the objective falls.
bool loose_steps(const ScheduleState& state, const Options& options);
/// The state after an iteration that ended with this objective. `weighted`: entries differ in their weights, so that
/// cheap steps stall early and exact ones follow for more than an iteration.
ScheduleState conclude(const ScheduleState& state, double objective, double magnitude, int iteration,
                       const Options& options, bool weighted = false);

/// A stored state under options whose limits may have changed: a run that ran out of iterations goes on if it now may.
ScheduleState reopen(const ScheduleState& state, int iteration, const Options& options);

/// The value below which `share` of the non-zero losses lie: with N of them, floor(share N) are strictly smaller when
/// they are distinct; where equal losses leave none below it, the next larger loss, or twice the value. A loss counts
/// as zero below 1e-12 of the mean: entries that reconstruct exactly (a dark background) would otherwise make the
/// median 0 and select nothing. Where `observed` is not empty, the losses marked in it alone.
template <class T>
double loss_quantile(const Vector<T>& losses, double share, const Vector<char>& observed = {},
                     const Control& control = {});

/// The same of losses that are not stored: losses(use) calls use(piece, numbers, count, worker) for every piece of
/// them, on the threads of `control`, each time it is called.
template <class T>
using LossesInPieces = std::function<void(const std::function<void(Index, const T*, Index, int)>& use)>;
template <class T>
double loss_quantile(Index pieces, const LossesInPieces<T>& losses, double share, const Control& control);

}  // namespace pacewise

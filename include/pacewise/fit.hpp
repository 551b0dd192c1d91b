#pragma once
#include <functional>

#include "pacewise/model.hpp"

namespace pacewise {

/// What a fit may be given beside data and options; all of it is only looked at during the call.
struct FitControl {
  int threads = 0;                                               // 0: as many as the machine has; same bits for any
  double max_seconds = std::numeric_limits<double>::infinity();  // > 0: then the fit ends with time_limit
  const std::atomic<bool>* cancel = nullptr;                     // set it to end the fit with what it has
  std::function<bool(const Record&)> callback = {};              // after every iteration; false ends the fit
  const Graph* graph = nullptr;                                  // instead of building one
  MatrixView<const double> graph_points = {};                    // D x n: look for neighbours in this space
  MatrixView<const double> dictionary = {};                      // m x r: the first B; else samples drawn at random
  MatrixView<const double> codes = {};                           // r x n: the first S; else plain sparse coding
  const Sparse* groups = nullptr;                                // m x m, of level group: shares of features in means
  std::string checkpoint = {};                                   // file that is rewritten on the way; empty: none
  int every = 1;                                                 // >= 1: iterations from one checkpoint to the next
  std::string resume = {};  // model or checkpoint to go on from, with the same data; of the options only max_iter and
                            // tol count then
};

/// Learns dictionary, codes and weights: plain sparse coding, then with the graph terms, then paced. X (m x n, a column
/// is a sample, NaN = missing) is a matrix or a view of one, of float or double, alone or as {X, weights}. Misuse is an
/// Error; how a run ended is in the model.
Model<float> fit(const Problem<float>& X, const Options& options = {}, const FitControl& control = {});
Model<double> fit(const Problem<double>& X, const Options& options = {}, const FitControl& control = {});

}  // namespace pacewise

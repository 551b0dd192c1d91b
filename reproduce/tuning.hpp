#pragma once
#include <vector>

#include "reproduce/runner.hpp"
#include "reproduce/settings.hpp"

namespace pacewise::reproduce {

/// One candidate of the search, with what it scored under the protocol it is judged by.
struct TuningRow {
  std::string dataset;
  Source source = Source::raw;
  Method method = Method::sc;
  Setting setting;
  double acc = 0, sd = 0, nmi = 0;  // sd: of ACC, over the runs of k-means
  bool chosen = false;
};

/// As in the paper, on the clean data and seed 0, by the mean ACC over the runs of k-means: beta for SC; at that beta,
/// alpha for LSC-G and for LSC-H; at LSC-H's alpha and at 16, gamma and eta for CSC; the self-paced methods take CSC's.
/// Once for each graph. Only what `methods` and `sources` need is searched. ACC changes slowly with beta and alpha, by
/// less than its spread, and small betas and large alphas are slow: of those within one standard deviation of the best
/// the largest beta and the smallest alpha are taken; of gamma and eta the best, the first of equals.
std::vector<TuningRow> tune(const Dataset& dataset, const std::vector<Method>& methods,
                            const std::vector<Source>& sources, Runner& runner, Settings& settings);

}  // namespace pacewise::reproduce

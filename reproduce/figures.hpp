#pragma once
#include <vector>

#include "apps/report/page.hpp"
#include "model/fit.hpp"
#include "reproduce/runner.hpp"
#include "reproduce/settings.hpp"

namespace pacewise::reproduce {

/// One iteration of a self-paced fit on noisy images.
struct PaceStep {
  int iteration = 0;
  double correlation = 0;      // of a unit's weight with its mean |noise| as the solver sees it; NaN: all weights equal
  double raw_correlation = 0;  // with its mean |noise| in pixels
  double mean_weight = 1;
};

struct PaceCourse {
  Method method = Method::spsc_e;
  std::vector<PaceStep> steps;
  std::vector<Record> history;
  Matrix<double> dictionary;
};

/// One iteration of SPSC-E on partly hidden images.
struct HiddenStep {
  int iteration = 0;
  double hidden_weight = 1, other_weight = 1;  // means over the entries under the squares, and the others
  Picture maps;                                // some images, below them the weights of their pixels
};

/// What the figures of one data set show; every fit uses the half:40 graph and one seed.
struct Figures {
  double rho = 0;                   // of the courses
  Picture samples;                  // Fig. 1
  std::vector<PaceCourse> courses;  // Fig. 2, by level
  std::vector<HiddenStep> hidden;
};

/// Samples at each rho, and four fits: the three levels at the largest rho, and SPSC-E on hidden images.
Figures make_figures(const Dataset& dataset, const std::vector<double>& rhos, const Setting& setting, Runner& runner);

/// Mean |noise| of every unit; `scale` divides each sample's (empty: 1).
std::vector<double> noise_levels(MatrixView<const double> noise, const Vector<double>& scale, Level level);
/// Pearson's; NaN where one of them does not vary.
double correlation(const std::vector<double>& a, const std::vector<double>& b);

void add_figures(Page& page, const Dataset& dataset, const Figures& figures);

}  // namespace pacewise::reproduce

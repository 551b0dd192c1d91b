#pragma once
#include <functional>

#include "algebra/parallel.hpp"

namespace pacewise {

/// The control of a step that makes up the part [from, to] of the whole: what it reports of itself as a share in [0, 1]
/// reaches the caller as a share of the whole.
class PartOf {
 public:
  PartOf(const Control& whole, double from, double to)
      : report_([hook = whole.neighbours_done, from, to](double share) { (*hook)(from + share * (to - from)); }),
        control_(whole) {
    if (whole.neighbours_done != nullptr) control_.neighbours_done = &report_;
  }
  PartOf(const PartOf&) = delete;
  PartOf& operator=(const PartOf&) = delete;

  const Control& control() const { return control_; }

 private:
  std::function<void(double share)> report_;
  Control control_;
};

}  // namespace pacewise

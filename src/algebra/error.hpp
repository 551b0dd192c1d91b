#pragma once
#include <stdexcept>
#include <string>

namespace pacewise {

/// The one exception of the library: the caller asked for something that has no meaning. The text names the argument,
/// its value and the rule it breaks. Outcomes of a run (limits, cancellation) are values, never exceptions.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace pacewise

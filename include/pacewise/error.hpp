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

/// A file cannot be read or does not hold what it should: bad input. One line: file, where in it, what is wrong, what
/// to do.
class ReadError : public Error {
 public:
  using Error::Error;
};

/// A result cannot be written: the input was fine, the disk or the folder is not.
class WriteError : public Error {
 public:
  using Error::Error;
};

}  // namespace pacewise

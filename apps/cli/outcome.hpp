#pragma once
#include "pacewise/error.hpp"

namespace pacewise::cli {

/// The exit statuses scripts rely on.
enum Status : int {
  kDone = 0,
  kNo = 1,  // verify: the figures differ; fit: a result was written, but its tolerance was not reached
  kBadUsage = 2,
  kBadInput = 3,
  kCannotWrite = 4,
  kInterrupted = 130
};

/// The command line asks for something that has no meaning.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// The user stopped the program; `what` says what was left behind.
class Interrupted : public Error {
 public:
  using Error::Error;
};

}  // namespace pacewise::cli

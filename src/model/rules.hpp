#pragma once
#include <sstream>

#include "algebra/error.hpp"

namespace pacewise {

/// The one form of an option's error: name = value: must ..
template <class T>
void require_option(bool rule, const char* name, T value, const char* text) {
  if (rule) return;
  std::ostringstream out;
  out << name << " = " << value << ": must " << text;
  throw Error(out.str());
}

}  // namespace pacewise

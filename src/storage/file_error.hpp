#pragma once
#include <sstream>
#include <string>
#include <string_view>

#include "pacewise/error.hpp"

namespace pacewise {

/// `text` made fit for one line of a message: control characters escaped, cut after `limit` bytes.
std::string printable(std::string_view text, std::size_t limit = 60);

/// The system's words for an errno.
std::string system_text(int error);

/// 1536 -> "1.5 KiB"
std::string size_text(double bytes);

template <class... Parts>
std::string line_of(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace pacewise

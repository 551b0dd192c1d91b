#pragma once
#include <cstdlib>

#include "scratch.hpp"

#define NEED(path) \
  if (!std::filesystem::exists(path)) GTEST_SKIP() << (path) << " is not there"

namespace pacewise {

/// The evaluation data, which are not part of the project.
inline std::string data_folder() {
  if (const char* given = std::getenv("PACEWISE_DATA")) return given;
  const std::filesystem::path checkout = std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
  return (checkout.parent_path() / "shared" / "data").string();
}

}  // namespace pacewise

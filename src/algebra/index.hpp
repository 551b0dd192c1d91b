#pragma once
#include "algebra/matrix.hpp"

namespace pacewise {

/// Sizes and indices are signed here and unsigned in the standard containers: v[to_size(i)].
constexpr std::size_t to_size(Index i) { return static_cast<std::size_t>(i); }

}  // namespace pacewise

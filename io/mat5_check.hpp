#pragma once
#include "io/reading.hpp"

namespace pacewise {

/// Walks over all elements of a MATLAB v5 file, compressed ones included, and fails where one does not fit in its
/// surroundings or is smaller than its dimensions say. matio gives made-up numbers for truncated files and trusts
/// lengths inside elements, so it is only let near files that pass.
void check_mat5(const Reading& reading);

}  // namespace pacewise

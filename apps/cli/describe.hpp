#pragma once
#include "apps/cli/commands.hpp"

namespace pacewise::cli {

/// info of a data file: format, shape, range, what is missing. Sparse data stay sparse.
int describe_data(const InfoArguments& arguments);

}  // namespace pacewise::cli

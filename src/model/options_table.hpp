#pragma once
#include "pacewise/options.hpp"

namespace pacewise {

/// An Error for options that the solvers do not know yet.
void require_supported(const Options& options, bool start_dictionary = false, bool start_codes = false);

}  // namespace pacewise

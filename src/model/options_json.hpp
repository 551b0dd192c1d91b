#pragma once
#include <nlohmann/json_fwd.hpp>

#include "pacewise/options.hpp"

namespace pacewise {

/// All options by their names in the table.
nlohmann::json to_json(const Options& options);
/// The inverse, which knows the names of older files too. What is absent or null keeps its default; an Error names a
/// value that no option may have.
Options options_from_json(const nlohmann::json& json);

}  // namespace pacewise

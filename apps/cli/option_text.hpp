#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "model/options.hpp"

namespace pacewise::cli {

// The words of the command line and of the JSON for what the library has as enumerations.

GraphKind parse_graph_kind(const std::string& text);
EdgeWeight parse_edge_weight(const std::string& text);
Normalize parse_normalize(const std::string& text);
std::string name_of(GraphKind kind);
std::string name_of(EdgeWeight weight);
std::string name_of(Normalize normalize);

/// All options by their command line names, '-' written '_'.
nlohmann::json to_json(const Options& options);
/// The inverse; what is absent keeps its default.
Options options_from_json(const nlohmann::json& json);

}  // namespace pacewise::cli

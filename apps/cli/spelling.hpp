#pragma once
#include <string>
#include <vector>

namespace pacewise::cli {

/// The known word that `word` was probably meant to be: smallest edit distance (a swap of neighbours counts one), at
/// most a third of its length; empty where none is near.
std::string nearest_spelling(const std::string& word, const std::vector<std::string>& known);

}  // namespace pacewise::cli

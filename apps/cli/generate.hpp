#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pacewise::cli {

/// The man page ("man"), from the definitions of the command line, or a shell's completions ("bash", "zsh", "fish").
std::string generate(const CLI::App& app, const std::string& what);

/// What may stand in the place of the last of the words typed after the program's name: a line "word<TAB>help" each.
/// None where the name of a file may be meant.
std::string completions(const CLI::App& app, const std::vector<std::string>& typed);

}  // namespace pacewise::cli

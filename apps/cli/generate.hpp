#pragma once
#include <string>

namespace CLI {
class App;
}

namespace pacewise::cli {

/// The man page ("man") or a shell's completions ("bash", "zsh", "fish"), from the definitions of the command line.
std::string generate(const CLI::App& app, const std::string& what);

}  // namespace pacewise::cli

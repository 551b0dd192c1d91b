#pragma once
#include <functional>
#include <memory>
#include <string>

namespace CLI {
class App;
}

namespace pacewise::cli {

/// The whole command line as definitions: help, man page and completions are made from them.
struct Program {
  std::shared_ptr<CLI::App> app;
  std::function<int()> run;  // set by parsing
};
std::unique_ptr<Program> define_program();

/// Parses and runs; the exit status. Bad usage is a UsageError.
int parse_and_run(Program& program, int argc, char** argv);

}  // namespace pacewise::cli

#pragma once
#include <CLI/CLI.hpp>

#include "apps/cli/commands.hpp"

namespace pacewise::cli {

/// The rows of the option table as options of a command. Values are collected in the order: preset, then what was
/// given.
class TableOptions {
 public:
  /// `only`: these rows; empty: all, and the preset. In `files`: rows for which a file may be given too.
  TableOptions(CLI::App& app, const std::vector<std::string>& files, const std::vector<std::string>& only = {});
  /// A UsageError names what is wrong.
  void collect(GivenOptions& given) const;

 private:
  struct Row {
    const Option* option;
    bool file;
    CLI::Option* argument;
  };
  std::vector<Row> rows_;
  CLI::Option* preset_ = nullptr;
};

}  // namespace pacewise::cli

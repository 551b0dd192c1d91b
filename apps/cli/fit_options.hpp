#pragma once
#include <CLI/CLI.hpp>
#include <memory>

#include "apps/cli/commands.hpp"

namespace pacewise::cli {

/// The options of the method for `fit`. Values from the command line are collected by `collect` in the order: preset,
/// then everything that was given.
class FitOptions {
 public:
  explicit FitOptions(CLI::App& app);
  /// Fills options, given, graph_file and points_file; a UsageError names what is wrong.
  void collect(FitArguments& arguments) const;

 private:
  template <class V>
  void add(CLI::App& app, const char* name, V (*get)(const Options&), void (*set)(Options&, const V&), const char* type,
           const char* help);
  void add_method(CLI::App& app);
  void add_pace(CLI::App& app);
  void add_graph(CLI::App& app);
  void add_run(CLI::App& app);

  std::string group_;
  std::string preset_ = "robust", graph_ = "hypergraph", space_;
  struct Setting {
    const CLI::Option* option;
    std::function<void(Options&)> apply;
  };
  std::vector<Setting> settings_;
  CLI::Option* graph_option_ = nullptr;
  CLI::Option* space_option_ = nullptr;
  CLI::Option* preset_option_ = nullptr;
};

}  // namespace pacewise::cli

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <set>

#include "apps/cli/commands.hpp"
#include "apps/cli/outcome.hpp"
#include "apps/cli/outputs.hpp"
#include "apps/cli/signals.hpp"
#include "io/file_error.hpp"
#include "reproduce/report.hpp"
#include "reproduce/targets.hpp"

namespace pacewise::cli {
namespace {

/// "a,b,c" by `parse`, in the order of `all` where given; empty text: all of them.
template <class V, class All, class Parse>
std::vector<V> names_in(const char* option, const std::string& text, const All& all, Parse&& parse) {
  if (text.empty()) return {all.begin(), all.end()};
  std::set<V> chosen;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    try {
      if (!chosen.insert(parse(text.substr(at, comma - at))).second) throw Error("the same twice");
    } catch (const Error& e) {
      throw UsageError(fmt::format("{} {}: {}", option, printable(text), e.what()));
    }
    at = comma + 1;
  }
  return {chosen.begin(), chosen.end()};
}

double parse_rho(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && value <= 10))
    throw Error("rho = " + text + ": must be a number in [0, 10]");
  return value;
}

reproduce::Source parse_graph(const std::string& text) {
  if (text == "none") throw Error("graph = none: must be raw, half:40 or clean");
  return reproduce::parse_source(text);
}

std::string parse_dataset(const std::string& text) {
  try {
    return std::string(reproduce::parse_dataset(text));
  } catch (const Error&) {
    throw UsageError("WHAT = " + printable(text) + ": must be coil20, mnist, pie, fashion or all (the first three)");
  }
}

reproduce::Plan plan_of(const ReproduceArguments& a) {
  reproduce::Plan plan;
  if (a.which == "all")
    plan.datasets = {reproduce::kDatasets.begin(), reproduce::kDatasets.end()};
  else
    plan.datasets = {parse_dataset(a.which)};
  plan.rhos = names_in<double>("--rho", a.rhos, reproduce::kRhos, parse_rho);
  plan.methods = names_in<reproduce::Method>("--methods", a.methods, reproduce::kMethods,
                                             [](const std::string& t) { return reproduce::parse_method(t); });
  plan.sources = names_in<reproduce::Source>("--graphs", a.graphs, reproduce::kSources, parse_graph);
  if (a.quick && a.graphs.empty()) plan.sources = {reproduce::Source::half};
  plan.quick = a.quick;
  plan.tuned = !a.quick && !a.no_tune && !a.cached && a.settings.empty();
  for (int seed = 1; seed <= a.seeds.value_or(a.quick ? 1 : 5); ++seed) plan.seeds.push_back(seed);
  return plan;
}

std::string folder_for(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw WriteError(printable(path, 200) + ": cannot make this folder: " + error.message());
  check_writable(path + "/report.html");
  return path;
}

void run_dataset(const ReproduceArguments& a, const std::string& name, reproduce::Findings& findings,
                 reproduce::Runner& runner) {
  const reproduce::Plan& plan = findings.tables.plan();
  const reproduce::Dataset& dataset = findings.datasets.at(name);
  if (plan.tuned) {
    const std::vector<reproduce::TuningRow> rows =
        reproduce::tune(dataset, plan.methods, plan.sources, runner, findings.settings);
    findings.tuning.insert(findings.tuning.end(), rows.begin(), rows.end());
  }
  if (!a.cached)
    runner.complete(dataset, reproduce::planned_cells(plan, dataset, findings.settings),
                    std::string(reproduce::title_of(name)) + ", cells");
  findings.tables.add(dataset, findings.settings, runner.file());
  if (!a.no_figures)
    findings.figures.emplace(
        name, reproduce::make_figures(
                  dataset, plan.rhos,
                  findings.settings.of(name, reproduce::Source::half, reproduce::Method::csc).setting, runner));
}

void print_tables(const reproduce::Findings& findings, Console& console) {
  const reproduce::Plan& plan = findings.tables.plan();
  for (const std::string& dataset : plan.datasets)
    for (const reproduce::Source source : plan.sources)
      for (const reproduce::Protocol protocol : reproduce::kProtocols) {
        TextTable t;
        t.head = {"ACC/NMI"};
        for (const double rho : plan.rhos) t.head.push_back(fmt::format("rho {}", rho));
        for (const reproduce::Method method : plan.methods) {
          std::vector<std::string> row = {std::string(reproduce::name_of(method))};
          for (const double rho : plan.rhos) {
            const reproduce::Entry* acc =
                findings.tables.find(dataset, rho, method, protocol, source, reproduce::Metric::acc);
            const reproduce::Entry* nmi =
                findings.tables.find(dataset, rho, method, protocol, source, reproduce::Metric::nmi);
            row.push_back(acc == nullptr ? "-" : fixed_text(acc->mean) + "/" + fixed_text(nmi->mean));
          }
          t.rows.push_back(std::move(row));
        }
        console.print(fmt::format("\n{}, {} protocol, {} graph{}\n", reproduce::title_of(dataset),
                                  reproduce::name_of(protocol), reproduce::name_of(source),
                                  source == reproduce::Source::clean ? " (leakage)" : "") +
                      to_text(t));
      }
}

}  // namespace

int run_reproduce(const ReproduceArguments& a) {
  const reproduce::Plan plan = plan_of(a);
  const Progress progress = parse_progress(a.progress);
  Console console(a.quiet, progress);
  reproduce::Findings findings{reproduce::Tables(plan), reproduce::Settings::committed(), {}, {}, {}, 0, {}};
  if (!a.settings.empty()) findings.settings.read(a.settings);
  console.stage("reading images");
  for (const std::string& name : plan.datasets) findings.datasets.emplace(name, reproduce::load_dataset(name, a.data));
  const std::string folder = folder_for(a.output);
  reproduce::CellsFile cells(folder + "/cells.csv");
  const SerialBlas serial;  // every fit has one thread
  reproduce::Watch watch;
  watch.begin = [&](const std::string& doing) { console.stage(doing); };
  watch.progress = [&](const std::string& doing, double share) { console.fraction(doing, share); };
  reproduce::Runner runner(cells, a.threads, &interrupted(), watch);
  try {
    for (const std::string& name : plan.datasets) run_dataset(a, name, findings, runner);
  } catch (const reproduce::Stopped& e) {
    throw Interrupted(e.what());
  }
  std::set<std::string> versions;
  for (const auto& [cell, result] : cells.all()) versions.insert(result.version);
  findings.versions = {versions.begin(), versions.end()};
  findings.cells = static_cast<int>(cells.all().size());
  reproduce::write_findings(folder, findings);
  for (const std::string& line : reproduce::headline(findings.tables)) console.print(line + "\n");
  print_tables(findings, console);
  console.print("\n" + to_text(reproduce::settings_table(findings)));
  console.print(fmt::format("\n{} cells computed, {} in {}\nreport: {}/report.html\n", runner.computed(),
                            findings.cells, cells.path(), folder));
  return kDone;
}

}  // namespace pacewise::cli

#include "reproduce/report.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "io/atomic_file.hpp"
#include "pacewise/version.hpp"
#include "reproduce/page.hpp"
#include "reproduce/targets.hpp"

namespace pacewise::reproduce {
namespace {

using nlohmann::json;

void write(const std::string& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

std::string tuning_csv(const Findings& findings) {
  std::string out = "dataset,graph,method,protocol,beta,alpha,gamma,eta,k,acc,acc_sd,nmi,chosen\n";
  for (const TuningRow& r : findings.tuning)
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", r.dataset, name_of(r.source), name_of(r.method),
                       name_of(judged_by(r.source)), r.setting.beta, r.setting.alpha, r.setting.gamma, r.setting.eta,
                       r.setting.k, r.acc, r.sd, r.nmi, r.chosen ? "yes" : "no");
  return out;
}

std::string tables_csv(const Tables& tables) {
  std::string out =
      "dataset,rho,method,protocol,graph,leakage,metric,mean,sd_over_seeds,mean_sd_over_kmeans,seeds,paper\n";
  for (const auto& [key, entry] : tables.all()) {
    const auto& [dataset, rho, method, protocol, source, metric] = key;
    out +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", dataset, rho, name_of(method), name_of(protocol),
                    name_of(source), source == Source::clean && rho > 0 ? "yes" : "no", name_of(metric), entry.mean,
                    entry.sd, entry.sd_runs, entry.by_seed.size(), entry.paper ? fmt::format("{}", *entry.paper) : "");
  }
  return out;
}

json number(double value) { return std::isfinite(value) ? json(value) : json(); }

json json_of(const Tables& tables) {
  json out = json::array();
  for (const auto& [key, entry] : tables.all()) {
    const auto& [dataset, rho, method, protocol, source, metric] = key;
    json seeds = json::object();
    for (const auto& [seed, value] : entry.by_seed) seeds[std::to_string(seed)] = value;
    out.push_back({{"dataset", dataset},
                   {"rho", rho},
                   {"method", name_of(method)},
                   {"protocol", name_of(protocol)},
                   {"graph", name_of(source)},
                   {"leakage", source == Source::clean && rho > 0},
                   {"metric", name_of(metric)},
                   {"mean", entry.mean},
                   {"sd_over_seeds", entry.sd},
                   {"mean_sd_over_kmeans", entry.sd_runs},
                   {"by_seed", seeds},
                   {"paper", entry.paper ? json(*entry.paper) : json()}});
  }
  return out;
}

json json_of(const Count& count) {
  return {{"reached", count.reached}, {"compared", count.compared}, {"wanted", Count::wanted}};
}

json targets_json(const Tables& tables) {
  json out = {{"headline", headline(tables)}, {"order", json::array()}, {"pie", json::array()}};
  for (const char* dataset : {"coil20", "mnist"}) {
    out["recommended"][dataset] = json_of(count_against_paper(tables, dataset, Protocol::recommended, Source::half));
    out["paper"][dataset] = json_of(count_against_paper(tables, dataset, Protocol::paper, Source::clean));
  }
  for (const PieTarget& t : pie_targets(tables))
    if (t.found_acc != nullptr)
      out["pie"].push_back({{"rho", t.rho},
                            {"method", name_of(t.best)},
                            {"acc", t.found_acc->mean},
                            {"nmi", t.found_nmi->mean},
                            {"reached", t.reached()}});
  for (const std::string& dataset : tables.plan().datasets)
    for (const auto& [protocol, source] :
         {std::pair{Protocol::recommended, Source::half}, std::pair{Protocol::paper, Source::clean}})
      for (const Comparison& c : compare_in_order(tables, dataset, protocol, source))
        out["order"].push_back({{"dataset", dataset},
                                {"protocol", name_of(protocol)},
                                {"graph", name_of(source)},
                                {"first", name_of(c.first)},
                                {"second", name_of(c.second)},
                                {"claim", c.strict ? ">" : ">="},
                                {"holds", c.holds()},
                                {"mean_difference", c.test.mean},
                                {"p", c.test.p},
                                {"exact", c.test.exact},
                                {"pairs", c.test.pairs}});
  return out;
}

json json_of(const Figures& figures) {
  json courses = json::array(), hidden = json::array();
  for (const PaceCourse& course : figures.courses) {
    json steps = json::array();
    for (const PaceStep& s : course.steps)
      steps.push_back({{"iteration", s.iteration},
                       {"correlation", number(s.correlation)},
                       {"correlation_with_pixel_noise", number(s.raw_correlation)},
                       {"mean_weight", s.mean_weight}});
    courses.push_back({{"method", name_of(course.method)}, {"steps", steps}});
  }
  for (const HiddenStep& s : figures.hidden)
    hidden.push_back({{"iteration", s.iteration}, {"hidden", s.hidden_weight}, {"elsewhere", s.other_weight}});
  return {{"rho", figures.rho}, {"noise_and_weight", courses}, {"hidden_entries", hidden}};
}

json results_json(const Findings& findings) {
  const Plan& plan = findings.tables.plan();
  json out = {{"version", kVersion},
              {"quick", plan.quick},
              {"tuned", plan.tuned},
              {"iterations", kBudget.iterations()},
              {"seeds", plan.seeds},
              {"rhos", plan.rhos},
              {"cells", findings.cells},
              {"cells_computed_by", findings.versions},
              {"targets", targets_json(findings.tables)},
              {"settings", json::array()},
              {"missing_cells", json::object()},
              {"figures", json::object()},
              {"tables", json_of(findings.tables)}};
  const TextTable settings = settings_table(findings);
  for (const auto& row : settings.rows) {
    json line;
    for (std::size_t c = 0; c < row.size(); ++c) line[settings.head[c]] = row[c];
    out["settings"].push_back(line);
  }
  for (const std::string& name : plan.datasets) out["missing_cells"][name] = findings.tables.missing(name);
  for (const auto& [name, figures] : findings.figures) out["figures"][name] = json_of(figures);
  return out;
}

}  // namespace

TextTable settings_table(const Findings& findings) {
  const Plan& plan = findings.tables.plan();
  TextTable out;
  out.head = {"data", "graph", "method", "beta", "alpha", "gamma", "eta", "k", "origin"};
  const auto add = [&](const std::string& dataset, Source source, Method method, const std::string& graph) {
    const ChosenSetting& c = findings.settings.of(dataset, source, method);
    out.rows.push_back({std::string(title_of(dataset)), graph, std::string(name_of(method)),
                        fmt::format("{}", c.setting.beta), fmt::format("{}", c.setting.alpha),
                        fmt::format("{}", c.setting.gamma), fmt::format("{}", c.setting.eta),
                        fmt::format("{}", c.setting.k), c.origin});
  };
  for (const std::string& dataset : plan.datasets)
    for (const Method method : plan.methods) {
      if (method == Method::os) continue;
      if (!has_graph(method))
        for (const Protocol protocol : kProtocols)
          add(dataset, source_for(protocol), method, fmt::format("none ({} protocol)", name_of(protocol)));
      else
        for (const Source source : plan.sources) add(dataset, source, method, std::string(name_of(source)));
    }
  return out;
}

void write_findings(const std::string& folder, const Findings& findings) {
  // A run that did not search must not wipe out the search that chose its settings.
  const std::string tuning = folder + "/tuning.csv";
  if (findings.tables.plan().tuned || !std::filesystem::exists(tuning)) write(tuning, tuning_csv(findings));
  write(folder + "/tables.csv", tables_csv(findings.tables));
  write(folder + "/results.json", results_json(findings).dump(1) + "\n");
  write(folder + "/report.html", report_page(findings));
}

}  // namespace pacewise::reproduce

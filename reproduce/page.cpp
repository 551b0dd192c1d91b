#include "reproduce/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/report/chart.hpp"
#include "pacewise/version.hpp"
#include "reproduce/paper.hpp"
#include "reproduce/targets.hpp"

namespace pacewise::reproduce {
namespace {

std::string list_of(const std::vector<std::string>& lines) {
  std::string out = "<ul>\n";
  for (const std::string& line : lines) out += "<li>" + escape_html(line) + "</li>\n";
  return out + "</ul>\n";
}

std::string graph_words(Source source) {
  if (source == Source::clean) return "clean graph, as the paper's (leakage)";
  return fmt::format("{} graph of the noisy data", name_of(source));
}
std::string protocol_words(Protocol protocol) {
  return protocol == Protocol::paper ? "paper's protocol" : "recommended protocol";
}

/// "0.812 ±0.010 / 0.783 +": ours, the spread over seeds, the paper's, whether it is reached.
std::string cell_text(const Entry* entry, std::size_t seeds) {
  if (entry == nullptr) return "-";
  std::string text = fixed_text(entry->mean);
  if (seeds > 1) text += fmt::format(" ±{:.3f}", entry->sd);
  if (entry->by_seed.size() < seeds) text += fmt::format(" ({} of {} seeds)", entry->by_seed.size(), seeds);
  if (entry->paper) text += fmt::format(" | {:.3f} {}", *entry->paper, entry->mean >= *entry->paper ? "✓" : "✗");
  return text;
}

/// The layout of the paper's tables: a row per rho, a column per method.
TextTable paper_layout(const Tables& tables, const std::string& dataset, Protocol protocol, Source source,
                       Metric metric) {
  const Plan& plan = tables.plan();
  TextTable out;
  out.head = {"rho"};
  for (const Method method : plan.methods) out.head.emplace_back(name_of(method));
  for (const double rho : plan.rhos) {
    std::vector<std::string> row = {fmt::format("{}", rho)};
    for (const Method method : plan.methods)
      row.push_back(cell_text(tables.find(dataset, rho, method, protocol, source, metric), plan.seeds.size()));
    out.rows.push_back(std::move(row));
  }
  return out;
}

/// Every number, each row labelled with protocol and graph.
TextTable everything(const Tables& tables, const std::string& dataset) {
  TextTable out;
  out.head = {"method", "rho", "protocol", "graph"};
  for (const Metric metric : kMetrics)
    for (const char* what : {"", " sd seeds", " sd k-means"}) out.head.push_back(std::string(title_of(metric)) + what);
  out.head.insert(out.head.end(), {"paper ACC", "paper NMI", "seeds"});
  const Plan& plan = tables.plan();
  for (const Method method : plan.methods)
    for (const double rho : plan.rhos)
      for (const Protocol protocol : kProtocols)
        for (const Source source : has_graph(method) ? plan.sources : std::vector<Source>{Source::none}) {
          const Entry* acc = tables.find(dataset, rho, method, protocol, source, Metric::acc);
          if (acc == nullptr) continue;
          std::vector<std::string> row = {std::string(name_of(method)), fmt::format("{}", rho),
                                          std::string(name_of(protocol)),
                                          std::string(name_of(source)) + (source == Source::clean ? " (leakage)" : "")};
          for (const Metric metric : kMetrics) {
            const Entry* e = tables.find(dataset, rho, method, protocol, source, metric);
            row.insert(row.end(), {fixed_text(e->mean, 4), fixed_text(e->sd, 4), fixed_text(e->sd_runs, 4)});
          }
          const Entry* nmi = tables.find(dataset, rho, method, protocol, source, Metric::nmi);
          row.push_back(acc->paper ? fixed_text(*acc->paper, 4) : "-");
          row.push_back(nmi->paper ? fixed_text(*nmi->paper, 4) : "-");
          row.push_back(std::to_string(acc->by_seed.size()));
          out.rows.push_back(std::move(row));
        }
  return out;
}

/// All methods against rho, with the spread over seeds as a band, and the paper's SPSC-E.
std::string against_rho(const Tables& tables, const std::string& dataset, Protocol protocol, Source source,
                        Metric metric) {
  const Plan& plan = tables.plan();
  std::vector<Series> series;
  Series paper;
  paper.name = "SPSC-E, paper";
  paper.dashed = true;
  for (const double rho : plan.rhos)
    if (const auto printed = paper_value(dataset, rho, Method::spsc_e, metric)) {
      paper.x.push_back(rho);
      paper.y.push_back(*printed);
    }
  for (const Method method : plan.methods) {
    Series s;
    s.name = name_of(method);
    for (const double rho : plan.rhos) {
      const Entry* e = tables.find(dataset, rho, method, protocol, source, metric);
      s.x.push_back(rho);
      s.y.push_back(e != nullptr ? e->mean : std::nan(""));
      if (plan.seeds.size() > 1) {
        s.low.push_back(e != nullptr ? e->mean - e->sd : std::nan(""));
        s.high.push_back(e != nullptr ? e->mean + e->sd : std::nan(""));
      }
    }
    series.push_back(std::move(s));
  }
  if (!paper.x.empty()) series.push_back(std::move(paper));
  return line_chart(
      series, "rho", std::string(title_of(metric)),
      fmt::format("{} against rho, {}, {}", title_of(metric), protocol_words(protocol), graph_words(source)));
}

void add_protocol(Page& page, const Tables& tables, const std::string& dataset, Protocol protocol, Source source) {
  for (const Metric metric : {Metric::acc, Metric::nmi}) {
    page.paragraph(fmt::format("{}: {}, {}. Ours{} | paper, ✓ at or above it:", title_of(metric),
                               protocol_words(protocol), graph_words(source),
                               tables.plan().seeds.size() > 1 ? " ± sd over seeds" : ""));
    page.table(paper_layout(tables, dataset, protocol, source, metric));
  }
}

void add_dataset(Page& page, const Findings& findings, const std::string& name) {
  const Tables& tables = findings.tables;
  const Dataset& dataset = findings.datasets.at(name);
  const std::string title(title_of(name));
  page.heading(title + (name == "coil20"  ? ": Table 1 of the paper"
                        : name == "mnist" ? ": Table 2 of the paper"
                        : name == "pie"   ? ": named in the paper's text, without a table"
                                          : ": not in the paper"));
  page.paragraph(fmt::format(
      "{} images of {} x {} pixels, {} classes.{}", dataset.values.cols(), dataset.side, dataset.side, dataset.classes,
      tables.complete(name) ? std::string()
                            : fmt::format(" Incomplete: {} cells of the plan are missing.", tables.missing(name))));
  const auto shown = {std::pair{Protocol::recommended, Source::half}, std::pair{Protocol::recommended, Source::raw},
                      std::pair{Protocol::paper, Source::clean}};
  for (const auto& [protocol, source] : shown) {
    if (std::find(tables.plan().sources.begin(), tables.plan().sources.end(), source) == tables.plan().sources.end())
      continue;
    page.heading(fmt::format("{}, {}, {}", title, protocol_words(protocol), graph_words(source)));
    for (const Metric metric : {Metric::acc, Metric::nmi})
      page.markup(against_rho(tables, name, protocol, source, metric));
    add_protocol(page, tables, name, protocol, source);
  }
  page.markup("<details><summary>" + escape_html(title + ": the other pairs of protocol and graph") + "</summary>\n");
  for (const Protocol protocol : kProtocols)
    for (const Source source : tables.plan().sources)
      if (std::find(shown.begin(), shown.end(), std::pair{protocol, source}) == shown.end())
        add_protocol(page, tables, name, protocol, source);
  page.markup("</details>\n<details><summary>" + escape_html(title + ": every number, with purity, ARI and spreads") +
              "</summary>\n");
  page.table(everything(tables, name));
  page.markup("</details>\n");
  if (const auto figures = findings.figures.find(name); figures != findings.figures.end())
    add_figures(page, dataset, figures->second);
}

void add_tuning(Page& page, const Findings& findings) {
  page.heading("Settings");
  page.table(settings_table(findings));
  if (findings.tuning.empty()) return;
  TextTable t;
  t.head = {"data", "graph", "method", "protocol", "beta", "alpha", "gamma", "eta", "k", "ACC", "sd", "NMI", "chosen"};
  for (const TuningRow& r : findings.tuning)
    t.rows.push_back({std::string(title_of(r.dataset)), std::string(name_of(r.source)), std::string(name_of(r.method)),
                      std::string(name_of(judged_by(r.source))), fmt::format("{}", r.setting.beta),
                      fmt::format("{}", r.setting.alpha), fmt::format("{}", r.setting.gamma),
                      fmt::format("{}", r.setting.eta), fmt::format("{}", r.setting.k), fixed_text(r.acc, 4),
                      fixed_text(r.sd, 4), fixed_text(r.nmi, 4), r.chosen ? "yes" : "no"});
  page.paragraph(
      "Of the betas and alphas within one standard deviation (over the runs of k-means) of the best, the largest beta "
      "and the smallest alpha are taken: SC and LSC may be a little better elsewhere, as the search shows. Of gamma "
      "and "
      "eta the best are taken, then, in the half:40 space, of 3 and 8 neighbours.");
  page.markup("<details><summary>The search: every candidate</summary>\n");
  page.table(t);
  page.markup("</details>\n");
}

void add_method_of_study(Page& page, const Findings& findings) {
  const Plan& plan = findings.tables.plan();
  page.heading("How it was done");
  page.paragraph(fmt::format(
      "Noise: rho sd(X) N(0,1) is added to the pixels, then every image is scaled to unit norm; all methods see the "
      "same "
      "noise. 128 atoms, k neighbours as in the settings, binary edges. Every method runs {} iterations ({} of plain "
      "sparse coding, "
      "then with its graph terms; SPSC: {} before the pace, {} while the share of units let in rises from 0.5 to 1, {} "
      "with all weights 1). How many was chosen with the noisy images of seeds 1 and 2 in view, for all methods alike; "
      "the settings were tuned on clean images and seed 0. Numbers are means over {} runs of k-means, then over {} "
      "seed{} (noise, first dictionary, k-means).",
      kBudget.iterations(), kBudget.plain, kBudget.plain + kBudget.warm, kBudget.pace, kBudget.polish, kRuns,
      plan.seeds.size(), plan.seeds.size() == 1 ? "" : "s"));
  page.paragraph(
      "Protocols. Paper: k-means from randomly drawn samples on the codes as they are. Recommended: k-means++ on the "
      "codes scaled to unit norm. Graphs. raw: neighbours among the noisy images; half:40: among 40 half-whitened "
      "principal components of the noisy images; clean: among the images before the noise was added, which no user has "
      "(leakage), but the paper must have used. Without noise, clean and raw are the same. OS and "
      "SC "
      "have no graph.");
  page.paragraph(
      "Order: ACC of two methods at the same rho and seed; p by flipping signs of the differences, two-sided. SPSC's "
      "best level is chosen by the same numbers, which favours it a little.");
  page.paragraph(
      "The paper heads three columns of its Table 2 with the same name; they are read as SPSC-E, SPSC-S and SPSC-F, "
      "the "
      "order of its Table 1. Its HLSC is LSC-H here, its HIC is CSC. It has no numbers for LSC-G, CMU-PIE, purity, "
      "ARI.");
  std::string versions;
  for (const std::string& v : findings.versions) versions += (versions.empty() ? "" : ", ") + v;
  page.paragraph(
      fmt::format("Pacewise {}; {} cells in cells.csv, computed by version {}.", kVersion, findings.cells, versions));
}

}  // namespace

std::string report_page(const Findings& findings) {
  const Plan& plan = findings.tables.plan();
  Page page("Robust Sparse Coding via Self-Paced Learning, reproduced");
  if (plan.quick)
    page.paragraph(
        fmt::format("Quick run: {} seed{}, {} iterations, settings of the repository. Numbers of a full run "
                    "are better founded.",
                    plan.seeds.size(), plan.seeds.size() == 1 ? "" : "s", kBudget.iterations()));
  for (const std::string& name : plan.datasets)
    if (!findings.tables.complete(name))
      page.paragraph(fmt::format("{} is incomplete: {} cells of the plan are missing.", title_of(name),
                                 findings.tables.missing(name)));
  page.markup(list_of(headline(findings.tables)));
  for (const std::string& name : plan.datasets) add_dataset(page, findings, name);
  add_tuning(page, findings);
  add_method_of_study(page, findings);
  return page.html();
}

}  // namespace pacewise::reproduce

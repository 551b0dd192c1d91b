#include "reproduce/targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algebra/random.hpp"
#include "reproduce/paper.hpp"

namespace pacewise::reproduce {
namespace {

bool planned(const Tables& tables, const std::string& dataset) {
  const auto& all = tables.plan().datasets;
  return std::find(all.begin(), all.end(), dataset) != all.end();
}
bool planned(const Tables& tables, Source source) {
  const auto& all = tables.plan().sources;
  return std::find(all.begin(), all.end(), source) != all.end();
}

std::vector<double> accuracy_differences(const Tables& tables, const Comparison& c) {
  std::vector<double> out;
  for (const double rho : tables.plan().rhos) {
    const Entry* a = tables.find(c.dataset, rho, c.first, c.protocol, c.source, Metric::acc);
    const Entry* b = tables.find(c.dataset, rho, c.second, c.protocol, c.source, Metric::acc);
    if (a == nullptr || b == nullptr) continue;
    for (const auto& [seed, value] : a->by_seed)
      if (const auto other = b->by_seed.find(seed); other != b->by_seed.end()) out.push_back(value - other->second);
  }
  return out;
}

/// NaN where it was not run.
double mean_accuracy(const Tables& tables, const std::string& dataset, Method method, Protocol protocol,
                     Source source) {
  double sum = 0;
  int count = 0;
  for (const double rho : tables.plan().rhos)
    if (const Entry* e = tables.find(dataset, rho, method, protocol, source, Metric::acc)) {
      sum += e->mean;
      ++count;
    }
  return count > 0 ? sum / count : std::nan("");
}

std::string count_text(const Count& c, int wanted = Count::wanted) {
  if (c.compared == 0) return fmt::format("- of {}: not computed", wanted);
  std::string text = fmt::format("{} of {}", c.reached, wanted);
  if (c.compared < wanted) text += fmt::format(" (only {} were computed)", c.compared);
  return text;
}

std::string pie_text(const PieTarget& t) {
  if (t.found_acc == nullptr || t.found_nmi == nullptr) return fmt::format("rho {}: not computed", t.rho);
  return fmt::format("rho {}: {:.3f}/{:.3f} ({}), target {:.2f}/{:.2f}: {}", t.rho, t.found_acc->mean,
                     t.found_nmi->mean, name_of(t.best), t.acc, t.nmi, t.reached() ? "reached" : "not reached");
}

void add_order_lines(const Tables& tables, Protocol protocol, Source source, std::vector<std::string>& lines) {
  for (const std::string& dataset : tables.plan().datasets) {
    std::string text;
    const std::vector<Comparison> order = compare_in_order(tables, dataset, protocol, source);
    if (order.empty()) continue;
    bool all = true;
    for (const Comparison& c : order) {
      text += (text.empty() ? "" : "; ") + text_of(c);
      all = all && c.holds();
    }
    lines.push_back(fmt::format("Order on {} ({} protocol, {} graph): {}{}. {}", title_of(dataset), name_of(protocol),
                                name_of(source), all ? "holds on average" : "does not hold throughout",
                                order.size() < 3 ? " as far as it was computed" : "", text));
  }
}

}  // namespace

Count count_against_paper(const Tables& tables, const std::string& dataset, Protocol protocol, Source source) {
  Count out;
  for (const Method method : kSelfPaced)
    for (const double rho : kRhos)
      for (const Metric metric : {Metric::acc, Metric::nmi}) {
        const Entry* e = tables.find(dataset, rho, method, protocol, source, metric);
        if (e == nullptr || !e->paper) continue;
        ++out.compared;
        if (e->mean >= *e->paper) ++out.reached;
      }
  return out;
}

SignFlip sign_flip_test(const std::vector<double>& differences) {
  static constexpr std::size_t most_exact = 16;
  static constexpr int draws = 10'000;
  SignFlip out;
  const std::size_t n = differences.size();
  out.pairs = static_cast<int>(n);
  if (n == 0) return out;
  double sum = 0, size = 0;
  for (const double d : differences) {
    sum += d;
    size += std::abs(d);
  }
  out.mean = sum / static_cast<double>(n);
  const double limit = std::abs(sum) - 1e-12 * size;  // rounding must not make a pattern smaller than itself
  out.exact = n <= most_exact;
  int extreme = 0, patterns = 0;
  if (out.exact) {
    patterns = 1 << n;
    for (unsigned signs = 0; signs < 1U << n; ++signs) {
      double flipped = 0;
      for (std::size_t i = 0; i < n; ++i) flipped += (signs >> i & 1U) != 0 ? -differences[i] : differences[i];
      extreme += std::abs(flipped) >= limit ? 1 : 0;
    }
  } else {
    Random random(1709);
    patterns = draws + 1;
    extreme = 1;
    for (int draw = 0; draw < draws; ++draw) {
      double flipped = 0;
      for (const double d : differences) flipped += random.uniform() < 0.5 ? -d : d;
      extreme += std::abs(flipped) >= limit ? 1 : 0;
    }
  }
  out.p = static_cast<double>(extreme) / patterns;
  return out;
}

std::vector<Comparison> compare_in_order(const Tables& tables, const std::string& dataset, Protocol protocol,
                                         Source source) {
  const auto mean = [&](Method m) { return mean_accuracy(tables, dataset, m, protocol, source); };
  Method best = Method::spsc_e;
  for (const Method m : kSelfPaced)
    if (!(mean(m) <= mean(best)) && !std::isnan(mean(m))) best = m;
  std::vector<Comparison> out;
  const auto compare = [&](Method first, Method second, bool strict) {
    Comparison c{dataset, protocol, source, first, second, strict, {}};
    c.test = sign_flip_test(accuracy_differences(tables, c));
    if (c.test.pairs > 0) out.push_back(c);
  };
  compare(best, Method::csc, true);
  compare(Method::csc, Method::lsc_h, false);
  compare(Method::lsc_h, Method::sc, true);
  return out;
}

std::vector<PieTarget> pie_targets(const Tables& tables) {
  std::vector<PieTarget> out = {{0, 0.93, 0.97}, {1, 0.55, 0.74}};
  for (PieTarget& target : out)
    for (const Method method : kSelfPaced) {
      const Entry* acc = tables.find("pie", target.rho, method, Protocol::recommended, Source::half, Metric::acc);
      const Entry* nmi = tables.find("pie", target.rho, method, Protocol::recommended, Source::half, Metric::nmi);
      if (acc == nullptr || (target.found_acc != nullptr && acc->mean <= target.found_acc->mean)) continue;
      target.best = method;
      target.found_acc = acc;
      target.found_nmi = nmi;
    }
  return out;
}

std::string text_of(const Comparison& c) {
  return fmt::format("{} {} {}: {} ({:+.4f}, p = {:.4f}, {} pair{})", name_of(c.first),
                     c.strict ? ">" : ">=", name_of(c.second), c.holds() ? "yes" : "no", c.test.mean, c.test.p,
                     c.test.pairs, c.test.pairs == 1 ? "" : "s");
}

std::vector<std::string> headline(const Tables& tables) {
  std::vector<std::string> lines;
  for (const char* dataset : {"coil20", "mnist"})
    for (const Source source : {Source::half, Source::raw})
      if (planned(tables, dataset) && planned(tables, source))
        lines.push_back(fmt::format(
            "{}, recommended protocol, {} graph (no leakage): ACC and NMI of the three SPSC levels at or above the "
            "paper's: {}",
            title_of(dataset), name_of(source),
            count_text(count_against_paper(tables, dataset, Protocol::recommended, source))));
  if (planned(tables, "pie")) {
    std::string text = "CMU-PIE, recommended protocol, half:40 graph, best SPSC level (ACC/NMI), ";
    for (const PieTarget& target : pie_targets(tables)) text += (target.rho > 0 ? "; " : "") + pie_text(target);
    lines.push_back(text);
  }
  for (const char* dataset : {"coil20", "mnist"})
    if (planned(tables, dataset))
      lines.push_back(fmt::format("{}, the paper's protocol and graph (clean data: leakage): {}", title_of(dataset),
                                  count_text(count_against_paper(tables, dataset, Protocol::paper, Source::clean))));
  if (planned(tables, "coil20") && planned(tables, "mnist")) {
    Count both = count_against_paper(tables, "coil20", Protocol::paper, Source::clean);
    const Count mnist = count_against_paper(tables, "mnist", Protocol::paper, Source::clean);
    both.reached += mnist.reached;
    both.compared += mnist.compared;
    lines.push_back("Both together, the paper's protocol and graph: " + count_text(both, 2 * Count::wanted));
  }
  add_order_lines(tables, Protocol::recommended, Source::half, lines);
  add_order_lines(tables, Protocol::recommended, Source::raw, lines);
  add_order_lines(tables, Protocol::paper, Source::clean, lines);
  return lines;
}

}  // namespace pacewise::reproduce

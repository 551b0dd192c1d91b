#include "reproduce/runner.hpp"

#include <fmt/format.h>

#include <numeric>
#include <set>

#include "reproduce/workers.hpp"

namespace pacewise::reproduce {

void Runner::run(const std::vector<double>& efforts, const std::string& doing,
                 const std::function<void(std::size_t)>& work, const std::function<void(std::size_t)>& keep) {
  if (efforts.empty()) return;
  const double total = std::accumulate(efforts.begin(), efforts.end(), 0.0);
  double done = 0;
  std::size_t count = 0;
  const auto text = [&] { return fmt::format("{}: {} of {}", doing, count, efforts.size()); };
  if (watch_.begin) watch_.begin(text());
  run_in_parallel(
      efforts.size(), threads_, cancel_, work,
      [&](std::size_t i) {
        keep(i);
        done += efforts[i];
        ++count;
      },
      [&] {
        if (watch_.progress) watch_.progress(text(), done / total);
      });
  if (cancel_->load())
    throw Stopped(fmt::format("interrupted; {} finished cells are in {}, the same command goes on from there",
                              file_.all().size(), file_.path()));
}

void Runner::complete(const Dataset& dataset, const std::vector<Cell>& cells, const std::string& doing) {
  std::set<Cell> seen;
  std::vector<Cell> missing;
  for (const Cell& cell : cells)
    if (file_.find(cell) == nullptr && seen.insert(cell).second) missing.push_back(cell);
  std::vector<CellResult> results(missing.size());
  std::vector<double> efforts;
  for (const Cell& cell : missing) efforts.push_back(effort(cell));
  run(
      efforts, doing, [&](std::size_t i) { results[i] = run_cell(dataset, missing[i], cancel_); },
      [&](std::size_t i) {
        file_.add(missing[i], results[i]);
        ++computed_;
      });
}

void Runner::complete(const std::vector<std::function<void()>>& tasks, const std::string& doing) {
  run(
      std::vector<double>(tasks.size(), 1.0), doing, [&](std::size_t i) { tasks[i](); }, [](std::size_t) {});
}

}  // namespace pacewise::reproduce

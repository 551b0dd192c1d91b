#include "reproduce/cells_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "io/atomic_file.hpp"
#include "reproduce/rows.hpp"

namespace pacewise::reproduce {
namespace {

constexpr std::size_t kFirstScore = 12;

std::string head() {
  std::string line = "dataset,data,rho,seed,method,graph,beta,alpha,gamma,eta,k,budget";
  for (const Protocol protocol : kProtocols)
    for (const Metric metric : kMetrics)
      for (const char* what : {"mean", "sd"})
        line += fmt::format(",{}_{}_{}", name_of(protocol), name_of(metric), what);
  return line + ",objective,codes_certificate,iterations,ended,seconds,version";
}

std::string line_of_cell(const Cell& c, const CellResult& r) {
  std::string line = fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}", c.dataset, c.data, c.rho, c.seed,
                                 name_of(c.method), name_of(c.source), c.setting.beta, c.setting.alpha, c.setting.gamma,
                                 c.setting.eta, c.setting.k, c.iterations);
  for (const auto& protocol : r.scores)
    for (const Score& s : protocol) line += fmt::format(",{},{}", s.mean, s.sd);
  return line + fmt::format(",{},{},{},{},{:.3f},{}\n", r.objective, r.certificate, r.iterations, r.ended, r.seconds,
                            r.version);
}

void read(const std::string& path, std::map<Cell, CellResult>& cells) {
  const std::string text = text_in(path), first = head();
  Rows rows(printable(path, 200), text, first);
  while (rows.next()) {
    const Cell c{std::string(rows.text(0)),
                 std::string(rows.text(1)),
                 rows.number(2),
                 rows.whole(3),
                 rows.word(4, parse_method),
                 rows.word(5, parse_source),
                 {rows.number(6), rows.number(7), rows.number(8), rows.number(9), rows.whole(10)},
                 rows.whole(11)};
    CellResult r;
    std::size_t at = kFirstScore;
    for (auto& protocol : r.scores)
      for (Score& s : protocol) {
        s.mean = rows.number(at++);
        s.sd = rows.number(at++);
        if (!std::isfinite(s.mean) || !std::isfinite(s.sd)) rows.fault("a score that is not finite");
      }
    r.objective = rows.number(at++);
    r.certificate = rows.number(at++);
    r.iterations = rows.whole(at++);
    r.ended = rows.text(at++);
    r.seconds = rows.number(at++);
    r.version = rows.text(at);
    if (!cells.emplace(c, r).second) rows.fault("the same cell twice");
  }
}

}  // namespace

CellsFile::CellsFile(std::string path) : path_(std::move(path)) {
  const std::string folder = std::filesystem::absolute(path_).parent_path().string();
  folder_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // A file system without locks is used unlocked.
  const bool taken = folder_ >= 0 && ::flock(folder_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  try {
    if (taken)
      throw WriteError(printable(folder, 200) +
                       ": another run is using this folder; wait for it, or choose another --out");
    if (std::filesystem::exists(path_)) read(path_, cells_);
  } catch (...) {
    if (folder_ >= 0) ::close(folder_);
    throw;
  }
}

CellsFile::~CellsFile() {
  if (folder_ >= 0) ::close(folder_);
}

const CellResult* CellsFile::find(const Cell& cell) const {
  const auto found = cells_.find(cell);
  return found == cells_.end() ? nullptr : &found->second;
}

void CellsFile::add(const Cell& cell, const CellResult& result) {
  cells_[cell] = result;
  AtomicFile file(path_);
  file.write(head() + "\n");
  for (const auto& [c, r] : cells_) file.write(line_of_cell(c, r));
  file.commit();
}

}  // namespace pacewise::reproduce

#pragma once
#include <map>
#include <string>

#include "reproduce/cell.hpp"

namespace pacewise::reproduce {

/// Every finished cell, in memory and in one CSV file: the raw result of the study, and the reason why an interrupted
/// run goes on where it stopped. The file is whole at any moment.
class CellsFile {
 public:
  /// Reads what is there; a ReadError names a damaged line.
  explicit CellsFile(std::string path);
  const CellResult* find(const Cell& cell) const;
  /// Keeps it, and rewrites the file.
  void add(const Cell& cell, const CellResult& result);
  const std::map<Cell, CellResult>& all() const { return cells_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::map<Cell, CellResult> cells_;
};

}  // namespace pacewise::reproduce

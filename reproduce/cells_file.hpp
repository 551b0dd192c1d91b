#pragma once
#include <map>
#include <string>

#include "reproduce/cell.hpp"

namespace pacewise::reproduce {

/// Every finished cell, in memory and in one CSV file: the raw result of the study, and the reason why an interrupted
/// run goes on where it stopped. The file is whole at any moment, and belongs to one run at a time: two that rewrite it
/// would each drop what the other has found.
class CellsFile {
 public:
  /// Reads what is there; a ReadError names a damaged line, a WriteError a folder that another run is using.
  explicit CellsFile(std::string path);
  ~CellsFile();
  CellsFile(const CellsFile&) = delete;
  CellsFile& operator=(const CellsFile&) = delete;
  const CellResult* find(const Cell& cell) const;
  /// Keeps it, and rewrites the file.
  void add(const Cell& cell, const CellResult& result);
  const std::map<Cell, CellResult>& all() const { return cells_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int folder_ = -1;  // holds the lock
  std::map<Cell, CellResult> cells_;
};

}  // namespace pacewise::reproduce

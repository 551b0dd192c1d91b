#pragma once
#include <functional>
#include <string>
#include <vector>

#include "reproduce/cells_file.hpp"

namespace pacewise::reproduce {

/// How a run shows what it does; either may be empty.
struct Watch {
  std::function<void(const std::string& doing)> begin;
  std::function<void(const std::string& doing, double share)> progress;
};

/// The user stopped the study; finished cells are kept.
class Stopped : public Error {
 public:
  using Error::Error;
};

/// Completes cells: those in the file are taken from there, the others are computed, one thread each.
class Runner {
 public:
  Runner(CellsFile& file, int threads, const std::atomic<bool>* cancel, Watch watch)
      : file_(file), threads_(threads), cancel_(cancel), watch_(std::move(watch)) {}

  /// Stopped where the user wants it; else all of them are in the file afterwards.
  void complete(const Dataset& dataset, const std::vector<Cell>& cells, const std::string& doing);
  /// Work that is not kept in the file.
  void complete(const std::vector<std::function<void()>>& tasks, const std::string& doing);

  const CellsFile& file() const { return file_; }
  const std::atomic<bool>* cancel() const { return cancel_; }
  int computed() const { return computed_; }  // cells that were not in the file

 private:
  void run(const std::vector<double>& efforts, const std::string& doing, const std::function<void(std::size_t)>& work,
           const std::function<void(std::size_t)>& keep);

  CellsFile& file_;
  int threads_;
  const std::atomic<bool>* cancel_;
  Watch watch_;
  int computed_ = 0;
};

}  // namespace pacewise::reproduce

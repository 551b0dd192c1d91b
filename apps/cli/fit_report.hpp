#pragma once
#include <string>

#include "apps/cli/montage.hpp"
#include "apps/cli/weight_history.hpp"
#include "apps/report/page.hpp"
#include "evaluate/scores.hpp"
#include "io/table.hpp"
#include "model/fit.hpp"

namespace pacewise::cli {

/// The atoms and the course of the run: the parts that `fit --report` and `demo` share. rows = 0: not pictures.
template <class T>
void add_atoms(Page& page, const Matrix<T>& dictionary, Index rows, Index columns);
void add_convergence(Page& page, const std::vector<Record>& history);

/// The figures of a finished fit.
template <class T>
TextTable summary_table(const Model<T>& model);
/// What a descending pace said of hidden entries at each stage; no rows without one.
TextTable stage_table(const std::vector<Stage>& stages, int chosen);
/// What the certificates of that table mean, a sentence per line.
std::vector<std::string> certificate_notes();

/// k-means on the codes, several runs, against labels.
struct Clustering {
  std::vector<Scores> runs;
  std::vector<std::int32_t> assignment;  // of the run with the least inertia
};

/// What the page of `fit --report` is made of.
template <class T>
struct FitReport {
  const Result<T>& result;
  const Model<T>& model;
  std::string name;              // of the data
  const Table<T>& table;         // names and shape of the data
  std::vector<WrongCell> cells;  // of a table: those that are doubted
  const WeightHistory<T>& weights;
  const Labels* labels = nullptr;
  const Clustering* clustering = nullptr;
};
template <class T>
std::string fit_page(const FitReport<T>& report);

}  // namespace pacewise::cli

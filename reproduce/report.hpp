#pragma once
#include <map>
#include <string>

#include "reproduce/figures.hpp"
#include "reproduce/tables.hpp"
#include "reproduce/tuning.hpp"

namespace pacewise::reproduce {

/// Everything a run found, ready to be written.
struct Findings {
  Tables tables;
  Settings settings;
  std::vector<TuningRow> tuning;
  std::map<std::string, Dataset> datasets;
  std::map<std::string, Figures> figures;  // empty: not wanted
  int cells = 0;                           // in cells.csv
  std::vector<std::string> versions;       // that computed them
};

/// The settings in use, by data set, graph and method.
TextTable settings_table(const Findings& findings);

/// cells.csv is there already; writes tuning.csv, tables.csv, results.json and report.html into the folder.
void write_findings(const std::string& folder, const Findings& findings);

}  // namespace pacewise::reproduce

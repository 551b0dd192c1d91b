#pragma once
#include <map>
#include <string>
#include <tuple>

#include "reproduce/study.hpp"

namespace pacewise::reproduce {

struct ChosenSetting {
  Setting setting;
  std::string origin;  // "not tuned", or how it was found
};

/// The weights of the terms by data set, source of the graph and method. The clean source has those of raw, the
/// self-paced methods those of CSC, OS none.
class Settings {
 public:
  /// Those in the repository.
  static Settings committed();
  /// Those of a file of the same form (reproduce/settings.csv) instead; the others stay. A fault is a ReadError.
  void read(const std::string& path);
  void set(const std::string& dataset, Source source, Method method, ChosenSetting chosen);
  /// An Error where there is none.
  const ChosenSetting& of(const std::string& dataset, Source source, Method method) const;

 private:
  void add(const std::string& name, std::string_view text);

  std::map<std::tuple<std::string, Source, Method>, ChosenSetting> chosen_;
};

}  // namespace pacewise::reproduce

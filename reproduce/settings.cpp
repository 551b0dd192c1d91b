#include "reproduce/settings.hpp"

#include "reproduce/embedded.hpp"
#include "reproduce/rows.hpp"

namespace pacewise::reproduce {
namespace {

/// Whose setting a method uses.
Method tuned_as(Method method) { return level_of(method) == Level::none ? method : Method::csc; }

}  // namespace

Settings Settings::committed() {
  Rows rows("reproduce/settings.csv", kSettingsCsv, "dataset,graph,method,beta,alpha,gamma,eta,source");
  Settings out;
  while (rows.next())
    out.set(std::string(rows.text(0)), rows.word(1, parse_source), rows.word(2, parse_method),
            {{rows.number(3), rows.number(4), rows.number(5), rows.number(6)}, std::string(rows.text(7))});
  return out;
}

void Settings::set(const std::string& dataset, Source source, Method method, ChosenSetting chosen) {
  chosen_[{dataset, source, tuned_as(method)}] = std::move(chosen);
}

const ChosenSetting& Settings::of(const std::string& dataset, Source source, Method method) const {
  static const ChosenSetting none{{}, "has none"};
  if (method == Method::os) return none;
  const auto found = chosen_.find({dataset, source, tuned_as(method)});
  if (found == chosen_.end())
    throw Error("settings: none for " + dataset + ", graph " + std::string(name_of(source)) + ", " +
                std::string(name_of(method)));
  return found->second;
}

}  // namespace pacewise::reproduce

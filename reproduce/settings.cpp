#include "reproduce/settings.hpp"

#include <cmath>

#include "reproduce/embedded.hpp"
#include "reproduce/rows.hpp"

namespace pacewise::reproduce {
namespace {

/// Whose setting a method uses.
Method tuned_as(Method method) { return level_of(method) == Level::none ? method : Method::csc; }

}  // namespace

Settings Settings::committed() {
  Settings out;
  out.add("reproduce/settings.csv", kSettingsCsv);
  return out;
}

void Settings::read(const std::string& path) { add(printable(path, 200), text_in(path)); }

void Settings::add(const std::string& name, std::string_view text) {
  Rows rows(name, text, "dataset,graph,method,beta,alpha,gamma,eta,k,source");
  while (rows.next()) {
    const std::string dataset(rows.word(0, parse_dataset));
    const Setting s{rows.number(3), rows.number(4), rows.number(5), rows.number(6), rows.whole(7)};
    for (const double value : {s.beta, s.alpha, s.gamma, s.eta})
      if (!(value >= 0 && std::isfinite(value))) rows.fault("beta, alpha, gamma and eta must be finite and >= 0");
    if (s.k < 1) rows.fault("k must be >= 1");
    if (s.gamma > 0 && s.eta == 0) rows.fault("eta must be > 0 where gamma is");
    set(dataset, rows.word(1, parse_source), rows.word(2, parse_method), {s, std::string(rows.text(8))});
  }
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
                std::string(name_of(method)) + "; without --quick, --no-tune and --settings they are tuned");
  return found->second;
}

}  // namespace pacewise::reproduce

#include "model/options_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace pacewise {
namespace {

using nlohmann::json;

OptionValue value_of(const json& j) {
  if (j.is_boolean()) return j.get<bool>();
  if (j.is_number_integer()) return j.get<std::int64_t>();
  if (j.is_number()) return j.get<double>();
  if (j.is_string()) return j.get<std::string>();
  if (j.is_array() && std::all_of(j.begin(), j.end(), [](const json& x) { return x.is_number(); }))
    return j.get<std::vector<double>>();
  return {};  // of no type: set() refuses it
}

const json* find(const json& object, const Option& row) {
  std::vector<std::string> names = row.old_names;
  names.insert(names.begin(), {row.name, row.python});
  for (const std::string& name : names)
    if (const auto found = object.find(name); found != object.end() && !found->is_null()) return &*found;
  return nullptr;
}

}  // namespace

json to_json(const Options& options) {
  json out = json::object();
  for (const Option& row : option_table()) {
    const OptionValue value = row.get(options);
    json& field = out[row.name];
    std::visit(
        [&](const auto& v) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(v)>, std::monostate>) field = v;
        },
        value);
  }
  return out;
}

Options options_from_json(const json& object) {
  Options options;
  for (const Option& row : option_table())  // in this order: a regulariser before its parameters
    if (const json* found = find(object, row)) row.set(options, value_of(*found));
  return options;
}

}  // namespace pacewise

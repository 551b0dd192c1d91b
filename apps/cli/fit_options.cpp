#include "apps/cli/fit_options.hpp"

#include <algorithm>

#include "apps/cli/outcome.hpp"

namespace pacewise::cli {
namespace {

using Type = Option::Type;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : "|") + word;
  return out;
}

/// "128, table 16, paper 3"; nothing where an option is not set by default
std::string default_of(const Option& row) {
  const auto text = [&](Preset which, Kind kind) {
    Options options = preset(which, kind);
    if (row.name == "kind") options.kind = Kind::automatic;
    if (!row.regularizer.empty()) options.regularizer = parse_regularizer(row.regularizer);
    const OptionValue value = row.get(options);
    return value.index() == 0 ? std::string() : to_text(value);
  };
  std::string out = text(Preset::robust, Kind::images);
  const std::string table = text(Preset::robust, Kind::table), paper = text(Preset::paper, Kind::images);
  const auto add = [&](const std::string& more) { out += (out.empty() ? "" : ", ") + more; };
  if (paper != out) add("paper " + paper);
  if (table != text(Preset::robust, Kind::images)) add("of a table " + table);
  return out;
}

/// --beta-ratio; a switch that is on by default is called by what it does: --no-normalized-laplacian
std::string argument_name(const Option& row) {
  std::string name = row.name;
  std::replace(name.begin(), name.end(), '_', '-');
  return (row.type == Type::flag && std::get<bool>(row.get({})) ? "--no-" : "--") + name;
}

CLI::Option* add(CLI::App& app, const Option& row, bool file) {
  const std::string name = argument_name(row);
  if (row.type == Type::flag) {
    const std::string help = (name.starts_with("--no-") ? "Switch off: " : "") + row.help;
    return app.add_flag(name, help);
  }
  std::string type = joined(row.choices) + (file ? "|FILE" : ""), rule;
  if (row.type == Type::integer) type = "N", rule = row.rule().substr(std::string("an integer ").size());
  if (row.type == Type::real) type = "X", rule = row.range.rule();
  if (row.type == Type::numbers) type = "FILE";
  const std::string help = row.help + (rule.empty() ? "" : " (" + rule + ")");
  return app.add_option(name, help)->type_name(type)->default_str(default_of(row));
}

}  // namespace

TableOptions::TableOptions(CLI::App& app, const std::vector<std::string>& files, const std::vector<std::string>& only) {
  if (only.empty())
    preset_ = app.add_option("--preset", "Where the defaults come from: robust, or as in the paper")
                  ->group(option_table().front().group)
                  ->type_name("robust|paper")
                  ->default_str("robust");
  for (const Option& row : option_table()) {
    if (!only.empty() && !contains(only, row.name)) continue;
    const bool file = contains(files, row.name);
    rows_.push_back({&row, file, add(app, row, file)->group(only.empty() ? row.group : "Options")});
  }
  if (only.empty()) app.get_option("--beta-ratio")->excludes("--beta");
}

void TableOptions::collect(GivenOptions& given) const {
  try {
    if (preset_ != nullptr && preset_->count() > 0) {
      given.options = preset(parse<Preset>(preset_->as<std::string>()));
      given.given.push_back(preset_->get_name());
    }
    for (const auto& [row, file, argument] : rows_) {
      if (argument->count() == 0) continue;
      const std::string text = row->type == Type::flag ? "" : argument->as<std::string>();
      if (file && !row->names(text)) {  // must be given again to go on from a checkpoint
        given.files[row->name] = text;
        continue;
      }
      given.given.push_back(argument->get_name());
      given.named.push_back(row->name);
      if (row->type == Type::flag)
        row->set(given.options, !std::get<bool>(row->get({})));
      else if (row->type == Type::numbers)
        given.files[row->name] = text;
      else
        row->set(given.options, row->parse(text));
    }
    if (!contains(given.given, "--pace")) imply_pace(given.options);
    if (!contains(given.given, "--regularizer")) imply_regularizer(given.options);
    validate(given.options);
  } catch (const Error& e) {
    throw UsageError(e.what());
  }
}

}  // namespace pacewise::cli

#include "options.hpp"

namespace pacewise::python {
namespace {

nb::object from_value(const OptionValue& value) {
  return std::visit(
      [](const auto& v) -> nb::object {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::monostate>)
          return nb::none();
        else
          return nb::cast(v);
      },
      value);
}

OptionValue to_value(const std::string& name, nb::handle v) {
  if (v.is_none()) return {};
  if (nb::isinstance<nb::bool_>(v)) return nb::cast<bool>(v);
  if (nb::isinstance<nb::str>(v)) return nb::cast<std::string>(v);
  std::int64_t integer = 0;
  if (nb::isinstance<nb::int_>(v) && nb::try_cast(v, integer)) return integer;
  double real = 0;
  if (nb::try_cast(v, real)) return real;
  std::vector<double> numbers;
  if (nb::try_cast(v, numbers)) return numbers;
  throw Error(name + " = " + nb::cast<std::string>(nb::str(v)) + ": must be a number, a word or a list of numbers");
}

std::string text_of(nb::handle key) { return nb::cast<std::string>(nb::str(key)); }

}  // namespace

Regularizer to_regularizer(const std::string& name, const nb::dict& parameters) {
  Options out;
  out.regularizer = parse_regularizer(name);
  for (const auto& [key, value] : parameters) {
    const Option* row = find_option(text_of(key));
    if (row == nullptr || row->regularizer.empty())
      throw Error("parameter " + text_of(key) + ": regularizer " + name + " has none of this name");
    row->set(out, to_value(text_of(key), value), text_of(key));
  }
  return out.regularizer;
}

Options to_options(const nb::dict& given, std::vector<std::string>* named) {
  Options out = given.contains("preset") && !given["preset"].is_none() ? preset(parse<Preset>(text_of(given["preset"])))
                                                                       : Options();
  for (const auto& [key, value] : given)
    if (const std::string name = text_of(key);
        name != "preset" && name != "regularizer_params" && find_option(name) == nullptr)
      throw Error("option " + name + ": there is none of this name");
  for (const Option& row : option_table())
    for (const auto& [key, value] : given)
      if (find_option(text_of(key)) == &row && !value.is_none()) {
        row.set(out, to_value(text_of(key), value), text_of(key));
        if (named != nullptr) named->push_back(row.name);
      }
  if (!given.contains("regularizer") || given["regularizer"].is_none()) imply_regularizer(out);
  if (given.contains("regularizer_params") && !given["regularizer_params"].is_none()) {
    if (!nb::isinstance<nb::dict>(given["regularizer_params"]))
      throw Error("regularizer_params = " + text_of(given["regularizer_params"]) + ": must be a dict");
    out.regularizer =
        to_regularizer(std::string(name_of(out.regularizer)), nb::cast<nb::dict>(given["regularizer_params"]));
  }
  if (!given.contains("pace") || given["pace"].is_none()) imply_pace(out);
  validate(out);
  return out;
}

nb::dict from_options(const Options& options) {
  nb::dict out;
  for (const Option& row : option_table()) {
    const OptionValue value = row.get(options);
    if (row.regularizer.empty() || value.index() != 0) out[row.python.c_str()] = from_value(value);
  }
  return out;
}

nb::list option_rows() {
  constexpr const char* types[] = {"flag", "integer", "real", "choice", "numbers"};
  nb::list out;
  for (const Option& row : option_table()) {
    nb::dict d, defaults;
    for (const std::string_view which : {"robust", "table", "paper"}) {
      const bool table = which == "table";
      Options options = table ? preset(Preset::robust, Kind::table) : preset(parse<Preset>(which));
      if (row.name == "kind") options.kind = Kind::automatic;
      if (!row.regularizer.empty()) options.regularizer = parse_regularizer(row.regularizer);
      defaults[std::string(which).c_str()] = from_value(row.get(options));
    }
    d["name"] = row.name;
    d["python"] = row.python;
    d["symbol"] = row.symbol;
    d["group"] = row.group;
    d["type"] = types[static_cast<int>(row.type)];
    d["rule"] = row.rule();
    d["choices"] = row.choices;
    d["help"] = row.help;
    d["regularizer"] = row.regularizer;
    d["defaults"] = defaults;
    out.append(d);
  }
  return out;
}

}  // namespace pacewise::python

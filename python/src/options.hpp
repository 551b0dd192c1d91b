#pragma once
#include "arrays.hpp"
#include "model/fields.hpp"

namespace pacewise::python {

/// Options by the names of scikit-learn or of the table. None stands for the preset's value; unknown names are Errors.
/// "preset" and "regularizer_params", a dict, are taken too.
/// `named`: those that were given.
Options to_options(const nb::dict& given, std::vector<std::string>* named = nullptr);
nb::dict from_options(const Options& options);
Regularizer to_regularizer(const std::string& name, const nb::dict& parameters);
/// The fields of a struct, as files hold them (model/fields.hpp)
template <class Fields>
nb::dict to_dict(const Fields& fields) {
  nb::dict d;
  visit_fields(fields, [&](const char* name, const auto& value) { d[name] = value; });
  return d;
}
/// The table as a list of dicts.
nb::list option_rows();

}  // namespace pacewise::python

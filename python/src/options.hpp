#pragma once
#include "arrays.hpp"
#include "model/encode.hpp"

namespace pacewise::python {

/// Python names on one side, Options on the other. Unknown names are Errors; None stands for the preset's value.
Options to_options(const nb::dict& given);
nb::dict from_options(const Options& options);

Regularizer to_regularizer(const std::string& name, const nb::dict& parameters);
GraphKind parse_graph(const std::string& text);
EdgeWeight parse<EdgeWeight>(const std::string& text);
Normalize parse<Normalize>(const std::string& text);

}  // namespace pacewise::python

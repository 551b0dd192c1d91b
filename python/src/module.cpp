#include "arrays.hpp"
#include "pacewise/version.hpp"

namespace pacewise::python {
void bind_model(nb::module_& module);
void bind_steps(nb::module_& module);
void bind_graph(nb::module_& module);
void bind_evaluate(nb::module_& module);
}  // namespace pacewise::python

// The private module behind the package: arrays in, arrays out. Shapes, defaults and documentation are the package's.
NB_MODULE(_core, module) {
  using namespace pacewise::python;
  nb::exception<pacewise::Error>(module, "Error", PyExc_ValueError);
  nb::exception<pacewise::WriteError>(module, "WriteError", PyExc_OSError);
  module.attr("version") = pacewise::kVersion;
  bind_model(module);
  bind_steps(module);
  bind_graph(module);
  bind_evaluate(module);
}

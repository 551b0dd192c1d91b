#include "arrays.hpp"
#include "bindings.hpp"
#include "pacewise/version.hpp"

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

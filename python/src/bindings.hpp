#pragma once
#include <nanobind/nanobind.h>

namespace pacewise::python {

void bind_model(nanobind::module_& module);
void bind_steps(nanobind::module_& module);
void bind_graph(nanobind::module_& module);
void bind_evaluate(nanobind::module_& module);

}  // namespace pacewise::python

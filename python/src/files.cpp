#include "arrays.hpp"
#include "io/table.hpp"
#include "running.hpp"

namespace pacewise::python {
namespace {

using namespace nb::literals;

/// The table's own numbers; read-only where they are a mapping of the file.
template <class T>
nb::object values_of(const Table<T>& table) {
  const MatrixView<const T> v = table.values;
  const auto n = static_cast<std::size_t>(v.cols), m = static_cast<std::size_t>(v.rows);
  if (table.mapped) {
    nb::object array = array_over(const_cast<T*>(v.data), {n, m}, table.owner, {v.stride, 1});
    array.attr("setflags")("write"_a = false);
    return array;
  }
  return array_over(const_cast<T*>(v.data), {n, m}, table.owner, {v.stride, 1});
}

template <class Texts>
nb::list list_of(const Texts& items) {
  nb::list out;
  for (const auto& item : items) out.append(item);
  return out;
}

template <class T>
nb::dict read(const std::string& path, const std::string& variable, const std::string& label_column,
              std::optional<bool> header, const std::string& delimiter, int threads) {
  ReadOptions options;
  options.variable = variable;
  options.label_column = label_column;
  options.labels_beside = true;
  options.header = header;
  options.delimiter = delimiter.empty() ? char{0} : delimiter[0];
  Table<T> table;
  run(threads, [&](const Control& control) {
    options.threads = control.threads;
    options.cancel = control.cancel;
    table = read_table<T>(path, options);
  });
  nb::dict d;
  d["data"] = table.sparse ? nb::none() : values_of(table);
  d["sparse"] = table.sparse ? from_sparse(std::move(*table.sparse)) : nb::none();
  d["target"] = table.labels ? to_line(std::move(table.labels->value)) : nb::none();
  d["target_names"] = table.labels ? nb::object(list_of(table.labels->names)) : nb::none();
  d["feature_names"] = list_of(table.feature_names);
  d["sample_shape"] = list_of(table.sample_shape);
  d["notes"] = list_of(table.notes);
  d["format"] = table.format;
  return d;
}

nb::tuple labels(const std::string& path, Index samples, const std::string& variable) {
  ReadOptions options;
  options.variable = variable;
  Labels found;
  run(0, [&](const Control& control) {
    options.threads = control.threads;
    options.cancel = control.cancel;
    found = read_labels(path, samples, options);
  });
  return nb::make_tuple(to_line(std::move(found.value)), list_of(found.names));
}

}  // namespace

}  // namespace pacewise::python

NB_MODULE(_files, m) {
  using namespace pacewise::python;
  m.attr("Error") = nb::module_::import_("pacewise._core").attr("Error");
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void* error) {
        try {
          std::rethrow_exception(thrown);
        } catch (const pacewise::Error& e) {
          PyErr_SetString(static_cast<PyObject*>(error), e.what());
        }
      },
      nb::object(m.attr("Error")).ptr());
  m.def("read_float32", &read<float>, "path"_a, "variable"_a, "label_column"_a, "header"_a.none(), "delimiter"_a,
        "threads"_a);
  m.def("read_float64", &read<double>, "path"_a, "variable"_a, "label_column"_a, "header"_a.none(), "delimiter"_a,
        "threads"_a);
  m.def("read_labels", &labels, "path"_a, "samples"_a, "variable"_a);
}

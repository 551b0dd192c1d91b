#include "arrays.hpp"

namespace pacewise::python {

Sparse to_sparse(const SparseParts& parts) {
  const auto start = nb::cast<Line<std::int64_t>>(parts[2]);
  const auto index = nb::cast<Line<std::int32_t>>(parts[3]);
  const auto value = nb::cast<Line<double>>(parts[4]);
  Sparse out;
  out.rows = nb::cast<Index>(parts[0]);
  out.cols = nb::cast<Index>(parts[1]);
  out.start.assign(start.data(), start.data() + start.size());
  out.index.assign(index.data(), index.data() + index.size());
  out.value.assign(value.data(), value.data() + value.size());
  return out;
}

nb::object from_sparse(Sparse a) {
  if (a.empty()) return nb::none();
  return nb::make_tuple(a.rows, a.cols, to_line(std::move(a.start)), to_line(std::move(a.index)),
                        to_line(std::move(a.value)));
}

}  // namespace pacewise::python

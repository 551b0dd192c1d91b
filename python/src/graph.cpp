#include "graph/graph.hpp"

#include "options.hpp"
#include "running.hpp"

namespace pacewise::python {
namespace {

using namespace nb::literals;

template <class T>
nb::tuple build(const Rows<T>& X, const nb::dict& given, int threads) {
  const Options options = to_options(given);
  Graph graph;
  run(threads, [&](const Control& control) {
    graph = build_graph<T>(prepare<T>({view(X), {}}, Normalize::none, nullptr, control), options, control);
  });
  return nb::make_tuple(from_sparse(std::move(graph.incidence)), from_sparse(std::move(graph.laplacian)));
}

template <class T>
nb::tuple neighbours(const Rows<T>& X, Index k, int threads) {
  Neighbours found;
  run(threads, [&](const Control& control) {
    found = nearest<T>(prepare<T>({view(X), {}}, Normalize::none, nullptr, control), k, control);
  });
  const auto n = static_cast<std::size_t>(found.n), kk = static_cast<std::size_t>(found.k);
  auto* distance = found.squared_distance.data();
  auto* index = found.index.data();
  return nb::make_tuple(array_over(distance, {n, kk}, std::move(found.squared_distance)),
                        array_over(index, {n, kk}, std::move(found.index)));
}

template <class T>
void bind(nb::module_& m) {
  m.def("build_graph", &build<T>, "X"_a, "options"_a, "threads"_a);
  m.def("nearest", &neighbours<T>, "X"_a, "k"_a, "threads"_a);
}

}  // namespace

void bind_graph(nb::module_& m) {
  bind<float>(m);
  bind<double>(m);
}

}  // namespace pacewise::python

#pragma once
#include <string>
#include <vector>

#include "pacewise/control.hpp"
#include "pacewise/matrix.hpp"
#include "pacewise/options.hpp"

namespace pacewise {

struct Graph {
  Sparse laplacian;                // L, n x n
  Sparse incidence;                // H, e x n (e = n: one hyperedge per vertex, itself and its k nearest)
  std::vector<std::string> notes;  // what was done that the user should know (missing entries, isolated samples)
};

/// The graph of the samples X (m x n, NaN = missing), by options.graph, k, graph_space, edge_weight,
/// normalized_laplacian, heat_width and seed. X is taken as it is: fit() normalises before it builds its own.
Graph build_graph(MatrixView<const float> X, const Options& options = {}, const Control& control = {});
Graph build_graph(MatrixView<const double> X, const Options& options = {}, const Control& control = {});

}  // namespace pacewise

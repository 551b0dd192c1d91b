#pragma once
#include <string>
#include <vector>

#include "algebra/sparse.hpp"
#include "graph/neighbours.hpp"
#include "graph/space.hpp"
#include "pacewise/data.hpp"

namespace pacewise {

/// By options.graph, k, graph_space, edge_weight, normalized_laplacian, heat_width and seed.
template <class T>
Graph build_graph(const Samples<T>& X, const Options& options, const Control& control);
/// From nearest() on coordinates the user gives (D x n), or that `project` made. Only cosine weights look at `points`.
/// graph, edge_weight, normalized_laplacian and heat_width count, the other options do not.
template <class T>
Graph build_graph_from_neighbours(const Neighbours& neighbours, const Samples<T>& points, const Options& options);

/// L = 1 - Dx^-1/2 H' We De^-1 H Dx^-1/2. An isolated vertex (no edge) has a zero row in L. Empty edge_weight = ones.
Sparse hypergraph_laplacian(const Sparse& incidence, const Vector<double>& edge_weight);
/// D - A, or 1 - D^-1/2 A D^-1/2 (an isolated vertex has a zero row). A: square, symmetric, finite, non-negative.
Sparse graph_laplacian(const Sparse& affinity, bool normalized);
/// A Laplacian from the user: square, symmetric, finite, positive semidefinite; else an Error that says which.
void check_laplacian(const Sparse& laplacian);

}  // namespace pacewise

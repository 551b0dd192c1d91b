#pragma once
#include <string>
#include <vector>

#include "algebra/sparse.hpp"
#include "graph/neighbours.hpp"
#include "graph/space.hpp"

namespace pacewise {

enum class GraphKind : std::uint8_t { none, knn, hypergraph };
/// binary: 1. heat: exp(-d^2 / width). cosine: max(0, cos). probabilistic: incidence in [0,1], heat-kernel membership
/// in the hyperedge (the edge's own vertex belongs with 1).
enum class EdgeWeight : std::uint8_t { binary, heat, cosine, probabilistic };

struct GraphOptions {
  GraphKind kind = GraphKind::hypergraph;
  Index k = 3;
  Space space = {};
  EdgeWeight weight = EdgeWeight::binary;
  bool normalized = true;  // graph: 1 - D^-1/2 A D^-1/2 instead of D - A; a hypergraph Laplacian is always normalised
  double heat_width = 0;   // 0: the mean squared distance to the k neighbours
  std::uint64_t seed = 0;  // of the randomised SVD
};

struct Graph {
  Sparse laplacian;                // L, n x n
  Sparse incidence;                // H, e x n (e = n: one hyperedge per vertex, itself and its k nearest)
  std::vector<std::string> notes;  // what was done that the user should know (missing entries, isolated samples)
};

template <class T>
Graph build_graph(const Samples<T>& X, const GraphOptions& options, const Control& control);
/// From nearest() on coordinates the user gives (D x n), or that `project` made. Only cosine weights look at `points`.
/// kind, weight, normalized and heat_width count, the rest of the options does not.
template <class T>
Graph build_graph_from_neighbours(const Neighbours& neighbours, const Samples<T>& points, const GraphOptions& options);

/// L = 1 - Dx^-1/2 H' We De^-1 H Dx^-1/2. An isolated vertex (no edge) has a zero row in L. Empty edge_weight = ones.
Sparse hypergraph_laplacian(const Sparse& incidence, const Vector<double>& edge_weight);
/// D - A, or 1 - D^-1/2 A D^-1/2 (an isolated vertex has a zero row). A: square, symmetric, finite, non-negative.
Sparse graph_laplacian(const Sparse& affinity, bool normalized);
/// A Laplacian from the user: square, symmetric, finite, positive semidefinite; else an Error that says which.
void check_laplacian(const Sparse& laplacian);

}  // namespace pacewise

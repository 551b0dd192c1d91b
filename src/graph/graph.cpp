#include "graph/graph.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "algebra/eigen.hpp"

namespace pacewise {
namespace {

/// cos over the entries both samples have, negative values cut to 0
template <class T>
double cosine(const Samples<T>& X, Index a, Index b) {
  double xy = 0, xx = 0, yy = 0;
  for (Index i = 0; i < X.values.rows; ++i) {
    if (X.missing(i, a) || X.missing(i, b)) continue;
    const auto x = static_cast<double>(X.values(i, a)), y = static_cast<double>(X.values(i, b));
    xy += x * y;
    xx += x * x;
    yy += y * y;
  }
  return xy > 0 ? std::min(1.0, xy / std::sqrt(xx) / std::sqrt(yy)) : 0;
}

double mean_distance(const Neighbours& neighbours) {
  double sum = 0, count = 0;
  for (std::size_t p = 0; p < neighbours.index.size(); ++p) {
    if (neighbours.index[p] < 0) continue;
    sum += neighbours.squared_distance[p];
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

/// k x n, 0 where there is no neighbour
template <class T>
Vector<double> similarities(const Neighbours& neighbours, const Samples<T>& points, const Options& options) {
  const double width = options.heat_width > 0 ? options.heat_width : mean_distance(neighbours);
  Vector<double> out(neighbours.index.size(), 0.0);
  for (Index p = 0; p < static_cast<Index>(out.size()); ++p) {
    const Index i = neighbours.index[p], j = p / neighbours.k;
    if (i < 0) continue;
    const double d = neighbours.squared_distance[p];
    if (options.edge_weight == EdgeWeight::binary)
      out[p] = 1;
    else if (options.edge_weight == EdgeWeight::cosine)
      out[p] = cosine(points, i, j);
    else
      out[p] = d > 0 ? std::exp(-d / width) : 1;
  }
  return out;
}

/// A_ij = max(w_ij, w_ji)
Sparse affinity(const Neighbours& neighbours, const Vector<double>& similarity) {
  std::vector<Eigen::Triplet<double, std::int32_t>> entries;
  entries.reserve(2 * similarity.size());
  for (Index p = 0; p < std::ssize(similarity); ++p) {
    if (neighbours.index[p] < 0) continue;
    const auto i = neighbours.index[p], j = static_cast<std::int32_t>(p / neighbours.k);
    entries.emplace_back(i, j, similarity[p]);
    entries.emplace_back(j, i, similarity[p]);
  }
  EigenSparse A(neighbours.n, neighbours.n);
  A.setFromTriplets(entries.begin(), entries.end(), [](double a, double b) { return std::max(a, b); });
  return from_eigen(A);
}

/// Row j: sample j with 1, and its neighbours with 1 or, probabilistic, with their similarity
Sparse incidence(const Neighbours& neighbours, const Vector<double>& similarity, EdgeWeight weight) {
  std::vector<Triplet> entries;
  entries.reserve(similarity.size() + static_cast<std::size_t>(neighbours.n));
  for (Index j = 0; j < neighbours.n; ++j) {
    const auto edge = static_cast<std::int32_t>(j);
    entries.push_back({edge, edge, 1});
    for (Index p = j * neighbours.k; p < (j + 1) * neighbours.k; ++p)
      if (neighbours.index[p] >= 0)
        entries.push_back({edge, neighbours.index[p], weight == EdgeWeight::probabilistic ? similarity[p] : 1});
  }
  return sparse_from_triplets(neighbours.n, neighbours.n, entries);
}

/// heat, cosine: the mean similarity of the hyperedge's own vertex to the others in it; else ones
Vector<double> hyperedge_weights(const Neighbours& neighbours, const Vector<double>& similarity, EdgeWeight weight) {
  Vector<double> out(neighbours.n, 1.0);
  if (weight == EdgeWeight::binary || weight == EdgeWeight::probabilistic) return out;
  for (Index j = 0; j < neighbours.n; ++j) {
    double sum = 0, count = 0;
    for (Index p = j * neighbours.k; p < (j + 1) * neighbours.k; ++p)
      if (neighbours.index[p] >= 0) {
        sum += similarity[p];
        ++count;
      }
    if (count > 0) out[j] = sum / count;
  }
  return out;
}

void note_short_of_neighbours(const Neighbours& neighbours, std::vector<std::string>& notes) {
  Index without = 0, fewer = 0;
  for (Index j = 0; j < neighbours.n; ++j) {
    const std::int32_t* index = neighbours.index.data() + j * neighbours.k;
    if (index[0] < 0)
      ++without;
    else if (index[neighbours.k - 1] < 0)
      ++fewer;
  }
  const std::string of = " of " + std::to_string(neighbours.n) + " samples have ";
  if (without > 0)
    notes.push_back(std::to_string(without) + of +
                    "no comparable neighbour (no observed entry in common): the graph does not link them to any other");
  if (fewer > 0)
    notes.push_back(std::to_string(fewer) + of + "fewer than k = " + std::to_string(neighbours.k) +
                    " comparable neighbours");
}

/// "12.3% of the entries are missing"
std::string missing_share(Index missing, Index entries) {
  char text[64];
  const double share = 100 * static_cast<double>(missing) / static_cast<double>(entries);
  std::snprintf(text, sizeof text,
                share < 0.1 ? "%.2g%% of the entries are missing" : "%.1f%% of the entries are missing", share);
  return text;
}

template <class T>
Index count_missing(const Samples<T>& X) {
  Index missing = 0;
  for (Index j = 0; j < X.values.cols && X.weights != nullptr; ++j)
    for (Index i = 0; i < X.values.rows; ++i) missing += X.missing(i, j) ? 1 : 0;
  return missing;
}

/// For progress: a few passes of 4 m (D + 20) operations per sample, then 2 n D per sample to compare it with all.
double projection_share(Index m, Index n, Index dimensions) {
  const double passes = 5, project = passes * 4 * static_cast<double>(m) * static_cast<double>(dimensions + 20);
  return project / (project + 2 * static_cast<double>(n) * static_cast<double>(dimensions));
}

}  // namespace

template <class T>
Graph build_graph_from_neighbours(const Neighbours& neighbours, const Samples<T>& points, const Options& options) {
  validate(options);
  if (options.graph == GraphKind::none) return {};
  const Vector<double> similarity = similarities(neighbours, points, options);
  Graph graph;
  graph.incidence = incidence(neighbours, similarity, options.edge_weight);
  if (options.graph == GraphKind::knn)
    graph.laplacian = graph_laplacian(affinity(neighbours, similarity), options.normalized_laplacian);
  else
    graph.laplacian =
        hypergraph_laplacian(graph.incidence, hyperedge_weights(neighbours, similarity, options.edge_weight));
  note_short_of_neighbours(neighbours, graph.notes);
  return graph;
}

template <class T>
Graph build_graph(const Samples<T>& X, const Options& options, const Control& control) {
  if (options.graph == GraphKind::none) return {};
  validate(options);
  const Index m = X.values.rows, n = X.values.cols, missing = count_missing(X);
  if (options.k >= n)
    throw Error("k = " + std::to_string(options.k) + ": must be less than the number of samples, " + std::to_string(n));
  const std::string share = missing_share(missing, std::max<Index>(m * n, 1));
  std::vector<std::string> notes;
  Graph graph;
  if (options.graph_space.kind == Space::Kind::raw) {
    graph = build_graph_from_neighbours(nearest(X, options.k, control), X, options);
    if (missing > 0)
      notes.push_back(share + ": the graph's distances are over the entries both samples have, times m / |common|");
  } else {
    const double projected = projection_share(m, n, options.graph_space.dimensions);
    const Coordinates found = project(X, options.graph_space, options.seed, control.part(0, projected));
    const Samples<double> points = found.samples();
    graph = build_graph_from_neighbours(nearest(points, options.k, control.part(projected, 1)), points, options);
    const std::string rank = std::to_string(found.points.rows());
    if (found.points.rows() < std::min({options.graph_space.dimensions, m, n - 1}))
      notes.push_back("graph space " + to_string(options.graph_space) + ": the data have only " + rank +
                      " dimensions that stand out of rounding, all of them are used");
    if (missing > 0)
      notes.push_back(share + ": for the graph they are filled in by the rank-" + rank + " model of the data");
  }
  graph.notes.insert(graph.notes.begin(), notes.begin(), notes.end());
  return graph;
}

Graph build_graph(MatrixView<const float> X, const Options& options, const Control& control) {
  return build_graph<float>(prepare<float>({X, {}}, Normalize::none, nullptr, control), options, control);
}
Graph build_graph(MatrixView<const double> X, const Options& options, const Control& control) {
  return build_graph<double>(prepare<double>({X, {}}, Normalize::none, nullptr, control), options, control);
}

#define PACEWISE_INSTANTIATE(T)                                                  \
  template Graph build_graph(const Samples<T>&, const Options&, const Control&); \
  template Graph build_graph_from_neighbours(const Neighbours&, const Samples<T>&, const Options&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

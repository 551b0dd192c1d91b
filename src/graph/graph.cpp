#include "graph/graph.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "algebra/index.hpp"
#include "graph/part_of.hpp"

namespace pacewise {
namespace {

void check_options(const GraphOptions& options) {
  if (options.k < 1) throw Error("k = " + std::to_string(options.k) + ": must be at least 1");
  if (!(options.heat_width >= 0) || !std::isfinite(options.heat_width))
    throw Error("heat_width = " + std::to_string(options.heat_width) +
                ": must be finite and at least 0 (0: automatic)");
}

void check_neighbours(const Neighbours& neighbours, MatrixView<const double> points, const GraphOptions& options) {
  const std::size_t size = checked_size(neighbours.k, neighbours.n);
  if (neighbours.index.size() != size || neighbours.squared_distance.size() != size)
    throw Error("neighbours: index and squared_distance must each have k n = " + std::to_string(size) + " entries");
  for (Index j = 0; j < neighbours.n; ++j)
    for (Index q = 0; q < neighbours.k; ++q) {
      const Index p = j * neighbours.k + q, i = neighbours.index[to_size(p)];
      if (i < -1 || i >= neighbours.n || i == j)
        throw Error("neighbours: neighbour " + std::to_string(i) + " of sample " + std::to_string(j) +
                    " must be another sample below " + std::to_string(neighbours.n) + ", or -1");
      if (i >= 0 && !(neighbours.squared_distance[to_size(p)] >= 0))
        throw Error("neighbours: squared_distance " + std::to_string(neighbours.squared_distance[to_size(p)]) +
                    " of sample " + std::to_string(j) + " must be non-negative");
    }
  if (options.weight == EdgeWeight::cosine && points.cols != neighbours.n)
    throw Error("points: has " + std::to_string(points.cols) + " samples, must have " + std::to_string(neighbours.n));
}

/// cos over the entries both samples have, negative values cut to 0
double cosine(const double* x, const double* y, Index size) {
  double xy = 0, xx = 0, yy = 0;
  for (Index i = 0; i < size; ++i) {
    if (std::isnan(x[i]) || std::isnan(y[i])) continue;
    xy += x[i] * y[i];
    xx += x[i] * x[i];
    yy += y[i] * y[i];
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
std::vector<double> similarities(const Neighbours& neighbours, MatrixView<const double> points,
                                 const GraphOptions& options) {
  const double width = options.heat_width > 0 ? options.heat_width : mean_distance(neighbours);
  std::vector<double> out(neighbours.index.size(), 0.0);
  for (Index p = 0; p < static_cast<Index>(out.size()); ++p) {
    const Index i = neighbours.index[to_size(p)], j = p / neighbours.k;
    if (i < 0) continue;
    const double d = neighbours.squared_distance[to_size(p)];
    if (options.weight == EdgeWeight::binary)
      out[to_size(p)] = 1;
    else if (options.weight == EdgeWeight::cosine)
      out[to_size(p)] = cosine(points.col(i), points.col(j), points.rows);
    else
      out[to_size(p)] = d > 0 ? std::exp(-d / width) : 1;
  }
  return out;
}

/// A_ij = max(w_ij, w_ji)
Sparse affinity(const Neighbours& neighbours, const std::vector<double>& similarity) {
  std::vector<Triplet> entries;
  entries.reserve(2 * similarity.size());
  for (Index p = 0; p < static_cast<Index>(similarity.size()); ++p) {
    if (neighbours.index[to_size(p)] < 0) continue;
    const auto i = neighbours.index[to_size(p)], j = static_cast<std::int32_t>(p / neighbours.k);
    entries.push_back({i, j, similarity[to_size(p)]});
    entries.push_back({j, i, similarity[to_size(p)]});
  }
  std::sort(entries.begin(), entries.end(), [](const Triplet& a, const Triplet& b) {
    return a.col != b.col ? a.col < b.col : a.row != b.row ? a.row < b.row : a.value > b.value;
  });
  const auto last = std::unique(entries.begin(), entries.end(),
                                [](const Triplet& a, const Triplet& b) { return a.col == b.col && a.row == b.row; });
  entries.erase(last, entries.end());
  return sparse_from_triplets(neighbours.n, neighbours.n, std::move(entries));
}

/// Row j: sample j with 1, and its neighbours with 1 or, probabilistic, with their similarity
Sparse incidence(const Neighbours& neighbours, const std::vector<double>& similarity, EdgeWeight weight) {
  std::vector<Triplet> entries;
  entries.reserve(similarity.size() + to_size(neighbours.n));
  for (Index j = 0; j < neighbours.n; ++j) {
    const auto edge = static_cast<std::int32_t>(j);
    entries.push_back({edge, edge, 1});
    for (Index p = j * neighbours.k; p < (j + 1) * neighbours.k; ++p)
      if (neighbours.index[to_size(p)] >= 0)
        entries.push_back(
            {edge, neighbours.index[to_size(p)], weight == EdgeWeight::probabilistic ? similarity[to_size(p)] : 1});
  }
  return sparse_from_triplets(neighbours.n, neighbours.n, std::move(entries));
}

/// heat, cosine: the mean similarity of the hyperedge's own vertex to the others in it; else ones
Vector<double> hyperedge_weights(const Neighbours& neighbours, const std::vector<double>& similarity,
                                 EdgeWeight weight) {
  Vector<double> out(neighbours.n, 1.0);
  if (weight == EdgeWeight::binary || weight == EdgeWeight::probabilistic) return out;
  for (Index j = 0; j < neighbours.n; ++j) {
    double sum = 0, count = 0;
    for (Index p = j * neighbours.k; p < (j + 1) * neighbours.k; ++p)
      if (neighbours.index[to_size(p)] >= 0) {
        sum += similarity[to_size(p)];
        ++count;
      }
    if (count > 0) out[to_size(j)] = sum / count;
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
Index count_missing(MatrixView<const T> X) {
  Index missing = 0;
  for (Index j = 0; j < X.cols; ++j)
    missing += std::count_if(X.col(j), X.col(j) + X.rows, [](T x) { return std::isnan(x); });
  return missing;
}

/// For progress: a few passes of 4 m (D + 20) operations per sample, then 2 n D per sample to compare it with all.
double projection_share(Index m, Index n, Index dimensions) {
  const double passes = 5, project = passes * 4 * static_cast<double>(m) * static_cast<double>(dimensions + 20);
  return project / (project + 2 * static_cast<double>(n) * static_cast<double>(dimensions));
}

}  // namespace

Graph build_graph_from_neighbours(const Neighbours& neighbours, MatrixView<const double> points,
                                  const GraphOptions& options) {
  check_options(options);
  if (options.kind == GraphKind::none) return {};
  check_neighbours(neighbours, points, options);
  const std::vector<double> similarity = similarities(neighbours, points, options);
  Graph graph;
  graph.incidence = incidence(neighbours, similarity, options.weight);
  if (options.kind == GraphKind::knn)
    graph.laplacian = graph_laplacian(affinity(neighbours, similarity), options.normalized);
  else
    graph.laplacian = hypergraph_laplacian(graph.incidence, hyperedge_weights(neighbours, similarity, options.weight));
  note_short_of_neighbours(neighbours, graph.notes);
  return graph;
}

template <class T>
Graph build_graph(MatrixView<const T> X, const GraphOptions& options, const Control& control) {
  if (options.kind == GraphKind::none) return {};
  check_options(options);
  if (options.k >= X.cols)
    throw Error("k = " + std::to_string(options.k) + ": must be less than the number of samples, " +
                std::to_string(X.cols));
  std::vector<std::string> notes;
  const Index missing = count_missing(X);
  const std::string share = missing_share(missing, std::max<Index>(X.rows * X.cols, 1));
  Neighbours neighbours;
  Matrix<double> points;
  if (options.space.kind == Space::Kind::raw) {
    neighbours = nearest(X, options.k, control);
    if (options.weight == EdgeWeight::cosine) points = cast<double>(X);
    if (missing > 0)
      notes.push_back(share + ": the graph's distances are over the entries both samples have, times m / |common|");
  } else {
    const double projected = projection_share(X.rows, X.cols, options.space.dimensions);
    const PartOf space(control, 0, projected), search(control, projected, 1);
    points = project(X, options.space, options.seed, space.control()).points;
    neighbours = nearest<double>(points.view(), options.k, search.control());
    if (points.rows() < options.space.dimensions)
      notes.push_back("graph space " + to_string(options.space) + ": the data have only " +
                      std::to_string(points.rows()) + " dimensions that stand out of rounding, all of them are used");
    if (missing > 0)
      notes.push_back(share + ": for the graph they are filled in by the rank-" + std::to_string(points.rows()) +
                      " model of the data");
  }
  Graph graph = build_graph_from_neighbours(neighbours, points, options);
  graph.notes.insert(graph.notes.begin(), notes.begin(), notes.end());
  return graph;
}

template Graph build_graph<float>(MatrixView<const float>, const GraphOptions&, const Control&);
template Graph build_graph<double>(MatrixView<const double>, const GraphOptions&, const Control&);

}  // namespace pacewise

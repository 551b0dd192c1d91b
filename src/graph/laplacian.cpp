#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "algebra/dense.hpp"
#include "algebra/index.hpp"
#include "algebra/random.hpp"
#include "algebra/sums.hpp"
#include "graph/graph.hpp"

namespace pacewise {
namespace {

std::string figure(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

void check_non_negative(const Sparse& a, const std::string& name) {
  for (Index j = 0; j < a.cols; ++j)
    for (Index p = a.start[to_size(j)]; p < a.start[to_size(j + 1)]; ++p)
      if (!(a.value[to_size(p)] >= 0) || !std::isfinite(a.value[to_size(p)]))
        throw Error(name + ": entry (" + std::to_string(a.index[to_size(p)]) + ", " + std::to_string(j) + ") is " +
                    figure(a.value[to_size(p)]) + ", must be finite and non-negative");
}

std::vector<double> column_sums(const Sparse& a) {
  std::vector<double> sum(to_size(a.cols), 0.0);
  for (Index j = 0; j < a.cols; ++j)
    for (Index p = a.start[to_size(j)]; p < a.start[to_size(j + 1)]; ++p) sum[to_size(j)] += a.value[to_size(p)];
  return sum;
}

/// x^-1/2, and 0 where x = 0
std::vector<double> inverse_roots(std::vector<double> x) {
  for (double& v : x) v = v > 0 ? 1 / std::sqrt(v) : 0;
  return x;
}

/// diag(d) - a
Sparse subtract_from_diagonal(const std::vector<double>& d, const Sparse& a) {
  std::vector<Triplet> entries;
  entries.reserve(d.size() + a.index.size());
  for (Index j = 0; j < a.cols; ++j) {
    const auto col = static_cast<std::int32_t>(j);
    entries.push_back({col, col, d[to_size(j)]});
    for (Index p = a.start[to_size(j)]; p < a.start[to_size(j + 1)]; ++p)
      entries.push_back({a.index[to_size(p)], col, -a.value[to_size(p)]});
  }
  return sparse_from_triplets(a.rows, a.cols, std::move(entries));
}

std::vector<double> ones_where_positive(const std::vector<double>& x) {
  std::vector<double> out(x.size());
  std::transform(x.begin(), x.end(), out.begin(), [](double v) { return v > 0 ? 1.0 : 0.0; });
  return out;
}

/// Smallest Ritz value of a Lanczos run with full reorthogonalisation: never below the smallest eigenvalue, so a
/// negative one proves that the matrix is not positive semidefinite.
double smallest_ritz_value(const Sparse& a, double size) {
  const Index n = a.rows, steps = std::min<Index>(n, 100);
  Matrix<double> basis(n, steps);
  std::vector<double> alpha, beta, w(to_size(n));
  Random random(1);
  for (double& x : w) x = random.normal();
  const auto norm = [n](const std::vector<double>& x) { return std::sqrt(inner_product(x.data(), x.data(), n)); };
  for (double length = norm(w);;) {
    double* q = basis.col(static_cast<Index>(alpha.size()));
    for (Index i = 0; i < n; ++i) q[i] = w[to_size(i)] / length;
    std::fill(w.begin(), w.end(), 0.0);  // w = A q
    for (Index j = 0; j < n; ++j)
      for (Index p = a.start[to_size(j)]; p < a.start[to_size(j + 1)]; ++p)
        w[to_size(a.index[to_size(p)])] += a.value[to_size(p)] * q[j];
    alpha.push_back(inner_product(w.data(), q, n));
    const auto built = static_cast<Index>(alpha.size());
    double before = 0;  // what falls to less than a tenth has lost a digit of its orthogonality: once more
    length = norm(w);
    do {
      before = length;
      for (Index k = 0; k < built; ++k) {
        const double* q_k = basis.col(k);
        const double along = inner_product(q_k, w.data(), n);
        for (Index i = 0; i < n; ++i) w[to_size(i)] -= along * q_k[i];
      }
      length = norm(w);
    } while (length < 0.1 * before && length > 1e-13 * size);
    if (built == steps || length <= 1e-13 * size) break;
    beta.push_back(length);
  }
  return tridiagonal_eigenvalues(alpha, beta).front();
}

}  // namespace

Sparse hypergraph_laplacian(const Sparse& incidence, const std::vector<double>& edge_weight) {
  check_non_negative(incidence, "incidence");
  if (!edge_weight.empty() && static_cast<Index>(edge_weight.size()) != incidence.rows)
    throw Error("edge_weight: has " + std::to_string(edge_weight.size()) + " entries, must have one for each of the " +
                std::to_string(incidence.rows) + " hyperedges");
  for (std::size_t e = 0; e < edge_weight.size(); ++e)
    if (!(edge_weight[e] >= 0) || !std::isfinite(edge_weight[e]))
      throw Error("edge_weight: entry " + std::to_string(e) + " is " + figure(edge_weight[e]) +
                  ", must be finite and non-negative");
  // G = (We / De)^1/2 H Dx^-1/2, L = 1 - G'G: symmetric to the last bit
  const std::vector<double> vertex_degree = column_sums(scale(incidence, edge_weight, {}));
  std::vector<double> root = inverse_roots(column_sums(transpose(incidence)));
  for (std::size_t e = 0; e < edge_weight.size(); ++e) root[e] *= std::sqrt(edge_weight[e]);
  const Sparse G = scale(incidence, root, inverse_roots(vertex_degree));
  return subtract_from_diagonal(ones_where_positive(vertex_degree), multiply(transpose(G), G));
}

Sparse graph_laplacian(const Sparse& affinity, bool normalized) {
  check_symmetric(affinity, "affinity");
  check_non_negative(affinity, "affinity");
  const std::vector<double> degree = column_sums(affinity);
  if (!normalized) return subtract_from_diagonal(degree, affinity);
  const std::vector<double> root = inverse_roots(degree);
  return subtract_from_diagonal(ones_where_positive(degree), scale(affinity, root, root));
}

void check_laplacian(const Sparse& laplacian) {
  check_symmetric(laplacian, "laplacian");
  const std::vector<double> on = diagonal(laplacian);
  double size = 0;  // the largest row sum of sizes bounds every |eigenvalue|
  double margin = std::numeric_limits<double>::infinity();
  for (Index j = 0; j < laplacian.cols; ++j) {
    double sum = 0;
    for (Index p = laplacian.start[to_size(j)]; p < laplacian.start[to_size(j + 1)]; ++p)
      sum += std::abs(laplacian.value[to_size(p)]);
    size = std::max(size, sum);
    margin = std::min(margin, on[to_size(j)] - (sum - std::abs(on[to_size(j)])));
  }
  const double tolerance = 1e-6 * size;
  for (Index j = 0; j < laplacian.cols; ++j)
    if (on[to_size(j)] < -tolerance)
      throw Error("laplacian: diagonal entry " + std::to_string(j) + " is " + figure(on[to_size(j)]) +
                  ", must be positive semidefinite");
  // diagonal dominance: by Gershgorin no eigenvalue is below the margin
  if (size == 0 || margin >= -tolerance) return;
  const double smallest = smallest_ritz_value(laplacian, size);
  if (smallest < -tolerance)
    throw Error("laplacian: has an eigenvalue of at most " + figure(smallest) + ", must be positive semidefinite");
}

}  // namespace pacewise

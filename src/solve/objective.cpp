#include "solve/objective.hpp"

#include <algorithm>
#include <cmath>

#include "algebra/gram_sum.hpp"
#include "algebra/sums.hpp"
#include "solve/consistency.hpp"

namespace pacewise {
namespace {

/// |H - Q S|_F^2 = |H|^2 - 2 sum_e q_e'S h_e + <Q'Q, S S'>, and |Q|_F^2 = tr Q'Q: no e x n array
struct Consistency {
  double gap = 0, ridge = 0;
};
template <class T>
Consistency consistency_terms(MatrixView<const T> S, const Sparse& H, const Matrix<T>& Q, const Control& control) {
  const Index r = S.rows, n = S.cols;
  const SerialBlas serial;
  const Sparse edges = transpose(H);
  std::vector<double> along(static_cast<std::size_t>(edges.cols), 0.0);  // q_e'S h_e
  const Matrix<double> qq = gram_sum(r, edges.cols, control, [&](Index first, MatrixView<double> q) {
    rows_of(Q, first, q);
    Vector<double> sum(static_cast<std::size_t>(r));
    for (Index at = 0; at < q.cols; ++at) {
      edge_sum(edges, S, first + at, sum.data());
      along[static_cast<std::size_t>(first + at)] = inner_product<double>(q.col(at), sum.data(), r);
    }
  });
  const Matrix<double> ss = gram_sum(r, n, control, [&](Index first, MatrixView<double> part) {
    for (Index j = 0; j < part.cols; ++j) std::copy_n(S.col(first + j), r, part.col(j));
  });
  Consistency out;
  for (const double h : H.value) out.gap += h * h;
  for (const double a : along) out.gap -= 2 * a;
  out.gap += inner_product<double>(qq.data(), ss.data(), qq.size());
  for (Index k = 0; k < r; ++k) out.ridge += qq(k, k);
  return out;
}

}  // namespace

double Objective::magnitude() const {
  return std::abs(fit) + std::abs(pace) + std::abs(sparsity) + std::abs(manifold) + std::abs(consistency);
}

template <class T>
Objective code_terms(MatrixView<const T> S, double beta, const Coupling<T>& coupling, double eta,
                     const Control& control) {
  const Index r = S.rows, n = S.cols, blocks = block_count(n);
  std::vector<double> absolute(static_cast<std::size_t>(blocks), 0.0), manifold(absolute);
  parallel_blocks(blocks, control, [&](Index block, int) {
    const Index first = block * kBlock, b = block_length(n, block);
    double sum = 0, smooth = 0;
    for (Index j = first; j < first + b; ++j) {
      sum += sum_of_sizes<T>(S.col(j), r);
      if (!coupling.manifold()) continue;
      const Sparse& L = *coupling.laplacian;
      for (Index at = L.start[static_cast<std::size_t>(j)]; at < L.start[static_cast<std::size_t>(j + 1)]; ++at) {
        const T* other = S.col(L.index[static_cast<std::size_t>(at)]);
        smooth += L.value[static_cast<std::size_t>(at)] * inner_product<T>(S.col(j), other, r);
      }
    }
    absolute[static_cast<std::size_t>(block)] = sum;
    manifold[static_cast<std::size_t>(block)] = smooth;
  });
  Objective out;
  for (Index block = 0; block < blocks; ++block) {
    out.sparsity += beta * absolute[static_cast<std::size_t>(block)];
    out.manifold += coupling.alpha * manifold[static_cast<std::size_t>(block)];
  }
  if (coupling.consistent()) {
    const Consistency terms = consistency_terms(S, *coupling.incidence, *coupling.consistency, control);
    out.consistency = coupling.gamma * (terms.gap + eta * terms.ridge);
  }
  return out;
}

template Objective code_terms<float>(MatrixView<const float>, double, const Coupling<float>&, double, const Control&);
template Objective code_terms<double>(MatrixView<const double>, double, const Coupling<double>&, double,
                                      const Control&);

}  // namespace pacewise

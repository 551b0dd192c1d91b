#include "pacewise/solve/objective.hpp"

#include <algorithm>
#include <cmath>

#include "pacewise/algebra/dense.hpp"
#include "pacewise/algebra/sums.hpp"

namespace pacewise {
namespace {

/// |H - Q S|_F^2 = |H|^2 - 2 sum_(e,j in H) h q_e's_j + <Q'Q, S S'>: no e x n array
template <class T>
double consistency_gap(MatrixView<const T> S, const Sparse& H, const Matrix<T>& Q, const Control& control) {
  const Index r = S.rows, n = S.cols, blocks = block_count(n);
  const SerialBlas serial;
  Matrix<double> rows(r, Q.rows());  // of Q, a column each
  for (Index k = 0; k < r; ++k)
    for (Index e = 0; e < Q.rows(); ++e) rows(k, e) = static_cast<double>(Q(e, k));
  Matrix<double> qq(r, r);
  gram<double>(Op::plain, 1, rows, 0, qq.view());
  std::vector<double> parts(static_cast<std::size_t>(blocks), 0.0);
  struct Samples {
    Matrix<double> s, image;
  };
  std::vector<Samples> workers(static_cast<std::size_t>(thread_count(control)),
                               {Matrix<double>(r, std::min(n, kBlock)), Matrix<double>(r, std::min(n, kBlock))});
  parallel_blocks(blocks, control, [&](Index block, int worker) {
    const Index first = block * kBlock, b = block_length(n, block);
    Samples& w = workers[static_cast<std::size_t>(worker)];
    double sum = 0;
    for (Index j = 0; j < b; ++j) {
      std::copy_n(S.col(first + j), r, w.s.col(j));
      for (Index at = H.start[static_cast<std::size_t>(first + j)];
           at < H.start[static_cast<std::size_t>(first + j + 1)]; ++at) {
        const double h = H.value[static_cast<std::size_t>(at)];
        sum += h * h - 2 * h * inner_product<double>(rows.col(H.index[static_cast<std::size_t>(at)]), w.s.col(j), r);
      }
    }
    gemm<double>(Op::plain, Op::plain, 1, qq, w.s.view().columns(0, b), 0, w.image.view().columns(0, b));
    parts[static_cast<std::size_t>(block)] = sum + inner_product<double>(w.s.data(), w.image.data(), r * b);
  });
  double total = 0;
  for (const double p : parts) total += p;
  return total;
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
    double ridge = 0;
    for (Index i = 0; i < coupling.consistency->size(); ++i) {
      const double q = static_cast<double>(coupling.consistency->data()[i]);
      ridge += q * q;
    }
    out.consistency =
        coupling.gamma * (consistency_gap(S, *coupling.incidence, *coupling.consistency, control) + eta * ridge);
  }
  return out;
}

template Objective code_terms<float>(MatrixView<const float>, double, const Coupling<float>&, double, const Control&);
template Objective code_terms<double>(MatrixView<const double>, double, const Coupling<double>&, double,
                                      const Control&);

}  // namespace pacewise

#include "pacewise/solve/objective.hpp"

#include <algorithm>
#include <cmath>

#include "pacewise/algebra/dense.hpp"

namespace pacewise {
namespace {

/// |H - Q S|_F^2 = |H|^2 - 2 sum_(e,j in H) h q_e's_j + <Q'Q, S S'>: no e x n array
template <class T>
double consistency_gap(MatrixView<const T> S, const Sparse& H, const Matrix<T>& Q, const Control& control) {
  const Index r = S.rows, n = S.cols, blocks = block_count(n);
  const SerialBlas serial;
  const Matrix<double> wide = cast<double>(Q.view());
  Matrix<double> qq(r, r);
  gram<double>(Op::transposed, 1, wide, 0, qq.view());
  std::vector<double> parts(static_cast<std::size_t>(blocks), 0.0);
  parallel_blocks(blocks, control, [&](Index block, int) {
    const Index first = block * kBlock, b = block_length(n, block);
    Vector<double> image(static_cast<std::size_t>(r));
    double sum = 0;
    for (Index j = first; j < first + b; ++j) {
      for (Index at = H.start[static_cast<std::size_t>(j)]; at < H.start[static_cast<std::size_t>(j + 1)]; ++at) {
        const double h = H.value[static_cast<std::size_t>(at)];
        double dot = 0;
        for (Index k = 0; k < r; ++k)
          dot += wide(H.index[static_cast<std::size_t>(at)], k) * static_cast<double>(S(k, j));
        sum += h * h - 2 * h * dot;
      }
      std::fill(image.begin(), image.end(), 0.0);
      for (Index k = 0; k < r; ++k) {  // s'(Q'Q)s
        const double s = static_cast<double>(S(k, j));
        if (s == 0) continue;
        for (Index l = 0; l < r; ++l) image[static_cast<std::size_t>(l)] += s * qq(l, k);
      }
      for (Index k = 0; k < r; ++k) sum += image[static_cast<std::size_t>(k)] * static_cast<double>(S(k, j));
    }
    parts[static_cast<std::size_t>(block)] = sum;
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
      for (Index k = 0; k < r; ++k) sum += std::abs(static_cast<double>(S(k, j)));
      if (!coupling.manifold()) continue;
      const Sparse& L = *coupling.laplacian;
      for (Index at = L.start[static_cast<std::size_t>(j)]; at < L.start[static_cast<std::size_t>(j + 1)]; ++at) {
        const T* other = S.col(L.index[static_cast<std::size_t>(at)]);
        double dot = 0;
        for (Index k = 0; k < r; ++k) dot += static_cast<double>(S(k, j)) * static_cast<double>(other[k]);
        smooth += L.value[static_cast<std::size_t>(at)] * dot;
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

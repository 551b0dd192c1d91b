#include "solve/code_terms.hpp"

#include <cmath>

namespace pacewise {

void Penalty::validate(Index atoms) const {
  const auto refuse = [](const char* name, double value, const char* rule) {
    throw Error(std::string(name) + " = " + std::to_string(value) + ": must be " + rule);
  };
  if (!(beta >= 0) || !std::isfinite(beta)) refuse("beta", beta, "finite and >= 0");
  if (!(l2 >= 0) || !std::isfinite(l2)) refuse("l2", l2, "finite and >= 0");
  if (!atom.empty() && std::ssize(atom) != atoms)
    throw Error("atom_penalty has " + std::to_string(atom.size()) + " numbers: must have one for each of the " +
                std::to_string(atoms) + " atoms");
  for (const double p : atom)
    if (!(p >= 0) || !std::isfinite(p)) refuse("atom_penalty", p, "finite and >= 0");
}

template <class T>
Matrix<double> sum_of_outer_products(MatrixView<const T> A, const Control& control) {
  const Index r = A.rows;
  struct Sum {
    EigenMatrix<double> gram;
    Sum& operator+=(const Sum& other) {
      gram += other.gram;
      return *this;
    }
  };
  const Sum sum = parallel_sum(
      A.cols, control, Sum{EigenMatrix<double>::Zero(r, r)},
      [&](Index first, Index count, int, Sum& mine) {
        const EigenMatrix<double> part = eigen(A.columns(first, count)).template cast<double>();
        mine.gram.noalias() += part * part.transpose();
      },
      256, 8);
  Matrix<double> out(r, r);
  eigen(out) = sum.gram;
  return out;
}

template <class T>
CodeTerms<T>::CodeTerms(const Penalty& penalty, const Coupling<T>& coupling, Index atoms, const Control& control)
    : penalty_(penalty), coupling_(coupling), p_(atoms) {
  penalty.validate(atoms);
  for (Index k = 0; k < atoms; ++k) p_[k] = penalty.of(k);
  if (coupling.consistent()) {
    const Matrix<T>& Q = *coupling.consistency;
    Qt_.resize_for_overwrite(atoms, Q.rows());
    parallel_for(Q.rows(), control.to_the_end(), [&](Index first, Index count, int) {
      eigen(Qt_.view().columns(first, count)) = eigen(Q).middleRows(first, count).transpose();
    });
    C_ = sum_of_outer_products<T>(Qt_, control);
    eigen(C_) *= coupling.gamma;
  }
  if (penalty.l2 > 0) {
    if (C_.empty()) C_.resize(atoms, atoms);
    eigen(C_).diagonal().array() += penalty.l2;
  }
}

template <class T>
template <class U>
void CodeTerms<T>::add_linear(Index j, U* y) const {
  if (Qt_.empty()) return;
  const Sparse& H = *coupling_.incidence;
  for (Index at = H.start[j]; at < H.start[j + 1]; ++at) {
    const T* q = Qt_.col(H.index[at]);
    const U h = static_cast<U>(coupling_.gamma * H.value[at]);
    for (Index k = 0; k < Qt_.rows(); ++k) y[k] += h * static_cast<U>(q[k]);
  }
}

template <class T>
template <class U>
void CodeTerms<T>::add_laplacian(MatrixView<const T> S, Index j, U f, U* y) const {
  if (!coupling_.manifold()) return;
  const Sparse& L = *coupling_.laplacian;
  for (Index at = L.start[j]; at < L.start[j + 1]; ++at) {
    const T* s = S.col(L.index[at]);
    const U l = f * static_cast<U>(L.value[at]);
    for (Index k = 0; k < S.rows; ++k) y[k] += l * static_cast<U>(s[k]);
  }
}

template <class T>
CodeSums CodeTerms<T>::sums(MatrixView<const T> S, const Control& control) const {
  const Index r = S.rows;
  return parallel_sum(S.cols, control, CodeSums{}, [&](Index first, Index count, int, CodeSums& sum) {
    Vector<double> y(r);
    for (Index j = first; j < first + count; ++j) {
      const T* s = S.col(j);
      const auto along = [&] {
        double total = 0;
        for (Index k = 0; k < r; ++k) total += static_cast<double>(s[k]) * y[k];
        return total;
      };
      for (Index k = 0; k < r; ++k) {
        const double value = static_cast<double>(s[k]);
        sum.absolute += std::abs(value) * (penalty_.atom.empty() ? 1 : penalty_.atom[k]);
        sum.square += value * value;
      }
      if (coupling_.manifold()) {
        std::fill(y.begin(), y.end(), 0.0);
        add_laplacian<double>(S, j, 1, y.data());
        sum.smooth += along();
      }
      if (!Qt_.empty()) {
        std::fill(y.begin(), y.end(), 0.0);
        add_linear<double>(j, y.data());
        sum.along += along() / coupling_.gamma;
      }
    }
  });
}

template <class T>
double CodeTerms<T>::value(MatrixView<const T> S, const Control& control) const {
  const CodeSums sum = sums(S, control);
  double out = penalty_.beta * sum.absolute + coupling_.alpha * sum.smooth - 2 * coupling_.gamma * sum.along;
  if (!C_.empty()) out += eigen(C_).cwiseProduct(eigen(sum_of_outer_products<T>(S, control))).sum();
  return out;
}

#define PACEWISE_INSTANTIATE(T)                                                                         \
  template Matrix<double> sum_of_outer_products<T>(MatrixView<const T>, const Control&);                \
  template class CodeTerms<T>;                                                                          \
  template void CodeTerms<T>::add_linear<double>(Index, double*) const;                                 \
  template void CodeTerms<T>::add_linear<float>(Index, float*) const;                                   \
  template void CodeTerms<T>::add_laplacian<double>(MatrixView<const T>, Index, double, double*) const; \
  template void CodeTerms<T>::add_laplacian<float>(MatrixView<const T>, Index, float, float*) const;
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

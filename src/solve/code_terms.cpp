#include "solve/code_terms.hpp"

#include <cmath>

#include "algebra/sums.hpp"
#include "solve/proximal.hpp"

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

template <class T, class U>
EigenMatrix<double> sum_of_outer_products(MatrixView<const T> A, const Control& control, const Vector<T>& weight) {
  const SerialBlas serial;
  const Index r = A.rows;
  return parallel_sum(
      A.cols, control, EigenMatrix<double>(EigenMatrix<double>::Zero(r, r)),
      [&](Index first, Index count, int, EigenMatrix<double>& sum) {
        EigenMatrix<U> part = eigen(A.columns(first, count)).template cast<U>();
        for (Index j = 0; j < count && !weight.empty(); ++j)
          part.col(j) = (eigen(A).col(first + j) * std::sqrt(weight[first + j])).template cast<U>();
        sum += (part * part.transpose()).template cast<double>();
      },
      256, 8);
}

template <class T>
Matrix<T> transposed(MatrixView<const T> Q, const Control& control) {
  Matrix<T> out;
  out.resize_for_overwrite(Q.cols, Q.rows);
  parallel_for(Q.rows, control.to_the_end(), [&](Index first, Index count, int) {
    eigen(out.view().columns(first, count)) = eigen(Q).middleRows(first, count).transpose();
  });
  return out;
}

template <class T>
CodeTerms<T>::CodeTerms(const Penalty& penalty, const Coupling<T>& coupling, Index atoms, MatrixView<const T> Qt,
                        const EigenMatrix<double>& QQ)
    : penalty_(penalty), coupling_(coupling), Qt_(Qt) {
  set_quadratic(atoms, QQ);
}

template <class T>
CodeTerms<T>::CodeTerms(const Penalty& penalty, const Coupling<T>& coupling, Index atoms, const Control& control)
    : penalty_(penalty), coupling_(coupling) {
  penalty.validate(atoms);
  EigenMatrix<double> QQ;
  if (coupling.consistent()) {
    own_ = transposed<T>(*coupling.consistency, control);
    Qt_ = own_;
    QQ = sum_of_outer_products<T>(Qt_, control);
  }
  set_quadratic(atoms, QQ);
}

template <class T>
void CodeTerms<T>::set_quadratic(Index atoms, const EigenMatrix<double>& QQ) {
  p_.resize(atoms);
  for (Index k = 0; k < atoms; ++k) p_[k] = penalty_.of(k);
  if (QQ.size() == 0 && !(penalty_.l2 > 0)) return;
  C_.resize(atoms, atoms);
  if (QQ.size() > 0) eigen(C_) = coupling_.gamma * QQ;
  eigen(C_).diagonal().array() += penalty_.l2;
}

template <class T>
template <class U>
void CodeTerms<T>::add_linear(Index j, U* y) const {
  if (Qt_.empty()) return;
  const Sparse& H = *coupling_.incidence;
  for (Index at = H.start[j]; at < H.start[j + 1]; ++at)
    add_scaled(y, Qt_.col(H.index[at]), static_cast<U>(coupling_.gamma * H.value[at]), Qt_.rows);
}

template <class T>
template <class U>
void CodeTerms<T>::add_laplacian(MatrixView<const T> S, Index j, U f, U* y) const {
  if (!coupling_.manifold()) return;
  const Sparse& L = *coupling_.laplacian;
  for (Index at = L.start[j]; at < L.start[j + 1]; ++at)
    add_scaled(y, S.col(L.index[at]), f * static_cast<U>(L.value[at]), S.rows);
}

template <class T>
CodeSums CodeTerms<T>::sums(MatrixView<const T> S, const Control& control, const CoupledGraph* order) const {
  if (order == nullptr) return sums_in<double>(S, coupling_.manifold(), control);
  CodeSums all = sums_in<float>(S, false, control);
  if (coupling_.manifold()) all.smooth = smoothness(*order, S, control);
  return all;
}

template <class T>
template <class U>
CodeSums CodeTerms<T>::sums_in(MatrixView<const T> S, bool laplacian, const Control& control) const {
  const Index r = S.rows;
  CodeSums all = parallel_sum(S.cols, control, CodeSums{}, [&](Index first, Index count, int, CodeSums& sum) {
    Eigen::VectorX<U> y(r), s(r);
    for (Index j = first; j < first + count; ++j) {
      s = eigen(S).col(j).template cast<U>();
      if (penalty_.atom.empty())
        sum.absolute += l1_norm<U>(s.data(), r);
      else
        sum.absolute += s.template cast<double>().cwiseAbs().dot(eigen(penalty_.atom));
      sum.square += inner_product<U>(s.data(), s.data(), r);
      if (laplacian) {
        y.setZero();
        add_laplacian<U>(S, j, 1, y.data());
        sum.smooth += inner_product<U>(s.data(), y.data(), r);
      }
      if (!Qt_.empty()) {
        y.setZero();
        add_linear<U>(j, y.data());
        sum.along += inner_product<U>(s.data(), y.data(), r) / coupling_.gamma;
      }
    }
  });
  if (!Qt_.empty()) all.edges = eigen(coupling_.incidence->value).squaredNorm();
  return all;
}

#define PACEWISE_INSTANTIATE(T)                                                                                        \
  template Matrix<T> transposed<T>(MatrixView<const T>, const Control&);                                               \
  template EigenMatrix<double> sum_of_outer_products<T, float>(MatrixView<const T>, const Control&, const Vector<T>&); \
  template EigenMatrix<double> sum_of_outer_products<T, double>(MatrixView<const T>, const Control&,                   \
                                                                const Vector<T>&);                                     \
  template class CodeTerms<T>;                                                                                         \
  template void CodeTerms<T>::add_linear<double>(Index, double*) const;                                                \
  template void CodeTerms<T>::add_linear<float>(Index, float*) const;                                                  \
  template void CodeTerms<T>::add_laplacian<double>(MatrixView<const T>, Index, double, double*) const;                \
  template void CodeTerms<T>::add_laplacian<float>(MatrixView<const T>, Index, float, float*) const;
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

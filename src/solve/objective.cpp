#include "solve/objective.hpp"

#include <cmath>

namespace pacewise {

double Objective::magnitude() const {
  return std::abs(fit) + std::abs(pace) + std::abs(sparsity) + std::abs(manifold) + std::abs(consistency);
}

/// |H - Q S|_F^2 = |H|^2 - 2 <S, Q'H> + <Q'Q, S S'>, and |Q|_F^2 = tr Q'Q: no e x n array
Objective code_objective(const CodeSums& sums, const Penalty& penalty, double alpha, double gamma, double eta,
                         const EigenMatrix<double>& QQ, const EigenMatrix<double>& SS) {
  Objective out;
  out.sparsity = penalty.beta * sums.absolute + penalty.l2 * sums.square;
  out.manifold = alpha * sums.smooth;
  if (QQ.size() > 0)
    out.consistency = gamma * (sums.edges - 2 * sums.along + QQ.cwiseProduct(SS).sum() + eta * QQ.trace());
  return out;
}

template <class T>
Objective code_terms(MatrixView<const T> S, const Penalty& penalty, const Coupling<T>& coupling, double eta,
                     const Control& control) {
  Matrix<T> Qt;
  EigenMatrix<double> QQ, SS;
  if (coupling.consistent()) {
    Qt = transposed<T>(*coupling.consistency, control);
    QQ = sum_of_outer_products<T>(Qt, control);
    SS = sum_of_outer_products<T>(S, control);
  }
  const CodeSums sums = CodeTerms<T>(penalty, coupling, S.rows, Qt, QQ).sums(S, control);
  return code_objective(sums, penalty, coupling.alpha, coupling.gamma, eta, QQ, SS);
}

template Objective code_terms<float>(MatrixView<const float>, const Penalty&, const Coupling<float>&, double,
                                     const Control&);
template Objective code_terms<double>(MatrixView<const double>, const Penalty&, const Coupling<double>&, double,
                                      const Control&);

}  // namespace pacewise

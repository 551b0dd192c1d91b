#include "solve/objective.hpp"

#include <cmath>

#include "solve/code_terms.hpp"

namespace pacewise {

double Objective::magnitude() const {
  return std::abs(fit) + std::abs(pace) + std::abs(sparsity) + std::abs(manifold) + std::abs(consistency);
}

/// |H - Q S|_F^2 = |H|^2 - 2 <S, Q'H> + <Q'Q, S S'>, and |Q|_F^2 = tr Q'Q: no e x n array
template <class T>
Objective code_terms(MatrixView<const T> S, const Penalty& penalty, const Coupling<T>& coupling, double eta,
                     const Control& control) {
  const CodeTerms<T> terms({1, 0, false, penalty.atom}, coupling, S.rows, control);
  const CodeSums sum = terms.sums(S, control);
  Objective out;
  out.sparsity = penalty.beta * sum.absolute + penalty.l2 * sum.square;
  out.manifold = coupling.alpha * sum.smooth;
  if (!coupling.consistent()) return out;
  const auto gram = eigen(terms.quadratic());  // gamma Q'Q
  double squares = 0;
  for (const double h : coupling.incidence->value) squares += h * h;
  out.consistency = coupling.gamma * (squares - 2 * sum.along) +
                    gram.cwiseProduct(eigen(sum_of_outer_products<T>(S, control))).sum() + eta * gram.trace();
  return out;
}

template Objective code_terms<float>(MatrixView<const float>, const Penalty&, const Coupling<float>&, double,
                                     const Control&);
template Objective code_terms<double>(MatrixView<const double>, const Penalty&, const Coupling<double>&, double,
                                      const Control&);

}  // namespace pacewise

#pragma once
#include "solve/codes.hpp"

namespace pacewise {

/// J and its parts, as in the model's definition: no factor 1/2 anywhere.
struct Objective {
  double fit = 0;          // sum w v (x - B s)^2
  double pace = 0;         // F(V; lambda)
  double sparsity = 0;     // beta sum p_k |s_kj| + l2 |S|_F^2
  double manifold = 0;     // alpha tr(S L S')
  double consistency = 0;  // gamma (|H - Q S|_F^2 + eta |Q|_F^2)

  double total() const { return fit + pace + sparsity + manifold + consistency; }
  /// The size of what is added up: changes of J are judged against it, since the pace part is negative.
  double magnitude() const;
};

/// The parts that depend on S and Q alone: sparsity, manifold, consistency. The fit and pace parts come from the
/// losses.
template <class T>
Objective code_terms(MatrixView<const T> S, const Penalty& penalty, const Coupling<T>& coupling, double eta,
                     const Control& control);

}  // namespace pacewise

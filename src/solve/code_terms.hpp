#pragma once
#include "algebra/eigen.hpp"
#include "algebra/parallel.hpp"
#include "solve/codes.hpp"

namespace pacewise {

/// Sums over codes that the objective is made of
struct CodeSums {
  double absolute = 0;  // sum p_k |s_kj|
  double square = 0;    // |S|_F^2
  double smooth = 0;    // tr(S L S')
  double along = 0;     // <S, Q'H>
  double edges = 0;     // |H|_F^2
  CodeSums& operator+=(const CodeSums& other) {
    absolute += other.absolute;
    square += other.square;
    smooth += other.smooth;
    along += other.along;
    edges += other.edges;
    return *this;
  }
};

/// Everything of the codes' objective beside the fit:
///   beta sum p_k |s_kj| + <S, C S> + alpha tr(S L S') - 2 gamma <S, Q'H>,   C = gamma Q'Q + l2.
template <class T>
class CodeTerms {
 public:
  CodeTerms(const Penalty& penalty, const Coupling<T>& coupling, Index atoms, const Control& control);
  /// With Q' (r x e) and Q'Q that are there already; coupling.consistency is not looked at. Empty: no consistency term.
  CodeTerms(const Penalty& penalty, const Coupling<T>& coupling, Index atoms, MatrixView<const T> Qt,
            const EigenMatrix<double>& QQ);

  const Matrix<double>& quadratic() const { return C_; }  // C, r x r
  const Vector<double>& penalty() const { return p_; }    // beta p_k, r
  bool positive() const { return penalty_.positive; }
  bool separable_only() const { return C_.empty(); }  // C = 0
  /// A + C
  EigenMatrix<double> plus_quadratic(EigenMatrix<double> A) const {
    if (!C_.empty()) A += eigen(C_);
    return A;
  }
  double alpha() const { return coupling_.manifold() ? coupling_.alpha : 0; }
  const Sparse& laplacian() const { return *coupling_.laplacian; }  // where alpha > 0

  /// y += gamma Q'h_j
  template <class U>
  void add_linear(Index j, U* y) const;
  /// y += f (S L)_j
  template <class U>
  void add_laplacian(MatrixView<const T> S, Index j, U f, U* y) const;

  /// Products in double, or in float where the graph's order is given
  CodeSums sums(MatrixView<const T> S, const Control& control, const CoupledGraph* order = nullptr) const;

 private:
  template <class U>
  CodeSums sums_in(MatrixView<const T> S, bool laplacian, const Control& control) const;
  void set_quadratic(Index atoms, const EigenMatrix<double>& QQ);

  Penalty penalty_;
  Coupling<T> coupling_;
  Matrix<T> own_;
  MatrixView<const T> Qt_;  // Q', r x e: a hyperedge's row of Q side by side
  Matrix<double> C_;
  Vector<double> p_;
};

/// Q', and its columns are hyperedges
template <class T>
Matrix<T> transposed(MatrixView<const T> Q, const Control& control);

/// sum_j weight_j a_j a_j' over the columns of A (no weights: 1), in double; products of blocks in the precision U
template <class T, class U = double>
EigenMatrix<double> sum_of_outer_products(MatrixView<const T> A, const Control& control, const Vector<T>& weight = {});

}  // namespace pacewise

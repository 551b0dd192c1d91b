#pragma once
#include "algebra/eigen.hpp"
#include "algebra/parallel.hpp"
#include "solve/codes.hpp"

namespace pacewise {

/// Sums over the codes that the objective is made of
struct CodeSums {
  double absolute = 0;  // sum p_k |s_kj|
  double square = 0;    // |S|_F^2
  double smooth = 0;    // tr(S L S')
  double along = 0;     // <S, Q'H>
  CodeSums& operator+=(const CodeSums& other) {
    absolute += other.absolute;
    square += other.square;
    smooth += other.smooth;
    along += other.along;
    return *this;
  }
};

/// Everything of the codes' objective beside the fit:
///   beta sum p_k |s_kj| + <S, C S> + alpha tr(S L S') - 2 gamma <S, Q'H>,   C = gamma Q'Q + l2.
template <class T>
class CodeTerms {
 public:
  CodeTerms(const Penalty& penalty, const Coupling<T>& coupling, Index atoms, const Control& control);

  const Matrix<double>& quadratic() const { return C_; }  // C, r x r
  const Vector<double>& penalty() const { return p_; }    // beta p_k, r
  bool positive() const { return penalty_.positive; }
  bool separable_only() const { return C_.empty(); }  // C = 0

  /// y += gamma Q'h_j
  template <class U>
  void add_linear(Index j, U* y) const;
  /// y += f (S L)_j
  template <class U>
  void add_laplacian(MatrixView<const T> S, Index j, U f, U* y) const;

  CodeSums sums(MatrixView<const T> S, const Control& control) const;
  /// The value of all these terms at S
  double value(MatrixView<const T> S, const Control& control) const;

 private:
  Penalty penalty_;
  Coupling<T> coupling_;
  Matrix<double> C_;
  Matrix<T> Qt_;  // Q', r x e: a hyperedge's row of Q side by side
  Vector<double> p_;
};

/// sum_j a_j a_j' over the columns of A, in double
template <class T>
Matrix<double> sum_of_outer_products(MatrixView<const T> A, const Control& control);

}  // namespace pacewise

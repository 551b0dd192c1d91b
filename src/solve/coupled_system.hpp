#pragma once
#include "solve/codes_model.hpp"

namespace pacewise {

/// Bytes that Newton systems may take
template <class T>
double memory_for_systems(const CodesModel<T>& model, const StepOptions& options);

/// The quadratic form (A + alpha L) on chosen coordinates P_j of every sample, for the solver of the coupled S-step.
/// Unknowns are stored sample by sample: with Gram blocks those of P_j alone, `spread` as an r x n matrix so that L can
/// mix samples; otherwise all r of them, zero outside P_j, which is such a matrix already.
///   without entry weights: A_j z_j is one r x r product for a block of samples;
///   with them: Gram blocks over each sample's working set W_j (support and violators, kept between rounds) where those
///   are small, products through the dictionary otherwise. Then there is also a form that only comes near, with the
///   mean weight of each sample: as cheap as without entry weights.
/// The form is kept and applied in U: float halves the bytes, which are what it costs, and serves to find directions;
/// what a direction is worth is computed elsewhere, in double.
template <class T, class U>
class CoupledSystem {
 public:
  CoupledSystem(const CodesModel<T>& model, const StepOptions& options, const Control& control);

  /// Lets violators into the working sets, at most as many as a set has (or 16), largest first.
  void grow(const Matrix<T>& S, const Matrix<double>& gradient);
  /// P_j = everything that may move (working set, or all atoms), or the support of S alone; S stays as it is meanwhile.
  void choose(const Matrix<T>& S, bool support_only);
  /// The preconditioner, for each sample: Cholesky of A_PP + alpha L_jj + damping, or of its diagonal where blocks
  /// would not fit; in float, where the supports are large, one eigen-decomposition for all (see
  /// precondition_together).
  void factorise(double damping);

  Index unknowns() const { return start_.back(); }
  Index begin(Index j) const { return start_[static_cast<std::size_t>(j)]; }
  Index count(Index j) const { return begin(j + 1) - begin(j); }
  Index atom(Index j, Index a) const { return gram_blocks_ ? atoms_[static_cast<std::size_t>(begin(j) + a)] : a; }

  /// Whether unknowns must be spread, those of all blocks, before apply() multiplies them
  bool packed() const { return gram_blocks_; }
  void spread(Index block, const U* x);
  /// y_j = ((A + alpha L) x)_j for the samples of one block, of which y has the unknowns alone
  enum class Form : std::uint8_t { exact, near };
  void apply(Index block, int worker, Form form, const U* x, U* y);
  /// Whether the near form is the one to find supports with: where the exact one is dear, but not in double, the last
  /// resort.
  bool near_leads() const { return !model_.shared() && !gram_blocks_ && std::is_same_v<U, float>; }
  /// From lead(), if that is true, to follow() the near form leads before there are Gram blocks.
  bool lead() {
    leading_ = gram_blocks_ && std::is_same_v<U, float>;
    gram_blocks_ = gram_blocks_ && !leading_;
    return leading_;
  }
  bool leading() const { return leading_; }
  void follow() {
    gram_blocks_ = true;
    leading_ = false;
  }
  /// y_j <- preconditioner^-1 y_j for the samples of one block, likewise
  void precondition(Index block, int worker, U* y);
  /// With 2 bound(j) on its diagonal a matrix is above the second derivative: |A_j| + alpha sum_k |L_jk| is enough for
  /// certain, and what it is after widen_bounds(); before that it is as much as L seems to need.
  double bound(Index j) const { return bounds_[static_cast<std::size_t>(j)]; }
  void widen_bounds();
  double largest_bound() const;

 private:
  struct Set {
    std::vector<std::int32_t> atoms;     // W_j
    Vector<U> gram;                      // |W| x |W|
    Index made = 0;                      // size of `gram`
    std::vector<std::int32_t> position;  // of P_j within W_j, or among all atoms
    Vector<U> part;                      // |P| x |P| of `gram` where that is less than all of it
    Vector<U> factor;                    // of the preconditioner: a lower triangle, or the inverse of a diagonal
    const Vector<U>& over_support() const { return part.empty() ? gram : part; }
  };
  enum class Preconditioner : std::uint8_t { diagonal, blocks, together };
  Set& set(Index j) { return sets_[static_cast<std::size_t>(j)]; }
  Index size_of_support(Index j) const;
  void keep_support(Index first, Index samples, U* x) const;
  MatrixView<const U> as_matrix(const U* x) const;
  const std::int32_t* atoms_in_use(Index j);
  void extend(Index j, int worker);
  void factorise_block(Index j, double shift, MatrixView<double> A);
  void factorise_diagonal(Index j, const std::int32_t* atoms, double shift, typename CodesModel<T>::Scratch& scratch);
  void decompose();
  void precondition_together(Index block, int worker, U* y);
  void apply_grams(Index first, const U* x, U* y, MatrixView<U> wide) const;
  void apply_dictionary(Index first, int worker, MatrixView<const U> x, MatrixView<U> y);

  const CodesModel<T>& model_;
  const Control control_;
  const Index n_, r_;
  const EvenBlocks blocks_;
  const double alpha_, beta_;
  const Sparse& L_;
  double memory_;     // bytes that blocks may take
  bool gram_blocks_;  // entry weights, and they fit and pay
  Preconditioner preconditioner_ = Preconditioner::blocks;
  bool leading_ = false;
  double damping_ = 0;
  std::vector<double> diagonal_, bounds_, omega_;
  std::vector<Set> sets_;
  const Matrix<T>* support_ = nullptr;  // P_j is its support
  std::vector<unsigned char> inside_;   // 1 on P_j, where all r numbers are stored
  std::vector<Index> start_;
  std::vector<std::int32_t> atoms_;
  Matrix<U> spread_;  // with Gram blocks
  std::vector<typename CodesModel<T>::Scratch> scratch_;
  // of each worker: r x b, and r x r
  std::vector<Matrix<U>> in_, out_;
  std::vector<Matrix<double>> square_;
  std::vector<Vector<double>> wide_;  // r numbers
  std::vector<Matrix<U>> image_;      // m x b, where products go through the dictionary
  Matrix<U> dictionary_;              // B, likewise
  Matrix<U> fit_gram_, consistency_;  // A0 and C, or A0 alone where one matrix serves all
  Matrix<U> near_gram_;               // with entry weights: A0 + C over the samples' largest mean weight
  Matrix<U> basis_;                   // of the mean form: eigenvectors that matter ..
  std::vector<double> spectrum_;      // .. and their eigenvalues
  double rest_ = 0;                   // about those of the others
  bool decomposed_ = false;
};

}  // namespace pacewise

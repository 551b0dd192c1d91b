#pragma once
#include "pacewise/solve/codes_model.hpp"

namespace pacewise {

/// The quadratic form (A + alpha L) on chosen coordinates P_j of every sample, for the solver of the coupled S-step.
/// Unknowns are packed sample by sample; `spread` holds them as an r x n matrix so that L can mix samples.
///   without entry weights: A_j z_j is one r x r product for a block of samples;
///   with them: Gram blocks over each sample's working set W_j (support and violators, kept between rounds) while they
///   fit in memory, products through the dictionary otherwise.
template <class T>
class CoupledSystem {
 public:
  CoupledSystem(const CodesModel<T>& model, const StepOptions& options, const Control& control);

  /// Lets violators into the working sets, at most as many as a set has (or 16), largest first.
  void grow(const Matrix<T>& S, const Matrix<double>& gradient);
  /// P_j = everything that may move (working set, or all atoms), or the support of S alone.
  void choose(const Matrix<T>& S, bool support_only);
  /// Cholesky of each A_PP + alpha L_jj + damping (or its diagonal where blocks would not fit).
  void factorise(double damping);

  Index unknowns() const { return start_.back(); }
  Index begin(Index j) const { return start_[static_cast<std::size_t>(j)]; }
  Index count(Index j) const { return begin(j + 1) - begin(j); }
  Index atom(Index j, Index a) const { return atoms_[static_cast<std::size_t>(begin(j) + a)]; }

  /// spread(:, j) <- x_j. Call for all samples before apply().
  void spread(Index j, const double* x);
  /// y_j = ((A + alpha L) x)_j for the samples of one block, x as spread
  void apply(Index block, int worker, Vector<double>& y);
  /// y_j <- preconditioner^-1 y_j
  void precondition(Index j, double* y) const;
  /// |A_j| + alpha sum_k |L_jk| at least, for every sample
  double bound(Index j) const { return bounds_[static_cast<std::size_t>(j)]; }
  double largest_bound() const;

 private:
  struct Set {
    std::vector<std::int32_t> atoms;     // W_j
    std::vector<double> gram;            // |W| x |W|
    Index made = 0;                      // size of `gram`
    std::vector<std::int32_t> position;  // of P_j within W_j
    std::vector<double> factor;
  };
  Set& set(Index j) { return sets_[static_cast<std::size_t>(j)]; }
  void extend(Index j, typename CodesModel<T>::Scratch& scratch);
  void add_coupling(Index j, double* y) const;
  void factorise_block(Index j, double shift);
  void factorise_diagonal(Index j, double shift, typename CodesModel<T>::Scratch& scratch);

  const CodesModel<T>& model_;
  const Control control_;
  const Index n_, r_;
  const double alpha_, beta_;
  const Sparse& L_;
  double memory_;     // bytes that blocks may take
  bool gram_blocks_;  // entry weights, and they fit
  bool factor_blocks_ = true;
  std::vector<double> diagonal_, bounds_;
  std::vector<Set> sets_;
  std::vector<Index> start_;
  std::vector<std::int32_t> atoms_;
  Matrix<double> spread_;
  std::vector<typename CodesModel<T>::Scratch> scratch_;
  std::vector<Matrix<double>> wide_;
};

}  // namespace pacewise

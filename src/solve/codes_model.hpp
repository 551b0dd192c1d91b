#pragma once
#include <memory>

#include "algebra/dense.hpp"
#include "solve/codes.hpp"
#include "solve/mask.hpp"
#include "solve/residual.hpp"

namespace pacewise {

inline constexpr Index kRowTile = 16;  // rows of B are stored with zeros up to a multiple: two vectors of eight

/// Some samples: a range, or a list
class Samples {
 public:
  Samples(Index first) : first_(first) {}  // NOLINT: a range may be named by its first sample
  explicit Samples(const std::vector<Index>& list) : list_(list.data()) {}
  Index operator[](Index j) const { return list_ == nullptr ? first_ + j : list_[j]; }

 private:
  const Index* list_ = nullptr;
  Index first_ = 0;
};

/// The smooth part of the S-step, column j:   s'A_j s - 2 q_j's + (alpha terms), with
///   A_j = B' diag(w_j v_j) B + gamma Q'Q,     q_j = B'(w_j v_j x_j) + gamma Q'h_j.
/// Without entry weights A_j = omega_j A0 + C: one r x r Gram serves all samples. With them A_j is never formed whole:
/// products go through B, and Gram blocks are made for the few atoms a sample uses.
template <class T>
class CodesModel {
 public:
  struct Scratch {
    Scratch(const CodesModel& model, Index block);
    Matrix<T> image;                 // B S, m x b
    Matrix<T> back;                  // B' (w v B S), r x b
    Matrix<T> codes;                 // the codes or directions at hand, r x b
    Matrix<double> wide;             // the same in double
    Matrix<double> weighted;         // atoms times (roots of) a sample's weights, m x r
    Vector<double> root;             // sqrt(w v)
    std::vector<std::int32_t> used;  // atoms of the codes at hand
    Matrix<float> narrow;            // atoms times the weights, or B S, in float
    Matrix<float> narrow_codes;      // r x b
    Vector<float> narrow_weights;
  };

  CodesModel(const CodesProblem<T>& problem, const Control& control);
  /// The same problem for one group of the samples, which the Laplacian does not connect with others. It reads the
  /// numbers of the whole, and copies none.
  CodesModel part(const Groups& groups, std::size_t group) const;

  Index features() const { return problem_.X.rows; }
  Index samples() const { return problem_.X.cols; }
  Index atoms() const { return problem_.B.cols; }
  const CodesProblem<T>& problem() const { return problem_; }
  bool shared() const { return problem_.weights.entry.empty(); }
  /// max |2 B'(w v X)|: what certificates are relative to (1 where that is 0)
  double scale() const { return scale_; }
  const Matrix<T>& q() const { return *q_; }  // of the whole
  /// One matrix that serves all samples, A_j = omega_j A, where there is one (else nullptr); omega_j = weight(j). With
  /// entry weights it only comes near: omega_j is their mean.
  const Matrix<double>* one_gram() const {
    if (!forms_->consistency.empty() && forms_->sum.empty()) return nullptr;
    return forms_->consistency.empty() ? &forms_->gram : &forms_->sum;
  }
  double weight(Index j) const;
  /// A0, C (empty: none) and omega_j of A_j = omega_j A0 + C, which with entry weights only comes near
  const Matrix<double>& fit_gram() const { return forms_->gram; }
  const Matrix<double>& consistency_gram() const { return forms_->consistency; }
  double fit_weight(Index j) const;
  /// x <- w_j v_j x
  template <class U>
  void weigh_sample(Index j, MatrixView<U> x) const {
    weigh(problem_.weights, place(j), x);
  }
  /// (mean omega_j) A0 + C = U diag(g) U', g ascending; computed when first asked for, once for a model and its parts
  struct Spectrum {
    Matrix<double> vectors;
    std::vector<double> values;
  };
  const Spectrum& spectrum() const;

  /// G = 2 (A_j s_j - q_j) + 2 alpha (S L)_j  for G.cols samples. `rough`, here and below: products through the
  /// dictionary may be in float
  void gradient(MatrixView<const T> S, const Samples& samples, MatrixView<double> G, Scratch& scratch,
                bool rough = false) const;
  /// Y = A_j z_j + alpha (Z L)_j for the same samples; Z is r x n
  void curvature(MatrixView<const double> Z, const Samples& samples, MatrixView<double> Y, Scratch& scratch,
                 bool rough = false) const;
  /// Fills rows and columns [old, size) of the Gram block of sample j over `atoms`, in double whatever T:
  /// near-duplicate atoms differ by less than float rounding of their Gram matrix
  void extend_gram(Index j, const std::int32_t* atoms, Index old, Index size, MatrixView<double> gram,
                   Scratch& scratch) const;
  /// The same with its large products in float: half the time, and near enough for a solve whose gradient is then
  /// computed in double. Returns whether it is that, or exact because that costs no more.
  bool rough_gram(Index j, const std::int32_t* atoms, Index old, Index size, MatrixView<double> gram,
                  Scratch& scratch) const;
  /// Sample j lacks so few rows that whole columns of A_j cost less than a Gram block made when its atoms are known
  bool has_columns(Index j) const;
  /// Columns `atoms` of A_j, r numbers each
  void columns(Index j, const std::int32_t* atoms, Index count, MatrixView<double> A, Scratch& scratch) const;
  /// An upper bound of the curvature of sample j but for the Laplacian's: |A_j|
  double curvature_bound(Index j) const;

 private:
  void gram_of_few_rows(Index j, const std::int32_t* atoms, Index size, MatrixView<double> gram,
                        Scratch& scratch) const;
  void gram_of_all_rows(Index j, const std::int32_t* atoms, Index old, Index size, MatrixView<double> gram,
                        Scratch& scratch) const;
  void add_consistency(const std::int32_t* atoms, Index old, Index size, MatrixView<double> gram) const;
  void through_dictionary(const Samples& samples, Index first, Index count, MatrixView<double> Y,
                          Scratch& scratch) const;
  void through_narrow_dictionary(const Samples& samples, MatrixView<double> Y, Scratch& scratch) const;
  bool all_few(const Samples& samples, Index count) const;
  void apply_fit(const Samples& samples, MatrixView<double> Y, Scratch& scratch, bool rough) const;
  template <class U>
  void fit_curvature(MatrixView<const U> Z, const Samples& samples, MatrixView<double> Y, Scratch& scratch,
                     bool rough) const;
  template <class U>
  void add_manifold(MatrixView<const U> S, const Samples& samples, double factor, MatrixView<double> Y) const;
  double omega(Index j) const {
    const auto& sample = problem_.weights.sample;
    return sample.empty() ? 1.0 : static_cast<double>(sample[static_cast<std::size_t>(place(j))]);
  }

  /// What depends on the dictionary and not on the samples
  struct Forms {
    Matrix<double> gram;         // A0 = B' diag(feature weights) B, r x r; with entry weights B'B
    Matrix<double> consistency;  // C = gamma Q'Q, r x r
    Matrix<double> sum;          // omega A0 + C, where all samples have the same omega
    Matrix<double> rows_of_B;    // B' for samples that lack a few rows, r x m, with rows of zeros to fill vectors
    Matrix<float> narrow;        // B, with entry weights
    double gram_bound = 0, consistency_bound = 0;  // no less than |A0|, |C|
  };
  struct LazySpectrum;
  struct Own {  // of a part
    std::vector<Index> samples;
    Sparse laplacian;
  };
  /// Where q, weights and mask have sample j
  Index place(Index j) const { return own_ == nullptr ? j : own_->samples[static_cast<std::size_t>(j)]; }
  CodesModel(const CodesModel& whole, const CodesProblem<T>& problem, std::shared_ptr<const Own> own);
  void build_forms(Forms& forms, bool many_lack_few) const;

  std::shared_ptr<const Own> own_;
  CodesProblem<T> problem_;  // a part's X has the right shape and other numbers: they are in q already
  std::shared_ptr<const Forms> forms_;
  std::shared_ptr<LazySpectrum> spectrum_;
  std::shared_ptr<const Mask> mask_;    // of entry weights
  std::shared_ptr<const Matrix<T>> q_;  // r x n
  double scale_ = 1;
};

/// y = scale A z, over the numbers of z that are not zero
void multiply_sparse(MatrixView<const double> A, double scale, const double* z, double* y);

/// The S-step when alpha > 0 couples the samples: block descent finds supports, Newton-CG the values.
template <class T>
StepReport solve_coupled(const CodesModel<T>& model, Matrix<T>& S, const StepOptions& options, const Control& control);

/// Certificate of S by one pass over the gradient.
template <class T>
double certificate(const CodesModel<T>& model, const Matrix<T>& S, const Control& control);

/// Below this no solver can go in the given precision: gradients of float problems carry float rounding.
template <class T>
constexpr double precision_floor() {
  return 32 * static_cast<double>(std::numeric_limits<T>::epsilon());
}

}  // namespace pacewise

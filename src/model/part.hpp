#pragma once
#include <optional>
#include <utility>

#include "graph/graph.hpp"
#include "model/fit.hpp"
#include "solve/code_terms.hpp"
#include "solve/consistency.hpp"
#include "solve/coupled.hpp"
#include "solve/dictionary.hpp"
#include "solve/groups.hpp"
#include "solve/weights.hpp"

namespace pacewise {

/// A block of samples and all that grows with it: data, weights, losses, codes, the hyperedges of its samples and their
/// rows of Q. The whole (Fitter) tells it the dictionary, Q'Q and lambda, and adds up what the parts return; whatever
/// it returns is small. One part holds all samples in memory; parts on disk or on other machines stand behind the same
/// functions.
///
/// Steps are exact or cheap. Exact ones need losses in T and weights w v as they are. For cheap ones the residuals
/// R = X - B S are kept in float; the weight of an entry is a function of its residual and lambda, made block by block.
template <class T>
class Part {
 public:
  Part(Data<T> data, Graph graph, const Options& options, const Groups& groups, const Tuning& tuning,
       const Control& control);

  // ---- what it holds
  Data<T> data;  // X and the user's weights
  Graph graph;   // L and H of these samples; empty: none
  Matrix<T> S;   // r x n
  Matrix<T> Qt;  // Q', r x e; empty before the first Q-step
  Index samples() const { return data.values.cols(); }
  Index features() const { return data.values.rows(); }

  void set_graph(Graph of_samples);

  // ---- a descending pace
  /// Entries that count for nothing in cheap steps from here on, by which the pace is judged; empty: none
  void hide(const std::function<bool(Index i, Index j)>& is_hidden, const Control& control);
  /// Calls use(i) for the entries of sample j that count for nothing now
  template <class Use>
  void set_aside(Index j, const Use& use) const {
    const auto each = [&](const Entries& e) {
      for (Index at = e.row.empty() ? 0 : e.start[j], end = e.row.empty() ? 0 : e.start[j + 1]; at < end; ++at)
        use(e.row[at]);
    };
    each(hidden_);
    if (std::isinf(lambda_) && !given_) each(gross_);  // on the way down the pace judges them like all others
  }
  /// min(e^2, cap) of each of the hidden, e = x - B s. Samples are coded again with what is left of them, whatever
  /// their weight.
  Vector<T> hidden_errors(const Matrix<T>& B, const CodeTerms<T>& terms, double cap, const Control& control);
  /// The losses (`measure`) of gross outliers become the largest number: their weight is 0 where all others are 1
  void mark_gross();
  /// All steps from here on weigh with w v, v the weights for the losses now (features: as given), which are returned.
  /// `ones_too`: also where all v are 1, which else count as absent: parts whose sums are added must be of one kind.
  Vector<T> hold_weights(double lambda, double center, const Vector<T>& feature_weights, bool ones_too,
                         const Control& control);
  Vector<T> of_entries(Vector<T> v) const;  // A'v of every sample, where there are groups
  void release_weights();                   // .. and with w again
  /// v x + (1 - v) B s, and B s where an entry is missing
  Data<T> mended(const Vector<T>& v, const Matrix<T>& B, const Control& control) const;

  // ---- losses and weights
  /// The losses of the units of `level` at (B, S); `exact`: in T, else by residuals in float
  void measure(const Matrix<T>& B, Level level, bool exact, const Control& control);
  /// of samples (level none, too) or features (those of these samples alone), after measure()
  const Vector<T>& losses() const { return losses_; }
  const Vector<char>& observed() const { return observed_; }
  /// Those of entries, in pieces: use(piece, losses of observed entries, count, worker), pieces from `from` on
  template <class U>
  void entry_losses(Index from, const std::function<void(Index, const U*, Index, int)>& use,
                    const Control& control) const;
  /// v for the losses now; at the feature level as given. lambda = infinity: all 1
  void set_pace(double lambda, const Vector<T>& feature_weights, const Control& control, double center = 0);
  /// v with which exact steps run; empty: all 1, or not held
  const Vector<T>& weights() const { return one_copy() ? effective_.entry.numbers() : weights_; }
  void set_weights(Vector<T> v);  // of a stored state
  void set_lambda(double lambda, double center = 0) {
    lambda_ = lambda;
    center_ = center;
  }
  void forget_weights() { effective_ = Weights<T>(); }  // where no step is to follow
  /// v of the entries of cheap steps, for the losses now
  Vector<T> entry_weights(const Control& control) const;
  /// Sums over the units, with weights() where they are held, else with the best ones for the losses now
  PaceSums pace_sums(const Control& control) const;

  // ---- offset
  /// sum_j w v (x - B s) and sum_j w v of every feature
  struct OffsetSums {
    Eigen::VectorXd residual, weight;
    OffsetSums& operator+=(const OffsetSums& other) {
      residual += other.residual;
      weight += other.weight;
      return *this;
    }
  };
  OffsetSums offset_sums(const Matrix<T>& B, const Control& control) const;
  void subtract_offset(const Vector<T>& offset, const Control& control);

  // ---- dictionary
  DictionaryProblem<T> dictionary_problem() const { return {data.values, effective_, S, options_.positive_atoms}; }
  /// N = (w v R) S' for a cheap step
  EigenMatrix<double> cheap_gradient(const Control& control) const;
  /// S S', of a cheap step with the weights of samples
  EigenMatrix<double> gram(bool exact, bool weighted, const Control& control) const;
  bool weighs_samples() const { return !effective_.sample.empty(); }
  /// Bounds on the weights of each row, without those of samples
  Eigen::VectorXd row_bounds() const;
  /// sum_i w_ij v_ij (x_ij - (B S)_ij)^2 of every sample
  Vector<double> trusted_losses(const Matrix<T>& B, const Control& control) const;
  /// Sample j, each entry taken from the data as far as it is trusted and from the reconstruction otherwise
  Eigen::VectorXd trusted_sample(const Matrix<T>& B, Index j) const;

  // ---- consistency
  void update_consistency(const EigenMatrix<double>& ridged, bool exact, const Control& control) {
    if (exact)
      solve_consistency_rows<double, T>(edges_, S, ridged, Qt, control);
    else
      solve_consistency_rows<float, T>(edges_, S, ridged, Qt, control);
  }
  EigenMatrix<double> map_gram(bool exact, const Control& control) const { return outer(Qt, exact, control); }  // Q'Q
  Largest consistency_gap(const EigenMatrix<double>& ridged, const Control& control) const {
    return pacewise::consistency_gap<T>(edges_, S, ridged, Qt, control);
  }

  // ---- codes
  CodeTerms<T> terms(const Penalty& penalty, bool with_graph, const EigenMatrix<double>& QQ) const;
  void improve_codes(const Matrix<T>& B, const CodeTerms<T>& terms, int passes, int sweeps, const Control& control);
  StepReport solve_codes(const Matrix<T>& B, const CodeTerms<T>& terms, const StepOptions& step,
                         const Control& control);
  Largest codes_gap(const Matrix<T>& B, const CodeTerms<T>& terms, const Control& control) const {
    return pacewise::codes_gap<T>(codes_problem(B), terms, S, control);
  }
  CodeSums code_sums(const CodeTerms<T>& terms, bool exact, const Control& control) const {
    return terms.sums(S, control, exact ? nullptr : order(terms, control));
  }
  Index nonzeros(const Control& control) const;

  /// 2 max_j |w_j x_j|: above this beta, 0 is optimal for every sample and every dictionary of unit atoms
  double zero_beta() const;

 private:
  struct Entries {  // rows by sample
    Vector<Index> start{0};
    Vector<std::int32_t> row;
  };
  static EigenMatrix<double> outer(const Matrix<T>& A, bool exact, const Control& control,
                                   const Vector<T>& weight = {});  // A diag(weight) A'
  CodesProblem<T> codes_problem(const Matrix<T>& B) const { return {data.values, effective_, B, {}, {}}; }
  /// Where entries are paced and the user gave them no weights, w v is v: it is kept once, in effective_.
  bool one_copy() const { return options_.level == Level::element && data.weights.entry.empty(); }
  bool paced_entries() const { return !exact_ && weighs_entries(options_.level) && !std::isinf(lambda_); }
  /// v of the entries of sample j at these residuals
  template <class U>
  void pace_sample(Index j, const float* residual, U* v) const;
  const CoupledGraph* order(const CodeTerms<T>& terms, const Control& control) const;
  /// x_j <- w v x_j for the samples from `first` on, v by these residuals where entries are paced
  void weigh_block(Index first, MatrixView<const float> residual, MatrixView<float> x) const;
  /// The losses of the entries of some samples, or of their groups, made in `scratch`
  const float* block_losses(Index first, Index count, Vector<float>& scratch, bool grouped = true) const;

  const Options& options_;
  const Groups& groups_;
  const Tuning& tuning_;
  Sparse edges_;                               // H'
  mutable std::optional<CoupledGraph> order_;  // of the samples in proximal passes; made where first wanted
  Vector<char> observed_;                      // units with data; empty: all
  Vector<double> entry_top_;                   // the largest entry weight of each row; empty: 1
  double lambda_ = std::numeric_limits<double>::infinity();
  double center_ = 0;  // losses count as far as their roots exceed it
  bool exact_ = true;
  Level measured_ = Level::none;  // of losses_
  double entries_fit_ = 0;        // of groups, after an exact measure(): the sum of the losses of entries
  Entries where(const std::function<bool(Index i, Index j)>& is, const Control& control) const;
  Entries hidden_, gross_;           // gross outliers: beyond the bounds of the normalisation
  std::optional<Weights<T>> given_;  // the user's, while others are held
  Matrix<float> R_;                  // X - B S, of cheap steps
  Vector<T> losses_;                 // of samples or features; of entries where steps are exact
  Vector<T> weights_;                // v, unless one_copy()
  Weights<T> effective_;             // w v; of cheap steps with paced entries w alone
};

extern template class Part<float>;
extern template class Part<double>;

/// The samples from `first` on
template <class T>
Data<T> slice(const Data<T>& data, Index first, Index count);
/// Parts of it in their order
template <class T>
void append(Data<T>& data, Data<T> more);
void append(Graph& graph, Index samples, Graph more, Index more_samples);

}  // namespace pacewise

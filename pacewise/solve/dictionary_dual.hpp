#pragma once
#include "pacewise/algebra/dense.hpp"
#include "pacewise/solve/dictionary.hpp"

namespace pacewise {

/// The Lagrange dual of the B-step. In units where every atom has curvature 1 (codes divided by d_k = sqrt(a_k), atoms
/// multiplied by it, so |b_k| <= d_k), with a proximal term delta |B - B0|^2 that makes rank-deficient codes harmless:
///   row i:  b_i(lambda) = (M_i + delta + Lambda)^-1 (q_i + delta b0_i),   M_i = S diag(w_i v_i) S'
///   dual gradient  h_k = |b_k(lambda)|^2 - d_k^2,    -Hessian_kl = 2 sum_i b_ik b_il [(M_i + delta + Lambda)^-1]_kl
/// Without feature or entry weights one M serves all rows; with feature weights M_i = phi_i M; with entry weights each
/// row has its own, made in blocks of rows (from the codes' nonzeros where those are few), and kept for the next pass
/// while memory allows. Before it is solved it wants to be told what it is about: the data, or a model of them.
template <class T>
class DictionaryDual {
 public:
  DictionaryDual(const DictionaryProblem<T>& problem, const std::vector<double>& curvature, const Matrix<T>& centre,
                 double delta, const StepOptions& options, const Control& control);
  /// in the problem's own units, one per atom; raised to `least` where they are less (relative to the largest, at most
  /// 1)
  void set_multipliers(const std::vector<double>& multiplier, double least);
  /// Newton on the dual until |h_k| <= accuracy d_k^2 for every active atom and h_k <= accuracy d_k^2 for the rest.
  /// Returns the number of passes over the rows.
  int solve(double accuracy, int max_passes, const Control& control);
  /// B at the current multipliers, in the problem's own units; unused atoms keep their values
  void primal(Matrix<T>& B) const;
  /// Without entry weights: the fit's gradient in B (m x r, the problem's own units) from M and q instead of the
  /// residual, and the fit itself. Its rounding is that of sum w x^2.
  struct Slope {
    double fit = 0, rounding = 0;
    Matrix<double> gradient;
  };
  Slope slope(const Matrix<T>& B, const Control& control) const;
  /// moves the proximal centre and sets the proximal weight; multipliers stay
  void recentre(const Matrix<T>& B, double delta, const Control& control);
  /// Atoms and slopes as this class has them, one row of the dictionary a column (u x m)
  Index used() const { return u_; }
  void pack(const Matrix<T>& B, Matrix<double>& rows, const Control& control) const;
  void pack_slope(const Matrix<double>& G, Matrix<double>& rows, const Control& control) const;
  /// q from the data
  void aim_at_data(const Control& control);
  /// Without entry and feature weights: replaces the fit by  <slope, b - y> + sum_i (b_i - y_i)' M (b_i - y_i)  about y
  void model_about(const Matrix<double>& y, const Matrix<double>& slope, const Control& control);

 private:
  struct Worker;
  static constexpr Index kRows = 16, kDenseRows = 64;  // rows whose Gram matrices are made together
  bool one_gram() const { return problem_.weights.entry.empty() && problem_.weights.feature.empty(); }
  double sample_weight(Index j) const;
  void make_shared_gram(const Control& control);
  void fill_codes(Index first, Index count, Matrix<double>& part) const;
  Index pair_count() const { return u_ * (u_ + 1) / 2; }
  enum class Curvature : std::uint8_t { fresh, reused };
  void pass(Curvature curvature, const Control& control);
  void pass_one_gram(const Control& control);
  void pass_scaled_gram(bool with_hessian, const Control& control);
  void hessian_by_groups(const std::vector<double>& theta, const Control& control);
  void pass_rows(bool with_hessian, const Control& control);
  void measure_slope();
  bool make_grams(Index first, Index count, Matrix<double>& grams, Worker& w, const Control& control) const;
  bool sparse_row_grams(Index first, Index count, Matrix<double>& grams, const Control& control) const;
  bool dense_row_grams(Index first, Index count, Matrix<double>& grams, Worker& w, const Control& control) const;
  void unpack(const Matrix<double>& grams, Index i, Matrix<double>& system) const;
  void solve_row(Index i, Worker& w, Matrix<double>* hessian);
  double violation() const;
  bool newton_direction(bool secular);
  double bounded(double from, double to) const;
  void fixed_point_step();
  template <class Open>
  bool ascend(bool secular, int& passes, const Open& open, const Control& control);

  const DictionaryProblem<T> problem_;
  Index m_, n_, u_;  // features, samples, used atoms
  double delta_ = 0;
  std::vector<Index> used_;         // the atoms with curvature > 0
  std::vector<double> radius2_;     // d_k^2
  std::vector<std::size_t> start_;  // nonzeros of sample j over used atoms: [start_j, start_j+1)
  std::vector<std::int32_t> atom_;
  std::vector<double> code_;                        // s_kj / d_k
  Matrix<double> gram_;                             // M, u x u (without entry weights)
  Matrix<double> right_;                            // q_i, u x m
  double energy_ = 0;                               // sum w x^2
  Matrix<double> centre_;                           // b0_i, u x m
  Matrix<double> solution_;                         // b_i, u x m
  std::vector<double> lambda_, slope_, direction_;  // slope = h
  Matrix<double> hessian_, factor_;                 // u x u
  std::vector<Index> free_;
  bool hessian_is_fresh_ = false;  // made at the present multipliers
  bool reuse_ = false;             // the last step gained so much that the same Hessian will do once more
  // The Grams of every block of rows, u(u+1)/2 numbers a row, when they fit in memory: else made anew in every pass.
  bool keep_grams_ = false, dense_ = false;
  Index rows_ = kRows;
  std::vector<Matrix<double>> grams_;
};

}  // namespace pacewise

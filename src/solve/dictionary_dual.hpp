#pragma once
#include <optional>
#include <variant>

#include "algebra/dense.hpp"
#include "solve/dictionary.hpp"
#include "solve/row_systems.hpp"

namespace pacewise {

/// The Lagrange dual of the B-step. In units where every atom has curvature 1 (codes divided by d_k = sqrt(a_k), atoms
/// multiplied by it, so |b_k| <= d_k), the fit about a point y with the gradient G there, and a proximal term that
/// makes rank-deficient codes harmless:
///   sum_i  <g_i, b_i - y_i> + (b_i - y_i)' (M_i + delta) (b_i - y_i),      M_i = S diag(w_i v_i) S'
///   row i:  b_i(lambda) = y_i + (M_i + delta + Lambda)^-1 (-g_i / 2 - Lambda y_i)
///   dual gradient  h_k = |b_k(lambda)|^2 - d_k^2,    -Hessian_kl = 2 sum_i b_ik b_il [(M_i + delta + Lambda)^-1]_kl
/// Without feature or entry weights one M serves all rows; with feature weights M_i = phi_i M; with entry weights each
/// row has its own. Since y moves to where the steps lead, a rough M_i costs steps, not exactness.
template <class T>
class DictionaryDual {
 public:
  DictionaryDual(const DictionaryProblem<T>& problem, const std::vector<double>& curvature, const StepOptions& options,
                 const Control& control);
  /// in the problem's own units, one per atom; raised to `least` where they are less (relative to the largest, at most
  /// 1)
  void set_multipliers(const std::vector<double>& multiplier, double least);
  /// Newton on the dual until violation() <= accuracy. Returns the number of passes over the rows.
  int solve(double accuracy, int max_passes, const Control& control);
  /// The largest |h_k| / d_k^2, or h_k / d_k^2 where the multiplier is zero
  double violation() const;
  /// B at the current multipliers, in the problem's own units; unused atoms keep their values
  void primal(Matrix<T>& B, const Control& control) const;
  /// q from the data, which slope() wants
  void aim_at_data(const Control& control);
  /// Without entry weights: the fit's gradient in B (m x r, the problem's own units) from M and q instead of the
  /// residual, and the fit itself. Its rounding is that of sum w x^2.
  struct Slope {
    double fit = 0, rounding = 0;
    Matrix<double> gradient;
  };
  Slope slope(const Matrix<T>& B, const Control& control) const;
  /// Atoms B and the gradient of the fit there, m x r, as this class has them: one row of the dictionary a column, u x
  /// m
  void pack(const Matrix<T>& B, const Matrix<double>& gradient, Matrix<double>& y, Matrix<double>& slope,
            const Control& control) const;
  /// The point to model the fit about and the gradient of the fit there, packed, and the proximal weight; multipliers
  /// stay
  void model_about(const Matrix<double>& y, const Matrix<double>& slope, double delta);
  /// With entry weights the Grams of rows begin in float, and solve() ends where that leads no further.
  bool rough() const { return rows_ && rows_->index() == 0; }
  /// In double from here on
  void refine(const Control& control);

 private:
  bool one_gram() const { return problem_.weights.entry.empty() && problem_.weights.feature.empty(); }
  double sample_weight(Index j) const;
  void list_codes(const Control& control);
  void make_shared_gram(const Control& control);
  void fill_codes(Index first, MatrixView<double> part) const;
  enum class Curvature : std::uint8_t { fresh, reused };
  void pass(Curvature curvature, const Control& control);
  void pass_one_gram(const Control& control);
  void pass_scaled_gram(bool with_hessian, const Control& control);
  void hessian_by_groups(const std::vector<double>& theta, const Control& control);
  void pass_rows(bool with_hessian, const Control& control);
  void measure_slope(const Control& control);
  bool newton_direction(bool secular);
  double bounded(double from, double to) const;
  void fixed_point_step();
  template <class Open>
  bool ascend(bool secular, int& passes, const Open& open, const Control& control);

  const DictionaryProblem<T> problem_;
  Index m_, n_, u_;  // features, samples, used atoms
  double delta_ = 0, bytes_ = 0;
  std::vector<Index> used_;                         // the atoms with curvature > 0
  std::vector<double> radius2_, inverse_;           // d_k^2, 1 / d_k
  UsedCodes codes_;                                 // s_kj / d_k, with entry weights
  Matrix<double> gram_;                             // M, u x u (without entry weights)
  Matrix<double> data_;                             // q_i = sum_j w_ij x_ij s_j, u x m
  double energy_ = 0;                               // sum w x^2
  Matrix<double> centre_, slope_of_fit_;            // y_i, g_i: u x m
  Matrix<double> solution_;                         // b_i, u x m
  std::vector<double> lambda_, slope_, direction_;  // slope = h
  Matrix<double> hessian_, factor_;                 // u x u
  std::vector<Index> free_;
  bool hessian_is_fresh_ = false;  // made at the present multipliers
  bool reuse_ = false;             // the last step gained so much that the same Hessian will do once more
  std::optional<std::variant<RowSystems<T, float>, RowSystems<T, double>>> rows_;  // where Grams differ from row to row
};

}  // namespace pacewise

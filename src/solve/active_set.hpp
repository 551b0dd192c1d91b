#pragma once
#include <functional>

#include "algebra/matrix.hpp"

namespace pacewise {

/// min_s  s'A s - 2 c's + beta |s|_1, beta > 0, over one Gram matrix A that serves many c. On a set P of atoms with
/// signs sigma the solution is linear in the penalty b,
///   s_P(b) = A_PP^-1 (c_P - b/2 sigma),
/// so both the next atoms to join and the ones that change sign are known in closed form. From the b at which the first
/// atom enters, the penalty falls to beta in strides past several joining atoms at a time (one at a time is LARS, which
/// costs three times as much); atoms with a wrong sign leave. A start s != 0 begins at beta itself with its support.
/// The Cholesky factor of A_PP grows by blocks of rows and shrinks by rotations.
class ActiveSet {
 public:
  /// Makes these columns of A
  using Columns = std::function<void(const std::int32_t* atoms, Index count)>;

  explicit ActiveSet(Index largest);  // the largest A to come
  /// s: start and result, optimal to `tol` (in units of the gradient) up to rounding. False, and s as it was, where the
  /// atoms it meets are dependent in double precision or the strides do not end: then another solver has to do it. Only
  /// the columns of atoms that join are looked at: with `columns` they are made when they first do.
  bool solve(MatrixView<const double> A, const double* c, double beta, double tol, double* s,
             const Columns& columns = nullptr);

 private:
  static constexpr Index kLanes = 8;  // rows added to the factor at once
  struct Entry {
    std::int32_t atom = 0;
    double sign = 0;
  };
  bool start(const double* s);
  bool find_joining();
  bool admit();
  void make_columns();
  bool add(const Entry* entries, Index count);
  void solve_on_set();
  bool drop_wrong_signs();
  void remove(Index position);

  Index stride_, r_ = 0;
  MatrixView<const double> A_;
  const double* c_ = nullptr;
  double beta_ = 0, tol_ = 0;
  double b_ = 0;  // the penalty now
  Index p_ = 0;   // |P|
  static constexpr Index kRoom = 6;
  Index room_ = kRoom;                   // atoms let in at a time, while few are in use
  int stuck_ = 0;                        // strides in which the penalty did not fall
  Vector<double> factor_;                // L of A_PP = L L', column-major, 1 / l_jj on the diagonal
  Vector<double> rows_;                  // p x kLanes: the rows about to be added
  Vector<double> z_, y_;                 // L^-1 c_P, L^-1 sigma
  Vector<double> zs_, ys_;               // A_PP^-1 c_P, A_PP^-1 sigma: s_P(b) = zs - b/2 ys
  Vector<double> zu_, yu_;               // A_:P times these: A s(b) = zu - b/2 yu
  Vector<double> sign_, joins_, order_;  // joins: the penalty at which an atom would join
  std::vector<std::int32_t> set_, candidates_;
  std::vector<Entry> joining_;
  const Columns* columns_ = nullptr;
  std::vector<char> made_;  // columns that have been
  std::vector<std::int32_t> fresh_;
};

}  // namespace pacewise

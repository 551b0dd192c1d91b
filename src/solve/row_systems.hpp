#pragma once
#include <cstdint>
#include <vector>

#include "algebra/parallel.hpp"
#include "data/problem.hpp"

namespace pacewise {

/// The codes' nonzeros, sample by sample: atoms ascend from start[j] to start[j + 1].
struct UsedCodes {
  std::vector<std::size_t> start{0};
  std::vector<std::int32_t> atom;
  std::vector<double> code;
};

/// The Gram matrices of the rows of a dictionary whose entries have weights, and systems made of them:
///   M_i = S diag(w_i) S',   (M_i + D) x_i = y_i   for every row i, D diagonal.
/// The lanes of a vector hold one number of sixteen rows (Real = float) or of eight (double), so that factors,
/// solutions and inverses of matrices too small for the BLAS go at the speed of multiplications. Grams are kept from
/// one call to the next where `bytes` allow it, else made anew.
template <class T, class Real>
class RowSystems {
 public:
  /// Codes over u atoms, weights and Grams stay the caller's; a code times the root of its largest weight is 1 at most.
  RowSystems(const UsedCodes& codes, Index u, const Weights<T>& weights, Index m, double bytes, const Control& control);
  /// M_i = phi_i M, phi the weights of features
  RowSystems(const Matrix<double>& M, const Weights<T>& weights, Index m, double bytes);
  /// x_i <- y_i + (M_i + D)^-1 x_i for the columns of u x m matrices. With `hessian`, u x u:
  ///   2 sum_i x_ik x_il [(M_i + D)^-1]_kl   at these x.
  /// Without meaning once control.stop().
  void solve(const std::vector<double>& diagonal, const Matrix<double>& y, Matrix<double>& x, Matrix<double>* hessian,
             const Control& control);

 private:
  static constexpr Index kLanes = 64 / static_cast<Index>(sizeof(Real));
  struct Pairs;
  struct Worker;
  /// of one vector of rows: a lower triangle of 4 x 4 tiles, each row after row
  Index numbers() const { return tiles_ * (tiles_ + 1) / 2 * 16 * kLanes; }
  RowSystems(Index u, Index m, const Weights<T>& weights, double bytes);
  Real* gram(Index vector) {
    return grams_[static_cast<std::size_t>(vector / pack_)].data() + vector % pack_ * numbers();
  }
  void make_grams(Index first, const Control& control);
  void add_codes(Index first, Index packs, const Control& control);
  void scale_shared(Index first, Index packs, const Control& control);
  void gather_pairs(Index first, Index last, Pairs& pairs, const Control& control) const;
  Index end_of_chunk(Index first) const;
  void solve_vector(Index vector, const Real* gram, const Vector<Real>& diagonal, const Matrix<double>& y,
                    Matrix<double>& x, bool with_hessian, Worker& w) const;

  const Weights<T>* weights_;
  const UsedCodes* codes_ = nullptr;
  const Matrix<double>* shared_ = nullptr;
  Index m_, n_ = 0, u_, tiles_;
  Index pack_ = 8;                   // vectors of rows whose Grams are made together: 8, 4, 2 or 1
  Index vectors_, strip_;            // of rows, in all and at a time
  Index made_ = -1;                  // the first of those whose Grams are there
  std::vector<double> root_;         // sqrt(max_i w_ij)
  std::vector<Vector<Real>> grams_;  // of a strip, pack by pack: one array would be too large for malloc to keep
};

}  // namespace pacewise

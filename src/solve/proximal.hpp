#pragma once
#include "algebra/parallel.hpp"
#include "algebra/sparse.hpp"
#include "pacewise/tuning.hpp"

namespace pacewise {

/// A Laplacian in the order in which proximal steps run: connected components one after another, each in reverse
/// Cuthill-McKee order, so that a sample's neighbours are close by in memory. Made once for a fit.
class CoupledGraph {
 public:
  CoupledGraph(const Sparse& laplacian, const Control& control, const Tuning& tuning = {});

  Index samples() const { return std::ssize(order_); }
  Index components() const { return std::ssize(first_) - 1; }

  Vector<Index> order_;             // place -> sample
  Vector<Index> first_;             // component g has the places first_[g] .. first_[g+1]
  Vector<std::int32_t> component_;  // of each place
  Vector<double> bound_;            // of each place: bound_[j] >= 0, diag(bound_) - L positive semidefinite
  Vector<Index> start_;             // columns of the reordered L
  Vector<std::int32_t> neighbour_;  // places
  Vector<float> value_;
};

/// y += f (V L)_at for V in the graph's order
void add_laplacian(const CoupledGraph& graph, const Matrix<float>& V, Index at, float f, float* y);
/// tr(S L S'), products in float
template <class T>
double smoothness(const CoupledGraph& graph, MatrixView<const T> S, const Control& control);

/// The quadratic model of the codes' objective about S that proximal steps work on, for a change D:
///   <D, A D> + alpha tr(D L D') - 2 <N, D> + sum p_k (|s + d| - |s|),   A_j = diag(delta_j) A diag(delta_j) + C.
struct CoupledModel {
  const CoupledGraph* graph = nullptr;
  double alpha = 0;
  Matrix<float> A;              // r x r
  Matrix<float> C;              // r x r; empty: 0, or contained in A where delta is empty
  Matrix<float> delta;          // r x n in the graph's order; empty: 1
  Vector<double> penalty = {};  // r
  bool positive = false;
};

/// Accelerated proximal gradient (FISTA) with restarts, in float, each connected component by itself: D <- about the
/// minimiser of the model, from D = 0. S, N, D: r x n in the graph's order; N is given less sign(s) p / 2, so that it
/// is small where S is nearly optimal. A component ends after `passes` passes or when the gradient mapping is below
/// `goal`. The model's value never rises above 0. The passes made.
int minimise_model(const CoupledModel& model, const Matrix<float>& S, const Matrix<float>& N, int passes, double goal,
                   Matrix<float>& D, const Tuning& tuning, const Control& control);

}  // namespace pacewise

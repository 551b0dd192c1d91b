#include "model/learn.hpp"

#include <algorithm>
#include <cmath>

#include "algebra/random.hpp"
#include "solve/dictionary.hpp"
#include "solve/objective.hpp"
#include "solve/residual.hpp"
#include "solve/weights.hpp"

namespace pacewise {
namespace {

/// Blocks of a pass, of two samples or more for every atom; block b has the samples b, b + blocks, .. , wherever the
/// classes of the data begin and end. Primes, because data come in periods.
Index blocks_of(Index samples, Index atoms) {
  for (const Index blocks : {31, 23, 17, 11, 7, 5, 3, 2})
    if (samples >= 2 * blocks * atoms) return blocks;
  return 1;
}

template <class T>
MatrixView<const T> every(MatrixView<const T> X, Index first, Index blocks) {
  return {X.col(first), X.rows, (X.cols - first + blocks - 1) / blocks, X.stride * blocks};
}

/// Dictionary, codes, and the sums A = S S', C = X S' over all samples that the sweeps over the atoms need.
template <class T>
class Learner {
 public:
  Learner(MatrixView<const T> X, EigenMatrix<double> B, double beta, const Control& control)
      : X_(X), penalty_{beta}, control_(control), blocks_(blocks_of(X.cols, B.cols())), B_(std::move(B)) {
    project_atoms(B_, false);
    for (Index b = 0; b < blocks_; ++b) S_.emplace_back(B_.cols(), every(X_, b, blocks_).cols);
    sums_ = {EigenMatrix<double>::Zero(B_.cols(), B_.cols()), EigenMatrix<double>::Zero(B_.rows(), B_.cols())};
    curvature_.f = Eigen::VectorXd::Ones(B_.rows());
    atoms_.resize(B_.rows(), B_.cols());
    energy_ = parallel_sum(X_.cols, control, 0.0, [&](Index first, Index count, int, double& sum) {
      sum += eigen(X_.columns(first, count)).template cast<double>().squaredNorm();
    });
  }

  /// Passes until one lowers the objective by less than tol, relatively: true; or until they run out, or control. An
  /// atom nobody uses gets its chance before the end is declared.
  bool run(int max_passes, double tol, std::vector<double>& history) {
    Random random(history.size());
    double now = objective();
    while (static_cast<int>(history.size()) < max_passes) {
      const bool revived = !history.empty() && revive(random);
      for (Index b = 0; b < blocks_ && !control_.stop(); ++b) visit(b);
      if (control_.stop()) return false;
      const double before = std::exchange(now, objective());
      history.push_back(now);
      const bool unused = (sums_.A.diagonal().array() == 0).any();
      if ((revived || !unused) && before - now <= std::max(tol * std::abs(now), 4 * rounding_)) return true;
    }
    return false;
  }

  /// Where it stands, with the codes of this very dictionary, unless there is no time left for them.
  Learned<T> result(double tol) {
    Learned<T> out;
    out.dictionary.resize(B_.rows(), B_.cols());
    eigen(out.dictionary) = B_.template cast<T>();
    out.codes.resize(B_.cols(), X_.cols);
    for (Index j = 0; j < X_.cols; ++j) std::copy_n(codes_of(j), B_.cols(), out.codes.col(j));
    const CodesProblem<T> problem{X_, unweighted_, out.dictionary, penalty_, {}};
    out.certificate.codes = solve_codes<T>(problem, out.codes, {tol}, control_).certificate;
    const Control whole = control_.to_the_end();
    if (control_.stop()) out.certificate.codes = codes_certificate(problem, out.codes, whole);
    const DictionaryProblem<T> atoms{X_, unweighted_, out.codes};
    const EigenMatrix<double> B = eigen(out.dictionary).template cast<double>();
    const DictionaryGradient gradient = dictionary_gradient<T>(atoms, B, whole);
    out.objective = code_terms<T>(out.codes, penalty_, {}, 0, whole);
    out.objective.fit = gradient.fit;
    out.certificate.dictionary =
        dictionary_residual(dictionary_curvature(atoms, false, tuning_, whole), gradient.N, false, B);
    return out;
  }

 private:
  struct Sums {
    EigenMatrix<double> A, C;  // S S', X S'
  };

  const T* codes_of(Index j) const { return S_[static_cast<std::size_t>(j % blocks_)].col(j / blocks_); }

  /// The codes of one block, then one sweep over the atoms with the sums as they stand: each lowers the objective.
  void visit(Index b) {
    const MatrixView<const T> X = every(X_, b, blocks_);
    Matrix<T>& S = S_[static_cast<std::size_t>(b)];
    const Index r = B_.cols();
    both_ = eigen(S).template cast<double>();
    change_ = -both_;
    eigen(atoms_) = B_.template cast<T>();
    solve_codes<T>({X, unweighted_, atoms_, penalty_, {}}, S, {1e-4}, control_);
    both_ += eigen(S).template cast<double>();
    change_ += eigen(S).template cast<double>();
    const EigenMatrix<float> change = change_.transpose().template cast<float>();
    // A: now now' - was was' = (P + P') / 2, P = (now - was) (now + was)'. Every task has columns of P or rows of C.
    moved_.resize(r, r);
    parallel_for(r, control_, [&](Index first, Index count, int) {
      moved_.middleCols(first, count).noalias() = change_ * both_.middleRows(first, count).transpose();
    });
    sums_.A += 0.5 * (moved_ + moved_.transpose());
    parallel_for(X.rows, control_, [&](Index first, Index count, int) {
      const EigenMatrix<float> x = eigen(X).middleRows(first, count).template cast<float>();
      sums_.C.middleRows(first, count) += (x * change).template cast<double>();
    });
    for (Index k = 0; k < r; ++k) {  // where the last user of an atom has left, the sums are rounding
      bool used = false;
      for (Index other = 0; other < blocks_ && !used; ++other)
        used = (eigen(S_[static_cast<std::size_t>(other)]).row(k).array() != T(0)).any();
      if (used) continue;
      sums_.A.row(k).setZero();
      sums_.A.col(k).setZero();
      sums_.C.col(k).setZero();
    }
    curvature_.A = sums_.A;
    N_ = sums_.C;
    N_.noalias() -= B_ * sums_.A;
    sweep_atoms(curvature_, N_, false, 1, 0, B_, tuning_, control_);
  }

  /// |X - B S|^2 + beta |S|_1, the first by way of the sums, |X|^2 - 2 <C, B> + <A, B'B>. Leaves the size of its
  /// rounding in rounding_.
  double objective() {
    double l1 = 0;
    for (const Matrix<T>& S : S_) l1 += eigen(S).template cast<double>().cwiseAbs().sum();
    const double linear = 2 * sums_.C.cwiseProduct(B_).sum();
    const double quadratic =
        sums_.A.cwiseProduct(feature_gram<double, double>({B_.data(), B_.rows(), B_.cols()}, Vector<T>())).sum();
    rounding_ =
        static_cast<double>(std::numeric_limits<T>::epsilon()) * (energy_ + std::abs(linear) + std::abs(quadratic));
    return energy_ - linear + quadratic + penalty_.beta * l1;
  }

  /// Atoms that no sample uses become samples, drawn in proportion to what is left of them; the objective stays.
  bool revive(Random& random) {
    if (!(sums_.A.diagonal().array() == 0).any()) return false;
    Vector<double> left(X_.cols);
    parallel_for(X_.cols, control_.to_the_end(), [&](Index first, Index count, int) {
      for (Index j = first; j < first + count; ++j) {
        const Eigen::VectorXd s =
            Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>>(codes_of(j), B_.cols()).template cast<double>();
        left[j] = (eigen(X_).col(j).template cast<double>() - B_ * s).squaredNorm();
      }
    });
    Vector<char> used(B_.cols());
    for (Index k = 0; k < B_.cols(); ++k) used[k] = sums_.A(k, k) > 0 ? 1 : 0;
    revive_atoms(
        used, left, [&](Index j) { return eigen(X_).col(j).template cast<double>(); }, false, random, B_);
    return true;
  }

  MatrixView<const T> X_;
  Penalty penalty_;
  const Control& control_;
  const Weights<T> unweighted_;
  const Tuning tuning_;
  Index blocks_;
  EigenMatrix<double> B_;
  Sums sums_;
  std::vector<Matrix<T>> S_;  // block by block
  Matrix<T> atoms_;
  EigenMatrix<double> both_, change_, moved_;  // codes of a block: now + was, now - was; what moves A
  Curvature curvature_;
  EigenMatrix<double> N_;
  double energy_ = 0;    // |X|^2
  double rounding_ = 0;  // of the last objective
};

/// Returns max |x_ij|
template <class T>
double check_data(MatrixView<const T> X, const Matrix<T>& B) {
  if (X.empty()) throw Error("data: must have at least one sample and one feature");
  if (B.rows() != X.rows || B.cols() < 1)
    throw Error("dictionary has " + std::to_string(B.cols()) + " atoms of " + std::to_string(B.rows()) +
                " features: must have at least one, of as many features as the data = " + std::to_string(X.rows));
  for (Index j = 0; j < X.cols; ++j)
    if (!all_finite(X.col(j), X.rows))
      throw Error(
          "sample " + std::to_string(j) +
          " has a value that is missing or infinite: learn takes complete data; fit takes missing values and weights");
  if (!all_finite(B.data(), B.size())) throw Error("dictionary has a value that is not finite");
  return static_cast<double>(eigen(X).cwiseAbs().maxCoeff());
}

}  // namespace

void validate(const LearnOptions& o) {
  require(at_least(0), "beta", o.beta);
  require(at_least(1), "max_iter", o.max_iter);
  require(at_least(0), "tol", o.tol);
  require(above(0), "step_tol", o.step_tol);
}

template <class T>
Learned<T> learn(MatrixView<const T> X, Matrix<T> dictionary, const LearnOptions& given, const Control& control) {
  validate(given);
  const double top = check_data(X, dictionary);
  // squares of huge or tiny data leave the range of numbers: x -> c x, beta -> c beta, s -> c s, c a power of two
  LearnOptions options = given;
  Matrix<T> scaled;
  int power = top > 0 ? std::ilogb(top) : 0;
  if (std::abs(power) <= 20) power = 0;
  if (power != 0) {
    scaled.resize(X.rows, X.cols);
    for (Index j = 0; j < X.cols; ++j)
      for (Index i = 0; i < X.rows; ++i) scaled(i, j) = std::ldexp(X(i, j), -power);
    X = std::as_const(scaled).view();
    options.beta = std::ldexp(options.beta, -power);
  }
  const SerialBlas serial;
  Learner<T> learner(X, eigen(dictionary).template cast<double>(), options.beta, control);
  std::vector<double> history;
  const bool stalled = learner.run(options.max_iter, options.tol, history);
  Learned<T> out = learner.result(options.step_tol);
  out.history = std::move(history);
  if (power != 0) {
    for (Index i = 0; i < out.codes.size(); ++i) out.codes.data()[i] = std::ldexp(out.codes.data()[i], power);
    for (double& value : out.history) value = std::ldexp(value, 2 * power);
    out.objective.fit = std::ldexp(out.objective.fit, 2 * power);
    out.objective.sparsity = std::ldexp(out.objective.sparsity, 2 * power);
  }
  out.termination = control.cancelled() ? Termination::cancelled
                    : control.late()    ? Termination::time_limit
                    : stalled           ? Termination::converged
                                        : Termination::iteration_limit;
  return out;
}

template Learned<float> learn(MatrixView<const float>, Matrix<float>, const LearnOptions&, const Control&);
template Learned<double> learn(MatrixView<const double>, Matrix<double>, const LearnOptions&, const Control&);

}  // namespace pacewise

#include "model/learn.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "algebra/dense.hpp"
#include "algebra/random.hpp"
#include "algebra/sums.hpp"
#include "solve/atom_sweep.hpp"
#include "solve/dictionary.hpp"
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

/// Certificate asked of the codes of a block: the dictionary moves before they count again.
constexpr double kBlockTol = 1e-4;
/// Passes in float as long as they lower the objective by more than this: products at twice the speed.
constexpr double kFloatTol = 1e-5;

/// Calls body(j) for every sample, on all threads; nothing stops it.
template <class Body>
void over_samples(Index samples, const Control& control, const Body& body) {
  parallel_blocks(block_count(samples), control.to_the_end(), [&](Index block, int) {
    for (Index j = block * kBlock; j < block * kBlock + block_length(samples, block); ++j) body(j);
  });
}

template <class T>
MatrixView<const T> every(MatrixView<const T> X, Index first, Index blocks) {
  return {X.col(first), X.rows, (X.cols - first + blocks - 1) / blocks, X.stride * blocks};
}

/// C += X S', over the numbers that are not zero where those are few; and beside(), which must not touch C
template <class T, class Beside>
void add_products(MatrixView<const T> X, MatrixView<const std::type_identity_t<T>> S, MatrixView<T> C,
                  const Control& control, const Beside& beside) {
  constexpr Index kRows = 128;
  std::vector<Index> nonzero(static_cast<std::size_t>(S.cols));
  over_samples(S.cols, control, [&](Index j) {
    nonzero[static_cast<std::size_t>(j)] = S.rows - std::count(S.col(j), S.col(j) + S.rows, T(0));
  });
  const bool dense = 10 * std::accumulate(nonzero.begin(), nonzero.end(), Index{0}) > S.rows * S.cols;
  std::vector<std::int32_t> atom;
  std::vector<std::size_t> begin(1, 0);
  for (Index j = 0; j < S.cols && !dense; ++j) {
    for (Index k = 0; k < S.rows; ++k)
      if (S(k, j) != T(0)) atom.push_back(static_cast<std::int32_t>(k));
    begin.push_back(atom.size());
  }
  parallel_blocks(1 + block_count(X.rows, kRows), control.to_the_end(), [&](Index task, int) {
    if (task == 0) {
      beside();
      return;
    }
    const Index block = task - 1, from = block * kRows, rows = block_length(X.rows, block, kRows);
    if (dense) {
      gemm<T>(Op::plain, Op::transposed, 1, X.block(from, 0, rows, X.cols), S, 1, C.block(from, 0, rows, C.cols));
      return;
    }
    for (Index j = 0; j < S.cols; ++j) {
      const T* x = X.col(j) + from;
      for (std::size_t p = begin[static_cast<std::size_t>(j)]; p < begin[static_cast<std::size_t>(j) + 1]; ++p) {
        T* c = C.col(atom[p]) + from;
        const T s = S(atom[p], j);
        for (Index i = 0; i < rows; ++i) c[i] += s * x[i];
      }
    }
  });
}

/// Dictionary, codes, and the sums A = S S', C = X S' over all samples that the sweeps over the atoms need.
template <class T>
class Learner {
 public:
  Learner(MatrixView<const T> X, Matrix<T> B, double beta, const Control& control)
      : X_(X),
        beta_(beta),
        control_(control),
        blocks_(blocks_of(X.cols, B.cols())),
        B_(std::move(B)),
        A_(B_.cols(), B_.cols()),
        C_(B_.rows(), B_.cols()),
        users_(static_cast<std::size_t>(B_.cols()), 0) {
    into_ball(B_);
    for (Index b = 0; b < blocks_; ++b) S_.emplace_back(B_.cols(), every(X_, b, blocks_).cols);
    std::vector<double> energy(static_cast<std::size_t>(X_.cols));
    over_samples(X_.cols, control,
                 [&](Index j) { energy[static_cast<std::size_t>(j)] = inner_product(X_.col(j), X_.col(j), X_.rows); });
    for (const double e : energy) energy_ += e;
  }

  /// Passes until one lowers the objective by less than tol, relatively: true; or until they run out, or control. In
  /// float also where rounding is as large as the fall. An atom nobody uses gets its chance before the end is declared.
  bool run(int max_passes, double tol, std::vector<double>& history) {
    Random random(history.size());
    double now = objective();
    while (static_cast<int>(history.size()) < max_passes) {
      const bool revived = !history.empty() && revive(random);
      pass();
      if (control_.stop()) return false;
      const double before = std::exchange(now, objective());
      history.push_back(now);
      const bool waiting = !revived && std::find(users_.begin(), users_.end(), 0) != users_.end();
      if (!waiting && before - now <= std::max(tol * std::abs(now), 4 * rounding_)) return true;
    }
    return false;
  }

  const Matrix<T>& dictionary() const { return B_; }
  Matrix<T> codes() const {
    Matrix<T> S;
    S.resize_for_overwrite(B_.cols(), X_.cols);
    over_samples(X_.cols, control_, [&](Index j) {
      std::copy_n(S_[static_cast<std::size_t>(j % blocks_)].col(j / blocks_), S.rows(), S.col(j));
    });
    return S;
  }
  /// All codes anew, and the sums made from them alone
  void set_codes(MatrixView<const T> S) {
    sum_up(S);
    for (Index b = 0; b < blocks_; ++b)
      for (Index j = 0; j < S_[static_cast<std::size_t>(b)].cols(); ++j)
        std::copy_n(S.col(b + j * blocks_), S.rows, S_[static_cast<std::size_t>(b)].col(j));
  }

  /// Where it stands, with the codes of this very dictionary, begun at `codes`, unless there is no time left for them.
  Learned<T> result(Matrix<T> codes, double tol) {
    Learned<T> out;
    out.codes = std::move(codes);
    const CodesProblem<T> problem{X_, unweighted_, B_, beta_, {}};
    StepOptions step;
    step.tol = tol;
    out.certificate.codes = solve_codes<T>(problem, out.codes, step, control_).certificate;
    const Control to_the_end = control_.to_the_end();
    if (control_.stop()) out.certificate.codes = codes_certificate(problem, out.codes, to_the_end);
    sum_up(out.codes);
    out.objective = code_terms<T>(out.codes, beta_, {}, 0, to_the_end);
    out.objective.fit = fit_of(out.codes, to_the_end);
    out.certificate.dictionary = dictionary_certificate(A_, C_, B_, to_the_end);
    out.dictionary = B_;
    return out;
  }

 private:
  /// One pass over the samples. Each of its parts lowers the objective, to the exactness it is solved with.
  void pass() {
    for (Index b = 0; b < blocks_ && !control_.stop(); ++b) {
      const MatrixView<const T> X = every(X_, b, blocks_);
      Matrix<T>& S = S_[static_cast<std::size_t>(b)];
      const Matrix<T> before = S;
      StepOptions step;
      step.tol = kBlockTol;
      solve_codes<T>({X, unweighted_, B_, beta_, {}}, S, step, control_);
      Matrix<T> change;
      change.resize_for_overwrite(S.rows(), S.cols());
      over_samples(S.cols(), control_, [&](Index j) {
        for (Index k = 0; k < S.rows(); ++k) change(k, j) = S(k, j) - before(k, j);
      });
      add_products<T>(X, change, C_.view(), control_, [&] {
        gram<T>(Op::plain, -1, before, 1, A_.view());
        gram<T>(Op::plain, 1, S, 1, A_.view());
        count_users(before, -1);
        count_users(S, 1);
      });
      forget_unused();
      sweep_atoms(A_, C_, B_, control_);
    }
  }

  void sum_up(MatrixView<const T> S) {
    C_.fill(T(0));
    add_products<T>(X_, S, C_.view(), control_, [&] {
      gram<T>(Op::plain, 1, S, 0, A_.view());
      std::fill(users_.begin(), users_.end(), 0);
      count_users(S, 1);
    });
  }

  void count_users(MatrixView<const T> S, int by) {
    for (Index j = 0; j < S.cols; ++j)
      for (Index k = 0; k < S.rows; ++k) users_[static_cast<std::size_t>(k)] += S(k, j) != T(0) ? by : 0;
  }

  /// Where the last user of an atom has left, the sums are rounding: exactly zero they must be.
  void forget_unused() {
    for (Index k = 0; k < B_.cols(); ++k) {
      if (users_[static_cast<std::size_t>(k)] > 0) continue;
      for (Index l = 0; l < B_.cols(); ++l) A_(k, l) = A_(l, k) = T(0);
      std::fill_n(C_.col(k), C_.rows(), T(0));
    }
  }

  double fit_of(MatrixView<const T> S, const Control& control) const {
    double sum = 0;
    for (const T l : unit_losses<T>(X_, unweighted_, B_, S, Level::none, control)) sum += static_cast<double>(l);
    return sum;
  }

  /// |X - B S|^2 + beta |S|_1, the first by way of the sums, |X|^2 - 2 <C, B> + <A, B'B>, unless that would be the
  /// small difference of large numbers. Leaves the size of its rounding in rounding_.
  double objective() {
    // <A, B'B> and <C, B> over blocks of rows, |S|_1 over blocks of samples
    constexpr Index kRows = 256;
    const Index m = B_.rows(), r = B_.cols(), strips = block_count(m, kRows);
    std::vector<double> squares(static_cast<std::size_t>(strips)), products(squares), sizes(S_.size());
    parallel_blocks(strips + blocks_, control_.to_the_end(), [&](Index task, int) {
      if (task >= strips) {
        const Matrix<T>& S = S_[static_cast<std::size_t>(task - strips)];
        sizes[static_cast<std::size_t>(task - strips)] = sum_of_sizes(S.data(), S.size());
        return;
      }
      const Index top = task * kRows, rows = block_length(m, task, kRows);
      Matrix<T> gram_of_atoms(r, r);
      gram<T>(Op::transposed, 1, std::as_const(B_).view().block(top, 0, rows, r), 0, gram_of_atoms.view());
      squares[static_cast<std::size_t>(task)] = inner_product<T>(A_.data(), gram_of_atoms.data(), A_.size());
      for (Index k = 0; k < r; ++k)
        products[static_cast<std::size_t>(task)] += inner_product<T>(C_.col(k) + top, B_.col(k) + top, rows);
    });
    const double quadratic = std::accumulate(squares.begin(), squares.end(), 0.0);
    const double linear = 2 * std::accumulate(products.begin(), products.end(), 0.0);
    const double l1 = std::accumulate(sizes.begin(), sizes.end(), 0.0);
    constexpr auto epsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
    double fit = energy_ - linear + quadratic;
    rounding_ = epsilon * (energy_ + std::abs(linear) + std::abs(quadratic));
    if (!(rounding_ < 1e-4 * (fit + beta_ * l1))) {
      fit = fit_of(codes(), control_);
      rounding_ = epsilon * (fit + beta_ * l1);
    }
    return fit + beta_ * l1;
  }

  /// Atoms that no sample uses become samples, drawn in proportion to what is left of them; the objective stays.
  bool revive(Random& random) {
    if (std::find(users_.begin(), users_.end(), 0) == users_.end()) return false;
    const Vector<T> losses = unit_losses<T>(X_, unweighted_, B_, codes(), Level::sample, control_);
    std::vector<double> left(losses.begin(), losses.end());
    for (Index k = 0; k < B_.cols(); ++k) {
      if (users_[static_cast<std::size_t>(k)] > 0) continue;
      const Index j = random.draw(left);
      if (j < 0) break;
      left[static_cast<std::size_t>(j)] = 0;
      double norm2 = 0;
      for (Index i = 0; i < X_.rows; ++i) norm2 += static_cast<double>(X_(i, j)) * static_cast<double>(X_(i, j));
      const double scale = norm2 > 0 ? 1 / std::sqrt(norm2) : 0;
      for (Index i = 0; i < X_.rows; ++i) B_(i, k) = static_cast<T>(scale * static_cast<double>(X_(i, j)));
    }
    return true;
  }

  MatrixView<const T> X_;
  double beta_;
  const Control& control_;
  const Weights<T> unweighted_;
  Index blocks_;
  Matrix<T> B_, A_, C_;
  std::vector<Matrix<T>> S_;  // block by block
  std::vector<Index> users_;  // how many samples use an atom
  double energy_ = 0;         // |X|^2
  double rounding_ = 0;       // of the last objective
};

/// Returns max |x_ij|
template <class T>
double check_data(MatrixView<const T> X, const Matrix<T>& B, const Control& control) {
  if (X.empty()) throw Error("data: must have at least one sample and one feature");
  if (B.rows() != X.rows || B.cols() < 1)
    throw Error("dictionary has " + std::to_string(B.cols()) + " atoms of " + std::to_string(B.rows()) +
                " features: must have at least one, of as many features as the data = " + std::to_string(X.rows));
  std::vector<double> largest(static_cast<std::size_t>(X.cols));
  over_samples(X.cols, control, [&](Index j) {
    largest[static_cast<std::size_t>(j)] =
        all_finite(X.col(j), X.rows) ? largest_size(X.col(j), X.rows) : std::numeric_limits<double>::infinity();
  });
  double top = 0;
  for (std::size_t j = 0; j < largest.size(); ++j) {
    if (std::isinf(largest[j]))
      throw Error("sample " + std::to_string(j) +
                  " has a value that is missing or infinite: learn takes whole data; fit takes holes and weights");
    top = std::max(top, largest[j]);
  }
  if (!all_finite(B.data(), B.size())) throw Error("dictionary has a value that is not finite");
  return top;
}

template <class To, class From>
Matrix<To> converted(MatrixView<const From> X, const Control& control) {
  Matrix<To> out;
  out.resize_for_overwrite(X.rows, X.cols);
  over_samples(X.cols, control, [&](Index j) {
    for (Index i = 0; i < X.rows; ++i) out(i, j) = static_cast<To>(X(i, j));
  });
  return out;
}

}  // namespace

void validate(const LearnOptions& o) {
  require(at_least(0), "beta", o.beta);
  require(at_least(1), "max_iter", o.max_iter);
  require(at_least(0), "tol", o.tol);
  require(above(0), "step_tol", o.step_tol);
}

namespace {

/// Data whose squares would leave the range of floats are learned at another scale: x -> c x, beta -> c beta, s -> c s.
template <class T>
Learned<T> learn_scaled(MatrixView<const T> X, Matrix<T> dictionary, LearnOptions options, int power,
                        const Control& control) {
  Matrix<T> scaled(X.rows, X.cols);
  for (Index j = 0; j < X.cols; ++j)
    for (Index i = 0; i < X.rows; ++i) scaled(i, j) = std::ldexp(X(i, j), -power);
  options.beta = std::ldexp(options.beta, -power);
  Learned<T> out = learn<T>(scaled.view(), std::move(dictionary), options, control);
  for (Index i = 0; i < out.codes.size(); ++i) out.codes.data()[i] = std::ldexp(out.codes.data()[i], power);
  for (double& value : out.history) value = std::ldexp(value, 2 * power);
  out.objective.fit = std::ldexp(out.objective.fit, 2 * power);
  out.objective.sparsity = std::ldexp(out.objective.sparsity, 2 * power);
  return out;
}

}  // namespace

template <class T>
Learned<T> learn(MatrixView<const T> X, Matrix<T> dictionary, const LearnOptions& options, const Control& control) {
  validate(options);
  const double top = check_data(X, dictionary, control);
  if (const int power = top > 0 ? std::ilogb(top) : 0; std::abs(power) > 20)
    return learn_scaled(X, std::move(dictionary), options, power, control);
  const SerialBlas serial;
  into_ball(dictionary);
  std::vector<double> history;
  Matrix<T> codes(dictionary.cols(), X.cols);
  if (std::is_same_v<T, double>) {
    const auto rough_data = converted<float>(X, control);
    Learner<float> rough(rough_data, cast<float, T>(dictionary), options.beta, control);
    rough.run(options.max_iter, std::max(options.tol, kFloatTol), history);
    dictionary = cast<T, float>(rough.dictionary());
    codes = converted<T, float>(rough.codes(), control);
  }
  Learner<T> learner(X, std::move(dictionary), options.beta, control);
  bool stalled = false;
  if (static_cast<int>(history.size()) < options.max_iter) {  // whether it has stalled is for this precision to say
    learner.set_codes(codes);
    stalled = learner.run(options.max_iter, options.tol, history);
    codes = learner.codes();
  }
  Learned<T> out = learner.result(std::move(codes), options.step_tol);
  out.history = std::move(history);
  out.termination = control.cancelled() ? Termination::cancelled
                    : control.late()    ? Termination::time_limit
                    : stalled           ? Termination::converged
                                        : Termination::iteration_limit;
  return out;
}

template Learned<float> learn(MatrixView<const float>, Matrix<float>, const LearnOptions&, const Control&);
template Learned<double> learn(MatrixView<const double>, Matrix<double>, const LearnOptions&, const Control&);

}  // namespace pacewise

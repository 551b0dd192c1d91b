#include "solve/dictionary.hpp"

#include <algorithm>
#include <cmath>

#include "algebra/sums.hpp"
#include "solve/codes_model.hpp"
#include "solve/column_mixing.hpp"
#include "solve/dictionary_dual.hpp"

namespace pacewise {
namespace {

template <class T>
void require(const DictionaryProblem<T>& p, const Matrix<T>& B) {
  if (p.S.cols != p.X.cols)
    throw Error("columns of the codes = " + std::to_string(p.S.cols) +
                ": must equal the number of samples = " + std::to_string(p.X.cols));
  if (B.rows() != p.X.rows || B.cols() != p.S.rows)
    throw Error("shape of the dictionary = " + std::to_string(B.rows()) + " x " + std::to_string(B.cols()) +
                ": must be features x atoms = " + std::to_string(p.X.rows) + " x " + std::to_string(p.S.rows));
}

/// a_k = max_i sum_j w_ij v_ij s_kj^2, half the curvature c_k of the certificate
template <class T>
std::vector<double> curvature(const DictionaryProblem<T>& p, const Control& control) {
  const Index m = p.X.rows, n = p.X.cols, r = p.S.rows;
  const auto sample_weight = [&](Index j) {
    return p.weights.sample.empty() ? T(1) : p.weights.sample[static_cast<std::size_t>(j)];
  };
  const auto& feature = p.weights.feature;
  const Index blocks = p.weights.entry.empty() ? 1 : block_count(m);
  Matrix<double> top(r, blocks);
  if (p.weights.entry.empty()) {
    const double largest = feature.empty() ? 1 : static_cast<double>(*std::max_element(feature.begin(), feature.end()));
    Matrix<double> sums(r, block_count(n));
    parallel_blocks(sums.cols(), control, [&](Index block, int) {
      for (Index j = block * kBlock; j < block * kBlock + block_length(n, block); ++j) {
        const T w = sample_weight(j);
        for (Index k = 0; k < r; ++k) sums(k, block) += largest * static_cast<double>(w * p.S(k, j) * p.S(k, j));
      }
    });
    for (Index block = 0; block < sums.cols(); ++block)
      for (Index k = 0; k < r; ++k) top(k, 0) += sums(k, block);
  } else {
    Matrix<T> squares(r, n);
    parallel_blocks(block_count(n), control, [&](Index block, int) {
      for (Index j = block * kBlock; j < block * kBlock + block_length(n, block); ++j) {
        const T w = sample_weight(j);
        for (Index k = 0; k < r; ++k) squares(k, j) = w * p.S(k, j) * p.S(k, j);
      }
    });
    std::vector<Matrix<T>> sums(static_cast<std::size_t>(thread_count(control)), Matrix<T>(std::min(m, kBlock), r));
    parallel_blocks(blocks, control, [&](Index block, int worker) {
      const Index first = block * kBlock, b = block_length(m, block);
      const MatrixView<T> a(sums[static_cast<std::size_t>(worker)].data(), b, r);
      gemm<T>(Op::plain, Op::transposed, 1, p.weights.entry.view().block(first, 0, b, n), squares, 0, a);
      for (Index k = 0; k < r; ++k)
        for (Index i = 0; i < b; ++i) {
          const double phi = feature.empty() ? 1 : static_cast<double>(feature[static_cast<std::size_t>(first + i)]);
          top(k, block) = std::max(top(k, block), phi * static_cast<double>(a(i, k)));
        }
    });
  }
  std::vector<double> result(static_cast<std::size_t>(r), 0.0);
  for (Index block = 0; block < blocks; ++block)
    for (Index k = 0; k < r; ++k)
      result[static_cast<std::size_t>(k)] = std::max(result[static_cast<std::size_t>(k)], top(k, block));
  return result;
}

struct Evaluation {
  double fit = 0, rounding = 0, certificate = 0;
  Matrix<double> gradient;         // G of the fit, m x r
  std::vector<double> multiplier;  // lambda_k = -<b_k, G_k> / 2: the KKT estimate at B
};

/// Certificate and multipliers at B from the fit's gradient there
template <class T>
void judge(MatrixView<const T> B, const std::vector<double>& a, Evaluation& out, const Control& control) {
  constexpr Index atoms = 16;
  const Index m = B.rows;
  const Matrix<double>& G = out.gradient;
  out.multiplier.assign(static_cast<std::size_t>(B.cols), 0.0);
  std::vector<double> gaps(static_cast<std::size_t>(B.cols), 0.0);
  parallel_blocks(block_count(B.cols, atoms), control, [&](Index block, int) {
    for (Index k = block * atoms; k < block * atoms + block_length(B.cols, block, atoms); ++k) {
      const double c = 2 * a[static_cast<std::size_t>(k)];
      if (!(c > 0)) continue;
      double norm2 = 0, slope = 0;
      for (Index i = 0; i < m; ++i) {
        const double b = static_cast<double>(B(i, k)), moved = b - G(i, k) / c;
        norm2 += moved * moved;
        slope -= b * G(i, k);
      }
      const double shrink = norm2 > 1 ? 1 / std::sqrt(norm2) : 1;
      double distance = 0;
      for (Index i = 0; i < m; ++i) {
        const double b = static_cast<double>(B(i, k)), gap = b - shrink * (b - G(i, k) / c);
        distance += gap * gap;
      }
      gaps[static_cast<std::size_t>(k)] = std::sqrt(distance);
      out.multiplier[static_cast<std::size_t>(k)] = std::max(0.0, slope / 2);
    }
  });
  for (const double gap : gaps) out.certificate = gap <= out.certificate ? out.certificate : gap;  // NaN stays
}

/// At B from the raw residual, row block by row block: G = -2 (w v (X - B S)) S'
template <class T>
Evaluation evaluate(const DictionaryProblem<T>& p, MatrixView<const std::type_identity_t<T>> B,
                    const std::vector<double>& a, const Control& control) {
  const Index m = p.X.rows, n = p.X.cols, r = p.S.rows;
  struct Worker {
    Matrix<T> residual, gradient;
  };
  const Index rows = std::min(m, kBlock);
  std::vector<Worker> workers(static_cast<std::size_t>(thread_count(control)),
                              Worker{Matrix<T>(rows, n), Matrix<T>(rows, r)});
  const Index blocks = block_count(m);
  std::vector<double> fit(static_cast<std::size_t>(blocks), 0.0);
  Evaluation out;
  out.gradient.resize(m, r);
  parallel_blocks(blocks, control, [&](Index block, int worker) {
    Worker& w = workers[static_cast<std::size_t>(worker)];
    const Index first = block * kBlock, b = block_length(m, block);
    const MatrixView<T> R(w.residual.data(), b, n), g(w.gradient.data(), b, r);
    for (Index j = 0; j < n; ++j) std::copy_n(p.X.col(j) + first, b, R.col(j));
    gemm<T>(Op::plain, Op::plain, -1, B.block(first, 0, b, r), p.S, 1, R);
    T plain[kBlock];
    double sum = 0;
    for (Index j = 0; j < n; ++j) {
      T* x = R.col(j);
      for (Index i = 0; i < b; ++i) plain[i] = x[i];
      weigh(p.weights, j, R.columns(j, 1), first);
      sum += inner_product<T>(plain, x, b);
    }
    fit[static_cast<std::size_t>(block)] = sum;
    gemm<T>(Op::plain, Op::transposed, -2, R, p.S, 0, g);
    for (Index k = 0; k < r; ++k)
      for (Index i = 0; i < b; ++i) out.gradient(first + i, k) = static_cast<double>(g(i, k));
  });
  for (const double f : fit) out.fit += f;
  out.rounding = 8 * static_cast<double>(std::numeric_limits<T>::epsilon()) * out.fit;
  judge<T>(B, a, out, control);
  return out;
}

/// The mean weight of every sample
template <class T>
Weights<T> mean_weights(const Weights<T>& weights, Index m, Index n, const Control& control) {
  Weights<T> mean;
  mean.sample.resize(static_cast<std::size_t>(n));
  parallel_blocks(block_count(n), control, [&](Index block, int) {
    for (Index j = block * kBlock; j < block * kBlock + block_length(n, block); ++j) {
      double sum = 0;
      for (Index i = 0; i < m; ++i) sum += static_cast<double>(weights(i, j));
      mean.sample[static_cast<std::size_t>(j)] = static_cast<T>(sum / static_cast<double>(m));
    }
  });
  return mean;
}

/// Entry weights give every row i of B a Gram of its own, M_i = S diag(w_i v_i) S'. Where atoms are so many that those
/// are dear, and the weights do not differ too much, the Gram of each sample's mean weight is near enough to lead:
///   B <- argmin  <G(Y), B - Y> + tr (B - Y) M (B - Y)'   on the unit balls, Y mixed from earlier steps row by row
/// needs one pass over the data a step and no array beyond some twenty dictionaries. Ends at the goal, or where halving
/// the certificate takes more than a few steps. B becomes the best found, `best` its evaluation.
template <class T>
void approach(const DictionaryProblem<T>& problem, const std::vector<double>& a, const StepOptions& options,
              const Control& control, Matrix<T>& B, Evaluation& best, StepReport& report) {
  constexpr int patience = 6, memory = 4, passes = 30;
  constexpr double delta = 1e-4;
  const double goal = std::max(options.tol, precision_floor<T>() / 4), highest = best.fit + best.rounding;
  const Index m = problem.X.rows;
  const Weights<T> mean = mean_weights(problem.weights, m, problem.X.cols, control);
  DictionaryDual<T> dual({problem.X, mean, problem.S}, a, options, control);
  dual.set_multipliers(best.multiplier, 1e-2);
  ColumnMixing mixing(memory);
  Matrix<double> y, slope, b;
  dual.pack(B, best.gradient, y, slope, control);
  Matrix<T> candidate = B;
  double last = best.certificate, milestone = last;
  for (int stale = 0; best.certificate > goal && stale < patience && report.rounds < options.max_rounds;) {
    dual.model_about(y, slope, delta);
    dual.solve(std::max(0.1 * goal, 1e-2 * std::min(last, 1e-2)), passes, control);
    dual.primal(candidate, control);
    into_ball(candidate);
    Evaluation now = evaluate(problem, candidate.view(), a, control);
    if (control.stop()) return;
    ++report.rounds;
    last = now.certificate;
    stale = last < 0.5 * milestone ? 0 : stale + 1;
    if (stale == 0) milestone = last;
    dual.pack(candidate, now.gradient, b, slope, control);
    mixing.next(b, slope, y, control);
    if (!(now.fit <= highest && last < best.certificate)) continue;
    B = candidate;
    best = std::move(now);
  }
}

}  // namespace

template <class T>
void into_ball(Matrix<T>& B) {
  for (Index k = 0; k < B.cols(); ++k) {
    const double norm2 = inner_product<T>(B.col(k), B.col(k), B.rows());
    if (!(norm2 > 1)) continue;
    const double shrink = 1 / std::sqrt(norm2);
    for (Index i = 0; i < B.rows(); ++i) B(i, k) = static_cast<T>(shrink * static_cast<double>(B(i, k)));
  }
}

template <class T>
DictionaryReport solve_dictionary(const DictionaryProblem<T>& problem, Matrix<T>& B, const StepOptions& options,
                                  const Control& control) {
  require(problem, B);
  const SerialBlas serial;
  into_ball(B);
  DictionaryReport report;
  report.certificate = std::numeric_limits<double>::infinity();
  const std::vector<double> a = curvature(problem, control);
  const double goal = std::max(options.tol, precision_floor<T>() / 4);
  const bool entries = !problem.weights.entry.empty();
  DictionaryDual<T> dual(problem, a, options, control);
  if (!entries) dual.aim_at_data(control);
  // Without entry weights the Gram of the codes, which the dual has, tells all: no pass over the data.
  const auto evaluation = [&](const Matrix<T>& at) {
    if (entries) return evaluate(problem, at.view(), a, control);
    auto slope = dual.slope(at, control);
    Evaluation out{slope.fit, slope.rounding, 0, std::move(slope.gradient), {}};
    judge<T>(at.view(), a, out, control);
    return out;
  };
  Evaluation now = evaluation(B);
  if (control.stop()) return report;
  const double highest = now.fit + now.rounding;  // the fit may not rise
  constexpr int max_passes = 200;
  // A pass over the rows costs r^3 / 2 operations each, a step with the mean Gram 2 n r and then some.
  const auto atoms = a.size() - static_cast<std::size_t>(std::count(a.begin(), a.end(), 0.0));
  if (entries && atoms * atoms > 30 * static_cast<std::size_t>(problem.X.cols) && now.certificate > goal)
    approach(problem, a, options, control, B, now, report);
  const auto take = [&] {
    report.certificate = now.certificate;
    if (entries) report.fit = now.fit;
  };
  take();
  report.converged = now.certificate <= options.tol;
  if (now.certificate <= goal || control.stop()) return report;
  // Proximal continuation: a large delta keeps the dual tame where the codes are rank-deficient, and leaves at most
  // delta |b - y| in the certificate; going on from there removes that, and where it is slow a smaller delta. Grams in
  // float, which is all that entry weights need at first, bear no delta much below 1e-5.
  double least_delta = std::is_same_v<T, double> ? 1e-11 : 1e-7;
  double delta = 1e-4;
  dual.set_multipliers(now.multiplier, now.certificate < 1e-3 ? 1e-4 : 1e-2);
  Matrix<T> candidate = B;
  Matrix<double> y, slope;
  double last = now.certificate, accuracy = 0.1 * goal;  // mostly enough; what is left over asks for more
  for (int stale = 0; stale < 8 && report.rounds < options.max_rounds;) {
    dual.pack(candidate, now.gradient, y, slope, control);
    dual.model_about(y, slope, delta);
    const int passes = std::min(max_passes, options.max_rounds - report.rounds);
    report.rounds += dual.solve(std::max(accuracy, 1e-2 * delta), passes, control);
    if (!dual.rough() && dual.violation() > 1e-3 && report.rounds < options.max_rounds) {  // Newton is lost
      least_delta = delta = std::min(10 * delta, 1.0);
      dual.set_multipliers(now.multiplier, 1e-4);
      ++stale;
      continue;
    }
    dual.primal(candidate, control);
    into_ball(candidate);
    now = evaluation(candidate);
    if (control.stop()) break;
    if (!std::isfinite(now.fit) || !std::isfinite(now.certificate)) {  // lost to rounding: from the best once more
      if (!dual.rough()) break;
      dual.refine(control);
      candidate = B;
      now = evaluation(candidate);
      dual.set_multipliers(now.multiplier, 1e-2);
      continue;
    }
    if (now.fit <= highest && now.certificate < report.certificate) {
      B = candidate;
      take();
    }
    if (report.certificate <= goal) break;
    stale = now.certificate < 0.5 * last ? 0 : stale + 1;
    if (now.certificate > 0.3 * last) {
      if (dual.rough() && (delta <= 1e-5 || now.certificate > last)) dual.refine(control);
      delta = std::max((dual.rough() ? 0.1 : 0.01) * delta, least_delta);
    }
    last = now.certificate;
    // exact enough and yet a worse fit: only atoms hardly used were off at the start, so the others must be better yet
    accuracy = 1e-2 * std::min(goal, now.fit > highest ? now.certificate : goal);
  }
  report.converged = report.certificate <= options.tol;
  return report;
}

template <class T>
double dictionary_certificate(const DictionaryProblem<T>& problem, const Matrix<T>& B, const Control& control) {
  require(problem, B);
  return evaluate(problem, B.view(), curvature(problem, control), control).certificate;
}

template <class T>
double dictionary_certificate(const Matrix<T>& A, const Matrix<T>& C, const Matrix<T>& B, const Control& control) {
  constexpr Index rows = 256;
  const Index m = B.rows(), r = B.cols();
  Matrix<T> G = C;  // 2 (B A - C)
  parallel_blocks(block_count(m, rows), control, [&](Index block, int) {
    const Index first = block * rows, count = block_length(m, block, rows);
    gemm<T>(Op::plain, Op::plain, 2, B.view().block(first, 0, count, r), A, -2, G.view().block(first, 0, count, r));
  });
  std::vector<double> a(static_cast<std::size_t>(A.cols()));
  for (Index k = 0; k < A.cols(); ++k) a[static_cast<std::size_t>(k)] = static_cast<double>(A(k, k));
  Evaluation at;
  at.gradient = cast<double, T>(G);
  judge<T>(B, a, at, control);
  return at.certificate;
}

#define PACEWISE_INSTANTIATE(T)                                                                                    \
  template DictionaryReport solve_dictionary<T>(const DictionaryProblem<T>&, Matrix<T>&, const StepOptions&,       \
                                                const Control&);                                                   \
  template double dictionary_certificate<T>(const DictionaryProblem<T>&, const Matrix<T>&, const Control&);        \
  template double dictionary_certificate<T>(const Matrix<T>&, const Matrix<T>&, const Matrix<T>&, const Control&); \
  template void into_ball(Matrix<T>&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

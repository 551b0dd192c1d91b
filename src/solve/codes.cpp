#include "solve/codes.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "solve/active_set.hpp"
#include "solve/codes_model.hpp"
#include "solve/lasso.hpp"

namespace pacewise {
namespace {

/// One worker's memory for solving a block of samples to the end.
template <class T>
struct BlockScratch {
  BlockScratch(const CodesModel<T>& model, Index block)
      : model_part(model, block), lasso(model.atoms()), active(model.atoms()), gradient(model.atoms(), block) {
    const auto r = static_cast<std::size_t>(model.atoms());
    grams.resize(static_cast<std::size_t>(model.shared() ? 1 : block));  // shared: picked anew each time
    for (auto& g : grams) g.resize(model.atoms(), model.atoms());
    if (!model.shared()) own.resize(model.atoms(), model.atoms());
    sets.resize(static_cast<std::size_t>(block));
    for (auto& set : sets) set.reserve(r);
    c.resize(r);
    s.resize(r);
    order.reserve(r);
    member.resize(r);
    open.reserve(static_cast<std::size_t>(block));
    best.resize(static_cast<std::size_t>(block));
    stale.resize(static_cast<std::size_t>(block));
    ridge.resize(static_cast<std::size_t>(block));
    rough.resize(static_cast<std::size_t>(block));
  }
  typename CodesModel<T>::Scratch model_part;
  LassoScratch lasso;
  ActiveSet active;
  Matrix<double> gradient;                      // r x b
  std::vector<Matrix<double>> grams;            // of each sample's working set
  Matrix<double> own;                           // columns of one sample's A_j, r x r
  std::vector<std::vector<std::int32_t>> sets;  // working sets W_j
  Vector<double> c, s;
  std::vector<std::int32_t> order;
  std::vector<char> member;
  std::vector<Index> open;  // samples not yet solved
  Vector<double> best;      // smallest violation a sample has had
  std::vector<int> stale;   // rounds since
  Vector<double> ridge;     // of its Newton systems, relative to their diagonal
  std::vector<char> rough;  // its Gram is from float products
};

/// Of `atoms` those with the largest |g|, at most so many, in ascending order
void keep_largest(std::vector<std::int32_t>& atoms, const double* g, std::size_t most) {
  if (atoms.size() <= most) return;
  std::nth_element(atoms.begin(), atoms.begin() + static_cast<std::ptrdiff_t>(most) - 1, atoms.end(),
                   [g](std::int32_t a, std::int32_t b) {
                     const double x = std::abs(g[a]), y = std::abs(g[b]);
                     return x != y ? x > y : a < b;
                   });
  atoms.resize(most);
  std::sort(atoms.begin(), atoms.end());
}

/// Adds to the working set the atoms outside it that violate optimality most: at most a quarter of it, or 16 to begin
/// with.
template <class T>
void grow(std::vector<std::int32_t>& set, const double* g, double beta, Index r, BlockScratch<T>& w) {
  std::fill(w.member.begin(), w.member.end(), char{0});
  for (const auto k : set) w.member[static_cast<std::size_t>(k)] = 1;
  w.order.clear();
  for (Index k = 0; k < r; ++k)
    if (w.member[static_cast<std::size_t>(k)] == 0 && (beta == 0 || std::abs(g[k]) > beta))
      w.order.push_back(static_cast<std::int32_t>(k));
  if (beta > 0) keep_largest(w.order, g, set.empty() ? 16 : std::max<std::size_t>(4, set.size() / 4));
  set.insert(set.end(), w.order.begin(), w.order.end());
}

/// Solves one sample on its working set: c = A s - g/2 makes the small problem's gradient agree with the true one.
template <class T>
void solve_on_set(const CodesModel<T>& model, Index j, Index column, const double* g, Matrix<T>& S, double tol,
                  BlockScratch<T>& w) {
  auto& set = w.sets[static_cast<std::size_t>(column)];
  const auto old = static_cast<Index>(set.size());
  const double beta = model.problem().beta;
  if (old == 0)
    for (Index k = 0; k < model.atoms(); ++k)
      if (S(k, j) != T(0)) set.push_back(static_cast<std::int32_t>(k));
  grow(set, g, beta, model.atoms(), w);
  const auto size = static_cast<Index>(set.size());
  auto& gram = w.grams[static_cast<std::size_t>(model.shared() ? 0 : column)];
  const MatrixView<double> A(gram.data(), size, size, model.atoms());
  // a Gram from float products serves first; one that led to no progress is made anew
  char& rough = w.rough[static_cast<std::size_t>(column)];
  if (old == 0 && !model.shared() && beta > 0 && w.stale[static_cast<std::size_t>(column)] == 0) rough = 1;
  const bool anew = model.shared() || (rough != 0 && w.stale[static_cast<std::size_t>(column)] > 0);
  if (anew) rough = 0;
  if (rough != 0)
    rough = model.rough_gram(j, set.data(), old, size, A, w.model_part) ? 1 : 0;
  else
    model.extend_gram(j, set.data(), anew ? 0 : old, size, A, w.model_part);
  double top = 0;
  for (Index a = 0; a < size; ++a) {
    w.s.data()[a] = static_cast<double>(S(set[static_cast<std::size_t>(a)], j));
    top = std::max(top, A(a, a));
  }
  for (Index a = 0; a < size; ++a) {
    double sum = 0;
    for (Index b = 0; b < size; ++b) sum += A(b, a) * w.s.data()[b];
    w.c.data()[a] = sum - g[set[static_cast<std::size_t>(a)]] / 2;
  }
  if (!(beta > 0 && w.active.solve(A, w.c.data(), beta, tol, w.s.data())))
    solve_lasso(A, w.c.data(), beta, tol, w.ridge[static_cast<std::size_t>(column)] * top, w.s.data(), w.lasso);
  for (Index a = 0; a < size; ++a) S(set[static_cast<std::size_t>(a)], j) = static_cast<T>(w.s.data()[a]);
}

template <class T>
double column_violation(const double* g, const T* s, double beta, Index r) {
  double worst = 0;
  for (Index k = 0; k < r; ++k) worst = std::max(worst, kkt_distance(g[k], static_cast<double>(s[k]), beta));
  return worst;
}

/// Where one Gram serves all samples, the active set does nearly all of them in one go: A_j = omega_j A turns into A
/// with c / omega_j and beta / omega_j. Where each sample has its own (entry weights), omega_j A with the mean weight
/// of the sample is near enough for a start. What is left to do the rounds after it will.
template <class T>
bool solve_on_path(const CodesModel<T>& model, const Matrix<double>& A, Index j, Matrix<T>& S, double tol,
                   BlockScratch<T>& w) {
  const double omega = model.weight(j);
  if (!(omega > 0)) return false;
  if (!model.shared() && std::any_of(S.col(j), S.col(j) + model.atoms(), [](T s) { return s != T(0); })) return false;
  for (Index k = 0; k < model.atoms(); ++k) {
    w.c.data()[k] = static_cast<double>(model.q()(k, j)) / omega;
    w.s.data()[k] = static_cast<double>(S(k, j));
  }
  if (!w.active.solve(A, w.c.data(), model.problem().beta / omega, tol / omega, w.s.data())) return false;
  for (Index k = 0; k < model.atoms(); ++k) S(k, j) = static_cast<T>(w.s.data()[k]);
  return true;
}

/// A sample that lacks a few rows goes down the path of its own Gram, whose columns are made as atoms join.
template <class T>
bool solve_on_own_path(const CodesModel<T>& model, Index j, Matrix<T>& S, double tol, BlockScratch<T>& w) {
  const MatrixView<double> A = w.own;
  const auto make = [&](const std::int32_t* atoms, Index count) { model.columns(j, atoms, count, A, w.model_part); };
  for (Index k = 0; k < model.atoms(); ++k) {
    w.c.data()[k] = static_cast<double>(model.q()(k, j));
    w.s.data()[k] = static_cast<double>(S(k, j));
  }
  if (!w.active.solve(A, w.c.data(), model.problem().beta, tol, w.s.data(), std::cref(make))) return false;
  for (Index k = 0; k < model.atoms(); ++k) S(k, j) = static_cast<T>(w.s.data()[k]);
  return true;
}

/// With entry weights, after the path: the sample's own Gram over the atoms in use and those nearly so, which the mean
/// weight tells well enough. The codes outside are zero, so the right side is q itself and no gradient is needed yet.
template <class T>
void solve_near_path(const CodesModel<T>& model, const Matrix<double>& A, Index j, Index column, Matrix<T>& S,
                     double tol, BlockScratch<T>& w) {
  constexpr double nearly = 0.9;
  const Index r = model.atoms();
  const double omega = model.weight(j), beta = model.problem().beta;
  double* g = w.gradient.col(column);
  multiply_sparse(A, omega, w.s.data(), g);
  auto& set = w.sets[static_cast<std::size_t>(column)];
  w.order.clear();
  for (Index k = 0; k < r; ++k) {
    g[k] = 2 * std::abs(g[k] - static_cast<double>(model.q()(k, j)));
    if (S(k, j) != T(0))
      set.push_back(static_cast<std::int32_t>(k));
    else if (g[k] > nearly * beta)
      w.order.push_back(static_cast<std::int32_t>(k));
  }
  keep_largest(w.order, g, 2 + set.size() / 6);
  set.insert(set.end(), w.order.begin(), w.order.end());
  const auto size = static_cast<Index>(set.size());
  if (size == 0) return;
  const MatrixView<double> own(w.grams[static_cast<std::size_t>(column)].data(), size, size, r);
  w.rough[static_cast<std::size_t>(column)] = model.rough_gram(j, set.data(), 0, size, own, w.model_part) ? 1 : 0;
  for (Index a = 0; a < size; ++a) {
    w.c.data()[a] = static_cast<double>(model.q()(set[static_cast<std::size_t>(a)], j));
    w.s.data()[a] = static_cast<double>(S(set[static_cast<std::size_t>(a)], j));
  }
  if (!w.active.solve(own, w.c.data(), beta, tol, w.s.data())) return;
  for (Index a = 0; a < size; ++a) S(set[static_cast<std::size_t>(a)], j) = static_cast<T>(w.s.data()[a]);
}

/// Without alpha every sample is a problem of its own: rounds of (gradient of the block, working sets, small solves).
template <class T>
StepReport solve_separable(const CodesModel<T>& model, Matrix<T>& S, const StepOptions& options,
                           const Control& control) {
  const Index n = model.samples(), r = model.atoms();
  // A worker keeps one r x r Gram per sample of its block: the block is as large as 16 MiB allow, and so small that
  // there are enough of them for some threads, dozens where samples are few: none should wait long for the last.
  const Index few = std::min<Index>(n, 1024), most = std::max<Index>(few * few / 16384, 6);
  const Index block_size = std::clamp<Index>((Index{1} << 21) / std::max<Index>(r * r, 1), 4, most);
  const double beta = model.problem().beta;
  constexpr int max_stale = 12;
  const double goal = std::max(options.tol, precision_floor<T>() / 4) * model.scale();
  std::vector<std::unique_ptr<BlockScratch<T>>> scratch(static_cast<std::size_t>(thread_count(control)));

  struct Outcome {
    double violation = std::numeric_limits<double>::infinity();
    int rounds = 0;
  };
  std::vector<Outcome> outcome(static_cast<std::size_t>(block_count(n, block_size)));
  parallel_blocks(static_cast<Index>(outcome.size()), control, [&](Index block, int worker) {
    auto& own = scratch[static_cast<std::size_t>(worker)];  // megabytes: each worker makes its own
    if (!own) own = std::make_unique<BlockScratch<T>>(model, std::min(block_size, n));
    BlockScratch<T>& w = *own;
    const Index first = block * block_size, b = block_length(n, block, block_size);
    for (auto& set : w.sets) set.clear();
    Outcome& out = outcome[static_cast<std::size_t>(block)];
    std::fill(w.best.begin(), w.best.end(), std::numeric_limits<double>::infinity());
    std::fill(w.stale.begin(), w.stale.end(), 0);
    std::fill(w.rough.begin(), w.rough.end(), char{0});
    std::fill(w.ridge.begin(), w.ridge.end(), 8 * static_cast<double>(std::numeric_limits<T>::epsilon()));
    for (Index j = first; j < first + b && beta > 0 && !control.stop(); ++j) {
      if (model.has_columns(j))
        solve_on_own_path(model, j, S, 0.25 * goal, w);
      else if (model.one_gram() != nullptr && solve_on_path(model, *model.one_gram(), j, S, 0.25 * goal, w) &&
               !model.shared())
        solve_near_path(model, *model.one_gram(), j, j - first, S, 0.25 * goal, w);
    }
    w.open.clear();
    for (Index j = 0; j < b; ++j) w.open.push_back(first + j);
    out.violation = 0;
    for (int round = 0; !w.open.empty(); ++round) {
      const auto count = static_cast<Index>(w.open.size());
      model.gradient(S, Samples(w.open), w.gradient.view().columns(0, count), w.model_part);
      out.rounds = round;
      const bool last = round == options.max_rounds || control.stop();
      std::size_t still = 0;
      for (Index a = 0; a < count; ++a) {
        const Index j = w.open[static_cast<std::size_t>(a)];
        const auto at = static_cast<std::size_t>(j - first);
        const double violation = column_violation(w.gradient.col(a), S.col(j), beta, r);
        w.stale[at] = violation < 0.5 * w.best[at] ? 0 : w.stale[at] + 1;
        // a step that made things worse went along a direction lost in rounding: shorter ones from here on
        if (beta == 0 && violation > w.best[at]) w.ridge[at] *= 16;
        w.best[at] = std::min(w.best[at], violation);
        // a support still growing may take rounds without progress; rounding takes them for ever
        if (violation <= goal || last || w.stale[at] > max_stale) {
          out.violation = std::max(out.violation, violation);
          continue;
        }
        solve_on_set(model, j, j - first, w.gradient.col(a), S, 0.25 * goal, w);
        w.open[still++] = j;
      }
      w.open.resize(still);
    }
    if (control.stop()) out.violation = std::numeric_limits<double>::infinity();
  });
  StepReport report;
  double worst = 0;
  for (const auto& o : outcome) {
    worst = std::max(worst, o.violation);
    report.rounds = std::max(report.rounds, o.rounds);
  }
  report.certificate = worst / model.scale();
  report.converged = report.certificate <= options.tol;
  return report;
}

}  // namespace

template <class T>
double certificate(const CodesModel<T>& model, const Matrix<T>& S, const Control& control) {
  const Index n = model.samples(), r = model.atoms();
  const Index block = std::min(n, kBlock);
  std::vector<typename CodesModel<T>::Scratch> scratch;
  std::vector<Matrix<double>> gradient;
  for (int t = 0; t < thread_count(control); ++t) {
    scratch.emplace_back(model, block);
    gradient.emplace_back(r, block);
  }
  std::vector<double> worst(static_cast<std::size_t>(block_count(n)), 0.0);
  parallel_blocks(block_count(n), control, [&](Index at, int worker) {
    const Index first = at * kBlock, b = block_length(n, at);
    auto& g = gradient[static_cast<std::size_t>(worker)];
    model.gradient(S, first, g.view().columns(0, b), scratch[static_cast<std::size_t>(worker)]);
    for (Index j = 0; j < b; ++j)
      worst[static_cast<std::size_t>(at)] = std::max(
          worst[static_cast<std::size_t>(at)], column_violation(g.col(j), S.col(first + j), model.problem().beta, r));
  });
  return worst.empty() ? 0 : *std::max_element(worst.begin(), worst.end()) / model.scale();
}

template <class T>
StepReport solve_codes(const CodesProblem<T>& problem, Matrix<T>& S, const StepOptions& options,
                       const Control& control) {
  const SerialBlas serial;
  const CodesModel<T> model(problem, control);
  if (S.rows() != model.atoms() || S.cols() != model.samples())
    throw Error("shape of the codes = " + std::to_string(S.rows()) + " x " + std::to_string(S.cols()) +
                ": must be atoms x samples = " + std::to_string(model.atoms()) + " x " +
                std::to_string(model.samples()));
  if (control.stop()) return {std::numeric_limits<double>::infinity(), 0, false};
  if (problem.coupling.manifold()) return solve_coupled(model, S, options, control);
  return solve_separable(model, S, options, control);
}

template <class T>
double codes_certificate(const CodesProblem<T>& problem, const Matrix<T>& S, const Control& control) {
  return certificate(CodesModel<T>(problem, control), S, control);
}

template <class T>
double largest_beta(const CodesProblem<T>& problem, const Control& control) {
  const CodesModel<T> model(problem, control);
  double top = 0;
  for (Index j = 0; j < model.samples(); ++j)
    for (Index k = 0; k < model.atoms(); ++k) top = std::max(top, 2 * std::abs(static_cast<double>(model.q()(k, j))));
  return top;
}

#define PACEWISE_INSTANTIATE(T)                                                                               \
  template double certificate<T>(const CodesModel<T>&, const Matrix<T>&, const Control&);                     \
  template StepReport solve_codes<T>(const CodesProblem<T>&, Matrix<T>&, const StepOptions&, const Control&); \
  template double codes_certificate<T>(const CodesProblem<T>&, const Matrix<T>&, const Control&);             \
  template double largest_beta<T>(const CodesProblem<T>&, const Control&);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

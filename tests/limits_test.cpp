// What must agree with what: limits, symmetries and repetitions of the steps and of the whole fit.
#include <gtest/gtest.h>

#include <numeric>

#include "model/fit.hpp"
#include "solve/weights.hpp"
#include "synthetic.hpp"
#include "zoo.hpp"

namespace {

using namespace pacewise;
using synthetic::distance;
using zoo::kLevels;

/// One S-step as data: what it is solved on, and its codes to a tight tolerance
template <class T>
struct Codes {
  zoo::Instance<T> p;
  double beta = 0, alpha = 0, gamma = 0;
  Matrix<T> solve(int threads = 1, double tol = 1e-11) const {
    const CodesProblem<T> problem{p.X, p.weights, p.B, {beta}, {&p.L, alpha, &p.H, &p.Q, gamma}};
    Matrix<T> S(p.B.cols(), p.X.cols());
    Control control;
    control.threads = threads;
    solve_codes(problem, S, {tol, 500}, control);
    return S;
  }
};

template <class T>
Codes<T> random_codes(Level kind, double alpha, double gamma, Index n = 40, Index m = 12, Index r = 9) {
  return {zoo::make<T>({"random", m, n, r}, kind, 31), 0.5, alpha, gamma};
}

template <class T>
Matrix<T> columns_of(const Matrix<T>& a, const std::vector<Index>& which) {
  Matrix<T> out(a.rows(), static_cast<Index>(which.size()));
  for (std::size_t j = 0; j < which.size(); ++j) std::copy_n(a.col(which[j]), a.rows(), out.col(static_cast<Index>(j)));
  return out;
}

template <class T>
Matrix<T> rows_of(const Matrix<T>& a, const std::vector<Index>& which) {
  Matrix<T> out(static_cast<Index>(which.size()), a.cols());
  for (Index j = 0; j < a.cols(); ++j)
    for (std::size_t i = 0; i < which.size(); ++i) out(static_cast<Index>(i), j) = a(which[i], j);
  return out;
}

Sparse permuted(const Sparse& a, const std::vector<Index>& row, const std::vector<Index>& col) {
  std::vector<std::int32_t> row_at(row.size()), col_at(col.size());
  for (std::size_t i = 0; i < row.size(); ++i) row_at[static_cast<std::size_t>(row[i])] = static_cast<std::int32_t>(i);
  for (std::size_t j = 0; j < col.size(); ++j) col_at[static_cast<std::size_t>(col[j])] = static_cast<std::int32_t>(j);
  std::vector<Triplet> entries;
  for (Index j = 0; j < a.cols; ++j)
    for (Index at = a.start[static_cast<std::size_t>(j)]; at < a.start[static_cast<std::size_t>(j + 1)]; ++at) {
      const auto i = static_cast<std::size_t>(a.index[static_cast<std::size_t>(at)]);
      entries.push_back({row_at[i], col_at[static_cast<std::size_t>(j)], a.value[static_cast<std::size_t>(at)]});
    }
  return sparse_from_triplets(a.rows, a.cols, entries);
}

std::vector<Index> shuffled(Index n, std::uint64_t seed) {
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  Random random(seed);
  for (Index i = n - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random.below(i + 1))]);
  return order;
}

template <class T>
Codes<T> with_samples(const Codes<T>& c, const std::vector<Index>& which) {
  Codes<T> out = c;
  out.p.X = columns_of(c.p.X, which);
  if (!c.p.weights.entry.empty()) out.p.weights.entry = columns_of(c.p.weights.entry, which);
  if (!c.p.weights.sample.empty()) {
    out.p.weights.sample.clear();
    for (const Index j : which) out.p.weights.sample.push_back(c.p.weights.sample[static_cast<std::size_t>(j)]);
  }
  if (static_cast<Index>(which.size()) == c.p.X.cols()) {  // hyperedges keep their order: Q belongs to them
    std::vector<Index> edges(which.size());
    std::iota(edges.begin(), edges.end(), Index{0});
    out.p.L = permuted(c.p.L, which, which);
    out.p.H = permuted(c.p.H, edges, which);
  }
  return out;
}

TEST(Limits, WithoutAlphaASampleKnowsNothingOfTheOthers) {
  for (const Level kind : kLevels) {
    auto whole = random_codes<double>(kind, 0, 0, 100);
    const Matrix<double> S = whole.solve();
    for (const auto& which : {std::vector<Index>{7}, std::vector<Index>{99, 3, 64, 65, 20}})
      EXPECT_LE(distance(with_samples(whole, which).solve(), columns_of(S, which)), 1e-8) << name_of(kind);
  }
}

TEST(Limits, AlphaDoesCoupleSamples) {
  auto coupled = random_codes<double>(Level::none, 2, 0);
  auto alone = coupled;
  alone.alpha = 0;
  EXPECT_GT(distance(coupled.solve(), alone.solve()), 1e-2);
  coupled.alpha = 1e-9;
  EXPECT_LE(distance(coupled.solve(), alone.solve()), 1e-6) << "and lets go as it vanishes";
}

TEST(Limits, PermutingSamplesPermutesCodes) {
  for (const Level kind : kLevels)
    for (const auto& [alpha, gamma] : {std::pair{0.0, 0.0}, {3.0, 0.0}, {3.0, 0.7}}) {
      const auto c = random_codes<double>(kind, alpha, gamma, 100);
      const auto order = shuffled(100, 5);
      EXPECT_LE(distance(with_samples(c, order).solve(), columns_of(c.solve(), order)), 1e-7)
          << name_of(kind) << " alpha " << alpha << " gamma " << gamma;
    }
}

TEST(Limits, PermutingFeaturesLeavesCodes) {
  for (const Level kind : kLevels)
    for (const double alpha : {0.0, 3.0}) {
      const auto c = random_codes<double>(kind, alpha, 0.5);
      const auto order = shuffled(c.p.X.rows(), 6);
      auto moved = c;
      moved.p.X = rows_of(c.p.X, order);
      moved.p.B = rows_of(c.p.B, order);
      if (!c.p.weights.entry.empty()) moved.p.weights.entry = rows_of(c.p.weights.entry, order);
      for (std::size_t i = 0; i < c.p.weights.feature.size(); ++i)
        moved.p.weights.feature[i] = c.p.weights.feature[static_cast<std::size_t>(order[i])];
      EXPECT_LE(distance(moved.solve(), c.solve()), 1e-7) << name_of(kind) << " alpha " << alpha;
    }
}

TEST(Limits, PermutingAtomsPermutesCodes) {
  for (const Level kind : kLevels)
    for (const double alpha : {0.0, 3.0}) {
      const auto c = random_codes<double>(kind, alpha, 0.5);
      const auto order = shuffled(c.p.B.cols(), 7);
      auto moved = c;
      moved.p.B = columns_of(c.p.B, order);
      moved.p.Q = columns_of(c.p.Q, order);
      EXPECT_LE(distance(moved.solve(), rows_of(c.solve(), order)), 1e-7) << name_of(kind) << " alpha " << alpha;
    }
}

TEST(Limits, ScalingDataAndBetaScalesCodes) {
  for (const Level kind : kLevels)
    for (const double alpha : {0.0, 3.0})
      for (const double factor : {1e-4, 3.7, 1e5}) {
        const auto c = random_codes<double>(kind, alpha, 0);
        auto scaled = c;
        for (Index i = 0; i < c.p.X.size(); ++i) scaled.p.X.data()[i] *= factor;
        scaled.beta *= factor;
        Matrix<double> expected = c.solve();
        for (Index i = 0; i < expected.size(); ++i) expected.data()[i] *= factor;
        EXPECT_LE(distance(scaled.solve(), expected), 1e-7 * factor) << name_of(kind) << " alpha " << alpha;
      }
}

TEST(Limits, ScalingWeightsIsScalingThePenalties) {
  for (const Level kind : kLevels) {
    const auto c = random_codes<double>(kind, 2, 0.3);
    auto scaled = c;
    scaled.p.weights.sample.resize(static_cast<std::size_t>(c.p.X.cols()), 1.0);
    for (auto& w : scaled.p.weights.sample) w *= 2;
    scaled.alpha *= 2;
    scaled.beta *= 2;
    scaled.gamma *= 2;
    EXPECT_LE(distance(scaled.solve(), c.solve()), 1e-7) << name_of(kind);
  }
}

TEST(Limits, UnitWeightsAreNoWeights) {
  const Index m = 12, n = 40;
  for (const double alpha : {0.0, 3.0}) {
    const auto c = random_codes<double>(Level::none, alpha, 0.5);
    const Matrix<double> S = c.solve();
    auto weighted = c;
    weighted.p.weights.sample.assign(static_cast<std::size_t>(n), 1.0);
    EXPECT_EQ(weighted.solve(), S) << "sample, alpha " << alpha;
    weighted = c;
    weighted.p.weights.feature.assign(static_cast<std::size_t>(m), 1.0);
    EXPECT_EQ(weighted.solve(), S) << "feature, alpha " << alpha;
    weighted = c;  // another Gram for every sample: the same numbers by another way
    weighted.p.weights.entry = Matrix<double>(m, n, 1.0);
    EXPECT_LE(distance(weighted.solve(), S), 1e-8) << "entry, alpha " << alpha;
  }
}

/// The dictionary step from p.B to a tight tolerance
template <class T>
Matrix<T> solve_atoms(const zoo::Instance<T>& p, int threads = 1) {
  Matrix<T> B = p.B;
  Control control;
  control.threads = threads;
  solve_dictionary<T>({p.X, p.weights, p.S}, B, {1e-12, 500}, control);
  return B;
}

TEST(Limits, UnitWeightsAreNoWeightsForTheDictionary) {
  const auto p = zoo::make<double>({"random", 12, 40, 6}, Level::none, 31);
  const Matrix<double> B = solve_atoms(p);
  auto weighted = p;
  weighted.weights.sample.assign(40, 1.0);
  EXPECT_LE(distance(solve_atoms(weighted), B), 1e-9);
  weighted = p;
  weighted.weights.feature.assign(12, 1.0);
  EXPECT_LE(distance(solve_atoms(weighted), B), 1e-9);
  weighted = p;
  weighted.weights.entry = Matrix<double>(12, 40, 1.0);
  EXPECT_LE(distance(solve_atoms(weighted), B), 1e-9);
}

TEST(Limits, AWeightOfTwoIsASampleTwice) {
  for (const Level kind : kLevels) {
    const auto p = zoo::make<double>({"random", 12, 30, 6}, kind, 33);
    auto heavy = p;
    heavy.weights.sample.resize(30, 1.0);
    heavy.weights.sample[4] *= 2;
    std::vector<Index> which(30);
    std::iota(which.begin(), which.end(), Index{0});
    which.push_back(4);
    const Codes<double> twice = with_samples(Codes<double>{p}, which);
    auto doubled = twice.p;
    doubled.S = columns_of(p.S, which);
    EXPECT_LE(distance(solve_atoms(heavy), solve_atoms(doubled)), 1e-8) << name_of(kind);
    // codes: the twin has the codes of its original, and weight 2 against beta 2 is weight 1 against beta 1
    Codes<double> codes{doubled, 0.5, 0, 0};
    const Matrix<double> S = codes.solve();
    EXPECT_LE(distance(columns_of(S, {30}), columns_of(S, {4})), 1e-9) << name_of(kind);
    Codes<double> lone{heavy, 1.0, 0, 0};
    EXPECT_LE(distance(columns_of(lone.solve(), {4}), columns_of(S, {4})), 1e-8) << name_of(kind);
  }
}

TEST(Limits, ScalingTheCodesOfAnAtomScalesItsColumnInsideTheBall) {
  auto p = zoo::make<double>({"random", 12, 40, 5}, Level::element, 35);
  for (Index i = 0; i < p.X.size(); ++i) p.X.data()[i] *= 0.05;  // no atom reaches the boundary
  const Matrix<double> B = solve_atoms(p);
  auto scaled = p;
  for (Index j = 0; j < 40; ++j) scaled.S(2, j) *= 4;
  Matrix<double> moved = solve_atoms(scaled);
  for (Index i = 0; i < 12; ++i) moved(i, 2) *= 4;
  EXPECT_LE(distance(moved, B), 1e-9);
}

TEST(Limits, FloatIsCloseToDouble) {
  for (const Level kind : kLevels)
    for (const double alpha : {0.0, 3.0}) {
      const auto wide = random_codes<double>(kind, alpha, 0.5);
      const auto narrow = random_codes<float>(kind, alpha, 0.5);
      EXPECT_LE(distance(narrow.solve(1, 1e-6), wide.solve()), 2e-3) << name_of(kind);
      const auto p = zoo::make<double>({"random", 12, 60, 6}, kind, 31);
      const auto q = zoo::make<float>({"random", 12, 60, 6}, kind, 31);
      EXPECT_LE(distance(solve_atoms(q), solve_atoms(p)), 2e-3) << name_of(kind);
    }
}

template <class T>
void check_threads_of_steps(Level kind) {
  const auto p = zoo::make<T>({"random", 80, 150, 9}, kind, 31);
  const Matrix<T> B = solve_atoms(p, 1);
  for (const int threads : {2, 3, 5}) EXPECT_EQ(solve_atoms(p, threads), B) << name_of(kind) << " " << threads;
  for (const double alpha : {0.0, 3.0}) {
    const auto c = random_codes<T>(kind, alpha, 0.5, 200);
    const Matrix<T> S = c.solve(1);
    for (const int threads : {2, 3, 5})
      EXPECT_EQ(c.solve(threads), S) << name_of(kind) << " alpha " << alpha << " threads " << threads;
  }
}

TEST(Limits, StepsHaveTheSameBitsForAnyNumberOfThreads) {
  for (const Level kind : kLevels) {
    check_threads_of_steps<double>(kind);
    check_threads_of_steps<float>(kind);
  }
}

Options small_options(Level level) {
  Options o;
  o.atoms = 8;
  o.beta_ratio = 0.05;
  o.level = level;
  o.plain_iter = o.warm_iter = 2;
  o.pace = Pace::quantile;
  o.pace_iter = synthetic::small() ? 2 : 4;
  o.polish = synthetic::small() ? 1 : 3;
  o.tol = 0;
  return o;
}

template <class T>
Result<T> run(const Problem<T>& problem, const Options& options, int threads = 1) {
  Control control;
  control.threads = threads;
  return fit(problem, options, control);
}

template <class T>
void expect_same(const Result<T>& a, const Result<T>& b, const std::string& where) {
  EXPECT_EQ(a.dictionary, b.dictionary) << where;
  EXPECT_EQ(a.codes, b.codes) << where;
  EXPECT_EQ(a.consistency, b.consistency) << where;
  EXPECT_EQ(a.weights, b.weights) << where;
  EXPECT_EQ(a.objective.total(), b.objective.total()) << where;
  EXPECT_EQ(a.certificate.codes, b.certificate.codes) << where;
  EXPECT_EQ(a.certificate.dictionary, b.certificate.dictionary) << where;
  ASSERT_EQ(a.history.size(), b.history.size()) << where;
  for (std::size_t i = 0; i < a.history.size(); ++i)
    ASSERT_EQ(a.history[i].objective.total(), b.history[i].objective.total()) << where << " record " << i;
}

TEST(Limits, AFitHasTheSameBitsForAnyNumberOfThreads) {
  synthetic::Recipe recipe{70, synthetic::small() ? 70 : 150, 8};
  recipe.bad_entries = 0.05;
  const auto wide = synthetic::make<double>(recipe);
  const auto narrow = synthetic::make<float>(recipe);
  const std::vector<int> counts = synthetic::small() ? std::vector<int>{3} : std::vector<int>{2, 3, 5};
  for (const Level level : kLevels) {
    Options o = small_options(level);
    o.plain_iter = o.warm_iter = o.polish = 1;
    o.pace = Pace::quantile;
    o.pace_iter = 2;
    o.max_iter = 5;
    const auto one = run(wide.problem(), o, 1);
    EXPECT_EQ(one.threads, 1);
    for (const int threads : counts)
      expect_same(run(wide.problem(), o, threads), one,
                  std::string(name_of(level)) + ", threads " + std::to_string(threads));
    expect_same(run(narrow.problem(), o, 3), run(narrow.problem(), o, 1), std::string(name_of(level)) + ", float");
  }
}

TEST(Limits, SameSeedSameBitsOtherSeedOtherBits) {
  const auto p = synthetic::make<double>({});
  Options o = small_options(Level::element);
  o.seed = 42;
  const auto first = run(p.problem(), o);
  expect_same(run(p.problem(), o), first, "repeated");
  o.seed = 43;
  EXPECT_NE(run(p.problem(), o).dictionary, first.dictionary);
}

TEST(Limits, ANotYetPacedFitIsPlainSparseCoding) {
  const auto p = synthetic::make<double>({});
  Options plain = small_options(Level::none);
  plain.max_iter = 12;
  const auto expected = run(p.problem(), plain);
  for (const Level level : {Level::sample, Level::feature, Level::element}) {
    Options o = plain;
    o.level = level;
    o.warm_iter = 1000;
    const auto got = run(p.problem(), o);
    EXPECT_EQ(got.dictionary, expected.dictionary) << name_of(level);
    EXPECT_EQ(got.codes, expected.codes) << name_of(level);
    EXPECT_TRUE(std::isinf(got.lambda));
  }
}

TEST(Limits, AHugeLambdaIsPlainSparseCoding) {
  for (const double alpha : {0.0, 3.0}) {
    const auto c = random_codes<double>(Level::none, alpha, 0.5);
    const Index m = c.p.X.rows(), n = c.p.X.cols();
    const Matrix<double> S = c.solve();
    for (const Level level : {Level::sample, Level::feature, Level::element})
      for (const double lambda : {1e30, std::numeric_limits<double>::infinity()})
        for (const auto name : regularizer_names()) {
          const auto losses = unit_losses<double>(c.p.X, {}, c.p.B, c.p.S, level, {});
          Vector<double> v;
          solve_weights(losses, parse_regularizer(name), lambda, v, {});
          auto paced = c;
          combine({}, v, level, m, n, paced.p.weights);
          EXPECT_LE(distance(paced.solve(), S), 1e-8) << name_of(level) << " " << name << " alpha " << alpha;
        }
  }
}

TEST(Limits, NaNIsWeightZero) {
  synthetic::Recipe recipe;
  if (synthetic::small()) recipe.n = 25;
  const auto p = synthetic::make<double>(recipe);
  Random random(4);
  Matrix<double> nan = p.X, junk = p.X;
  Problem<double> weighted{junk.view(), {}};
  weighted.weights.entry = Matrix<double>(recipe.m, recipe.n, 1.0);
  for (Index j = 0; j < recipe.n; ++j)
    for (Index i = 0; i < recipe.m; ++i)
      if (random.uniform() < 0.15) {
        nan(i, j) = std::numeric_limits<double>::quiet_NaN();
        junk(i, j) = 1e3 * random.normal();
        weighted.weights.entry(i, j) = 0;
      }
  for (const Level level : kLevels)
    expect_same(run<double>({nan.view(), {}}, small_options(level)), run(weighted, small_options(level)),
                std::string(name_of(level)));
}

TEST(Limits, UnitSampleWeightsLeaveTheFit) {
  synthetic::Recipe recipe;
  if (synthetic::small()) recipe.n = 25;
  const auto p = synthetic::make<double>(recipe);
  for (const Level level : kLevels) {
    Problem<double> weighted = p.problem();
    weighted.weights.sample.assign(static_cast<std::size_t>(p.X.cols()), 1.0);
    expect_same(run(weighted, small_options(level)), run(p.problem(), small_options(level)),
                std::string(name_of(level)));
  }
}

TEST(Limits, AlphaAndGammaZeroIsNoGraph) {
  const auto p = synthetic::make<double>({});
  for (const Level level : kLevels) {
    Options off = small_options(level), none = off;
    off.alpha = off.gamma = 0;
    none.graph = GraphKind::none;
    expect_same(run(p.problem(), off), run(p.problem(), none), std::string(name_of(level)));
  }
}

}  // namespace

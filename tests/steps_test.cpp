// The steps for codes, dictionary and Q, and the objective, against the slow path on every kind of problem.
#include <gtest/gtest.h>

#include <cstdlib>

#include "solve/consistency.hpp"
#include "solve/objective.hpp"
#include "solve/weights.hpp"
#include "synthetic.hpp"
#include "tolerances.hpp"
#include "zoo.hpp"

namespace {

using namespace pacewise;
using zoo::kLevels;

/// PACEWISE_SEED=n runs the grid on other random problems
std::uint64_t seed_shift() {
  const char* text = std::getenv("PACEWISE_SEED");
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

template <class T>
class Steps : public testing::Test {};
TYPED_TEST_SUITE(Steps, synthetic::Precisions);

/// `penalty` is in shares of the beta that leaves no code
template <class T>
void check_codes(const zoo::Shape& shape, Level level, double alpha, double gamma, Penalty penalty, double size = 1) {
  auto p = zoo::make<T>(shape, level, 7 + seed_shift());
  eigen(p.X) *= static_cast<T>(size);
  CodesProblem<T> problem{p.X, p.weights, p.B, {}, {&p.L, alpha, &p.H, &p.Q, gamma}};
  const double top = largest_beta(problem, {});
  const std::string where = p.name + ", alpha " + std::to_string(alpha) + ", gamma " + std::to_string(gamma) +
                            ", beta ratio " + std::to_string(penalty.beta) + (penalty.positive ? ", positive" : "");
  penalty.beta *= top;
  penalty.l2 *= top;
  problem.penalty = penalty;
  auto setting = zoo::setting(p, alpha, penalty, gamma);
  for (const bool warm : {false, true}) {
    Matrix<T> S = warm ? p.S : Matrix<T>(p.B.cols(), p.X.cols());
    if (penalty.positive) eigen(S) = eigen(S).cwiseMax(0).eval();
    setting.S = reference::wide(S);
    const double before = reference::objective(setting).total();
    const StepReport report = solve_codes(problem, S, {tolerance<T>().certificate / 4}, {});
    setting.S = reference::wide(S);
    const double after = reference::objective(setting).total(), certificate = reference::codes_certificate(setting);
    // codes as large as 460 (near-duplicate atoms, beta 0), rounded to T, leave 2 alpha |S L| eps / scale of a gradient
    const double rounding = 2 * alpha * static_cast<double>(eigen(S).cwiseAbs().maxCoeff()) *
                            static_cast<double>(std::numeric_limits<T>::epsilon());
    EXPECT_LE(certificate, std::max(tolerance<T>().certificate, rounding / top)) << where << (warm ? ", warm" : "");
    EXPECT_NEAR(report.certificate, certificate, tolerance<T>().recomputed) << where;
    EXPECT_LE(after, before + tolerance<T>().recomputed * (1 + std::abs(before))) << where;
  }
}

TYPED_TEST(Steps, CodesAreOptimalOnTheGrid) {
  const std::vector<double> alphas = synthetic::small() ? std::vector{0.0, 64.0} : std::vector{0.0, 1.0, 64.0};
  for (const auto& shape : zoo::shapes())
    for (const Level level : kLevels)
      for (const double alpha : alphas)
        for (const double gamma : {0.0, 1.0})
          for (const double ratio : {0.0, 0.02, 0.9}) check_codes<TypeParam>(shape, level, alpha, gamma, {ratio});
}

/// Many atoms: so many numbers that the loops over vectors are entered, and none fills them
TYPED_TEST(Steps, CodesOfManyAtomsPenaltiesSignsAndScalesAreOptimal) {
  Random random(4);
  Vector<double> atom(9);
  for (double& one : atom) one = random.uniform() < 0.2 ? 0 : 2 * random.uniform();
  for (const Level level : kLevels)
    for (const double alpha : {0.0, 4.0})
      for (const double gamma : {0.0, 1.0}) {
        check_codes<TypeParam>({"many atoms", 41, 90, 70}, level, alpha, gamma, {0.05});
        for (const bool positive : {false, true})
          check_codes<TypeParam>({"penalties", 14, 30, 9}, level, alpha, gamma, {0.05, 0.1, positive, atom});
        for (const double size : {1e-4, 1e5})
          if (gamma == 0) check_codes<TypeParam>({"scaled", 12, 40, 9}, level, alpha, gamma, {0.05}, size);
      }
}

/// Groups so large that each has all threads, and so small that they share them; the last is two rings together
std::vector<zoo::Shape> unconnected() {
  std::vector<zoo::Shape> out{{"three rings", 12, 200, 8},
                              {"seven rings", 12, 448, 8},
                              {"eight rings", 12, 448, 8},
                              {"a large path and two small ones", 12, 420, 8}};
  out[0].rings = 3;
  out[1].rings = 7;
  out[2].rings = 8;
  out[3].cut = true;
  return out;
}

TYPED_TEST(Steps, CodesOfUnconnectedSamplesAreOptimal) {
  for (const auto& shape : unconnected())
    for (const Level level : kLevels)
      for (const double gamma : {0.0, 1.0})
        for (const double ratio : {0.0, 0.02}) check_codes<TypeParam>(shape, level, 8, gamma, {ratio});
}

TYPED_TEST(Steps, HaveTheSameBitsForAnyNumberOfThreads) {
  using T = TypeParam;
  auto shapes = unconnected();
  shapes.push_back({"many features", 80, 150, 9});
  for (const auto& shape : shapes)
    for (const Level level : kLevels)
      for (const double alpha : {0.0, 8.0}) {
        const auto p = zoo::make<T>(shape, level, 7);
        CodesProblem<T> problem{p.X, p.weights, p.B, {}, {&p.L, alpha, &p.H, &p.Q, 1}};
        problem.penalty.beta = 0.05 * largest_beta(problem, {});
        const auto on = [&](int threads) {
          Matrix<T> S(p.B.cols(), p.X.cols()), B = p.B;
          solve_codes(problem, S, {tolerance<T>().certificate}, {.threads = threads});
          if (alpha == 0) solve_dictionary<T>({p.X, p.weights, p.S}, B, {1e-12}, {.threads = threads});
          Matrix<T> Q;
          const double certificate = solve_consistency<T>(p.H, p.S, 2, Q, {.threads = threads}).certificate;
          const Objective o = code_terms<T>(p.S, {0.3}, {&p.L, 2, &p.H, &Q, 1}, 2, {.threads = threads});
          return std::tuple(S, B, Q, certificate, o.sparsity, o.manifold, o.consistency);
        };
        const auto one = on(1);
        for (const int threads : {2, 3}) EXPECT_TRUE(on(threads) == one) << p.name << ", threads " << threads;
      }
}

TEST(StepsOfTheUser, MisuseIsNamed) {
  using synthetic::expect_error;
  const auto p = zoo::make<double>(zoo::shapes()[0], Level::none, 9);
  for (const double eta : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    expect_error([&] { update_consistency(p.H, p.S.view(), eta); }, "eta = ");
  EXPECT_THROW(update_consistency(p.H, Matrix<double>(p.S.rows(), 3).view(), 1), Error);
  expect_error([] { Penalty{-1}.validate(3); }, "beta = -1");
  expect_error([] { Penalty{1, -2}.validate(3); }, "l2 = -2");
  expect_error([] { Penalty{1, 0, false, Vector<double>(2, 1.0)}.validate(3); }, "atom_penalty has 2 numbers");
  expect_error([] { Penalty{1, 0, false, Vector<double>(3, -1.0)}.validate(3); }, "atom_penalty = -1");
}

// The residual is orthogonal to the atoms chosen, and the first is the one most correlated with the sample. The whole
// order is compared with scikit-learn's in python/test_encode.py.
TEST(MatchingPursuit, ChoosesGreedilyAndProjects) {
  for (const Level level : {Level::none, Level::sample, Level::element}) {
    const auto p = zoo::make<double>({"pursuit", 14, 20, 9}, level, 37);
    auto setting = zoo::setting(p, 0, {}, 0);
    const auto correlation = [&](const Matrix<double>& S) {  // B'(W (X - B S)) / |b|
      setting.S = reference::wide(S);
      const reference::Dense norms = (setting.B.cwiseAbs2().transpose() * setting.W).cwiseSqrt().cwiseMax(1e-9L);
      return (setting.B.transpose() * setting.W.cwiseProduct(residual(setting))).cwiseAbs().cwiseQuotient(norms).eval();
    };
    const auto before = correlation(Matrix<double>(9, 20));
    for (const Index nonzeros : {1, 2, 4}) {
      const Matrix<double> S = pursue_codes<double>({p.X, p.weights, p.B, {}, {}}, nonzeros, 0, {});
      const auto after = correlation(S);
      for (Index j = 0; j < 20; ++j) {
        Index best = 0;
        const double most = static_cast<double>(before.col(j).maxCoeff(&best));
        EXPECT_LE((eigen(S).col(j).array() != 0).count(), nonzeros);
        EXPECT_TRUE(S(best, j) != 0 || most < 1e-9) << name_of(level) << ", sample " << j;
        for (Index k = 0; k < 9; ++k)
          EXPECT_TRUE(S(k, j) == 0 || after(k, j) <= 1e-9L * (1 + most)) << nonzeros << ", sample " << j;
      }
    }
  }
}

/// `keep`: the share of the codes that stay
template <class T>
void check_dictionary(const zoo::Shape& shape, Level level, double size, double keep, bool positive = false) {
  auto p = zoo::make<T>(shape, level, 11 + seed_shift());
  Random random(5);
  for (Index i = 0; i < p.S.size(); ++i)
    if (random.uniform() >= keep) p.S.data()[i] = 0;
  eigen(p.X) *= static_cast<T>(size);
  if (positive) eigen(p.B) = eigen(p.B).cwiseMax(0).eval();
  auto setting = zoo::setting(p, 0, {}, 0);
  setting.positive_atoms = positive;
  for (const bool warm : {true, false}) {
    Matrix<T> B = warm ? p.B : Matrix<T>(p.X.rows(), p.S.rows());
    setting.B = reference::wide(B);
    const double before = reference::objective(setting).fit;
    const DictionaryReport report =
        solve_dictionary<T>({p.X, p.weights, p.S, positive}, B, {tolerance<T>().certificate / 4}, {});
    setting.B = reference::wide(B);
    const double certificate = reference::dictionary_certificate(setting), after = reference::objective(setting).fit;
    const std::string where =
        p.name + ", size " + std::to_string(size) + ", keep " + std::to_string(keep) + (warm ? ", warm" : ", cold");
    EXPECT_LE(certificate, tolerance<T>().certificate) << where << " passes " << report.rounds;
    EXPECT_NEAR(report.certificate, certificate, tolerance<T>().recomputed) << where;
    EXPECT_LE(after, before * (1 + tolerance<T>().recomputed)) << where;
    EXPECT_NEAR(report.fit, after, tolerance<T>().recomputed * (after + size * size)) << where;
    EXPECT_TRUE(!positive || setting.B.minCoeff() >= 0) << where;
  }
}

TYPED_TEST(Steps, DictionaryIsOptimalOnTheGrid) {
  for (const Level level : kLevels) {
    for (const auto& shape : zoo::shapes())
      for (const double size : {0.1, 1.0, 10.0})  // larger data push more atoms to the boundary
        check_dictionary<TypeParam>(shape, level, size, 1);
    check_dictionary<TypeParam>({"positive atoms", 14, 30, 6}, level, 1, 1, true);
  }
  for (const auto& shape : zoo::shapes()) check_dictionary<TypeParam>(shape, Level::element, 1, 0.3);
  for (const double keep : {1.0, 0.3})
    check_dictionary<TypeParam>({"many rows", 150, 40, 6, false, false, 0.8}, Level::element, 3, keep);
  // So many that the Gram of the mean weights goes first: it leads to the end where weights hardly differ, else not
  for (const double missing : {0.0, 0.1, 0.5})
    for (const double keep : {0.5, 0.1})
      check_dictionary<TypeParam>({"many atoms", 30, 25, 40, false, false, missing}, Level::element, 3, keep);
}

TYPED_TEST(Steps, DictionaryTakesNoMoreRoundsThanAskedAndSaysWhatItReached) {
  using T = TypeParam;
  for (const Level level : kLevels) {
    const auto p = zoo::make<T>({"many missing", 30, 25, 6, false, false, 0.7}, level, 3);
    const DictionaryProblem<T> problem{p.X, p.weights, p.S};
    for (const int rounds : {0, 1, 2}) {
      Matrix<T> B = p.B;
      const DictionaryReport report = solve_dictionary(problem, B, {1e-12, rounds}, {});
      EXPECT_LE(report.rounds, rounds) << p.name;
      EXPECT_NEAR(report.certificate, dictionary_certificate(problem, B, {}), tolerance<T>().recomputed) << p.name;
      EXPECT_TRUE(rounds > 0 || B == p.B) << p.name;
    }
  }
}

TYPED_TEST(Steps, ConsistencySolvesItsNormalEquations) {
  using T = TypeParam;
  for (const auto& shape : zoo::shapes())
    for (const double eta : {1e-3, 1.0, 50.0, 1e12}) {
      const auto p = zoo::make<T>(shape, Level::none, 9);
      auto setting = zoo::setting(p, 0, {}, 1, eta);
      const std::string where = p.name + ", eta " + std::to_string(eta);
      Matrix<T> Q;
      const StepReport report = solve_consistency<T>(p.H, p.S, eta, Q, {});
      setting.Q = reference::wide(Q);
      const double slow = reference::consistency_certificate(setting);
      // Q is rounded to T: what is left is |S S' + eta| / eta of that rounding
      EXPECT_LE(slow, (std::is_same_v<T, double> ? 1e-12 : 2e-5) * (1 + 1e-2 / eta)) << where;
      EXPECT_NEAR(report.certificate, slow, 1e-3 * slow + 1e-14) << where;
      EXPECT_TRUE(report.converged) << where;
      // of a map that is no solution
      const double wrong = reference::consistency_certificate(zoo::setting(p, 0, {}, 1, eta));
      const auto S = eigen(p.S).template cast<double>();
      const EigenMatrix<double> ridged = S * S.transpose() + eta * EigenMatrix<double>::Identity(S.rows(), S.rows());
      const Largest gap = consistency_gap<T>(transpose(p.H), p.S, ridged, transposed<T>(p.Q, {}), {});
      EXPECT_NEAR(gap.relative(), wrong, 1e-5 * wrong) << where;
    }
}

TYPED_TEST(Steps, ConsistencyOfAtomsNobodyUsesIsZero) {
  using T = TypeParam;
  auto p = zoo::make<T>(zoo::shapes()[6], Level::none, 9);  // codes 0 and 1, 2 and 3, 4 and 5 are equal
  eigen(p.S).row(2).setZero();
  Matrix<T> Q;
  EXPECT_LE(solve_consistency<T>(p.H, p.S, 1e-2, Q, {}).certificate, (std::is_same_v<T, double> ? 1e-11 : 1e-4));
  for (Index e = 0; e < Q.rows(); ++e) {
    EXPECT_EQ(Q(e, 2), T(0));
    EXPECT_NEAR(Q(e, 0), Q(e, 1), 1e-4) << "the smallest of all maps: equal codes share it equally";
  }
  EXPECT_EQ(solve_consistency<T>(p.H, Matrix<T>(p.S.rows(), p.S.cols()), 1, Q, {}).certificate, 0);
  EXPECT_EQ(Q, (Matrix<T>(Q.rows(), Q.cols())));
}

TYPED_TEST(Steps, ObjectiveIsThatOfTheSlowPath) {
  using T = TypeParam;
  const double alpha = 3, beta = 0.7, gamma = 0.4, eta = 6, infinite = std::numeric_limits<double>::infinity();
  auto shapes = zoo::shapes();
  shapes.push_back({"several blocks", 7, 150, 6});
  for (const auto& shape : shapes)
    for (const Level level : kLevels) {
      const auto p = zoo::make<T>(shape, level, 21);
      Objective o = code_terms<T>(p.S, {beta}, {&p.L, alpha, &p.H, &p.Q, gamma}, eta, {});
      const auto losses = unit_losses<T>(p.X, p.weights, p.B, p.S, Level::sample, {});
      o.fit = summarize(losses, {}, {}, Linear{}, infinite, {}).fit;
      const auto slow = reference::objective(zoo::setting(p, alpha, {beta}, gamma, eta));
      const auto close = [&](double fast, double expected, double size) {
        EXPECT_NEAR(fast, expected, tolerance<T>().recomputed * std::max(1e-6, size)) << p.name;
      };
      close(o.fit, slow.fit, slow.fit);
      close(o.sparsity, slow.sparsity, slow.sparsity);
      close(o.consistency, slow.consistency, slow.consistency);
      // tr(S L S') cancels where neighbours agree: judged against tr(S S')
      close(o.manifold, slow.manifold, alpha * static_cast<double>(eigen(p.S).squaredNorm()));
      EXPECT_DOUBLE_EQ(o.total(), o.fit + o.pace + o.sparsity + o.manifold + o.consistency);
      for (const Coupling<T>& absent : {Coupling<T>{}, {&p.L, 0, &p.H, &p.Q, 0}, {nullptr, 5, nullptr, nullptr, 5}})
        EXPECT_EQ(code_terms<T>(p.S, {0}, absent, 1, {}).total(), 0);
    }
}

TEST(Objective, MagnitudeAddsSizes) {
  const Objective o{.fit = 1, .pace = -5, .sparsity = 2, .manifold = 0.5, .consistency = 0.25};
  EXPECT_DOUBLE_EQ(o.total(), -1.25);
  EXPECT_DOUBLE_EQ(o.magnitude(), 8.75);
}

// --- losses and weights

template <class T>
class WeightsStep : public testing::Test {};
TYPED_TEST_SUITE(WeightsStep, synthetic::Precisions);

/// All three kinds of user weights at once, with holes; n > 64 crosses a block
template <class T>
zoo::Instance<T> weighted() {
  const Index n = 100;
  zoo::Shape shape{"weighted", 9, n, 5};
  shape.missing = 0.2;
  shape.unobserved = true;
  auto p = zoo::make<T>(shape, Level::element, 5);
  Random random(8);
  for (Index j = 0; j < n; ++j) p.weights.sample.push_back(static_cast<T>(random.uniform() + 0.1));
  for (Index i = 0; i < 9; ++i) p.weights.feature.push_back(static_cast<T>(2 * random.uniform()));
  p.weights.sample[3] = p.weights.feature[2] = 0;
  return p;
}

/// The sum over each unit; without weights a sample is one
reference::Dense by_unit(const reference::Dense& a, Level level) {
  if (level == Level::element) return a.reshaped();
  if (level == Level::feature) return a.rowwise().sum();
  return a.colwise().sum().transpose();
}

TYPED_TEST(WeightsStep, LossesAndObservedUnitsMatchTheSlowPath) {
  for (const auto& p : {weighted<TypeParam>(), zoo::make<TypeParam>(zoo::shapes()[0], Level::none, 3)})
    for (const Level level : kLevels) {
      const auto s = zoo::setting(p, 0, {}, 0);
      const reference::Dense slow = by_unit(s.W.cwiseProduct(residual(s).cwiseAbs2()), level),
                             weight = by_unit(s.W, level);
      const auto fast = unit_losses<TypeParam>(p.X, p.weights, p.B, p.S, level, {});
      const auto observed = observed_units(p.weights, p.X.rows(), p.X.cols(), level);
      ASSERT_EQ(std::ssize(fast), slow.size());
      ASSERT_EQ(observed.empty(), p.weights.entry.empty()) << "empty: all are observed";
      for (Index u = 0; u < slow.size(); ++u) {
        EXPECT_NEAR(fast[u], static_cast<double>(slow(u)),
                    tolerance<TypeParam>().recomputed * static_cast<double>(slow.maxCoeff()))
            << name_of(level) << " unit " << u;
        if (!observed.empty()) {
          EXPECT_EQ(observed[static_cast<std::size_t>(u)] != 0, weight(u) > 0) << name_of(level) << " unit " << u;
        }
      }
    }
}

TYPED_TEST(WeightsStep, WeightsAndTheirSummaryMatchTheSlowPath) {
  using T = TypeParam;
  Random random(4);
  const Index units = 20000;  // more than two blocks
  Vector<T> losses(units), v(units);
  Vector<char> observed(static_cast<std::size_t>(units));
  for (T& l : losses) l = static_cast<T>(random.uniform() * 3);
  for (T& w : v) w = static_cast<T>(random.uniform());
  for (char& o : observed) o = random.uniform() < 0.7 ? 1 : 0;
  const double lambda = 1.1;
  for (const auto name : regularizer_names()) {
    const Regularizer r = parse_regularizer(name);
    for (const int threads : {1, 3}) {
      Vector<T> found;
      solve_weights(losses, r, lambda, found, {.threads = threads});
      for (Index u = 0; u < units; ++u)
        ASSERT_EQ(found[u], static_cast<T>(pace_weight(r, static_cast<double>(losses[u]), lambda))) << name << " " << u;
    }
    for (const bool holes : {false, true}) {
      double fit = 0, value = 0, weight = 0, in = 0, count = 0, largest = 0;
      for (Index u = 0; u < units; ++u) {
        if (holes && observed[static_cast<std::size_t>(u)] == 0) continue;
        const double l = static_cast<double>(losses[u]), w = static_cast<double>(v[u]);
        fit += w * l;
        value += pace_value(r, w, lambda);
        weight += w;
        in += l < lambda ? 1 : 0;
        largest = std::max(largest, l);
        ++count;
      }
      const auto sum = summarize(losses, v, holes ? observed : Vector<char>{}, r, lambda, {});
      EXPECT_NEAR(sum.fit, fit, 1e-12 * fit) << name;
      EXPECT_NEAR(sum.value, value, 1e-11 * std::abs(value)) << name;
      EXPECT_NEAR(sum.mean_weight, weight / count, 1e-12) << name;
      EXPECT_NEAR(sum.selected, in / count, 1e-12) << name;
      EXPECT_EQ(sum.largest, largest) << name;
    }
  }
}

TYPED_TEST(WeightsStep, InfiniteLambdaTrustsEverythingAndCostsNothing) {
  using T = TypeParam;
  const Vector<T> losses = {0, 1, 1000};
  for (const auto name : regularizer_names()) {
    const Regularizer r = parse_regularizer(name);
    Vector<T> v = {0, 0, 0};
    solve_weights(losses, r, std::numeric_limits<double>::infinity(), v, {});
    EXPECT_EQ(v, (Vector<T>{1, 1, 1})) << name;
    const auto sum = summarize(losses, v, {}, r, std::numeric_limits<double>::infinity(), {});
    EXPECT_EQ((std::vector{sum.fit, sum.value, sum.selected, sum.mean_weight, sum.largest}),
              (std::vector<double>{1001, 0, 1, 1, 1000}))
        << name;
  }
}

TYPED_TEST(WeightsStep, CombinedWeightIsTheProduct) {
  using T = TypeParam;
  const auto all = weighted<T>();
  const Index m = all.X.rows(), n = all.X.cols();
  Random random(6);
  for (const Weights<T>& w : {all.weights, Weights<T>{}})
    for (const Level level : kLevels) {
      Vector<T> v(unit_count(level, m, n));
      for (T& x : v) x = static_cast<T>(random.uniform());
      Weights<T> out = w;
      for (int repeat = 0; repeat < 2; ++repeat)  // bringing it up to date twice does not multiply twice
        combine(w, v, level, m, n, out);
      reference::Dense expected = reference::wide(w, m, n);
      for (Index j = 0; j < n && level != Level::none; ++j)
        for (Index i = 0; i < m; ++i)
          expected(i, j) *= v[level == Level::element ? j * m + i : level == Level::feature ? i : j];
      const reference::Dense found = reference::wide(out, m, n);
      EXPECT_TRUE(((found - expected).array().abs() <= 4e-7L * expected.array()).all()) << name_of(level);
      EXPECT_TRUE(((found.array() == 0) == (expected.array() == 0)).all()) << "holes stay holes";
    }
}

}  // namespace

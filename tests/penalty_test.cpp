#include <gtest/gtest.h>

#include "model/fit.hpp"
#include "solve/codes.hpp"
#include "solve/dictionary.hpp"
#include "synthetic.hpp"
#include "tolerances.hpp"
#include "zoo.hpp"

namespace {

using namespace pacewise;
using zoo::Kind;

constexpr Kind kKinds[] = {Kind::none, Kind::sample, Kind::feature, Kind::element};

/// The gradient of all smooth terms at S, entry by entry from the definition
Matrix<double> gradient(const zoo::Instance<double>& p, const Penalty& penalty, double alpha, double gamma,
                        const Matrix<double>& S) {
  const Index m = p.X.rows(), n = p.X.cols(), r = p.B.cols();
  Matrix<double> g(r, n);
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i) {
      double left = p.X(i, j);
      for (Index k = 0; k < r; ++k) left -= p.B(i, k) * S(k, j);
      for (Index k = 0; k < r; ++k) g(k, j) -= 2 * p.weights(i, j) * p.B(i, k) * left;
    }
  for (Index j = 0; j < n; ++j)
    for (Index e = p.L.start[j]; e < p.L.start[j + 1]; ++e)
      for (Index k = 0; k < r; ++k) g(k, j) += 2 * alpha * p.L.value[e] * S(k, p.L.index[e]);
  Matrix<double> H(p.H.rows, n);
  for (Index j = 0; j < n; ++j)
    for (Index e = p.H.start[j]; e < p.H.start[j + 1]; ++e) H(p.H.index[e], j) = p.H.value[e];
  for (Index j = 0; j < n; ++j)
    for (Index e = 0; e < p.H.rows; ++e) {
      double left = H(e, j);
      for (Index k = 0; k < r; ++k) left -= p.Q(e, k) * S(k, j);
      for (Index k = 0; k < r; ++k) g(k, j) -= 2 * gamma * p.Q(e, k) * left;
    }
  for (Index j = 0; j < n; ++j)
    for (Index k = 0; k < r; ++k) g(k, j) += 2 * penalty.l2 * S(k, j);
  return g;
}

// Elastic net, penalties of atoms and signs, coupled and not, with every kind of weights: the KKT conditions.
TEST(Penalties, AreExactWithEveryKindOfWeights) {
  Random random(4);
  for (const Kind kind : kKinds)
    for (const double alpha : {0.0, 4.0})
      for (const double gamma : {0.0, 1.0})
        for (const bool positive : {false, true}) {
          const auto p = zoo::make<double>({"penalties", 14, 30, 9}, kind, 23);
          CodesProblem<double> problem{p.X, p.weights, p.B, {}, {&p.L, alpha, &p.H, &p.Q, gamma}};
          const double scale = largest_beta<double>({p.X, p.weights, p.B, {}, {}}, {});
          problem.penalty = {0.05 * scale, 0.1 * scale, positive, Vector<double>(9, 1.0)};
          for (double& one : problem.penalty.atom) one = random.uniform() < 0.2 ? 0 : 2 * random.uniform();
          Matrix<double> S(9, 30);
          const StepReport report = solve_codes(problem, S, {tolerance<double>().certificate / 4}, {});
          const Matrix<double> g = gradient(p, problem.penalty, alpha, gamma, S);
          double worst = 0;
          for (Index j = 0; j < 30; ++j)
            for (Index k = 0; k < 9; ++k) {
              const double b = problem.penalty.beta * problem.penalty.atom[k], s = S(k, j);
              double off = s > 0   ? std::abs(g(k, j) + b)
                           : s < 0 ? std::abs(g(k, j) - b)
                                   : std::max(0.0, (positive ? -g(k, j) : std::abs(g(k, j))) - b);
              if (positive && s < 0) off = std::numeric_limits<double>::infinity();
              worst = std::max(worst, off / scale);
            }
          const std::string where = p.name + ", alpha " + std::to_string(alpha) + (positive ? ", positive" : "");
          EXPECT_LE(worst, tolerance<double>().certificate) << where;
          EXPECT_NEAR(report.certificate, worst, tolerance<double>().recomputed) << where;
        }
}

TEST(Penalties, BadOnesAreNamed) {
  const auto refused = [](Penalty penalty, const char* text) {
    try {
      penalty.validate(3);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  refused({-1}, "beta = -1");
  refused({1, -2}, "l2 = -2");
  refused({1, 0, false, Vector<double>(2, 1.0)}, "atom_penalty has 2 numbers");
  refused({1, 0, false, Vector<double>(3, -1.0)}, "atom_penalty = -1");
}

// No direction that keeps b_k >= 0 and |b_k| <= 1 lowers the fit.
TEST(PositiveAtoms, AreOptimalAtEveryLevel) {
  for (const Kind kind : kKinds) {
    const auto p = zoo::make<double>({"positive atoms", 14, 30, 6}, kind, 29);
    const DictionaryProblem<double> problem{p.X, p.weights, p.S, true};
    Matrix<double> B = p.B;
    const DictionaryReport report = solve_dictionary(problem, B, {tolerance<double>().certificate / 4}, {});
    EXPECT_LE(report.certificate, tolerance<double>().certificate) << p.name;
    EXPECT_NEAR(dictionary_certificate(problem, B, {}), report.certificate, tolerance<double>().recomputed) << p.name;
    const auto fit_at = [&](const Matrix<double>& at) {
      double sum = 0;
      for (Index j = 0; j < 30; ++j)
        for (Index i = 0; i < 14; ++i) {
          double left = p.X(i, j);
          for (Index k = 0; k < 6; ++k) left -= at(i, k) * p.S(k, j);
          sum += p.weights(i, j) * left * left;
        }
      return sum;
    };
    const double best = fit_at(B);
    Random random(31);
    for (int trial = 0; trial < 300; ++trial) {
      Matrix<double> other = B;
      for (Index k = 0; k < 6; ++k) {
        double norm = 0;
        for (Index i = 0; i < 14; ++i) {
          EXPECT_GE(B(i, k), 0);
          other(i, k) = std::max(0.0, B(i, k) + 0.05 * random.normal());
          norm += other(i, k) * other(i, k);
        }
        for (Index i = 0; i < 14 && norm > 1; ++i) other(i, k) /= std::sqrt(norm);
      }
      EXPECT_GE(fit_at(other), best * (1 - 1e-12)) << p.name;
    }
  }
}

// Greedy: each atom is the one most correlated with what the atoms before it leave; the residual is orthogonal to all.
TEST(MatchingPursuit, ChoosesGreedilyAndProjects) {
  for (const Kind kind : {Kind::none, Kind::sample, Kind::element}) {
    const auto p = zoo::make<double>({"pursuit", 14, 20, 9}, kind, 37);
    const CodesProblem<double> problem{p.X, p.weights, p.B, {}, {}};
    Matrix<double> before(9, 20);
    for (const Index nonzeros : {1, 2, 4}) {
      const Matrix<double> S = pursue_codes(problem, nonzeros, 0, {});
      for (Index j = 0; j < 20; ++j) {
        double scale = 0, most = 0;
        Vector<double> now(9, 0.0), was(9, 0.0);
        for (Index k = 0; k < 9; ++k)
          for (Index i = 0; i < 14; ++i) {
            double left = p.X(i, j), left_before = p.X(i, j);
            for (Index l = 0; l < 9; ++l) {
              left -= p.B(i, l) * S(l, j);
              left_before -= p.B(i, l) * before(l, j);
            }
            now[k] += p.weights(i, j) * p.B(i, k) * left;
            was[k] += p.weights(i, j) * p.B(i, k) * left_before;
          }
        Index used = 0, fresh = -1;
        for (Index k = 0; k < 9; ++k) {
          scale = std::max(scale, std::abs(was[k]));
          if (S(k, j) == 0) continue;
          ++used;
          EXPECT_NEAR(now[k], 0, 1e-9 * (1 + scale));
          if (before(k, j) == 0) fresh = k;
        }
        EXPECT_LE(used, nonzeros);
        if (nonzeros > 2 || fresh < 0) continue;
        const auto size = [&](Index k) {
          double norm = 0;
          for (Index i = 0; i < 14; ++i) norm += p.weights(i, j) * p.B(i, k) * p.B(i, k);
          return norm > 0 ? std::abs(was[k]) / std::sqrt(norm) : 0.0;
        };
        for (Index k = 0; k < 9; ++k) most = std::max(most, size(k));
        EXPECT_NEAR(size(fresh), most, 1e-9 * (1 + most));
      }
      before = S;
    }
  }
}

}  // namespace

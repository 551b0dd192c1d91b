// Fits at the edges of the input, and the ways a graph comes in.
#include "verify.hpp"

namespace {

using namespace verify;

Result<double> sane(const Problem<double>& problem, const Options& options, const std::string& where) {
  auto result = run(problem, options);
  check(result, where);
  return result;
}

Matrix<double> equal_samples(Index n) {
  Matrix<double> X(20, n);
  for (Index i = 0; i < 20; ++i) eigen(X).row(i).setConstant(std::sin(static_cast<double>(i + 1)));
  return X;
}

struct Edge {
  const char* name;
  Matrix<double> X;
  const char* note = "";  // that the fit has to leave
  Normalize normalize = Normalize::none;
  int k = 5;
  Index atoms = 8;
};

std::vector<Edge> edges() {
  const Matrix<double> usual = synthetic::make<double>(with_outliers()).X;
  const auto recipe = [](Index m, Index n, Index r, Index active = 2) {
    return synthetic::make<double>({m, n, r, active}).X;
  };
  std::vector<Edge> out{{"one sample", recipe(20, 1, 8), "no neighbours"},
                        {"fewer samples than atoms", recipe(20, 4, 8), "k = 10 ", Normalize::none, 10},
                        {"fewer samples than neighbours", recipe(20, 4, 8), "k = 3 is used", Normalize::none, 10},
                        {"one atom", recipe(20, 40, 1, 1), "", Normalize::none, 5, 1},
                        {"one feature", recipe(1, 40, 1, 1), "", Normalize::none, 5, 1},
                        {"constant features", usual, "constant", Normalize::standard},
                        {"a sample and a feature without data", usual, "no observed entry"}};
  for (const Index i : {4, 11}) eigen(out[5].X).row(i).setConstant(0.5);
  eigen(out[6].X).col(5).setConstant(std::nan(""));
  eigen(out[6].X).row(2).setConstant(std::nan(""));
  for (const Normalize kind : {Normalize::none, Normalize::unit, Normalize::standard})
    out.push_back({"all zero", Matrix<double>(10, 15), "", kind});
  return out;
}

TEST(FitEdges, EveryLevelAndPaceIsSane) {
  for (const Edge& edge : edges())
    for (const Level level : kLevels)
      for (const Pace pace : {Pace::geometric, Pace::quantile}) {
        Options o = small_options(level, pace);
        o.normalize = edge.normalize;
        o.k = edge.k;
        o.atoms = edge.atoms;
        const std::string where = std::string(edge.name) + ", " + std::string(name_of(level));
        const auto result = sane({edge.X}, o, where);
        EXPECT_TRUE(*edge.note == 0 || synthetic::has_note(result.notes, edge.note)) << where;
        if (eigen(edge.X).isZero(0)) {
          EXPECT_EQ(result.objective.fit, 0);
          EXPECT_EQ(result.termination, Termination::converged);
        }
      }
}

TEST(FitEdges, AnUnobservedSampleHasNoCodeWithoutAGraph) {
  Matrix<double> X = synthetic::make<double>(with_outliers()).X;
  eigen(X).col(5).setConstant(std::nan(""));
  for (const Level level : kLevels) {
    Options o = small_options(level);
    o.graph = GraphKind::none;
    EXPECT_EQ(eigen(sane({X}, o, std::string(name_of(level))).codes).col(5).norm(), 0) << "nothing to code";
  }
}

TEST(FitEdges, AllSamplesEqual) {
  const Matrix<double> X = equal_samples(30);
  for (const Level level : kLevels)
    for (const Pace pace : {Pace::geometric, Pace::quantile}) {
      Options o = small_options(level, pace);
      o.alpha = 2;
      o.gamma = 0.1;  // the default's 1 trades more of the fit for consistency
      const auto result = sane({X, {}}, o, std::string(name_of(level)));
      EXPECT_LT(result.objective.fit, 0.2 * 30 * 10) << "one atom is enough";
      // equal samples have equal losses: a pace must not shut all of them out
      EXPECT_TRUE(level != Level::sample || result.selected > 0.5) << name_of(pace);
    }
}

/// Equal losses, or a single one: a lambda at the tied value would select nobody and let the codes collapse
TEST(FitEdges, TheQuantilePaceAlwaysSelectsSomebody) {
  for (const Index samples : {30, 1})
    for (const Record& r : run<double>({equal_samples(samples)}, small_options(Level::sample)).history)
      EXPECT_TRUE(r.phase != Phase::paced || (r.mean_weight > 0 && r.density > 0))
          << samples << " samples, iteration " << r.iteration;
}

TEST(FitEdges, BetaSoLargeThatNothingIsUsedAndBetaZero) {
  const auto p = synthetic::make<double>(with_outliers());
  for (const Level level : kLevels) {
    Options o = small_options(level);
    o.beta = 0;
    EXPECT_EQ(sane(p.problem(), o, std::string(name_of(level))).beta, 0);
    o.beta.reset();
    o.beta_ratio = 1;
    o.alpha = o.gamma = 0;
    EXPECT_EQ(sane(p.problem(), o, std::string(name_of(level))).density, 0) << name_of(level);
  }
}

TEST(FitEdges, HugeAndTinyData) {
  for (const double size :
       synthetic::small() ? std::vector<double>{1e-100, 1e100} : std::vector<double>{1e-100, 1e-12, 1e12, 1e100}) {
    auto p = synthetic::make<double>(with_outliers());
    eigen(p.X) *= size;
    for (const Level level : {Level::none, Level::element}) {
      Options o = small_options(level);
      o.normalize = Normalize::unit;
      const auto result = sane(p.problem(), o, "size " + std::to_string(size));
      EXPECT_GT(result.density, 0);
    }
  }
}

// --- graphs

TEST(FitGraph, NoneGivenAndPoints) {
  const auto p = synthetic::make<double>(with_outliers());
  Options o = small_options();
  o.graph = GraphKind::none;
  const auto none = sane(p.problem(), o, "none");
  EXPECT_TRUE(none.graph.laplacian.empty());
  EXPECT_EQ(none.objective.manifold, 0);
  EXPECT_EQ(none.objective.consistency, 0);
  EXPECT_TRUE(none.consistency.empty());

  Graph ring;
  zoo::ring(60, ring.laplacian, ring.incidence);
  const auto given = run<double>(p.problem(), small_options(), nullptr, {.graph = &ring});
  EXPECT_EQ(given.graph.laplacian, ring.laplacian);
  EXPECT_EQ(given.graph.incidence, ring.incidence);
  EXPECT_GT(given.objective.manifold, 0);
  EXPECT_GT(given.objective.consistency, 0);
  check_reports(given, "given graph");

  Matrix<double> line(1, 60);
  eigen(line).row(0).setLinSpaced(60, 0, 59);
  o = small_options();
  o.k = 2;
  const auto points = run<double>(p.problem(), o, nullptr, {.graph_points = line});
  ASSERT_FALSE(points.graph.incidence.empty());
  const auto H = reference::wide(points.graph.incidence);
  EXPECT_EQ(H(30, 29), 1);
  EXPECT_EQ(H(30, 31), 1);
  EXPECT_EQ(H(30, 33), 0) << "neighbours on the line, not in the data";
  check_reports(points, "given points");
}

TEST(FitGraph, KnnAndAlphaOrGammaAlone) {
  const auto p = synthetic::make<double>(with_outliers());
  for (const GraphKind kind : {GraphKind::knn, GraphKind::hypergraph})
    for (const bool normalized : {true, false})
      for (const auto& [alpha, gamma] : {std::pair{2.0, 0.0}, {0.0, 0.5}, {2.0, 0.5}}) {
        Options o = small_options();
        o.graph = kind;
        o.normalized_laplacian = normalized;
        o.alpha = alpha;
        o.gamma = gamma;
        const auto result = sane(p.problem(), o, "alpha " + std::to_string(alpha) + ", gamma " + std::to_string(gamma));
        EXPECT_EQ(result.objective.manifold > 0, alpha > 0);
        EXPECT_EQ(result.objective.consistency > 0, gamma > 0);
      }
}

TEST(FitGraph, MisfitsAreNamed) {
  const auto p = synthetic::make<double>({});
  const auto says = [&](const char* part, const Graph* graph, MatrixView<const double> points, double gamma) {
    Options o = small_options();
    o.gamma = gamma;
    const FitInputs inputs{.graph = graph, .graph_points = points};
    synthetic::expect_error([&] { run<double>(p.problem(), o, nullptr, inputs); }, part);
  };
  Graph ring, skewed, bare;
  zoo::ring(59, ring.laplacian, ring.incidence);
  says("59", &ring, {}, 0.1);
  zoo::ring(60, skewed.laplacian, skewed.incidence);
  skewed.laplacian.value[1] = 0.7;
  says("symmetric", &skewed, {}, 0.1);
  zoo::ring(60, bare.laplacian, bare.incidence);
  bare.incidence = {};
  says("incidence", &bare, {}, 0.1);
  says("accepted", &bare, {}, 0);
  says("graph_points", nullptr, Matrix<double>(2, 61).view(), 0.1);
}

}  // namespace

// Fits at the edges of the input, and the ways a graph comes in.
#include "verify.hpp"

namespace {

using namespace verify;

Result<double> sane(const Problem<double>& problem, const Options& options, const std::string& where) {
  auto result = run(problem, options);
  check(result, where);
  return result;
}

bool noted(const std::vector<std::string>& notes, const std::string& text) {
  for (const auto& note : notes)
    if (note.find(text) != std::string::npos) return true;
  return false;
}

std::string join(const std::vector<std::string>& notes) {
  std::string out;
  for (const auto& note : notes) out += note + " | ";
  return out;
}

TEST(FitEdges, OneSample) {
  const auto p = synthetic::make<double>({20, 1, 8});
  for (const Level level : kLevels)
    for (const Pace pace : {Pace::geometric, Pace::quantile}) {
      const auto result = sane(p.problem(), small_options(level, pace), std::string(name_of(level)));
      EXPECT_TRUE(noted(result.notes, "no neighbours")) << join(result.notes);
    }
}

TEST(FitEdges, FewerSamplesThanAtomsAndThanNeighbours) {
  const auto p = synthetic::make<double>({20, 4, 8});
  for (const Level level : kLevels) {
    Options o = small_options(level);
    o.k = 10;
    const auto result = sane(p.problem(), o, std::string(name_of(level)));
    EXPECT_TRUE(noted(result.notes, "k = 10 ")) << join(result.notes);
    EXPECT_TRUE(noted(result.notes, "k = 3 is used")) << join(result.notes);
  }
}

TEST(FitEdges, AllSamplesEqual) {
  Matrix<double> X(20, 30);
  for (Index i = 0; i < 20; ++i) eigen(X).row(i).setConstant(std::sin(static_cast<double>(i + 1)));
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
  Matrix<double> equal(20, 30);
  for (Index i = 0; i < 20; ++i) eigen(equal).row(i).setConstant(std::sin(static_cast<double>(i + 1)));
  const auto one = synthetic::make<double>({20, 1, 8});
  for (const Problem<double>& problem : {Problem<double>{equal}, one.problem()})
    for (const Record& r : run(problem, small_options(Level::sample)).history)
      EXPECT_TRUE(r.phase != Phase::paced || (r.mean_weight > 0 && r.density > 0))
          << problem.values.cols << " samples, iteration " << r.iteration;
}

TEST(FitEdges, AllZero) {
  const Matrix<double> X(10, 15);
  for (const Level level : kLevels)
    for (const Normalize kind : {Normalize::none, Normalize::unit, Normalize::standard}) {
      Options o = small_options(level);
      o.normalize = kind;
      const auto result = sane({X.view(), {}}, o, std::string(name_of(level)));
      EXPECT_EQ(result.objective.fit, 0);
      EXPECT_EQ(result.termination, Termination::converged);
    }
}

TEST(FitEdges, ConstantFeatures) {
  auto p = synthetic::make<double>(with_outliers());
  for (const Index i : {4, 11}) eigen(p.X).row(i).setConstant(0.5);
  for (const Level level : kLevels) {
    Options o = small_options(level);
    o.normalize = Normalize::standard;
    const auto result = sane(p.problem(), o, std::string(name_of(level)));
    EXPECT_TRUE(noted(result.notes, "constant")) << join(result.notes);
  }
}

TEST(FitEdges, ASampleAndAFeatureWithoutData) {
  auto p = synthetic::make<double>(with_outliers());
  eigen(p.X).col(5).setConstant(std::nan(""));
  eigen(p.X).row(2).setConstant(std::nan(""));
  for (const Level level : kLevels)
    for (const bool graph : {true, false}) {
      Options o = small_options(level);
      if (!graph) o.graph = GraphKind::none;
      const auto result = sane(p.problem(), o, std::string(name_of(level)));
      EXPECT_TRUE(noted(result.notes, "no observed entry")) << join(result.notes);
      EXPECT_TRUE(graph || eigen(result.codes).col(5).norm() == 0) << "nothing to code";
    }
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

TEST(FitEdges, OneAtomAndOneFeature) {
  const auto p = synthetic::make<double>({20, 40, 1, 1});
  const auto q = synthetic::make<double>({1, 40, 1, 1});
  for (const Level level : kLevels) {
    Options o = small_options(level);
    o.atoms = 1;
    sane(p.problem(), o, "one atom, " + std::string(name_of(level)));
    sane(q.problem(), o, "one feature, " + std::string(name_of(level)));
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
  const auto error_of = [&](const Graph* graph, MatrixView<const double> points, double gamma) {
    Options o = small_options();
    o.gamma = gamma;
    const FitInputs inputs{.graph = graph, .graph_points = points};
    return synthetic::error_of([&] { run<double>(p.problem(), o, nullptr, inputs); });
  };
  Graph ring, skewed;
  zoo::ring(59, ring.laplacian, ring.incidence);
  EXPECT_NE(error_of(&ring, {}, 0.1).find("59"), std::string::npos);
  zoo::ring(60, skewed.laplacian, skewed.incidence);
  skewed.laplacian.value[1] = 0.7;
  EXPECT_NE(error_of(&skewed, {}, 0.1), "accepted");
  Graph bare;
  zoo::ring(60, bare.laplacian, bare.incidence);
  bare.incidence = {};
  EXPECT_NE(error_of(&bare, {}, 0.1).find("incidence"), std::string::npos);
  EXPECT_EQ(error_of(&bare, {}, 0), "accepted");
  const Matrix<double> points(2, 61);
  EXPECT_NE(error_of(nullptr, points, 0.1).find("graph_points"), std::string::npos);
}

}  // namespace

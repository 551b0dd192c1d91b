// A fit over several parts of the samples, one after another in the same loop.
#include <gtest/gtest.h>

#include "model/fit.hpp"
#include "model/part.hpp"
#include "synthetic.hpp"
#include "verify.hpp"

namespace {

using namespace pacewise;

FitInputs cut(Vector<Index> parts) { return {.parts = std::move(parts)}; }

synthetic::Recipe recipe() {
  synthetic::Recipe out = verify::with_outliers();
  out.n = 200;
  return out;
}

TEST(Parts, ReportWhatTheSlowPathFindsAtEveryLevelWithTheSameBitsForAnyThreadsAndResumed) {
  auto p = synthetic::make<double>(recipe());
  for (Index j = 0; j < p.X.cols(); j += 3) p.X(j % p.X.rows(), j) = std::numeric_limits<double>::quiet_NaN();
  Problem<double> problem = p.problem();
  Random random(2);
  for (Index j = 0; j < p.X.cols(); ++j) problem.weights.sample.push_back(0.5 + random.uniform());
  for (const Level level : verify::kLevels)
    for (const bool exact : {false, true}) {
      Options o = verify::small_options(level);
      o.exact_steps = exact;
      const std::string where = std::string(name_of(level)) + (exact ? ", exact" : ", cheap");
      const auto result = verify::run_resumed<double>(problem, o, 10, where, cut({50, 130}));
      verify::check(result, where);
      const auto part = [](Index j) { return j < 50 ? 0 : j < 130 ? 1 : 2; };
      for (const Sparse* matrix : {&result.graph.laplacian, &result.graph.incidence})
        for (Index j = 0; j < matrix->cols; ++j)  // no neighbours in common
          for (Index at = matrix->start[j]; at < matrix->start[j + 1]; ++at)
            EXPECT_EQ(part(matrix->index[at]), part(j)) << matrix->index[at] << ", " << j;
    }
}

// A part of one sample has no graph.
TEST(Parts, MayBeASingleSample) {
  const auto p = synthetic::make<double>(recipe());
  for (const Vector<Index>& parts : {Vector<Index>{1}, Vector<Index>{80, 81}, Vector<Index>{199}})
    for (const Level level : verify::kLevels) {
      const auto result = verify::run<double>(p.problem(), verify::small_options(level), nullptr, cut(parts));
      EXPECT_EQ(result.graph.laplacian.cols, 200);
      EXPECT_EQ(result.graph.incidence.cols, 200);
      verify::check_reports(result, std::string(name_of(level)) + ", from " + std::to_string(parts[0]));
    }
}

// Without a graph the cut only orders sums: the same answer to rounding.
TEST(Parts, WithoutAGraphTheCutDoesNotMatter) {
  const auto p = synthetic::make<double>(recipe());
  for (const Level level : verify::kLevels) {
    Options o = verify::small_options(level);
    o.alpha = o.gamma = 0;
    o.exact_steps = true;
    o.step_tol = 1e-10;
    o.max_iter = 12;
    const auto whole = verify::run<double>(p.problem(), o),
               parts = verify::run<double>(p.problem(), o, nullptr, cut({1, 77, 199}));
    const std::string where(name_of(level));
    EXPECT_NEAR(parts.objective.total(), whole.objective.total(), 1e-5 * whole.objective.magnitude()) << where;
    if (level != Level::none) {
      EXPECT_NEAR(parts.lambda, whole.lambda, 1e-4 * whole.lambda) << where;
    }
    EXPECT_EQ(parts.data.values, whole.data.values) << where;
  }
}

// A descending pace doubts units of the last part alone.
TEST(Parts, MayHoldNothingThatIsWrong) {
  synthetic::Recipe recipe;
  recipe.m = 30;
  recipe.n = 300;
  for (const bool samples : {false, true}) {
    auto p = synthetic::make<double>(recipe);
    Random random(3);
    for (Index j = 250; j < 300; ++j)
      for (Index i = 0; i < 30; ++i)
        if (samples ? j % 2 == 0 : random.uniform() < 0.1) p.X(i, j) = (samples ? 0.5 : 2) * random.normal();
    Options o;
    o.atoms = 8;
    o.alpha = o.gamma = 0;
    o.normalize = Normalize::none;
    o.level = samples ? Level::sample : Level::element;
    o.regularizer = Hard{};  // weights of exactly 1
    o.lambda_scale = 16;
    const auto result = verify::run<double>(p.problem(), o, nullptr, cut({100, 240}));
    EXPECT_EQ(result.detail, "");
    EXPECT_LT(result.certificate.codes, 1e-4);
    const auto setting = verify::setting_of(result);
    const double off = tolerance<double>().recomputed;
    EXPECT_NEAR(result.certificate.codes, reference::codes_certificate(setting), off) << samples;
    EXPECT_NEAR(result.certificate.dictionary, reference::dictionary_certificate(setting), off) << samples;
    EXPECT_NEAR(result.objective.fit, reference::objective(setting).fit, off * 100) << samples;
  }
}

TEST(Parts, ACutThatIsNoneIsRefused) {
  const auto p = synthetic::make<double>({});
  const Graph graph = verify::run<double>(p.problem(), verify::small_options()).graph;
  for (const Vector<Index>& bad : {Vector<Index>{0}, Vector<Index>{60}, Vector<Index>{30, 20}, Vector<Index>{20, 20}})
    EXPECT_THROW(verify::run<double>(p.problem(), verify::small_options(), nullptr, cut(bad)), Error);
  FitInputs both = cut({30});
  both.graph = &graph;
  EXPECT_THROW(verify::run<double>(p.problem(), verify::small_options(), nullptr, both), Error);
}

}  // namespace

#include "model/encode.hpp"

#include <gtest/gtest.h>

#include "verify.hpp"

namespace {

using namespace pacewise;
using synthetic::distance;

/// The planted dictionary as a model: no training between the test and its answer
template <class T>
Model<T> planted_model(const synthetic::Planted<T>& p, Level level = Level::none, double lambda = 0.05) {
  Model<T> model;
  model.dictionary = p.B;
  model.beta = 0.05;
  model.options.level = level;
  if (level != Level::none) model.lambda = lambda;
  model.entry_lambda = 0.05;
  return model;
}

template <class T>
reference::Setting setting_of(const Model<T>& model, const Data<T>& data, const Encoding<T>& e) {
  using reference::wide;
  const Index m = data.values.rows(), n = data.values.cols();
  reference::Setting s{wide(data.values), wide(data.weights, m, n), wide(model.dictionary), wide(e.codes)};
  for (Index j = 0; j < n && !e.weights.empty(); ++j)
    for (Index i = 0; i < m; ++i) s.W(i, j) *= e.weights[unit_of(model.options.level, m, i, j)];
  s.penalty.beta = model.beta;
  return s;
}

Options training_options(Level level) {
  Options o = verify::small_options(level);
  o.pace_iter = 5;
  o.polish = 0;
  o.final = 0.9;
  o.max_iter = 30;
  return o;
}

template <class T>
class EncodeOf : public testing::Test {};
using Precisions = testing::Types<double, float>;
TYPED_TEST_SUITE(EncodeOf, Precisions);

TYPED_TEST(EncodeOf, TheCertificateIsThatOfTheSlowPath) {
  using T = TypeParam;
  synthetic::Recipe recipe;
  recipe.bad_entries = 0.05;
  const auto p = synthetic::make<T>(recipe);
  auto holes = synthetic::punch(p.X, 0.2);
  Random random(4);
  for (Index u = 0; u < p.X.size(); ++u) holes.weights.entry.data()[u] *= static_cast<T>(0.5 + random.uniform());
  const Problem<T> problem{p.X, holes.weights};
  for (const Level level : zoo::kLevels)
    for (const bool paced : {false, true}) {
      const std::string where = std::string(name_of(level)) + (paced ? ", paced" : "");
      auto model = planted_model(p, level, level == Level::sample ? 1.0 : 0.05);
      if (level == Level::feature)
        for (int i = 0; i < 20; ++i) model.weights.push_back(static_cast<T>(0.05 * i));
      const auto data = prepare(problem, Normalize::none);
      const auto e = model.encode(problem, {.paced = paced});
      const double slow = reference::codes_certificate(setting_of(model, data, e));
      EXPECT_LE(slow, tolerance<T>().certificate) << where;
      EXPECT_NEAR(e.report.certificate, slow, tolerance<T>().recomputed) << where;
      EXPECT_EQ(e.weights.empty(), !paced || level == Level::none) << where;
      const auto losses = unit_losses<T>(data.values, problem.weights, p.B, e.codes, level, {});
      ASSERT_EQ(e.losses.size(), losses.size());
      for (std::size_t u = 0; u < losses.size(); ++u) ASSERT_NEAR(e.losses[u], losses[u], 1e-5);
    }
}

TYPED_TEST(EncodeOf, WhatLiesUnderAHoleDoesNotMatter) {
  using T = TypeParam;
  const auto p = synthetic::make<T>({});
  const auto holes = synthetic::punch(p.X, 0.2);
  for (const Normalize kind : {Normalize::none, Normalize::unit})
    for (const Level level : {Level::none, Level::element}) {
      auto model = planted_model(p, level);
      model.normalization.kind = kind;
      const auto first = model.encode({holes.nan}), second = model.encode({holes.junk, holes.weights});
      EXPECT_EQ(first.codes, second.codes) << name_of(level);
      EXPECT_EQ(first.sample_scale, second.sample_scale) << name_of(level);
    }
}

TEST(Encode, HolesAreFilledByTheReconstruction) {
  const auto p = synthetic::make<double>({});
  const auto holes = synthetic::punch(p.X, 0.2);
  auto model = planted_model(p);
  model.beta = 1e-3;
  const auto e = model.encode({holes.nan});
  const Matrix<double> back = model.reconstruct(e.codes, e.sample_scale);
  const auto hole = 1 - eigen(holes.weights.entry).array();
  EXPECT_LT((hole * (eigen(back) - eigen(p.X)).array()).square().sum(),
            0.05 * (hole * eigen(p.X).array()).square().sum());
}

TEST(Encode, PacedEncodingFindsTheCorruptedEntriesOfNewSamples) {
  synthetic::Recipe recipe{30, 300, 10};
  recipe.bad_entries = 0.05;
  recipe.size = 1.5;
  const auto train = synthetic::make<double>(recipe);
  Options o = training_options(Level::element);
  o.atoms = 10;
  o.graph = GraphKind::none;
  const Model<double> model = fit<double>(train.problem(), o, {});
  EXPECT_DOUBLE_EQ(model.entry_lambda, model.lambda);

  // new codes over the same dictionary
  recipe.n = 500;
  const auto all = synthetic::make<double>(recipe);
  const EigenMatrix<double> clean = eigen(train.B) * eigen(all.S).rightCols(100);
  Random random(77);
  std::vector<bool> bad;
  Matrix<double> X(30, 100);
  for (Index u = 0; u < X.size(); ++u) {
    bad.push_back(random.uniform() < 0.05);
    X.data()[u] = clean.data()[u] + 0.01 * random.normal() + (bad.back() ? 1.5 : 0);
  }
  const auto paced = model.encode({X}), plain = model.encode({X}, {.paced = false});
  EXPECT_GT(verify::auroc_of_doubt(paced.weights, bad), 0.9);
  const auto error = [&](const Encoding<double>& e) {
    return (eigen(model.reconstruct(e.codes, e.sample_scale)) - clean).squaredNorm();
  };
  EXPECT_LT(error(paced), 0.7 * error(plain)) << "what is corrupted no longer bends the codes";
  EXPECT_GT(verify::auroc_of_doubt(model.score({X}).confidence.numbers(), bad), 0.9);
}

TEST(Encode, ReconstructUndoesTheNormalisation) {
  synthetic::Recipe recipe;
  recipe.noise = 0;
  auto p = synthetic::make<double>(recipe);
  eigen(p.X) *= Eigen::VectorXd::LinSpaced(60, 1, 6.9).asDiagonal();
  for (const Normalize kind : {Normalize::none, Normalize::unit, Normalize::standard}) {
    Matrix<double> X = p.X;
    if (kind == Normalize::standard)
      eigen(X) = ((Eigen::VectorXd::LinSpaced(20, 0, 19).asDiagonal() * eigen(p.X)).array() + 5).matrix();
    Model<double> model;
    model.normalization = prepare<double>({X}, kind).normalization;
    model.beta = 0;
    model.dictionary = Matrix<double>(20, 20);  // the identity codes anything
    eigen(model.dictionary).setIdentity();
    const auto e = model.encode({X});
    EXPECT_EQ(e.sample_scale.size(), kind == Normalize::unit ? 60u : 0u);
    EXPECT_LE(distance(model.reconstruct(e.codes, e.sample_scale), X), 1e-6) << name_of(kind);
    if (kind != Normalize::unit) continue;
    const auto norms = eigen(model.reconstruct(e.codes)).colwise().norm().eval();
    EXPECT_LE((norms.array() - 1).abs().maxCoeff(), 1e-6) << "without the scales samples stay of unit norm";
  }
}

TEST(Encode, TrainingDataGetTheCodesOfTheirOwnProblem) {
  const auto p = synthetic::make<double>({});
  for (const Normalize kind : {Normalize::none, Normalize::unit, Normalize::standard}) {
    Options o = training_options(Level::none);
    o.normalize = kind;
    const auto result = fit<double>(p.problem(), o, {});
    Matrix<double> S(8, 60);
    solve_codes<double>({result.data.values, result.data.weights, result.dictionary, {result.beta}, {}}, S, {1e-8}, {});
    EXPECT_EQ(result.encode(p.problem()).codes, S) << name_of(kind);
    EXPECT_TRUE(std::isinf(result.lambda));
  }
}

TEST(Encode, FeatureWeightsComeFromTheTraining) {
  auto p = synthetic::make<double>({});
  eigen(p.X).row(6) = 2 * eigen(synthetic::gaussian<double>(1, 60, 2));  // a broken sensor
  const Model<double> model = fit<double>(p.problem(), training_options(Level::feature), {});
  ASSERT_EQ(model.weights.size(), 20u);
  EXPECT_EQ(model.encode(p.problem()).weights, model.weights);
}

TEST(Encode, CodesOfASampleDoNotDependOnTheOthers) {
  synthetic::Recipe recipe;
  recipe.bad_entries = 0.1;
  const auto p = synthetic::make<double>(recipe);
  for (const Level level : zoo::kLevels) {
    auto model = planted_model(p, level, level == Level::sample ? 0.5 : 0.05);
    if (level == Level::feature) model.weights.assign(20, 0.5);
    const auto together = model.encode(p.problem());
    int first = together.iterations;
    for (Index j = 0; j < 60; j += 7) {
      const auto alone = model.encode({p.X.view().columns(j, 1)});
      EXPECT_LE(alone.iterations, together.iterations);
      first = std::min(first, alone.iterations);
      EXPECT_LE(distance(alone.codes, Matrix<double>(together.codes.view().columns(j, 1))), 1e-6) << name_of(level);
    }
    EXPECT_TRUE(level != Level::element || first < together.iterations) << "all stop at once: nothing is tested";
  }
}

TEST(Encode, ScoresLieInTheUnitIntervalAndAreNaNWhereNothingIsObserved) {
  synthetic::Recipe recipe;
  recipe.bad_samples = 0.1;
  auto p = synthetic::make<double>(recipe);
  const auto planted = planted_model(p);
  eigen(p.X).col(4).setConstant(std::nan(""));
  p.X(3, 9) = std::nan("");
  const auto check = [&](const Trust<double>& trust, const std::string& where) {
    ASSERT_EQ(trust.outlier_score.size(), 60u);
    for (Index j = 0; j < 60; ++j) {
      double sum = 0, count = 0;
      for (Index i = 0; i < 20; ++i) {
        const double c = trust.confidence(i, j);
        ASSERT_EQ(std::isnan(c), std::isnan(p.X(i, j))) << where;
        if (std::isnan(c)) continue;
        ASSERT_TRUE(c >= 0 && c <= 1) << where;
        sum += 1 - c;
        ++count;
      }
      if (count == 0)
        EXPECT_TRUE(std::isnan(trust.outlier_score[j])) << where << ", sample " << j;
      else
        EXPECT_NEAR(trust.outlier_score[j], sum / count, 1e-12) << where << ", sample " << j;
    }
  };
  for (const Level level : zoo::kLevels) {
    const Model<double> model = fit<double>(p.problem(), training_options(level), {});
    EXPECT_GT(model.entry_lambda, 0) << name_of(level);
    check(model.score(p.problem()), std::string(name_of(level)));
  }
  auto trust = planted.score(p.problem());
  check(trust, "planted");
  trust.outlier_score[4] = 0;  // outliers of gross size stand out
  EXPECT_GT(auroc({trust.outlier_score.begin(), trust.outlier_score.end()}, p.bad_sample), 0.99);
}

TEST(Encode, InFoldsAnEntryIsJudgedByCodesThatHaveNotSeenIt) {
  synthetic::Recipe recipe;
  recipe.bad_entries = 0.05;
  const auto p = synthetic::make<double>(recipe);
  for (const Level level : {Level::none, Level::sample, Level::element}) {
    auto model = planted_model(p, level, level == Level::sample ? 1.0 : 0.05);
    model.held_out_lambda.assign(20, 1.0);
    const auto trust = model.score(p.problem(), {.folds = 1000});  // more than features: each by itself
    for (const Index i : {0, 7, 19}) {
      Matrix<double> X = p.X;
      eigen(X).row(i).setConstant(std::nan(""));
      const auto left = (eigen(p.X) - eigen(p.B) * eigen(model.encode({X}).codes)).row(i).array().eval();
      const auto linear = (left.square() < 0.5).select(1 - left.square(), 0.25 / left.square());
      EXPECT_LE((eigen(trust.confidence).row(i).array() - linear).abs().maxCoeff(), 1e-5) << name_of(level);
    }
  }
}

TEST(Encode, CalibrationTellsWhatIsUsualInFolds) {
  const auto p = synthetic::make<double>({});
  auto model = planted_model(p, Level::element);
  EXPECT_EQ(model.score(p.problem()).confidence, model.score(p.problem(), {.folds = 0}).confidence);
  const auto trust = calibrate(model, p.problem(), {}, {});
  ASSERT_EQ(model.held_out_lambda.size(), 20U);
  EXPECT_EQ(model.score(p.problem()).confidence, trust.confidence);
  EXPECT_EQ(model.score(p.problem(), {.folds = 15}).confidence, trust.confidence);
  // clean data: few of their entries are beyond three robust standard deviations
  EXPECT_LT((eigen(trust.confidence).array() < 0.5).cast<double>().mean(), 0.1);
  // a feature never observed has a scale, too
  Matrix<double> holes = p.X;
  eigen(holes).row(3).setConstant(std::nan(""));
  calibrate<double>(model, {holes}, {}, {});
  EXPECT_GT(model.held_out_lambda[3], 0);
}

/// All user weights times c, beta and the pace's lambda with them: the same model of the same data
TEST(Encode, ScoresDoNotDependOnTheUnitOfTheUserWeights) {
  synthetic::Recipe recipe;
  recipe.bad_entries = 0.05;
  const auto p = synthetic::make<double>(recipe);
  for (const Level level : {Level::none, Level::element}) {
    Options o = training_options(level);
    o.alpha = o.gamma = 0;
    const auto scores = [&](double unit) {
      const Problem<double> problem{p.X, {Vector<double>(60, unit), {}, {}}};
      return fit<double>(problem, o, {}).score(problem).outlier_score;
    };
    EXPECT_LE((eigen(scores(64)) - eigen(scores(1))).cwiseAbs().maxCoeff(), 1e-4) << name_of(level);
  }
}

TEST(Encode, MisuseIsNamed) {
  using synthetic::expect_error;
  const auto p = synthetic::make<double>({}), other = synthetic::make<double>({19, 10, 8});
  const auto model = planted_model(p);
  for (const char* part : {"features of the data = 19", "= 20"}) {
    expect_error([&] { model.encode(other.problem()); }, part);
    expect_error([&] { model.score(other.problem()); }, part);
  }
  expect_error([&] { model.reconstruct(Matrix<double>(7, 3)); }, "= 7");
  expect_error([&] { model.reconstruct(Matrix<double>(8, 3), {1, 1}); }, "sample_scale = 2");
}

TEST(Encode, CancelledEncodingReturns) {
  const auto p = synthetic::make<double>({});
  const std::atomic<bool> cancel{true};
  const auto e = planted_model(p, Level::element).encode(p.problem(), {}, {.cancel = &cancel});
  EXPECT_FALSE(e.report.converged);
  EXPECT_EQ(e.codes.cols(), 60);
}

}  // namespace

#include "model/encode.hpp"

#include <gtest/gtest.h>

#include "evaluate/scores.hpp"
#include "solve/weights.hpp"
#include "synthetic.hpp"
#include "tolerances.hpp"
#include "zoo.hpp"

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
  Options o;
  o.atoms = 8;
  o.beta_ratio = 0.05;
  o.level = level;
  o.plain_iter = o.warm_iter = 3;
  o.pace = Pace::quantile;
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

TYPED_TEST(EncodeOf, UnpacedCodesAreThoseOfTheCodesStep) {
  using T = TypeParam;
  const auto p = synthetic::make<T>({});
  const auto model = planted_model(p);
  EncodeOptions options;
  options.paced = false;
  const auto e = model.encode(p.problem(), options, {});
  Matrix<T> S(8, 60);
  const Weights<T> none;
  const StepReport report = solve_codes<T>({p.X, none, model.dictionary, {model.beta}, {}}, S, {options.tol, 500}, {});
  EXPECT_EQ(e.codes, S);
  EXPECT_EQ(e.report.certificate, report.certificate);
  EXPECT_TRUE(e.weights.empty());
  EXPECT_EQ(e.iterations, 0);
}

TYPED_TEST(EncodeOf, TheCertificateIsThatOfTheSlowPath) {
  using T = TypeParam;
  synthetic::Recipe recipe;
  recipe.bad_entries = 0.05;
  const auto p = synthetic::make<T>(recipe);
  Problem<T> problem = p.problem();
  Random random(4);
  problem.weights.entry = Matrix<T>(20, 60, T(1));
  for (Index i = 0; i < problem.weights.entry.size(); ++i)
    problem.weights.entry.data()[i] = static_cast<T>(random.uniform() < 0.2 ? 0 : 0.5 + random.uniform());
  for (const Level level : {Level::none, Level::sample, Level::feature, Level::element})
    for (const bool paced : {false, true}) {
      auto model = planted_model(p, level, level == Level::sample ? 1.0 : 0.05);
      if (level == Level::feature)
        for (int i = 0; i < 20; ++i) model.weights.push_back(static_cast<T>(0.05 * i));
      EncodeOptions options;
      options.paced = paced;
      const auto e = model.encode(problem, options, {});
      const auto setting = setting_of(model, prepare(problem, Normalize::none), e);
      const double slow = reference::codes_certificate(setting);
      EXPECT_LE(slow, tolerance<T>().certificate) << name_of(level) << " paced " << paced;
      EXPECT_NEAR(e.report.certificate, slow, tolerance<T>().recomputed) << name_of(level) << " paced " << paced;
      const auto losses =
          unit_losses<T>(prepare(problem, Normalize::none).values, problem.weights, p.B, e.codes, level, {});
      ASSERT_EQ(e.losses.size(), losses.size());
      for (std::size_t u = 0; u < losses.size(); ++u) ASSERT_NEAR(e.losses[u], losses[u], 1e-5);
    }
}

TYPED_TEST(EncodeOf, WhatLiesUnderAHoleDoesNotMatter) {
  using T = TypeParam;
  const auto p = synthetic::make<T>({});
  Random random(9);
  Matrix<T> nan = p.X, junk = p.X;
  Problem<T> masked{junk.view(), {}};
  masked.weights.entry = Matrix<T>(20, 60, T(1));
  for (Index i = 0; i < nan.size(); ++i)
    if (random.uniform() < 0.2) {
      nan.data()[i] = std::numeric_limits<T>::quiet_NaN();
      junk.data()[i] = static_cast<T>(100 * random.normal());
      masked.weights.entry.data()[i] = 0;
    }
  for (const Normalize kind : {Normalize::none, Normalize::unit})
    for (const Level level : {Level::none, Level::element}) {
      auto model = planted_model(p, level);
      model.normalization.kind = kind;
      const auto first = model.encode({nan.view(), {}}, {}, {}), second = model.encode(masked, {}, {});
      EXPECT_EQ(first.codes, second.codes) << name_of(level);
      EXPECT_EQ(first.sample_scale, second.sample_scale) << name_of(level);
    }
}

TEST(Encode, HolesAreFilledByTheReconstruction) {
  const auto p = synthetic::make<double>({});
  Matrix<double> holes = p.X;
  Random random(3);
  for (Index i = 0; i < holes.size(); ++i)
    if (random.uniform() < 0.2) holes.data()[i] = std::numeric_limits<double>::quiet_NaN();
  auto model = planted_model(p);
  model.beta = 1e-3;
  const auto e = model.encode({holes.view(), {}}, {}, {});
  const Matrix<double> back = model.reconstruct(e.codes, e.sample_scale);
  double sum = 0, size = 0;
  for (Index i = 0; i < holes.size(); ++i)
    if (std::isnan(holes.data()[i])) {
      sum += std::pow(back.data()[i] - p.X.data()[i], 2);
      size += std::pow(p.X.data()[i], 2);
    }
  EXPECT_LT(sum, 0.05 * size);
}

TEST(Encode, PacedEncodingFindsTheCorruptedEntriesOfNewSamples) {
  synthetic::Recipe recipe{30, 300, 10};
  recipe.bad_entries = 0.05;
  recipe.size = 1.5;
  const auto train = synthetic::make<double>(recipe);
  Options o = training_options(Level::element);
  o.atoms = 10;
  o.normalize = Normalize::none;
  o.graph = GraphKind::none;
  const Model<double> model = fit<double>(train.problem(), o, {});
  EXPECT_DOUBLE_EQ(model.entry_lambda, model.lambda);

  // new codes over the same dictionary
  recipe.n = 500;
  const auto all = synthetic::make<double>(recipe);
  Random random(77);
  std::vector<bool> bad;
  Matrix<double> clean(30, 100), X(30, 100);
  for (Index j = 0; j < 100; ++j)
    for (Index i = 0; i < 30; ++i) {
      for (Index k = 0; k < 10; ++k) clean(i, j) += train.B(i, k) * all.S(k, 400 + j);
      bad.push_back(random.uniform() < 0.05);
      X(i, j) = clean(i, j) + 0.01 * random.normal() + (bad.back() ? 1.5 : 0);
    }
  const Problem<double> problem{X.view(), {}};
  EncodeOptions unpaced;
  unpaced.paced = false;
  const auto paced = model.encode(problem, {}, {}), plain = model.encode(problem, unpaced, {});
  ASSERT_EQ(paced.weights.size(), bad.size());
  std::vector<double> distrust;
  for (const double v : paced.weights) distrust.push_back(1 - v);
  EXPECT_GT(auroc(distrust, bad), 0.9);
  const auto error = [&](const Encoding<double>& e) {
    const auto back = model.reconstruct(e.codes, e.sample_scale);
    double sum = 0;
    for (Index i = 0; i < back.size(); ++i) sum += std::pow(back.data()[i] - clean.data()[i], 2);
    return sum;
  };
  EXPECT_LT(error(paced), 0.7 * error(plain)) << "what is corrupted no longer bends the codes";
  // and so does score(): the same entries stand out, and samples that have more of them
  const auto trust = model.score(problem, {}, {});
  std::vector<double> doubt;
  for (Index i = 0; i < X.size(); ++i) doubt.push_back(1 - trust.confidence.data()[i]);
  EXPECT_GT(auroc(doubt, bad), 0.9);
}

TEST(Encode, ReconstructUndoesTheNormalisation) {
  synthetic::Recipe recipe;
  recipe.noise = 0;
  auto p = synthetic::make<double>(recipe);
  for (Index j = 0; j < 60; ++j)
    for (Index i = 0; i < 20; ++i) p.X(i, j) = (1 + 0.1 * static_cast<double>(j)) * p.X(i, j);
  for (const Normalize kind : {Normalize::none, Normalize::unit, Normalize::standard}) {
    Matrix<double> X = p.X;
    for (Index j = 0; j < 60 && kind == Normalize::standard; ++j)
      for (Index i = 0; i < 20; ++i) X(i, j) = 5 + static_cast<double>(i) * X(i, j);
    const auto data = prepare<double>({X.view(), {}}, kind);
    Model<double> model;
    model.normalization = data.normalization;
    model.beta = 0;
    model.dictionary = Matrix<double>(20, 20);  // the identity codes anything
    for (Index i = 0; i < 20; ++i) model.dictionary(i, i) = 1;
    const auto e = model.encode({X.view(), {}}, {}, {});
    EXPECT_EQ(e.sample_scale.size(), kind == Normalize::unit ? 60u : 0u);
    const auto back = model.reconstruct(e.codes, e.sample_scale);
    EXPECT_LE(distance(back, X), 1e-6) << static_cast<int>(kind);
    if (kind == Normalize::unit) {
      const auto unit = model.reconstruct(e.codes, {});
      for (Index j = 0; j < 60; ++j) {
        double norm = 0;
        for (Index i = 0; i < 20; ++i) norm += unit(i, j) * unit(i, j);
        EXPECT_NEAR(norm, 1, 1e-6) << "without the scales samples stay of unit norm";
      }
    }
  }
}

TEST(Encode, TrainingDataGetTheCodesOfTheirOwnProblem) {
  const auto p = synthetic::make<double>({});
  for (const Normalize kind : {Normalize::none, Normalize::unit, Normalize::standard}) {
    Options o = training_options(Level::none);
    o.normalize = kind;
    const auto result = fit<double>(p.problem(), o, {});
    const Model<double> model = result;
    EXPECT_TRUE(std::isinf(model.lambda));
    const auto e = model.encode(p.problem(), {}, {});
    Matrix<double> S(8, 60);
    solve_codes<double>({result.data.values, result.data.weights, model.dictionary, {model.beta}, {}}, S, {1e-8, 500},
                        {});
    EXPECT_EQ(e.codes, S) << static_cast<int>(kind);
  }
}

TEST(Encode, FeatureWeightsComeFromTheTraining) {
  synthetic::Recipe recipe;
  auto p = synthetic::make<double>(recipe);
  Random random(2);
  for (Index j = 0; j < 60; ++j) p.X(6, j) = 2 * random.normal();  // a broken sensor
  Options o = training_options(Level::feature);
  o.normalize = Normalize::none;
  const auto result = fit<double>(p.problem(), o, {});
  const Model<double> model = result;
  ASSERT_EQ(model.weights.size(), 20u);
  const auto e = model.encode(p.problem(), {}, {});
  EXPECT_EQ(e.weights, model.weights);
  Problem<double> one{p.X.view().columns(3, 1), {}};
  const auto alone = model.encode(one, {}, {});
  for (Index k = 0; k < 8; ++k) EXPECT_NEAR(alone.codes(k, 0), e.codes(k, 3), 1e-6) << "new samples do not vote";
}

TEST(Encode, CodesOfASampleDoNotDependOnTheOthers) {
  synthetic::Recipe recipe;
  recipe.bad_entries = 0.1;
  const auto p = synthetic::make<double>(recipe);
  for (const Level level : {Level::sample, Level::element}) {
    const auto model = planted_model(p, level, level == Level::sample ? 0.5 : 0.05);
    const auto together = model.encode(p.problem(), {}, {});
    int first = together.iterations;
    for (Index j = 0; j < 60; j += 7) {
      const auto alone = model.encode({p.X.view().columns(j, 1), {}}, {}, {});
      EXPECT_LE(alone.iterations, together.iterations);
      first = std::min(first, alone.iterations);
      for (Index k = 0; k < 8; ++k) EXPECT_NEAR(alone.codes(k, 0), together.codes(k, j), 1e-6) << name_of(level) << j;
    }
    EXPECT_TRUE(level == Level::sample || first < together.iterations)
        << "all stop at the same time: nothing is tested";
  }
}

TEST(Encode, ScoresLieInTheUnitIntervalAndAreNaNWhereNothingIsObserved) {
  synthetic::Recipe recipe;
  recipe.bad_samples = 0.1;
  auto p = synthetic::make<double>(recipe);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (Index i = 0; i < 20; ++i) p.X(i, 4) = nan;
  p.X(3, 9) = nan;
  for (const Level level : {Level::none, Level::sample, Level::feature, Level::element}) {
    Options o = training_options(level);
    o.normalize = Normalize::none;
    const Model<double> model = fit<double>(p.problem(), o, {});
    EXPECT_GT(model.entry_lambda, 0) << name_of(level);
    const auto trust = model.score(p.problem(), {}, {});
    ASSERT_EQ(trust.outlier_score.size(), 60u);
    for (Index j = 0; j < 60; ++j) {
      const double s = trust.outlier_score[static_cast<std::size_t>(j)];
      EXPECT_EQ(std::isnan(s), j == 4) << name_of(level) << " sample " << j;
      EXPECT_TRUE(j == 4 || (s >= 0 && s <= 1)) << name_of(level) << " sample " << j;
      double sum = 0, count = 0;
      for (Index i = 0; i < 20; ++i) {
        const double c = trust.confidence(i, j);
        EXPECT_EQ(std::isnan(c), std::isnan(p.X(i, j)));
        if (std::isnan(c)) continue;
        EXPECT_TRUE(c >= 0 && c <= 1);
        sum += 1 - c;
        ++count;
      }
      if (count > 0) {
        EXPECT_NEAR(s, sum / count, 1e-12);
      }
    }
  }
  // outliers of gross size stand out
  const auto trust = planted_model(synthetic::make<double>(recipe)).score(p.problem(), {}, {});
  std::vector<double> scores;
  std::vector<bool> bad;
  for (std::size_t j = 0; j < 60; ++j)
    if (j != 4) {
      scores.push_back(trust.outlier_score[j]);
      bad.push_back(p.bad_sample[j]);
    }
  EXPECT_GT(auroc(scores, bad), 0.99);
}

/// All user weights times c, beta and the pace's lambda with them: the same model of the same data
TEST(Encode, InFoldsAnEntryIsJudgedByCodesThatHaveNotSeenIt) {
  synthetic::Recipe recipe;
  recipe.bad_entries = 0.05;
  const auto p = synthetic::make<double>(recipe);
  EncodeOptions alone;
  alone.folds = 1000;  // more than features: each by itself
  for (const Level level : {Level::none, Level::sample, Level::element}) {
    auto model = planted_model(p, level, level == Level::sample ? 1.0 : 0.05);
    model.held_out_lambda.assign(20, 1.0);
    const auto trust = model.score(p.problem(), alone, {});
    for (const Index i : {0, 7, 19}) {
      Matrix<double> X = p.X;
      for (Index j = 0; j < X.cols(); ++j) X(i, j) = std::numeric_limits<double>::quiet_NaN();
      const auto e = model.encode({X.view(), {}}, {}, {});
      for (Index j = 0; j < X.cols(); ++j) {
        double residual = p.X(i, j);
        for (Index k = 0; k < p.B.cols(); ++k) residual -= p.B(i, k) * e.codes(k, j);
        EXPECT_NEAR(trust.confidence(i, j), std::max(0.0, 1 - residual * residual), 1e-5) << name_of(level);
      }
    }
  }
}

TEST(Encode, CalibrationTellsWhatIsUsualInFolds) {
  const auto p = synthetic::make<double>({});
  auto model = planted_model(p, Level::element);
  const EncodeOptions plain{.folds = 0}, folds{.folds = 5};
  EXPECT_EQ(model.score(p.problem(), {}, {}).confidence, model.score(p.problem(), plain, {}).confidence);
  const auto trust = calibrate(model, p.problem(), {}, {});
  ASSERT_EQ(model.held_out_lambda.size(), 20U);
  EXPECT_EQ(model.score(p.problem(), {}, {}).confidence, trust.confidence);
  EXPECT_EQ(model.score(p.problem(), folds, {}).confidence, trust.confidence);
  // clean data: few of their entries are beyond three robust standard deviations
  Index doubted = 0;
  for (Index k = 0; k < trust.confidence.size(); ++k) doubted += trust.confidence.data()[k] < 0.5 ? 1 : 0;
  EXPECT_LT(doubted, trust.confidence.size() / 10);
  // a feature never observed has a scale, too
  Matrix<double> holes = p.X;
  for (Index j = 0; j < holes.cols(); ++j) holes(3, j) = std::numeric_limits<double>::quiet_NaN();
  calibrate<double>(model, {holes.view(), {}}, {}, {});
  EXPECT_GT(model.held_out_lambda[3], 0);
}

TEST(Encode, ScoresDoNotDependOnTheUnitOfTheUserWeights) {
  synthetic::Recipe recipe;
  recipe.bad_entries = 0.05;
  const auto p = synthetic::make<double>(recipe);
  for (const Level level : {Level::none, Level::element}) {
    std::vector<Vector<double>> scores;
    for (const double unit : {1.0, 64.0}) {
      Problem<double> problem = p.problem();
      problem.weights.sample.assign(60, unit);
      Options o = training_options(level);
      o.normalize = Normalize::none;
      o.alpha = o.gamma = 0;
      const Model<double> model = fit<double>(problem, o, {});
      scores.push_back(model.score(problem, {}, {}).outlier_score);
    }
    for (std::size_t j = 0; j < 60; ++j) EXPECT_NEAR(scores[1][j], scores[0][j], 1e-4) << name_of(level);
  }
}

TEST(Encode, MisuseIsNamed) {
  const auto p = synthetic::make<double>({}), other = synthetic::make<double>({19, 10, 8});
  const auto model = planted_model(p);
  const std::string text = synthetic::error_of([&] { model.encode(other.problem(), {}, {}); });
  EXPECT_NE(text.find("features of the data = 19"), std::string::npos) << text;
  EXPECT_NE(text.find("= 20"), std::string::npos) << text;
  EXPECT_NE(synthetic::error_of([&] { model.score(other.problem(), {}, {}); }), "accepted");
  const Matrix<double> codes(7, 3), fit_codes(8, 3);
  EXPECT_NE(synthetic::error_of([&] { model.reconstruct(codes, {}); }).find("= 7"), std::string::npos);
  EXPECT_NE(synthetic::error_of([&] {
              model.reconstruct(fit_codes, {1, 1});
            }).find("sample_scale = 2"),
            std::string::npos);
}

TEST(Encode, CancelledEncodingReturns) {
  const auto p = synthetic::make<double>({});
  std::atomic<bool> cancel{true};
  Control control;
  control.cancel = &cancel;
  const auto e = planted_model(p, Level::element).encode(p.problem(), {}, control);
  EXPECT_FALSE(e.report.converged);
  EXPECT_EQ(e.codes.cols(), 60);
}

}  // namespace

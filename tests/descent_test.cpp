// A descending pace: its rules, and what it finds in data with errors at known places.
#include "pace/descent.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "evaluate/scores.hpp"
#include "model/encode.hpp"
#include "model/model.hpp"
#include "model/verify.hpp"
#include "synthetic.hpp"
#include "verify.hpp"

namespace {

using namespace pacewise;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The constants of textbooks for 95 % efficiency (Maronna, Martin, Yohai, Robust Statistics)
TEST(Descent, CutoffsAreThoseOfTheBooks) {
  EXPECT_NEAR(robust_cutoff(Polynomial{.power = 1.5}), 4.685, 2e-3) << "Tukey";
  EXPECT_NEAR(robust_cutoff(Welsch{}), 2.985, 2e-3);
  EXPECT_NEAR(robust_cutoff(Hard{}), 2.795, 1e-2) << "E r^2 [r < c] = .95: chi-square of 3 degrees, root of 7.815";
}

TEST(Descent, ScalesFallByRootTwoToAQuarterOrToTheScaleGiven) {
  const auto scales = stage_scales({});
  ASSERT_EQ(scales.size(), 14U);
  EXPECT_EQ(scales[0], kInfinity);
  EXPECT_EQ(scales[1], 16);
  EXPECT_NEAR(scales[9], 1, 1e-12);
  EXPECT_EQ(scales.back(), 0.25);
  const auto given = stage_scales({.lambda_scale = 3});
  EXPECT_EQ(given.back(), 3);
  EXPECT_GT(given[given.size() - 2], 3);
  EXPECT_EQ(stage_scales({.lambda_scale = 20}).size(), 2U);
}

TEST(Descent, HiddenEntriesAreAShareAndDrawsAreDisjoint) {
  for (const double entries : {300.0, 5000.0, 30000.0, 1e6}) {
    const Hiding hiding = plan_hiding(0.05, entries);
    EXPECT_GE(hiding.share * entries * hiding.draws, std::min(2000.0, entries) * (1 - hiding.share)) << entries;
    EXPECT_LE(hiding.share * hiding.draws, 1 + 1e-12) << entries;
  }
  EXPECT_EQ(plan_hiding(0.05, 1e6).draws, 1);
  EXPECT_EQ(plan_hiding(0.05, 1e6).share, 0.05);
  const Hiding hiding{0.1, 10};
  double first = 0;
  for (Index j = 0; j < 100; ++j)
    for (Index i = 0; i < 50; ++i) {
      int times = 0;
      for (int draw = 0; draw < 10; ++draw) times += is_hidden(7, hiding, draw, i, j) ? 1 : 0;
      EXPECT_EQ(times, 1) << "each entry once";
      first += is_hidden(7, hiding, 0, i, j) ? 1 : 0;
    }
  EXPECT_NEAR(first / 5000, 0.1, 0.02);
}

TEST(Descent, AStageMustGainMoreThanChanceAndTwoPerCent) {
  const auto stage = [](double error, double gain, double deviation) {
    const double n = 1000;
    return Stage{1, 1, 0, n, n * error, -n * gain, n * (deviation * deviation + gain * gain)};
  };
  const Stage first = stage(1, 0, 0);
  EXPECT_TRUE(gains(stage(0.9, 0.1, 1), first)) << "three standard errors";
  EXPECT_FALSE(gains(stage(0.95, 0.05, 1), first)) << "one and a half";
  EXPECT_FALSE(gains(stage(0.99, 0.01, 0.01), first)) << "certain, but one per cent";
  EXPECT_FALSE(gains(stage(1.1, -0.1, 0), first));
  const Stage kept = stage(0.8, 0.2, 1);
  EXPECT_TRUE(is_better(kept, first, first));
  EXPECT_TRUE(is_better(stage(0.76, 0.24, 1), kept, first)) << "by more than its standard error, .03";
  EXPECT_FALSE(is_better(stage(0.78, 0.22, 1), kept, first)) << "level";
  EXPECT_FALSE(is_better(stage(0.99, 0.01, 0.01), first, first)) << "does not gain";
}

TEST(Descent, IsPastItsBestWhereTheErrorHasRisen) {
  const auto stage = [](double scale, double error) {
    return Stage{scale, 1, 0, 1000, 1000 * error, 1000 * (error - 1), 1000};
  };
  const std::vector<Stage> rising{stage(kInfinity, 1), stage(2, 0.5), stage(1, 0.9), stage(0.5, 0.9)};
  EXPECT_TRUE(is_past_best(rising, 2)) << "a rise of .4, standard error .03";
  EXPECT_TRUE(is_past_best(rising, 3));
  EXPECT_FALSE(is_past_best(rising, 1)) << "the best so far";
  EXPECT_FALSE(is_past_best({stage(kInfinity, 1), stage(2, 1), stage(1, 1.5)}, 2)) << "nothing has beaten all in";
  EXPECT_FALSE(is_past_best({stage(kInfinity, 1), stage(1, 0.5), stage(0.5, 0.52)}, 2)) << "within two standard errors";
}

synthetic::Recipe recipe(double bad_entries) {
  synthetic::Recipe out;
  out.m = 30;
  out.n = 400;
  out.bad_entries = bad_entries;
  return out;
}

Options options(Level level = Level::element) {
  Options o;
  o.atoms = 8;
  o.beta_ratio = 0.02;
  o.level = level;
  o.normalize = Normalize::none;
  o.alpha = o.gamma = 0;
  return o;
}

/// |B S - clean| / |clean| over all entries
double error_of(const synthetic::Planted<double>& clean, const Result<double>& result) {
  const auto R = eigen(result.dictionary) * eigen(result.codes) - eigen(clean.X);
  return R.norm() / eigen(clean.X).norm();
}

TEST(Descent, FindsWrongEntriesAndLearnsWithoutThem) {
  const auto clean = synthetic::make<double>(recipe(0));
  auto dirty = clean;
  Random random(5);
  std::vector<bool> wrong(static_cast<std::size_t>(dirty.X.size()));
  for (Index u = 0; u < dirty.X.size(); ++u)
    if (random.uniform() < 0.1) {
      wrong[static_cast<std::size_t>(u)] = true;
      dirty.X.data()[u] = random.uniform() < 0.5 ? -2 : 2;
    }
  const auto result = verify::run<double>(dirty.problem(), options());
  verify::check_reports(result, "descending");
  EXPECT_TRUE(result.descent.settled);
  EXPECT_GT(result.descent.chosen, 0);
  EXPECT_GT(verify::auroc_of_doubt(result.weights, wrong), 0.97);
  Options all_in = options(Level::none);
  EXPECT_LT(error_of(clean, result), 0.5 * error_of(clean, verify::run<double>(dirty.problem(), all_in)));
  EXPECT_LT(result.certificate.codes, 1e-4);
  // what is trusted stays, what is not comes from the model
  const Model<double> model = make_model(Result<double>(result), dirty.problem(), {}, {});
  const Matrix<double> mended = model.mend(dirty.problem());
  EXPECT_LT((eigen(mended) - eigen(clean.X)).norm(), 0.4 * (eigen(dirty.X) - eigen(clean.X)).norm());
  // new samples are judged as those of the training were: the same samples again get nearly the same weights
  const Vector<double> again = model.encode(dirty.problem()).weights;
  EXPECT_LT((eigen(again) - eigen(model.weights)).cwiseAbs().mean(), 0.03);
}

TEST(Descent, LeavesCleanDataAlone) {
  const auto p = synthetic::make<double>(recipe(0));
  const auto result = verify::run<double>(p.problem(), options());
  // a stage after the error has risen has a quarter of the iterations of others at its scale
  std::map<double, int> iterations;
  for (const Record& record : result.history)
    if (record.phase == Phase::paced) ++iterations[record.lambda];
  const auto& stages = result.descent.stages;
  for (int t = 1; t + 1 < std::ssize(stages); ++t)
    EXPECT_EQ(iterations[stages[static_cast<std::size_t>(t) + 1].lambda],
              stage_iterations(options(), t + 1, is_past_best(stages, t)))
        << t;
  EXPECT_LT((eigen(result.weights).array() < 0.5).cast<double>().mean(), 0.005);
  const auto plain = verify::run<double>(p.problem(), options(Level::none));
  EXPECT_LT(error_of(p, result), 1.1 * error_of(p, plain));
}

TEST(Descent, EveryLevelIsCertifiedVerifiedAndResumedWithTheSameBits) {
  const auto p = synthetic::make<double>(verify::with_outliers());
  for (const Level level : {Level::sample, Level::feature, Level::element})
    for (const bool graph : {false, true}) {
      const std::string where = std::string(name_of(level)) + (graph ? ", graph" : "");
      Options o = options(level);
      o.stage_iter = 2;
      o.lambda_scale = graph ? std::optional<double>() : 1.0;  // or the choice by hidden entries
      if (graph) o.alpha = 2, o.gamma = 0.1;
      const auto result = verify::run_resumed<double>(p.problem(), o, 15, where);
      EXPECT_EQ(result.detail, "") << where;
      verify::check_reports(result, where);
      EXPECT_EQ(result.graph.laplacian.empty(), !graph) << where;
      verify::verified_model(result, p.problem(), where);
    }
}

TEST(Descent, AGrossOutlierCountsForNothing) {
  auto p = synthetic::make<double>(recipe(0));
  const auto before = verify::run<double>(p.problem(), options());
  p.X(3, 5) = 1e4;
  for (const Normalize how : {Normalize::none, Normalize::unit}) {
    Options o = options();
    o.normalize = how;
    const auto result = verify::run<double>(p.problem(), o);
    EXPECT_EQ(result.weights[5 * 30 + 3], 0) << name_of(how);
    const auto R = eigen(result.dictionary) * eigen(result.codes) - eigen(result.data.values);
    double rest = R.squaredNorm() - R(3, 5) * R(3, 5);
    double all = eigen(result.data.values).squaredNorm() - std::pow(result.data.values(3, 5), 2);
    EXPECT_LT(std::sqrt(rest / all), 0.1) << name_of(how);
  }
  EXPECT_TRUE(before.descent.settled);
}

TEST(Descent, HiddenEntriesDoNotReachTheFit) {
  // Whatever an entry of the only draw holds, the stages are the same to the last bit, but for what is said of it.
  auto p = synthetic::make<double>(recipe(0.05));
  Options o = options();
  o.hidden = 0.5;  // one draw
  const Hiding hiding = plan_hiding(o.hidden, static_cast<double>(p.X.size()));
  ASSERT_EQ(hiding.draws, 1);
  Index i = 0;
  while (!is_hidden(o.seed, hiding, 0, i, 7)) ++i;
  const auto dictionaries = [&] {
    std::vector<Matrix<double>> out;
    verify::run<double>(p.problem(), o, [&](const Record& record, const State<double>& state) {
      if (record.phase == Phase::paced) out.push_back(state.dictionary);
      return record.phase != Phase::polish;
    });
    return out;
  };
  o.beta = 0.1;  // its share would depend on the data
  const auto before = dictionaries();
  p.X(i, 7) += 0.25;
  EXPECT_EQ(dictionaries(), before);
}

// Eight atoms were planted: fewer cannot explain the data, more explain the noise.
TEST(Descent, HiddenEntriesChooseAtomsAndPenalty) {
  const auto p = synthetic::make<double>(recipe(0));
  for (const Level level : {Level::none, Level::element}) {
    Options o = options(level);
    o.atoms = kAuto;
    o.beta = kAuto;
    const auto result = verify::run<double>(p.problem(), o);
    EXPECT_GE(result.options.atoms, 8) << name_of(level);
    EXPECT_LE(result.options.atoms, 16) << name_of(level) << ": of eight, one is missed in many a local optimum";
    EXPECT_EQ(result.dictionary.cols(), result.options.atoms);
    EXPECT_FALSE(result.options.beta) << "its share was chosen";
    ASSERT_GE(result.candidates.size(), 5U);
    const auto by_error = [](const Candidate& a, const Candidate& b) { return a.error < b.error; };
    const auto least = std::min_element(result.candidates.begin(), result.candidates.end(), by_error)->error;
    const auto best = std::find_if(result.candidates.begin(), result.candidates.end(), [&](const Candidate& c) {
      return c.atoms == result.options.atoms && c.beta_ratio == result.options.beta_ratio;
    });
    ASSERT_NE(best, result.candidates.end());
    EXPECT_LE(best->error, least / 0.95) << "a smaller beta must pay";
    if (level == Level::none) {
      EXPECT_TRUE(std::isinf(best->scale)) << "without a pace all are in";
    }
    const auto given = verify::run<double>(p.problem(), result.options);
    EXPECT_EQ(given.codes, result.codes) << "what was chosen, given";
    const auto resumed = verify::run<double>(p.problem(), o, nullptr, {}, &result);
    EXPECT_EQ(resumed.codes, result.codes) << "a run that is resumed has chosen";
  }
}

// Data with a mean far from 0: the offset is learned with the weights, and comes back in all that is returned.
TEST(Descent, AnOffsetIsLearnedWithTheWeights) {
  const auto clean = synthetic::make<double>(recipe(0));
  auto p = clean;
  Random random(5);
  for (Index u = 0; u < p.X.size(); ++u)
    if (random.uniform() < 0.05) p.X.data()[u] = random.uniform() < 0.5 ? -2 : 2;
  Matrix<double> truth = clean.X;
  const Eigen::VectorXd shift = Eigen::VectorXd::LinSpaced(30, 3, 5.9);
  for (Matrix<double>* x : {&p.X, &truth}) eigen(*x).colwise() += shift;
  for (const Level level : {Level::none, Level::sample, Level::element}) {
    const std::string where = "offset, " + std::string(name_of(level));
    Options o = options(level);
    o.offset = true;
    o.stage_iter = 4;
    const auto result = verify::run_resumed<double>(p.problem(), o, 30, where);
    EXPECT_EQ(result.detail, "") << where;
    verify::check_reports(result, where);
    const Model<double> model = verify::verified_model(result, p.problem(), where);
    if (level != Level::element) continue;
    const auto rebuilt = model.reconstruct(model.codes.view(), model.sample_scale);
    EXPECT_LT((eigen(rebuilt) - eigen(truth)).norm(), 0.02 * eigen(truth).norm());
    EXPECT_LT((eigen(model.mend(p.problem())) - eigen(truth)).norm(), 0.03 * eigen(truth).norm());
    Options without = o;
    without.offset = false;
    const Model<double> alone = fit<double>(p.problem(), without, {});
    const auto worse = alone.reconstruct(alone.codes.view(), alone.sample_scale);
    EXPECT_LT((eigen(rebuilt) - eigen(truth)).norm(), (eigen(worse) - eigen(truth)).norm());
  }
}

TEST(Descent, StopsAtAnyIteration) {
  const auto p = synthetic::make<double>(recipe(0.05));
  for (const int most : {1, 2, 5, 20, 75}) {
    Options o = options();
    o.max_iter = most;
    const auto result = verify::run<double>(p.problem(), o);
    EXPECT_EQ(result.termination, Termination::iteration_limit) << most;
    EXPECT_EQ(result.iteration - result.schedule.before, most);
    EXPECT_TRUE(std::isfinite(result.objective.total())) << most;
  }
}

}  // namespace

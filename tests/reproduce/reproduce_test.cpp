// The study behind `pacewise reproduce`: its data, its cache, its arithmetic.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <thread>

#include "../files/scratch.hpp"
#include "../tolerances.hpp"
#include "algebra/random.hpp"
#include "reproduce/figures.hpp"
#include "reproduce/paper.hpp"
#include "reproduce/targets.hpp"
#include "reproduce/tuning.hpp"
#include "reproduce/workers.hpp"

namespace pacewise::reproduce {
namespace {

constexpr double kRounding = tolerance<double>().recomputed;

/// Random images, some pixels always dark.
Dataset drawn_dataset() {
  Dataset d;
  d.name = "coil20";
  d.fingerprint = "40x64-00000000";
  d.side = 8;
  d.classes = 4;
  d.values = Matrix<double>(64, 40);
  Random random(5);
  for (Index j = 0; j < 40; ++j) {
    d.labels.push_back(static_cast<std::int32_t>(j % 4));
    for (Index i = 0; i < 64; ++i) d.values(i, j) = i % 3 == 0 ? 0 : 255 * random.uniform();
  }
  d.sd = 80;
  return d;
}

TEST(Paper, HoldsEveryNumberOfBothTables) {
  std::set<std::tuple<std::string, double, Method>> seen;
  for (const PaperRow& r : paper_rows()) {
    EXPECT_EQ(r.dataset, r.table == 1 ? "coil20" : "mnist");
    EXPECT_EQ(r.rho, kRhos.at(static_cast<std::size_t>(r.row - 1)));
    EXPECT_NE(r.method, Method::lsc_g);
    for (const double value : {r.acc, r.nmi}) {
      EXPECT_GT(value, 0.48);
      EXPECT_LT(value, 0.91);
    }
    seen.insert({r.dataset, r.rho, r.method});
  }
  EXPECT_EQ(paper_rows().size(), 84U);
  EXPECT_EQ(seen.size(), 84U);  // 2 tables, 6 rho, 7 methods, none twice
}

TEST(Paper, SpotValues) {
  EXPECT_EQ(paper_value("coil20", 0, Method::os, Metric::acc), 0.6120);
  EXPECT_EQ(paper_value("coil20", 1, Method::spsc_f, Metric::nmi), 0.8752);
  EXPECT_EQ(paper_value("coil20", 0.6, Method::spsc_e, Metric::acc), 0.7655);
  EXPECT_EQ(paper_value("coil20", 0.4, Method::csc, Metric::nmi), 0.8820);
  EXPECT_EQ(paper_value("mnist", 0, Method::lsc_h, Metric::acc), 0.6643);
  EXPECT_EQ(paper_value("mnist", 0.8, Method::spsc_s, Metric::acc), 0.6512);
  EXPECT_EQ(paper_value("mnist", 1, Method::spsc_f, Metric::nmi), 0.6511);
  EXPECT_FALSE(paper_value("pie", 0, Method::sc, Metric::acc));
  EXPECT_FALSE(paper_value("coil20", 0, Method::lsc_g, Metric::acc));
  EXPECT_FALSE(paper_value("coil20", 0, Method::sc, Metric::ari));
  EXPECT_FALSE(paper_value("coil20", 0.5, Method::sc, Metric::acc));
}

TEST(Settings, EveryDataSetGraphAndMethodHasOne) {
  const Settings settings = Settings::committed();
  for (const std::string_view dataset : kDatasets)
    for (const Source source : kSources)
      for (const Method method : kMethods) {
        const Setting& s = settings.of(std::string(dataset), source, method).setting;
        EXPECT_EQ(s.beta > 0, method != Method::os);
        EXPECT_EQ(s.alpha > 0, has_graph(method));
        const bool consistent = method == Method::csc || level_of(method) != Level::none;
        EXPECT_EQ(s.gamma > 0 && s.eta > 0, consistent) << name_of(method);
      }
  for (const Method method : kMethods) EXPECT_NO_THROW(settings.of("fashion", Source::half, method));  // for --quick
  EXPECT_NO_THROW(settings.of("fashion", Source::clean, Method::sc));
  EXPECT_THROW(settings.of("fashion", Source::raw, Method::csc), Error);
}

TEST(Study, EveryMethodRunsTheSameNumberOfIterations) {
  const Setting setting{0.02, 16, 1, 10};
  for (const Method method : kMethods) {
    if (method == Method::os) continue;
    const Options o = fit_options(method, Source::half, setting, 1, 1440);
    EXPECT_EQ(o.atoms, 128);
    EXPECT_NO_THROW(validate(o));
    EXPECT_EQ(o.max_iter, 10);
    EXPECT_EQ(o.plain_iter + o.warm_iter + o.pace_iter + o.polish, 10);
    EXPECT_EQ(o.tol, 0);
  }
}

TEST(Noise, HasTheStatedSizeAndIsTheSameForTheSameSeed) {
  const Dataset d = drawn_dataset();
  const Matrix<double> noise = noise_of(d, 0.6, 3);
  double sum = 0, square = 0;
  for (Index u = 0; u < noise.size(); ++u) {
    sum += noise.data()[u];
    square += noise.data()[u] * noise.data()[u];
  }
  const auto n = static_cast<double>(noise.size());
  const double sigma = 0.6 * d.sd;
  EXPECT_LT(std::abs(sum / n), 5 * sigma / std::sqrt(n));                       // five standard errors
  EXPECT_LT(std::abs(square / n / (sigma * sigma) - 1), 5 * std::sqrt(2 / n));  // likewise
  EXPECT_EQ(noise, noise_of(d, 0.6, 3));
  EXPECT_NE(noise, noise_of(d, 0.6, 4));
  EXPECT_NE(noise(0, 0) / 0.6, noise_of(d, 0.8, 3)(0, 0) / 0.8);  // drawn anew
  EXPECT_EQ(noisy(d, 0, 3), d.values);
  EXPECT_EQ(noisy(d, 0.6, 3)(5, 7), d.values(5, 7) + noise(5, 7));
}

TEST(Noise, OcclusionHidesWhatItSays) {
  const Dataset d = drawn_dataset();
  const Occluded o = occlude(d, 1);
  EXPECT_EQ(o.covered.size(), 8U);  // every fifth of 40
  std::set<Index> images;
  for (Index j = 0; j < 40; ++j)
    for (Index i = 0; i < 64; ++i) {
      if (o.hidden[static_cast<std::size_t>(j * 64 + i)] != 0)
        images.insert(j);
      else
        EXPECT_EQ(o.values(i, j), d.values(i, j));
    }
  EXPECT_EQ(images, std::set<Index>(o.covered.begin(), o.covered.end()));
  EXPECT_EQ(std::count(o.hidden.begin(), o.hidden.end(), char{1}), 8 * 2 * 2);  // squares of a third of the side
}

TEST(Cell, WhatDoesNotMatterIsNotPartOfTheKey) {
  const Dataset d = drawn_dataset();
  const Setting s{0.02, 8, 0, 0};
  EXPECT_EQ(cell_of(d, 0, 1, Method::lsc_h, Source::clean, s), cell_of(d, 0, 1, Method::lsc_h, Source::raw, s));
  EXPECT_NE(cell_of(d, 0.2, 1, Method::lsc_h, Source::clean, s), cell_of(d, 0.2, 1, Method::lsc_h, Source::raw, s));
  EXPECT_EQ(cell_of(d, 0.2, 1, Method::sc, Source::clean, s), cell_of(d, 0.2, 1, Method::sc, Source::half, s));
  EXPECT_EQ(cell_of(d, 1, 1, Method::os, Source::raw, s), cell_of(d, 1, 1, Method::os, Source::half, {}));
  Cell longer = cell_of(d, 1, 1, Method::sc, Source::none, s);
  longer.iterations += 1;
  EXPECT_NE(longer, cell_of(d, 1, 1, Method::sc, Source::none, s));
}

CellResult result_with(double acc) {
  CellResult r;
  for (const Protocol p : kProtocols)
    for (const Metric m : kMetrics)
      r.score(p, m) = {acc / (1 + static_cast<double>(m)), 0.1 * acc / (1 + static_cast<double>(p))};
  r.objective = 1.0 / 3;
  r.certificate = 1e-7 / 3;
  r.iterations = 30;
  r.ended = "iteration_limit";
  r.seconds = 1.5;
  r.version = "9.9.9";
  return r;
}

class Cells : public testing::Test {
 protected:
  std::string path() const { return scratch.path("cells.csv"); }
  const test::Scratch scratch;
  const Dataset data = drawn_dataset();
  const Cell one = cell_of(data, 0.2, 1, Method::csc, Source::half, {0.02, 16, 1, 10});
  const Cell two = cell_of(data, 0.2, 2, Method::os, Source::none, {});
};

TEST_F(Cells, ComeBackBitForBit) {
  {
    CellsFile file(path());
    EXPECT_TRUE(file.all().empty());
    file.add(one, result_with(0.7));
    file.add(two, result_with(1.0 / 7));
  }
  const CellsFile again(path());
  ASSERT_EQ(again.all().size(), 2U);
  const CellResult *found = again.find(one), expected = result_with(0.7);
  ASSERT_NE(found, nullptr);
  for (const Protocol p : kProtocols)
    for (const Metric m : kMetrics) {
      EXPECT_EQ(found->score(p, m).mean, expected.score(p, m).mean);
      EXPECT_EQ(found->score(p, m).sd, expected.score(p, m).sd);
    }
  EXPECT_EQ(found->objective, expected.objective);
  EXPECT_EQ(found->certificate, expected.certificate);
  EXPECT_EQ(found->ended, expected.ended);
  EXPECT_EQ(found->version, expected.version);
  EXPECT_EQ(again.find(two)->score(Protocol::paper, Metric::acc).mean, 1.0 / 7);
  Cell other = one;
  other.setting.alpha = 8;
  EXPECT_EQ(again.find(other), nullptr);
}

// Of the betas within one standard deviation (.03) of the best (.6) the largest; of the alphas within one (.04) of the
// best (.8) the smallest; the best gamma and eta; with those 8 neighbours where they are better than 3.
TEST_F(Cells, TuningTakesTheSparsestCodesAndTheSmallestAlphaThatWillDo) {
  CellsFile file(path());
  const auto add = [&](Method method, const Setting& setting, double acc) {
    file.add(cell_of(data, 0, 0, method, Source::half, setting), result_with(acc));
  };
  for (const double beta : {0.005, 0.01, 0.02, 0.04, 0.08})
    add(Method::sc, {beta, 0, 0, 0}, beta == 0.08 ? 0.52 : beta == 0.01 ? 0.6 : 0.58);
  double acc = 0.705;
  for (const double alpha : {0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0}) {
    add(Method::lsc_h, {0.04, alpha, 0, 0}, acc);  // .705, .725, .745, .765 ..
    acc = std::min(acc + 0.02, 0.8);
  }
  add(Method::lsc_h, {0.04, 64, 0, 0}, 0.79);
  for (const double alpha : {4.0, 16.0})
    for (const double gamma : {0.1, 1.0})
      for (const double eta : {10.0, 50.0})
        add(Method::csc, {0.04, alpha, gamma, eta}, alpha == 16 && gamma == 0.1 && eta == 50 ? 0.81 : 0.8);
  for (const bool many_are_better : {false, true}) {
    add(Method::csc, {0.04, 16, 0.1, 50, 8}, many_are_better ? 0.82 : 0.809);
    const std::atomic<bool> cancel = false;
    Runner runner(file, 1, &cancel, {});
    Settings settings;
    const std::vector<TuningRow> rows = tune(data, {Method::csc}, {Source::half}, runner, settings);
    EXPECT_EQ(runner.computed(), 0);
    EXPECT_EQ(rows.size(), 3 * 5U + 8 + 8 + 1);  // SC is judged for every source
    EXPECT_EQ(settings.of("coil20", Source::half, Method::lsc_h).setting, (Setting{0.04, 4, 0, 0}));
    const Setting best{0.04, 16, 0.1, 50, many_are_better ? 8 : 3};
    EXPECT_EQ(settings.of("coil20", Source::half, Method::csc).setting, best);
    for (const TuningRow& row : rows)
      if (row.method == Method::csc) {
        EXPECT_EQ(row.chosen, row.setting == best);
      }
  }
}

TEST_F(Cells, BelongToOneRunAtATime) {
  const CellsFile first(path());
  try {
    const CellsFile second(path());
    FAIL() << "two runs would drop each other's cells";
  } catch (const WriteError& e) {
    EXPECT_NE(std::string(e.what()).find("another run is using this folder"), std::string::npos) << e.what();
  }
}

TEST_F(Cells, DamagedLinesAreRefusedByNumber) {
  {
    CellsFile file(path());
    file.add(one, result_with(0.7));
    file.add(two, result_with(0.6));
  }
  const std::string good = test::content(path());
  const auto refused = [&](const std::string& content, const std::string& words) {
    scratch.file("cells.csv", content);
    try {
      const CellsFile file(path());
      ADD_FAILURE() << "accepted: " << words;
    } catch (const ReadError& e) {
      const std::string what = e.what();
      EXPECT_NE(what.find(path()), std::string::npos) << what;
      EXPECT_NE(what.find(words), std::string::npos) << what;
      EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    }
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string bad = good;
    const std::size_t at = bad.find(from, bad.find('\n'));
    EXPECT_NE(at, std::string::npos) << from;
    return bad.replace(at, from.size(), to);
  };
  refused("", "line 1: another head line");
  refused("a,b\n1,2\n", "line 1: another head line");
  refused(good.substr(0, good.size() - 9), "line 3: it is cut off");
  refused(changed("CSC", "XYZ"), "method = XYZ: must be OS, SC");
  refused(changed("half:40", "half:41"), "graph = half:41");
  refused(changed(",0.7,", ",0.7x,"), "is no number: 0.7x");
  refused(changed(",0.7,", ",nan,"), "a score that is not finite");
  refused(changed(",0.7,", ",0.7,0.7,"), "fields instead of 34");
  refused(good + good.substr(good.find('\n') + 1), "line 4: the same cell twice");
  scratch.file("cells.csv", good);
  EXPECT_EQ(CellsFile(path()).all().size(), 2U);
}

/// Tables over two rho and three seeds, with numbers that are easy to add up.
class Aggregation : public Cells {
 protected:
  Tables tables_of(const std::vector<std::tuple<double, int, Method, double>>& numbers) {
    Plan plan;
    plan.datasets = {"coil20"};
    plan.rhos = {0, 1};
    plan.methods = {kMethods.begin(), kMethods.end()};
    plan.sources = {Source::half};
    plan.seeds = {1, 2, 3};
    CellsFile file(path());
    const Settings settings = Settings::committed();
    for (const auto& [rho, seed, method, acc] : numbers)
      file.add(cell_of(data, rho, seed, method, Source::half, settings.of("coil20", Source::half, method).setting),
               result_with(acc));
    Tables tables(plan);
    tables.add(data, settings, file);
    return tables;
  }
};

TEST_F(Aggregation, MeansAndSpreadsAreThoseByHand) {
  const Tables t = tables_of({{0, 1, Method::csc, 0.6}, {0, 2, Method::csc, 0.7}, {0, 3, Method::csc, 0.9}});
  const Entry* e = t.find("coil20", 0, Method::csc, Protocol::recommended, Source::half, Metric::acc);
  ASSERT_NE(e, nullptr);
  EXPECT_NEAR(e->mean, 2.2 / 3, kRounding);
  EXPECT_NEAR(e->sd, std::sqrt(7.0 / 300), kRounding);  // deviations -.4/3, -.1/3, .5/3: (.16 + .01 + .25) / 9 / 2
  EXPECT_NEAR(e->sd_runs, 2.2 / 3 / 20, kRounding);
  EXPECT_EQ(e->paper, 0.7320);
  EXPECT_NEAR(t.find("coil20", 0, Method::csc, Protocol::paper, Source::half, Metric::nmi)->mean, 2.2 / 9, kRounding);
  EXPECT_EQ(t.find("coil20", 1, Method::csc, Protocol::paper, Source::half, Metric::acc), nullptr);
  EXPECT_FALSE(t.complete("coil20"));
  EXPECT_EQ(t.missing("coil20"), 2 * 3 * 8 - 3);
}

TEST_F(Aggregation, CountsAndOrderAreThoseByHand) {
  // rho 0: the paper's ACC are .7828 (E), .7889 (S), .7863 (F); NMI is a third of ACC here and never reached
  const Tables t = tables_of({{0, 1, Method::spsc_e, 0.78},
                              {0, 1, Method::spsc_s, 0.80},
                              {0, 1, Method::spsc_f, 0.7863},
                              {1, 1, Method::spsc_s, 0.60},
                              {0, 1, Method::csc, 0.70},
                              {1, 1, Method::csc, 0.65},
                              {0, 1, Method::lsc_h, 0.70},
                              {1, 1, Method::lsc_h, 0.65},
                              {0, 1, Method::sc, 0.71},
                              {1, 1, Method::sc, 0.70}});
  const Count count = count_against_paper(t, "coil20", Protocol::recommended, Source::half);
  EXPECT_EQ(count.reached, 2);
  EXPECT_EQ(count.compared, 8);
  const auto order = compare_in_order(t, "coil20", Protocol::recommended, Source::half);
  ASSERT_EQ(order.size(), 3U);
  EXPECT_EQ(order[0].first, Method::spsc_f);  // the highest mean of what there is
  EXPECT_NEAR(order[0].test.mean, 0.0863, kRounding);
  EXPECT_EQ(order[0].test.pairs, 1);
  EXPECT_EQ(order[1].test.mean, 0);
  EXPECT_TRUE(order[1].holds());  // CSC >= LSC-H
  EXPECT_NEAR(order[2].test.mean, -0.03, kRounding);
  EXPECT_FALSE(order[2].holds());  // LSC-H > SC
  const std::vector<std::string> lines = headline(t);
  EXPECT_NE(lines[0].find("2 of 36 (only 8 were computed)"), std::string::npos) << lines[0];
  EXPECT_NE(lines[2].find("does not hold throughout"), std::string::npos) << lines[2];
  EXPECT_NE(lines[2].find("LSC-H > SC: no (-0.0300, p = 0.5000, 2 pairs)"), std::string::npos) << lines[2];
}

TEST(SignFlipTest, IsExactForFewPairs) {
  // Of the 8 patterns of +-1 +-2 +-3, only +++ and --- reach 6.
  EXPECT_EQ(sign_flip_test({1, 2, 3}).p, 2.0 / 8);
  EXPECT_EQ(sign_flip_test({1, 2, 3}).mean, 2);
  // |1 + 2 - 3| = 0: every pattern is as far from 0.
  EXPECT_EQ(sign_flip_test({1, 2, -3}).p, 1);
  // Sums of |3 + 2 - 1| = 4 or more: +++ (6), ++- (4) and their mirror images.
  EXPECT_EQ(sign_flip_test({3, 2, -1}).p, 4.0 / 8);
  EXPECT_EQ(sign_flip_test({0.1, 0.1, 0.1, 0.1, 0.1}).p, 2.0 / 32);
  EXPECT_EQ(sign_flip_test({}).p, 1);
  EXPECT_EQ(sign_flip_test({}).pairs, 0);
}

TEST(SignFlipTest, DrawsForManyPairs) {
  // 17 ones and 3 minus ones: |sum| >= 14 needs at most 3 of one sign, 2 (1 + 20 + 190 + 1140) / 2^20 = .00258.
  std::vector<double> d(20, 1.0);
  for (const std::size_t i : {2U, 9U, 15U}) d[i] = -1;
  const SignFlip many = sign_flip_test(d);
  EXPECT_FALSE(many.exact);
  EXPECT_NEAR(many.p, 2 * 1351.0 / (1 << 20), 4 * std::sqrt(0.00258 / 10'000));  // four standard errors
  EXPECT_EQ(many.p, sign_flip_test(d).p);
}

TEST(NoiseLevels, AreMeansOverTheUnitsOfALevel) {
  Matrix<double> noise(2, 2);
  noise(0, 0) = 1, noise(1, 0) = -3, noise(0, 1) = 0, noise(1, 1) = 8;
  const Vector<double> scale = {1, 4};
  EXPECT_EQ(noise_levels(noise, {}, Level::sample), (std::vector<double>{2, 4}));
  EXPECT_EQ(noise_levels(noise, scale, Level::sample), (std::vector<double>{2, 1}));
  EXPECT_EQ(noise_levels(noise, {}, Level::feature), (std::vector<double>{0.5, 5.5}));
  EXPECT_EQ(noise_levels(noise, scale, Level::element), (std::vector<double>{1, 3, 0, 2}));
}

TEST(Correlation, OfALineIsOneAndOfAConstantNone) {
  EXPECT_NEAR(correlation({1, 2, 3}, {2, 4, 6}), 1, kRounding);
  EXPECT_NEAR(correlation({1, 2, 3}, {3, 2, 1}), -1, kRounding);
  EXPECT_NEAR(correlation({1, 2, 3}, {1, 3, 2}), 0.5, kRounding);
  EXPECT_TRUE(std::isnan(correlation({1, 2, 3}, {1, 1, 1})));
}

TEST(Workers, DoEverythingOnceAndReportOnTheCallingThread) {
  for (const int threads : {1, 3, 8}) {
    std::atomic<bool> cancel{false};
    std::vector<int> done(20, 0), reported(20, 0);
    const auto caller = std::this_thread::get_id();
    run_in_parallel(
        20, threads, &cancel, [&](std::size_t i) { ++done[i]; },
        [&](std::size_t i) {
          ++reported[i];
          EXPECT_EQ(std::this_thread::get_id(), caller);
        },
        [] {});
    EXPECT_EQ(done, std::vector<int>(20, 1));
    EXPECT_EQ(reported, done);
  }
}

TEST(Workers, StopAndFailCleanly) {
  std::atomic<bool> cancel{false};
  std::atomic<int> begun{0};
  std::vector<std::size_t> reported;
  run_in_parallel(
      100, 2, &cancel,
      [&](std::size_t) {
        if (++begun == 5) cancel = true;
      },
      [&](std::size_t i) { reported.push_back(i); }, [] {});
  EXPECT_LE(begun, 6);  // one more may have begun
  EXPECT_LE(reported.size(), 5U);
  cancel = false;
  EXPECT_THROW(
      run_in_parallel(
          10, 2, &cancel, [](std::size_t i) { i == 3 ? throw Error("three") : void(); }, [](std::size_t) {}, [] {}),
      Error);
}

}  // namespace
}  // namespace pacewise::reproduce

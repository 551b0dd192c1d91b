// Limits of the whole fit: what must come out the same, to the bit.
#include "verify.hpp"

namespace {

using namespace verify;

Options short_options(Level level) {
  Options o = small_options(level);
  o.plain_iter = o.warm_iter = 2;
  o.pace_iter = synthetic::small() ? 2 : 4;
  o.polish = synthetic::small() ? 1 : 3;
  o.tol = 0;
  return o;
}

template <class T>
void expect_same_on_any_threads(const synthetic::Recipe& recipe, const std::vector<int>& counts) {
  const auto p = synthetic::make<T>(recipe);
  for (const Level level : kLevels) {
    Options o = small_options(level);
    o.plain_iter = o.warm_iter = o.polish = 1;
    o.pace_iter = 2;
    o.max_iter = 5;
    const auto on = [&](int threads) { return run<T>(p.problem(), o, nullptr, {}, nullptr, threads); };
    const auto one = on(1);
    EXPECT_EQ(one.threads, 1);
    for (const int threads : counts)
      expect_same(on(threads), one, std::string(name_of(level)) + ", threads " + std::to_string(threads));
  }
}

TEST(Limits, AFitHasTheSameBitsForAnyNumberOfThreads) {
  synthetic::Recipe recipe{70, synthetic::small() ? 70 : 150, 8};
  recipe.bad_entries = 0.05;
  expect_same_on_any_threads<double>(recipe, synthetic::small() ? std::vector{3} : std::vector{2, 3, 5});
  expect_same_on_any_threads<float>(recipe, {3});
}

TEST(Limits, SameSeedSameBitsOtherSeedOtherBits) {
  const auto p = synthetic::make<double>({});
  Options o = short_options(Level::element);
  o.seed = 42;
  const auto first = run(p.problem(), o);
  expect_same(run(p.problem(), o), first, "repeated");
  o.seed = 43;
  EXPECT_NE(run(p.problem(), o).dictionary, first.dictionary);
}

TEST(Limits, ANotYetPacedFitIsPlainSparseCoding) {
  const auto p = synthetic::make<double>({});
  Options o = short_options(Level::none);
  o.max_iter = 12;
  const auto expected = run(p.problem(), o);
  o.warm_iter = 1000;
  for (const Level level : {Level::sample, Level::feature, Level::element}) {
    o.level = level;
    const auto got = run(p.problem(), o);
    EXPECT_EQ(got.dictionary, expected.dictionary) << name_of(level);
    EXPECT_EQ(got.codes, expected.codes) << name_of(level);
    EXPECT_TRUE(std::isinf(got.lambda));
  }
}

TEST(Limits, HolesUnitWeightsAndAGraphThatWeighsNothing) {
  synthetic::Recipe recipe;
  if (synthetic::small()) recipe.n = 25;
  const auto p = synthetic::make<double>(recipe);
  const auto holes = synthetic::punch(p.X, 0.15);
  Weights<double> ones;
  ones.sample.assign(recipe.n, 1.0);
  for (const Level level : kLevels) {
    const std::string where(name_of(level));
    const Options o = short_options(level);
    expect_same(run<double>({holes.nan}, o), run<double>({holes.junk, holes.weights}, o), where);
    expect_same(run<double>({p.X}, o), run<double>({p.X, ones}, o), where);
    Options off = o, none = o;
    off.alpha = off.gamma = 0;
    none.graph = GraphKind::none;
    expect_same(run<double>({p.X}, off), run<double>({p.X}, none), where);
  }
}

}  // namespace

// Weights of groups of entries: means and their adjoint, the two ends of the level, and blocks that entries alone hide.
#include "solve/groups.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "evaluate/scores.hpp"
#include "synthetic.hpp"
#include "verify.hpp"

namespace {

using namespace pacewise;

Options group_options() {
  Options o;
  o.atoms = 8;
  o.beta_ratio = 0.02;
  o.level = Level::group;
  o.normalize = Normalize::none;
  o.alpha = o.gamma = 0;
  return o;
}

Groups groups_of(const Options& options, Index m, const Sparse& averaging = {}) {
  return Groups::of(options, m, averaging);
}

TEST(Groups, WeightsAreTheAdjointOfLossesAndAtMostOne) {
  Options labels = group_options(), windows = group_options();
  labels.groups = {5, 2, 5, 2, 2, 9, 5, 9, 9, 9, 9, 2};
  windows.shape = Shape{3, 4};
  windows.window = 5;  // larger than the image
  const Sparse uneven = sparse_from_triplets(12, 12, {{0, 0, 3}, {0, 1, 1}, {4, 1, 2}, {7, 11, 0.5}, {11, 7, 0.25}});
  Random random(3);
  for (const Groups& groups : {groups_of(labels, 12), groups_of(windows, 12), groups_of(group_options(), 12, uneven)}) {
    Vector<double> l(12), v(12), ones(12, 1.0);
    for (double& x : l) x = random.uniform();
    for (double& x : v) x = random.uniform();
    const Vector<double> l0 = l, v0 = v;
    groups.losses(l.data());
    groups.weights(v.data());
    groups.weights(ones.data());
    EXPECT_NEAR(std::inner_product(l.begin(), l.end(), v0.begin(), 0.0),
                std::inner_product(v.begin(), v.end(), l0.begin(), 0.0), 1e-12);
    EXPECT_NEAR(*std::max_element(ones.begin(), ones.end()), 1, 1e-12) << "all trusted: the largest weight is 1";
  }
}

TEST(Groups, WindowsLoseNothingAtTheEdge) {
  Options o = group_options();
  o.shape = Shape{4, 6};
  o.window = 3;
  const Groups groups = groups_of(o, 24);
  Vector<double> l(24, 1.0), v(24, 1.0), one(24, 0.0);
  groups.losses(l.data());
  groups.weights(v.data());
  one[2 * 6 + 2] = 9;  // in the middle: a ninth for each of the 3 x 3 pixels around it
  groups.losses(one.data());
  for (Index i = 0; i < 24; ++i) {
    EXPECT_NEAR(l[i], 1, 1e-12);
    EXPECT_NEAR(v[i], 1, 1e-12);
    EXPECT_NEAR(one[i], std::abs(i / 6 - 2) <= 1 && std::abs(i % 6 - 2) <= 1 ? 1 : 0, 1e-12) << i;
  }
}

TEST(Groups, AreRefusedWithTheReason) {
  using synthetic::expect_error;
  Options o = group_options();
  expect_error([&] { groups_of(o, 6); }, "level = group: must be given its groups");
  o.shape = Shape{2, 4};
  expect_error([&] { groups_of(o, 6); }, "shape = 2x4: must be rows x columns of the 6 features");
  o.shape.reset();
  o.groups = {1, 2};
  expect_error([&] { groups_of(o, 6); }, "groups = 2 labels: must be one for each of the 6 features");
  expect_error([&] { groups_of(o, 6, sparse_from_triplets(2, 2, {{0, 0, 1}})); }, "groups has shape (2, 2)");
  expect_error([&] { groups_of(o, 2, sparse_from_triplets(2, 2, {{0, 0, -1}})); }, "must be finite and >= 0");
}

// A group for each feature is the element level, one group of all features a weight for each sample.
TEST(Groups, SampleAndElementLevelAreItsEnds) {
  Options o = group_options();
  for (int i = 0; i < 30; ++i) o.groups.push_back(i);
  const Groups single = groups_of(o, 30);
  Vector<double> l(30);
  std::iota(l.begin(), l.end(), 1.0);
  Vector<double> mean = l, v = l;
  single.losses(mean.data());
  single.weights(v.data());
  EXPECT_EQ(mean, l);
  EXPECT_EQ(v, l);
  synthetic::Recipe recipe;
  recipe.m = 30;
  recipe.n = 300;
  recipe.bad_samples = 0.1;
  const auto p = synthetic::make<double>(recipe);
  o.groups.assign(30, 1.0);
  o.lambda_scale = 1;
  const auto whole = fit<double>(p.problem(), o, {});
  std::vector<double> doubt;
  for (Index j = 0; j < 300; ++j) {
    doubt.push_back(1 - whole.weights[j * 30]);
    for (Index i = 1; i < 30; ++i) ASSERT_EQ(whole.weights[j * 30 + i], whole.weights[j * 30]) << j;
  }
  EXPECT_GT(auroc(doubt, p.bad_sample), 0.95);
}

/// Images of 8 x 8 of smooth atoms, in a third of which a 4 x 4 square has a grey that is there elsewhere, too
struct Occluded {
  Matrix<double> X, clean;
  std::vector<bool> hidden;
};
Occluded occluded(Index n) {
  Random random(11);
  Matrix<double> B(64, 5);
  for (Index k = 0; k < 5; ++k)
    for (Index y = 0; y < 8; ++y)
      for (Index x = 0; x < 8; ++x)
        B(y * 8 + x, k) = std::exp(-0.08 * (std::pow(static_cast<double>(y) - 1.6 * static_cast<double>(k), 2) +
                                            std::pow(static_cast<double>(x) - 7 + 1.7 * static_cast<double>(k), 2)));
  Occluded out{Matrix<double>(64, n), Matrix<double>(64, n), std::vector<bool>(static_cast<std::size_t>(64 * n))};
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < 64; ++i) out.clean(i, j) = 0.02 * random.normal();
    for (Index k = 0; k < 5; ++k) eigen(out.clean).col(j) += (0.2 + random.uniform()) * eigen(B).col(k);
    eigen(out.X).col(j) = eigen(out.clean).col(j);
    if (j % 3 != 0) continue;
    const Index top = random.below(5), left = random.below(5);
    const double grey = 1.5 * random.uniform();
    for (Index y = top; y < top + 4; ++y)
      for (Index x = left; x < left + 4; ++x) {
        out.X(y * 8 + x, j) = grey;
        out.hidden[static_cast<std::size_t>(j * 64 + y * 8 + x)] = true;
      }
  }
  return out;
}

TEST(Groups, FindBlocksAndAreCertifiedVerifiedAndResumed) {
  const Occluded p = occluded(200);
  Options o = group_options();
  o.atoms = 6;
  o.shape = Shape{8, 8};
  o.window = 3;
  o.lambda_scale = 1;
  const Problem<double> problem{p.X};
  const auto result = verify::run_resumed<double>(problem, o, 40, "groups");
  EXPECT_EQ(result.detail, "");
  verify::check_reports(result, "groups");
  EXPECT_LT(result.certificate.codes, 1e-4);
  const double found = verify::auroc_of_doubt(result.weights, p.hidden);
  EXPECT_GT(found, 0.78);
  Options alone = o;
  alone.level = Level::element;
  EXPECT_GT(found, verify::auroc_of_doubt(fit<double>(problem, alone, {}).weights, p.hidden) + 0.02);
  const Model<double> model = verify::verified_model(result, problem, "groups");
  const std::string path = testing::TempDir() + "groups.pw";
  model.save(path);
  EXPECT_EQ(load(path).weights, model.weights);
  const Vector<double> again = model.encode(problem).weights;
  EXPECT_LT((eigen(again) - eigen(model.weights)).cwiseAbs().mean(), 0.05);
  EXPECT_GT(verify::auroc_of_doubt(model.score(problem).confidence.numbers(), p.hidden), 0.78);
}

}  // namespace

// What a hostile user hands to the public headers: one clear line, or a right answer.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <pacewise/pacewise.hpp>

#include "algebra/random.hpp"

namespace {

using namespace pacewise;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

Matrix<double> drawn(Index m = 6, Index n = 30) {
  Random random(7);
  Matrix<double> X(m, n);
  for (Index i = 0; i < X.size(); ++i) X.data()[i] = 3 + random.normal();
  return X;
}
const Matrix<double> kX = drawn();

Matrix<double> with(Index i, Index j, double value) {
  Matrix<double> X = kX;
  X(i, j) = value;
  return X;
}
Matrix<double> filled(Index m, Index n, double value) { return Matrix<double>(m, n, value); }
Options quick(Options o = {}) {
  o.max_iter = 4;
  return o;
}
Weights<double> sample_weights(Index n, double value) {
  Weights<double> w;
  w.sample = Vector<double>(n, value);
  return w;
}
const Model<double>& model() {
  static const Model<double> fitted = fit(kX, {.atoms = 3});
  return fitted;
}

struct Refused {
  const char* words;
  std::function<void()> call;
};

void expect_refused(const std::vector<Refused>& calls) {
  for (const Refused& c : calls) {
    try {
      c.call();
      ADD_FAILURE() << "not refused: " << c.words;
    } catch (const Error& e) {
      const std::string text = e.what();
      EXPECT_NE(text.find(c.words), std::string::npos) << text << " | " << c.words;
      EXPECT_EQ(text.find('\n'), std::string::npos) << text;
      EXPECT_LT(text.size(), 400U) << text;
    }
  }
}

std::function<void()> run(const Matrix<double>& X, const Options& o = {}, const FitControl& control = {}) {
  return [=] { fit(X, quick(o), control); };
}

TEST(Hostile, Data) {
  expect_refused({
      {"inf at sample 2, feature 1", run(with(1, 2, kInf))},
      {"-inf at sample 0, feature 0", run(with(0, 0, -kInf))},
      {"features; there must be at least 1", run(Matrix<double>())},
      {"samples; there must be at least 1", run(Matrix<double>(3, 0))},
      {"at least one must be observed", run(filled(3, 4, kNaN))},
      {"at least one must be observed", run(filled(3, 4, -9), {.missing = -9})},
      {"null pointer", [] { fit(MatrixView<const double>(nullptr, 3, 4)); }},
      {"stride 2 must be at least", [] { fit(MatrixView<const double>(kX.data(), 6, 4, 2)); }},
      {"must be between 1e-12 and 1e12", run(with(0, 0, 1e200), {.kind = Kind::images, .normalize = Normalize::none})},
      {"say so (missing = -3.4e+38)", run(with(0, 0, -3.4e38), {.kind = Kind::images, .normalize = Normalize::none})},
      {"overflows", run(filled(2, 300, 1.7e308), {.kind = Kind::images})},
      {"weights.sample: length 3", [] { fit(Problem<double>(kX, sample_weights(3, 1)), quick()); }},
      {"weights.sample: -1 at sample 0", [] { fit(Problem<double>(kX, sample_weights(30, -1)), quick()); }},
      {"weights.sample: nan at sample 0", [] { fit(Problem<double>(kX, sample_weights(30, kNaN)), quick()); }},
      {"at least one must be observed", [] { fit(Problem<double>(kX, sample_weights(30, 0)), quick()); }},
  });
}

TEST(Hostile, OptionsAndControl) {
  const Matrix<double> short_points(2, 7), wrong_atoms = filled(5, 3, 1), nan_atoms = filled(6, 3, kNaN);
  const auto path = [](const char* name) { return ::testing::TempDir() + name; };
  expect_refused({
      {"atoms = 0", run(kX, {.atoms = 0})},
      {"atoms = -5", run(kX, {.atoms = -5})},
      {"beta = nan", run(kX, {.beta = kNaN})},
      {"beta = -0.5", run(kX, {.beta = -0.5})},
      {"beta_ratio = 2", run(kX, {.beta_ratio = 2})},
      {"l2 = inf", run(kX, {.l2 = kInf})},
      {"alpha = -1", run(kX, {.alpha = -1})},
      {"gamma = nan", run(kX, {.gamma = kNaN})},
      {"eta = 0", run(kX, {.eta = 0})},
      {"atom_penalty = 2 numbers", run(kX, {.atoms = 3, .atom_penalty = {1, 2}})},
      {"atom_penalty = -1", run(kX, {.atoms = 1, .atom_penalty = {-1}})},
      {"groups = 2 labels", run(kX, {.level = Level::group, .groups = {1, 2}})},
      {"shape", run(kX, {.level = Level::group, .shape = Shape{4, 4}})},
      {"window = 2", run(kX, {.level = Level::group, .shape = Shape{2, 3}, .window = 2})},
      {"mu = 1", run(kX, {.pace = Pace::geometric, .mu = 1})},
      {"select = 0", run(kX, {.pace = Pace::quantile, .select = 0})},
      {"final = 0.2", run(kX, {.pace = Pace::quantile, .final = 0.2})},
      {"hidden = 0.9", run(kX, {.hidden = 0.9})},
      {"lambda_scale = 0", run(kX, {.lambda_scale = 0})},
      {"stage_iter = 0", run(kX, {.stage_iter = 0})},
      {"contamination = 0.7", run(kX, {.contamination = 0.7})},
      {"k = 0", run(kX, {.k = 0})},
      {"graph_space", run(kX, {.graph_space = {Space::Kind::pca, 0}})},
      {"heat_width = -1", run(kX, {.heat_width = -1})},
      {"tol = nan", run(kX, {.tol = kNaN})},
      {"step_tol = 0", run(kX, {.step_tol = 0})},
      {"max_iter = 0", [] { fit(kX, {.max_iter = 0}); }},
      {"power", run(kX, {.regularizer = Polynomial{.power = 0}})},
      {"max_seconds = -1", run(kX, {}, {.max_seconds = -1})},
      {"max_seconds = nan", run(kX, {}, {.max_seconds = kNaN})},
      {"every = 0", run(kX, {}, {.every = 0})},
      {"graph_points has 7 columns", run(kX, {}, {.graph_points = short_points})},
      {"dictionary has 3 atoms of 5", run(kX, {.atoms = 3}, {.dictionary = wrong_atoms})},
      {"dictionary has a value that is not finite", run(kX, {.atoms = 3}, {.dictionary = nan_atoms})},
      {"codes is 3 x 5", run(kX, {.atoms = 5}, {.codes = wrong_atoms})},
      {"No such file", run(kX, {}, {.resume = path("nothing.pw")})},
      {"level", [] { parse<Level>("entry"); }},
      {"graph_space", [] { parse_space("pca:-1"); }},
  });
}

TEST(Hostile, ModelsAndSteps) {
  const Matrix<double> B = filled(6, 2, 0.4), S = filled(2, 30, 0.1), few = filled(2, 3, 1), odd = filled(3, 3, 1);
  Matrix<double> wild = S;
  wild(0, 0) = kInf;
  const Problem<double> X(kX);
  expect_refused({
      {"features", [&] { model().encode(few); }},
      {"inf", [&] { model().encode(with(0, 0, kInf)); }},
      {"tol = 0", [&] { model().encode(kX, {.tol = 0}); }},
      {"folds = 1", [&] { model().score(kX, {.folds = 1}); }},
      {"features", [&] { model().find_wrong_cells(few); }},
      {"features", [&] { model().mend(few); }},
      {"rows of the codes = 2", [&] { model().reconstruct(few); }},
      {"length of sample_scale = 2", [&] { model().reconstruct(filled(3, 4, 1), Vector<double>(2, 1.0)); }},
      {"No such file", [] { load("no such file.pw"); }},
      {"dictionary", [&] { sparse_encode(X, odd, {}); }},
      {"beta = -1", [&] { sparse_encode(X, B, {.penalty = {-1}}); }},
      {"tol", [&] { sparse_encode(X, B, {}, {.tol = -1}); }},
      {"nonzeros = 0", [&] { orthogonal_mp(X, B, 0); }},
      {"tol = -1", [&] { orthogonal_mp(X, B, 1, -1); }},
      {"codes", [&] { update_dictionary(X, few); }},
      {"finite", [&] { update_dictionary(X, wild); }},
      {"eta = 0", [&] { update_consistency(build_graph(kX, {.k = 3}).incidence, S, 0); }},
      {"lambda = 0", [] { pace_weights(Vector<double>(2, 1.0), 0); }},
      {"loss = nan", [] { pace_weights(Vector<double>(2, kNaN), 1); }},
      {"clusters = 0", [] { kmeans(kX, {.clusters = 0}); }},
      {"clusters = 31", [] { kmeans(kX, {.clusters = 31}); }},
      {"finite", [] { kmeans(with(0, 0, kNaN), {.clusters = 2}); }},
      {"length",
       [] {
         clustering_scores({1, 2}, {1});
       }},
      {"", [] { clustering_scores({}, {}); }},
      {"k = 30", [] { build_graph(kX, {.k = 30}); }},
      {"inf", [] { build_graph(with(0, 0, kInf)); }},
  });
}

TEST(Hostile, IsRightAllTheSame) {
  for (const auto& [m, n] : {std::pair<Index, Index>{1, 1}, {1, 40}, {5, 1}, {2, 3}, {40, 2}})
    for (const double value : {0.0, 7.0}) {
      const Model<double> fitted = fit(filled(m, n, value), quick());
      EXPECT_TRUE(std::isfinite(fitted.objective.total())) << m << " x " << n;
      const Matrix<double> mended = fitted.mend(filled(m, n, value));
      for (Index u = 0; u < mended.size(); ++u) EXPECT_NEAR(mended.data()[u], value, 1e-6) << m << " x " << n;
    }
  Matrix<double> X = kX;
  for (Index j = 0; j < X.cols(); ++j) X(2, j) = kNaN;  // a feature and a sample that were never observed
  for (Index i = 0; i < X.rows(); ++i) X(i, 4) = kNaN;
  const Matrix<double> mended = fit(X, quick()).mend(X);
  for (Index u = 0; u < mended.size(); ++u) EXPECT_TRUE(std::isfinite(mended.data()[u]));
}

}  // namespace

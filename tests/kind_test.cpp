#include "model/kind.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "algebra/random.hpp"
#include "pacewise/pacewise.hpp"
#include "tests/synthetic.hpp"

namespace {

using namespace pacewise;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// value(feature, sample) of m features and n samples
template <class Value>
Matrix<double> made(Index m, Index n, const Value& value) {
  Matrix<double> X(m, n);
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i) X(i, j) = value(i, j);
  return X;
}

Kind kind_of(const Matrix<double>& X, const Options& options = {}) {
  return find_kind<double>({X.view(), {}}, options).kind;
}

TEST(Kind, IsFoundFromScaleAndOrderOfTheFeatures) {
  Random random(1);
  const auto draw = [&] { return random.normal(); };
  // blurred spots on 8 x 8 pixels, and the same with a fifth of the pixels struck black or white
  const auto spot = [](Index i, Index j) {
    const auto row = static_cast<double>(i / 8), column = static_cast<double>(i % 8);
    const double y = static_cast<double>(j % 7), x = static_cast<double>(j % 5) + 1;
    return 255 * std::exp(-0.2 * ((row - y) * (row - y) + (column - x) * (column - x)));
  };
  EXPECT_EQ(kind_of(made(64, 90, spot)), Kind::images);
  EXPECT_EQ(kind_of(made(64, 90,
                         [&](Index i, Index j) {
                           return random.below(5) > 0 ? spot(i, j) : 255.0 * static_cast<double>(random.below(2));
                         })),
            Kind::images);
  const auto wave = [](Index i, Index j) { return 2 + std::sin(0.1 * static_cast<double>(i + 3 * j)); };
  EXPECT_EQ(kind_of(made(70, 60, wave)), Kind::spectra);
  const auto columns = [&](Index i, Index) { return std::pow(10.0, static_cast<double>(i % 5)) * (3 + draw()); };
  for (const Index m : {1, 3, 13, 50, 64}) EXPECT_EQ(kind_of(made(m, 60, columns)), Kind::table) << m;
  EXPECT_EQ(kind_of(made(64, 2000, [&](Index, Index) { return draw(); })), Kind::table) << "standardised";
  // what is missing, marked, constant or infinite-sized elsewhere does not decide
  EXPECT_EQ(kind_of(made(64, 90, [&](Index i, Index j) { return random.below(5) > 0 ? spot(i, j) : kNaN; })),
            Kind::images);
  EXPECT_EQ(kind_of(made(64, 90, [&](Index i, Index j) { return random.below(5) > 0 ? spot(i, j) : -1e38; }),
                    {.missing = -1e38}),
            Kind::images);
  EXPECT_EQ(kind_of(made(40, 1, wave)), Kind::table) << "one sample says nothing";
  // and what was asked for
  EXPECT_EQ(kind_of(made(12, 60, columns), {.shape = Shape{3, 4}}), Kind::images);
  EXPECT_EQ(kind_of(made(12, 60, wave), {.positive_codes = true}), Kind::spectra);
  EXPECT_EQ(find_kind<double>({made(12, 60, columns).view(), {}}, {}, true).kind, Kind::images);
}

TEST(Kind, WhatIsGivenStandsAboveItsDefaults) {
  const Options table = preset(Preset::robust, Kind::table), plain = for_kind(Kind::table, {});
  for (const Option& row : option_table()) EXPECT_EQ(row.get(plain), row.get(table)) << row.name;
  EXPECT_EQ(plain.normalize, Normalize::robust);
  EXPECT_EQ(plain.atoms, 16);
  const Options given = for_kind(Kind::table, {.atoms = 5, .regularizer = Polynomial{.power = 3}, .seed = 4});
  EXPECT_EQ(given.atoms, 5);
  EXPECT_EQ(std::get<Polynomial>(given.regularizer).power, 3);
  EXPECT_EQ(given.seed, 4U);
  EXPECT_TRUE(given.offset);
  EXPECT_EQ(for_kind(Kind::table, {}, {"normalize", "offset"}).normalize, Normalize::unit) << "named, at its default";
  EXPECT_FALSE(for_kind(Kind::table, {}, {"normalize", "offset"}).offset);
  EXPECT_EQ(for_kind(Kind::table, {.beta = 0.1}).l2, 0) << "a penalty stands alone";
  EXPECT_EQ(for_kind(Kind::table, {.beta = kAuto}).l2, table.l2);
  for (const Kind kind : {Kind::images, Kind::spectra}) {
    Options same = for_kind(kind, {.atoms = 7});
    EXPECT_EQ(same.kind, kind);
    same.kind = Kind::automatic;
    for (const Option& row : option_table()) EXPECT_EQ(row.get(same), row.get(Options{.atoms = 7})) << row.name;
  }
}

TEST(Kind, IsSaidFirstAndKept) {
  Random random(2);
  const Matrix<double> X = made(4, 50, [&](Index i, Index) { return static_cast<double>(i * 100) + random.normal(); });
  const Model<double> model = fit(X, {.max_iter = 3});
  EXPECT_EQ(model.options.kind, Kind::table);
  EXPECT_EQ(model.dictionary.cols(), 16);
  ASSERT_FALSE(model.notes.empty());
  EXPECT_EQ(
      model.notes[0],
      "The data are taken as a table (fewer than 32 features): columns centred and scaled robustly, an offset for "
      "each, 16 atoms, l2 = 0.3.");
  const Model<double> asked = fit(X, {.kind = Kind::images, .atoms = 8, .max_iter = 3});
  EXPECT_EQ(asked.notes[0], "The data are taken as images (as asked): samples to unit norm, 8 atoms.");
  Options paper = preset(Preset::paper);
  paper.max_iter = 1;
  EXPECT_EQ(fit(X, paper).options.normalize, Normalize::unit);
}

TEST(Kind, WrongCellsAreFoundWithWhatIsExpected) {
  Random random(3);
  Matrix<double> X(6, 200);
  for (Index j = 0; j < 200; ++j) {
    const double common = random.normal();
    for (Index i = 0; i < 6; ++i)
      X(i, j) = std::pow(10.0, static_cast<double>(i)) * (5 + common + 0.1 * random.normal());
  }
  const Matrix<double> clean = X;
  for (const Index j : {3, 77, 150}) X(j % 6, j) *= 9;
  const Model<double> model = fit(X);
  const std::vector<WrongCell> cells = model.find_wrong_cells(X);
  ASSERT_GE(cells.size(), 3U);
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const WrongCell& c = cells[k];
    EXPECT_EQ(c.given, X(c.feature, c.sample));
    EXPECT_LT(c.confidence, 0.5);
    EXPECT_GE(c.confidence, k > 0 ? cells[k - 1].confidence : 0);
    if (k >= 3) continue;  // the planted ones come first, whatever the units of their features
    EXPECT_NE(c.given, clean(c.feature, c.sample));
    EXPECT_NEAR(c.expected / clean(c.feature, c.sample), 1, 0.1);
  }
}

}  // namespace

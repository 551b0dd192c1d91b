#include "data/problem.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "synthetic.hpp"

namespace {

using namespace pacewise;

constexpr Normalize kNormalizations[] = {Normalize::none, Normalize::unit, Normalize::standard};

template <class T>
class ProblemTest : public testing::Test {
 public:
  static constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  static constexpr T inf = std::numeric_limits<T>::infinity();
  static constexpr T largest = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::min();
  static constexpr double tolerance = std::is_same_v<T, double> ? 1e-14 : 1e-6;

  static Matrix<T> values(Index m = 5, Index n = 8, std::uint64_t seed = 1) {
    Matrix<T> x = synthetic::gaussian<T>(m, n, seed);
    eigen(x).array() = 3 + 2 * eigen(x).array();
    return x;
  }

  static void expect_message(const Problem<T>& p, const std::string& text) {
    EXPECT_EQ(synthetic::error_of([&] { validate(p); }), text);
    EXPECT_EQ(synthetic::error_of([&] { prepare(p, Normalize::none); }), text);
  }

  static void expect_same(const Data<T>& a, const Data<T>& b) {
    EXPECT_EQ(a.values, b.values);
    EXPECT_EQ(a.weights.entry, b.weights.entry);
    EXPECT_EQ(a.normalization.shift, b.normalization.shift);
    EXPECT_EQ(a.normalization.scale, b.normalization.scale);
    EXPECT_EQ(a.sample_scale, b.sample_scale);
    EXPECT_EQ(a.missing, b.missing);
    EXPECT_EQ(a.notes, b.notes);
  }
};
TYPED_TEST_SUITE(ProblemTest, synthetic::Precisions);

TYPED_TEST(ProblemTest, RefusesBadSizesAndInfiniteValues) {
  using T = TypeParam;
  const T number = 1;
  const auto refuses = [&](MatrixView<const T> values, const std::string& text) {
    this->expect_message({values, {}}, text);
  };
  refuses({}, "values: 0 features; there must be at least 1");
  refuses({&number, 1, 0}, "values: 0 samples; there must be at least 1");
  refuses({nullptr, 1, 1}, "values: null pointer; it must point to the numbers");
  refuses({&number, 3, 1, 2}, "values: stride 2 must be at least the number of features, 3");
  refuses({&number, 1, 1}, "accepted");
  Matrix<T> x = this->values();
  x(0, 2) = this->nan;
  refuses(x, "accepted");
  x(3, 6) = this->inf;
  refuses(x, "values: inf at sample 6, feature 3; must be finite, or NaN where the entry is missing");
  x(0, 2) = -this->inf;
  refuses(x, "values: -inf at sample 2, feature 0; must be finite, or NaN where the entry is missing");
}

TYPED_TEST(ProblemTest, NamesTheFirstBadPlaceOnAnyNumberOfThreads) {
  using T = TypeParam;
  const Index m = 3, n = 1000;
  Matrix<T> x = this->values(m, n), steep = x, infinite = x;
  Weights<T> w, product;
  w.entry = product.entry = Matrix<T>(m, n, T(1));
  product.sample.assign(n, T(2));
  for (const Index j : {901, 300, 777, 303}) {
    w.entry(1, j) = -1;
    product.entry(2, j) = steep(0, j) = this->largest;
    infinite(2, j) = this->inf;
  }
  const Normalization<T> given{Normalize::standard, Vector<T>(m, T(0)), Vector<T>(m, T(0.01))};
  for (const int threads : {1, 2, 5}) {
    const auto expect = [&](const Problem<T>& p, const Normalization<T>* by, const std::string& place) {
      synthetic::expect_error([&] { prepare(p, Normalize::none, by, {.threads = threads}); }, place);
    };
    expect({infinite}, nullptr, "sample 300, feature 2");
    expect({x, w}, nullptr, "sample 300, feature 1");
    expect({x, product}, nullptr, "sample 300, feature 2");
    expect({steep}, &given, "sample 300, feature 0");
  }
}

TYPED_TEST(ProblemTest, IsTheSameOnAnyNumberOfThreads) {
  using T = TypeParam;
  const Index m = 70, n = 300;
  Matrix<T> x = this->values(m, n);
  for (Index j = 0; j < n; ++j) x(j % m, j) = x(5, j) = this->nan;  // nobody has feature 5
  eigen(x).col(130).setConstant(this->nan);
  Weights<T> w;
  w.sample.assign(n, T(0.5));
  w.sample[200] = 0;
  for (const auto& weights : {Weights<T>{}, w})
    for (const Normalize kind : kNormalizations) {
      const auto on = [&](int threads) { return prepare<T>({x, weights}, kind, nullptr, {.threads = threads}); };
      const Data<T> one = on(1);
      EXPECT_EQ(one.notes.size(), 3U) << "missing entries, an empty sample, an empty feature";
      EXPECT_TRUE(Samples<T>(one).missing(5, 7) && !Samples<T>(one).missing(4, 7));
      for (const int threads : {2, 5}) this->expect_same(one, on(threads));
    }
}

TYPED_TEST(ProblemTest, RefusesBadWeights) {
  using T = TypeParam;
  const Matrix<T> x = this->values();
  const auto refuses = [&](const Weights<T>& w, const std::string& text) { this->expect_message({x, w}, text); };
  const auto ones = [](Index n) { return Vector<T>(n, T(1)); };
  refuses({ones(5), {}, {}}, "weights.sample: length 5 must equal the number of samples, 8");
  refuses({{}, ones(8), {}}, "weights.feature: length 8 must equal the number of features, 5");
  refuses({{}, {}, Matrix<T>(8, 5, T(1))},
          "weights.entry: 8 features x 5 samples must equal the shape of the values, 5 x 8");
  for (const auto& [value, name] : {std::pair{T(-0.5), "-0.5"}, {this->inf, "inf"}, {this->nan, "nan"}}) {
    Weights<T> all{ones(8), ones(5), Matrix<T>(5, 8, T(1))};
    all.sample[4] = all.feature[2] = all.entry(1, 7) = value;
    const std::string rule = "; must be finite and at least 0";
    refuses({all.sample, {}, {}}, "weights.sample: " + std::string(name) + " at sample 4" + rule);
    refuses({{}, all.feature, {}}, "weights.feature: " + std::string(name) + " at feature 2" + rule);
    refuses({{}, {}, all.entry}, "weights.entry: " + std::string(name) + " at sample 7, feature 1" + rule);
  }
}

TYPED_TEST(ProblemTest, AProductOfWeightsMayUnderflowButNotOverflow) {
  using T = TypeParam;
  const Matrix<T> x = this->values();
  Weights<T> w{Vector<T>(8, T(1)), Vector<T>(5, T(1)), {}};
  w.sample[1] = w.feature[3] = this->largest;
  this->expect_message({x, w},
                       "weights: product sample * feature * entry overflows at sample 1, feature 3; must be finite");
  w.sample[1] = w.feature[3] = this->least;
  const Data<T> data = prepare<T>({x, w}, Normalize::none);
  EXPECT_EQ(data.missing, 1);
  EXPECT_EQ(data.values(3, 1), T(0));
}

TYPED_TEST(ProblemTest, RefusesDataWithNothingObserved) {
  using T = TypeParam;
  const std::string rule = "values: every entry is NaN or has weight 0; at least one must be observed";
  this->expect_message({Matrix<T>(2, 3, this->nan)}, rule);
  Matrix<T> x = this->values(2, 2);
  this->expect_message({x, {Vector<T>(2, T(0)), {}, {}}}, rule);
  // sample 0 has weight, but only where feature 0 is NaN and feature 1 weighs nothing
  x(0, 0) = this->nan;
  this->expect_message({x, {{1, 0}, {1, 0}, {}}}, rule);
  this->expect_message({x, {{1, 0}, {1, T(1e-6)}, {}}}, "accepted");
}

TYPED_TEST(ProblemTest, UnitNormIsThatOfTheObservedEntries) {
  using T = TypeParam;
  Matrix<T> x = this->values();
  eigen(x).col(3).setZero();
  x(2, 5) = this->nan;
  const Data<T> data = prepare<T>({x}, Normalize::unit);
  for (Index j = 0; j < 8; ++j) {
    Eigen::VectorXd column = eigen(x).col(j).template cast<double>();
    if (j == 5) column(2) = 0;
    const double norm = j == 3 ? 1 : column.norm();
    EXPECT_NEAR(data.sample_scale[j], norm, norm * this->tolerance);
    EXPECT_LE((eigen(data.values).col(j).template cast<double>() - column / norm).norm(), 5 * this->tolerance);
  }
  EXPECT_EQ(data.normalization.kind, Normalize::unit);
  EXPECT_TRUE(data.normalization.shift.empty());
}

TYPED_TEST(ProblemTest, UnitNormOfHugeAndTinySamples) {
  using T = TypeParam;
  for (const T size : {this->largest / 8, this->least * 8}) {
    Matrix<T> x(2, 2, T(1));
    x(0, 0) = 3 * size;
    x(1, 0) = -4 * size;
    const Data<T> data = prepare<T>({x}, Normalize::unit);
    EXPECT_NEAR(data.values(0, 0), 0.6, this->tolerance);
    EXPECT_NEAR(data.values(1, 0), -0.8, this->tolerance);
  }
  EXPECT_THROW(prepare<T>({Matrix<T>(2, 2, this->largest)}, Normalize::unit), Error);
  const Normalization<T> steep{Normalize::standard, {0, 0}, {this->least, 1}};
  EXPECT_THROW(prepare<T>({Matrix<T>(2, 1, T(100))}, Normalize::none, &steep), Error);
}

TYPED_TEST(ProblemTest, StandardAgainstNaiveMoments) {
  using T = TypeParam;
  Matrix<T> x = this->values(5, 40);
  x(1, 7) = this->nan;
  Weights<T> w;
  w.entry = Matrix<T>(5, 40, T(1));
  for (Index j = 0; j < 40; ++j) w.entry(3, j) = static_cast<T>(j % 3);  // 0, 1, 2: only the 0 counts
  const Data<T> data = prepare<T>({x, w}, Normalize::standard);
  for (Index i = 0; i < 5; ++i) {
    std::vector<double> row;
    const auto seen = [&](Index j) { return w.entry(i, j) > 0 && !std::isnan(x(i, j)); };
    for (Index j = 0; j < 40; ++j)
      if (seen(j)) row.push_back(static_cast<double>(x(i, j)));
    const Eigen::Map<const Eigen::ArrayXd> observed(row.data(), std::ssize(row));
    const double mean = observed.mean(), sd = std::sqrt((observed - mean).square().mean());
    EXPECT_NEAR(data.normalization.shift[i], mean, 10 * this->tolerance);
    EXPECT_NEAR(data.normalization.scale[i], sd, 10 * this->tolerance);
    for (Index j = 0; j < 40; ++j)
      EXPECT_NEAR(data.values(i, j), seen(j) ? (static_cast<double>(x(i, j)) - mean) / sd : 0, 50 * this->tolerance);
  }
  EXPECT_TRUE(data.sample_scale.empty());
}

TYPED_TEST(ProblemTest, StandardLeavesConstantFeaturesUnscaled) {
  using T = TypeParam;
  Matrix<T> x = this->values(3, 7);
  eigen(x).row(1).setConstant(T(0.1));  // 0.1 is not exact: a naive mean differs from it
  const Data<T> data = prepare<T>({x}, Normalize::standard);
  EXPECT_EQ(data.normalization.shift[1], T(0.1));
  EXPECT_EQ(data.normalization.scale[1], T(1));
  EXPECT_TRUE((eigen(data.values).row(1).array() == 0).all());
  EXPECT_EQ(data.notes, std::vector<std::string>{"1 feature is constant and only shifted to 0 (feature 1)."});
  eigen(x).row(2).setConstant(T(5));
  EXPECT_EQ(prepare<T>({x}, Normalize::standard).notes[0],
            "2 features are constant and only shifted to 0 (the first is feature 1).");
  EXPECT_TRUE(prepare<T>({x}, Normalize::unit).notes.empty());
}

TYPED_TEST(ProblemTest, NanIsWeightZeroToTheBit) {
  using T = TypeParam;
  Matrix<T> gappy = this->values(), garbage = gappy;
  Weights<T> w;
  w.entry = Matrix<T>(5, 8, T(1));
  for (Index l = 0; l < 12; ++l) {
    const Index i = (3 * l) % 5, j = (5 * l) % 8;
    gappy(i, j) = this->nan;
    garbage(i, j) = T(1e6);
    w.entry(i, j) = 0;
  }
  for (const Normalize kind : kNormalizations) {
    const Data<T> a = prepare<T>({gappy}, kind);
    this->expect_same(a, prepare<T>({garbage, w}, kind));
    this->expect_same(a, prepare<T>({gappy, w}, kind));
    EXPECT_EQ(a.missing, 12);
    EXPECT_EQ(a.weights.entry, w.entry);
  }
}

TYPED_TEST(ProblemTest, SampleAndFeatureWeightZeroIsNotObserved) {
  using T = TypeParam;
  Matrix<T> x = this->values(), gappy = x;
  Weights<T> w{Vector<T>(8, T(2)), Vector<T>(5, T(3)), {}};
  w.sample[3] = w.feature[1] = 0;
  eigen(x).col(3).setConstant(this->nan);  // missing already: no entry weights are needed for it
  eigen(gappy).col(3).setConstant(this->nan);
  eigen(gappy).row(1).setConstant(this->nan);
  for (const Normalize kind : kNormalizations) {
    const Data<T> data = prepare<T>({x, w}, kind), same = prepare<T>({gappy}, kind);
    EXPECT_TRUE(data.weights.entry.empty());
    EXPECT_EQ(data.missing, 5 + 8 - 1);
    EXPECT_EQ(data.values, same.values);
    EXPECT_EQ(data.normalization.shift, same.normalization.shift);
    EXPECT_EQ(data.normalization.scale, same.normalization.scale);
    const Samples<T> samples(data);
    ASSERT_EQ(samples.values.data, data.values.data()) << "a view, no copy";
    for (Index j = 0; j < 8; ++j)
      for (Index i = 0; i < 5; ++i) {
        EXPECT_EQ(data.weights(i, j), same.weights(i, j) * 6);
        EXPECT_EQ(samples.missing(i, j), std::isnan(gappy(i, j)));
        EXPECT_TRUE(!samples.missing(i, j) || samples.values(i, j) == 0);
      }
  }
}

TYPED_TEST(ProblemTest, NothingIsAddedWhereNothingIsMissingWhateverTheWeights) {
  using T = TypeParam;
  const Matrix<T> whole = this->values(8, 12);
  const MatrixView<const T> part = whole.view().block(2, 3, 5, 8);  // columns that do not follow one another
  const Weights<T> w{{1, 2, 3, 4, 5, 6, 7, 8}, Vector<T>(5, T(0.25)), {}};
  for (const Normalize kind : kNormalizations) {
    const Data<T> plain = prepare<T>({part}, kind), weighted = prepare<T>({part, w}, kind);
    EXPECT_TRUE(kind != Normalize::none || plain.values == Matrix<T>(part));
    EXPECT_EQ(Samples<T>(plain).weights, nullptr);
    EXPECT_TRUE(plain.notes.empty());
    this->expect_same(plain, weighted);
    EXPECT_EQ(weighted.weights.sample, w.sample);
    EXPECT_EQ(weighted.weights.feature, w.feature);
  }
}

TYPED_TEST(ProblemTest, NotesSayWhatIsMissing) {
  using T = TypeParam;
  Matrix<T> x = this->values(10, 100);
  for (Index l = 0; l < 123; ++l) x(l % 6, 1 + l / 6) = this->nan;
  EXPECT_EQ(prepare<T>({x}, Normalize::none).notes,
            std::vector<std::string>{"12.3% of entries are missing (123 of 1000: NaN or weight 0) and do not count."});
  eigen(x).col(42).setConstant(this->nan);
  for (const Index i : {7, 9}) eigen(x).row(i).setConstant(this->nan);
  const Data<T> data = prepare<T>({x}, Normalize::standard);
  ASSERT_EQ(data.notes.size(), 3U);
  EXPECT_EQ(data.notes[1], "1 sample has no observed entry (sample 42).");
  EXPECT_EQ(data.notes[2], "2 features have no observed entry (the first is feature 7).");
  EXPECT_EQ(data.normalization.shift[7], T(0));
  EXPECT_EQ(data.normalization.scale[7], T(1));
}

TYPED_TEST(ProblemTest, GivenNormalizationIsAppliedToNewSamples) {
  using T = TypeParam;
  const Matrix<T> x = this->values(5, 30);
  const Data<T> train = prepare<T>({x}, Normalize::standard);
  // the training samples themselves come out the same, one at a time, whatever `kind` says
  for (Index j = 0; j < 30; ++j) {
    const Data<T> again = prepare<T>({x.view().columns(j, 1)}, Normalize::none, &train.normalization);
    EXPECT_EQ(again.values, Matrix<T>(train.values.view().columns(j, 1)));
    EXPECT_EQ(again.normalization.kind, Normalize::standard);
    EXPECT_TRUE(again.notes.empty());  // constant over one sample, but that is not the training data
  }
  Matrix<T> gappy = x;
  gappy(2, 1) = this->nan;
  const Data<T> data = prepare<T>({gappy}, Normalize::unit, &train.normalization);
  Matrix<T> expected = train.values;
  expected(2, 1) = 0;
  EXPECT_EQ(data.values, expected);
  EXPECT_EQ(data.weights(2, 1), T(0));
  EXPECT_EQ(data.missing, 1);
  const Normalization<T> unit{Normalize::unit, {}, {}};
  this->expect_same(prepare<T>({x}, Normalize::none, &unit), prepare<T>({x}, Normalize::unit));
}

}  // namespace

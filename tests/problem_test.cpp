#include "data/problem.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "synthetic.hpp"

namespace {

using namespace pacewise;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

template <class T>
class ProblemTest : public testing::Test {
 public:
  static constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  static constexpr T inf = std::numeric_limits<T>::infinity();
  static constexpr double tolerance = std::is_same_v<T, double> ? 1e-14 : 1e-6;

  static Matrix<T> values(Index m = 5, Index n = 8, std::uint64_t seed = 1) {
    Random random(seed);
    Matrix<T> x(m, n);
    for (Index j = 0; j < n; ++j)
      for (Index i = 0; i < m; ++i) x(i, j) = static_cast<T>(3 + 2 * random.normal());
    return x;
  }

  static Problem<T> problem(const Matrix<T>& x, Weights<T> weights = {}) { return {x.view(), std::move(weights)}; }

  static std::string message(const Problem<T>& p) {
    const std::string text = synthetic::error_of([&] { validate(p); });
    EXPECT_EQ(synthetic::error_of([&] { prepare(p, Normalize::none); }), text);
    return text;
  }
};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(ProblemTest, Precisions);

TYPED_TEST(ProblemTest, RejectsBadSizes) {
  using T = TypeParam;
  T number = 1;
  Problem<T> p;
  EXPECT_EQ(this->message(p), "values: 0 features; there must be at least 1");
  p.values = {&number, 1, 0};
  EXPECT_EQ(this->message(p), "values: 0 samples; there must be at least 1");
  p.values = {nullptr, 1, 1};
  EXPECT_EQ(this->message(p), "values: null pointer; it must point to the numbers");
  p.values = {&number, 3, 1, 2};
  EXPECT_EQ(this->message(p), "values: stride 2 must be at least the number of features, 3");
  p.values = {&number, 1, 1};
  EXPECT_EQ(this->message(p), "accepted");
}

TYPED_TEST(ProblemTest, RejectsInfiniteValuesByPlace) {
  Matrix<TypeParam> x = this->values();
  x(3, 6) = this->inf;
  EXPECT_EQ(this->message(this->problem(x)),
            "values: inf at sample 6, feature 3; must be finite, or NaN where the entry is missing");
  x(3, 6) = 1;
  x(0, 2) = -this->inf;
  EXPECT_EQ(this->message(this->problem(x)),
            "values: -inf at sample 2, feature 0; must be finite, or NaN where the entry is missing");
  x(0, 2) = this->nan;
  EXPECT_EQ(this->message(this->problem(x)), "accepted");
}

TYPED_TEST(ProblemTest, NamesTheFirstBadPlaceOnAnyNumberOfThreads) {
  using T = TypeParam;
  const Index m = 3, n = 1000;
  Matrix<T> x = this->values(m, n), steep = x;
  Weights<T> w, product;
  w.entry = Matrix<T>(m, n, T(1));
  product.entry = w.entry;
  product.sample.assign(at(n), T(2));
  for (const Index j : {901, 300, 777, 303}) {
    w.entry(1, j) = -1;
    product.entry(2, j) = std::numeric_limits<T>::max();
    steep(0, j) = std::numeric_limits<T>::max();
  }
  const Normalization<T> given{Normalize::standard, Vector<T>(at(m), T(0)), Vector<T>(at(m), T(0.01))};
  Matrix<T> infinite = x;
  for (const Index j : {999, 64, 700}) infinite(2, j) = this->inf;
  for (const int threads : {1, 2, 5}) {
    Control control;
    control.threads = threads;
    const auto text = [&](const Problem<T>& p, const Normalization<T>* by) {
      try {
        prepare(p, Normalize::none, by, control);
      } catch (const Error& error) {
        return std::string(error.what());
      }
      return std::string("accepted");
    };
    EXPECT_NE(text(this->problem(infinite), nullptr).find("sample 64, feature 2"), std::string::npos);
    EXPECT_NE(text(this->problem(x, w), nullptr).find("sample 300, feature 1"), std::string::npos);
    EXPECT_NE(text(this->problem(x, product), nullptr).find("sample 300, feature 2"), std::string::npos);
    EXPECT_NE(text(this->problem(steep), &given).find("sample 300, feature 0"), std::string::npos);
  }
}

TYPED_TEST(ProblemTest, IsTheSameOnAnyNumberOfThreads) {
  using T = TypeParam;
  const Index m = 70, n = 300;
  Matrix<T> x = this->values(m, n);
  for (Index j = 0; j < n; ++j) x(j % m, j) = this->nan;
  for (Index j = 0; j < n; ++j) x(5, j) = this->nan;  // a feature nobody has
  for (Index i = 0; i < m; ++i) x(i, 130) = this->nan;
  Weights<T> w;
  w.sample.assign(at(n), T(0.5));
  w.sample[200] = 0;
  for (const auto& weights : {Weights<T>{}, w})
    for (const Normalize kind : {Normalize::none, Normalize::unit, Normalize::standard}) {
      const auto on = [&](int threads) {
        Control control;
        control.threads = threads;
        Data<T> data = prepare<T>(this->problem(x, weights), kind, nullptr, control);
        EXPECT_TRUE(Samples<T>(data).missing(5, 7) && !Samples<T>(data).missing(4, 7));
        return data;
      };
      const Data<T> one = on(1);
      EXPECT_EQ(one.notes.size(), 3U) << "missing entries, an empty sample, an empty feature";
      for (const int threads : {2, 5}) {
        const Data<T> several = on(threads);
        EXPECT_EQ(one.values, several.values);
        EXPECT_EQ(one.weights.entry, several.weights.entry);
        EXPECT_EQ(one.sample_scale, several.sample_scale);
        EXPECT_EQ(one.normalization.shift, several.normalization.shift);
        EXPECT_EQ(one.normalization.scale, several.normalization.scale);
        EXPECT_EQ(one.missing, several.missing);
        EXPECT_EQ(one.notes, several.notes);
      }
    }
}

TYPED_TEST(ProblemTest, RejectsWeightsOfTheWrongShape) {
  using T = TypeParam;
  const Matrix<T> x = this->values();
  Weights<T> w;
  w.sample.assign(5, 1);
  EXPECT_EQ(this->message(this->problem(x, w)), "weights.sample: length 5 must equal the number of samples, 8");
  w = {};
  w.feature.assign(8, 1);
  EXPECT_EQ(this->message(this->problem(x, w)), "weights.feature: length 8 must equal the number of features, 5");
  w = {};
  w.entry = Matrix<T>(8, 5, T(1));
  EXPECT_EQ(this->message(this->problem(x, w)),
            "weights.entry: 8 features x 5 samples must equal the shape of the values, 5 x 8");
}

TYPED_TEST(ProblemTest, RejectsBadWeightsByPlace) {
  using T = TypeParam;
  const Matrix<T> x = this->values();
  const std::pair<T, std::string> bad[] = {{T(-0.5), "-0.5"}, {this->inf, "inf"}, {this->nan, "nan"}};
  for (const auto& [value, name] : bad) {
    Weights<T> w;
    w.sample.assign(8, 1);
    w.sample[4] = value;
    EXPECT_EQ(this->message(this->problem(x, w)),
              "weights.sample: " + name + " at sample 4; must be finite and at least 0");
    w = {};
    w.feature.assign(5, 1);
    w.feature[2] = value;
    EXPECT_EQ(this->message(this->problem(x, w)),
              "weights.feature: " + name + " at feature 2; must be finite and at least 0");
    w = {};
    w.entry = Matrix<T>(5, 8, T(1));
    w.entry(1, 7) = value;
    EXPECT_EQ(this->message(this->problem(x, w)),
              "weights.entry: " + name + " at sample 7, feature 1; must be finite and at least 0");
  }
}

TYPED_TEST(ProblemTest, RejectsAnOverflowingProductOfWeights) {
  using T = TypeParam;
  const Matrix<T> x = this->values();
  Weights<T> w;
  w.sample.assign(8, 1);
  w.feature.assign(5, 1);
  w.sample[1] = w.feature[3] = std::numeric_limits<T>::max();
  EXPECT_EQ(this->message(this->problem(x, w)),
            "weights: product sample * feature * entry overflows at sample 1, feature 3; must be finite");
}

TYPED_TEST(ProblemTest, AProductOfWeightsThatUnderflowsIsMissing) {
  using T = TypeParam;
  const Matrix<T> x = this->values();
  Weights<T> w;
  w.sample.assign(8, 1);
  w.feature.assign(5, 1);
  w.sample[1] = w.feature[3] = std::numeric_limits<T>::min();
  const Data<T> data = prepare(this->problem(x, w), Normalize::none);
  EXPECT_EQ(data.missing, 1);
  EXPECT_EQ(data.values(3, 1), T(0));
}

TYPED_TEST(ProblemTest, RejectsDataWithNothingObserved) {
  using T = TypeParam;
  const std::string rule = "values: every entry is NaN or has weight 0; at least one must be observed";
  EXPECT_EQ(this->message(this->problem(Matrix<T>(2, 3, this->nan))), rule);
  const Matrix<T> x = this->values(2, 2);
  Weights<T> w;
  w.sample.assign(2, 0);
  EXPECT_EQ(this->message(this->problem(x, w)), rule);
  // sample 0 has weight, but only where feature 0 is NaN and feature 1 weighs nothing
  Matrix<T> y = x;
  y(0, 0) = this->nan;
  w.sample = {1, 0};
  w.feature = {1, 0};
  EXPECT_EQ(this->message(this->problem(y, w)), rule);
  w.feature = {1, T(1e-6)};
  EXPECT_EQ(this->message(this->problem(y, w)), "accepted");
}

TYPED_TEST(ProblemTest, NothingIsAddedWhereNothingIsMissing) {
  using T = TypeParam;
  const Matrix<T> x = this->values();
  const Data<T> data = prepare(this->problem(x), Normalize::none);
  EXPECT_EQ(data.values, x);
  EXPECT_TRUE(data.weights.entry.empty());
  EXPECT_TRUE(data.weights.sample.empty());
  EXPECT_TRUE(data.weights.feature.empty());
  EXPECT_TRUE(data.sample_scale.empty());
  EXPECT_EQ(data.missing, 0);
  EXPECT_TRUE(data.notes.empty());
  EXPECT_EQ(Samples<T>(data).weights, nullptr);
}

TYPED_TEST(ProblemTest, StridedValuesAreReadThroughTheView) {
  using T = TypeParam;
  const Matrix<T> x = this->values();
  Problem<T> p;
  p.values = x.view().block(1, 2, 3, 4);
  const Data<T> data = prepare(p, Normalize::none);
  ASSERT_EQ(data.values.rows(), 3);
  ASSERT_EQ(data.values.cols(), 4);
  for (Index j = 0; j < 4; ++j)
    for (Index i = 0; i < 3; ++i) EXPECT_EQ(data.values(i, j), x(i + 1, j + 2));
}

TYPED_TEST(ProblemTest, UnitNormAgainstANaiveSum) {
  using T = TypeParam;
  Matrix<T> x = this->values();
  for (Index i = 0; i < 5; ++i) x(i, 3) = 0;
  x(2, 5) = this->nan;
  const Data<T> data = prepare(this->problem(x), Normalize::unit);
  for (Index j = 0; j < 8; ++j) {
    double sum = 0;
    for (Index i = 0; i < 5; ++i)
      if (!std::isnan(x(i, j))) sum += static_cast<double>(x(i, j)) * static_cast<double>(x(i, j));
    const double norm = j == 3 ? 1 : std::sqrt(sum);
    EXPECT_NEAR(data.sample_scale[at(j)], norm, norm * this->tolerance);
    for (Index i = 0; i < 5; ++i)
      EXPECT_NEAR(data.values(i, j), std::isnan(x(i, j)) ? 0 : static_cast<double>(x(i, j)) / norm, this->tolerance);
  }
  EXPECT_EQ(data.sample_scale[3], T(1));
  EXPECT_EQ(data.normalization.kind, Normalize::unit);
  EXPECT_TRUE(data.normalization.shift.empty());
}

TYPED_TEST(ProblemTest, UnitNormOfHugeAndTinySamples) {
  using T = TypeParam;
  Matrix<T> x(2, 3);
  const T huge = std::numeric_limits<T>::max() / 8, tiny = std::numeric_limits<T>::min() * 8;
  x(0, 0) = 3 * huge;
  x(1, 0) = -4 * huge;
  x(0, 1) = 3 * tiny;
  x(1, 1) = 4 * tiny;
  x(0, 2) = 1;
  const Data<T> data = prepare(this->problem(x), Normalize::unit);
  EXPECT_NEAR(data.values(0, 0), 0.6, this->tolerance);
  EXPECT_NEAR(data.values(1, 0), -0.8, this->tolerance);
  EXPECT_NEAR(data.values(0, 1), 0.6, this->tolerance);
  EXPECT_NEAR(data.values(1, 1), 0.8, this->tolerance);
  x(0, 0) = x(1, 0) = std::numeric_limits<T>::max();
  EXPECT_THROW(prepare(this->problem(x), Normalize::unit), Error);
}

TYPED_TEST(ProblemTest, StandardAgainstNaiveMoments) {
  using T = TypeParam;
  Matrix<T> x = this->values(5, 40);
  x(1, 7) = this->nan;
  Weights<T> w;
  w.entry = Matrix<T>(5, 40, T(1));
  for (Index j = 0; j < 40; ++j) w.entry(3, j) = static_cast<T>(j % 3);  // 0, 1, 2: only the 0 counts
  const Data<T> data = prepare(this->problem(x, w), Normalize::standard);
  for (Index i = 0; i < 5; ++i) {
    double count = 0, sum = 0, square = 0;
    const auto seen = [&](Index j) { return w.entry(i, j) > 0 && !std::isnan(x(i, j)); };
    for (Index j = 0; j < 40; ++j)
      if (seen(j)) {
        ++count;
        sum += static_cast<double>(x(i, j));
        square += static_cast<double>(x(i, j)) * static_cast<double>(x(i, j));
      }
    const double mean = sum / count, sd = std::sqrt(square / count - mean * mean);
    EXPECT_NEAR(data.normalization.shift[at(i)], mean, 10 * this->tolerance);
    EXPECT_NEAR(data.normalization.scale[at(i)], sd, 10 * this->tolerance);
    for (Index j = 0; j < 40; ++j)
      EXPECT_NEAR(data.values(i, j), seen(j) ? (static_cast<double>(x(i, j)) - mean) / sd : 0, 50 * this->tolerance);
  }
  EXPECT_TRUE(data.sample_scale.empty());
}

TYPED_TEST(ProblemTest, StandardLeavesConstantFeaturesUnscaled) {
  using T = TypeParam;
  Matrix<T> x = this->values(3, 7);
  for (Index j = 0; j < 7; ++j) x(1, j) = T(0.1);  // 0.1 is not exact: a naive mean differs from it
  const Data<T> data = prepare(this->problem(x), Normalize::standard);
  EXPECT_EQ(data.normalization.shift[1], T(0.1));
  EXPECT_EQ(data.normalization.scale[1], T(1));
  for (Index j = 0; j < 7; ++j) EXPECT_EQ(data.values(1, j), T(0));
  ASSERT_EQ(data.notes.size(), 1U);
  EXPECT_EQ(data.notes[0], "1 feature is constant and only shifted to 0 (feature 1).");
  for (Index j = 0; j < 7; ++j) x(2, j) = T(5);
  EXPECT_EQ(prepare(this->problem(x), Normalize::standard).notes[0],
            "2 features are constant and only shifted to 0 (the first is feature 1).");
  EXPECT_TRUE(prepare(this->problem(x), Normalize::unit).notes.empty());
}

TYPED_TEST(ProblemTest, NanIsWeightZeroToTheBit) {
  using T = TypeParam;
  const Matrix<T> x = this->values();
  Matrix<T> gappy = x, garbage = x;
  Weights<T> w;
  w.entry = Matrix<T>(5, 8, T(1));
  for (Index l = 0; l < 12; ++l) {
    const Index i = (3 * l) % 5, j = (5 * l) % 8;
    gappy(i, j) = this->nan;
    garbage(i, j) = T(1e6);
    w.entry(i, j) = 0;
  }
  for (const Normalize kind : {Normalize::none, Normalize::unit, Normalize::standard}) {
    const Data<T> a = prepare(this->problem(gappy), kind), b = prepare(this->problem(garbage, w), kind),
                  c = prepare(this->problem(gappy, w), kind);
    for (const Data<T>* other : {&b, &c}) {
      EXPECT_EQ(a.values, other->values);
      EXPECT_EQ(a.weights.entry, other->weights.entry);
      EXPECT_EQ(a.normalization.shift, other->normalization.shift);
      EXPECT_EQ(a.normalization.scale, other->normalization.scale);
      EXPECT_EQ(a.sample_scale, other->sample_scale);
      EXPECT_EQ(a.missing, other->missing);
      EXPECT_EQ(a.notes, other->notes);
    }
    EXPECT_EQ(a.missing, 12);
    EXPECT_EQ(a.weights.entry, w.entry);
  }
}

TYPED_TEST(ProblemTest, SampleAndFeatureWeightZeroIsNotObserved) {
  using T = TypeParam;
  Matrix<T> x = this->values();
  Weights<T> w;
  w.sample.assign(8, 2);
  w.sample[3] = 0;
  w.feature.assign(5, 3);
  w.feature[1] = 0;
  for (Index i = 0; i < 5; ++i) x(i, 3) = this->nan;  // missing already: no entry weights are needed for it
  for (const Normalize kind : {Normalize::none, Normalize::unit, Normalize::standard}) {
    const Data<T> data = prepare(this->problem(x, w), kind);
    EXPECT_TRUE(data.weights.entry.empty());
    EXPECT_EQ(data.missing, 5 + 8 - 1);
    Matrix<T> gappy = x;
    for (Index j = 0; j < 8; ++j) gappy(1, j) = this->nan;
    const Data<T> same = prepare(this->problem(gappy), kind);
    EXPECT_EQ(data.values, same.values);
    EXPECT_EQ(data.normalization.shift, same.normalization.shift);
    EXPECT_EQ(data.normalization.scale, same.normalization.scale);
    for (Index j = 0; j < 8; ++j)
      for (Index i = 0; i < 5; ++i) EXPECT_EQ(data.weights(i, j), same.weights(i, j) * 6);
  }
}

TYPED_TEST(ProblemTest, SizesOfWeightsDoNotChangeTheNormalization) {
  using T = TypeParam;
  const Matrix<T> x = this->values();
  Weights<T> w;
  for (Index j = 0; j < 8; ++j) w.sample.push_back(static_cast<T>(1 + j));
  w.feature.assign(5, T(0.25));
  for (const Normalize kind : {Normalize::none, Normalize::unit, Normalize::standard}) {
    const Data<T> plain = prepare(this->problem(x), kind), weighted = prepare(this->problem(x, w), kind);
    EXPECT_EQ(plain.values, weighted.values);
    EXPECT_EQ(weighted.weights.sample, w.sample);
    EXPECT_EQ(weighted.weights.feature, w.feature);
    EXPECT_TRUE(weighted.weights.entry.empty());
  }
}

TYPED_TEST(ProblemTest, NotesSayWhatIsMissing) {
  using T = TypeParam;
  Matrix<T> x = this->values(10, 100);
  for (Index l = 0; l < 123; ++l) x(l % 6, 1 + l / 6) = this->nan;
  Data<T> data = prepare(this->problem(x), Normalize::none);
  ASSERT_EQ(data.notes.size(), 1U);
  EXPECT_EQ(data.notes[0], "12.3% of entries are missing (123 of 1000: NaN or weight 0) and do not count.");
  for (Index i = 0; i < 10; ++i) x(i, 42) = this->nan;
  for (Index j = 0; j < 100; ++j) x(9, j) = x(7, j) = this->nan;
  data = prepare(this->problem(x), Normalize::standard);
  ASSERT_EQ(data.notes.size(), 3U);
  EXPECT_EQ(data.notes[1], "1 sample has no observed entry (sample 42).");
  EXPECT_EQ(data.notes[2], "2 features have no observed entry (the first is feature 7).");
  EXPECT_EQ(data.normalization.shift[7], T(0));
  EXPECT_EQ(data.normalization.scale[7], T(1));
}

TYPED_TEST(ProblemTest, GivenNormalizationIsAppliedToNewSamples) {
  using T = TypeParam;
  const Matrix<T> x = this->values(5, 30), fresh = this->values(5, 4, 99);
  const Data<T> train = prepare(this->problem(x), Normalize::standard);
  // the training samples themselves come out the same, one at a time, whatever `kind` says
  for (Index j = 0; j < 30; ++j) {
    Problem<T> one;
    one.values = x.view().columns(j, 1);
    const Data<T> again = prepare(one, Normalize::none, &train.normalization);
    for (Index i = 0; i < 5; ++i) EXPECT_EQ(again.values(i, 0), train.values(i, j));
    EXPECT_EQ(again.normalization.kind, Normalize::standard);
    EXPECT_TRUE(again.notes.empty());  // constant over one sample, but that is not the training data
  }
  Matrix<T> gappy = fresh;
  gappy(2, 1) = this->nan;
  const Data<T> data = prepare(this->problem(gappy), Normalize::unit, &train.normalization);
  for (Index j = 0; j < 4; ++j)
    for (Index i = 0; i < 5; ++i) {
      const double expected =
          (static_cast<double>(fresh(i, j)) - static_cast<double>(train.normalization.shift[at(i)])) /
          static_cast<double>(train.normalization.scale[at(i)]);
      EXPECT_NEAR(data.values(i, j), i == 2 && j == 1 ? 0 : expected, 10 * this->tolerance);
    }
  EXPECT_EQ(data.weights(2, 1), T(0));
  EXPECT_EQ(data.missing, 1);

  Normalization<T> unit;
  unit.kind = Normalize::unit;
  EXPECT_EQ(prepare(this->problem(fresh), Normalize::none, &unit).values,
            prepare(this->problem(fresh), Normalize::unit).values);
}

TYPED_TEST(ProblemTest, GivenNormalizationIsChecked) {
  using T = TypeParam;
  const Matrix<T> x = this->values(2, 3);
  const auto fails = [&](const Normalization<T>& given, const std::string& expected) {
    EXPECT_EQ(synthetic::error_of([&] { prepare(this->problem(x), Normalize::none, &given); }), expected);
  };
  fails({Normalize::standard, {0, 0, 0}, {1, 1}},
        "given: shift and scale of length 3 and 2 must equal the number of features, 2");
  fails({Normalize::standard, {0, 0}, {1, 0}}, "given: scale 0 at feature 1; must be finite and positive");
  fails({Normalize::standard, {0, 0}, {this->nan, 1}}, "given: scale nan at feature 0; must be finite and positive");
  fails({Normalize::standard, {0, this->inf}, {1, 1}}, "given: shift inf at feature 1; must be finite");
  const T tiny = std::numeric_limits<T>::min();
  Normalization<T> steep{Normalize::standard, {0, 0}, {tiny, 1}};
  Matrix<T> large(2, 1, T(100));
  EXPECT_THROW(prepare(this->problem(large), Normalize::none, &steep), Error);
}

TYPED_TEST(ProblemTest, TheGraphSeesWhatIsMissing) {
  using T = TypeParam;
  Matrix<T> x = this->values();
  x(1, 2) = x(4, 7) = this->nan;
  Weights<T> w;
  w.sample.assign(8, 1);
  w.sample[5] = 0;
  const Data<T> data = prepare(this->problem(x, w), Normalize::unit);
  const Samples<T> samples(data);
  ASSERT_EQ(samples.values.data, data.values.data());  // a view, no copy
  for (Index j = 0; j < 8; ++j)
    for (Index i = 0; i < 5; ++i) {
      EXPECT_EQ(samples.missing(i, j), j == 5 || std::isnan(x(i, j)));
      if (samples.missing(i, j)) {
        EXPECT_EQ(samples.values(i, j), 0);
      }
    }
}

TYPED_TEST(ProblemTest, TheCallersValuesAreNotWritten) {
  using T = TypeParam;
  Matrix<T> x = this->values();
  x(0, 0) = this->nan;
  const Matrix<T> before = x;
  prepare(this->problem(x), Normalize::standard);
  for (Index j = 0; j < 8; ++j)
    for (Index i = 0; i < 5; ++i)
      if (i != 0 || j != 0) {
        EXPECT_EQ(x(i, j), before(i, j));
      }
  EXPECT_TRUE(std::isnan(x(0, 0)));
}

}  // namespace

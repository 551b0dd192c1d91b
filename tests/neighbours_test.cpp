#include "graph/neighbours.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "synthetic.hpp"

namespace pacewise {
namespace {

using synthetic::gaussian;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// NaN is a missing entry
template <class T>
Neighbours find(const Matrix<T>& X, Index k, const Control& control) {
  return nearest<T>(prepare<T>({X, {}}, Normalize::none), k, control);
}

template <class T>
long double slow_distance(const Matrix<T>& X, Index a, Index b) {
  long double sum = 0;
  Index common = 0;
  for (Index i = 0; i < X.rows(); ++i) {
    const long double d = static_cast<long double>(X(i, a)) - static_cast<long double>(X(i, b));
    if (std::isnan(d)) continue;
    sum += d * d;
    ++common;
  }
  return common == 0 ? kInfinity : sum * static_cast<long double>(X.rows()) / static_cast<long double>(common);
}

/// All distances from each `every`-th sample, one sort.
template <class T>
void expect_brute_force(const Matrix<T>& X, Index k, const Neighbours& found, Index every = 1) {
  ASSERT_EQ(found.k, k);
  ASSERT_EQ(found.n, X.cols());
  for (Index j = 0; j < X.cols(); j += every) {
    std::vector<std::pair<long double, Index>> all;
    for (Index i = 0; i < X.cols(); ++i)
      if (i != j) all.emplace_back(slow_distance(X, i, j), i);
    std::sort(all.begin(), all.end());
    for (Index q = 0; q < k; ++q) {
      const auto [expected, index] = all[static_cast<std::size_t>(q)];
      const double distance = found.squared_distance[j * k + q];
      const bool comparable = expected < kInfinity;
      ASSERT_EQ(found.index[j * k + q], comparable ? index : -1) << "sample " << j << ", neighbour " << q;
      if (comparable)
        ASSERT_NEAR(distance, static_cast<double>(expected), 1e-12 * static_cast<double>(expected));
      else
        ASSERT_EQ(distance, kInfinity);
    }
  }
}

template <class T>
class NeighboursOf : public ::testing::Test {};
TYPED_TEST_SUITE(NeighboursOf, synthetic::Precisions);

/// Data in which something is hard: samples in columns, the numbers of neighbours, and every which sample is looked at
template <class T>
struct Hard {
  const char* name;
  Matrix<T> X;
  std::vector<Index> ks;
  Index every = 1;
};

template <class T>
std::vector<Hard<T>> hard() {
  constexpr bool single = sizeof(T) == 4;
  std::vector<Hard<T>> out;
  for (const Index m : {1, 3, 20, 65}) out.push_back({"random", gaussian<T>(m, 330, 7), {5}});
  // without centring and a safe margin distances from products are worthless here
  out.push_back({"far from the origin", gaussian<T>(10, 300, 8, single ? 3e4 : 1e12), {4}});
  // within a cluster rounding of the products exceeds every distance: more candidates than fit, all evaluated
  Matrix<T> tight = gaussian<T>(4, 2600, 9);
  eigen(tight) *= static_cast<T>(single ? 1e-4 : 1e-9);
  for (Index j = 0; j < 2600; ++j) eigen(tight).col(j).array() += static_cast<T>(j % 2 == 0 ? 1 : -1);
  out.push_back({"tight clusters far apart", tight, {3}, 97});
  Matrix<T> lattice(3, 6 * 6 * 6);
  for (Index j = 0; j < 216; ++j)
    eigen(lattice).col(j) << static_cast<T>(j % 6), static_cast<T>(j / 6 % 6), static_cast<T>(j / 36);
  out.push_back({"ties on an integer lattice", lattice, {1, 4, 6, 7, 30}});
  const Matrix<T> some = gaussian<T>(5, 40, 10);
  Matrix<T> copies(5, 300);
  Random random(11);
  for (Index j = 0; j < 300; ++j)  // one sample occurs about ninety times
    eigen(copies).col(j) = eigen(some).col(random.uniform() < 0.3 ? 0 : random.below(40));
  out.push_back({"duplicates among others", copies, {1, 3, 17, 299}});
  Matrix<T> zeros(2, 3);
  zeros(0, 1) = static_cast<T>(-0.0);
  zeros(1, 2) = 1;
  out.push_back({"-0 equals 0", zeros, {2}});
  for (const double share : {0.1, 0.5, 0.85})
    out.push_back({"missing entries", synthetic::punch(gaussian<T>(9, 280, 13, 3), share).nan, {4}});
  Matrix<T> empty = gaussian<T>(4, 30, 15);
  eigen(empty).col(7).setConstant(std::numeric_limits<T>::quiet_NaN());
  out.push_back({"an empty sample does not make the others incomplete", empty, {3}});
  return out;
}

TYPED_TEST(NeighboursOf, AreThoseOfBruteForce) {
  for (const auto& [name, X, ks, every] : hard<TypeParam>())
    for (const Index k : ks) {
      SCOPED_TRACE(name);
      expect_brute_force(X, k, find(X, k, {}), every);
    }
}

TYPED_TEST(NeighboursOf, AllEqualPoints) {
  Matrix<TypeParam> X(7, 20000, static_cast<TypeParam>(0.1));  // quadratic time or memory would show
  const Neighbours found = find(X, 3, {});
  EXPECT_EQ(found.index[0], 1);
  EXPECT_EQ(found.index[3], 0);
  EXPECT_EQ(found.index[4], 2);
  for (Index j = 3; j < X.cols(); ++j)
    for (Index q = 0; q < 3; ++q) ASSERT_EQ(found.index[j * 3 + q], q);
  for (const double d : found.squared_distance) ASSERT_EQ(d, 0);
}

TYPED_TEST(NeighboursOf, HugeAndTinyValues) {
  const Matrix<TypeParam> plain = gaussian<TypeParam>(6, 100, 12);
  const Neighbours expected = find(plain, 4, {});
  for (const int exponent : {-90, 90}) {  // squares leave the range of float
    Matrix<TypeParam> X = plain;
    for (Index p = 0; p < X.size(); ++p) X.data()[p] = std::ldexp(X.data()[p], exponent);
    const Neighbours found = find(X, 4, {});
    EXPECT_EQ(found.index, expected.index);
    for (std::size_t p = 0; p < found.index.size(); ++p)
      ASSERT_EQ(found.squared_distance[p], std::ldexp(expected.squared_distance[p], 2 * exponent));
  }
}

TYPED_TEST(NeighboursOf, SamplesWithoutAnythingInCommon) {
  const auto nan = std::numeric_limits<TypeParam>::quiet_NaN();
  Matrix<TypeParam> X(2, 5, nan);
  X(0, 0) = X(0, 1) = 1;  // samples 0 and 1 see feature 0, 2 and 3 see feature 1, 4 sees nothing
  X(0, 1) = 2;
  X(1, 2) = 5;
  X(1, 3) = 5;
  const Neighbours found = find(X, 2, {});
  EXPECT_EQ(found.index, (Vector<std::int32_t>{1, -1, 0, -1, 3, -1, 2, -1, -1, -1}));
  EXPECT_EQ(found.squared_distance[0], 2);  // 1 times m / |common| = 2
  EXPECT_EQ(found.squared_distance[4], 0);
}

TYPED_TEST(NeighboursOf, AnyNumberOfThreadsGivesTheSame) {
  Matrix<TypeParam> X = gaussian<TypeParam>(12, 700, 16);
  for (const bool missing : {false, true}) {
    if (missing) X = synthetic::punch(X, 0.2).nan;
    const Neighbours one = find(X, 6, {.threads = 1});
    for (const int count : {2, 3, 8}) {
      const Neighbours more = find(X, 6, {.threads = count});
      EXPECT_EQ(one.index, more.index);
      EXPECT_EQ(one.squared_distance, more.squared_distance);
    }
  }
}

TYPED_TEST(NeighboursOf, ViewWithStride) {
  const Matrix<TypeParam> wide = gaussian<TypeParam>(10, 90, 18);
  const MatrixView<const TypeParam> part = wide.view().block(2, 0, 6, 90);
  expect_brute_force(Matrix<TypeParam>(part), 3, nearest<TypeParam>(part, 3, {}));
}

TEST(Neighbours, TakeAsManyAsThereAre) {
  const auto says = [](Index n, Index k, const std::string& part) {
    synthetic::expect_error([&] { nearest<double>(gaussian<double>(3, n, 19), k, {}); }, part);
  };
  says(5, 5, "k = 5: must be at least 1 and less than the number of samples, 5");
  says(5, 0, "k = 0: must be at least 1");
  says(1, 1, "k = 1");
}

TEST(Neighbours, StopsWhenToldTo) {
  const std::atomic<bool> cancel{true};
  const Neighbours found = find(gaussian<double>(3, 50, 20), 2, {.cancel = &cancel});
  EXPECT_TRUE(std::all_of(found.index.begin(), found.index.end(), [](auto i) { return i == -1; }));
}

}  // namespace
}  // namespace pacewise

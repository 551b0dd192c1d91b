#include "algebra/sparse.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>

#include "synthetic.hpp"

namespace pacewise {
namespace {

TEST(Sparse, TripletsAreSortedSummedAndZerosLeftOut) {
  const Sparse a =
      sparse_from_triplets(3, 2, {{2, 1, 1.0}, {0, 1, 4.0}, {2, 1, 0.5}, {1, 0, 0.0}, {0, 0, 2.0}, {0, 0, -2.0}});
  EXPECT_EQ(a.start, (Vector<Index>{0, 0, 2}));
  EXPECT_EQ(a.index, (Vector<std::int32_t>{0, 2}));
  EXPECT_EQ(a.value, (Vector<double>{4.0, 1.5}));
  EXPECT_EQ(transpose(a), sparse_from_triplets(2, 3, {{1, 2, 1.5}, {1, 0, 4.0}}));
  // in the order given: 1e16 absorbs a 1, so only this order gives 1
  const Sparse b = sparse_from_triplets(1, 1, {{0, 0, 1e16}, {0, 0, -1e16}, {0, 0, 1.0}});
  EXPECT_EQ(b.value, (Vector<double>{1.0}));
  EXPECT_THROW(sparse_from_triplets(2, 2, {{2, 0, 1.0}}), Error);
  EXPECT_THROW(sparse_from_triplets(2, 2, {{0, -1, 1.0}}), Error);
  EXPECT_THROW(sparse_from_triplets(-1, 2, {}), Error);
}

/// The largest distance of two connected rows in the order
Index bandwidth(const Sparse& a, const Vector<Index>& order) {
  Vector<Index> position(a.cols, -1);
  for (Index p = 0; p < a.cols; ++p) position[order[p]] = p;
  EXPECT_EQ(std::count(position.begin(), position.end(), -1), 0) << "every row once";
  Index widest = 0;
  for (Index j = 0; j < a.cols; ++j)
    for (Index p = a.start[j]; p < a.start[j + 1]; ++p)
      widest = std::max(widest, std::abs(position[a.index[p]] - position[j]));
  return widest;
}

TEST(Sparse, ReverseCuthillMcKeeOrdersShuffledPathsAndGrids) {
  // rows under other names: 7 i mod 401, a prime
  const std::int32_t size = 401;
  std::vector<Triplet> path, grid;
  const auto join = [&](std::vector<Triplet>& to, std::int32_t i, std::int32_t j) {
    to.push_back({7 * i % size, 7 * j % size, -1.0});
    to.push_back({7 * j % size, 7 * i % size, -1.0});
  };
  for (std::int32_t i = 0; i + 1 < 200; ++i)
    if (i != 120) join(path, i, i + 1);  // two paths, and samples that have no neighbour
  for (std::int32_t i = 0; i < 400; ++i) {
    if (i % 20 != 19) join(grid, i, i + 1);
    if (i + 20 < 400) join(grid, i, i + 20);
  }
  Vector<Index> as_given(size);
  std::iota(as_given.begin(), as_given.end(), Index{0});
  // the levels of breadth-first search in a grid are the diagonals
  for (const auto& [entries, most] : {std::pair{path, 1}, {grid, 25}}) {
    const Sparse a = sparse_from_triplets(size, size, entries);
    const Vector<Index> order = reverse_cuthill_mckee(a);
    EXPECT_LE(bandwidth(a, order), most);
    EXPECT_GT(bandwidth(a, as_given), 100);
    EXPECT_EQ(reverse_cuthill_mckee(a), order);
  }
  EXPECT_TRUE(reverse_cuthill_mckee(Sparse{}).empty());
}

TEST(Sparse, SymmetryCheckNamesWhatIsWrong) {
  const auto says = [](const Sparse& a, const char* part) {
    synthetic::expect_error([&] { check_symmetric(a, "thing"); }, part);
  };
  const Sparse good = sparse_from_triplets(2, 2, {{0, 0, 1.0}, {0, 1, -1.0}, {1, 0, -1.0}, {1, 1, 1.0}});
  says(good, "accepted");
  says(Sparse{}, "accepted");
  says(sparse_from_triplets(2, 3, {}), "thing: is 2 x 3, must be square");
  says(sparse_from_triplets(2, 2, {{0, 1, 1.0}}), "must be symmetric");
  const auto changed = [&](const auto& change, const char* part) {
    Sparse bad = good;
    change(bad);
    says(bad, part);
  };
  changed([](Sparse& a) { a.value[1] = std::nan(""); }, "not finite");
  changed([](Sparse& a) { a.value[1] = -1.01; }, "must be symmetric");
  changed([](Sparse& a) { a.index[1] = 2; }, "outside 0 .. 1");
  changed([](Sparse& a) { a.index = {1, 0, 0, 1}; }, "must increase");
  changed([](Sparse& a) { a.start[1] = 5; }, "decreases");
  changed([](Sparse& a) { a.value.pop_back(); }, "do not belong together");
}

}  // namespace
}  // namespace pacewise

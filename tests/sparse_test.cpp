#include "algebra/sparse.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "synthetic.hpp"

namespace pacewise {
namespace {

Sparse random_sparse(Index rows, Index cols, double density, std::uint64_t seed) {
  Random random(seed);
  std::vector<Triplet> entries;
  for (std::int32_t i = 0; i < rows; ++i)
    for (std::int32_t j = 0; j < cols; ++j)
      if (random.uniform() < density) entries.push_back({i, j, random.normal()});
  return sparse_from_triplets(rows, cols, entries);
}

TEST(Sparse, TripletsAreSortedSummedAndZerosLeftOut) {
  const Sparse a =
      sparse_from_triplets(3, 2, {{2, 1, 1.0}, {0, 1, 4.0}, {2, 1, 0.5}, {1, 0, 0.0}, {0, 0, 2.0}, {0, 0, -2.0}});
  EXPECT_EQ(a.start, (Vector<Index>{0, 0, 2}));
  EXPECT_EQ(a.index, (Vector<std::int32_t>{0, 2}));
  EXPECT_EQ(a.value, (Vector<double>{4.0, 1.5}));
  // in the order given: 1e16 absorbs a 1, so only this order gives 1
  const Sparse b = sparse_from_triplets(1, 1, {{0, 0, 1e16}, {0, 0, -1e16}, {0, 0, 1.0}});
  EXPECT_EQ(b.value, (Vector<double>{1.0}));
}

TEST(Sparse, TripletsOutsideAreRefused) {
  EXPECT_THROW(sparse_from_triplets(2, 2, {{2, 0, 1.0}}), Error);
  EXPECT_THROW(sparse_from_triplets(2, 2, {{0, -1, 1.0}}), Error);
  EXPECT_THROW(sparse_from_triplets(-1, 2, {}), Error);
}

TEST(Sparse, TransposeTwiceIsTheSame) {
  const Sparse a = random_sparse(17, 23, 0.2, 1), t = transpose(a);
  EXPECT_EQ(transpose(t), a);
  EXPECT_EQ(Eigen::MatrixXd(to_eigen(t)), Eigen::MatrixXd(to_eigen(a)).transpose());
}

Index bandwidth(const Sparse& a, const Vector<Index>& order) {
  Vector<Index> position(a.cols, -1);
  for (std::size_t p = 0; p < order.size(); ++p) position[order[p]] = static_cast<Index>(p);
  Index widest = 0;
  for (Index j = 0; j < a.cols; ++j)
    for (Index p = a.start[j]; p < a.start[j + 1]; ++p)
      widest = std::max(widest, std::abs(position[a.index[p]] - position[j]));
  return widest;
}

TEST(Sparse, ReverseCuthillMcKeeOrdersShuffledPathsAndGrids) {
  Random random(5);
  const auto shuffled = [&](Index size) {
    std::vector<std::int32_t> name(static_cast<std::size_t>(size));
    std::iota(name.begin(), name.end(), 0);
    for (Index i = size - 1; i > 0; --i)
      std::swap(name[static_cast<std::size_t>(i)], name[static_cast<std::size_t>(random.below(i + 1))]);
    return name;
  };
  const auto graph = [&](Index size, const std::vector<std::pair<std::int32_t, std::int32_t>>& edges) {
    const auto name = shuffled(size);
    std::vector<Triplet> entries;
    for (const auto& [i, j] : edges)
      for (const auto& [a, b] : {std::pair(i, j), std::pair(j, i)})
        entries.push_back({name[static_cast<std::size_t>(a)], name[static_cast<std::size_t>(b)], -1.0});
    return sparse_from_triplets(size, size, entries);
  };
  const auto check = [](const Sparse& a, Index most) {
    const Vector<Index> order = reverse_cuthill_mckee(a);
    Vector<Index> sorted = order, all(a.cols);
    std::iota(all.begin(), all.end(), Index{0});
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, all);
    EXPECT_LE(bandwidth(a, order), most);
    EXPECT_EQ(reverse_cuthill_mckee(a), order);
  };
  std::vector<std::pair<std::int32_t, std::int32_t>> path, grid;
  for (std::int32_t i = 0; i + 1 < 200; ++i)
    if (i != 120) path.emplace_back(i, i + 1);  // two paths
  check(graph(201, path), 1);                   // and a sample that has no neighbour
  for (std::int32_t i = 0; i < 400; ++i) {
    if (i % 20 != 19) grid.emplace_back(i, i + 1);
    if (i + 20 < 400) grid.emplace_back(i, i + 20);
  }
  const Sparse square = graph(400, grid);
  check(square, 25);  // the levels of breadth-first search are the diagonals
  EXPECT_GT(bandwidth(square, reverse_cuthill_mckee(sparse_from_triplets(400, 400, {}))), 200);
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

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>

#include "algebra/blas_kernels.hpp"
#include "algebra/parallel.hpp"
#include "algebra/random.hpp"
#include "algebra/sparse.hpp"
#include "algebra/sums.hpp"
#include "synthetic.hpp"

extern "C" {
void openblas_set_num_threads(int) __attribute__((weak));
int openblas_get_num_threads() __attribute__((weak));
char* openblas_get_corename() __attribute__((weak));
void gotoblas_dynamic_init() __attribute__((weak));
void gotoblas_dynamic_quit() __attribute__((weak));
}

namespace {

using namespace pacewise;

TEST(MatrixSizes, AreChecked) {
  EXPECT_THROW(Matrix<double>(-1, 2), Error);
  EXPECT_THROW(Matrix<double>(2, -1), Error);
  EXPECT_THROW(Matrix<double>(Index{1} << 40, Index{1} << 40), Error);
  EXPECT_EQ(checked_size(0, 5), 0U);
  EXPECT_EQ(checked_size(3, 5), 15U);
}

TEST(MatrixStorage, LargeOnesAreAlignedZeroAndKeepTheirNumbers) {
  const auto most = static_cast<Index>(kLarge / sizeof(double));
  for (const Index size : {most - 1, most, most + 1}) {
    Matrix<double> a(size, 1);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 64, 0U) << size;
    EXPECT_EQ(max_norm(a.data(), size), 0) << size;
    a(0, 0) = 1;
    a(size - 1, 0) = 2;
    a.resize(2 * size, 1);  // across the limit, or from one large array to another
    EXPECT_EQ(a(0, 0), 1) << size;
    EXPECT_EQ(a(size - 1, 0), 2) << size;
    EXPECT_EQ(max_norm(a.data() + size, size), 0) << size;
    const Matrix<double> b = a;
    EXPECT_EQ(a, b) << size;
  }
}

TEST(MatrixStorage, ViewsAreColumnMajorAndNewNumbersZeroUnlessTheyAreToBeOverwritten) {
  Matrix<float> a(3, 2);
  for (Index l = 0; l < 6; ++l) a.data()[l] = static_cast<float>(l);
  EXPECT_EQ(a(2, 1), 5);
  const MatrixView<float> part = a.view().block(1, 0, 2, 2);
  EXPECT_EQ(part.columns(1, 1)(1, 0), 5);
  EXPECT_EQ(cast<double>(MatrixView<const float>(part)).numbers(), (Vector<double>{1, 2, 4, 5}));
  a.resize(3, 4);
  EXPECT_EQ(a(2, 1), 5);
  EXPECT_EQ(max_norm(a.col(2), 6), 0);
  a.resize_for_overwrite(2, 2);
  EXPECT_EQ(a.numbers(), (Vector<float>{0, 1, 2, 3})) << "what was there";
}

TEST(ParallelBlocks, EveryBlockOnceWorkersInRangeAndAlone) {
  for (const int threads : {1, 2, 3, 8})
    for (const Index blocks : {0, 1, 2, 50}) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(blocks));
      std::vector<std::atomic<bool>> busy(static_cast<std::size_t>(threads));
      std::atomic<int> wrong{0};
      parallel_blocks(blocks, {.threads = threads}, [&](Index block, int worker) {
        if (worker < 0 || worker >= threads || block < 0 || block >= blocks) {
          ++wrong;
          return;
        }
        if (busy[static_cast<std::size_t>(worker)].exchange(true)) ++wrong;  // scratch memory used by two at once
        ++calls[static_cast<std::size_t>(block)];
        std::this_thread::yield();
        busy[static_cast<std::size_t>(worker)] = false;
      });
      EXPECT_EQ(wrong, 0) << threads << " threads, " << blocks << " blocks";
      for (const auto& c : calls) EXPECT_EQ(c, 1);
    }
}

TEST(ParallelBlocks, UsesSeveralThreads) {
  std::atomic<int> arrived{0};
  std::atomic<bool> met{false};
  parallel_blocks(2, {.threads = 2}, [&](Index, int) {
    ++arrived;
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (arrived < 2 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    if (arrived == 2) met = true;
  });
  EXPECT_TRUE(met);
}

TEST(ParallelBlocks, RethrowsTheExceptionOfABody) {
  for (const int threads : {1, 4}) {
    std::atomic<int> calls{0};
    const auto blocks = [&] {
      parallel_blocks(1000, {.threads = threads}, [&](Index block, int) {
        ++calls;
        if (block == 3) throw Error("block 3");
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      });
    };
    EXPECT_EQ(synthetic::error_of(blocks), "block 3");
    EXPECT_LE(calls, threads == 1 ? 4 : 999);
  }
}

TEST(ParallelBlocks, StopsOnCancelAndDeadline) {
  std::atomic<bool> cancel{false};
  const Control control{.threads = 1, .cancel = &cancel};
  int calls = 0;
  parallel_blocks(10, control, [&](Index block, int) {
    ++calls;
    if (block == 4) cancel = true;
  });
  EXPECT_EQ(calls, 5);
  EXPECT_TRUE(control.cancelled());
  const Control late{.deadline = std::chrono::steady_clock::now() - std::chrono::seconds(1)};
  std::atomic<int> begun{0};
  parallel_blocks(10, late, [&](Index, int) { ++begun; });
  EXPECT_EQ(begun, 0);
  EXPECT_TRUE(late.late());
  EXPECT_FALSE(late.cancelled());
}

#if defined(__x86_64__)
TEST(BlasKernelsDeathTest, AreChosenByTheFirstUseOfTheLibrary) {
  if (gotoblas_dynamic_quit == nullptr) GTEST_SKIP() << "the BLAS here does not choose its kernels";
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr) GTEST_SKIP() << "OPENBLAS_CORETYPE is set";
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) GTEST_SKIP() << "no better kernels";
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process: the library has not been used there
  const auto first_use = [] {
    ::setenv("OPENBLAS_CORETYPE", "Prescott", 1);  // as on a processor that OpenBLAS does not know
    gotoblas_dynamic_quit();
    gotoblas_dynamic_init();
    ::unsetenv("OPENBLAS_CORETYPE");
    if (openblas_get_corename() != std::string("Prescott")) std::exit(2);
    parallel_blocks(4, Control{}, [](Index, int) {});
    const std::string chosen = openblas_get_corename();
    choose_blas_kernels();  // a choice that is none of the fallbacks stays
    std::exit((chosen == "Haswell" || chosen == "SkylakeX") && chosen == openblas_get_corename() ? 0 : 1);
  };
  EXPECT_EXIT(first_use(), testing::ExitedWithCode(0), "");
}
#endif

TEST(SerialBlas, RestoresTheThreadsOfBlas) {
  if (openblas_get_num_threads == nullptr) GTEST_SKIP() << "the BLAS here is not OpenBLAS";
  const int before = openblas_get_num_threads();
  openblas_set_num_threads(2);
  const int wanted = openblas_get_num_threads();  // a serial OpenBLAS stays at 1
  parallel_blocks(1, {}, [](Index, int) {
    EXPECT_EQ(openblas_get_num_threads(), 1);
    { const SerialBlas nested; }
    EXPECT_EQ(openblas_get_num_threads(), 1) << "the inner one must not restore";
  });
  EXPECT_EQ(openblas_get_num_threads(), wanted);
  EXPECT_THROW(parallel_blocks(1, {}, [](Index, int) { throw Error("x"); }), Error);
  EXPECT_EQ(openblas_get_num_threads(), wanted);
  openblas_set_num_threads(before);
}

// --- random numbers

// The published reference sequence of SplitMix64 for the seeds 0 and 1234567.
TEST(Random, BitsAreSplitMix64) {
  Random zero(0);
  for (const std::uint64_t expected : {0xe220a8397b1dcdafULL, 0x6e789e6aa1b965f4ULL, 0x06c45d188009454fULL})
    EXPECT_EQ(zero.bits(), expected);
  Random other(1234567);
  for (const std::uint64_t expected :
       {6457827717110365317ULL, 3203168211198807973ULL, 9817491932198370423ULL, 4593380528125082431ULL})
    EXPECT_EQ(other.bits(), expected);
}

TEST(Random, UniformAndNormalHaveTheRightMoments) {
  Random random(1);
  const int n = 200000;
  const Eigen::ArrayXd u = Eigen::ArrayXd::NullaryExpr(n, [&] { return random.uniform(); }),
                       z = Eigen::ArrayXd::NullaryExpr(n, [&] { return random.normal(); });
  EXPECT_GE(u.minCoeff(), 0);
  EXPECT_LT(u.maxCoeff(), 1);
  ASSERT_TRUE(z.allFinite());
  // the mean of a power, and its variance
  const auto expect_moment = [&](const Eigen::ArrayXd& x, int power, double mean, double variance) {
    EXPECT_NEAR(x.pow(power).mean(), mean, 5 * std::sqrt(variance / n)) << power;
  };
  expect_moment(u, 1, 0.5, 1.0 / 12);
  expect_moment(u, 2, 1.0 / 3, 4.0 / 45);
  expect_moment(z, 1, 0, 1);
  expect_moment(z, 2, 1, 2);
  expect_moment(z, 3, 0, 15);
  expect_moment(z, 4, 3, 96);
}

/// Draws of 0 .. weight.size() - 1 come as often as their weights say
template <class Draw>
void expect_shares(const Eigen::ArrayXd& weight, const Draw& draw) {
  const int n = 80000;
  Eigen::ArrayXd count = Eigen::ArrayXd::Zero(weight.size());
  for (int i = 0; i < n; ++i) {
    const Index drawn = draw();
    ASSERT_TRUE(drawn >= 0 && drawn < weight.size());
    ++count(drawn);
  }
  const Eigen::ArrayXd p = weight / weight.sum();
  EXPECT_TRUE(((count - n * p).abs() <= 5 * (n * p * (1 - p)).sqrt()).all()) << count.transpose();
}

TEST(Random, DrawsFollowTheirWeights) {
  Random random(3);
  const Vector<double> weight{0, 1, 0, 5, 2, 0};
  expect_shares(Eigen::Map<const Eigen::ArrayXd>(weight.data(), 6), [&] { return random.draw(weight); });
  expect_shares(Eigen::ArrayXd::Ones(7), [&] { return random.below(7); });
  EXPECT_EQ(random.below(1), 0);
  EXPECT_EQ(random.draw({}), -1);
  EXPECT_EQ(random.draw({0, 0, 0}), -1);
  EXPECT_EQ(random.draw({0, 0, 1e-300}), 2);
}

// --- sparse matrices

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

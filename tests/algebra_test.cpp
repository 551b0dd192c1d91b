#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>

#include "algebra/blas_kernels.hpp"
#include "algebra/dense.hpp"
#include "algebra/parallel.hpp"
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

/// The middle of a larger matrix, so that the stride is not the number of rows.
template <class T>
struct Inset {
  Index rows, cols;
  Matrix<T> whole;
  Inset(Index r, Index c, std::uint64_t seed) : rows(r), cols(c), whole(synthetic::gaussian<T>(r + 5, c + 3, seed)) {}
  MatrixView<T> view() { return whole.view().block(2, 1, rows, cols); }
};

template <class T>
EigenMatrix<double> wide(Op op, MatrixView<const T> a) {
  const EigenMatrix<double> plain = eigen(a).template cast<double>();
  return op == Op::plain ? plain : EigenMatrix<double>(plain.transpose());
}

template <class T>
class Dense : public testing::Test {
 public:
  static constexpr double tolerance = std::is_same_v<T, double> ? 2e-12 : 2e-4;

  /// The inset is `expected`, what is around it as before
  static void expect_inset(const Inset<T>& out, const Matrix<T>& before, const EigenMatrix<double>& expected) {
    auto whole = wide<T>(Op::plain, before.view());
    whole.block(2, 1, out.rows, out.cols) = expected;
    const auto off = (wide<T>(Op::plain, out.whole.view()) - whole).cwiseAbs().eval();
    EXPECT_LE(off.block(2, 1, out.rows, out.cols).maxCoeff(), tolerance);
    EXPECT_EQ(off.sum(), off.block(2, 1, out.rows, out.cols).sum()) << "written outside the view";
  }
};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(Dense, Precisions);

TYPED_TEST(Dense, GramWritesBothTriangles) {
  using T = TypeParam;
  const Index n = 6, k = 9;
  for (const Op op : {Op::plain, Op::transposed})
    for (const double c : {0.0, 2.0}) {
      Inset<T> a(op == Op::plain ? n : k, op == Op::plain ? k : n, 4), out(n, n, 5);
      eigen(out.view()) += eigen(out.view()).transpose().eval();
      const Matrix<T> before = out.whole;
      const EigenMatrix<double> A = wide<T>(op, a.view()),
                                expected = -0.5 * A * A.transpose() + c * wide<T>(Op::plain, out.view());
      gram<T>(op, -0.5, a.view(), c, out.view());
      this->expect_inset(out, before, expected);
      EXPECT_EQ(eigen(out.view()), eigen(out.view()).transpose());
    }
}

TEST(Decompositions, EigenpairsOfASymmetricMatrix) {
  const Matrix<double> some = synthetic::gaussian<double>(41, 41, 9);
  const EigenMatrix<double> a = eigen(some) + eigen(some).transpose();
  Matrix<double> vectors(41, 41);
  eigen(vectors) = a;
  const Vector<double> values = symmetric_eigen(vectors.view());
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  const auto V = eigen(vectors);
  EXPECT_LE((a * V - V * eigen(values).asDiagonal()).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_LE((V.colwise().norm().array() - 1).abs().maxCoeff(), 1e-13);
  EXPECT_TRUE(symmetric_eigen(Matrix<double>().view()).empty());
}

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
  const Matrix<double> copy = cast<double>(MatrixView<const float>(part));
  EXPECT_EQ(copy.rows(), 2);
  EXPECT_EQ(copy(0, 1), 4.0);
  a.resize(3, 4);
  EXPECT_EQ(a(2, 1), 5);
  EXPECT_EQ(max_norm(a.col(2), 6), 0);
  a.resize_for_overwrite(2, 2);
  EXPECT_EQ(a.size(), 4);
  EXPECT_EQ(max_norm(a.data(), 4), 3) << "what was there";
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
  const Control control{.threads = 2};
  std::atomic<int> arrived{0};
  std::atomic<bool> met{false};
  parallel_blocks(2, control, [&](Index, int) {
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

TEST(ParallelBlocks, BlocksCoverTheRangeOnce) {
  for (const Index n : {0, 1, 63, 64, 65, 1000}) {
    Index covered = 0;
    for (Index b = 0; b < block_count(n); ++b) {
      EXPECT_GT(block_length(n, b), 0);
      EXPECT_LE(block_length(n, b), kBlock);
      covered += block_length(n, b);
    }
    EXPECT_EQ(covered, n);
  }
}

TYPED_TEST(Dense, SumsAgreeWithPlainOnes) {
  using T = TypeParam;
  for (const Index size : {0, 1, 15, 16, 17, 100}) {
    const Matrix<T> x = synthetic::gaussian<T>(size, 1, 3), y = synthetic::gaussian<T>(size, 1, 4);
    const auto X = wide<T>(Op::plain, x.view()), Y = wide<T>(Op::plain, y.view());
    EXPECT_NEAR(inner_product(x.data(), y.data(), size), X.cwiseProduct(Y).sum(), 1e-11);
    EXPECT_NEAR(l1_norm(x.data(), size), X.cwiseAbs().sum(), 1e-11);
    EXPECT_EQ(max_norm(x.data(), size), size == 0 ? 0 : X.cwiseAbs().maxCoeff());
  }
}

#if defined(__x86_64__)
/// As on a processor that OpenBLAS does not know
void make_blas_fall_back() {
  ::setenv("OPENBLAS_CORETYPE", "Prescott", 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  ::unsetenv("OPENBLAS_CORETYPE");
}

TEST(BlasKernels, FallbackGivesWayAndProductsAgree) {
  if (gotoblas_dynamic_quit == nullptr) GTEST_SKIP() << "the BLAS here does not choose its kernels";
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr) GTEST_SKIP() << "OPENBLAS_CORETYPE is set";
  const std::string before = openblas_get_corename();
  const Matrix<double> A = synthetic::gaussian<double>(70, 50, 1);
  Matrix<double> slow(70, 70), fast(70, 70);
  make_blas_fall_back();
  ASSERT_STREQ(openblas_get_corename(), "Prescott");
  gram<double>(Op::plain, 1, A, 0, slow.view());
  choose_blas_kernels();
  EXPECT_EQ(std::getenv("OPENBLAS_CORETYPE"), nullptr);
  const std::string after = openblas_get_corename();
  const bool able = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  EXPECT_EQ(after == "Haswell" || after == "SkylakeX", able) << after;
  gram<double>(Op::plain, 1, A, 0, fast.view());
  EXPECT_LE(synthetic::distance(fast, slow), 1e-12);
  // a choice that is none of the fallbacks, or the user's own, stays
  choose_blas_kernels();
  EXPECT_EQ(openblas_get_corename(), after);
  make_blas_fall_back();
  ::setenv("OPENBLAS_CORETYPE", "Prescott", 1);
  choose_blas_kernels();
  EXPECT_STREQ(openblas_get_corename(), "Prescott");
  ::setenv("OPENBLAS_CORETYPE", before.c_str(), 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  ::unsetenv("OPENBLAS_CORETYPE");
  EXPECT_EQ(openblas_get_corename(), before);
}

TEST(BlasKernelsDeathTest, AreChosenByTheFirstUseOfTheLibrary) {
  if (gotoblas_dynamic_quit == nullptr) GTEST_SKIP() << "the BLAS here does not choose its kernels";
  if (std::getenv("OPENBLAS_CORETYPE") != nullptr) GTEST_SKIP() << "OPENBLAS_CORETYPE is set";
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) GTEST_SKIP() << "no better kernels";
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process: the library has not been used there
  const auto first_use = [] {
    make_blas_fall_back();
    if (openblas_get_corename() != std::string("Prescott")) std::exit(2);
    parallel_blocks(4, Control{}, [](Index, int) {});
    std::exit(openblas_get_corename() != std::string("Prescott") ? 0 : 1);
  };
  EXPECT_EXIT(first_use(), testing::ExitedWithCode(0), "");
}
#endif

TEST(SerialBlas, RestoresTheThreadsOfBlas) {
  if (openblas_get_num_threads == nullptr) GTEST_SKIP() << "the BLAS here is not OpenBLAS";
  const int before = openblas_get_num_threads();
  openblas_set_num_threads(2);
  const int wanted = openblas_get_num_threads();  // a serial OpenBLAS stays at 1
  {
    const SerialBlas outer;
    EXPECT_EQ(openblas_get_num_threads(), 1);
    {
      const SerialBlas nested;
      EXPECT_EQ(openblas_get_num_threads(), 1);
    }
    EXPECT_EQ(openblas_get_num_threads(), 1) << "the inner one must not restore";
  }
  EXPECT_EQ(openblas_get_num_threads(), wanted);
  int inside = 0;
  parallel_blocks(1, {}, [&](Index, int) { inside = openblas_get_num_threads(); });
  EXPECT_EQ(inside, 1);
  EXPECT_EQ(openblas_get_num_threads(), wanted);
  EXPECT_THROW(parallel_blocks(1, {}, [](Index, int) { throw Error("x"); }), Error);
  EXPECT_EQ(openblas_get_num_threads(), wanted);
  openblas_set_num_threads(before);
}

}  // namespace

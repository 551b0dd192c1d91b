#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

#include "algebra/blas_kernels.hpp"
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

}  // namespace

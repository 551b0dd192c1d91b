// No allocation in inner loops: the number of allocations of a solve does not grow with its rounds or its samples.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "solve/lasso.hpp"
#include "synthetic.hpp"
#include "zoo.hpp"

// Sanitizers bring their own operator new; replacing it there would blind them.
#ifndef PACEWISE_TEST_SANITIZED

namespace {
std::atomic<long> allocations{0};

void* count_and_allocate(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(size > 0 ? size : 1)) return p;
  throw std::bad_alloc();
}
void* count_and_allocate(std::size_t size, std::align_val_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const auto to = static_cast<std::size_t>(alignment);
  if (void* p = std::aligned_alloc(to, (std::max<std::size_t>(size, 1) + to - 1) / to * to)) return p;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t size) { return count_and_allocate(size); }
void* operator new[](std::size_t size) { return count_and_allocate(size); }
void* operator new(std::size_t size, std::align_val_t to) { return count_and_allocate(size, to); }
void* operator new[](std::size_t size, std::align_val_t to) { return count_and_allocate(size, to); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace {

using namespace pacewise;

template <class Call>
long allocations_of(Call&& call) {
  const long before = allocations.load();
  call();
  return allocations.load() - before;
}

struct Count {
  long allocations;
  int rounds;
};

template <class T>
Count codes_count(Index n, zoo::Kind kind, const StepOptions& options) {
  auto p = zoo::make<T>({"random", 20, n, 12}, kind, 5);
  // an atom twice: where one Gram serves all samples the active set gives up on it, and the rounds have work to do
  if (kind != zoo::Kind::element) std::copy_n(p.B.col(0), 20, p.B.col(1));
  const CodesProblem<T> problem{p.X, p.weights, p.B, 0.2, {}};
  Control control;
  control.threads = 1;
  Matrix<T> S = p.S;
  StepReport report;
  const long count = allocations_of([&] { report = solve_codes(problem, S, options, control); });
  return {count, report.rounds};
}

TEST(Allocation, TheCounterCounts) {
  EXPECT_GE(allocations_of([] { Matrix<double>(3, 3); }), 1);
  EXPECT_EQ(allocations_of([] {}), 0);
}

TEST(Allocation, SeparableCodesAllocateNothingPerRound) {
  for (const zoo::Kind kind : {zoo::Kind::none, zoo::Kind::sample, zoo::Kind::feature, zoo::Kind::element}) {
    const Count none = codes_count<double>(100, kind, {1e-9, 0, 0}), one = codes_count<double>(100, kind, {1e-9, 1, 0}),
                loose = codes_count<double>(100, kind, {1e-3, 500, 0}),
                tight = codes_count<double>(100, kind, {1e-13, 500, 0});
    EXPECT_GT(tight.rounds, one.rounds) << zoo::name(kind) << ": the comparison needs more rounds";
    EXPECT_EQ(none.allocations, tight.allocations) << zoo::name(kind);
    EXPECT_EQ(one.allocations, tight.allocations) << zoo::name(kind);
    EXPECT_EQ(loose.allocations, tight.allocations) << zoo::name(kind);
  }
}

TEST(Allocation, SeparableCodesAllocateNothingPerSample) {
  // from 1024 samples on blocks are as large as they get
  for (const zoo::Kind kind : {zoo::Kind::none, zoo::Kind::element})
    EXPECT_EQ(codes_count<double>(1024, kind, {1e-9, 500, 0}).allocations,
              codes_count<double>(4096, kind, {1e-9, 500, 0}).allocations)
        << zoo::name(kind);
}

TEST(Allocation, CoupledCodesAllocateFarLessThanTheyIterate) {
  // Working sets grow with the support: allocations per sample are allowed, per iteration of the inner solvers not.
  const auto count = [](double tol) {
    auto p = zoo::make<double>({"random", 20, 300, 12}, zoo::Kind::element, 5);
    const CodesProblem<double> problem{p.X, p.weights, p.B, 0.2, {&p.L, 8, &p.H, &p.Q, 0}};
    Control control;
    control.threads = 1;
    Matrix<double> S = p.S;
    return allocations_of([&] { solve_codes(problem, S, {tol, 500, 0}, control); });
  };
  EXPECT_LT(count(1e-12), 40 * 300);
}

TEST(Allocation, LassoAllocatesNothing) {
  const auto p = zoo::make<double>({"random", 30, 1, 20}, zoo::Kind::none, 5);
  Matrix<double> A(20, 20);
  Vector<double> c(20, 0.0), s(20, 0.0);
  for (Index a = 0; a < 20; ++a)
    for (Index i = 0; i < 30; ++i) {
      c[static_cast<std::size_t>(a)] += p.B(i, a) * p.X(i, 0);
      for (Index b = 0; b < 20; ++b) A(a, b) += p.B(i, a) * p.B(i, b);
    }
  LassoScratch scratch(20);
  for (const double beta : {0.0, 0.01, 1.0})
    EXPECT_EQ(allocations_of([&] { solve_lasso(A, c.data(), beta, 1e-12, 0, s.data(), scratch); }), 0) << beta;
}

}  // namespace

#endif

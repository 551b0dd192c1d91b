// How soon a large fit returns once it is asked to.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "model/fit.hpp"
#include "synthetic.hpp"
#include "verify.hpp"

namespace {

using namespace pacewise;
using Clock = std::chrono::steady_clock;

constexpr double kPatience = synthetic::sanitized ? 10 : 1;  // seconds

struct Large {
  synthetic::Planted<float> data;
  Options options;
};

Large large() {
  synthetic::Recipe recipe{200, 4000, 64, 3};
  recipe.bad_entries = 0.02;
  return {synthetic::make<float>(recipe),
          {.atoms = 64,
           .alpha = 2,
           .pace = Pace::quantile,
           .pace_iter = 10000,
           .plain_iter = 1,
           .warm_iter = 1,
           .max_iter = 10000,
           .tol = 0}};
}

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

TEST(Cancel, ALargeFitReturnsSoonAfterTheFlag) {
  const Large job = large();
  for (const double after : synthetic::small() ? std::vector<double>{0.3} : std::vector<double>{0.05, 0.5}) {
    std::atomic<bool> cancel{false};
    auto running =
        std::async(std::launch::async, [&] { return fit(job.data.problem(), job.options, {.cancel = &cancel}); });
    ASSERT_EQ(running.wait_for(std::chrono::duration<double>(after)), std::future_status::timeout)
        << "the fit must be in its work";
    const auto start = Clock::now();
    cancel = true;
    const auto result = running.get();
    EXPECT_LT(since(start), kPatience) << "cancelled after " << after << " s";
    EXPECT_EQ(result.termination, Termination::cancelled) << result.detail;
    EXPECT_EQ(static_cast<int>(result.history.size()), result.iteration);
    EXPECT_TRUE(std::isfinite(result.objective.total()));
  }
}

TEST(Cancel, ALargeFitReturnsSoonAfterTheDeadline) {
  const Large job = large();
  const auto deadline = Clock::now() + std::chrono::milliseconds(300);
  const auto result = fit(job.data.problem(), job.options, {.deadline = deadline});
  EXPECT_LT(since(deadline), kPatience);
  EXPECT_EQ(result.termination, Termination::time_limit) << result.detail;
}

/// Whenever the flag comes, the last record is that of a whole iteration.
TEST(Cancel, NoMomentOfCancellationLeavesAHalfRecord) {
  synthetic::Recipe recipe;
  recipe.n = 200;
  const auto p = synthetic::make<double>(recipe);
  Options o;
  o.atoms = 8;
  o.plain_iter = o.warm_iter = 1;
  o.pace = Pace::quantile;
  o.pace_iter = 1000;
  o.max_iter = 1000;
  o.tol = 0;
  Random random(1);
  const int trials = synthetic::small() ? 20 : 60;
  for (int trial = 0; trial < trials; ++trial) {
    std::atomic<bool> cancel{false};
    std::thread alarm([&, wait = 200 + static_cast<int>(20000 * random.uniform())] {
      std::this_thread::sleep_for(std::chrono::microseconds(wait));
      cancel = true;
    });
    const auto result = fit(p.problem(), o, {.threads = 1, .cancel = &cancel});
    alarm.join();
    ASSERT_EQ(result.termination, Termination::cancelled) << result.detail;
    if (result.history.empty()) continue;
    const Record& last = result.history.back();
    const double slack = verify::record_tolerance(last, 1e-9 * last.objective.magnitude());
    ASSERT_NEAR(last.objective.total(), result.objective.total(), slack)
        << "trial " << trial << ", iteration " << last.iteration;
    ASSERT_LE(last.objective.total(), last.objective_before + slack);
  }
}

}  // namespace

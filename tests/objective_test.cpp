#include "solve/objective.hpp"

#include <gtest/gtest.h>

#include "solve/weights.hpp"
#include "tolerances.hpp"
#include "zoo.hpp"

namespace {

using namespace pacewise;

template <class T>
class ObjectiveParts : public testing::Test {};
using Precisions = testing::Types<double, float>;
TYPED_TEST_SUITE(ObjectiveParts, Precisions);

TYPED_TEST(ObjectiveParts, EqualTheSlowPath) {
  using T = TypeParam;
  const double alpha = 3, beta = 0.7, gamma = 0.4, eta = 6;
  auto shapes = zoo::shapes();
  shapes.push_back({"several blocks", 7, 150, 6});
  for (const auto& shape : shapes)
    for (const zoo::Kind kind : {zoo::Kind::none, zoo::Kind::sample, zoo::Kind::feature, zoo::Kind::element}) {
      const auto p = zoo::make<T>(shape, kind, 21);
      const Coupling<T> coupling{&p.L, alpha, &p.H, &p.Q, gamma};
      Objective o = code_terms<T>(p.S, {beta}, coupling, eta, {});
      // weights as the V-step would give them: v = 1 everywhere, and the user's weights in the losses
      const auto losses = unit_losses<T>(p.X, p.weights, p.B, p.S, Level::sample, {});
      o.fit = summarize(losses, {}, {}, Linear{}, std::numeric_limits<double>::infinity(), {}).fit;
      auto setting = zoo::setting(p, alpha, beta, gamma);
      setting.eta = eta;
      const auto slow = reference::objective(setting);
      const auto close = [&](double fast, long double expected, const char* part) {
        EXPECT_NEAR(fast, static_cast<double>(expected),
                    tolerance<T>().recomputed * std::max(1e-6, std::abs(static_cast<double>(expected))))
            << part << " " << p.name;
      };
      close(o.fit, slow.fit, "fit");
      close(o.sparsity, slow.sparsity, "sparsity");
      close(o.consistency, slow.consistency, "consistency");
      // tr(S L S') cancels where neighbours agree: judged against tr(S S')
      long double size = 0;
      for (Index i = 0; i < p.S.size(); ++i) size += static_cast<long double>(p.S.data()[i]) * p.S.data()[i];
      EXPECT_NEAR(o.manifold, static_cast<double>(slow.manifold),
                  tolerance<T>().recomputed * static_cast<double>(alpha * size))
          << p.name;
      EXPECT_DOUBLE_EQ(o.total(), o.fit + o.pace + o.sparsity + o.manifold + o.consistency);
    }
}

TYPED_TEST(ObjectiveParts, AbsentTermsCostNothing) {
  using T = TypeParam;
  const auto p = zoo::make<T>(zoo::shapes()[0], zoo::Kind::none, 3);
  const auto zero = [](const Objective& o) { return o.manifold == 0 && o.consistency == 0; };
  EXPECT_TRUE(zero(code_terms<T>(p.S, {1}, {}, 1, {})));
  EXPECT_TRUE(zero(code_terms<T>(p.S, {1}, {&p.L, 0, &p.H, &p.Q, 0}, 1, {})));
  EXPECT_TRUE(zero(code_terms<T>(p.S, {1}, {nullptr, 5, nullptr, nullptr, 5}, 1, {})));
  EXPECT_EQ(code_terms<T>(p.S, {0}, {}, 1, {}).total(), 0);
}

TYPED_TEST(ObjectiveParts, SameBitsForAnyNumberOfThreads) {
  using T = TypeParam;
  const auto p = zoo::make<T>({"long", 5, 400, 6}, zoo::Kind::none, 9);
  const Coupling<T> coupling{&p.L, 2, &p.H, &p.Q, 1};
  Control control;
  control.threads = 1;
  const Objective one = code_terms<T>(p.S, {0.3}, coupling, 2, control);
  for (const int threads : {2, 3, 5}) {
    control.threads = threads;
    const Objective many = code_terms<T>(p.S, {0.3}, coupling, 2, control);
    EXPECT_EQ(many.sparsity, one.sparsity);
    EXPECT_EQ(many.manifold, one.manifold);
    EXPECT_EQ(many.consistency, one.consistency);
  }
}

TEST(Objective, MagnitudeAddsSizes) {
  Objective o;
  o.fit = 1;
  o.pace = -5;
  o.sparsity = 2;
  o.manifold = 0.5;
  o.consistency = 0.25;
  EXPECT_DOUBLE_EQ(o.total(), -1.25);
  EXPECT_DOUBLE_EQ(o.magnitude(), 8.75);
}

}  // namespace

#include <gtest/gtest.h>

#include "algebra/random.hpp"
#include "graph/graph.hpp"

namespace pacewise {
namespace {

/// The shares reported while a graph is built grow, begin in the projection and end at 1.
TEST(GraphProgress, SharesGrowFromTheProjectionToTheLastNeighbour) {
  Random random(4);
  for (const bool missing : {false, true}) {
    Matrix<double> X(300, 700);
    for (Index p = 0; p < X.size(); ++p) X.data()[p] = random.normal();
    if (missing) X(3, 5) = std::numeric_limits<double>::quiet_NaN();
    const Data<double> data = prepare<double>({X, {}}, Normalize::none);
    std::vector<double> shares;
    const std::function<void(double)> hook = [&](double share) { shares.push_back(share); };
    Control control;
    control.threads = 1;
    control.progress = &hook;
    Options options;
    options.k = 3;
    options.graph_space = {Space::Kind::half, 40};
    const Graph told = build_graph<double>(data, options, control);
    EXPECT_GT(shares.size(), 20U);
    EXPECT_LT(shares.front(), 0.1);
    EXPECT_EQ(shares.back(), 1);
    for (std::size_t i = 1; i < shares.size(); ++i) EXPECT_GE(shares[i], shares[i - 1]);
    control.progress = nullptr;
    EXPECT_EQ(build_graph<double>(data, options, control).laplacian.value, told.laplacian.value);
  }
}

}  // namespace
}  // namespace pacewise

#include "graph/graph.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>
#include <numeric>
#include <string>

#include "synthetic.hpp"

namespace pacewise {
namespace {

using synthetic::expect_error;
using synthetic::gaussian;
using synthetic::has_note;

Eigen::MatrixXd full(const Sparse& a) { return to_eigen(a); }
Sparse from_full(const Eigen::MatrixXd& a) { return from_eigen(a.sparseView()); }

void expect_near(const Sparse& found, const Eigen::MatrixXd& expected, double tolerance = 1e-14) {
  ASSERT_EQ(found.rows, expected.rows());
  ASSERT_EQ(found.cols, expected.cols());
  EXPECT_LE((full(found) - expected).cwiseAbs().maxCoeff(), tolerance) << full(found);
}

void expect_eigenvalues_in(const Sparse& a, double low, double high) {
  const Eigen::VectorXd values = Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(full(a)).eigenvalues();
  EXPECT_GE(values.minCoeff(), low - 1e-12);
  EXPECT_LE(values.maxCoeff(), high + 1e-12);
}

Options options(GraphKind kind, EdgeWeight weight = EdgeWeight::binary, const char* space = "raw") {
  Options out;
  out.graph = kind;
  out.k = 3;
  out.edge_weight = weight;
  out.graph_space = parse_space(space);
  return out;
}

/// NaN is a missing entry
Graph build(const Matrix<double>& X, const Options& o) {
  return build_graph<double>(prepare<double>({X, {}}, Normalize::none), o, {});
}

constexpr EdgeWeight kWeights[] = {EdgeWeight::binary, EdgeWeight::heat, EdgeWeight::cosine, EdgeWeight::probabilistic};

/// D - A, or 1 - D^-1/2 A D^-1/2 with a zero row where a vertex has no neighbour
Eigen::MatrixXd laplacian(const Eigen::MatrixXd& A, bool normalized) {
  const Eigen::VectorXd degree = A.rowwise().sum();
  const Eigen::MatrixXd plain = Eigen::MatrixXd(degree.asDiagonal()) - A;
  if (!normalized) return plain;
  const Eigen::VectorXd root = (degree.array() > 0).select(degree.array().rsqrt(), 0.0);
  return root.asDiagonal() * plain * root.asDiagonal();
}

TEST(Laplacian, GraphFormula) {
  Eigen::MatrixXd path(3, 3), isolated(3, 3);
  path << 0, 1, 0, 1, 0, 1, 0, 1, 0;
  isolated << 0, 0, 2, 0, 0, 0, 2, 0, 0;
  const Eigen::MatrixXd complete = Eigen::MatrixXd::Ones(6, 6) - Eigen::MatrixXd::Identity(6, 6);
  for (const Eigen::MatrixXd& A : {path, isolated, complete})
    for (const bool normalized : {false, true})
      expect_near(graph_laplacian(from_full(A), normalized), laplacian(A, normalized), normalized ? 1e-15 : 0);
  const Sparse H = sparse_from_triplets(1, 3, {{0, 0, 1.0}, {0, 2, 1.0}});
  expect_near(hypergraph_laplacian(H, {}), 0.5 * laplacian(isolated, true));
}

TEST(Laplacian, HypergraphFormula) {
  Random random(1);
  Eigen::MatrixXd H = Eigen::MatrixXd::Zero(7, 9);
  Vector<double> weight(7);
  for (Index e = 0; e < 7; ++e) {
    weight[e] = 0.1 + random.uniform();
    for (Index v = 0; v < 9; ++v)
      if (v == e || random.uniform() < 0.4) H(e, v) = random.uniform();
  }
  H.row(3).tail(2).setOnes();
  H(0, 7) = H(0, 8) = 0.5;
  const Eigen::VectorXd We = eigen(weight), De = H.rowwise().sum(), Dx = H.transpose() * We,
                        root = Dx.cwiseSqrt().cwiseInverse();
  const Eigen::MatrixXd expected = Eigen::MatrixXd::Identity(9, 9) - root.asDiagonal() * H.transpose() *
                                                                         We.cwiseQuotient(De).asDiagonal() * H *
                                                                         root.asDiagonal();
  const Sparse L = hypergraph_laplacian(from_full(H), weight);
  expect_near(L, expected);
  EXPECT_EQ(L, transpose(L));
}

// What check_symmetric refuses is in algebra_test.cpp.
TEST(Laplacian, RefusesWhatIsNone) {
  EXPECT_NO_THROW(check_laplacian(Sparse{}));
  EXPECT_NO_THROW(check_laplacian(sparse_from_triplets(4, 4, {})));
  const Sparse signs = sparse_from_triplets(2, 2, {{0, 1, -1.0}, {1, 0, -1.0}}), wide = sparse_from_triplets(2, 3, {});
  expect_error([&] { graph_laplacian(signs, true); }, "affinity: entry (1, 0) is -1, must be non-negative");
  expect_error([&] { graph_laplacian(wide, true); }, "affinity: is 2 x 3, must be square");
  const auto refused = [](const std::vector<Triplet>& entries, const char* part) {
    expect_error([&] { check_laplacian(sparse_from_triplets(2, 2, entries)); }, part);
  };
  refused({{0, 1, 1.0}}, "laplacian: entries");
  refused({{1, 1, -1.0}}, "diagonal entry 1 is -1");
  refused({{0, 0, 1.0}, {1, 1, 1.0}, {0, 1, 3.0}, {1, 0, 3.0}}, "eigenvalue of at most -2");
}

TEST(Laplacian, FindsOneBadPairAmongMany) {
  // normalised Laplacian of a long cycle, and two vertices whose 2 x 2 block has eigenvalues 2.2 and -0.2
  const std::int32_t n = 3000;
  std::vector<Triplet> entries{{n, n, 1.0}, {n + 1, n + 1, 1.0}, {n, n + 1, -1.2}, {n + 1, n, -1.2}};
  for (std::int32_t i = 0; i < n; ++i) {
    entries.push_back({i, i, 1.0});
    entries.push_back({i, (i + 1) % n, -0.5});
    entries.push_back({(i + 1) % n, i, -0.5});
  }
  expect_error([&] { check_laplacian(sparse_from_triplets(n + 2, n + 2, entries)); }, "eigenvalue of at most -0.2");
  entries[2].value = entries[3].value = -1.0;
  EXPECT_NO_THROW(check_laplacian(sparse_from_triplets(n + 2, n + 2, entries)));
}

TEST(Laplacian, SemidefiniteWithoutDominanceIsAccepted) {
  const Matrix<double> half = gaussian<double>(40, 12, 12);
  const Eigen::MatrixXd L = eigen(half) * eigen(half).transpose();
  ASSERT_LT((2 * L.diagonal() - L.cwiseAbs().rowwise().sum()).minCoeff(), 0);
  EXPECT_NO_THROW(check_laplacian(from_full(L)));
}

TEST(Graph, PointsOnALine) {
  // 0, 1, 3, 7: nearest of each is 1, 0, 1, 2
  Matrix<double> X(1, 4);
  eigen(X) << 0, 1, 3, 7;
  Options o = options(GraphKind::knn);
  o.k = 1;
  o.normalized_laplacian = false;
  const Graph graph = build(X, o);
  Eigen::Matrix4d L, H;
  L << 1, -1, 0, 0, -1, 2, -1, 0, 0, -1, 2, -1, 0, 0, -1, 1;
  H << 1, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1;
  expect_near(graph.laplacian, L, 0);
  expect_near(graph.incidence, H, 0);
  EXPECT_TRUE(graph.notes.empty());

  o.graph = GraphKind::hypergraph;
  expect_near(build(X, o).incidence, H, 0);
  EXPECT_EQ(build(X, o).laplacian, hypergraph_laplacian(graph.incidence, {}));
  // squared distances 1, 1, 4, 16: mean 5.5
  o.edge_weight = EdgeWeight::heat;
  const Vector<double> heat{std::exp(-1 / 5.5), std::exp(-1 / 5.5), std::exp(-4 / 5.5), std::exp(-16 / 5.5)};
  expect_near(build(X, o).laplacian, full(hypergraph_laplacian(graph.incidence, heat)));
  expect_near(build(X, o).incidence, H, 0);
  o.edge_weight = EdgeWeight::probabilistic;
  H(0, 1) = H(1, 0) = heat[0];
  H(2, 1) = heat[2];
  H(3, 2) = heat[3];
  expect_near(build(X, o).incidence, H);
  expect_near(build(X, o).laplacian, full(hypergraph_laplacian(from_full(H), {})));
  o.heat_width = 2;
  H(0, 1) = H(1, 0) = std::exp(-0.5);
  H(2, 1) = std::exp(-2.0);
  H(3, 2) = std::exp(-8.0);
  expect_near(build(X, o).incidence, H);
}

TEST(Graph, CosineWeights) {
  Matrix<double> X(2, 3);  // directions 0, 60 and 180 degrees
  eigen(X) << 2, 0.5, -1, 0, std::sqrt(0.75), 0;
  Options o = options(GraphKind::knn, EdgeWeight::cosine);
  o.k = 2;
  o.normalized_laplacian = false;
  Eigen::Matrix3d L;
  L << 0.5, -0.5, 0, -0.5, 0.5, 0, 0, 0, 0;
  expect_near(build(X, o).laplacian, L);
}

TEST(Graph, LaplaciansAreThoseOfTheirWeights) {
  const Matrix<double> X = gaussian<double>(5, 80, 3);
  for (const EdgeWeight weight : kWeights) {
    Options o = options(GraphKind::knn, weight);
    const Graph knn = build(X, o);
    o.normalized_laplacian = false;
    const Sparse plain = build(X, o).laplacian;
    Eigen::MatrixXd A = -full(plain), H = full(knn.incidence);
    A.diagonal().setZero();
    H.diagonal().setZero();
    EXPECT_TRUE(weight != EdgeWeight::binary || A == H.cwiseMax(H.transpose())) << "the union of both directions";
    expect_near(plain, laplacian(A, false), 1e-13);
    expect_near(knn.laplacian, laplacian(A, true), 1e-12);
    o.graph = GraphKind::hypergraph;
    const Graph hyper = build(X, o);
    for (const Sparse* L : {&plain, &knn.laplacian, &hyper.laplacian}) {
      EXPECT_NO_THROW(check_laplacian(*L));
      EXPECT_EQ(*L, transpose(*L));
    }
    expect_eigenvalues_in(knn.laplacian, 0, 2);
    expect_eigenvalues_in(hyper.laplacian, 0, 1);
    EXPECT_EQ(full(hyper.incidence).diagonal(), Eigen::VectorXd::Ones(80));
  }
}

TEST(Graph, PermutingSamplesPermutesTheGraph) {
  const Index n = 90;
  const Matrix<double> X = gaussian<double>(20, n, 5);
  Matrix<double> Y(20, n);
  Eigen::PermutationMatrix<Eigen::Dynamic> P(n);
  for (int j = 0; j < n; ++j) P.indices()(j) = static_cast<int>(j * 7 % n);
  eigen(Y) = eigen(X) * P.transpose();
  for (const char* space : {"raw", "pca:5", "half:5", "white:5"})
    for (const GraphKind kind : {GraphKind::knn, GraphKind::hypergraph}) {
      const Graph a = build(X, options(kind, EdgeWeight::heat, space));
      const Graph b = build(Y, options(kind, EdgeWeight::heat, space));
      expect_near(b.laplacian, P * full(a.laplacian) * P.transpose(), 1e-8);
      EXPECT_EQ(a.incidence.nonzeros(), b.incidence.nonzeros());
    }
}

TEST(Graph, FloatAndDoubleAgree) {
  const Matrix<double> X = gaussian<double>(15, 200, 7);
  const Graph a = build(X, options(GraphKind::hypergraph, EdgeWeight::binary, "half:8"));
  const Graph b = build_graph<float>(cast<float>(MatrixView<const double>(X)),
                                     options(GraphKind::hypergraph, EdgeWeight::binary, "half:8"), {});
  EXPECT_EQ(a.incidence, b.incidence);
}

TEST(Graph, DegenerateData) {
  for (const EdgeWeight weight : kWeights)
    for (const char* space : {"raw", "pca:3", "half:3", "white:3"})
      for (const GraphKind kind : {GraphKind::knn, GraphKind::hypergraph}) {
        const Graph graph = build(Matrix<double>(4, 12, 0.1), options(kind, weight, space));
        EXPECT_NO_THROW(check_laplacian(graph.laplacian));
        EXPECT_NO_THROW(check_laplacian(build(Matrix<double>(4, 12), options(kind, weight, space)).laplacian));
      }
  const Graph none = build(gaussian<double>(2, 5, 9), options(GraphKind::none));
  EXPECT_TRUE(none.laplacian.empty());
  EXPECT_TRUE(none.incidence.empty());
}

TEST(Graph, NotesSayWhatWasDone) {
  Matrix<double> X = gaussian<double>(6, 50, 10);
  for (Index j = 0; j < 30; ++j) X(j % 6, j) = std::nan("");
  EXPECT_TRUE(
      has_note(build(X, options(GraphKind::knn)).notes, "10.0% of the entries are missing: the graph's distances"));
  const Graph filled = build(X, options(GraphKind::knn, EdgeWeight::binary, "half:40"));
  EXPECT_TRUE(
      has_note(filled.notes, "10.0% of the entries are missing: for the graph they are filled in by the rank-6"));
  for (const std::string& note : filled.notes) EXPECT_EQ(note.find("half:40"), std::string::npos) << "six features";
  for (Index i = 0; i < 6; ++i) X(i, 40) = std::nan("");
  for (const char* space : {"raw", "half:3"}) {
    const Graph lonely = build(X, options(GraphKind::hypergraph, EdgeWeight::binary, space));
    EXPECT_TRUE(has_note(lonely.notes, "1 of 50 samples have no comparable neighbour"));
    EXPECT_EQ(full(lonely.laplacian).row(40).cwiseAbs().sum(), 0);
    EXPECT_EQ(full(lonely.incidence).row(40).sum(), 1);
  }
  Matrix<double> split(2, 5, std::nan(""));
  for (Index j = 0; j < 5; ++j) split(j < 2 ? 0 : 1, j) = static_cast<double>(j);
  Options o = options(GraphKind::hypergraph);
  o.k = 2;
  EXPECT_TRUE(has_note(build(split, o).notes, "2 of 5 samples have fewer than k = 2 comparable neighbours"));
}

TEST(Graph, NeedsMoreSamplesThanNeighbours) {
  Options o = options(GraphKind::knn);
  o.k = 8;
  expect_error([&] { build(gaussian<double>(3, 8, 11), o); }, "k = 8: must be less than the number of samples, 8");
  expect_error([&] { build(gaussian<double>(3, 1, 1), options(GraphKind::knn)); }, "k = 3");
  o.k = 0;  // and options that validate() refuses
  expect_error([&] { build(gaussian<double>(3, 8, 11), o); }, "k = 0: must be an integer >= 1");
}

/// The shares reported while a graph is built grow, begin in the projection and end at 1.
TEST(Graph, ProgressGrowsFromTheProjectionToTheLastNeighbour) {
  for (const bool missing : {false, true}) {
    Matrix<double> X = gaussian<double>(300, 700, 4);
    if (missing) X(3, 5) = std::nan("");
    const Data<double> data = prepare<double>({X, {}}, Normalize::none);
    std::vector<double> shares;
    const std::function<void(double)> hook = [&](double share) { shares.push_back(share); };
    const Options o = options(GraphKind::hypergraph, EdgeWeight::binary, "half:40");
    const Graph told = build_graph<double>(data, o, {.threads = 1, .progress = &hook});
    EXPECT_GT(shares.size(), 20U);
    EXPECT_LT(shares.front(), 0.1);
    EXPECT_EQ(shares.back(), 1);
    EXPECT_TRUE(std::is_sorted(shares.begin(), shares.end()));
    EXPECT_EQ(build_graph<double>(data, o, {.threads = 3}).laplacian, told.laplacian);
  }
}

}  // namespace
}  // namespace pacewise

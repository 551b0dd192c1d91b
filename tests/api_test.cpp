// The public interface through the public headers alone: fit, encode, save, load, the steps, k-means; float and double,
// views with a stride, Eigen matrices, missing values.
#include <gtest/gtest.h>
#include <unistd.h>

#include <Eigen/Core>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <pacewise/pacewise.hpp>
#include <sstream>

#include "tolerances.hpp"

namespace pacewise {
namespace {

template <class T>
class Api : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(Api, Precisions);

/// Multiples of three directions with a little structure on top; one gross outlier.
template <class T>
Matrix<T> planted(Index m = 12, Index n = 45) {
  Matrix<T> X(m, n);
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i) {
      const auto di = static_cast<double>(i), dj = static_cast<double>(j);
      X(i, j) = static_cast<T>((1 + 0.2 * std::sin(dj)) * std::cos(di * (static_cast<double>(j % 3) + 0.5)) +
                               0.05 * std::sin(3.7 * di * dj));
    }
  X(2, 4) = T(9);
  return X;
}

Options quick() {
  return {
      .atoms = 5, .pace = Pace::quantile, .pace_iter = 3, .plain_iter = 2, .warm_iter = 2, .polish = 3, .max_iter = 40};
}

std::string scratch(const std::string& name) {
  return (std::filesystem::temp_directory_path() / ("pacewise_api_" + std::to_string(::getpid()) + "_" + name))
      .string();
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

TYPED_TEST(Api, AViewWithAStrideIsTheMatrixItShows) {
  using T = TypeParam;
  const Matrix<T> X = planted<T>();
  Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> wide(X.rows() + 3, X.cols());
  wide.setConstant(std::numeric_limits<T>::quiet_NaN());
  wide.middleRows(1, X.rows()) = Eigen::Map<const decltype(wide)>(X.data(), X.rows(), X.cols());
  const Model<T> whole = fit(X, quick());
  const auto by_eigen = fit(wide.middleRows(1, X.rows()), quick());  // nothing to be said between < and >
  static_assert(std::is_same_v<decltype(by_eigen), const Model<T>>);
  const Model<T> by_view = fit(MatrixView<const T>(wide.data() + 1, X.rows(), X.cols(), wide.rows()), quick());
  EXPECT_EQ(whole.dictionary, by_eigen.dictionary);
  EXPECT_EQ(whole.codes, by_view.codes);
  EXPECT_EQ(whole.sources, by_view.sources);
}

TYPED_TEST(Api, TheModelOwnsWhatItHolds) {
  using T = TypeParam;
  const Matrix<T> X = planted<T>();
  auto gone = std::make_unique<Matrix<T>>(X);
  const Model<T> model = fit(*gone, quick());
  gone.reset();
  EXPECT_EQ(model.codes, fit(X, quick()).codes);
  const Encoding<T> e = model.encode(X);
  const auto numbers = [](const Matrix<T>& a) {
    Eigen::MatrixXd out =
        Eigen::Map<const Eigen::Matrix<T, -1, -1>>(a.data(), a.rows(), a.cols()).template cast<double>();
    out(2, 4) = 0;
    return out;
  };
  EXPECT_LT((numbers(model.reconstruct(e.codes, e.sample_scale)) - numbers(X)).squaredNorm(),
            0.2 * numbers(X).squaredNorm());
  Matrix<T> changed = X;
  changed(5, 0) += T(4);
  EXPECT_LT(model.score(changed).confidence(5, 0), T(0.5));
  EXPECT_GT(model.score(X).confidence(5, 0), T(0.5));
}

TYPED_TEST(Api, FilesGiveBackEveryBit) {
  using T = TypeParam;
  Matrix<T> X = planted<T>();
  X(0, 0) = std::numeric_limits<T>::quiet_NaN();
  const std::string path = scratch("bits.pw"), second = scratch("second.pw");
  for (const Level level : {Level::none, Level::sample, Level::feature, Level::element}) {
    Options options = quick();
    options.level = level;
    options.regularizer = Polynomial{.power = 2.5};
    options.normalize = level == Level::feature ? Normalize::standard : Normalize::unit;
    options.final = 0.9;
    options.polish = level == Level::element ? 0 : 2;
    Model<T> model = fit(X, options);
    model.feature_names.assign(12, "g\u00e8ne");
    model.save(path);
    const Model<T> again = load<T>(path);
    EXPECT_EQ(again.codes, model.codes);
    EXPECT_EQ(again.weights, model.weights);
    EXPECT_EQ(again.losses, model.losses);
    EXPECT_EQ(again.graph.laplacian, model.graph.laplacian);
    EXPECT_EQ(again.history.size(), model.history.size());
    EXPECT_EQ(again.termination, model.termination);
    EXPECT_EQ(again.options.final, 0.9);
    EXPECT_EQ(std::get<Polynomial>(again.options.regularizer).power, 2.5);
    EXPECT_EQ(again.encode(X).codes, model.encode(X).codes) << name_of(level);
    EXPECT_EQ(again.score(X).outlier_score.back(), model.score(X).outlier_score.back());
    again.save(second);
    EXPECT_EQ(bytes_of(second), bytes_of(path)) << name_of(level);
    fit(X, options, {.threads = 1}).save(second);
    fit(X, options, {.threads = 3}).save(path);
    EXPECT_EQ(bytes_of(second), bytes_of(path)) << "identical runs give identical files";
  }
  std::remove(path.c_str());
  std::remove(second.c_str());
}

TEST(ApiFiles, EitherPrecisionLoadsAsTheOther) {
  const Matrix<float> X = planted<float>();
  const std::string path = scratch("single.pw");
  Options options = quick();
  options.beta = 1e6;
  fit(X, options).save(path);
  EXPECT_EQ(load(path).density, 0) << "codes that are all zero";
  const Model<float> model = fit(X, quick());
  model.save(path);
  const auto as_double = load(path);
  static_assert(std::is_same_v<decltype(as_double), const Model<double>>);
  std::remove(path.c_str());
  for (Index k = 0; k < model.codes.size(); ++k)
    ASSERT_EQ(as_double.codes.data()[k], static_cast<double>(model.codes.data()[k]));
}

TYPED_TEST(Api, AResumedRunGoesOnWithTheSameBits) {
  using T = TypeParam;
  const Matrix<T> X = planted<T>();
  const std::string stopped = scratch("stopped.pw"), whole = scratch("whole.pw"), resumed = scratch("resumed.pw");
  const Options options = quick();
  fit(X, options, {.checkpoint = stopped}).save(whole);
  for (const int last : {1, 5, 9}) {
    const auto until = [&](const Record& record) { return record.iteration < last; };
    const Model<T> part = fit(X, options, {.callback = until, .checkpoint = stopped});
    EXPECT_EQ(part.termination, Termination::cancelled);
    EXPECT_THROW(load<T>(stopped), ReadError) << "a checkpoint is not a model";
    for (int of_a_model = 0; of_a_model < 2; ++of_a_model) {  // that was stopped goes on as well
      fit(X, options, {.resume = stopped}).save(resumed);
      EXPECT_EQ(bytes_of(resumed), bytes_of(whole)) << last;
      part.save(stopped);
    }
  }
  Matrix<T> other = X;
  other(0, 0) += T(1);
  const Weights<T> weights{Vector<T>(X.cols(), T(2)), {}, {}};
  EXPECT_THROW(fit(other, options, {.resume = stopped}), Error);
  EXPECT_THROW(fit({X, weights}, options, {.resume = stopped}), Error);
  for (const std::string& path : {stopped, whole, resumed}) std::remove(path.c_str());
}

TYPED_TEST(Api, DamagedFilesAreRefusedInOneLine) {
  using T = TypeParam;
  const std::string path = scratch("damaged.pw");
  Options options = quick();
  options.max_iter = 2;
  const Model<T> model = fit(planted<T>(4, 8), options);
  model.save(path);
  const std::string good = bytes_of(path);
  const auto refused = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    try {
      load<T>(path);
    } catch (const ReadError& error) {
      const std::string line = error.what();
      return line.find('\n') == std::string::npos && line.find(path) == 0;
    }
    return false;
  };
  for (std::size_t bit = 0; bit < 8 * good.size(); bit += bit < 8 * 64 ? 1 : 211) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_TRUE(refused(bytes)) << "bit " << bit;
  }
  for (std::size_t size = 0; size < good.size(); size += 97) ASSERT_TRUE(refused(good.substr(0, size))) << size;
  ASSERT_TRUE(refused(good + "x"));
  std::remove(path.c_str());
  EXPECT_THROW(model.save(scratch("nowhere/model.pw")), WriteError);
  EXPECT_THROW(model.save("/dev/full"), WriteError);
  EXPECT_THROW(load<T>(path), ReadError) << "no such file";
}

// Files of before version 2, written by 0.5: the codes it gave for the same samples are beside them.
Matrix<double> table(const std::string& name, Index columns) {
  std::ifstream in(std::string(PACEWISE_FIXTURES) + "/" + name);
  Vector<double> numbers;
  for (std::string cell; std::getline(in, cell, ',');) {
    std::stringstream words(cell);
    for (double x = 0; words >> x;) numbers.push_back(x);
  }
  Matrix<double> out;
  const auto count = static_cast<Index>(numbers.size());
  out.take(std::move(numbers), columns, count / columns);
  return out;
}

TEST(ApiFiles, OldModelsStillLoad) {
  const std::string folder = std::string(PACEWISE_FIXTURES) + "/";
  const Matrix<double> X = table("data.csv", 6);
  for (const char* name : {"version1_double", "version1_single"}) {
    const auto model = load(folder + name + ".pw");
    const Matrix<double> expected = table(std::string(name) + "_codes.csv", 4);
    const Matrix<double> codes = model.encode(X).codes;
    ASSERT_EQ(codes.cols(), expected.cols());
    for (Index k = 0; k < codes.size(); ++k)
      EXPECT_NEAR(codes.data()[k], expected.data()[k], tolerance<float>().recomputed) << name;
    EXPECT_TRUE(std::isnan(model.outlier_threshold));
    EXPECT_GT(model.history.size(), 2U);
  }
  EXPECT_EQ(std::get<Mixture>(load(folder + "version1_double.pw").options.regularizer).ratio, 0.5);
  const Model<double> resumed = fit(X, {.max_iter = 6}, {.resume = folder + "version1_checkpoint.pw"});
  EXPECT_EQ(resumed.iteration, 6);
}

TYPED_TEST(Api, StepsGraphsAndClustersAreThoseOfTheFit) {
  using T = TypeParam;
  const Matrix<T> X = planted<T>();
  Options options = quick();
  options.kind = Kind::images;
  options.level = Level::none;
  options.normalize = Normalize::none;
  const Model<T> model = fit(X, options);
  const Coupling<T> coupling{.laplacian = &model.graph.laplacian,
                             .alpha = options.alpha,
                             .incidence = &model.graph.incidence,
                             .consistency = &model.consistency,
                             .gamma = options.gamma};
  const Objective J =
      objective(X, model.dictionary, model.codes, {.penalty = {model.beta}, .coupling = coupling, .eta = options.eta});
  const double size = model.objective.magnitude();
  EXPECT_NEAR(J.total(), model.objective.total(), tolerance<T>().recomputed * size);
  const Step<T> codes = sparse_encode(X, model.dictionary, {.penalty = {model.beta}, .coupling = coupling});
  const Objective better =
      objective(X, model.dictionary, codes.value, {.penalty = {model.beta}, .coupling = coupling, .eta = options.eta});
  EXPECT_LE(better.total(), J.total() + tolerance<T>().recomputed * size);
  const Step<T> dictionary = update_dictionary(X, codes.value, model.dictionary);
  EXPECT_LE(dictionary.report.certificate, 1e-4);
  const Step<T> map = update_consistency(model.graph.incidence, codes.value, options.eta);
  EXPECT_EQ(map.value.rows(), model.graph.incidence.rows);
  const Vector<T> v = pace_weights(Vector<T>{T(0), T(1), T(3)}, 2);
  EXPECT_EQ(v, (Vector<T>{T(1), T(0.5), T(0)}));
  EXPECT_THROW(sparse_encode(X, model.dictionary, {.penalty = {-1}}), Error);
  EXPECT_THROW(update_dictionary(X, model.dictionary), Error);
  const Graph graph = build_graph(X, options);
  const Model<T> given = fit(X, options, {.graph = &graph});
  EXPECT_EQ(given.codes, model.codes);
  EXPECT_TRUE(given.sources.graph);
  EXPECT_THROW(fit(X, options, {.max_seconds = 0}), Error);
  EXPECT_THROW(fit(X, options, {.every = 0}), Error);
  std::vector<std::int32_t> labels;
  for (std::int32_t j = 0; j < 45; ++j) labels.push_back(j % 3);
  double best = 0;
  for (const KMeansRun& run : kmeans(X, {.clusters = 3, .runs = 5, .unit_norm = true}))
    best = std::max(best, clustering_scores(labels, run.assignment).acc);
  EXPECT_GT(best, 0.9);
}

}  // namespace
}  // namespace pacewise

// Fits, codes, saves and loads through the installed headers alone.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <pacewise/pacewise.hpp>

int main(int argc, char** argv) {
  using namespace pacewise;
  if (argc > 1 && std::strcmp(argv[1], kVersion) != 0) return 2;

  Matrix<float> X(6, 30);
  for (Index j = 0; j < X.cols(); ++j)
    for (Index i = 0; i < X.rows(); ++i)
      X(i, j) = static_cast<float>(std::sin(1.0 + static_cast<double>(i * (j % 3 + 1))));
  const Model<float> model = fit(X, {.atoms = 4, .k = 3}, {.threads = 2});
  if (!(model.certificate.codes < 1e-3)) return 3;
  if (sparse_encode(X, model.dictionary, {.penalty = {.beta = 0.1}}).value.cols() != 30) return 4;
  if (kmeans(model.codes, {.clusters = 3, .runs = 1}).size() != 1) return 5;

  model.save("consumer.pw");
  const auto again = load<float>("consumer.pw");
  std::remove("consumer.pw");
  if (!(again.encode(X).codes == model.encode(X).codes)) return 6;

  try {
    fit(X, {.atoms = 0});
  } catch (const Error&) {
    return 0;
  }
  return 7;
}

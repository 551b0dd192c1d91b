#include <benchmark/benchmark.h>

#include <cmath>

#include "algebra/random.hpp"
#include "graph/neighbours.hpp"
#include "solve/codes.hpp"
#include "solve/dictionary.hpp"
#include "solve/weights.hpp"

// One step of the fit each, on made-up data of a fixed seed, one thread: what a change to a solver did to its time.
// Each reports the certificate of its answer: a faster step that is less exact is not faster.

namespace pacewise {
namespace {

constexpr Index kFeatures = 256, kSamples = 512, kAtoms = 128;

template <class T>
struct Setting {
  Matrix<T> X{kFeatures, kSamples}, B{kFeatures, kAtoms}, S{kAtoms, kSamples};
  Weights<T> weights;
  Control control;

  explicit Setting(bool entries) {
    control.threads = 1;
    Random random(1);
    for (Index k = 0; k < kAtoms; ++k) fill_unit(random, B.col(k));
    for (Index j = 0; j < kSamples; ++j) {
      for (int t = 0; t < 8; ++t) S(random.below(kAtoms), j) = static_cast<T>(random.normal());
      for (Index i = 0; i < kFeatures; ++i) {
        double x = 0.05 * random.normal();
        for (Index k = 0; k < kAtoms; ++k) x += static_cast<double>(B(i, k)) * static_cast<double>(S(k, j));
        X(i, j) = static_cast<T>(x);
      }
    }
    if (!entries) return;
    weights.entry = Matrix<T>(kFeatures, kSamples);
    for (Index i = 0; i < weights.entry.size(); ++i) weights.entry.data()[i] = static_cast<T>(random.uniform());
  }

  static void fill_unit(Random& random, T* atom) {
    double norm = 0;
    for (Index i = 0; i < kFeatures; ++i) {
      atom[i] = static_cast<T>(random.normal());
      norm += static_cast<double>(atom[i]) * static_cast<double>(atom[i]);
    }
    for (Index i = 0; i < kFeatures; ++i) atom[i] /= static_cast<T>(std::sqrt(norm));
  }
};

StepOptions options() {
  StepOptions o;
  o.tol = 1e-5;  // what float can reach
  return o;
}

template <class T>
void codes_step(benchmark::State& state, bool entries) {
  const Setting<T> s(entries);
  StepReport report;
  for (auto _ : state) {
    Matrix<T> S(kAtoms, kSamples);
    report = solve_codes<T>({s.X, s.weights, s.B, 0.1, {}}, S, options(), s.control);
    benchmark::DoNotOptimize(S.data());
  }
  state.counters["certificate"] = report.certificate;
}

template <class T>
void dictionary_step(benchmark::State& state, bool entries) {
  const Setting<T> s(entries);
  StepReport report;
  for (auto _ : state) {
    Matrix<T> B = s.B;
    report = solve_dictionary<T>({s.X, s.weights, s.S}, B, options(), s.control);
    benchmark::DoNotOptimize(B.data());
  }
  state.counters["certificate"] = report.certificate;
}

template <class T>
void losses_and_weights(benchmark::State& state) {
  const Setting<T> s(false);
  Vector<T> v;
  for (auto _ : state) {
    const Vector<T> losses = unit_losses<T>(s.X, s.weights, s.B, s.S, Level::element, s.control);
    solve_weights(losses, Linear{}, 0.01, v, s.control);
    benchmark::DoNotOptimize(v.data());
  }
}

template <class T>
void neighbours(benchmark::State& state) {
  const Setting<T> s(false);
  for (auto _ : state) benchmark::DoNotOptimize(nearest<T>(s.X, 3, s.control));
}

void codes_shared_gram(benchmark::State& state) { codes_step<double>(state, false); }
void codes_entry_weights(benchmark::State& state) { codes_step<double>(state, true); }
void codes_entry_weights_float(benchmark::State& state) { codes_step<float>(state, true); }
void dictionary_shared_gram(benchmark::State& state) { dictionary_step<double>(state, false); }
void dictionary_entry_weights(benchmark::State& state) { dictionary_step<double>(state, true); }

BENCHMARK(codes_shared_gram)->Unit(benchmark::kMillisecond);
BENCHMARK(codes_entry_weights)->Unit(benchmark::kMillisecond);
BENCHMARK(codes_entry_weights_float)->Unit(benchmark::kMillisecond);
BENCHMARK(dictionary_shared_gram)->Unit(benchmark::kMillisecond);
BENCHMARK(dictionary_entry_weights)->Unit(benchmark::kMillisecond);
BENCHMARK(losses_and_weights<double>)->Unit(benchmark::kMillisecond);
BENCHMARK(neighbours<double>)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace pacewise

#include <benchmark/benchmark.h>

#include "algebra/blas_kernels.hpp"

int main(int argc, char** argv) {
  pacewise::choose_blas_kernels();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}

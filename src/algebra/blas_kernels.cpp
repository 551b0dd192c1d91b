#include "algebra/blas_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

// OpenBLAS's own; absent with another BLAS behind the same symbols, or one built for a single processor.
extern "C" {
char* openblas_get_corename() __attribute__((weak));
void gotoblas_dynamic_init() __attribute__((weak));  // chooses, unless there is a choice
void gotoblas_dynamic_quit() __attribute__((weak));  // forgets the choice
}

namespace pacewise {
namespace {

constexpr const char* kVariable = "OPENBLAS_CORETYPE";

/// What OpenBLAS falls back to. No processor with AVX2 is any of these.
bool is_fallback(std::string_view kernels) {
  constexpr std::array<std::string_view, 4> names = {"Prescott", "Nehalem", "Barcelona", "Sandybridge"};
  return std::find(names.begin(), names.end(), kernels) != names.end();
}

const char* best_kernels() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
    return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}

}  // namespace

void choose_blas_kernels() {
  if (openblas_get_corename == nullptr || gotoblas_dynamic_init == nullptr || gotoblas_dynamic_quit == nullptr) return;
  const char* best = best_kernels();
  if (best == nullptr || std::getenv(kVariable) != nullptr || !is_fallback(openblas_get_corename())) return;
  if (::setenv(kVariable, best, 0) != 0) return;
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  ::unsetenv(kVariable);  // our children's business is their own
}

}  // namespace pacewise

#pragma once

/// Before a hot loop that is a function of its own: compiled for wider vectors too, chosen when the program starts, so
/// that one binary runs everywhere and is fast where it can be. Sanitizers must be set up before any code runs, which
/// the choosing does not respect: no clones there. A build with PACEWISE_AVX2 has nothing wider, to measure at that
/// width.
#if defined(PACEWISE_AVX2) && defined(__GNUC__) && !defined(PACEWISE_SANITIZED)
#define PACEWISE_WIDE_VECTORS __attribute__((target_clones("arch=x86-64-v3", "default")))
#elif defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(PACEWISE_SANITIZED)
#define PACEWISE_WIDE_VECTORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define PACEWISE_WIDE_VECTORS
#endif

/// The same for a template, which only GCC can.
#if defined(__clang__)
#define PACEWISE_WIDE_TEMPLATE
#else
#define PACEWISE_WIDE_TEMPLATE PACEWISE_WIDE_VECTORS
#endif

/// Before a loop that is to be vectorised as it stands; clang warns where it cannot and is not asked.
#if defined(__clang__)
#define PACEWISE_SIMD
#else
#define PACEWISE_SIMD _Pragma("omp simd")
#endif

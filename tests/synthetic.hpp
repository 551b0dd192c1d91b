// Data with a known answer: a planted dictionary, sparse codes, and corruption at known places.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "algebra/eigen.hpp"
#include "algebra/random.hpp"
#include "data/problem.hpp"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PACEWISE_TEST_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PACEWISE_TEST_SANITIZED 1
#endif

namespace synthetic {

using namespace pacewise;

using Precisions = testing::Types<float, double>;

#ifdef PACEWISE_TEST_SANITIZED
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// PACEWISE_TEST_SCALE=small shrinks grids where every step is slow
inline bool small() {
  const char* text = std::getenv("PACEWISE_TEST_SCALE");
  return text != nullptr && std::string_view(text) == "small";
}

/// Normal numbers
template <class T>
Matrix<T> gaussian(Index m, Index n, std::uint64_t seed, double shift = 0) {
  Random random(seed);
  Matrix<T> X(m, n);
  for (Index p = 0; p < X.size(); ++p) X.data()[p] = static_cast<T>(random.normal() + shift);
  return X;
}

/// What the Error says that `call` throws; "accepted" where it throws none
template <class Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

/// .. which must hold `part`
template <class Call>
void expect_error(const Call& call, const std::string& part) {
  EXPECT_NE(error_of(call).find(part), std::string::npos) << error_of(call) << "; expected: " << part;
}

/// One of the notes holds `part`
inline bool has_note(const std::vector<std::string>& notes, const std::string& part) {
  const auto holds = [&](const std::string& note) { return note.find(part) != std::string::npos; };
  return std::any_of(notes.begin(), notes.end(), holds);
}

/// The same missing entries in three ways of saying it: NaN, weight 0, and weight 0 of numbers that mean nothing
template <class T>
struct Holes {
  Matrix<T> nan, junk;
  Weights<T> weights;
};
template <class T>
Holes<T> punch(const Matrix<T>& X, double share, std::uint64_t seed = 4) {
  Random random(seed);
  Holes<T> out{X, X, {}};
  out.weights.entry = Matrix<T>(X.rows(), X.cols(), T(1));
  for (Index u = 0; u < X.size(); ++u)
    if (random.uniform() < share) {
      out.nan.data()[u] = std::numeric_limits<T>::quiet_NaN();
      out.junk.data()[u] = static_cast<T>(1e3 * random.normal());
      out.weights.entry.data()[u] = 0;
    }
  return out;
}

struct Recipe {
  Index m = 20, n = 60, r = 8;
  Index active = 2;  // atoms per sample
  double noise = 0.01;
  double bad_samples = 0;  // share replaced by gross noise, the last ones
  double bad_entries = 0;  // share of entries replaced
  double size = 3;         // of what replaces them
  std::uint64_t seed = 1;
};

template <class T>
struct Planted {
  Matrix<T> X, B, S;
  std::vector<bool> bad_sample, bad_entry;  // n, m n (entry i, j at j m + i)
  Problem<T> problem() const { return {X.view(), {}}; }
};

template <class T>
Planted<T> make(const Recipe& recipe) {
  Random random(recipe.seed);
  const auto [m, n, r, active, noise, bad_samples, bad_entries, size, seed] = recipe;
  Planted<T> p{Matrix<T>(m, n), Matrix<T>(m, r), Matrix<T>(r, n), {}, {}};
  for (Index k = 0; k < r; ++k) {
    for (Index i = 0; i < m; ++i) p.B(i, k) = static_cast<T>(random.normal());
    eigen(p.B).col(k).normalize();
  }
  for (Index j = 0; j < n; ++j)
    for (Index a = 0; a < active; ++a)
      p.S(random.below(r), j) = static_cast<T>((random.uniform() < 0.5 ? -1 : 1) * (1 + random.uniform()));
  p.bad_sample.assign(static_cast<std::size_t>(n), false);
  p.bad_entry.assign(static_cast<std::size_t>(m * n), false);
  for (Index j = 0; j < n; ++j) {
    const bool bad = j >= n - static_cast<Index>(bad_samples * static_cast<double>(n));
    p.bad_sample[static_cast<std::size_t>(j)] = bad;
    for (Index i = 0; i < m; ++i) {
      double x = noise * random.normal();
      for (Index k = 0; k < r; ++k) x += static_cast<double>(p.B(i, k)) * static_cast<double>(p.S(k, j));
      if (bad) x = size * random.normal();
      if (bad_entries > 0 && random.uniform() < bad_entries) {
        x += random.uniform() < 0.5 ? size : -size;
        p.bad_entry[static_cast<std::size_t>(j * m + i)] = true;
      }
      p.X(i, j) = static_cast<T>(x);
    }
  }
  return p;
}

/// Mean over the planted atoms of the best |cosine| among the atoms found
template <class T>
double recovery(const Matrix<T>& planted, const Matrix<T>& found) {
  const auto directions = [](Matrix<T> a) {
    for (Index k = 0; k < a.cols(); ++k) eigen(a).col(k).normalize();
    return EigenMatrix<T>(eigen(a));
  };
  return static_cast<double>(
      (directions(planted).transpose() * directions(found)).cwiseAbs().rowwise().maxCoeff().mean());
}

/// Largest |a - b|, of any precisions
template <class T, class U>
double distance(const Matrix<T>& a, const Matrix<U>& b) {
  if (a.rows() != b.rows() || a.cols() != b.cols()) return std::numeric_limits<double>::infinity();
  return (eigen(a).template cast<double>() - eigen(b).template cast<double>())
      .cwiseAbs()
      .template maxCoeff<Eigen::PropagateNaN>();
}

}  // namespace synthetic

#include "solve/dictionary_dual.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pacewise {

template <class T>
DictionaryDual<T>::DictionaryDual(const DictionaryProblem<T>& problem, const std::vector<double>& curvature,
                                  const StepOptions& options, const Control& control)
    : problem_(problem), m_(problem.X.rows), n_(problem.X.cols), u_(0) {
  for (std::size_t k = 0; k < curvature.size(); ++k) {
    if (!(curvature[k] > 0)) continue;
    used_.push_back(static_cast<Index>(k));
    radius2_.push_back(curvature[k]);
    inverse_.push_back(1 / std::sqrt(curvature[k]));
  }
  u_ = static_cast<Index>(used_.size());
  solution_.resize(u_, m_);
  hessian_.resize(u_, u_);
  factor_.resize(u_, u_);
  const auto size = static_cast<std::size_t>(u_);
  lambda_.assign(size, 0.0);
  slope_.assign(size, 0.0);
  direction_.assign(size, 0.0);
  free_.reserve(size);
  if (problem.weights.entry.empty()) make_shared_gram(control);
  const double data = static_cast<double>((m_ + problem.S.rows) * n_) * sizeof(T);
  bytes_ = options.memory_bytes > 0 ? static_cast<double>(options.memory_bytes) : std::max(2 * data, 256e6);
  if (!problem.weights.entry.empty()) list_codes(control);
  if (!problem.weights.entry.empty())
    rows_.emplace(std::in_place_index<0>, codes_, u_, problem_.weights, m_, bytes_, control);
  else if (!problem.weights.feature.empty())
    rows_.emplace(std::in_place_index<1>, gram_, problem_.weights, m_, bytes_);
}

// Twelve bytes each: counted first, so that they take no more.
template <class T>
void DictionaryDual<T>::list_codes(const Control& control) {
  const auto over_codes = [&](const auto& body) {
    parallel_blocks(block_count(n_), control.to_the_end(), [&](Index block, int) {
      for (Index j = block * kBlock; j < block * kBlock + block_length(n_, block); ++j)
        for (Index a = 0; a < u_; ++a)
          if (const T s = problem_.S(used_[static_cast<std::size_t>(a)], j); s != T(0)) body(j, a, s);
    });
  };
  codes_.start.assign(static_cast<std::size_t>(n_) + 1, 0);
  over_codes([&](Index j, Index, T) { ++codes_.start[static_cast<std::size_t>(j) + 1]; });
  std::partial_sum(codes_.start.begin(), codes_.start.end(), codes_.start.begin());
  codes_.atom.resize(codes_.start.back());
  codes_.code.resize(codes_.start.back());
  std::vector<std::size_t> next(codes_.start);
  over_codes([&](Index j, Index a, T s) {
    const std::size_t at = next[static_cast<std::size_t>(j)]++;
    codes_.atom[at] = static_cast<std::int32_t>(a);
    codes_.code[at] = static_cast<double>(s) * inverse_[static_cast<std::size_t>(a)];
  });
}

template <class T>
void DictionaryDual<T>::refine(const Control& control) {
  rows_.emplace(std::in_place_index<1>, codes_, u_, problem_.weights, m_, bytes_, control);
}

// gradient_i = 2 d (phi_i M b_i - q_i),   fit = sum w x^2 + sum_i b_i'(phi_i M b_i - 2 q_i)
template <class T>
typename DictionaryDual<T>::Slope DictionaryDual<T>::slope(const Matrix<T>& B, const Control& control) const {
  constexpr Index rows = 128;
  const Index blocks = block_count(m_, rows);
  Slope out{0, 8 * static_cast<double>(std::numeric_limits<T>::epsilon()) * energy_, Matrix<double>(m_, B.cols())};
  struct Rows {
    Matrix<double> b, image;
  };
  std::vector<Rows> workers(static_cast<std::size_t>(thread_count(control)),
                            Rows{Matrix<double>(u_, rows), Matrix<double>(u_, rows)});
  std::vector<double> fit(static_cast<std::size_t>(blocks), 0.0);
  parallel_blocks(blocks, control, [&](Index block, int worker) {
    Rows& w = workers[static_cast<std::size_t>(worker)];
    const Index first = block * rows, count = block_length(m_, block, rows);
    const auto b = w.b.view().columns(0, count), image = w.image.view().columns(0, count);
    for (Index k = 0; k < u_; ++k) {
      const double d = std::sqrt(radius2_[static_cast<std::size_t>(k)]);
      const T* atom = B.col(used_[static_cast<std::size_t>(k)]) + first;
      for (Index i = 0; i < count; ++i) b(k, i) = d * static_cast<double>(atom[i]);
    }
    gemm<double>(Op::plain, Op::plain, 1, gram_, b, 0, image);
    double sum = 0;
    for (Index i = 0; i < count; ++i) {
      const auto& feature = problem_.weights.feature;
      const double phi = feature.empty() ? 1 : static_cast<double>(feature[static_cast<std::size_t>(first + i)]);
      const double* q = data_.col(first + i);
      for (Index k = 0; k < u_; ++k) {
        sum += b(k, i) * (phi * image(k, i) - 2 * q[k]);
        image(k, i) = phi * image(k, i) - q[k];
      }
    }
    fit[static_cast<std::size_t>(block)] = sum;
    for (Index k = 0; k < u_; ++k) {
      const double d = std::sqrt(radius2_[static_cast<std::size_t>(k)]);
      double* g = out.gradient.col(used_[static_cast<std::size_t>(k)]) + first;
      for (Index i = 0; i < count; ++i) g[i] = 2 * d * image(k, i);
    }
  });
  out.fit = energy_;
  for (const double f : fit) out.fit += f;
  return out;
}

// An estimate of zero is not trusted where B is far off: with near-singular M the dual is violently curved there. From
// a larger lambda Newton's way back is short, since 1 / |b_k| is nearly linear in lambda.
template <class T>
void DictionaryDual<T>::set_multipliers(const std::vector<double>& multiplier, double least) {
  double top = 0;
  for (Index k = 0; k < u_; ++k) {
    const auto at = static_cast<std::size_t>(k);
    lambda_[at] = multiplier[static_cast<std::size_t>(used_[at])] / radius2_[at];
    top = std::max(top, lambda_[at]);
  }
  for (double& l : lambda_) l = std::max(l, least * std::min(top, 1.0));
}

template <class T>
void DictionaryDual<T>::pack(const Matrix<T>& B, const Matrix<double>& gradient, Matrix<double>& y,
                             Matrix<double>& slope, const Control& control) const {
  y.resize(u_, m_);
  slope.resize(u_, m_);
  parallel_blocks(block_count(m_), control, [&](Index block, int) {
    for (Index k = 0; k < u_; ++k) {
      const double d = std::sqrt(radius2_[static_cast<std::size_t>(k)]);
      const Index atom = used_[static_cast<std::size_t>(k)];
      for (Index i = block * kBlock; i < block * kBlock + block_length(m_, block); ++i) {
        y(k, i) = d * static_cast<double>(B(i, atom));
        slope(k, i) = gradient(i, atom) / d;
      }
    }
  });
}

template <class T>
void DictionaryDual<T>::model_about(const Matrix<double>& y, const Matrix<double>& slope, double delta) {
  delta_ = delta;
  centre_ = y;
  slope_of_fit_ = slope;
}

template <class T>
void DictionaryDual<T>::primal(Matrix<T>& B, const Control& control) const {
  constexpr Index atoms = 16;
  parallel_blocks(block_count(u_, atoms), control.to_the_end(), [&](Index block, int) {
    for (Index k = block * atoms; k < block * atoms + block_length(u_, block, atoms); ++k) {
      const double d = std::sqrt(radius2_[static_cast<std::size_t>(k)]);
      T* b = B.col(used_[static_cast<std::size_t>(k)]);
      for (Index i = 0; i < m_; ++i) b[i] = static_cast<T>(solution_(k, i) / d);
    }
  });
}

template <class T>
double DictionaryDual<T>::violation() const {
  double worst = 0;
  for (std::size_t k = 0; k < slope_.size(); ++k) {
    const double h = slope_[k] / radius2_[k];
    const double here = lambda_[k] > 0 ? std::abs(h) : std::max(h, 0.0);
    worst = here <= worst ? worst : here;  // NaN stays
  }
  return worst;
}

// Hessian_FF p = h_F. In one dimension h = |b|^2 - d^2 makes Newton creep where |b| >> d, and 1/d - 1/|b| makes it
// nearly exact; both have the same derivative up to a factor, so the secular form only changes the right-hand side.
template <class T>
bool DictionaryDual<T>::newton_direction(bool secular) {
  free_.clear();
  for (Index k = 0; k < u_; ++k)
    if (lambda_[static_cast<std::size_t>(k)] > 0 || slope_[static_cast<std::size_t>(k)] > 0) free_.push_back(k);
  const auto f = static_cast<Index>(free_.size());
  std::fill(direction_.begin(), direction_.end(), 0.0);
  if (f == 0) return false;
  Vector<double> p(static_cast<std::size_t>(f));
  const MatrixView<double> F(factor_.data(), f, f, u_);
  double top = 0;
  for (const Index k : free_) top = std::max(top, hessian_(k, k));
  for (double extra = 1e-14; extra < 10; extra *= 100) {
    for (Index b = 0; b < f; ++b) {
      const Index l = free_[static_cast<std::size_t>(b)];
      for (Index a = b; a < f; ++a) F(a, b) = hessian_(free_[static_cast<std::size_t>(a)], l);
      F(b, b) += extra * F(b, b) + 1e-300;
    }
    if (!cholesky(F)) continue;
    for (Index a = 0; a < f; ++a) {
      const auto k = static_cast<std::size_t>(free_[static_cast<std::size_t>(a)]);
      const double norm2 = slope_[k] + radius2_[k];
      p[static_cast<std::size_t>(a)] = secular ? 2 * norm2 * (std::sqrt(norm2 / radius2_[k]) - 1) : slope_[k];
    }
    cholesky_solve(F, {p.data(), f, 1});
    for (Index a = 0; a < f; ++a)
      direction_[static_cast<std::size_t>(free_[static_cast<std::size_t>(a)])] = p[static_cast<std::size_t>(a)];
    return true;
  }
  return false;
}

// Far from the solution the dual is far from quadratic: a multiplier may grow tenfold or fall to a tenth at once, and
// to zero only from near zero.
template <class T>
double DictionaryDual<T>::bounded(double from, double to) const {
  const double low = from > 10 * delta_ ? 0.1 * from : 0;
  return std::clamp(to, low, 10 * from + 1);
}

// For one atom alone (1 + lambda) |b| is constant: the step that would be exact there, damped. It needs no Hessian and
// leads out of regions where the dual is nearly flat.
template <class T>
void DictionaryDual<T>::fixed_point_step() {
  for (std::size_t k = 0; k < lambda_.size(); ++k) {
    const double ratio = std::sqrt(std::max(0.0, slope_[k] + radius2_[k]) / radius2_[k]);
    lambda_[k] = std::max(0.0, (1 + lambda_[k]) * std::clamp(ratio, 0.5, 2.0) - 1);
  }
}

template <class T>
int DictionaryDual<T>::solve(double accuracy, int max_passes, const Control& control) {
  pass(Curvature::fresh, control);
  int passes = 1;
  const auto open = [&] { return passes < max_passes && !control.stop(); };
  double milestone = violation();
  for (int slow = 0; violation() > accuracy && open() && !(rough() && slow > 3); ++slow) {
    const double before = violation();
    if (before < 0.5 * milestone) {
      milestone = before;
      slow = 0;
    }
    const bool ascended = ascend(true, passes, open, control) || ascend(false, passes, open, control);
    // The inverses behind a row's Hessian cost as much as its solution: an old one serves while it gains tenfold.
    reuse_ = violation() < before / 10;
    if (!reuse_ && !hessian_is_fresh_ && open()) {
      pass(Curvature::fresh, control);
      ++passes;
    }
    if (ascended) continue;
    if (before < 1e-14 / delta_) break;  // rounding, which 1 / delta magnifies: no direction improves
    fixed_point_step();
    pass(Curvature::fresh, control);
    ++passes;
  }
  return passes;
}

// One Newton step with a line search. Along a path the dual is concave, so its slope falls: a step that leaves the
// slope no more negative than half of what it was positive has raised the dual.
template <class T>
template <class Open>
bool DictionaryDual<T>::ascend(bool secular, int& passes, const Open& open, const Control& control) {
  if (!newton_direction(secular)) return false;
  const std::vector<double> from = lambda_, slope = slope_;
  bool tried = false;
  for (double t = 1; t > 1e-3 && open(); t /= 4) {
    double before = 0, after = 0;
    for (std::size_t k = 0; k < lambda_.size(); ++k) {
      lambda_[k] = direction_[k] == 0 ? from[k] : bounded(from[k], from[k] + t * direction_[k]);
      before += (lambda_[k] - from[k]) * slope[k];
    }
    if (!(before > 0)) break;  // not a direction of ascent
    tried = true;
    pass(reuse_ ? Curvature::reused : Curvature::fresh, control);
    ++passes;
    for (std::size_t k = 0; k < lambda_.size(); ++k) after += (lambda_[k] - from[k]) * slope_[k];
    if (after >= -0.5 * before) return true;
  }
  lambda_ = from;
  if (tried && open()) {
    pass(Curvature::fresh, control);
    ++passes;
  }
  return false;
}

template class DictionaryDual<float>;
template class DictionaryDual<double>;

}  // namespace pacewise

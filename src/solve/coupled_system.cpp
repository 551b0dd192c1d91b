#include "solve/coupled_system.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "algebra/random.hpp"
#include "algebra/simd.hpp"
#include "solve/coupled_passes.hpp"

namespace pacewise {
namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }
constexpr double kSmall = 0.5;

/// y += alpha sum_i L_ij x_i, r numbers each; sums stay in registers while the neighbours pass
template <class U>
PACEWISE_WIDE_TEMPLATE void add_neighbours(const Sparse& L, Index j, double alpha, MatrixView<const U> x, U* y) {
  constexpr Index width = 64 / static_cast<Index>(sizeof(U)), vectors = 4;
  using Lanes [[gnu::vector_size(64), gnu::aligned(sizeof(U)), gnu::may_alias]] = U;
  const Index first = L.start[at(j)], last = L.start[at(j + 1)];
  Index k = 0;
  for (; k + vectors * width <= x.rows; k += vectors * width) {
    auto* to = reinterpret_cast<Lanes*>(y + k);
    Lanes sum[vectors];
    for (Index v = 0; v < vectors; ++v) sum[v] = to[v];
    for (Index e = first; e < last; ++e) {
      const auto l = static_cast<U>(alpha * L.value[at(e)]);
      const auto* from = reinterpret_cast<const Lanes*>(x.col(L.index[at(e)]) + k);
      for (Index v = 0; v < vectors; ++v) sum[v] += l * from[v];
    }
    for (Index v = 0; v < vectors; ++v) to[v] = sum[v];
  }
  for (; k < x.rows; ++k)
    for (Index e = first; e < last; ++e) y[k] += static_cast<U>(alpha * L.value[at(e)]) * x(k, L.index[at(e)]);
}

/// sum_k |L_jk|: with these on its diagonal a matrix is above L
double row_sum(const Sparse& L, Index j) {
  double sum = 0;
  for (Index e = L.start[at(j)]; e < L.start[at(j + 1)]; ++e) sum += std::abs(L.value[at(e)]);
  return sum;
}

/// The largest eigenvalue of D^-1/2 L D^-1/2, D the row sums: how much lower the diagonal may be. By the power method,
/// from below, hence the margin; normalised Laplacians have about a half.
double share_of_row_sums(const Sparse& L, const std::vector<double>& row_sums) {
  constexpr int iterations = 30;
  constexpr double margin = 1.05;
  const Index n = L.cols;
  Random random(7);
  std::vector<double> x(at(n)), image(at(n));
  for (double& value : x) value = random.normal();
  double share = 0;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    double norm2 = 0;
    for (const double value : x) norm2 += value * value;
    if (!(norm2 > 0)) return 1;
    for (double& value : x) value /= std::sqrt(norm2);
    share = 0;
    for (Index j = 0; j < n; ++j) {
      double sum = 0;
      for (Index e = L.start[at(j)]; e < L.start[at(j + 1)]; ++e) {
        const Index i = L.index[at(e)];
        const double scale = std::sqrt(row_sums[at(i)] * row_sums[at(j)]);
        if (scale > 0) sum += L.value[at(e)] / scale * x[at(i)];
      }
      image[at(j)] = sum;
      share += x[at(j)] * sum;
    }
    std::swap(x, image);
  }
  return std::clamp(margin * share, 0.0, 1.0);
}

/// x <- 0 where not inside
template <class U>
PACEWISE_WIDE_TEMPLATE void clear_outside(Index count, const unsigned char* __restrict inside, U* __restrict x) {
  for (Index i = 0; i < count; ++i) x[i] = inside[i] != 0 ? x[i] : U(0);
}

template <class U>
PACEWISE_WIDE_TEMPLATE void scale(Index count, U by, U* x) {
  for (Index i = 0; i < count; ++i) x[i] *= by;
}

}  // namespace

template <class T>
double memory_for_systems(const CodesModel<T>& model, const StepOptions& options) {
  const double data = static_cast<double>((model.features() + model.atoms()) * model.samples()) * sizeof(T);
  return options.memory_bytes > 0 ? static_cast<double>(options.memory_bytes) : std::max(2 * data, 256e6);
}

template <class T, class U>
CoupledSystem<T, U>::CoupledSystem(const CodesModel<T>& model, const StepOptions& options, const Control& control)
    : model_(model),
      control_(control),
      n_(model.samples()),
      r_(model.atoms()),
      blocks_(n_),
      alpha_(model.problem().coupling.alpha),
      beta_(model.problem().beta),
      L_(*model.problem().coupling.laplacian),
      gram_blocks_(!model.shared()),
      diagonal_(diagonal(L_)),
      bounds_(at(n_)),
      omega_(at(n_)),
      sets_(at(n_)),
      start_(at(n_ + 1), 0) {
  if (gram_blocks_) spread_.resize(r_, n_);
  memory_ = memory_for_systems(model, options);
  const Index block = blocks_.size();
  for (int t = 0; t < thread_count(control); ++t) {
    scratch_.emplace_back(model, block);
    in_.emplace_back(r_, block);
    out_.emplace_back(r_, block);
    wide_.emplace_back(at(r_));
    square_.emplace_back(r_, r_);
  }
  const bool one = model.one_gram() != nullptr;
  fit_gram_ = cast<U>((one ? *model.one_gram() : model.fit_gram()).view());
  if (!one) consistency_ = cast<U>(model.consistency_gram().view());
  std::vector<double> row_sums(at(n_));
  for (Index j = 0; j < n_; ++j) row_sums[at(j)] = row_sum(L_, j);
  const double share = share_of_row_sums(L_, row_sums);
  for (Index j = 0; j < n_; ++j) {
    bounds_[at(j)] = model.curvature_bound(j) + share * alpha_ * row_sums[at(j)];
    omega_[at(j)] = one ? model.weight(j) : model.fit_weight(j);
  }
  if (model.shared()) return;
  near_gram_ = fit_gram_;
  const double top = *std::max_element(omega_.begin(), omega_.end());
  for (Index i = 0; i < consistency_.size() && top > 0; ++i)
    near_gram_.data()[i] += static_cast<U>(static_cast<double>(consistency_.data()[i]) / top);
}

template <class T, class U>
void CoupledSystem<T, U>::widen_bounds() {
  for (Index j = 0; j < n_; ++j) bounds_[at(j)] = model_.curvature_bound(j) + alpha_ * row_sum(L_, j);
}

template <class T, class U>
double CoupledSystem<T, U>::largest_bound() const {
  return *std::max_element(bounds_.begin(), bounds_.end());
}

template <class T, class U>
void CoupledSystem<T, U>::grow(const Matrix<T>& S, const Matrix<double>& gradient) {
  if (!gram_blocks_) return;
  std::vector<std::vector<std::int32_t>> fresh(scratch_.size());
  parallel_blocks(blocks_.count(), control_, [&](Index block, int worker) {
    auto& order = fresh[static_cast<std::size_t>(worker)];
    std::vector<char> member(at(r_));
    for (Index j = blocks_.first(block); j < blocks_.end(block); ++j) {
      Set& s = set(j);
      std::fill(member.begin(), member.end(), char{0});
      for (const auto k : s.atoms) member[at(k)] = 1;
      order.clear();
      for (Index k = 0; k < r_; ++k) {
        if (member[at(k)] != 0) continue;
        if (S(k, j) != T(0))
          s.atoms.push_back(static_cast<std::int32_t>(k));
        else if (beta_ == 0 || std::abs(gradient(k, j)) > beta_)
          order.push_back(static_cast<std::int32_t>(k));
      }
      std::size_t room = order.size();
      if (beta_ > 0) room = std::min(room, std::max<std::size_t>(16, s.atoms.size()));
      std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(room), order.end(),
                        [&](std::int32_t a, std::int32_t b) {
                          const double x = std::abs(gradient(a, j)), y = std::abs(gradient(b, j));
                          return x != y ? x > y : a < b;
                        });
      s.atoms.insert(s.atoms.end(), order.begin(), order.begin() + static_cast<std::ptrdiff_t>(room));
    }
  });
  double squares = 0;
  bool made = false;
  for (const auto& s : sets_) {
    squares += static_cast<double>(s.atoms.size() * s.atoms.size());
    made = made || s.made > 0;
  }
  // A block of p atoms costs m p^2 / 2 operations once and p^2 numbers from memory at every use; without it a use costs
  // 2 m r operations of the fastest kind. Measured: fifty uses are even where p^2 (m + 600) = 50 m r.
  const auto m = static_cast<double>(model_.features());
  const bool dear =
      std::is_same_v<U, float> && beta_ > 0 && !made && squares * (m + 600) > 50 * m * static_cast<double>(r_ * n_);
  if (!dear && static_cast<double>(8 + 2 * sizeof(U)) * squares <= memory_) return;
  gram_blocks_ = false;
  spread_ = {};
  for (auto& s : sets_) s = Set();
  dictionary_ = cast<U>(model_.problem().B);
  for (std::size_t t = 0; t < scratch_.size(); ++t) image_.emplace_back(model_.features(), blocks_.size());
}

template <class T, class U>
void CoupledSystem<T, U>::extend(Index j, int worker) {
  Set& s = set(j);
  const auto size = static_cast<Index>(s.atoms.size());
  if (size == s.made) return;
  Vector<U> gram(at(size * size));
  for (Index b = 0; b < s.made; ++b) std::copy_n(s.gram.data() + b * s.made, s.made, gram.data() + b * size);
  s.gram = std::move(gram);
  const MatrixView<double> all(square_[static_cast<std::size_t>(worker)].data(), size, size);
  auto& scratch = scratch_[static_cast<std::size_t>(worker)];
  if (std::is_same_v<U, float>)
    model_.rough_gram(j, s.atoms.data(), s.made, size, all, scratch);
  else
    model_.extend_gram(j, s.atoms.data(), s.made, size, all, scratch);
  for (Index b = 0; b < size; ++b)
    for (Index a = b < s.made ? s.made : 0; a < size; ++a) s.gram[at(b * size + a)] = static_cast<U>(all(a, b));
  s.made = size;
}

template <class T, class U>
void CoupledSystem<T, U>::choose(const Matrix<T>& S, bool support_only) {
  support_ = support_only && beta_ > 0 ? &S : nullptr;
  if (!gram_blocks_) {
    for (Index j = 0; j < n_; ++j) start_[at(j + 1)] = (j + 1) * r_;
    inside_.resize(support_ == nullptr ? 0 : at(r_ * n_));
    for (Index j = 0; j < n_ && support_ != nullptr; ++j)
      for (Index k = 0; k < r_; ++k) inside_[at(j * r_ + k)] = S(k, j) != T(0) ? 1 : 0;
    return;
  }
  spread_.fill(0);
  parallel_blocks(blocks_.count(), control_, [&](Index block, int worker) {
    for (Index j = blocks_.first(block); j < blocks_.end(block); ++j) {
      Set& s = set(j);
      extend(j, worker);
      s.position.clear();
      for (std::size_t a = 0; a < s.atoms.size(); ++a)
        if (support_ == nullptr || S(s.atoms[a], j) != T(0)) s.position.push_back(static_cast<std::int32_t>(a));
      const auto p = s.position.size();
      s.part.resize(p < s.atoms.size() ? p * p : 0);
      for (std::size_t b = 0; b < p && !s.part.empty(); ++b)
        for (std::size_t a = 0; a < p; ++a) s.part[b * p + a] = s.gram[at(s.position[b] * s.made + s.position[a])];
    }
  });
  for (Index j = 0; j < n_; ++j) start_[at(j + 1)] = begin(j) + static_cast<Index>(set(j).position.size());
  atoms_.resize(at(unknowns()));
  for (Index j = 0; j < n_; ++j)
    for (Index a = 0; a < count(j); ++a) atoms_[at(begin(j) + a)] = set(j).atoms[at(set(j).position[at(a)])];
}

template <class T, class U>
Index CoupledSystem<T, U>::size_of_support(Index j) const {
  if (gram_blocks_ || support_ == nullptr) return count(j);
  const T* s = support_->col(j);
  return r_ - std::count(s, s + r_, T(0));
}

/// x_j <- 0 outside P_j for some samples, where all r numbers are stored
template <class T, class U>
void CoupledSystem<T, U>::keep_support(Index first, Index samples, U* x) const {
  if (!gram_blocks_ && support_ != nullptr) clear_outside(samples * r_, inside_.data() + first * r_, x);
}

template <class T, class U>
const std::int32_t* CoupledSystem<T, U>::atoms_in_use(Index j) {
  if (gram_blocks_) return atoms_.data() + begin(j);
  Set& s = set(j);
  s.position.clear();
  for (Index k = 0; k < r_; ++k)
    if (support_ == nullptr || (*support_)(k, j) != T(0)) s.position.push_back(static_cast<std::int32_t>(k));
  return s.position.data();
}

template <class T, class U>
void CoupledSystem<T, U>::factorise(double damping) {
  damping_ = damping;
  double squares = 0;
  for (Index j = 0; j < n_; ++j) {
    const auto p = static_cast<double>(size_of_support(j));
    squares += p * p;
  }
  // A factor of one's own costs as much as its p^2 numbers take to be read, at every iteration; two products with the
  // common basis cost 2 r^2 operations on numbers that stay in the cache, ten times less each.
  if (beta_ > 0 && 10 * squares > static_cast<double>(n_ * r_ * r_)) {
    preconditioner_ = Preconditioner::together;
    if (!decomposed_) decompose();
    return;
  }
  preconditioner_ = 8 * squares <= memory_ ? Preconditioner::blocks : Preconditioner::diagonal;
  parallel_blocks(blocks_.count(), control_, [&](Index block, int worker) {
    auto& scratch = scratch_[static_cast<std::size_t>(worker)];
    for (Index j = blocks_.first(block); j < blocks_.end(block); ++j) {
      const double shift = alpha_ * diagonal_[at(j)] + damping;
      const std::int32_t* atoms = atoms_in_use(j);
      Set& s = set(j);
      const auto p = static_cast<Index>(s.position.size());
      if (preconditioner_ == Preconditioner::diagonal) {
        factorise_diagonal(j, atoms, shift, scratch);
        continue;
      }
      const MatrixView<double> A(square_[static_cast<std::size_t>(worker)].data(), p, p);
      if (gram_blocks_)
        std::copy_n(s.over_support().begin(), p * p, A.data);
      else
        model_.extend_gram(j, atoms, 0, p, A, scratch);
      factorise_block(j, shift, A);
    }
  });
}

/// Of the eigenvectors U of the mean form those whose g is small beside every alpha L_jj need not be told apart: the
/// basis keeps the others, and one number stands for g on the rest.
template <class T, class U>
void CoupledSystem<T, U>::decompose() {
  const auto& mean = model_.spectrum();
  const double small = kSmall * alpha_ * *std::min_element(diagonal_.begin(), diagonal_.end());
  const Index rest = std::lower_bound(mean.values.begin(), mean.values.end(), small) - mean.values.begin();
  rest_ = rest > 0 ? mean.values[at(rest - 1)] / 2 : 0;
  spectrum_.assign(mean.values.begin() + rest, mean.values.end());
  basis_ = cast<U>(mean.vectors.view().columns(rest, r_ - rest));
  decomposed_ = true;
}

/// y_P <- P' (U (g + alpha L_jj + damping)^-1 U' + (1 - U U') / (rest + alpha L_jj + damping)) P y_P: the inverse of
/// the mean form on all atoms, seen on the support; positive definite for any support.
template <class T, class U>
void CoupledSystem<T, U>::precondition_together(Index block, int worker, U* y) {
  const Index first = blocks_.first(block), b = blocks_.length(block), kept = basis_.cols();
  const auto in = gram_blocks_ ? in_[static_cast<std::size_t>(worker)].view().columns(0, b) : MatrixView<U>(y, r_, b);
  const auto out = out_[static_cast<std::size_t>(worker)].view().block(0, 0, kept, b);
  for (Index j = 0; j < b && gram_blocks_; ++j) {
    std::fill_n(in.col(j), r_, U(0));
    const U* x = y + (begin(first + j) - begin(first));
    for (Index a = 0; a < count(first + j); ++a) in(atom(first + j, a), j) = x[a];
  }
  gemm<U>(Op::transposed, Op::plain, 1, basis_, in, 0, out);
  for (Index j = 0; j < b; ++j) {
    const double shift = alpha_ * diagonal_[at(first + j)] + damping_;
    const double least = 1e-6 * ((kept > 0 ? spectrum_.back() : rest_) + shift);
    const double flat = kept < r_ ? 1 / std::max(rest_ + shift, least) : 0;
    for (Index k = 0; k < kept; ++k) out(k, j) *= static_cast<U>(1 / std::max(spectrum_[at(k)] + shift, least) - flat);
    scale(r_, static_cast<U>(flat), in.col(j));
  }
  gemm<U>(Op::plain, Op::plain, 1, basis_, out, 1, in);
  for (Index j = 0; j < b && gram_blocks_; ++j) {
    U* x = y + (begin(first + j) - begin(first));
    for (Index a = 0; a < count(first + j); ++a) x[a] = in(atom(first + j, a), j);
  }
  keep_support(first, b, in.data);
}

/// From A_PP, which is overwritten. The factor is made in double and kept in U, one triangle: its product with its
/// transpose is positive definite all the same, and as near to the matrix as the form it helps to invert.
template <class T, class U>
void CoupledSystem<T, U>::factorise_block(Index j, double shift, MatrixView<double> A) {
  Set& s = set(j);
  const Index p = A.rows;
  double top = 0;
  for (Index a = 0; a < p; ++a) top = std::max(top, A(a, a) + shift);
  if (!(top > 0)) top = 1;  // a sample of weight 0 without neighbours: the identity will do
  // the upper triangle keeps A_PP: Cholesky reads and writes the lower one
  std::vector<double> diagonal(at(p));
  for (Index a = 0; a < p; ++a) diagonal[at(a)] = A(a, a);
  double extra = static_cast<double>(std::numeric_limits<T>::epsilon()) * top;
  for (bool made = false; !made; extra *= 100) {
    for (Index a = 0; a < p; ++a) {
      A(a, a) = diagonal[at(a)] + shift + extra;
      for (Index b = a + 1; b < p; ++b) A(b, a) = A(a, b);
    }
    made = cholesky(A);
  }
  s.factor.resize(at(p * (p + 1) / 2));
  U* to = s.factor.data();
  for (Index a = 0; a < p; ++a)
    for (Index b = a; b < p; ++b) *to++ = static_cast<U>(A(b, a));
}

template <class T, class U>
void CoupledSystem<T, U>::factorise_diagonal(Index j, const std::int32_t* atoms, double shift,
                                             typename CodesModel<T>::Scratch& scratch) {
  Set& s = set(j);
  s.factor.resize(s.position.size());
  std::vector<double> curvature(s.factor.size());
  double top = 0;
  for (std::size_t a = 0; a < curvature.size(); ++a) {
    double one = 0;
    model_.extend_gram(j, atoms + a, 0, 1, {&one, 1, 1}, scratch);
    curvature[a] = one + shift;
    top = std::max(top, one + shift);
  }
  for (std::size_t a = 0; a < curvature.size(); ++a)
    s.factor[a] = top > 0 ? static_cast<U>(1 / std::max(curvature[a], 1e-12 * top)) : U(1);
}

template <class T, class U>
void CoupledSystem<T, U>::spread(Index block, const U* x) {
  if (!gram_blocks_) return;
  for (Index j = blocks_.first(block); j < blocks_.end(block); ++j)
    for (Index a = 0; a < count(j); ++a) spread_(atom(j, a), j) = x[begin(j) + a];
}

template <class T, class U>
MatrixView<const U> CoupledSystem<T, U>::as_matrix(const U* x) const {
  return gram_blocks_ ? spread_.view() : MatrixView<const U>(x, r_, n_);
}

/// y = B' (w v B x), for the samples of a block
template <class T, class U>
void CoupledSystem<T, U>::apply_dictionary(Index first, int worker, MatrixView<const U> x, MatrixView<U> y) {
  const auto image = image_[static_cast<std::size_t>(worker)].view().columns(0, y.cols);
  gemm<U>(Op::plain, Op::plain, 1, dictionary_, x, 0, image);
  for (Index j = 0; j < y.cols; ++j) model_.weigh_sample(first + j, image.columns(j, 1));
  gemm<U>(Op::transposed, Op::plain, 1, dictionary_, image, 0, y);
}

/// The same with Gram blocks; what comes from the neighbours passes through `wide`, r numbers a sample.
template <class T, class U>
void CoupledSystem<T, U>::apply_grams(Index first, const U* x, U* y, MatrixView<U> wide) const {
  for (Index j = first; j < first + wide.cols; ++j) {
    const Index p = count(j);
    U* to = y + (begin(j) - begin(first));
    multiply_one<U>({sets_[at(j)].over_support().data(), p, p}, x + begin(j), to);
    U* pull = wide.col(j - first);
    std::fill_n(pull, r_, U(0));
    add_neighbours(L_, j, alpha_, spread_.view(), pull);
    for (Index a = 0; a < p; ++a) to[a] += pull[atom(j, a)];
  }
}

template <class T, class U>
void CoupledSystem<T, U>::apply(Index block, int worker, Form form, const U* x, U* y) {
  const Index first = blocks_.first(block), b = blocks_.length(block);
  const auto out = gram_blocks_ ? out_[static_cast<std::size_t>(worker)].view().columns(0, b) : MatrixView<U>(y, r_, b);
  const MatrixView<const U> all = as_matrix(x), in = all.columns(first, b);
  const bool together = model_.shared() || form == Form::near;
  if (together) {
    gemm<U>(Op::plain, Op::plain, 1, model_.shared() ? fit_gram_ : near_gram_, in, 0, out);
    for (Index j = 0; j < b; ++j)
      if (const auto omega = static_cast<U>(omega_[at(first + j)]); omega != U(1)) scale(r_, omega, out.col(j));
  } else if (gram_blocks_) {
    apply_grams(first, x, y, out);
    return;
  } else {
    apply_dictionary(first, worker, in, out);
  }
  if (!consistency_.empty() && (model_.shared() || !together))
    gemm<U>(Op::plain, Op::plain, 1, consistency_, in, 1, out);
  for (Index j = 0; j < b; ++j) add_neighbours(L_, first + j, alpha_, all, out.col(j));
  keep_support(first, b, out.data);
}

template <class T, class U>
void CoupledSystem<T, U>::precondition(Index block, int worker, U* y) {
  if (preconditioner_ == Preconditioner::together) {
    precondition_together(block, worker, y);
    return;
  }
  double* wide = wide_[static_cast<std::size_t>(worker)].data();
  for (Index j = blocks_.first(block); j < blocks_.end(block); ++j) {
    const Set& s = sets_[at(j)];
    const auto p = static_cast<Index>(s.position.size());
    U* x = y + (begin(j) - begin(blocks_.first(block)));
    const auto place = [&](Index a) { return gram_blocks_ ? a : static_cast<Index>(s.position[at(a)]); };
    for (Index a = 0; a < p; ++a) wide[a] = static_cast<double>(x[place(a)]);
    if (preconditioner_ == Preconditioner::blocks)
      solve_packed(p, s.factor.data(), wide);
    else
      for (Index a = 0; a < p; ++a) wide[a] *= static_cast<double>(s.factor[at(a)]);
    for (Index a = 0; a < p; ++a) x[place(a)] = static_cast<U>(wide[a]);
  }
}

#define PACEWISE_INSTANTIATE(T)                                                    \
  template double memory_for_systems<T>(const CodesModel<T>&, const StepOptions&); \
  template class CoupledSystem<T, float>;                                          \
  template class CoupledSystem<T, double>;
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE

}  // namespace pacewise

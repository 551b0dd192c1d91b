#include "solve/codes_model.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "algebra/simd.hpp"

namespace pacewise {
namespace {

/// No less than the largest eigenvalue of a symmetric matrix: max_k (|a| x)_k / x_k for any x > 0 (Collatz and
/// Wielandt), the largest sum of a row to begin with, closer with every x <- |a| x.
double eigenvalue_bound(const Matrix<double>& a, int iterations) {
  const Index r = a.rows();
  Vector<double> x(static_cast<std::size_t>(r), 1.0), image(x.size());
  double bound = std::numeric_limits<double>::infinity();
  for (int iteration = 0; iteration <= iterations; ++iteration) {
    std::fill(image.begin(), image.end(), 0.0);
    for (Index j = 0; j < r; ++j)
      for (Index i = 0; i < r; ++i) image.data()[i] += std::abs(a(i, j)) * x.data()[j];
    double largest = 0;
    for (Index i = 0; i < r; ++i) largest = std::max(largest, image.data()[i] / x.data()[i]);
    bound = std::min(bound, largest);
    if (!(largest > 0) || !std::isfinite(largest)) return largest;
    for (Index i = 0; i < r; ++i) x.data()[i] = std::max(image.data()[i] / largest, 1e-3 * x.data()[i]);
  }
  return bound;
}

template <class T>
void require(const CodesProblem<T>& p) {
  const auto mismatch = [](const std::string& what, Index got, const std::string& rule, Index want) {
    throw Error(what + " = " + std::to_string(got) + ": must equal " + rule + " = " + std::to_string(want));
  };
  if (p.B.rows != p.X.rows) mismatch("rows of the dictionary", p.B.rows, "the number of features", p.X.rows);
  if (!(p.beta >= 0) || !std::isfinite(p.beta)) throw Error("beta = " + std::to_string(p.beta) + ": must be >= 0");
  if (!(p.coupling.alpha >= 0) || !std::isfinite(p.coupling.alpha))
    throw Error("alpha = " + std::to_string(p.coupling.alpha) + ": must be >= 0");
  if (!(p.coupling.gamma >= 0) || !std::isfinite(p.coupling.gamma))
    throw Error("gamma = " + std::to_string(p.coupling.gamma) + ": must be >= 0");
  if (p.coupling.manifold() && (p.coupling.laplacian->rows != p.X.cols || p.coupling.laplacian->cols != p.X.cols))
    mismatch("rows of the Laplacian", p.coupling.laplacian->rows, "the number of samples", p.X.cols);
  if (p.coupling.consistent()) {
    if (p.coupling.incidence->cols != p.X.cols)
      mismatch("columns of the incidence", p.coupling.incidence->cols, "the number of samples", p.X.cols);
    if (p.coupling.consistency->rows() != p.coupling.incidence->rows)
      mismatch("rows of the consistency map", p.coupling.consistency->rows(), "the number of hyperedges",
               p.coupling.incidence->rows);
    if (p.coupling.consistency->cols() != p.B.cols)
      mismatch("columns of the consistency map", p.coupling.consistency->cols(), "the number of atoms", p.B.cols);
  }
}

}  // namespace

template <class T>
CodesModel<T>::Scratch::Scratch(const CodesModel& model, Index block)
    : codes(model.atoms(), block), wide(model.atoms(), block) {
  if (model.shared()) return;
  image.resize(model.features(), block);
  back.resize(model.atoms(), block);
  weighted.resize(model.features(), model.atoms());
  root.resize(static_cast<std::size_t>(model.features()));
  used.reserve(static_cast<std::size_t>(model.atoms()));
  if (model.forms_->narrow.empty()) return;
  narrow.resize(model.features(), std::max(model.atoms(), block));
  narrow_codes.resize(model.atoms(), block);
  narrow_weights.resize(static_cast<std::size_t>(model.features()));
}

template <class T>
struct CodesModel<T>::LazySpectrum {
  double mean_weight = 0;
  std::once_flag made;
  Spectrum value;
};

template <class T>
void CodesModel<T>::build_forms(Forms& forms, bool many_lack_few) const {
  const Index m = features(), r = atoms();
  const auto& weights = problem_.weights;
  const auto& coupling = problem_.coupling;
  const int closer = coupling.manifold() ? 8 : 0;  // elsewhere bounds only tell what is out of range
  Matrix<double> B = cast<double>(problem_.B);     // in double whatever T: it serves all samples
  for (Index k = 0; k < r && shared() && !weights.feature.empty(); ++k)
    for (Index i = 0; i < m; ++i)
      B(i, k) *= std::sqrt(static_cast<double>(weights.feature[static_cast<std::size_t>(i)]));
  forms.gram.resize(r, r);
  gram<double>(Op::transposed, 1, B, 0, forms.gram.view());
  forms.gram_bound = eigenvalue_bound(forms.gram, closer);
  if (!shared() && forms.gram_bound < 1e30) forms.narrow = cast<float>(problem_.B);
  if (many_lack_few) {
    forms.rows_of_B = Matrix<double>((r + kRowTile - 1) / kRowTile * kRowTile, m);
    for (Index k = 0; k < r; ++k)
      for (Index i = 0; i < m; ++i) forms.rows_of_B(k, i) = B(i, k);
  }
  if (!coupling.consistent()) return;
  const Matrix<double> Q = cast<double>(coupling.consistency->view());
  forms.consistency.resize(r, r);
  gram<double>(Op::transposed, coupling.gamma, Q, 0, forms.consistency.view());
  forms.consistency_bound = eigenvalue_bound(forms.consistency, closer);
  const bool uniform =
      std::adjacent_find(weights.sample.begin(), weights.sample.end(), std::not_equal_to<>()) == weights.sample.end();
  if (!shared() || !uniform) return;
  forms.sum = forms.gram;
  for (Index i = 0; i < forms.sum.size(); ++i)
    forms.sum.data()[i] = omega(0) * forms.gram.data()[i] + forms.consistency.data()[i];
}

template <class T>
CodesModel<T>::CodesModel(const CodesProblem<T>& problem, const Control& control)
    : problem_(problem), spectrum_(std::make_shared<LazySpectrum>()) {
  require(problem);
  const SerialBlas serial;
  const Index m = features(), n = samples(), r = atoms();
  const auto& weights = problem_.weights;
  const auto& coupling = problem_.coupling;
  mask_ = std::make_shared<const Mask>(shared() ? Mask() : Mask(weights, m, n, control));
  const auto forms = std::make_shared<Forms>();
  // q_j = B'(w_j v_j x_j) + gamma Q'h_j, and the certificates' scale from its first part
  const auto all_q = std::make_shared<Matrix<T>>();
  all_q->resize_for_overwrite(r, n);
  q_ = all_q;
  const bool unweighted = weights.sample.empty() && weights.feature.empty() && weights.entry.empty();
  // Every product packs B anew, as much work as packing as many samples as there are atoms: more samples at a time, but
  // blocks enough for some threads.
  const Index about = kBlock * std::clamp<Index>(n / (4 * kBlock), 1, 4);
  const Index size = std::max<Index>(1, block_count(n, std::max<Index>(n / about, 1)));  // no remnant
  Vector<double> top(static_cast<std::size_t>(block_count(n, size)), 0.0);
  std::vector<Matrix<T>> weighted(unweighted ? 0 : static_cast<std::size_t>(thread_count(control)));
  for (auto& w : weighted) w.resize(m, std::min(n, size));
  const Index blocks = block_count(n, size);
  parallel_blocks(1 + blocks, control, [&](Index task, int worker) {
    if (task == 0) {  // while others multiply
      build_forms(*forms, mask_->any_few());
      return;
    }
    const Index block = task - 1, first = block * size, b = block_length(n, block, size);
    const auto q = all_q->view().columns(first, b);
    if (unweighted) {
      gemm<T>(Op::transposed, Op::plain, 1, problem_.B, problem_.X.columns(first, b), 0, q);
    } else {
      const auto x = weighted[static_cast<std::size_t>(worker)].view().columns(0, b);
      for (Index j = 0; j < b; ++j) {
        std::copy_n(problem_.X.col(first + j), m, x.col(j));
        weigh(weights, first + j, x.columns(j, 1));
      }
      gemm<T>(Op::transposed, Op::plain, 1, problem_.B, x, 0, q);
    }
    double largest = 0;
    for (Index j = 0; j < b; ++j)
      for (Index k = 0; k < r; ++k) largest = std::max(largest, 2 * std::abs(static_cast<double>(q(k, j))));
    top[static_cast<std::size_t>(block)] = largest;
    if (!coupling.consistent()) return;
    const Sparse& H = *coupling.incidence;
    for (Index j = 0; j < b; ++j)
      for (Index at = H.start[static_cast<std::size_t>(first + j)];
           at < H.start[static_cast<std::size_t>(first + j + 1)]; ++at) {
        const Index e = H.index[static_cast<std::size_t>(at)];
        const T h = static_cast<T>(coupling.gamma * H.value[static_cast<std::size_t>(at)]);
        for (Index k = 0; k < r; ++k) q(k, j) += h * (*coupling.consistency)(e, k);
      }
  });
  if (forms->gram.empty()) build_forms(*forms, mask_->any_few());  // stopped before it began
  forms_ = forms;
  for (Index j = 0; j < n && coupling.manifold(); ++j) spectrum_->mean_weight += fit_weight(j) / static_cast<double>(n);
  scale_ = 0;
  for (const double t : top) scale_ = std::max(scale_, t);
  if (!(scale_ > 0)) scale_ = 1;
}

template <class T>
CodesModel<T>::CodesModel(const CodesModel& whole, const CodesProblem<T>& problem, std::shared_ptr<const Own> own)
    : own_(std::move(own)),
      problem_(problem),
      forms_(whole.forms_),
      spectrum_(whole.spectrum_),
      mask_(whole.mask_),
      q_(whole.q_),
      scale_(whole.scale_) {}

template <class T>
CodesModel<T> CodesModel<T>::part(const Groups& groups, std::size_t group) const {
  auto own = std::make_shared<Own>();
  own->samples = groups.members[group];
  own->laplacian = part_of(*problem_.coupling.laplacian, groups, group);
  CodesProblem<T> problem = problem_;
  problem.X = problem_.X.columns(0, static_cast<Index>(own->samples.size()));
  problem.coupling.laplacian = &own->laplacian;
  return CodesModel(*this, problem, std::move(own));
}

template <class T>
const typename CodesModel<T>::Spectrum& CodesModel<T>::spectrum() const {
  std::call_once(spectrum_->made, [&] {
    const SerialBlas serial;
    Spectrum& out = spectrum_->value;
    out.vectors = forms_->gram;
    const Matrix<double>& C = forms_->consistency;
    for (Index i = 0; i < out.vectors.size(); ++i)
      out.vectors.data()[i] = spectrum_->mean_weight * out.vectors.data()[i] + (C.empty() ? 0.0 : C.data()[i]);
    out.values = symmetric_eigen(out.vectors.view());
  });
  return spectrum_->value;
}

PACEWISE_WIDE_VECTORS
void multiply_sparse(MatrixView<const double> A, double scale, const double* z, double* y) {
  std::fill_n(y, A.rows, 0.0);
  for (Index k = 0; k < A.cols; ++k) {
    if (z[k] == 0) continue;
    const double *a = A.col(k), by = scale * z[k];
    for (Index i = 0; i < A.rows; ++i) y[i] += a[i] * by;
  }
}

namespace {

// y -= sum_i lacks_i b_i (b_i'z) over some rows b_i of the dictionary, here columns; `used`: where z is not zero
PACEWISE_WIDE_VECTORS
void subtract_rows(MatrixView<const double> rows_of_B, Index r, std::span<const std::int32_t> rows, const double* lacks,
                   const double* z, std::span<const std::int32_t> used, double* y) {
  constexpr Index lanes = 8;
  for (std::size_t e = 0; e < rows.size(); ++e) {
    const double* b = rows_of_B.col(rows[e]);
    double sum[lanes] = {}, dot = 0;
    if (used.size() <= 2 * lanes) {
      for (const std::int32_t k : used) dot += b[k] * z[k];
    } else {
      Index k = 0;
      for (; k + lanes <= r; k += lanes)
        for (Index t = 0; t < lanes; ++t) sum[t] += b[k + t] * z[k + t];
      for (; k < r; ++k) dot += b[k] * z[k];
      for (Index t = 0; t < lanes; ++t) dot += sum[t];
    }
    const double by = lacks[e] * dot;
    for (Index k = 0; k < r; ++k) y[k] -= by * b[k];
  }
}

std::span<const std::int32_t> nonzero_of(const double* z, Index r, std::vector<std::int32_t>& places) {
  places.clear();
  for (Index k = 0; k < r; ++k)
    if (z[k] != 0) places.push_back(static_cast<std::int32_t>(k));
  return places;
}

bool few_nonzero(MatrixView<const double> Z) {
  Index nonzero = 0;
  for (Index j = 0; j < Z.cols; ++j)
    for (Index k = 0; k < Z.rows; ++k) nonzero += Z(k, j) != 0 ? 1 : 0;
  return 8 * nonzero < Z.rows * Z.cols;  // dense products run eight times as fast
}

}  // namespace

// Y = A_j z_j for the codes z in the scratch
template <class T>
void CodesModel<T>::apply_fit(const Samples& samples, MatrixView<double> Y, Scratch& scratch, bool rough) const {
  const Index b = Y.cols, r = atoms();
  const auto wide = scratch.wide.view().columns(0, b);
  if (shared()) {
    if (few_nonzero(wide))
      for (Index j = 0; j < b; ++j) multiply_sparse(forms_->gram, 1, wide.col(j), Y.col(j));
    else
      gemm<double>(Op::plain, Op::plain, 1, forms_->gram, wide, 0, Y);
    for (Index j = 0; j < b && !problem_.weights.sample.empty(); ++j) {
      const double weight = omega(samples[j]);
      for (Index k = 0; k < r; ++k) Y(k, j) *= weight;
    }
  } else if (all_few(samples, b)) {
    for (Index j = 0; j < b; ++j) {
      const Index sample = samples[j];
      double* y = Y.col(j);
      multiply_sparse(forms_->gram, mask_->top(place(sample)), wide.col(j), y);
      double largest = 0;
      for (Index k = 0; k < r; ++k) largest = std::max(largest, std::abs(y[k]));
      if (largest > 1e4 * scale_)  // what is left after the subtraction would be rounding
        through_dictionary(samples, j, 1, Y, scratch);
      else
        subtract_rows(forms_->rows_of_B, r, mask_->rows(place(sample)), mask_->lacks(place(sample)), wide.col(j),
                      nonzero_of(wide.col(j), r, scratch.used), y);
    }
  } else if (rough && !forms_->narrow.empty()) {
    through_narrow_dictionary(samples, Y, scratch);
  } else {
    through_dictionary(samples, 0, b, Y, scratch);
  }
  if (!forms_->consistency.empty()) gemm<double>(Op::plain, Op::plain, 1, forms_->consistency, wide, 1, Y);
}

// Y = B'(w v (B z)) for `count` of the samples from `first` on
template <class T>
void CodesModel<T>::through_dictionary(const Samples& samples, Index first, Index count, MatrixView<double> Y,
                                       Scratch& scratch) const {
  const auto image = scratch.image.view().columns(first, count);
  const auto back = scratch.back.view().columns(first, count);
  for (Index j = 0; j < count; ++j) std::fill_n(image.col(j), image.rows, T(0));
  subtract_model<T>(problem_.B, scratch.codes.view().columns(first, count), image);
  for (Index j = 0; j < count; ++j) weigh(problem_.weights, place(samples[first + j]), image.columns(j, 1));
  gemm<T>(Op::transposed, Op::plain, -1, problem_.B, image, 0, back);
  for (Index j = 0; j < count; ++j)
    for (Index k = 0; k < atoms(); ++k) Y(k, first + j) = static_cast<double>(back(k, j));
}

template <class T>
void CodesModel<T>::through_narrow_dictionary(const Samples& samples, MatrixView<double> Y, Scratch& scratch) const {
  const auto image = scratch.narrow.view().columns(0, Y.cols);
  const auto z = scratch.narrow_codes.view().columns(0, Y.cols);
  for (Index j = 0; j < Y.cols; ++j)
    for (Index k = 0; k < Y.rows; ++k) z(k, j) = static_cast<float>(scratch.wide(k, j));
  gemm<float>(Op::plain, Op::plain, 1, forms_->narrow, z, 0, image);
  for (Index j = 0; j < Y.cols; ++j) weigh(problem_.weights, place(samples[j]), image.columns(j, 1));
  gemm<float>(Op::transposed, Op::plain, 1, forms_->narrow, image, 0, z);
  for (Index j = 0; j < Y.cols; ++j)
    for (Index k = 0; k < Y.rows; ++k) Y(k, j) = static_cast<double>(z(k, j));
}

template <class T>
bool CodesModel<T>::all_few(const Samples& samples, Index count) const {
  for (Index j = 0; j < count; ++j)
    if (!mask_->few(place(samples[j]))) return false;
  return true;
}

// Y = A_j z_j alone
template <class T>
template <class U>
void CodesModel<T>::fit_curvature(MatrixView<const U> Z, const Samples& samples, MatrixView<double> Y, Scratch& scratch,
                                  bool rough) const {
  for (Index j = 0; j < Y.cols; ++j)
    for (Index k = 0; k < Y.rows; ++k) {
      scratch.codes(k, j) = static_cast<T>(Z(k, samples[j]));
      scratch.wide(k, j) = static_cast<double>(Z(k, samples[j]));
    }
  apply_fit(samples, Y, scratch, rough);
}

template <class T>
template <class U>
void CodesModel<T>::add_manifold(MatrixView<const U> S, const Samples& samples, double factor,
                                 MatrixView<double> Y) const {
  if (!problem_.coupling.manifold()) return;
  const Sparse& L = *problem_.coupling.laplacian;
  for (Index j = 0; j < Y.cols; ++j) {
    const auto column = static_cast<std::size_t>(samples[j]);
    for (Index at = L.start[column]; at < L.start[column + 1]; ++at) {
      const double l = factor * problem_.coupling.alpha * L.value[static_cast<std::size_t>(at)];
      const U* s = S.col(L.index[static_cast<std::size_t>(at)]);
      double* y = Y.col(j);
      for (Index k = 0; k < Y.rows; ++k) y[k] += l * static_cast<double>(s[k]);
    }
  }
}

template <class T>
void CodesModel<T>::gradient(MatrixView<const T> S, const Samples& samples, MatrixView<double> G, Scratch& scratch,
                             bool rough) const {
  fit_curvature<T>(S, samples, G, scratch, rough);
  for (Index j = 0; j < G.cols; ++j) {
    const T* q = q_->col(place(samples[j]));
    for (Index k = 0; k < G.rows; ++k) G(k, j) = 2 * (G(k, j) - static_cast<double>(q[k]));
  }
  add_manifold<T>(S, samples, 2, G);
}

template <class T>
void CodesModel<T>::curvature(MatrixView<const double> Z, const Samples& samples, MatrixView<double> Y,
                              Scratch& scratch, bool rough) const {
  fit_curvature<double>(Z, samples, Y, scratch, rough);
  add_manifold<double>(Z, samples, 1, Y);
}

template <class T>
bool CodesModel<T>::has_columns(Index j) const {
  return !shared() && mask_->few(place(j));
}

template <class T>
double CodesModel<T>::weight(Index j) const {
  return forms_->sum.empty() ? fit_weight(j) : 1;
}

template <class T>
double CodesModel<T>::fit_weight(Index j) const {
  return shared() ? omega(j) : mask_->mean(place(j));
}

template <class T>
double CodesModel<T>::curvature_bound(Index j) const {
  return (shared() ? omega(j) : mask_->top(place(j))) * forms_->gram_bound + forms_->consistency_bound;
}

template class CodesModel<float>;
template class CodesModel<double>;

}  // namespace pacewise

#include "pacewise/solve/coupled_system.hpp"

#include <algorithm>
#include <cmath>

namespace pacewise {
namespace {
std::size_t at(Index i) { return static_cast<std::size_t>(i); }
}  // namespace

template <class T>
CoupledSystem<T>::CoupledSystem(const CodesModel<T>& model, const StepOptions& options, const Control& control)
    : model_(model),
      control_(control),
      n_(model.samples()),
      r_(model.atoms()),
      alpha_(model.problem().coupling.alpha),
      beta_(model.problem().beta),
      L_(*model.problem().coupling.laplacian),
      gram_blocks_(!model.shared()),
      diagonal_(diagonal(L_)),
      bounds_(at(n_)),
      sets_(at(n_)),
      start_(at(n_ + 1), 0),
      spread_(r_, n_) {
  const double data = static_cast<double>((model.features() + r_) * n_) * sizeof(T);
  memory_ = options.memory_bytes > 0 ? static_cast<double>(options.memory_bytes) : std::max(2 * data, 256e6);
  const Index block = std::min(n_, kBlock);
  for (int t = 0; t < thread_count(control); ++t) {
    scratch_.emplace_back(model, block);
    wide_.emplace_back(r_, block);
  }
  for (Index j = 0; j < n_; ++j) bounds_[at(j)] = model.curvature_bound(j);
}

template <class T>
double CoupledSystem<T>::largest_bound() const {
  return *std::max_element(bounds_.begin(), bounds_.end());
}

template <class T>
void CoupledSystem<T>::grow(const Matrix<T>& S, const Matrix<double>& gradient) {
  if (!gram_blocks_) return;
  std::vector<std::vector<std::int32_t>> fresh(scratch_.size());
  parallel_blocks(block_count(n_), control_, [&](Index block, int worker) {
    auto& order = fresh[static_cast<std::size_t>(worker)];
    std::vector<char> member(at(r_));
    for (Index j = block * kBlock; j < block * kBlock + block_length(n_, block); ++j) {
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
  double bytes = 0;
  for (const auto& s : sets_) bytes += 16.0 * static_cast<double>(s.atoms.size() * s.atoms.size());
  if (bytes > memory_) {
    gram_blocks_ = false;
    for (auto& s : sets_) s = Set();
  }
}

template <class T>
void CoupledSystem<T>::extend(Index j, typename CodesModel<T>::Scratch& scratch) {
  Set& s = set(j);
  const auto size = static_cast<Index>(s.atoms.size());
  if (size == s.made) return;
  std::vector<double> gram(at(size * size));
  for (Index b = 0; b < s.made; ++b) std::copy_n(s.gram.data() + b * s.made, s.made, gram.data() + b * size);
  s.gram = std::move(gram);
  model_.extend_gram(j, s.atoms.data(), s.made, size, {s.gram.data(), size, size}, scratch);
  s.made = size;
}

template <class T>
void CoupledSystem<T>::choose(const Matrix<T>& S, bool support_only) {
  parallel_blocks(block_count(n_), control_, [&](Index block, int worker) {
    for (Index j = block * kBlock; j < block * kBlock + block_length(n_, block); ++j) {
      Set& s = set(j);
      if (gram_blocks_) extend(j, scratch_[static_cast<std::size_t>(worker)]);
      s.position.clear();
      const Index candidates = gram_blocks_ ? static_cast<Index>(s.atoms.size()) : r_;
      for (Index a = 0; a < candidates; ++a) {
        const Index k = gram_blocks_ ? s.atoms[at(a)] : a;
        if (!support_only || beta_ == 0 || S(k, j) != T(0)) s.position.push_back(static_cast<std::int32_t>(a));
      }
    }
  });
  for (Index j = 0; j < n_; ++j) start_[at(j + 1)] = begin(j) + static_cast<Index>(set(j).position.size());
  atoms_.resize(at(unknowns()));
  for (Index j = 0; j < n_; ++j)
    for (Index a = 0; a < count(j); ++a) {
      const std::int32_t position = set(j).position[at(a)];
      atoms_[at(begin(j) + a)] = gram_blocks_ ? set(j).atoms[at(position)] : position;
    }
  spread_.fill(0);
}

template <class T>
void CoupledSystem<T>::factorise(double damping) {
  double bytes = 0;
  for (Index j = 0; j < n_; ++j) bytes += 8.0 * static_cast<double>(count(j) * count(j));
  factor_blocks_ = bytes <= memory_;
  parallel_blocks(block_count(n_), control_, [&](Index block, int worker) {
    auto& scratch = scratch_[static_cast<std::size_t>(worker)];
    for (Index j = block * kBlock; j < block * kBlock + block_length(n_, block); ++j) {
      const double shift = alpha_ * diagonal_[at(j)] + damping;
      if (!factor_blocks_) {
        factorise_diagonal(j, shift, scratch);
        continue;
      }
      Set& s = set(j);
      const Index p = count(j);
      s.factor.resize(at(p * p));
      if (gram_blocks_) {
        for (Index b = 0; b < p; ++b)
          for (Index a = 0; a < p; ++a)
            s.factor[at(b * p + a)] = s.gram[at(s.position[at(b)] * s.made + s.position[at(a)])];
      } else {
        model_.extend_gram(j, atoms_.data() + begin(j), 0, p, {s.factor.data(), p, p}, scratch);
      }
      factorise_block(j, shift);
    }
  });
}

template <class T>
void CoupledSystem<T>::factorise_block(Index j, double shift) {
  Set& s = set(j);
  const Index p = count(j);
  double top = 0;
  for (Index a = 0; a < p; ++a) top = std::max(top, s.factor[at(a * p + a)] + shift);
  if (!(top > 0)) top = 1;  // a sample of weight 0 without neighbours: the identity will do
  // the upper triangle keeps A_PP: Cholesky reads and writes the lower one
  std::vector<double> diagonal(at(p));
  for (Index a = 0; a < p; ++a) diagonal[at(a)] = s.factor[at(a * p + a)];
  for (double extra = static_cast<double>(std::numeric_limits<T>::epsilon()) * top;; extra *= 100) {
    for (Index a = 0; a < p; ++a) {
      s.factor[at(a * p + a)] = diagonal[at(a)] + shift + extra;
      for (Index b = a + 1; b < p; ++b) s.factor[at(a * p + b)] = s.factor[at(b * p + a)];
    }
    if (cholesky({s.factor.data(), p, p})) return;
  }
}

template <class T>
void CoupledSystem<T>::factorise_diagonal(Index j, double shift, typename CodesModel<T>::Scratch& scratch) {
  Set& s = set(j);
  s.factor.resize(at(count(j)));
  double top = 0;
  for (Index a = 0; a < count(j); ++a) {
    double one = 0;
    model_.extend_gram(j, &atoms_[at(begin(j) + a)], 0, 1, {&one, 1, 1}, scratch);
    s.factor[at(a)] = one + shift;
    top = std::max(top, one + shift);
  }
  for (auto& f : s.factor) f = top > 0 ? 1 / std::max(f, 1e-12 * top) : 1;
}

template <class T>
void CoupledSystem<T>::spread(Index j, const double* x) {
  double* column = spread_.col(j);
  for (Index a = 0; a < count(j); ++a) column[atom(j, a)] = x[a];
}

template <class T>
void CoupledSystem<T>::add_coupling(Index j, double* y) const {
  const std::int32_t* atoms = atoms_.data() + begin(j);
  const Index p = count(j);
  for (Index e = L_.start[at(j)]; e < L_.start[at(j + 1)]; ++e) {
    const double l = alpha_ * L_.value[at(e)];
    const double* z = spread_.col(L_.index[at(e)]);
    for (Index a = 0; a < p; ++a) y[a] += l * z[atoms[a]];
  }
}

template <class T>
void CoupledSystem<T>::apply(Index block, int worker, Vector<double>& y) {
  const Index first = block * kBlock, b = block_length(n_, block);
  if (!gram_blocks_) {
    const auto out = wide_[static_cast<std::size_t>(worker)].view().columns(0, b);
    model_.curvature(spread_, first, out, scratch_[static_cast<std::size_t>(worker)]);
    for (Index j = first; j < first + b; ++j)
      for (Index a = 0; a < count(j); ++a) y[at(begin(j) + a)] = out(atom(j, a), j - first);
    return;
  }
  for (Index j = first; j < first + b; ++j) {
    const Set& s = set(j);
    double* out = y.data() + begin(j);
    const Index p = count(j);
    std::fill_n(out, p, 0.0);
    const double* x = spread_.col(j);
    for (Index c = 0; c < p; ++c) {
      const double z = x[atom(j, c)];
      if (z == 0) continue;
      const double* column = s.gram.data() + s.position[at(c)] * s.made;
      for (Index a = 0; a < p; ++a) out[a] += z * column[s.position[at(a)]];
    }
    add_coupling(j, out);
  }
}

template <class T>
void CoupledSystem<T>::precondition(Index j, double* y) const {
  const auto& factor = sets_[at(j)].factor;
  const Index p = count(j);
  if (factor_blocks_)
    cholesky_solve({factor.data(), p, p}, {y, p, 1});
  else
    for (Index a = 0; a < p; ++a) y[a] *= factor[at(a)];
}

template class CoupledSystem<float>;
template class CoupledSystem<double>;

}  // namespace pacewise

#include "model/part.hpp"

#include <algorithm>
#include <cmath>

#include "algebra/sums.hpp"
#include "solve/residual.hpp"

namespace pacewise {

template <class T>
Part<T>::Part(Data<T> samples_of, Graph graph_of, const Options& options, const Groups& groups, const Tuning& tuning,
              const Control& control)
    : data(std::move(samples_of)), graph(std::move(graph_of)), options_(options), groups_(groups), tuning_(tuning) {
  observed_ = observed_units(data.weights, features(), samples(), options.level, control);
  if (!graph.incidence.empty()) edges_ = transpose(graph.incidence);
  if (const Matrix<T>& w = data.weights.entry; !w.empty()) {
    entry_top_.assign(static_cast<std::size_t>(features()), 0.0);
    for (Index j = 0; j < samples(); ++j)
      for (Index i = 0; i < features(); ++i) entry_top_[i] = std::max(entry_top_[i], static_cast<double>(w(i, j)));
  }
  effective_ = data.weights;
  if (data.bounded()) gross_ = where([&](Index i, Index j) { return data.gross(i, j); }, control);
}

template <class T>
void Part<T>::set_graph(Graph of_samples) {
  graph = std::move(of_samples);
  if (!graph.incidence.empty()) edges_ = transpose(graph.incidence);
}

// ---- a descending pace

template <class T>
typename Part<T>::Entries Part<T>::where(const std::function<bool(Index, Index)>& is, const Control& control) const {
  const Index m = features(), n = samples();
  std::vector<Entries> blocks(static_cast<std::size_t>(block_count(n)));
  parallel_for(n, control.to_the_end(), [&](Index first, Index count, int) {
    Entries& mine = blocks[static_cast<std::size_t>(first / kBlock)];
    for (Index j = first; j < first + count; ++j) {
      for (Index i = 0; i < m; ++i)
        if (data.weights(i, j) > T(0) && is(i, j)) mine.row.push_back(static_cast<std::int32_t>(i));
      mine.start.push_back(std::ssize(mine.row));
    }
  });
  Entries all;
  for (const Entries& block : blocks) {
    for (Index j = 1; j < std::ssize(block.start); ++j) all.start.push_back(std::ssize(all.row) + block.start[j]);
    all.row.insert(all.row.end(), block.row.begin(), block.row.end());
  }
  return all;
}

template <class T>
void Part<T>::hide(const std::function<bool(Index, Index)>& is_hidden, const Control& control) {
  hidden_ = is_hidden ? where(is_hidden, control) : Entries();
}

template <class T>
Vector<T> Part<T>::hidden_errors(const Matrix<T>& B, const CodeTerms<T>& terms, double cap, const Control& control) {
  Matrix<T> codes;
  if (options_.level == Level::sample) {
    codes = S;
    const Vector<T> paced = std::exchange(effective_.sample, data.weights.sample);
    improve_codes(B, terms, 0, static_cast<int>(tuning_.start_sweeps), control);
    effective_.sample = paced;
    measure(B, options_.level, false, control);
  }
  Vector<T> errors(std::ssize(hidden_.row));
  parallel_for(samples(), control.to_the_end(), [&](Index first, Index count, int) {
    for (Index j = first; j < first + count && !hidden_.row.empty(); ++j)
      for (Index at = hidden_.start[j]; at < hidden_.start[j + 1]; ++at) {
        const auto e = static_cast<double>(R_(hidden_.row[at], j));
        errors[at] = static_cast<T>(std::min(e * e, cap));
      }
  });
  if (!codes.empty()) {
    S = std::move(codes);
    measure(B, options_.level, false, control);
  }
  return errors;
}

template <class T>
void Part<T>::mark_gross() {
  if (options_.level != Level::element) return;
  for (Index j = 0; j < samples() && !gross_.row.empty(); ++j)
    for (Index at = gross_.start[j]; at < gross_.start[j + 1]; ++at)
      losses_[j * features() + gross_.row[at]] = std::numeric_limits<T>::max();
}

template <class T>
Vector<T> Part<T>::hold_weights(double lambda, double center, const Vector<T>& feature_weights, bool ones_too,
                                const Control& control) {
  hidden_ = Entries();
  Vector<T> v = feature_weights;
  if (options_.level != Level::feature) solve_weights(losses_, options_.regularizer, lambda, v, control, center);
  given_ = data.weights;
  if (ones_too || !all_one(v)) combine(*given_, of_entries(v), options_.level, features(), samples(), data.weights);
  effective_ = data.weights;
  set_lambda(std::numeric_limits<double>::infinity());
  return v;
}

template <class T>
void Part<T>::release_weights() {
  if (given_) data.weights = std::move(*given_);
  given_.reset();
  effective_ = data.weights;
}

template <class T>
Data<T> Part<T>::mended(const Vector<T>& weights_of_units, const Matrix<T>& B, const Control& control) const {
  const Index m = features();
  const Vector<T> v = of_entries(weights_of_units);
  Data<T> out;
  out.values.resize_for_overwrite(m, samples());
  for_each_residual<T, T>(data.values, B, S, control, [&](Index first, MatrixView<T> R, MatrixView<const T>, int) {
    for (Index j = 0; j < R.cols; ++j) {
      const T* x = data.values.col(first + j);
      T* y = out.values.col(first + j);
      for (Index i = 0; i < m; ++i) {
        const bool observed = (given_ ? *given_ : data.weights)(i, first + j) > T(0);
        const T trust = observed ? v[unit_of(options_.level, m, i, first + j)] : T(0);
        y[i] = x[i] - (1 - trust) * R(i, j);
        if (!data.normalization.offset.empty()) y[i] += data.normalization.offset[i];
      }
      const T norm = eigen(out.values).col(first + j).norm();
      if (options_.normalize == Normalize::unit && norm > 0) eigen(out.values).col(first + j) /= norm;
    }
  });
  return out;
}

// ---- losses and weights

template <class T>
void Part<T>::measure(const Matrix<T>& B, Level level, bool exact, const Control& control) {
  exact_ = exact;
  measured_ = level;
  if (exact) {
    R_ = Matrix<float>();
    unit_losses<T>(data.values, data.weights, B, S, level, control, losses_);
    if (level != Level::group) return;
    entries_fit_ = parallel_sum(samples(), control, 0.0, [&](Index first, Index count, int, double& sum) {
      T* l = losses_.data() + first * features();
      sum += l1_norm<T>(l, features() * count);
      groups_.losses(l, count);
    });
    return;
  }
  const Index m = features(), n = samples();
  if (R_.empty()) R_.resize_for_overwrite(m, n);
  losses_.resize(weighs_entries(level) ? 0 : level == Level::feature ? m : n);
  const Matrix<float> atoms = cast<float, T>(B);
  const Eigen::VectorXd rows =
      parallel_sum(n, control, Eigen::VectorXd(Eigen::VectorXd::Zero(level == Level::feature ? m : 0)),
                   [&](Index first, Index count, int, Eigen::VectorXd& sum) {
                     const MatrixView<float> R = R_.view().columns(first, count);
                     eigen(R) = eigen(data.values.view().columns(first, count)).template cast<float>();
                     const EigenMatrix<float> s = eigen(S.view().columns(first, count)).template cast<float>();
                     subtract_product<float>(atoms, {s.data(), s.rows(), count}, R);
                     if (weighs_entries(level)) return;
                     Vector<float> scratch;
                     const float* loss = block_losses(first, count, scratch);
                     for (Index j = 0; j < count; ++j, loss += m)
                       if (level == Level::feature)
                         for (Index i = 0; i < m; ++i) sum[i] += static_cast<double>(loss[i]);
                       else
                         losses_[first + j] = static_cast<T>(l1_norm<float>(loss, m));
                   });
  for (Index i = 0; i < rows.size(); ++i) losses_[i] = static_cast<T>(rows[i]);
}

template <class T>
const float* Part<T>::block_losses(Index first, Index count, Vector<float>& scratch, bool grouped) const {
  const Index m = features();
  scratch.resize(m * count);
  for (Index j = 0; j < count; ++j) {
    const float* r = R_.col(first + j);
    float* l = scratch.data() + j * m;
    for (Index i = 0; i < m; ++i) l[i] = r[i] * r[i];
    weigh(data.weights, first + j, l, m);
    set_aside(first + j, [&](Index i) { l[i] = 0; });
    if (grouped) groups_.losses(l);
  }
  return scratch.data();
}

template <class T>
template <class U>
void Part<T>::entry_losses(Index from, const std::function<void(Index, const U*, Index, int)>& use,
                           const Control& control) const {
  const Index m = features();
  parallel_for(samples(), control.to_the_end(), [&](Index first, Index count, int worker) {
    Vector<float> made;
    Vector<U> seen;
    const U* l = nullptr;
    if constexpr (std::is_same_v<T, U>)
      if (exact_) l = losses_.data() + first * m;
    if constexpr (std::is_same_v<U, float>)
      if (!exact_) l = block_losses(first, count, made);
    Index units = m * count;
    if (!observed_.empty()) {
      for (Index u = 0; u < units; ++u)
        if (observed_[first * m + u] != 0) seen.push_back(l[u]);
      l = seen.data();
      units = std::ssize(seen);
    }
    use(from + first / kBlock, l, units, worker);
  });
}

template <class T>
void Part<T>::set_pace(double lambda, const Vector<T>& feature_weights, const Control& control, double center) {
  set_lambda(lambda, center);
  weights_.clear();
  Vector<T> v = one_copy() && exact_ ? effective_.entry.release() : Vector<T>();
  effective_ = data.weights;
  if (std::isinf(lambda) || options_.level == Level::none || paced_entries()) return;
  if (options_.level == Level::feature)
    v = feature_weights;
  else
    solve_weights(losses_, options_.regularizer, lambda, v, control, center);
  set_weights(std::move(v));
}

template <class T>
void Part<T>::set_weights(Vector<T> v) {
  if (one_copy()) {
    effective_.entry.take(std::move(v), features(), samples());
    return;
  }
  weights_ = std::move(v);
  combine(data.weights, of_entries(weights_), options_.level, features(), samples(), effective_);
}

template <class T>
Vector<T> Part<T>::of_entries(Vector<T> v) const {
  groups_.weights(v.data(), samples());
  return v;
}

template <class T>
template <class U>
void Part<T>::pace_sample(Index j, const float* residual, U* v) const {
  const Index m = features();
  for (Index i = 0; i < m; ++i) v[i] = residual[i] * residual[i];
  weigh(data.weights, j, v, m);
  set_aside(j, [&](Index i) { v[i] = 0; });
  groups_.losses(v);
  for (Index i = 0; i < m; ++i)
    v[i] = static_cast<U>(pace_weight(options_.regularizer, static_cast<double>(v[i]), lambda_));
  groups_.weights(v);
}

template <class T>
Vector<T> Part<T>::entry_weights(const Control& control) const {
  const Index m = features();
  Vector<T> v(m * samples());
  parallel_for(samples(), control, [&](Index first, Index count, int) {
    for (Index j = first; j < first + count; ++j) pace_sample(j, R_.col(j), v.data() + j * m);
  });
  return v;
}

template <class T>
PaceSums Part<T>::pace_sums(const Control& control) const {
  const bool grouped = !groups_.empty() && !std::isinf(lambda_);  // else all weights are 1, those of entries too
  if (exact_) {
    PaceSums sums = pacewise::pace_sums(losses_, weights(), measured_ == options_.level ? observed_ : Vector<char>(),
                                        options_.regularizer, lambda_, control, center_);
    if (measured_ == Level::group && !grouped) sums.take_fit(entries_fit_);
    return sums;
  }
  const char* seen = observed_.empty() ? nullptr : observed_.data();
  const bool entries = weighs_entries(options_.level);
  return parallel_sum(samples(), control, PaceSums{}, [&](Index first, Index count, int, PaceSums& sum) {
    const Index units = entries ? features() : 1;
    const char* mine = seen == nullptr ? nullptr : seen + first * units;
    Vector<float> scratch;
    if (entries)
      add_best_weights(block_losses(first, count, scratch, grouped), mine, units * count, options_.regularizer, lambda_,
                       center_, sum);
    else
      add_best_weights(losses_.data() + first, mine, count, options_.regularizer, lambda_, center_, sum);
  });
}

template <class T>
void Part<T>::weigh_block(Index first, MatrixView<const float> residual, MatrixView<float> x) const {
  const Index m = features();
  const Weights<T>& user = data.weights;
  const bool weighted = !(user.sample.empty() && user.feature.empty() && user.entry.empty());
  Vector<float> w(weighted || !groups_.empty() ? m : 0);
  for (Index j = 0; j < x.cols; ++j) {
    set_aside(first + j, [&](Index i) { x(i, j) = 0; });
    if (!paced_entries()) {
      weigh(effective_, first + j, x.col(j), m);
      continue;
    }
    if (!groups_.empty()) {
      pace_sample(first + j, residual.col(j), w.data());
      weigh(user, first + j, w.data(), m);
      for (Index i = 0; i < m; ++i) x(i, j) *= w[i];
      continue;
    }
    if (weighted) {
      std::fill(w.begin(), w.end(), 1.0F);
      weigh(user, first + j, w.data(), m);
    }
    weigh_entries(weighted ? w.data() : nullptr, residual.col(j), m, options_.regularizer, lambda_, x.col(j));
  }
}

// ---- offset

template <class T>
typename Part<T>::OffsetSums Part<T>::offset_sums(const Matrix<T>& B, const Control& control) const {
  const Index m = features();
  const OffsetSums none{Eigen::VectorXd::Zero(m), Eigen::VectorXd::Zero(m)};
  return parallel_sum(samples(), control, none, [&](Index first, Index count, int, OffsetSums& sum) {
    EigenMatrix<double> residual, weight = EigenMatrix<double>::Ones(m, count);
    if (exact_) {
      residual = (eigen(data.values.view().columns(first, count)) - eigen(B) * eigen(S.view().columns(first, count)))
                     .template cast<double>();
      for (Index j = 0; j < count; ++j) weigh(effective_, first + j, weight.col(j).data(), m);
    } else {
      const MatrixView<const float> R = R_.view().columns(first, count);
      EigenMatrix<float> w = EigenMatrix<float>::Ones(m, count);
      weigh_block(first, R, {w.data(), m, count});
      weight = w.cast<double>();
      residual = eigen(R).template cast<double>();
    }
    sum.residual += residual.cwiseProduct(weight).rowwise().sum();
    sum.weight += weight.rowwise().sum();
  });
}

template <class T>
void Part<T>::subtract_offset(const Vector<T>& offset, const Control& control) {
  subtract(offset, given_ ? *given_ : data.weights, data, control);
  for (Index j = 0; j < R_.cols(); ++j)
    for (Index i = 0; i < features(); ++i) R_(i, j) -= static_cast<float>(offset[i]);
}

// ---- dictionary

template <class T>
EigenMatrix<double> Part<T>::cheap_gradient(const Control& control) const {
  const SerialBlas serial;
  const Index m = features();
  return parallel_sum(
      samples(), control, EigenMatrix<double>(EigenMatrix<double>::Zero(m, S.rows())),
      [&](Index first, Index count, int, EigenMatrix<double>& sum) {
        EigenMatrix<float> R = eigen(R_.view().columns(first, count));
        weigh_block(first, R_.view().columns(first, count), {R.data(), m, count});
        const EigenMatrix<float> s = eigen(S.view().columns(first, count)).template cast<float>();
        sum += EigenMatrix<float>(R * s.transpose()).template cast<double>();
      },
      4 * kBlock, 8);
}

template <class T>
EigenMatrix<double> Part<T>::outer(const Matrix<T>& A, bool exact, const Control& control, const Vector<T>& weight) {
  if (exact) return sum_of_outer_products<T, double>(A, control, weight);
  return sum_of_outer_products<T, float>(A, control, weight);
}

template <class T>
EigenMatrix<double> Part<T>::gram(bool exact, bool weighted, const Control& control) const {
  return outer(S, exact, control, weighted ? effective_.sample : Vector<T>());
}

template <class T>
Eigen::VectorXd Part<T>::row_bounds() const {
  Eigen::VectorXd f = Eigen::VectorXd::Ones(features());
  for (Index i = 0; i < features(); ++i) {
    if (!effective_.feature.empty()) f[i] *= static_cast<double>(effective_.feature[i]);
    if (!entry_top_.empty()) f[i] *= entry_top_[i];
  }
  return f;
}

template <class T>
Vector<double> Part<T>::trusted_losses(const Matrix<T>& B, const Control& control) const {
  if (exact_) {
    const Vector<T> l = unit_losses<T>(data.values, effective_, B, S, Level::sample, control);
    return {l.begin(), l.end()};
  }
  Vector<double> out(samples());
  parallel_for(samples(), control, [&](Index first, Index count, int) {
    const MatrixView<const float> R = R_.view().columns(first, count);
    EigenMatrix<float> weighted = eigen(R);
    weigh_block(first, R, {weighted.data(), R.rows, count});
    for (Index j = 0; j < count; ++j) out[first + j] = static_cast<double>(weighted.col(j).dot(eigen(R).col(j)));
  });
  return out;
}

template <class T>
Eigen::VectorXd Part<T>::trusted_sample(const Matrix<T>& B, Index j) const {
  const Eigen::VectorXd model = (eigen(B) * eigen(S).col(j)).template cast<double>();
  const Eigen::VectorXd x = eigen(data.values).col(j).template cast<double>();
  Eigen::VectorXf trust = Eigen::VectorXf::Ones(features());
  if (weighs_entries(options_.level) && !std::isinf(lambda_)) {
    const Eigen::VectorXf residual = (x - model).template cast<float>();
    pace_sample(j, residual.data(), trust.data());
  }
  if (options_.level == Level::feature && !weights_.empty())
    for (Index i = 0; i < features(); ++i) trust[i] = static_cast<float>(weights_[i]);
  for (Index i = 0; i < features(); ++i)
    if (!(data.weights(i, j) > T(0))) trust[i] = 0;
  set_aside(j, [&](Index i) { trust[i] = 0; });
  return model + trust.template cast<double>().cwiseProduct(x - model);
}

// ---- codes

template <class T>
CodeTerms<T> Part<T>::terms(const Penalty& penalty, bool with_graph, const EigenMatrix<double>& QQ) const {
  const EigenMatrix<double> none;
  Coupling<T> coupling;
  if (with_graph && !graph.laplacian.empty()) {
    coupling.laplacian = &graph.laplacian;
    coupling.alpha = options_.alpha;
  }
  if (with_graph && !Qt.empty()) coupling.incidence = &graph.incidence;
  coupling.gamma = options_.gamma;
  // Q'Q counts for a sample in no hyperedge of this part, too
  return {penalty, coupling, S.rows(), with_graph ? Qt.view() : MatrixView<const T>(), with_graph ? QQ : none};
}

template <class T>
const CoupledGraph* Part<T>::order(const CodeTerms<T>& terms, const Control& control) const {
  if (terms.alpha() > 0 && !order_) order_.emplace(graph.laplacian, control, tuning_);
  return order_ ? &*order_ : nullptr;
}

template <class T>
void Part<T>::improve_codes(const Matrix<T>& B, const CodeTerms<T>& terms, int passes, int sweeps,
                            const Control& control) {
  const auto most = [](const auto& w) {
    return w.empty() ? 1.0 : static_cast<double>(*std::max_element(w.begin(), w.end()));
  };
  const Matrix<float> atoms = cast<float, T>(B);
  const ResidualBlocks residuals = [&](const auto& use) {
    for_each_residual<float, T>(data.values, atoms, S, control,
                                [&](Index first, MatrixView<float> R, MatrixView<const float> s, int) {
                                  weigh_block(first, R_.view().columns(first, R.cols), R);
                                  use(first, R, s);
                                });
  };
  pacewise::improve_codes<T>({B, effective_, most(effective_.sample) * most(entry_top_), residuals, tuning_}, terms,
                             order(terms, control), passes, sweeps, S, control);
}

template <class T>
StepReport Part<T>::solve_codes(const Matrix<T>& B, const CodeTerms<T>& terms, const StepOptions& step,
                                const Control& control) {
  return pacewise::solve_codes<T>(codes_problem(B), terms, S, step, control, order(terms, control));
}

template <class T>
Index Part<T>::nonzeros(const Control& control) const {
  return parallel_sum(samples(), control.to_the_end(), Index{0}, [&](Index first, Index count, int, Index& sum) {
    const T* s = S.col(first);
    sum += S.rows() * count - std::count(s, s + S.rows() * count, T(0));
  });
}

template <class T>
double Part<T>::zero_beta() const {
  double top = 0;
  for (Index j = 0; j < samples(); ++j) {
    double sum = 0;
    for (Index i = 0; i < features(); ++i) {
      if (data.bounded() && data.gross(i, j)) continue;
      const double wx = static_cast<double>(data.weights(i, j)) * static_cast<double>(data.values(i, j));
      sum += wx * wx;
    }
    top = std::max(top, 2 * std::sqrt(sum));
  }
  return top;
}

// ---- cutting and joining

template <class T>
Data<T> slice(const Data<T>& data, Index first, Index count) {
  const auto columns = [&](const Matrix<T>& all) {
    return all.empty() ? Matrix<T>() : Matrix<T>(all.view().columns(first, count));
  };
  const auto range = [&](const Vector<T>& all) {
    return all.empty() ? Vector<T>() : Vector<T>(all.begin() + first, all.begin() + first + count);
  };
  Data<T> out;
  out.values = columns(data.values);
  out.weights = {range(data.weights.sample), data.weights.feature, columns(data.weights.entry)};
  out.normalization = data.normalization;
  out.sample_scale = range(data.sample_scale);
  for (Index j = 0; j < count; ++j)
    for (Index i = 0; i < out.values.rows(); ++i) out.missing += out.weights(i, j) > T(0) ? 0 : 1;
  return out;
}

template <class T>
void append(Data<T>& data, Data<T> more) {
  const auto join = [](Matrix<T>& all, const Matrix<T>& part) {
    Matrix<T> both;
    both.resize_for_overwrite(all.rows(), all.cols() + part.cols());
    std::copy_n(part.data(), part.size(), std::copy_n(all.data(), all.size(), both.data()));
    all = std::move(both);
  };
  join(data.values, more.values);
  if (!data.weights.entry.empty()) join(data.weights.entry, more.weights.entry);
  data.weights.sample.insert(data.weights.sample.end(), more.weights.sample.begin(), more.weights.sample.end());
  data.sample_scale.insert(data.sample_scale.end(), more.sample_scale.begin(), more.sample_scale.end());
  data.missing += more.missing;
}

namespace {

/// diag(a, b)
void append(Sparse& a, const Sparse& b) {
  const auto nonzeros = std::ssize(a.value);
  for (const auto i : b.index) a.index.push_back(static_cast<std::int32_t>(i + a.rows));
  for (Index j = 1; j <= b.cols; ++j) a.start.push_back(b.start[j] + nonzeros);
  a.value.insert(a.value.end(), b.value.begin(), b.value.end());
  a.rows += b.rows;
  a.cols += b.cols;
}

}  // namespace

void append(Graph& graph, Index samples, Graph more, Index more_samples) {
  const auto pad = [](Sparse& a, Index n, bool square) {  // as many columns as samples, and nothing in them
    if (!a.empty()) return;
    a = Sparse();
    a.cols = n;
    a.rows = square ? n : 0;
    a.start.assign(static_cast<std::size_t>(n + 1), 0);
  };
  const auto join = [&](Sparse& all, Sparse& part, bool square) {
    if (all.empty() && part.empty()) return;
    pad(all, samples, square);
    pad(part, more_samples, square);
    append(all, part);
  };
  join(graph.laplacian, more.laplacian, true);
  join(graph.incidence, more.incidence, false);
  graph.notes.insert(graph.notes.end(), more.notes.begin(), more.notes.end());
}

#define PACEWISE_INSTANTIATE(T)                         \
  template class Part<T>;                               \
  template Data<T> slice(const Data<T>&, Index, Index); \
  template void append(Data<T>&, Data<T>);
PACEWISE_INSTANTIATE(float)
PACEWISE_INSTANTIATE(double)
#undef PACEWISE_INSTANTIATE
template void Part<double>::entry_losses<float>(Index, const std::function<void(Index, const float*, Index, int)>&,
                                                const Control&) const;
template void Part<double>::entry_losses<double>(Index, const std::function<void(Index, const double*, Index, int)>&,
                                                 const Control&) const;
template void Part<float>::entry_losses<float>(Index, const std::function<void(Index, const float*, Index, int)>&,
                                               const Control&) const;

}  // namespace pacewise

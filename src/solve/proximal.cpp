#include "solve/proximal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algebra/eigen.hpp"
#include "algebra/simd.hpp"

namespace pacewise {
namespace {

/// One sample's proximal step, d <- prox(s + y - t g) - s, g = P - N, written so that nothing is added to s and
/// rounded: with sigma = sign(s) the penalty's slope sigma p / 2 is part of g already, z = y - t g, and
///   d = z - up where s + z > up,  z - down where s + z < down,  else -s,
/// (up, down) = (0, -t p), (t p, 0) or (t p / 2, -t p / 2) for s > 0, s < 0, s = 0.
/// Returns max |y - d| and leaves <y - d, d - last> in `turn`.
PACEWISE_WIDE_VECTORS float proximal_step(const float* s, const float* y, const float* P, const float* N,
                                          const float* p, float step, float low, const float* last, float* d,
                                          float* turn, Index r) {
  float most = 0, along = 0;
#if !defined(__clang__)  // which warns where it cannot
#pragma omp simd reduction(max : most) reduction(+ : along)
#endif
  for (Index k = 0; k < r; ++k) {
    const float shrink = step * p[k], z = y[k] - step * (P[k] - N[k]), x = s[k] + z;
    const float up = s[k] > 0 ? 0 : s[k] < 0 ? shrink : shrink / 2, down = up - shrink;
    const float below = low > 0 && x < down ? z - down : -s[k];  // s >= 0: no way down
    const float now = x > up ? z - up : below;
    const float back = y[k] - now, size = back < 0 ? -back : back;
    most = size > most ? size : most;
    along += back * (now - last[k]);
    d[k] = now;
  }
  *turn = along;
  return most;
}

/// y += sum of f_i x_i over `count` columns of V, four at a time: y is loaded and stored once for all of them
PACEWISE_WIDE_VECTORS void add_neighbours(float* y, const float* V, const std::int32_t* neighbour, const float* value,
                                          Index count, float alpha, Index r) {
  for (; count >= 4; count -= 4, neighbour += 4, value += 4) {
    const float *a = V + neighbour[0] * r, *b = V + neighbour[1] * r, *c = V + neighbour[2] * r,
                *d = V + neighbour[3] * r;
    const float fa = alpha * value[0], fb = alpha * value[1], fc = alpha * value[2], fd = alpha * value[3];
    for (Index k = 0; k < r; ++k) y[k] += (fa * a[k] + fb * b[k]) + (fc * c[k] + fd * d[k]);
  }
  for (; count > 0; --count, ++neighbour, ++value) {
    const float *a = V + *neighbour * r, f = alpha * *value;
    for (Index k = 0; k < r; ++k) y[k] += f * a[k];
  }
}

PACEWISE_WIDE_VECTORS void extrapolate(float* y, const float* d, const float* last, float f, Index r) {
  for (Index k = 0; k < r; ++k) y[k] = d[k] + f * (d[k] - last[k]);
}

/// The largest eigenvalue of a symmetric positive semidefinite matrix, by power iteration, overestimated a little
template <class Multiply>
double largest_eigenvalue(Index size, const Multiply& multiply, const Tuning& tuning) {
  if (size == 0) return 0;
  Eigen::VectorXd x(size), y(size);
  for (Index i = 0; i < size; ++i) x[i] = 1 + 0.5 * std::sin(static_cast<double>(i * i + i));
  double value = 0;
  for (int step = 0; step < static_cast<int>(tuning.power_steps); ++step) {
    const double norm = x.norm();
    if (!(norm > 0)) return value;
    x /= norm;
    multiply(x, y);
    value = std::max(value, y.norm());
    x.swap(y);
  }
  return tuning.step_safety * value;
}

}  // namespace

CoupledGraph::CoupledGraph(const Sparse& L, const Control& control, const Tuning& tuning) {
  const Index n = L.cols;
  order_ = reverse_cuthill_mckee(L);
  Vector<std::int32_t> place(n);
  for (Index at = 0; at < n; ++at) place[order_[at]] = static_cast<std::int32_t>(at);
  start_.push_back(0);
  for (Index at = 0; at < n; ++at) {
    const Index j = order_[at];
    for (Index e = L.start[j]; e < L.start[j + 1]; ++e) {
      if (L.value[e] == 0) continue;  // it ties nothing, maybe across components
      neighbour_.push_back(place[L.index[e]]);
      value_.push_back(static_cast<float>(L.value[e]));
    }
    start_.push_back(std::ssize(neighbour_));
  }
  // a component ends where nothing before reaches further
  Index reach = -1;
  component_.resize(n);
  for (Index at = 0; at < n; ++at) {
    if (at > reach) first_.push_back(at);
    reach = std::max(reach, at);
    for (Index e = start_[at]; e < start_[at + 1]; ++e) reach = std::max<Index>(reach, neighbour_[e]);
    component_[at] = static_cast<std::int32_t>(std::ssize(first_) - 1);
  }
  first_.push_back(n);
  // bound_ = c diag(L), c the largest eigenvalue of diag(L)^-1/2 L diag(L)^-1/2 in the component: a sample with few
  // neighbours may take long steps though another has many
  bound_.assign(static_cast<std::size_t>(n), 0.0);
  Vector<double> root(n, 0.0);  // 1 / sqrt(L_jj)
  for (Index at = 0; at < n; ++at)
    for (Index e = start_[at]; e < start_[at + 1]; ++e)
      if (neighbour_[e] == at && value_[e] > 0) {
        bound_[at] = static_cast<double>(value_[e]);
        root[at] = 1 / std::sqrt(bound_[at]);
      }
  parallel_for(
      components(), control.to_the_end(),
      [&](Index g, Index, int) {
        const Index base = first_[g], size = first_[g + 1] - base;
        const double largest = largest_eigenvalue(
            size,
            [&](const Eigen::VectorXd& x, Eigen::VectorXd& y) {
              for (Index at = 0; at < size; ++at) {
                double sum = 0;
                for (Index e = start_[base + at]; e < start_[base + at + 1]; ++e)
                  sum += static_cast<double>(value_[e]) * root[neighbour_[e]] * x[neighbour_[e] - base];
                y[at] = root[base + at] * sum;
              }
            },
            tuning);
        for (Index at = base; at < base + size; ++at) bound_[at] *= largest;
      },
      1);
}

int minimise_model(const CoupledModel& model, const Matrix<float>& S, const Matrix<float>& N, int passes, double goal,
                   Matrix<float>& D, const Tuning& tuning, const Control& control) {
  const CoupledGraph& graph = *model.graph;
  const Index r = S.rows(), n = S.cols();
  D.resize_for_overwrite(r, n);
  std::fill_n(D.data(), D.size(), 0.0F);
  Matrix<float> Y = D, last = D;

  // steps: 1 / (the largest eigenvalues of A_j and C + alpha bound_j), a bound of the Hessian by a diagonal
  const auto top = [&](const Matrix<float>& M) {
    if (M.empty()) return 0.0;
    const EigenMatrix<double> wide = eigen(M).cast<double>();
    return largest_eigenvalue(
        r, [&](const Eigen::VectorXd& x, Eigen::VectorXd& y) { y.noalias() = wide * x; }, tuning);
  };
  const double top_A = top(model.A), top_C = top(model.C);
  Vector<float> curvature(n);
  for (Index j = 0; j < n; ++j) {
    double widest = 1;
    if (!model.delta.empty()) {
      const auto delta = static_cast<double>(*std::max_element(model.delta.col(j), model.delta.col(j) + r));
      widest = delta * delta;
    }
    curvature[j] = static_cast<float>(widest * top_A + top_C + model.alpha * graph.bound_[j]);
  }
  struct Component {
    float momentum = 0;
    double theta = 1;
    bool active = true;
  };
  Vector<Component> components(graph.components(), {});
  const Vector<float> penalty(model.penalty.begin(), model.penalty.end());
  const float low = model.positive ? 0 : 1;

  struct Scratch {
    Matrix<float> P, scaled;
  };
  Vector<Scratch> scratch(thread_count(control), {});
  // P <- A_j y_j + alpha (Y L)_j for a tile of samples
  const auto multiply = [&](const Matrix<float>& V, Index first, Index count, Scratch& mine) {
    if (mine.P.empty()) {
      mine.P.resize_for_overwrite(r, kBlock);
      if (!model.delta.empty()) mine.scaled.resize_for_overwrite(r, kBlock);
    }
    auto P = eigen(mine.P.view().columns(0, count));
    const auto v = eigen(V.view().columns(first, count));
    if (model.delta.empty()) {
      P.noalias() = eigen(model.A) * v;
    } else {
      const auto delta = eigen(model.delta.view().columns(first, count));
      auto scaled = eigen(mine.scaled.view().columns(0, count));
      scaled = v.cwiseProduct(delta);
      P.noalias() = eigen(model.A) * scaled;
      P.array() *= delta.array();
    }
    if (!model.C.empty()) P.noalias() += eigen(model.C) * v;
    for (Index j = 0; j < count; ++j) {
      const Index e = graph.start_[first + j];
      add_neighbours(mine.P.col(j), V.data(), graph.neighbour_.data() + e, graph.value_.data() + e,
                     graph.start_[first + j + 1] - e, static_cast<float>(model.alpha), r);
    }
  };
  const auto idle = [&](Index first, Index count) {
    for (Index j = first; j < first + count; ++j)
      if (components[graph.component_[j]].active) return false;
    return true;
  };

  Vector<float> moved(n, 0.0F), turn(n, 0.0F);
  int pass = 0;
  bool busy = true;
  while (busy && pass < passes && !control.stop()) {
    ++pass;
    parallel_for(n, control, [&](Index first, Index count, int worker) {
      if (idle(first, count)) return;
      Scratch& mine = scratch[worker];
      multiply(Y, first, count, mine);
      for (Index j = first; j < first + count; ++j) {
        const Component& c = components[graph.component_[j]];
        if (!c.active) continue;
        if (!(curvature[j] > 0)) continue;
        // the new D goes where the one before the last was
        moved[j] = curvature[j] * proximal_step(S.col(j), Y.col(j), mine.P.col(j - first), N.col(j), penalty.data(),
                                                1 / curvature[j], low, D.col(j), last.col(j), &turn[j], r);
        turn[j] *= curvature[j];
      }
    });
    if (control.stop()) break;
    busy = false;
    for (Index g = 0; g < graph.components(); ++g) {
      Component& c = components[g];
      if (!c.active) continue;
      double along = 0;
      float most = 0;
      for (Index j = graph.first_[g]; j < graph.first_[g + 1]; ++j) {
        along += static_cast<double>(turn[j]);
        most = std::max(most, moved[j]);
      }
      if (along > 0) c.theta = 1;  // uphill: restart
      const double next = (1 + std::sqrt(1 + 4 * c.theta * c.theta)) / 2;
      c.momentum = static_cast<float>((c.theta - 1) / next);
      c.theta = next;
      if (2 * static_cast<double>(most) <= goal) c.momentum = -1;  // done: the last point stays
      busy = busy || c.momentum >= 0;
    }
    std::swap(D, last);  // where a component has ended both hold its last point
    parallel_for(n, control.to_the_end(), [&](Index first, Index count, int) {
      for (Index j = first; j < first + count; ++j) {
        const Component& c = components[graph.component_[j]];
        if (!c.active) continue;
        if (c.momentum >= 0)
          extrapolate(Y.col(j), D.col(j), last.col(j), c.momentum, r);
        else
          std::copy_n(D.col(j), r, last.col(j));
      }
    });
    for (Component& c : components) c.active = c.active && c.momentum >= 0;
  }

  // a component whose model rose (too few passes after a bad step) stays where it was
  Vector<double> value(n, 0.0);
  parallel_for(n, control.to_the_end(), [&](Index first, Index count, int worker) {
    Scratch& mine = scratch[worker];
    multiply(D, first, count, mine);
    for (Index j = first; j < first + count; ++j) {
      const float *P = mine.P.col(j - first), *d = D.col(j), *s = S.col(j), *g = N.col(j);
      double sum = 0;
      for (Index k = 0; k < r; ++k)
        // p (|s + d| - |s|) without its linear part sigma p d, which is in N
        sum +=
            static_cast<double>(d[k] * (P[k] - 2 * g[k])) +
            static_cast<double>(
                penalty[k] * (s[k] == 0 ? std::abs(d[k]) : 2 * std::max(0.0F, s[k] > 0 ? -s[k] - d[k] : s[k] + d[k])));
      value[j] = sum;
    }
  });
  for (Index g = 0; g < graph.components(); ++g) {
    const double sum = std::accumulate(value.begin() + graph.first_[g], value.begin() + graph.first_[g + 1], 0.0);
    if (!(sum <= 0)) std::fill(D.col(graph.first_[g]), D.data() + r * graph.first_[g + 1], 0.0F);
  }
  return pass;
}

}  // namespace pacewise

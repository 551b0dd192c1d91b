#include "solve/proximal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algebra/eigen.hpp"
#include "algebra/simd.hpp"

namespace pacewise {
namespace {

/// y += f x
PACEWISE_WIDE_VECTORS void add_scaled(float* y, const float* x, float f, Index r) {
  for (Index k = 0; k < r; ++k) y[k] += f * x[k];
}

/// One sample's proximal step, d <- prox(s + y - t g) - s, written so that nothing is added to s and rounded: with
/// sigma = sign(s) the penalty's slope sigma p / 2 is part of g already, z = y - t g, and
///   d = z - up where s + z > up,  z - down where s + z < down,  else -s,
/// (up, down) = (0, -t p), (t p, 0) or (t p / 2, -t p / 2) for s > 0, s < 0, s = 0.
/// Returns max |y - d| and leaves <y - d, d - last> in `turn`.
PACEWISE_WIDE_VECTORS float proximal_step(const float* s, const float* y, const float* g, const float* p, float step,
                                          float low, const float* last, float* d, float* turn, Index r) {
  float most = 0, along = 0;
#if !defined(__clang__)  // which warns where it cannot
#pragma omp simd reduction(max : most) reduction(+ : along)
#endif
  for (Index k = 0; k < r; ++k) {
    const float shrink = step * p[k], z = y[k] - step * g[k], x = s[k] + z;
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
  largest_.assign(components(), 0.0);
  parallel_for(
      components(), control.to_the_end(),
      [&](Index g, Index, int) {
        const Index base = first_[g], size = first_[g + 1] - base;
        largest_[g] = largest_eigenvalue(
            size,
            [&](const Eigen::VectorXd& x, Eigen::VectorXd& y) {
              for (Index at = 0; at < size; ++at) {
                double sum = 0;
                for (Index e = start_[base + at]; e < start_[base + at + 1]; ++e)
                  sum += static_cast<double>(value_[e]) * x[neighbour_[e] - base];
                y[at] = sum;
              }
            },
            tuning);
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

  // steps: 1 / (the largest eigenvalue of A_j and C + alpha that of L's component)
  const auto top = [&](const Matrix<float>& M) {
    if (M.empty()) return 0.0;
    const EigenMatrix<double> wide = eigen(M).cast<double>();
    return largest_eigenvalue(
        r, [&](const Eigen::VectorXd& x, Eigen::VectorXd& y) { y.noalias() = wide * x; }, tuning);
  };
  struct Component {
    float step = 0, momentum = 0;
    double theta = 1;
    bool active = true;
  };
  double widest = 1;
  if (!model.delta.empty()) {
    widest = 0;
    for (Index i = 0; i < model.delta.size(); ++i)
      widest =
          std::max(widest, static_cast<double>(model.delta.data()[i]) * static_cast<double>(model.delta.data()[i]));
  }
  const double own = widest * top(model.A) + top(model.C);
  Vector<Component> components(graph.components(), {});
  for (Index g = 0; g < graph.components(); ++g) {
    const double curvature = own + model.alpha * graph.largest_[g];
    components[g].step = curvature > 0 ? static_cast<float>(1 / curvature) : 0;
    components[g].active = curvature > 0;
  }
  Vector<float> penalty(r);
  for (Index k = 0; k < r; ++k) penalty[k] = static_cast<float>(model.penalty[k]);
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
    for (Index j = 0; j < count; ++j)
      for (Index e = graph.start_[first + j]; e < graph.start_[first + j + 1]; ++e)
        add_scaled(mine.P.col(j), V.col(graph.neighbour_[e]), static_cast<float>(model.alpha) * graph.value_[e], r);
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
        float* g = mine.P.col(j - first);
        add_scaled(g, N.col(j), -1, r);
        // the new D goes where the one before the last was
        moved[j] =
            proximal_step(S.col(j), Y.col(j), g, penalty.data(), c.step, low, D.col(j), last.col(j), &turn[j], r);
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
      if (2 * static_cast<double>(most / c.step) <= goal) c.momentum = -1;  // done: the last point stays
      busy = busy || c.momentum >= 0;
    }
    parallel_for(n, control.to_the_end(), [&](Index first, Index count, int) {
      for (Index j = first; j < first + count; ++j) {
        const Component& c = components[graph.component_[j]];
        if (!c.active) continue;
        std::swap_ranges(D.col(j), D.col(j) + r, last.col(j));
        if (c.momentum >= 0) extrapolate(Y.col(j), D.col(j), last.col(j), c.momentum, r);
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

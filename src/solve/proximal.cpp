#include "solve/proximal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algebra/eigen.hpp"
#include "algebra/simd.hpp"
#include "algebra/sums.hpp"

namespace pacewise {
namespace {

/// A sample's proximal step in the metric M = tau + sigma u u':
///   d <- argmin <d - y, M (d - y)> + 2 <g, d - y> + sum p_k (|s + d| - |s|),   g = P - N.
/// Written so that nothing is added to s and rounded: with sign(s) the penalty's slope sign(s) p / 2 is part of g
/// already. Given w = <u, d - y> it separates, z = y - (g + sigma w u) / tau and
///   d = z - up where s + z > up,  z - down where s + z < down,  else -s,
/// (up, down) = (0, -p / tau), (p / tau, 0) or (p / 2 tau, -p / 2 tau) for s > 0, s < 0, s = 0.
struct ProximalStep {
  const float *s, *y, *P, *N, *p, *u;
  float tau, sigma;
  float low;  // 0 where codes must not be negative, else 1
};
struct ProximalSums {
  float along = 0;     // <u, d - y>
  float moving = 0;    // sum of u_k^2 over the d that depend on w
  float uphill = 0;    // <M (y - d), d - last>
  float residual = 0;  // max |M (y - d)|
};

PACEWISE_WIDE_VECTORS void step_given(const ProximalStep& step, float w, float* d, Index r, ProximalSums* sums) {
  const float *s = step.s, *y = step.y, *P = step.P, *N = step.N, *p = step.p, *u = step.u;
  const float t = 1 / step.tau, push = step.sigma * w, low = step.low;
  float along = 0, moving = 0;
#if !defined(__clang__)  // which warns where it cannot
#pragma omp simd reduction(+ : along, moving)
#endif
  for (Index k = 0; k < r; ++k) {
    const float shrink = t * p[k], z = y[k] - t * (P[k] - N[k] + push * u[k]), x = s[k] + z;
    const float up = s[k] > 0 ? 0 : s[k] < 0 ? shrink : shrink / 2, down = up - shrink;
    const float below = low > 0 && x < down ? z - down : -s[k];  // s >= 0: no way down
    const float now = x > up ? z - up : below;
    along += u[k] * (now - y[k]);
    moving += now == -s[k] ? 0 : u[k] * u[k];
    d[k] = now;
  }
  sums->along = along;
  sums->moving = moving;
}

/// last <- d,  next <- d + momentum (d - last); `along` is that of d
PACEWISE_WIDE_VECTORS void finish_step(const ProximalStep& step, float along, float momentum, const float* d,
                                       float* last, float* next, Index r, ProximalSums* sums) {
  const float *y = step.y, *u = step.u;
  const float tau = step.tau, push = step.sigma * along;
  float uphill = 0, residual = 0;
#if !defined(__clang__)
#pragma omp simd reduction(max : residual) reduction(+ : uphill)
#endif
  for (Index k = 0; k < r; ++k) {
    const float move = d[k] - last[k], back = tau * (y[k] - d[k]) - push * u[k], size = back < 0 ? -back : back;
    residual = size > residual ? size : residual;
    uphill += back * move;
    last[k] = d[k];
    next[k] = d[k] + momentum * move;
  }
  sums->residual = residual;
  sums->uphill = uphill;
}

/// The whole step. w is the root of <u, d(w) - y> - w, which falls and is piecewise linear: Newton's method, from the
/// last pass's w.
ProximalSums proximal_step(const ProximalStep& step, float momentum, float* w, float* d, float* last, float* next,
                           Index r) {
  ProximalSums sums;
  if (!(step.sigma > 0)) *w = 0;
  for (int newton = 1;; ++newton) {
    step_given(step, *w, d, r, &sums);
    const float gap = sums.along - *w;
    if (!(step.sigma > 0) || std::abs(gap) <= 1e-3F * std::abs(*w) || newton == 4) break;
    *w += gap / (1 + step.sigma / step.tau * sums.moving);
  }
  finish_step(step, sums.along, momentum, d, last, next, r, &sums);
  return sums;
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

/// The largest eigenvalue of a symmetric positive semidefinite matrix, by power iteration; x leaves as its vector
template <class Multiply>
double largest_eigenvalue(Eigen::VectorXd& x, const Multiply& multiply, const Tuning& tuning) {
  Eigen::VectorXd y(x.size());
  for (Index i = 0; i < x.size(); ++i) x[i] = 1 + 0.5 * std::sin(static_cast<double>(i * i + i));
  double value = 0;
  for (int step = 0; step < static_cast<int>(tuning.power_steps); ++step) {
    const double norm = x.norm();
    if (!(norm > 0)) break;
    x /= norm;
    multiply(x, y);
    value = std::max(value, y.norm());
    x.swap(y);
  }
  if (const double norm = x.norm(); norm > 0) x /= norm;
  return value;
}
double largest_eigenvalue(const EigenMatrix<double>& M, Eigen::VectorXd& x, const Tuning& tuning) {
  x.resize(M.rows());
  return largest_eigenvalue(
      x, [&](const Eigen::VectorXd& from, Eigen::VectorXd& to) { to.noalias() = M * from; }, tuning);
}

/// tau + sigma u u' >= A: where one eigenvalue of A is much larger than the others (atoms that look alike, such as
/// images), steps along its vector u are short and all others long.
struct Metric {
  double tau = 0, sigma = 0;
  Eigen::VectorXd u;
  Metric(const EigenMatrix<double>& A, const Tuning& tuning) {
    const double first = largest_eigenvalue(A, u, tuning);
    Eigen::VectorXd other;
    const double second = largest_eigenvalue(A - first * u * u.transpose(), other, tuning);
    tau = std::max(tuning.step_safety * second, 1e-3 * first);  // floats know sigma / tau up to so much
    sigma = std::max(0.0, tuning.step_safety * first - tau);
  }
};

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
        Eigen::VectorXd start(size);
        const double largest =
            tuning.step_safety * largest_eigenvalue(
                                     start,
                                     [&](const Eigen::VectorXd& x, Eigen::VectorXd& y) {
                                       for (Index at = 0; at < size; ++at) {
                                         double sum = 0;
                                         for (Index e = start_[base + at]; e < start_[base + at + 1]; ++e)
                                           sum += static_cast<double>(value_[e]) * root[neighbour_[e]] *
                                                  x[neighbour_[e] - base];
                                         y[at] = root[base + at] * sum;
                                       }
                                     },
                                     tuning);
        for (Index at = base; at < base + size; ++at) bound_[at] *= largest;
      },
      1);
}

void add_laplacian(const CoupledGraph& graph, const Matrix<float>& V, Index at, float f, float* y) {
  const Index e = graph.start_[at];
  add_neighbours(y, V.data(), graph.neighbour_.data() + e, graph.value_.data() + e, graph.start_[at + 1] - e, f,
                 V.rows());
}

template <class T>
double smoothness(const CoupledGraph& graph, MatrixView<const T> S, const Control& control) {
  Matrix<float> V;
  V.resize_for_overwrite(S.rows, S.cols);
  parallel_for(S.cols, control, [&](Index first, Index count, int) {
    for (Index at = first; at < first + count; ++at)
      for (Index k = 0; k < S.rows; ++k) V(k, at) = static_cast<float>(S(k, graph.order_[at]));
  });
  return parallel_sum(S.cols, control, 0.0, [&](Index first, Index count, int, double& sum) {
    Vector<float> y(S.rows);
    for (Index at = first; at < first + count; ++at) {
      std::fill(y.begin(), y.end(), 0.0F);
      add_laplacian(graph, V, at, 1, y.data());
      sum += inner_product<float>(V.col(at), y.data(), S.rows);
    }
  });
}
template double smoothness<float>(const CoupledGraph&, MatrixView<const float>, const Control&);
template double smoothness<double>(const CoupledGraph&, MatrixView<const double>, const Control&);

int minimise_model(const CoupledModel& model, const Matrix<float>& S, const Matrix<float>& N, int passes, double goal,
                   Matrix<float>& D, const Tuning& tuning, const Control& control) {
  const CoupledGraph& graph = *model.graph;
  const Index r = S.rows(), n = S.cols();
  D.resize_for_overwrite(r, n);
  Matrix<float> Y, next;
  Y.resize_for_overwrite(r, n);
  next.resize_for_overwrite(r, n);
  if (passes < 1) D.fill(0);

  // M_j = tau_j + sigma u_j u_j' >= A_j + C + alpha diag(bound), u_j = delta_j o u
  const Metric metric(eigen(model.A).cast<double>(), tuning);
  Eigen::VectorXd unused;
  const double top_C =
      model.C.empty() ? 0 : tuning.step_safety * largest_eigenvalue(eigen(model.C).cast<double>(), unused, tuning);
  const Vector<float> u(metric.u.begin(), metric.u.end());
  const auto sigma = static_cast<float>(metric.sigma);
  Vector<float> tau(n), w(n, 0.0F);
  for (Index j = 0; j < n; ++j) {
    const double delta = model.delta.empty() ? 1 : static_cast<double>(eigen(model.delta).col(j).maxCoeff());
    tau[j] = static_cast<float>(delta * delta * metric.tau + top_C + model.alpha * graph.bound_[j]);
  }
  struct Component {
    float momentum = 0;
    double theta = (1 + std::sqrt(5.0)) / 2;  // that of the second pass: the first has no momentum
    bool active = true;
  };
  Vector<Component> components(graph.components(), {});
  const Vector<float> penalty(model.penalty.begin(), model.penalty.end());
  const float low = model.positive ? 0 : 1;

  // A_j v_j + alpha (V L)_j for a tile of samples
  const auto multiply = [&](const Matrix<float>& V, Index first, Index count) {
    const auto v = eigen(V.view().columns(first, count));
    EigenMatrix<float> P(r, count);
    if (model.delta.empty()) {
      P.noalias() = eigen(model.A) * v;
    } else {
      const auto delta = eigen(model.delta.view().columns(first, count));
      const EigenMatrix<float> scaled = v.cwiseProduct(delta);
      P.noalias() = eigen(model.A) * scaled;
      P.array() *= delta.array();
    }
    if (!model.C.empty()) P.noalias() += eigen(model.C) * v;
    for (Index j = 0; j < count; ++j)
      add_laplacian(graph, V, first + j, static_cast<float>(model.alpha), P.col(j).data());
    return P;
  };
  const auto idle = [&](Index first, Index count) {
    for (Index j = first; j < first + count; ++j)
      if (components[graph.component_[j]].active) return false;
    return true;
  };

  Vector<ProximalSums> sums(n, {});
  int pass = 0;
  bool busy = true;
  while (busy && pass < passes && !control.stop()) {
    ++pass;
    parallel_for(n, control, [&](Index first, Index count, int) {
      if (pass == 1)  // from D = 0
        for (Matrix<float>* all : {&D, &Y, &next}) std::fill_n(all->col(first), r * count, 0.0F);
      if (idle(first, count)) return;
      const EigenMatrix<float> P = pass == 1 ? EigenMatrix<float>::Zero(r, count) : multiply(Y, first, count);
      Vector<float> d(r), own = u;
      for (Index j = first; j < first + count; ++j) {
        const Component& c = components[graph.component_[j]];
        if (!c.active || !(tau[j] > 0)) continue;
        if (!model.delta.empty())
          for (Index k = 0; k < r; ++k) own[k] = u[k] * model.delta(k, j);
        const ProximalStep step{
            S.col(j), Y.col(j), P.col(j - first).data(), N.col(j), penalty.data(), own.data(), tau[j], sigma, low};
        sums[j] = proximal_step(step, c.momentum, &w[j], d.data(), D.col(j), next.col(j), r);
      }
    });
    if (control.stop()) break;
    busy = false;
    for (Index g = 0; g < graph.components(); ++g) {
      Component& c = components[g];
      if (!c.active) continue;
      double uphill = 0;
      float most = 0;
      for (Index j = graph.first_[g]; j < graph.first_[g + 1]; ++j) {
        uphill += static_cast<double>(sums[j].uphill);
        most = std::max(most, sums[j].residual);
      }
      if (uphill > 0) c.theta = 1;  // restart, one pass late: a pass reads and writes all it needs once
      const double theta = (1 + std::sqrt(1 + 4 * c.theta * c.theta)) / 2;
      c.momentum = static_cast<float>((c.theta - 1) / theta);
      c.theta = theta;
      c.active = 2 * static_cast<double>(most) > goal;
      busy = busy || c.active;
    }
    std::swap(Y, next);
  }

  // a component whose model rose (too few passes after a bad step) stays where it was
  Vector<double> value(n, 0.0);
  parallel_for(n, control.to_the_end(), [&](Index first, Index count, int) {
    const EigenMatrix<float> P = multiply(D, first, count);
    for (Index j = first; j < first + count; ++j)
      for (Index k = 0; k < r; ++k) {
        const float d = D(k, j), s = S(k, j);
        // p (|s + d| - |s|) without its linear part sigma p d, which is in N
        const float size = s == 0 ? std::abs(d) : 2 * std::max(0.0F, s > 0 ? -s - d : s + d);
        value[j] += static_cast<double>(d * (P(k, j - first) - 2 * N(k, j))) + static_cast<double>(penalty[k] * size);
      }
  });
  for (Index g = 0; g < graph.components(); ++g) {
    const double sum = std::accumulate(value.begin() + graph.first_[g], value.begin() + graph.first_[g + 1], 0.0);
    if (!(sum <= 0)) std::fill(D.col(graph.first_[g]), D.data() + r * graph.first_[g + 1], 0.0F);
  }
  return pass;
}

}  // namespace pacewise

#include "model/options.hpp"

#include <cmath>

#include "model/rules.hpp"

namespace pacewise {

Options preset(Preset which) {
  Options options;
  if (which == Preset::paper) {
    options.schedule.pace = Pace::geometric;
    options.graph.space.kind = Space::Kind::raw;
    options.graph.k = 3;
  }
  return options;
}

Preset parse_preset(const std::string& text) {
  if (text == "robust") return Preset::robust;
  if (text == "paper") return Preset::paper;
  throw Error("preset = " + text + ": must be robust or paper");
}

void validate(const Options& o) {
  const ScheduleOptions& s = o.schedule;
  require_option(o.atoms >= 1, "atoms", o.atoms, "be >= 1");
  if (o.beta) require_option(std::isfinite(*o.beta) && *o.beta >= 0, "beta", *o.beta, "be finite and >= 0");
  require_option(o.beta_ratio >= 0 && o.beta_ratio <= 1, "beta_ratio", o.beta_ratio,
                 "lie in [0, 1] (1 is where all codes are zero)");
  require_option(std::isfinite(o.alpha) && o.alpha >= 0, "alpha", o.alpha, "be finite and >= 0");
  require_option(std::isfinite(o.gamma) && o.gamma >= 0, "gamma", o.gamma, "be finite and >= 0");
  require_option(std::isfinite(o.eta) && (o.eta > 0 || (o.eta == 0 && o.gamma == 0)), "eta", o.eta,
                 "be finite and > 0 when gamma > 0 (without a ridge the consistency map is not unique)");
  validate(o.regularizer);
  require_option(std::isfinite(s.mu) && s.mu > 1, "mu", s.mu, "be > 1 (lambda grows by this factor)");
  require_option(s.select > 0 && s.select <= 1, "select", s.select, "lie in (0, 1]");
  require_option(s.final > 0 && s.final <= 1, "final", s.final, "lie in (0, 1]");
  require_option(s.pace == Pace::geometric || s.final >= s.select, "final", s.final,
                 "be at least `select`: units are let in, not thrown out");
  require_option(s.pace_iter >= 1, "pace_iter", s.pace_iter, "be >= 1");
  require_option(s.plain_iter >= 0, "plain_iter", s.plain_iter, "be >= 0");
  require_option(s.warm_iter >= 0, "warm_iter", s.warm_iter, "be >= 0");
  require_option(s.polish >= 0, "polish", s.polish, "be >= 0");
  require_option(s.tol >= 0 && std::isfinite(s.tol), "tol", s.tol, "be finite and >= 0");
  require_option(s.max_iter >= 1, "max_iter", s.max_iter, "be >= 1");
  require_option(o.graph.k >= 1, "k", o.graph.k, "be >= 1");
  require_option(o.graph.space.kind == Space::Kind::raw || o.graph.space.dimensions >= 1, "graph_space dimensions",
                 o.graph.space.dimensions, "be >= 1");
  require_option(o.graph.heat_width >= 0 && std::isfinite(o.graph.heat_width), "heat_width", o.graph.heat_width,
                 "be finite and >= 0 (0: the mean squared distance to the neighbours)");
  require_option(o.step_tol > 0 && std::isfinite(o.step_tol), "step_tol", o.step_tol, "be finite and > 0");
}

}  // namespace pacewise

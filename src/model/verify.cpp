#include "model/verify.hpp"

#include <algorithm>
#include <cmath>

namespace pacewise {

template <class T>
std::vector<Figure> verify(const Model<T>& model, const Problem<T>& problem, const FitInputs& inputs,
                           const Control& control) {
  // what the loop goes on from, and no more
  State<T> state = static_cast<const State<T>&>(model);     // NOLINT(cppcoreguidelines-slicing)
  state.schedule.finished = state.schedule.stalled = true;  // the fit goes no further than this state
  FitInputs all = inputs;
  if (!model.groups.empty()) all.groups = &model.groups;
  const Result<T> r = fit<T>(problem, model.options, control, nullptr, all, &state);
  if (control.stop()) return {};
  std::vector<Figure> figures;
  const auto add = [&](const char* name, double stated, double found, double magnitude, double absolute = 0) {
    const bool equal = stated == found || (std::isnan(stated) && std::isnan(found));
    const double slack = VerifyTolerance<T>::relative * magnitude + absolute;
    figures.push_back({name, stated, found, equal || std::abs(stated - found) <= slack});
  };
  const auto part = [&](const char* name, double Objective::*member) {
    const double stated = model.objective.*member, found = r.objective.*member;
    add(name, stated, found, std::max(std::abs(stated), std::abs(found)));
  };
  const auto certificate = [&](const char* name, double Certificate::*member) {
    const double stated = model.certificate.*member, found = r.certificate.*member;
    add(name, stated, found, std::max(stated, found), VerifyTolerance<T>::certificate);
  };
  add("objective", model.objective.total(), r.objective.total(),
      std::max(model.objective.magnitude(), r.objective.magnitude()));
  part("  fit", &Objective::fit);
  part("  pace", &Objective::pace);
  part("  sparsity", &Objective::sparsity);
  part("  manifold", &Objective::manifold);
  part("  consistency", &Objective::consistency);
  certificate("certificate: codes", &Certificate::codes);
  certificate("certificate: dictionary", &Certificate::dictionary);
  certificate("certificate: consistency", &Certificate::consistency);
  add("selected", model.selected, r.selected, 1);
  add("density", model.density, r.density, 1);
  return figures;
}

template std::vector<Figure> verify(const Model<float>&, const Problem<float>&, const FitInputs&, const Control&);
template std::vector<Figure> verify(const Model<double>&, const Problem<double>&, const FitInputs&, const Control&);

}  // namespace pacewise

#include "model/verify.hpp"

#include <algorithm>
#include <cmath>

#include "model/kind.hpp"
#include "model/model.hpp"

namespace pacewise {

template <class T>
std::vector<Figure> verify(const Model<T>& model, const Problem<T>& problem, const FitInputs& inputs,
                           const Control& control) {
  // what the loop goes on from, and no more
  State<T> state = static_cast<const State<T>&>(model);     // NOLINT(cppcoreguidelines-slicing)
  state.schedule.finished = state.schedule.stalled = true;  // the fit goes no further than this state
  FitInputs all = inputs;
  if (!model.groups.empty()) all.groups = &model.groups;
  Result<T> rerun = fit<T>(problem, model.options, control, nullptr, all, &state);
  const Data<T> data = std::move(rerun.data);
  const Model<T> r = make_model(std::move(rerun), problem, {}, control);
  if (control.stop()) return {};
  std::vector<Figure> figures;
  const AddFigure add = [&](const char* name, double stated, double found, double magnitude, double absolute) {
    const bool equal = stated == found || (std::isnan(stated) && std::isnan(found));
    const double slack = VerifyTolerance<T>::relative * magnitude + absolute;
    figures.push_back({name, stated, found, equal || (std::isfinite(slack) && std::abs(stated - found) <= slack)});
  };
  const auto part = [&](const char* name, double Objective::*member) {
    const double stated = model.objective.*member, found = r.objective.*member;
    add(name, stated, found, std::max(std::abs(stated), std::abs(found)), 0);
  };
  const auto certificate = [&](const char* name, double Certificate::*member) {
    const double stated = model.certificate.*member, found = r.certificate.*member;
    add(name, stated, found, std::max(stated, found), VerifyTolerance<T>::certificate);
  };
  add("objective", model.objective.total(), r.objective.total(),
      std::max(model.objective.magnitude(), r.objective.magnitude()), 0);
  part("  fit", &Objective::fit);
  part("  pace", &Objective::pace);
  part("  sparsity", &Objective::sparsity);
  part("  manifold", &Objective::manifold);
  part("  consistency", &Objective::consistency);
  certificate("certificate: codes", &Certificate::codes);
  certificate("certificate: dictionary", &Certificate::dictionary);
  certificate("certificate: consistency", &Certificate::consistency);
  certificate("certificate: weights", &Certificate::weights);
  add("selected", model.selected, r.selected, 1, 0);
  add("density", model.density, r.density, 1, 0);
  // what later commands use; a file of an earlier version lacks some
  const auto number = [&](const char* name, double stated, double found) {
    if (!std::isnan(stated)) add(name, stated, found, std::max(std::abs(stated), std::abs(found)), 0);
  };
  const auto numbers = [&](const char* name, const Vector<T>& stated, const Vector<T>& found) {
    if (stated.empty()) return;
    double norm = 0, apart = 0;
    for (std::size_t i = 0; i < stated.size(); ++i) {
      norm = std::hypot(norm, static_cast<double>(stated[i]));
      apart = std::hypot(apart, static_cast<double>(stated[i] - (i < found.size() ? found[i] : T(0))));
    }
    add((std::string(name) + ": difference").c_str(), 0, stated.size() == found.size() ? apart : norm, norm, 0);
  };
  const Normalization<T>&given = model.normalization, &again = r.normalization;
  number("lambda", model.lambda, r.lambda);
  number("scale of an entry's loss", model.entry_lambda, r.entry_lambda);
  number("end of usual scores", model.outlier_threshold, r.outlier_threshold);
  number("middle of the data", given.center, again.center);
  number("reach of the data", given.cutoff, again.cutoff);
  numbers("losses", model.losses, r.losses);
  numbers("scales of entries' losses", model.held_out_lambda, r.held_out_lambda);
  numbers("centres of features", given.shift, again.shift);
  numbers("scales of features", given.scale, again.scale);
  numbers("offsets", given.offset, again.offset);
  numbers("norms of samples", model.sample_scale, r.sample_scale);
  // how many atoms was not known yet where they were to be chosen
  const std::string kind = kind_note(problem, model.options, model.sample_shape.size() > 1);
  const std::string begin = model.candidates.empty() ? kind : kind.substr(0, kind.find("): "));
  const bool said = kind.empty() || std::any_of(model.notes.begin(), model.notes.end(), [&](const std::string& note) {
                      return model.candidates.empty() ? note == kind : note.starts_with(begin);
                    });
  add("kind of the data", 1, said ? 1 : 0, 0, 0);
  verify_course(model, r, data, add);
  const bool stalled = model.termination == Termination::converged;
  add("ended converged", stalled ? 1 : 0, model.schedule.stalled && model.schedule.finished ? 1 : 0, 0, 0);
  return figures;
}

template std::vector<Figure> verify(const Model<float>&, const Problem<float>&, const FitInputs&, const Control&);
template std::vector<Figure> verify(const Model<double>&, const Problem<double>&, const FitInputs&, const Control&);

}  // namespace pacewise

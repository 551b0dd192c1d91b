#include <chrono>

#include "bindings.hpp"
#include "options.hpp"
#include "running.hpp"

namespace pacewise::python {
namespace {

using namespace nb::literals;

nb::dict from_record(const Record& r) {
  nb::dict d;
  d["iteration"] = r.iteration;
  d["phase"] = std::string(name_of(r.phase));
  d["lambda"] = r.lambda;
  d["selected"] = r.selected;
  d["mean_weight"] = r.mean_weight;
  d["objective"] = r.objective.total();
  d["objective_before"] = r.objective_before;
  d["fit"] = r.objective.fit;
  d["pace"] = r.objective.pace;
  d["sparsity"] = r.objective.sparsity;
  d["manifold"] = r.objective.manifold;
  d["consistency"] = r.objective.consistency;
  d["certificate_codes"] = r.certificate.codes;
  d["certificate_dictionary"] = r.certificate.dictionary;
  d["certificate_consistency"] = r.certificate.consistency;
  d["density"] = r.density;
  d["dead_atoms"] = r.dead_atoms;
  d["seconds"] = r.seconds;
  return d;
}

nb::list from_notes(const std::vector<std::string>& notes) {
  nb::list out;
  for (const auto& note : notes) out.append(note);
  return out;
}

template <class T>
nb::object line_or_none(Vector<T> a) {
  return a.empty() ? nb::none() : to_line(std::move(a));
}

/// what encode() needs, by the names of the dict that fit() returned as "model"
template <class T>
nb::dict from_model(const Model<T>& model, const Options& options) {
  nb::dict d;
  d["beta"] = model.beta;
  d["level"] = std::string(name_of(model.level));
  d["lambda"] = model.lambda;
  d["feature_weights"] = line_or_none(model.feature_weights);
  d["entry_lambda"] = model.entry_lambda;
  d["normalize"] = from_options(options)["normalize"];
  d["shift"] = line_or_none(model.normalization.shift);
  d["scale"] = line_or_none(model.normalization.scale);
  return d;
}

template <class T>
Model<T> to_model(const Rows<T>& dictionary, const nb::dict& d) {
  const auto line = [&](const char* key) { return d[key].is_none() ? Vector<T>() : copy(nb::cast<Line<T>>(d[key])); };
  Model<T> model;
  model.dictionary = copy(dictionary);
  model.beta = nb::cast<double>(d["beta"]);
  model.level = parse_level(nb::cast<std::string>(d["level"]));
  model.regularizer =
      to_regularizer(nb::cast<std::string>(d["regularizer"]), nb::cast<nb::dict>(d["regularizer_params"]));
  model.lambda = nb::cast<double>(d["lambda"]);
  model.feature_weights = line("feature_weights");
  model.entry_lambda = nb::cast<double>(d["entry_lambda"]);
  model.normalization.kind = parse_normalize(nb::cast<std::string>(d["normalize"]));
  model.normalization.shift = line("shift");
  model.normalization.scale = line("scale");
  return model;
}

template <class T>
nb::dict from_result(Result<T> r, const Model<T>& model) {
  nb::dict d, parts, certificate;
  parts["fit"] = r.objective.fit;
  parts["pace"] = r.objective.pace;
  parts["sparsity"] = r.objective.sparsity;
  parts["manifold"] = r.objective.manifold;
  parts["consistency"] = r.objective.consistency;
  certificate["codes"] = r.certificate.codes;
  certificate["dictionary"] = r.certificate.dictionary;
  certificate["consistency"] = r.certificate.consistency;
  nb::list history;
  for (const Record& record : r.state.history) history.append(from_record(record));
  d["model"] = from_model(model, r.options);
  d["history"] = history;
  d["objective"] = r.objective.total();
  d["objective_parts"] = parts;
  d["certificate"] = certificate;
  d["termination"] = std::string(name_of(r.termination));
  d["detail"] = r.detail;
  d["lambda"] = r.lambda;
  d["selected"] = r.selected;
  d["density"] = r.density;
  d["iterations"] = r.state.iteration;
  d["final_lambda"] = r.state.schedule.lambda;
  d["threads"] = r.threads;
  d["notes"] = from_notes(r.notes);
  d["options"] = from_options(r.options);
  d["laplacian"] = from_sparse(std::move(r.graph.laplacian));
  d["incidence"] = from_sparse(std::move(r.graph.incidence));
  d["consistency"] = r.state.consistency.empty() ? nb::none() : to_rows_transposed(std::move(r.state.consistency));
  d["components"] = to_rows(std::move(r.state.dictionary));
  d["codes"] = to_rows(std::move(r.state.codes));
  d["weights"] = line_or_none(std::move(r.weights));
  d["losses"] = line_or_none(std::move(r.losses));
  return d;
}

template <class T>
nb::dict fit_rows(const Rows<T>& X, const MaybeLine<T>& sample, const MaybeLine<T>& feature, const MaybeRows<T>& entry,
                  const nb::dict& given, const std::optional<nb::tuple>& laplacian,
                  const std::optional<nb::tuple>& incidence, const MaybeRows<double>& points, int threads,
                  std::optional<double> max_seconds, const nb::object& callback) {
  const Options options = to_options(given);
  Graph graph;
  Matrix<double> coordinates;
  FitInputs inputs;
  if (laplacian) {
    graph.laplacian = to_sparse(*laplacian);
    if (incidence) graph.incidence = to_sparse(*incidence);
    inputs.graph = &graph;
  }
  if (points) {
    coordinates = copy(*points);
    inputs.graph_points = &coordinates;
  }
  std::optional<Result<T>> result;
  Model<T> model;
  run(threads, [&](const Control& control, Desk& desk) {
    Control limited = control;
    if (max_seconds)
      limited.deadline = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                                                std::chrono::duration<double>(*max_seconds));
    Callback<T> each;
    if (!callback.is_none())
      each = [&](const Record& record, const State<T>& state) {
        return desk.ask([&] {
          nb::dict d = from_record(record);
          d["weights"] = line_or_none(state.weights);  // a copy; None while all are 1
          const nb::object answer = callback(d);
          return !answer.is(nb::handle(Py_False));
        });
      };
    const Problem<T> problem{view(X), to_weights(sample, feature, entry, control)};
    result = fit<T>(problem, options, limited, each, inputs);
    model = model_of(*result);
  });
  return from_result(std::move(*result), model);
}

EncodeOptions encode_options(bool paced, double tol, int max_iter) {
  EncodeOptions options;
  options.paced = paced;
  options.tol = tol;
  options.max_iter = max_iter;
  return options;
}

template <class T>
nb::dict encode_rows(const Rows<T>& X, const Rows<T>& dictionary, const nb::dict& parts, bool paced, double tol,
                     int max_iter, int threads) {
  const Model<T> model = to_model(dictionary, parts);
  const Problem<T> problem{view(X), {}};
  Encoding<T> e;
  run(threads,
      [&](const Control& control) { e = encode(model, problem, encode_options(paced, tol, max_iter), control); });
  nb::dict d;
  d["certificate"] = e.report.certificate;
  d["iterations"] = e.iterations;
  d["notes"] = from_notes(e.notes);
  d["codes"] = to_rows(std::move(e.codes));
  d["weights"] = line_or_none(std::move(e.weights));
  d["losses"] = line_or_none(std::move(e.losses));
  d["sample_scale"] = line_or_none(std::move(e.sample_scale));
  return d;
}

template <class T>
nb::tuple score_rows(const Rows<T>& X, const Rows<T>& dictionary, const nb::dict& parts, bool paced, double tol,
                     int max_iter, int threads) {
  const Model<T> model = to_model(dictionary, parts);
  const Problem<T> problem{view(X), {}};
  Trust<T> trust;
  run(threads,
      [&](const Control& control) { trust = score(model, problem, encode_options(paced, tol, max_iter), control); });
  return nb::make_tuple(to_line(std::move(trust.outlier_score)), to_rows(std::move(trust.confidence)));
}

template <class T>
nb::object reconstruct_rows(const Rows<T>& codes, const Rows<T>& dictionary, const nb::dict& parts,
                            const MaybeLine<T>& sample_scale) {
  const Model<T> model = to_model(dictionary, parts);
  const Vector<T> scale = sample_scale ? copy(*sample_scale) : Vector<T>();
  Matrix<T> out;
  run(1, [&](const Control&) { out = reconstruct<T>(model, view(codes), scale); });
  return to_rows(std::move(out));
}

template <class T>
void bind(nb::module_& m) {
  m.def("fit", &fit_rows<T>, "X"_a, "sample_weight"_a.none(), "feature_weight"_a.none(), "entry_weight"_a.none(),
        "options"_a, "laplacian"_a.none(), "incidence"_a.none(), "graph_points"_a.none(), "threads"_a,
        "max_seconds"_a.none(), "callback"_a.none());
  m.def("encode", &encode_rows<T>, "X"_a, "dictionary"_a, "model"_a, "paced"_a, "tol"_a, "max_iter"_a, "threads"_a);
  m.def("score", &score_rows<T>, "X"_a, "dictionary"_a, "model"_a, "paced"_a, "tol"_a, "max_iter"_a, "threads"_a);
  m.def("reconstruct", &reconstruct_rows<T>, "codes"_a, "dictionary"_a, "model"_a, "sample_scale"_a.none());
}

}  // namespace

void bind_model(nb::module_& m) {
  m.def("preset_options", [](const std::string& which) { return from_options(preset(parse_preset(which))); });
  m.def("check_options", [](const nb::dict& given) { to_options(given); });
  bind<float>(m);
  bind<double>(m);
}

}  // namespace pacewise::python

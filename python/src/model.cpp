#include "model/model.hpp"

#include <memory>

#include "model/kind.hpp"
#include "model/model_file.hpp"
#include "model/verify.hpp"
#include "options.hpp"
#include "pace/descent.hpp"
#include "running.hpp"

namespace pacewise::python {
namespace {

using namespace nb::literals;

nb::dict from_record(const Record& r) {
  nb::dict d;
  visit_fields(r, [&]<class Value>(const char* name, const Value& value) {
    if constexpr (std::same_as<Value, Objective>)
      visit_fields(value, [&](const char* part, double size) { d[part] = size; });
    else if constexpr (std::same_as<Value, Certificate>)
      visit_fields(value, [&](const char* of, double residual) {
        if (std::string(of) != "weights") d[("certificate_" + std::string(of)).c_str()] = residual;
      });
    else if constexpr (std::same_as<Value, Phase>)
      d[name] = std::string(name_of(value));
    else
      d[name] = value;
  });
  d["objective"] = r.objective.total();
  d["seconds"] = r.seconds;
  return d;
}

template <class T>
std::optional<Array<T>> line_or_none(Vector<T> a) {
  if (a.empty()) return {};
  return to_line(std::move(a));
}

/// A model as Python holds it: arrays of the estimator are views of it.
struct Held {
  std::shared_ptr<AnyModel> any;
};

/// What the estimator shows of a model.
template <class T>
nb::dict describe(const std::shared_ptr<AnyModel>& any, Model<T>& model) {
  const auto line = [&](Vector<T>& a) -> std::optional<Array<T>> {
    if (a.empty()) return {};
    return array_over(a.data(), {a.size()}, any);
  };
  const auto rows = [&](Matrix<T>& a) {  // m x n -> (n, m)
    return array_over(a.data(), {static_cast<std::size_t>(a.cols()), static_cast<std::size_t>(a.rows())}, any);
  };
  nb::dict d;
  nb::list history, stages, candidates;
  for (const Record& record : model.history) history.append(from_record(record));
  for (const Stage& stage : model.descent.stages) {
    nb::dict one;
    visit_judgement(stage, [&](const char* name, double value) { one[name] = value; });
    stages.append(one);
  }
  for (const Candidate& candidate : model.candidates) candidates.append(to_dict(candidate));
  Matrix<T>& Q = model.consistency;
  d["model"] = Held{any};
  d["samples"] = model.samples;
  d["features"] = model.features;
  d["feature_names"] = model.feature_names;
  d["history"] = history;
  d["objective"] = model.objective.total();
  d["objective_parts"] = to_dict(model.objective);
  d["certificate"] = to_dict(model.certificate);
  d["termination"] = std::string(name_of(model.termination));
  d["detail"] = model.detail;
  d["beta"] = model.beta;
  d["lambda"] = model.lambda;
  d["iterations"] = model.iteration;
  d["outlier_threshold"] = model.outlier_threshold;
  d["stages"] = stages;
  d["candidates"] = candidates;
  d["stage"] = model.descent.chosen;
  d["settled"] = model.descent.settled;
  d["notes"] = model.notes;
  d["options"] = from_options(model.options);
  d["laplacian"] = from_sparse(model.graph.laplacian);
  d["incidence"] = from_sparse(model.graph.incidence);
  d["consistency"] = nb::none();
  if (!Q.empty())
    d["consistency"] = array_over(Q.data(), {static_cast<std::size_t>(Q.rows()), static_cast<std::size_t>(Q.cols())},
                                  any, {1, Q.rows()});
  d["components"] = rows(model.dictionary);
  d["codes"] = rows(model.codes);
  d["weights"] = line(model.weights);
  d["losses"] = line(model.losses);
  // what objective and certificates were computed with
  d["held_weights"] = line(static_cast<State<T>&>(model).weights);
  d["paced"] = model.descent.settled || !std::isinf(model.schedule.lambda);
  d["center"] = model.descent.settled ? model.descent.center : model.schedule.center;
  d["coupled"] =
      model.schedule.phase != Phase::plain && (!descends(model.options) || model.schedule.phase == Phase::polish);
  d["shift"] = line(model.normalization.shift);
  d["scale"] = line(model.normalization.scale);
  d["feature_offset"] = line(model.normalization.offset);
  d["sample_scale"] = line(model.sample_scale);
  return d;
}

nb::dict describe(const Held& held) {
  return std::visit([&](auto& model) { return describe(held.any, model); }, *held.any);
}

Held hold(AnyModel any) { return {std::make_shared<AnyModel>(std::move(any))}; }

template <class T>
const Model<T>& model_of(const Held& held) {
  return std::get<Model<T>>(*held.any);
}

/// laplacian, incidence, points
using GraphParts = std::tuple<std::optional<SparseParts>, std::optional<SparseParts>, MaybeRows<double>>;

/// Owns what FitInputs points to.
struct OwnedInputs {
  Graph graph;
  Sparse groups;
  FitInputs inputs;

  explicit OwnedInputs(const GraphParts& parts) {
    const auto& [laplacian, incidence, points] = parts;
    if (laplacian) {
      graph.laplacian = to_sparse(*laplacian);
      if (incidence) graph.incidence = to_sparse(*incidence);
      inputs.graph = &graph;
    }
    inputs.graph_points = view_of(points);
  }
  OwnedInputs(const OwnedInputs&) = delete;
  OwnedInputs& operator=(const OwnedInputs&) = delete;
};

template <class T>
nb::dict fit_rows(const Given<T>& data, const nb::dict& given, const GraphParts& graph,
                  const MaybeRows<double>& dictionary, const MaybeRows<double>& codes,
                  const std::optional<SparseParts>& groups, int threads, std::optional<double> max_seconds,
                  const nb::object& callback) {
  std::vector<std::string> named;
  const Options asked = to_options(given, &named);
  OwnedInputs owned(graph);
  FitInputs& inputs = owned.inputs;
  inputs.dictionary = view_of(dictionary);
  inputs.codes = view_of(codes);
  if (groups) {
    owned.groups = to_sparse(*groups);
    inputs.groups = &owned.groups;
  }
  Held held;
  run(threads, [&](const Control& control, Caller& caller) {
    Control limited = control;
    if (max_seconds) limited.end_after(*max_seconds);
    Callback<T> each;
    inputs.show_weights = !callback.is_none();
    if (!callback.is_none())
      each = [&](const Record& record, const State<T>& state) {
        return caller.call([&] {
          nb::dict d = from_record(record);
          d["weights"] = line_or_none(state.weights);  // a copy; None while all are 1
          const nb::object answer = callback(d);
          return !answer.is(nb::handle(Py_False));
        });
      };
    const Problem<T> problem = to_problem(data, control);
    const Options options = settle_kind(problem, asked, named);
    inputs.note = kind_note(problem, options);
    Result<T> result = fit<T>(problem, options, limited, each, inputs);
    if (!control.cancelled()) held = hold(make_model(std::move(result), problem, sources_of(problem, inputs), control));
  });
  return describe(held);
}

/// name, stated, recomputed, whether they agree
template <class T>
nb::list verify_rows(const Given<T>& data, const Held& held, const GraphParts& graph, int threads) {
  const OwnedInputs owned(graph);
  const Model<T>& model = model_of<T>(held);
  std::vector<Figure> figures;
  run(threads, [&](const Control& control) {
    const Problem<T> problem = to_problem(data, control);
    check_resumed(model, problem, sources_of(problem, owned.inputs), "verify");
    figures = verify(model, problem, owned.inputs, control);
  });
  nb::list out;
  for (const Figure& f : figures) out.append(nb::make_tuple(f.name, f.stated, f.found, f.same));
  return out;
}

// Of new samples, in the precision of the model

template <class T>
nb::tuple encode_rows(const Rows<T>& X, const Held& held, double tol, int threads) {
  Encoding<T> e;
  run(threads, [&](const Control& control) { e = model_of<T>(held).encode({view(X), {}}, {.tol = tol}, control); });
  return nb::make_tuple(to_rows(std::move(e.codes)), line_or_none(std::move(e.sample_scale)));
}

template <class T>
nb::tuple score_rows(const Rows<T>& X, const Held& held, std::optional<int> folds, double tol, int threads) {
  Trust<T> trust;
  run(threads, [&](const Control& control) {
    trust = model_of<T>(held).score({view(X), {}}, {.tol = tol, .folds = folds}, control);
  });
  return nb::make_tuple(to_line(std::move(trust.outlier_score)), to_rows(std::move(trust.confidence)));
}

template <class T>
nb::tuple mend_rows(const Rows<T>& X, const Held& held, double tol, int threads) {
  Matrix<T> out;
  run(threads, [&](const Control& control) { out = model_of<T>(held).mend({view(X), {}}, {.tol = tol}, control); });
  return nb::make_tuple(to_rows(std::move(out)));
}

/// sample, feature, given, expected, confidence: five arrays
template <class T>
nb::list wrong_cells(const Rows<T>& X, const Held& held, std::optional<int> folds, double tol, int threads) {
  std::vector<WrongCell> cells;
  run(threads, [&](const Control& control) {
    cells = model_of<T>(held).find_wrong_cells({view(X), {}}, {.tol = tol, .folds = folds}, control);
  });
  nb::list out;
  const auto add = [&]<class V>(V WrongCell::*member) {
    Vector<V> values;
    for (const WrongCell& cell : cells) values.push_back(cell.*member);
    out.append(to_line(std::move(values)));
  };
  add(&WrongCell::sample), add(&WrongCell::feature);
  add(&WrongCell::given), add(&WrongCell::expected), add(&WrongCell::confidence);
  return out;
}

template <class T>
Array<T> reconstruct_rows(const Rows<T>& codes, const Held& held, const MaybeLine<T>& sample_scale) {
  const Vector<T> scale = sample_scale ? copy(*sample_scale) : Vector<T>();
  Matrix<T> out;
  run(1, [&](const Control&) { out = model_of<T>(held).reconstruct(view(codes), scale); });
  return to_rows(std::move(out));
}

template <class T>
void bind(nb::module_& m) {
  m.def("fit", &fit_rows<T>, "data"_a, "options"_a, "graph"_a, "dictionary"_a.none(), "codes"_a.none(),
        "groups"_a.none(), "threads"_a, "max_seconds"_a.none(), "callback"_a.none());
  m.def("verify", &verify_rows<T>, "data"_a, "model"_a, "graph"_a, "threads"_a);
  m.def("encode", &encode_rows<T>, "X"_a, "model"_a, "tol"_a, "threads"_a);
  m.def("score", &score_rows<T>, "X"_a, "model"_a, "folds"_a.none(), "tol"_a, "threads"_a);
  m.def("wrong_cells", &wrong_cells<T>, "X"_a, "model"_a, "folds"_a.none(), "tol"_a, "threads"_a);
  m.def("mend", &mend_rows<T>, "X"_a, "model"_a, "tol"_a, "threads"_a);
  m.def("reconstruct", &reconstruct_rows<T>, "codes"_a, "model"_a, "sample_scale"_a.none());
}

}  // namespace

void bind_model(nb::module_& m) {
  m.def("preset_options", [](const std::string& which, const std::string& kind) {
    return from_options(preset(parse<Preset>(which), parse<Kind>(kind)));
  });
  m.def("check_options", [](const nb::dict& given) { to_options(given); });
  m.def("option_table", &option_rows);
  nb::class_<Held>(m, "Model")
      .def("save", [](const Held& held,
                      const std::string& path) { std::visit([&](const auto& model) { model.save(path); }, *held.any); })
      .def("name_features",
           [](const Held& held, const std::vector<std::string>& names) {
             std::visit([&](auto& model) { model.feature_names = names; }, *held.any);
           })
      .def("__getstate__",
           [](const Held& held) {
             const std::string bytes = std::visit([](const auto& model) { return to_bytes(model); }, *held.any);
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def("__setstate__", [](Held& held, const nb::bytes& bytes) {
        new (&held) Held(hold(from_bytes("pickle", std::string(bytes.c_str(), bytes.size()))));
      });
  m.def("describe", [](const Held& held) { return describe(held); });
  m.def("load", [](const std::string& path) { return describe(hold(load_model(path))); });
  bind<float>(m);
  bind<double>(m);
}

}  // namespace pacewise::python

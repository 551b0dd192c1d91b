#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>
#include <vector>

#include "model/encode.hpp"

namespace pacewise::cli {

/// What a fit reports about itself; all of it is recomputed by `verify`.
struct Summary {
  Termination termination = Termination::converged;
  std::string detail;
  Objective objective;
  Certificate certificate;
  double lambda = 0, selected = 1, density = 0;
  std::vector<std::string> notes;
};

/// What was used beside the data file itself, and must be given again to go on or to verify.
struct Sources {
  std::uint32_t data_checksum = 0;  // of the values as read
  bool weights = false, graph = false, graph_points = false;
};

/// A model, or a checkpoint: a state from which the fit goes on with the same bits.
template <class T>
struct ModelFile {
  bool is_checkpoint = false;
  bool started = true;  // false: interrupted before the first iteration was over; there is no state
  Index samples = 0, features = 0;
  std::vector<Index> sample_shape;  // {28, 28} for images, else empty
  Options options;
  Sources sources;
  State<T> state;
  // of a model alone:
  Summary summary;
  Model<T> model;
  Vector<T> sample_scale;  // unit normalisation: the norms of the training samples
};

using AnyModelFile = std::variant<ModelFile<float>, ModelFile<double>>;

template <class T>
void save(const std::string& path, const ModelFile<T>& file);
AnyModelFile load(const std::string& path);
/// load() of what must be a model, not a checkpoint.
AnyModelFile load_model(const std::string& path);

nlohmann::json to_json(const Objective& objective);
nlohmann::json to_json(const Certificate& certificate);
nlohmann::json to_json(const std::vector<Record>& history);
/// infinities and NaN have no JSON number: null
nlohmann::json number(double value);

}  // namespace pacewise::cli

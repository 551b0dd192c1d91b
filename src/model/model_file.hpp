#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>

#include "pacewise/model.hpp"

namespace pacewise {

// One file for models and checkpoints, the same bytes from the program, Python and C++: the container of
// storage/container.hpp with the fields of model/fields.hpp. Version 1 (up to 0.5) is read too; it lacks losses, graph
// and outlier threshold.

using AnyModel = std::variant<Model<float>, Model<double>>;

/// A model or checkpoint in the precision it was written in; a ReadError says what is wrong with the file.
AnyModel load_any(const std::string& path);
/// A model; a checkpoint is a ReadError.
AnyModel load_model(const std::string& path);

/// The header of a file that load_any() accepts, as version 2 has it.
nlohmann::json model_header(const std::string& path);

/// The bytes of the file that save() writes, and back; `name` is what messages call them.
template <class T>
std::string to_bytes(const Model<T>& model);
AnyModel from_bytes(const std::string& name, std::string bytes);

nlohmann::json to_json(const Objective& objective);
nlohmann::json to_json(const Certificate& certificate);
nlohmann::json to_json(const Record& record);
/// infinities and NaN have no JSON number: null
nlohmann::json number(double value);

}  // namespace pacewise

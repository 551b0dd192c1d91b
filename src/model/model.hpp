#pragma once
#include "model/encode.hpp"

namespace pacewise {

template <class T>
Sources sources_of(const Problem<T>& problem, const FitInputs& inputs);

/// The model of a finished fit, with the outlier threshold, for which the raw data are needed.
template <class T>
Model<T> make_model(Result<T> result, const Problem<T>& problem, const Sources& sources, const Control& control);

/// The state of a running fit as a file that resume takes up; null: stopped before the first iteration was over.
template <class T>
Model<T> checkpoint_of(const Problem<T>& problem, const Sources& sources, const Options& options,
                       const State<T>* state);

/// That `given` is what the stored model or checkpoint was made from; else an Error.
template <class T>
void check_resumed(const Model<T>& stored, const Problem<T>& problem, const Sources& given,
                   const std::string& who = "resume");

/// In what clusters of the training samples are looked for: the codes, where samples were brought to unit norm; else
/// B S, whose distances are those of the normalised data.
template <class T>
Matrix<T> points_of(const Model<T>& model);

}  // namespace pacewise

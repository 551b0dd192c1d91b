#pragma once
#include "model/fit.hpp"

namespace pacewise {

template <class T>
Model<T> model_of(Result<T> result);

/// Codes of new samples with the dictionary fixed. Holes (NaN, weight 0) are ignored; with `paced`, so is what does not
/// fit: V and S steps alternate, each lowering the objective at the model's lambda, until that of the sample stalls; a
/// sample's codes do not depend on the samples that come with it.
template <class T>
Encoding<T> encode(const Model<T>& model, const Problem<T>& problem, const EncodeOptions& options,
                   const Control& control);

/// B S in the units of the data: `sample_scale` as encode() returned it (empty: leave unit-norm samples as they are).
template <class T>
Matrix<T> reconstruct(const Model<T>& model, MatrixView<const T> codes, const Vector<T>& sample_scale);

/// v x + (1 - v) B s in the units of the data: the given value as far as it is trusted, else the model's
template <class T>
Matrix<T> mend(const Model<T>& model, const Problem<T>& problem, const EncodeOptions& options, const Control& control);

/// Outlier scores of samples and confidence in entries: losses against codes found with the pace's weights, so that
/// what is corrupted does not change the reconstruction it is compared with.
template <class T>
Trust<T> score(const Model<T>& model, const Problem<T>& problem, const EncodeOptions& options, const Control& control);

/// The same for training samples, before which the model learns from them what is usual where folds judge.
template <class T>
Trust<T> calibrate(Model<T>& model, const Problem<T>& problem, const EncodeOptions& options, const Control& control);

}  // namespace pacewise

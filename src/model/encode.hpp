#pragma once
#include "model/fit.hpp"

namespace pacewise {

/// What a fit leaves behind for new samples.
template <class T>
struct Model {
  Matrix<T> dictionary;  // B, m x r
  double beta = 0;
  Level level = Level::none;
  Regularizer regularizer = Linear{};
  double lambda = std::numeric_limits<double>::infinity();  // the pace's last; infinity: there was none
  Vector<T> feature_weights;                                // level feature: the features' self-paced weights, m
  double entry_lambda = 0;  // scale of one entry's loss: beyond it an entry is not believed at all
  Normalization<T> normalization;
};

template <class T>
Model<T> model_of(const Result<T>& result);

struct EncodeOptions {
  bool paced = true;    // weigh units by the pace's last lambda; false: every observed entry counts fully
  double tol = 1e-8;    // certificate of the codes
  int max_iter = 50;    // alternations of weights and codes
  double stall = 1e-6;  // a sample's end when its objective falls by less than this, relatively
};

template <class T>
struct Encoding {
  Matrix<T> codes;    // r x n
  Vector<T> weights;  // v of every unit of the level (features: the training's); empty: all 1
  Vector<T> losses;   // of every unit, at the codes
  StepReport report;  // of the last codes step, at the weights it ran with
  int iterations = 0;
  Vector<T> sample_scale;  // what samples were divided by (unit normalisation)
  std::vector<std::string> notes;
};

/// Codes of new samples with the dictionary fixed. Holes (NaN, weight 0) are ignored; with `paced`, so is what does not
/// fit: V and S steps alternate, each lowering the objective at the model's lambda, until that of the sample stalls; a
/// sample's codes do not depend on the samples that come with it.
template <class T>
Encoding<T> encode(const Model<T>& model, const Problem<T>& problem, const EncodeOptions& options,
                   const Control& control);

/// B S in the units of the data: `sample_scale` as encode() returned it (empty: leave unit-norm samples as they are).
template <class T>
Matrix<T> reconstruct(const Model<T>& model, MatrixView<const T> codes, const Vector<T>& sample_scale);

template <class T>
struct Trust {
  Vector<T> outlier_score;  // n: mean over observed entries of min(1, l_ij / entry_lambda); NaN where none is observed
  Matrix<T> confidence;     // m x n: max(0, 1 - l_ij / entry_lambda); NaN where the entry is missing
};

/// How far samples and entries are to be believed: losses against codes found with the pace's weights, so that what is
/// corrupted does not bend the reconstruction it is judged by.
template <class T>
Trust<T> score(const Model<T>& model, const Problem<T>& problem, const EncodeOptions& options, const Control& control);

}  // namespace pacewise

#pragma once
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pacewise/data.hpp"

namespace pacewise {

// ---- what a fit says about itself

/// Why a fit ended, and what its result then means.
enum class Termination : std::uint8_t {
  converged,         // the objective stalled at a fixed lambda: a stationary point to the tolerance
  iteration_limit,   // max_iter or the polish count ran out: a valid point of lower objective, not yet stationary
  time_limit,        // the deadline passed: the state after the last completed iteration
  cancelled,         // the cancel flag or the callback: likewise
  numerical_trouble  // a step raised the objective or made it non-finite: the state before that step, numbers in
                     // `detail`
};
template <>
inline constexpr Words<5> words<Termination>{
    "termination", {"converged", "iteration_limit", "time_limit", "cancelled", "numerical_trouble"}};

/// The part of the schedule an iteration belongs to: plain sparse coding, with the graph terms, paced, at the last
/// lambda, and with weights that stay at the end: all 1, or those that a descending pace has found.
enum class Phase : std::uint8_t { plain, warm, paced, held, polish };
template <>
inline constexpr Words<5> words<Phase>{"phase", {"plain", "warm", "paced", "held", "polish"}};

/// J and its parts, as in the model's definition: no factor 1/2 anywhere.
struct Objective {
  double fit = 0;          // sum w v (x - B s)^2
  double pace = 0;         // F(V; lambda)
  double sparsity = 0;     // beta |S|_1
  double manifold = 0;     // alpha tr(S L S')
  double consistency = 0;  // gamma (|H - Q S|_F^2 + eta |Q|_F^2)

  double total() const { return fit + pace + sparsity + manifold + consistency; }
  /// The size of what is added up: changes of J are judged against it, since the pace part is negative.
  double magnitude() const;
};

/// Relative KKT residuals, 0 at the optimum and scale-free; infinity where not computed.
struct Certificate {
  double codes = 0, dictionary = 0, consistency = 0;
  double weights = 0;  // of a descending pace: the mean |v used - v of the losses at the returned point|
};

/// One iteration of the fit.
struct Record {
  int iteration = 0;  // from 1
  Phase phase = Phase::plain;
  double lambda = 0;    // infinity: every weight is 1
  double selected = 1;  // share of the observed units with loss < lambda
  double mean_weight = 1;
  Objective objective;          // after the iteration, at its lambda
  double objective_before = 0;  // at the same lambda, before the iteration's steps
  Certificate certificate;      // of each step, at the point that step returned
  double density = 0;           // share of non-zero codes
  Index dead_atoms = 0;         // used by no sample when the iteration began, replaced in it
  double seconds = 0;           // since the start of the fit; NaN in a model that was read from a file
};

/// Where the schedule of a run stands.
struct ScheduleState {
  Phase phase = Phase::plain;
  int in_phase = 0;    // iterations done in this phase; of a descending pace in this stage
  int stage = 0;       // of a descending pace; 0: all in
  bool brief = false;  // .. with a quarter of its iterations, since hidden entries are past their best
  double center = 0;   // of a descending pace over samples or features: their usual root of a loss
  int before = 0;      // iterations of earlier draws of a descending pace, which max_iter does not count
  double lambda = std::numeric_limits<double>::infinity();
  double last_objective = std::numeric_limits<double>::quiet_NaN();  // of the same phase and lambda
  bool finished = false;
  bool stalled = false;  // finished because the objective stalled, not because a count ran out
  bool exact = false;    // cheap steps have stalled: from here on each step is solved to its tolerance
  bool loose = false;    // .. or, where weights differ, as exactly as is enough while the objective falls
};

/// One stage of a descending pace. The sums are over hidden entries; e is the capped square of what was predicted, from
/// which the stage is judged.
struct Stage {
  double scale = std::numeric_limits<double>::infinity();   // lambda in robust scales; infinity: all in
  double lambda = std::numeric_limits<double>::infinity();  // as used last
  double center = 0;                                        // samples, features: of the roots of losses
  double hidden = 0;                                        // number of entries judged so far, in all draws
  double sum = 0;                                           // of e
  double gain = 0, gain_squares = 0;                        // of e - e of the first stage, and of its square

  double error() const { return hidden > 0 ? sum / hidden : std::numeric_limits<double>::quiet_NaN(); }
  double mean_gain() const { return hidden > 0 ? -gain / hidden : 0; }
  double gain_error() const;  // standard error of the mean gain
};

/// One choice of atoms and beta, as entries judge it that were hidden from a part of the samples
struct Candidate {
  Index atoms = 0;
  double beta_ratio = 0;
  double error = 0;                                        // mean capped square of hidden entries, at
  double scale = std::numeric_limits<double>::infinity();  // the stage that predicts them best
};

/// How far a descending pace came, and at its end what the weights follow from.
template <class T>
struct Descent {
  int draw = 0, draws = 1;    // of the hidden entries
  double cap = 0;             // of the square of an error: a hidden entry is missed, however far
  std::vector<Stage> stages;  // as many as were visited
  int chosen = 0;             // among them; so far
  bool settled = false;       // the weights are found: those of the losses at (dictionary, codes) and lambda
  Vector<T> first_errors;     // e of the first stage in this draw
  Matrix<T> dictionary;       // m x r, and
  Matrix<T> codes;            // r x n: at the end of the chosen stage, where all weights are judged
  double lambda = std::numeric_limits<double>::infinity();  // .. by this lambda; infinity: all in
  double center = 0;  // samples, features: a loss counts as far as its root exceeds this
  Index offsets = 0;  // as many of the offsets belong to it
};

/// Everything the loop carries from one iteration to the next. A run resumed from a stored state goes on with the same
/// bits. Plain data, all of it kept in files.
template <class T>
struct State {
  Matrix<T> dictionary;   // B, m x r: an atom is a column, of norm <= 1
  Matrix<T> codes;        // S, r x n: of the training samples, graph terms included
  Matrix<T> consistency;  // Q, e x r; empty before the first Q-step
  Vector<T> weights;      // v of an exact iteration of the pace; empty: all 1, or the best ones for the losses
  Matrix<T> offsets;      // m x updates: what the offset is the sum of
  ScheduleState schedule;
  Descent<T> descent;                 // of a descending pace
  std::vector<Candidate> candidates;  // atoms and beta that were tried where they were to be chosen
  double pace_lambda = std::numeric_limits<double>::infinity();  // the last finite lambda
  double beta = 0;                                               // as used
  double step_tol = 1e-4;                                        // certificate asked of the next iteration's steps
  std::uint64_t random = 0;                                      // state of the random numbers
  int iteration = 0;                                             // iterations done
  double seconds = 0;                                            // spent so far; not kept in files
  std::vector<Record> history;                                   // one for each iteration
};

// ---- new samples

/// How new samples are coded; `folds` matters to their scores alone
struct EncodeOptions {
  bool paced = true;    // weigh units by the pace's last lambda; false: every observed entry counts fully
  double tol = 1e-8;    // > 0: certificate of the codes
  int max_iter = 50;    // >= 0: alternations of weights and codes
  double stall = 1e-6;  // a sample's end when its objective falls by less than this, relatively
  /// 0, or >= 2: entries are judged by codes that have not seen them. The features are dealt to so many folds, and the
  /// losses of each are those of codes solved without it. Not set: 15 where the model has a held_out_lambda, else 0
  std::optional<int> folds = {};
};

/// What every step reports, at the point it returns.
struct StepReport {
  double certificate = 0;  // relative KKT residual: 0 at the optimum, scale-free
  int rounds = 0;          // of the step's own loop
  bool converged = false;  // certificate <= tol
};

template <class T>
struct Encoding {
  Matrix<T> codes;                 // r x n
  Vector<T> weights;               // v of every unit of the level (features: the training's); empty: all 1
  Vector<T> losses;                // of every unit, at the codes
  StepReport report;               // of the last codes step, at the weights it ran with
  int iterations = 0;              // alternations of weights and codes
  Vector<T> sample_scale;          // what samples were divided by (unit normalisation)
  std::vector<std::string> notes;  // what a user should know about how the data were handled
};

template <class T>
struct Trust {
  Vector<T> outlier_score;  // n: mean over observed entries of 1 - confidence; NaN where none is observed
  Matrix<T> confidence;     // m x n: of t = l_ij / lambda_i, 1 - t up to 1/2, then 1 / (4 t); NaN where it is missing.
                            // lambda_i is entry_lambda, or held_out_lambda where entries are judged in folds
};

/// An entry that is not trusted, with what the model expects there, seeing none of those of its sample
struct WrongCell {
  Index sample = 0, feature = 0;
  double given = 0, expected = 0, confidence = 0;
};

// ---- the model

/// What was handed over beside the options: the same must be given again to resume or to verify.
struct Sources {
  std::uint32_t data_checksum = 0;  // CRC-32 of the values, sample after sample
  bool weights = false, graph = false, graph_points = false;
  bool operator==(const Sources&) const = default;
};

/// What a fit leaves behind. It owns all of it: the data it was fitted to may go.
template <class T>
struct Model : State<T> {
  Options options;                  // as used
  Index samples = 0, features = 0;  // n and m of the training data
  Sources sources;
  std::vector<Index> sample_shape;         // {28, 28} for images; else empty
  std::vector<std::string> feature_names;  // m, or empty
  bool complete = true;  // false: a checkpoint. It holds the state and the fields above; none below are computed

  Termination termination = Termination::converged;
  std::string detail;       // of numerical_trouble
  Objective objective;      // at the returned point
  Certificate certificate;  // all residuals at the returned point: how far from a joint stationary point
  double lambda = std::numeric_limits<double>::infinity();  // the pace's last; infinity: there was none
  Vector<T> losses;           // of every unit at the returned point: n, m or m n; of the samples for level none
  Vector<T> weights;          // v at `lambda` for these losses (polishing itself runs with 1)
  double selected = 1;        // share of the observed units with loss < lambda
  double density = 0;         // share of non-zero codes
  double entry_lambda = 0;    // scale of one entry's loss: from half of it on it is not trusted
  Vector<T> held_out_lambda;  // m: the same of the entries of each feature where codes have not seen them. Models of
                              // fewer than 256 features have it; without it `entry_lambda` serves
  double outlier_threshold =
      std::numeric_limits<double>::quiet_NaN();  // usual outlier scores end here, roots at the median of the training
                                                 // samples' and three robust standard deviations above it, or what
                                                 // `contamination` says. NaN in files of before version 2
  Normalization<T> normalization;
  Vector<T> sample_scale;  // n: the norms the training samples were divided by (unit normalisation); else empty
  Graph graph;
  Sparse groups;                   // m x m, as given to level group; else empty
  std::vector<std::string> notes;  // what a user should know about how the data were handled

  /// Codes of new samples (m x any number, NaN = missing) with the dictionary fixed. With `paced`, what does not fit is
  /// ignored like what is missing; a sample's codes do not depend on the samples that come with it.
  Encoding<T> encode(const Problem<T>& Y, const EncodeOptions& how = {}, const Control& control = {}) const;
  /// B S in the units of the data. `sample_scale` is that of encode(); without it unit-norm samples stay as they are.
  Matrix<T> reconstruct(MatrixView<const T> codes_of_samples, const Vector<T>& scale = {}) const;
  /// Samples with what is missing or not trusted replaced: v x + (1 - v) B s, in the units of the data.
  Matrix<T> mend(const Problem<T>& Y, const EncodeOptions& how = {}, const Control& control = {}) const;
  /// Outlier scores of new samples and confidence in their entries.
  Trust<T> score(const Problem<T>& Y, const EncodeOptions& how = {}, const Control& control = {}) const;
  /// The entries whose confidence is below 1/2, the least trusted first.
  std::vector<WrongCell> find_wrong_cells(const Problem<T>& Y, const EncodeOptions& how = {},
                                          const Control& control = {}) const;
  /// One file, written whole or not at all, that load(), the program and Python read. Identical runs give identical
  /// files. A WriteError says why it could not be written.
  void save(const std::string& path) const;
};

/// What a fit may be given beside data and options; all of it is only looked at during the call.
struct FitControl {
  int threads = 0;                                               // 0: as many as the machine has; same bits for any
  double max_seconds = std::numeric_limits<double>::infinity();  // > 0: then the fit ends with time_limit
  const std::atomic<bool>* cancel = nullptr;                     // set it to end the fit with what it has
  std::function<bool(const Record&)> callback = {};              // after every iteration; false ends the fit
  const Graph* graph = nullptr;                                  // instead of building one
  MatrixView<const double> graph_points = {};                    // D x n: look for neighbours in this space
  MatrixView<const double> dictionary = {};                      // m x r: the first B; else samples drawn at random
  MatrixView<const double> codes = {};                           // r x n: the first S; else plain sparse coding
  const Sparse* groups = nullptr;                                // m x m, of level group: shares of features in means
  std::string checkpoint = {};                                   // file that is rewritten on the way; empty: none
  int every = 1;                                                 // >= 1: iterations from one checkpoint to the next
  std::string resume = {};  // model or checkpoint to go on from, with the same data; of the options only max_iter and
                            // tol count then
};

/// Learns dictionary, codes and weights: plain sparse coding, then with the graph terms, then paced. X (m x n, a column
/// is a sample, NaN = missing) is a matrix or a view of one, of float or double, alone or as {X, weights}. Misuse is an
/// Error; how a run ended is in the model.
Model<float> fit(const Problem<float>& X, const Options& options = {}, const FitControl& control = {});
Model<double> fit(const Problem<double>& X, const Options& options = {}, const FitControl& control = {});

/// A model that save(), the program or Python wrote, in precision T whatever the file's; a ReadError says what is wrong
/// with the file. Checkpoints are refused: fit() resumes them.
template <class T = double>
Model<T> load(const std::string& path);

}  // namespace pacewise

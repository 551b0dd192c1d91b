#pragma once
namespace pacewise {

/// Every number that steers a solver. None of them decides what the answer is: halving or doubling any one changes the
/// time, and the answer within its tolerance (tests/tuning_test.cpp). Where a number was measured stands beside it.
struct Tuning {
  // --- lasso path (solve/lasso_path.cpp)
  double stride_least = 6;       // atoms let in at once, at least; 1 is LARS, three times slower (encode, 784 x 128)
  double stride_share = 0.5;     // .. or this share of the support
  double stride_limit = 32;      // strides without a fall of the penalty before coordinate descent takes over
  double dependent = 1e-11;      // an atom whose part outside the span of the support is below this share is left out
  double refine = 1e-10;         // residual on the support, relative to max |c|, above which K is refined
  double descent_rounds = 1000;  // coordinate descent with Newton steps: rounds at most

  // --- separable codes (solve/separable.cpp)
  double nearly_complete =
      0.33;                   // share of entries below the largest weight up to which a sample's Gram is a correction
  double working_set = 1.5;   // atoms of a working set, in units of the first support, before the gradient is checked
  double float_ridge = 1e-6;  // added to the diagonal of Grams in float, relative
  double float_data = 1e-5;   // codes asked for to no more than this have B'X in float: half the time of that product

  // --- coupled codes (solve/coupled.cpp)
  double coupled_passes = 1000;  // proximal steps of a round at most
  double inner_share = 0.2;      // a round's model is solved to this share of the residual where weights differ ..
  double inner_exact = 1e-5;     // .. and to this share where the model is exact
  double crawls = 0.5;  // a round that leaves more than this of the residual is followed by Newton steps; at .2 a fit
                        // with 10 % missing takes 1.6 times as long (2,000 x 784)
  double newton_steps = 3000;  // conjugate gradients: steps at most
  double newton_turns = 60;    // Newton steps in a row, as long as the objective falls
  double power_steps = 20;     // power iterations for the step length
  double step_safety = 1.02;   // the largest eigenvalue is overestimated by this

  // --- dictionary (solve/dictionary.cpp)
  double dictionary_sweeps = 400;   // sweeps of a round at most
  double sweep_share = 1e-4;        // a round ends at this share of the residual it began with
  double mixing = 20;               // past sweeps that are mixed; 10 end at 2e-8 where weights span 1e12
  double mixing_ridge = 1e-6;       // ridge of the mixture, relative
  double row_gram_bytes = 1 << 30;  // Grams of single rows (entry weights) up to this size, else one bound for all rows

  // --- cheap steps of a fit (model/fitter.cpp), which the exact ones at the end correct
  double first_passes = 12;  // proximal passes of a codes step before the polish ..
  double passes = 18;        // .. and in it: 12 leave .05 % more of the objective's fall (2,000 x 784), 8 leave .1 %
                             // (10,000 x 784); 18 during the pace, too, leave .013 % less (four sets of images)
  double sweeps = 4;         // sweeps over the atoms where nothing ties the samples
  double start_sweeps = 20;  // .. for the first codes of a descending pace, which must not see what is hidden
  double start_tol = 1e-3;   // residual of the first codes otherwise
  double loose_tol = 1e-3;   // .. of exact steps while the objective falls, where weights differ: a trimmed fit takes
                             // half the time of one with step_tol throughout (COIL20, CMU-PIE; 10 % salt and pepper)

  // --- all
  double dense_share = 0.25;  // codes denser than this are multiplied as a dense matrix
  double stalled =
      0.98;  // a residual that does not fall below this share of the best for `patience` rounds has stalled
  double patience = 8;
};

}  // namespace pacewise

#pragma once
#include "model/fit.hpp"

namespace pacewise {

/// Whether beta is chosen: asked for, or with the atoms where nobody gave one.
inline bool chooses_beta(const Options& o) { return o.beta == kAuto || (o.atoms == kAuto && !o.beta && !o.beta_ratio); }

/// Atoms where they are kAuto and not as many as `inputs` or `atom_penalty` have, and beta: those with which a
/// descending pace, without a graph and on a part of the samples, predicts hidden entries best, each at its best stage;
/// without a pace, or with one that ends with all in, at the first stage. What is right on clean data absorbs errors in
/// dirty data, so the three are chosen together. Atoms are tried from few upwards until the error rises, then other
/// penalties. `tried`: in that order.
template <class T>
Options choose_settings(const Problem<T>& problem, Options options, const Control& control, const FitInputs& inputs,
                        std::vector<Candidate>& tried);

}  // namespace pacewise

#include "model/fit.hpp"

#include "model/choice.hpp"
#include "model/fitter.hpp"

namespace pacewise {

template <class T>
void iterate(Fitter<T>& f, const Callback<T>& callback) {
  while (!f.finished()) {
    f.begin_iteration();     //   lambda <- pace(losses), all weights 1 before the pace and while polishing
    f.update_weights();      //   V <- argmin sum v l + F(v; lambda)               closed form
    f.update_dictionary();   //   B <- argmin fit                                   |b_k| <= 1
    f.revive_atoms();        //   atoms nobody uses become trusted, badly fitted samples
    f.update_consistency();  //   Q <- H S'(S S' + eta)^-1
    f.update_codes();        //   S <- argmin fit + sparsity + manifold + consistency
    if (!f.end_iteration(callback)) break;
  }
}

namespace {

/// A run that is resumed has chosen already.
template <class T>
Options settled(Options options, const State<T>& state) {
  if (chooses_beta(options)) options.beta = state.beta;
  if (options.atoms == kAuto) options.atoms = state.dictionary.cols();
  return options;
}

}  // namespace

template <class T>
Result<T> fit(const Problem<T>& problem, const Options& options, const Control& control, const Callback<T>& callback,
              const FitInputs& inputs, const State<T>* resume) {
  std::vector<Candidate> tried;
  const Options chosen =
      resume != nullptr ? settled(options, *resume) : choose_settings(problem, options, control, inputs, tried);
  Fitter<T> f(problem, chosen, control, inputs, resume);
  f.remember(tried);
  iterate(f, callback);
  return f.result();
}

template void iterate(Fitter<float>&, const Callback<float>&);
template void iterate(Fitter<double>&, const Callback<double>&);
template Result<float> fit(const Problem<float>&, const Options&, const Control&, const Callback<float>&,
                           const FitInputs&, const State<float>*);
template Result<double> fit(const Problem<double>&, const Options&, const Control&, const Callback<double>&,
                            const FitInputs&, const State<double>*);

}  // namespace pacewise

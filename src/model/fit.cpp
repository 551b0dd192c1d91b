#include "model/fit.hpp"

#include <cmath>
#include <sstream>

#include "model/fitter.hpp"

namespace pacewise {

template <class T>
Result<T> fit(const Problem<T>& problem, const Options& options, const Control& control, const Callback<T>& callback,
              const FitInputs& inputs, const State<T>* resume) {
  Fitter<T> f(problem, options, control, inputs, resume);
  while (!f.finished()) {
    f.begin_iteration();     //   lambda <- pace(losses), all weights 1 before the pace and while polishing
    f.update_weights();      //   V <- argmin sum v l + F(v; lambda)               closed form
    f.update_dictionary();   //   B <- argmin fit                                   |b_k| <= 1
    f.revive_atoms();        //   atoms nobody uses become trusted, badly fitted samples
    f.update_consistency();  //   Q <- H S'(S S' + eta)^-1
    f.update_codes();        //   S <- argmin fit + sparsity + manifold + consistency
    if (!f.end_iteration(callback)) break;
  }
  return f.result();
}

template Result<float> fit(const Problem<float>&, const Options&, const Control&, const Callback<float>&,
                           const FitInputs&, const State<float>*);
template Result<double> fit(const Problem<double>&, const Options&, const Control&, const Callback<double>&,
                            const FitInputs&, const State<double>*);

}  // namespace pacewise

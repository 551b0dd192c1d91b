"""Plain dictionary learning. Rows are samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._arrays import as_rows, integer, real, seed_of, thread_number


@dataclass(frozen=True)
class LearnedDictionary:
    """What :func:`learn_dictionary` found, and how exact it is."""

    dictionary: NDArray
    """(r, m), every atom of norm <= 1"""
    codes: NDArray
    """(n, r), those of the dictionary returned"""
    objective: float
    codes_certificate: float
    """optimality of the codes, 0 at the optimum"""
    dictionary_certificate: float
    """optimality of the dictionary for these codes: how far from a stationary point of both"""
    history: tuple[float, ...]
    """the objective after every pass"""
    termination: str
    """converged: the objective stalled; iteration_limit: it did not within ``max_iter`` passes"""


def learn_dictionary(
    X: Any,
    n_components: int | None = None,
    *,
    beta: float | None = None,
    dictionary: ArrayLike | None = None,
    max_iter: int = 100,
    tol: float = 1e-4,
    step_tol: float = 1e-6,
    random_state: Any = 0,
    n_threads: int | None = None,
) -> LearnedDictionary:
    """Dictionary B and codes S that minimise  |X - S B|^2 + beta sum|S|  with every atom (row of B) of norm <= 1.

    The fast way for complete, trusted data without a graph: the dictionary moves several times in every pass over the
    samples, where :class:`SelfPacedSparseCoder` moves it once. There is no factor 1/2: ``beta`` is twice the ``alpha``
    of :func:`sklearn.decomposition.dict_learning` and twice the ``lambda1`` of SPAMS.

    Parameters
    ----------
    X : (n, m) array or sparse matrix without missing values, taken as it is (scale it first)
    n_components : number of atoms; not needed with ``dictionary``
    beta : float >= 0; left out, the share ``beta_ratio`` of the estimator's defaults of the beta at which all codes are 0,
        2 max_j |x_j|
    dictionary : (r, m) start; without it, samples drawn with ``random_state``, scaled to unit norm
    max_iter : passes over the samples at most
    tol : stop when a pass lowers the objective by less than this, relatively
    step_tol : bound on the certificate of the codes returned
    """
    X = as_rows("X", X)
    if dictionary is not None:
        start = as_rows("dictionary", dictionary, X.dtype)
        if n_components not in (None, len(start)):
            raise _core.Error(f"n_components = {n_components}: must be the number of atoms of dictionary = {len(start)}, or left out")
    else:
        start = _drawn(X, integer("n_components", n_components, 1), np.random.default_rng(seed_of(random_state)))
    if beta is None and np.isfinite(X).all():  # else it is refused, and named, further on
        beta = _core.preset_options("paper", "images")["beta_ratio"] * 2 * float(np.linalg.norm(X, axis=1).max(initial=0))
    B, S, value, codes, atoms, history, ended = _core.learn_dictionary(
        X,
        start,
        beta=real("beta", 0.0 if beta is None else beta),
        max_iter=integer("max_iter", max_iter, 1),
        tol=real("tol", tol),
        step_tol=real("step_tol", step_tol, 0),
        threads=thread_number(n_threads),
    )
    return LearnedDictionary(B, S, value, codes, atoms, tuple(history), ended)


def _drawn(X: NDArray, count: int, random: np.random.Generator) -> NDArray:
    """Samples that are not zero, each once; where there are too few, random directions."""
    eligible = np.flatnonzero(np.any(X != 0, axis=1))
    chosen = X[random.permutation(eligible)[:count]]
    extra = random.standard_normal((count - len(chosen), X.shape[1])).astype(X.dtype)
    start = np.concatenate([chosen, extra])
    with np.errstate(all="ignore"):  # what is not finite is refused, and named, further on
        start = start / np.abs(start).max(axis=1, keepdims=True, initial=0)
        return start / np.linalg.norm(start, axis=1, keepdims=True)

"""Choosing options without labels: hide some entries, learn from the rest, see how well the hidden ones are predicted.

Leaving out whole samples says little about a dictionary, since a new sample's codes are fitted to that very sample.
Single entries left out all over the table ("speckled" cross-validation) are never seen by the codes either.
"""

from __future__ import annotations

from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils import check_random_state

from ._core import Error

_ERRORS: dict[str, Callable[[NDArray], float]] = {
    "median_absolute": lambda difference: float(np.median(np.abs(difference))),
    "mean_absolute": lambda difference: float(np.abs(difference).mean()),
    "root_mean_square": lambda difference: float(np.sqrt((difference**2).mean())),
}


class Choice(NamedTuple):
    """What :func:`choose_by_held_out_entries` found."""

    params: dict[str, Any]  # the best of the grid
    error: float  # its mean error over the splits
    table: list[dict[str, Any]]  # for every candidate: params, mean, sd, errors (one per split); best first
    estimator: Any  # fitted to all of X with the best params; None with refit=False


def held_out_splits(X: Any, *, n_splits: int = 3, share: float = 0.1, random_state: Any = 0) -> Iterator[NDArray[np.bool_]]:
    """Masks (n, m), True for the entries to hide: ``share`` of the observed ones, drawn again for every split.

    An entry that is the last one left of its sample or feature is never hidden.
    """
    if not 0 < share < 1:
        raise Error(f"share = {share}: must be between 0 and 1")
    if int(n_splits) < 1:
        raise Error(f"n_splits = {n_splits}: must be >= 1")
    X = _dense(X)
    random = check_random_state(random_state)
    observed = ~np.isnan(X)
    places = np.argwhere(observed)
    for _ in range(int(n_splits)):
        in_sample, in_feature = observed.sum(1), observed.sum(0)
        mask, wanted = np.zeros(X.shape, dtype=bool), max(1, round(share * len(places)))
        for i, j in places[random.permutation(len(places))]:
            if wanted == 0:
                break
            if in_sample[i] > 1 and in_feature[j] > 1:
                mask[i, j] = True
                in_sample[i] -= 1
                in_feature[j] -= 1
                wanted -= 1
        if not mask.any():
            raise Error(f"X has shape {X.shape}: there is no entry that could be held out")
        yield mask


def held_out_error(
    estimator: Any,
    X: Any,
    *,
    n_splits: int = 3,
    share: float = 0.1,
    error: str | Callable[[NDArray], float] = "median_absolute",
    random_state: Any = 0,
    fit_params: Mapping[str, Any] | None = None,
) -> NDArray[np.float64]:
    """Error (n_splits,) of the entries a clone of ``estimator`` did not see, in the units of X.

    Parameters
    ----------
    estimator : anything with ``fit`` and ``reconstruct`` (:class:`~pacewise.SelfPacedSparseCoder`), or a scikit-learn
        imputer, whose ``fit_transform`` fills in what is missing
    X : (n, m), NaN = missing
    share : of the observed entries to hide in each split
    error : "median_absolute" (entries that are themselves corrupted cannot be predicted and should not count),
        "mean_absolute", "root_mean_square", or a function of the differences
    random_state : the same int gives the same splits to every estimator: compare errors pair by pair
    fit_params : passed to ``fit``
    """
    if isinstance(error, str) and error not in _ERRORS:
        raise Error(f"error = {error}: must be one of {', '.join(_ERRORS)}, or a function")
    measure = _ERRORS[error] if isinstance(error, str) else error
    X = _dense(X)
    out = []
    for mask in held_out_splits(X, n_splits=n_splits, share=share, random_state=random_state):
        seen = np.where(mask, np.nan, X)
        fresh = clone(estimator)
        if hasattr(fresh, "reconstruct"):
            filled = fresh.fit(seen, **(fit_params or {})).reconstruct(seen)
        else:
            filled = fresh.fit_transform(seen, **(fit_params or {}))
        out.append(measure(filled[mask] - X[mask]))
    return np.array(out)


def choose_by_held_out_entries(
    estimator: Any,
    X: Any,
    grid: Mapping[str, Sequence[Any]] | Iterable[Mapping[str, Sequence[Any]]],
    *,
    n_splits: int = 3,
    share: float = 0.1,
    error: str | Callable[[NDArray], float] = "median_absolute",
    random_state: Any = 0,
    fit_params: Mapping[str, Any] | None = None,
    refit: bool = True,
) -> Choice:
    """Tries every combination of ``grid`` (as in GridSearchCV) on the same held-out entries; the smallest mean error wins.

    Returns
    -------
    Choice: ``params``, ``error``, ``table`` (every candidate, best first) and the ``estimator`` fitted to all of X
    """
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    table = []
    for params in ParameterGrid(grid):
        candidate = clone(estimator).set_params(**params)
        errors = held_out_error(
            candidate, X, n_splits=n_splits, share=share, error=error, random_state=seed, fit_params=fit_params
        )
        table.append({"params": params, "mean": float(errors.mean()), "sd": float(errors.std()), "errors": errors})
    table.sort(key=lambda row: row["mean"])
    best = table[0]
    fitted = clone(estimator).set_params(**best["params"]).fit(X, **(fit_params or {})) if refit else None
    return Choice(best["params"], best["mean"], table, fitted)


def _dense(X: Any) -> NDArray:
    X = np.asarray(X.toarray() if sp.issparse(X) else X)
    if X.ndim != 2:
        raise Error(f"X has {X.ndim} dimensions: must have 2, samples by features")
    return X if X.dtype == np.float32 else X.astype(np.float64, copy=False)

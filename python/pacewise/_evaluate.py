"""Clustering and its scores."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._arrays import as_rows, integer, real, seed_of, thread_number


class KMeansResult(NamedTuple):
    labels: NDArray  # (n,)
    centers: NDArray  # (n_clusters, m)
    inertia: float  # sum of squared distances to the assigned centre
    n_iter: int


def kmeans(
    X: Any,
    n_clusters: int,
    *,
    init: Literal["k-means++", "random"] = "k-means++",
    n_init: int = 30,
    max_iter: int = 300,
    tol: float = 1e-6,
    unit_norm: bool = False,
    random_state: Any = 0,
    n_threads: int | None = None,
    return_all: bool = False,
) -> KMeansResult | list[KMeansResult]:
    """Lloyd's k-means on the rows of X (n, m): the best of ``n_init`` runs, or all of them with ``return_all``.

    ``unit_norm`` scales every sample to unit norm first, the recommended protocol for codes.
    """
    runs = _core.kmeans(
        as_rows("X", X),
        integer("n_clusters", n_clusters, 1),
        init,
        integer("n_init", n_init, 1),
        integer("max_iter", max_iter, 1),
        real("tol", tol),
        bool(unit_norm),
        seed_of(random_state),
        thread_number(n_threads),
    )
    results = [KMeansResult(*run) for run in runs]
    return results if return_all else min(results, key=lambda run: run.inertia)


def clustering_scores(labels: ArrayLike, assignment: ArrayLike) -> dict[str, float]:
    """Agreement of a clustering with labels, (n,) each, of any type: acc (best one-to-one matching), purity, nmi
    (arithmetic mean), ari. 1 is a perfect match."""

    def numbers(name: str, values: ArrayLike) -> NDArray[np.int32]:
        values = np.asarray(values)
        if values.ndim != 1:
            raise _core.Error(f"{name} has {values.ndim} dimensions: must have 1")
        if values.dtype.kind == "f" and np.isnan(values).any():
            raise _core.Error(f"{name} is nan at [{np.flatnonzero(np.isnan(values))[0]}]: every sample needs one")
        try:
            return np.unique(values, return_inverse=True)[1].astype(np.int32)
        except TypeError:
            raise _core.Error(f"{name} mixes types: give numbers or text for every sample") from None

    return _core.clustering_scores(numbers("labels", labels), numbers("assignment", assignment))

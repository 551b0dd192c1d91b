"""Neighbour graphs and hypergraphs. Rows are samples; NaN = missing."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from . import _core
from ._arrays import as_rows, from_parts, integer, thread_number
from ._options import options_of


def kneighbors(X: Any, n_neighbors: int = 5, *, n_threads: int | None = None) -> tuple[NDArray, NDArray]:
    """Exact nearest other samples, nearest first.

    Returns
    -------
    distances (n, k), indices (n, k); index -1 and distance inf where fewer than k samples share an observed entry.
    With missing entries distances are over the common entries, scaled up by m / their number.
    """
    squared, index = _core.nearest(as_rows("X", X), integer("n_neighbors", n_neighbors, 1), thread_number(n_threads))
    return np.sqrt(squared), index


def _build(X: Any, n_threads: int | None, **options: Any) -> tuple[sp.csr_array, sp.csr_array]:
    incidence, laplacian = _core.build_graph(as_rows("X", X), options_of(options), thread_number(n_threads))
    return from_parts(incidence), from_parts(laplacian)


def knn_graph(
    X: Any,
    n_neighbors: int = 5,
    *,
    space: str = "robust:40",
    edge_weight: Literal["binary", "heat", "cosine"] = "binary",
    heat_width: float = 0.0,
    normalized: bool = True,
    mode: Literal["laplacian", "affinity"] = "laplacian",
    random_state: Any = 0,
    n_threads: int | None = None,
) -> sp.csr_array:
    """Symmetrised k-nearest-neighbour graph of the rows of X (n, m).

    Parameters
    ----------
    space : where neighbours are looked for: "raw", "pca:D", "half:D" (half-whitened, unit norm), "white:D" or
        "robust:D" (half-whitened without gross outliers and noise)
    edge_weight, heat_width : 1, exp(-d^2 / width) (width 0: the mean squared neighbour distance), or max(0, cos)
    mode : "laplacian" gives D - A, or 1 - D^-1/2 A D^-1/2 when ``normalized``; "affinity" gives A

    Returns
    -------
    (n, n) CSR matrix
    """
    if mode not in ("laplacian", "affinity"):
        raise _core.Error(f"mode = {mode}: must be laplacian or affinity")
    _, laplacian = _build(
        X,
        n_threads,
        graph="knn",
        n_neighbors=n_neighbors,
        graph_space=space,
        edge_weight=edge_weight,
        heat_width=heat_width,
        normalized_laplacian=normalized and mode == "laplacian",
        random_state=random_state,
    )
    if mode == "laplacian":
        return laplacian
    affinity = sp.csr_array(sp.diags_array(laplacian.diagonal()) - laplacian)
    affinity.eliminate_zeros()
    return affinity


def hypergraph(
    X: Any,
    n_neighbors: int = 5,
    *,
    space: str = "robust:40",
    edge_weight: Literal["binary", "heat", "cosine", "probabilistic"] = "binary",
    heat_width: float = 0.0,
    random_state: Any = 0,
    n_threads: int | None = None,
) -> tuple[sp.csr_array, sp.csr_array]:
    """One hyperedge per sample: itself and its k nearest.

    Returns
    -------
    incidence (e, n) and normalised Laplacian 1 - Dx^-1/2 H' We De^-1 H Dx^-1/2 (n, n), both CSR
    """
    return _build(
        X,
        n_threads,
        graph="hypergraph",
        n_neighbors=n_neighbors,
        graph_space=space,
        edge_weight=edge_weight,
        heat_width=heat_width,
        random_state=random_state,
    )

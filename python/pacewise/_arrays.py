"""How arrays cross the border to the C++ library: C-contiguous float32 or float64, CSC parts for sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ._core import Error

SparseParts = tuple[int, int, NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]


def as_rows(name: str, X: Any, dtype: DTypeLike | None = None) -> NDArray:
    """(n, m), C-contiguous; float32 stays, everything else becomes float64. No copy where none is needed."""
    if sp.issparse(X):
        X = X.toarray()
    X = np.asarray(X)
    if X.ndim != 2:
        raise Error(f"{name} has {X.ndim} dimensions: must have 2, samples by features")
    if np.iscomplexobj(X):
        raise Error(f"{name} has dtype {X.dtype}: must be real")
    if dtype is None:
        dtype = np.float32 if X.dtype == np.float32 else np.float64
    return np.ascontiguousarray(X, dtype=dtype)


def as_line(name: str, x: ArrayLike | None, dtype: DTypeLike, size: int | None = None) -> NDArray | None:
    """(size,) or None"""
    if x is None:
        return None
    x = np.ascontiguousarray(x, dtype=dtype)
    if x.ndim != 1 or (size is not None and x.size != size):
        raise Error(f"{name} has shape {x.shape}: must be {'one-dimensional' if size is None else (size,)}")
    return x


def optional_rows(name: str, x: Any, dtype: DTypeLike, shape: tuple[int, int]) -> NDArray | None:
    if x is None:
        return None
    x = as_rows(name, x, dtype)
    if x.shape != shape:
        raise Error(f"{name} has shape {x.shape}: must be {shape}")
    return x


def sparse_parts(name: str, a: Any) -> SparseParts | None:
    """A matrix of any kind as sorted CSC without duplicates."""
    if a is None:
        return None
    a = sp.csc_array(a, dtype=np.float64)
    if a.ndim != 2:
        raise Error(f"{name} has {a.ndim} dimensions: must have 2")
    if not (a.has_canonical_format and a.has_sorted_indices):
        a = a.copy()
        a.sum_duplicates()
    if not np.isfinite(a.data).all():
        raise Error(f"{name} has an entry that is not finite")
    rows, cols = a.shape
    return rows, cols, a.indptr.astype(np.int64), a.indices.astype(np.int32, copy=False), a.data


def groups_of(groups: Any) -> tuple[SparseParts | None, list[float] | None]:
    """An averaging matrix (m, m), or the labels of the features numbered; the other is None."""
    if sp.issparse(groups) or np.ndim(groups) == 2:
        return sparse_parts("groups", groups), None
    return None, np.unique(np.asarray(groups), return_inverse=True)[1].astype(float).tolist()


def from_parts(parts: SparseParts | None) -> sp.csr_array | None:
    if parts is None:
        return None
    rows, cols, indptr, indices, data = parts
    return sp.csc_array((data, indices, indptr), shape=(rows, cols)).tocsr()


def weights_of(X: NDArray, sample_weight: Any, feature_weight: Any, entry_weight: Any) -> dict[str, NDArray | None]:
    n, m = X.shape
    return {
        "sample_weight": as_line("sample_weight", sample_weight, X.dtype, n),
        "feature_weight": as_line("feature_weight", feature_weight, X.dtype, m),
        "entry_weight": optional_rows("entry_weight", entry_weight, X.dtype, (n, m)),
    }


def thread_number(n_threads: int | None) -> int:
    """None: as many as the machine, or the limit set for this thread, allows."""
    if n_threads is None:
        return 0
    if int(n_threads) < 1:
        raise Error(f"n_threads = {n_threads}: must be None or >= 1")
    return int(n_threads)


def seed_of(random_state: Any) -> int:
    """An integer is the seed itself (the one of the command line); otherwise drawn as scikit-learn does."""
    from sklearn.utils import check_random_state

    if isinstance(random_state, (int, np.integer)):
        if random_state < 0:
            raise Error(f"random_state = {random_state}: must be >= 0")
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))

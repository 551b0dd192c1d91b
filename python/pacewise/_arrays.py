"""How values cross the border to the C++ library: C-contiguous float32 or float64, CSC parts for sparse matrices."""

from __future__ import annotations

import math
import numbers
import operator
import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ._core import Error

SparseParts = tuple[int, int, NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]


def plain(name: str, x: Any) -> Any:
    """x where NumPy can make real numbers of it: a masked array with NaN where it is masked, weights with 0."""
    dtype: Any = getattr(x, "dtype", np.dtype(float))
    if np.ma.isMaskedArray(x) and dtype.kind in "biuf":
        return np.ma.filled(x.astype(dtype if dtype == np.float32 else np.float64), 0 if name.endswith("weight") else np.nan)
    if dtype.kind in "cmM":
        words = ": Complex data not supported" if dtype.kind == "c" else ""  # what scikit-learn's checks look for
        raise Error(f"{name} has dtype {dtype}{words}; must be real numbers")
    return x


def as_array(name: str, x: Any, dtype: DTypeLike | None = None) -> NDArray:
    """C-contiguous real numbers; float32 stays, everything else becomes float64. No copy where none is needed."""
    x = x.toarray() if sp.issparse(x) else x
    try:
        x = plain(name, x if hasattr(x, "dtype") else np.asarray(x))
        x = np.ascontiguousarray(x, dtype or (np.float32 if x.dtype == np.float32 else np.float64)).reshape(x.shape)
    except Error:
        raise
    except (ValueError, TypeError):
        raise Error(f"{name} holds what is not a number; must be real numbers") from None
    if name == "X":  # which the library looks through
        return x
    wrong = np.isinf(x) if name == "graph_points" else ~np.isfinite(x)
    if wrong.any():
        raise Error(f"{name} has {x[wrong][0]} at [{', '.join(map(str, np.argwhere(wrong)[0]))}]: must be finite")
    return x


def as_rows(name: str, X: Any, dtype: DTypeLike | None = None) -> NDArray:
    """(n, m)"""
    X = as_array(name, X, dtype)
    if X.ndim != 2:
        raise Error(f"{name} has {X.ndim} dimensions: must have 2, samples by features")
    return X


def optional_rows(name: str, x: Any, dtype: DTypeLike, shape: tuple[int, int] | None = None) -> NDArray | None:
    if x is None:
        return None
    x = as_rows(name, x, dtype)
    if shape is not None and x.shape != shape:
        raise Error(f"{name} has shape {x.shape}: must be {shape}")
    return x


def as_line(name: str, x: ArrayLike | None, dtype: DTypeLike, size: int | None = None) -> NDArray | None:
    """(size,) or None"""
    if x is None:
        return None
    x = as_array(name, x, dtype)
    if x.ndim != 1 or (size is not None and x.size != size):
        raise Error(f"{name} has shape {x.shape}: must be {'one-dimensional' if size is None else (size,)}")
    return x


def weighted(X: NDArray, sample_weight: Any, feature_weight: Any, entry_weight: Any) -> tuple[Any, Any, Any, Any]:
    """X and its weights, as the library takes data"""
    n, m = X.shape
    return (
        X,
        as_line("sample_weight", sample_weight, X.dtype, n),
        as_line("feature_weight", feature_weight, X.dtype, m),
        optional_rows("entry_weight", entry_weight, X.dtype, (n, m)),
    )


def sparse_parts(name: str, a: Any) -> SparseParts | None:
    """A matrix of any kind as sorted CSC without duplicates."""
    if a is None:
        return None
    if not sp.issparse(a):
        a = as_rows(name, a, np.float64)
    plain(name, a)
    a = sp.csc_array(a, dtype=np.float64)
    if not (a.has_canonical_format and a.has_sorted_indices):
        a = a.copy()
        a.sum_duplicates()
    if not np.isfinite(a.data).all():
        raise Error(f"{name} has an entry that is not finite")
    rows, cols = a.shape
    return rows, cols, a.indptr.astype(np.int64), a.indices.astype(np.int32, copy=False), a.data


def from_parts(parts: SparseParts | None) -> sp.csr_array | None:
    if parts is None:
        return None
    rows, cols, indptr, indices, data = parts
    return sp.csc_array((data, indices, indptr), shape=(rows, cols)).tocsr()


def groups_of(groups: Any) -> tuple[SparseParts | None, list[float] | None]:
    """An averaging matrix (m, m), or the labels of the features numbered; the other is None."""
    if sp.issparse(groups) or np.ndim(groups) == 2:
        return sparse_parts("groups", groups), None
    if np.ndim(groups) != 1:
        raise Error(f"groups has {np.ndim(groups)} dimensions: must be a label for each feature, or an (m, m) matrix")
    return None, np.unique(np.asarray(groups), return_inverse=True)[1].astype(float).tolist()


# ---- single values


def integer(name: str, value: Any, least: int | None = None) -> int:
    try:
        out = operator.index(value)
    except TypeError:
        out = None
    if out is None or isinstance(value, (bool, np.bool_)) or abs(out) >= 2**31 or (least is not None and out < least):
        raise Error(f"{name} = {value!r}: must be an integer{'' if least is None else f' >= {least}'}")
    return out


def real(name: str, value: Any, above: float = -math.inf) -> float:
    """A number, > above where that is given; the rest of what it must be is the library's to say"""
    value = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    out = float(value) if isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_)) else None
    if out is None or (above > -math.inf and not out > above):
        raise Error(f"{name} = {value!r}: must be a number{f' > {above:g}' if above > -math.inf else ''}")
    return out


def thread_number(n_threads: int | None, n_jobs: int | None = None) -> int:
    """None: as many as the machine, or the limit set for this thread, allows. n_jobs counts as joblib does."""
    if n_threads is None and n_jobs is not None and integer("n_jobs", n_jobs) < 0:
        return max(1, (os.cpu_count() or 1) + 1 + n_jobs)
    value = n_jobs if n_threads is None else n_threads
    return 0 if value is None else integer("n_jobs" if n_threads is None else "n_threads", value, 1)


def seed_of(random_state: Any) -> int:
    """An integer is the seed itself (the one of the command line); else a number that is drawn."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if random_state is None or random_state is np.random:
        return int(np.random.randint(2**31 - 1))
    try:
        seed = operator.index(random_state)
    except TypeError:
        seed = -1
    if not 0 <= seed < 2**63:
        raise Error(f"random_state = {random_state}: must be an integer from 0 to 2^63 - 1, a Generator, a RandomState or None")
    return seed

"""The steps of the fit, one function each. Rows are samples."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _core
from ._arrays import as_array, as_line, as_rows, integer, optional_rows, real, sparse_parts, thread_number, weighted

MAX_ROUNDS = 500


def _penalty(dictionary: NDArray, beta: float, l2: float, positive: bool, atom_penalty: Any) -> tuple[Any, ...]:
    atom = as_line("atom_penalty", atom_penalty, dictionary.dtype, dictionary.shape[0])
    return real("beta", beta), real("l2", l2), bool(positive), atom


def _coupling(X: NDArray, laplacian: Any, alpha: float, incidence: Any, consistency: Any, gamma: float) -> tuple[Any, ...]:
    return (
        sparse_parts("laplacian", laplacian),
        real("alpha", alpha),
        sparse_parts("incidence", incidence),
        optional_rows("consistency", consistency, X.dtype),
        real("gamma", gamma),
    )


@overload
def sparse_encode(X: Any, dictionary: ArrayLike, *, beta: float, return_certificate: Literal[False] = ..., **kw: Any) -> NDArray: ...
@overload
def sparse_encode(X: Any, dictionary: ArrayLike, *, beta: float, return_certificate: Literal[True], **kw: Any) -> tuple[NDArray, float]: ...


def sparse_encode(
    X,
    dictionary,
    *,
    beta,
    l2=0.0,
    positive=False,
    atom_penalty=None,
    sample_weight=None,
    feature_weight=None,
    entry_weight=None,
    laplacian=None,
    alpha=0.0,
    incidence=None,
    consistency=None,
    gamma=0.0,
    init=None,
    tol=1e-8,
    return_certificate=False,
    n_threads=None,
):
    """Codes S that minimise

        sum w (X - S B)^2 + beta sum p_k |s_k| + l2 |S|_F^2 + alpha tr(S' L S) + gamma |H - Q S'|_F^2.

    There is no factor 1/2: ``beta`` is twice the ``alpha`` of :func:`sklearn.decomposition.sparse_encode` (and twice
    the ``lambda1`` of SPAMS), and ``l2`` is its ``lambda2``.

    Parameters
    ----------
    X : (n, m) array or sparse matrix; NaN = missing
    dictionary : (r, m) array, one atom per row
    beta, l2 : floats >= 0
    positive : codes >= 0
    atom_penalty : (r,) array p >= 0, what each atom's codes cost relative to ``beta``; all 1 if left out
    sample_weight, feature_weight, entry_weight : (n,), (m,), (n, m) arrays >= 0; they multiply
    laplacian : (n, n) symmetric positive semidefinite matrix, used with ``alpha`` > 0
    incidence, consistency : (e, n) and (e, r), used with ``gamma`` > 0
    init : (n, r) start; a good one saves time, the answer is the same
    tol : bound on the certificate
    return_certificate : also return max dist(-gradient, beta d|s|) / max |2 B'(w X)|, 0 at the optimum

    Returns
    -------
    (n, r) codes, or (codes, certificate)
    """
    X = as_rows("X", X)
    B = as_rows("dictionary", dictionary, X.dtype)
    codes, certificate, _, _ = _core.sparse_encode(
        weighted(X, sample_weight, feature_weight, entry_weight),
        B,
        _penalty(B, beta, l2, positive, atom_penalty),
        _coupling(X, laplacian, alpha, incidence, consistency, gamma),
        init=optional_rows("init", init, X.dtype, (X.shape[0], B.shape[0])),
        tol=real("tol", tol, 0),
        max_rounds=MAX_ROUNDS,
        threads=thread_number(n_threads),
    )
    return (codes, certificate) if return_certificate else codes


def orthogonal_mp(
    X: Any,
    dictionary: ArrayLike,
    *,
    n_nonzero: int | None = None,
    tol: float | None = None,
    sample_weight: ArrayLike | None = None,
    feature_weight: ArrayLike | None = None,
    entry_weight: ArrayLike | None = None,
    n_threads: int | None = None,
) -> NDArray:
    """Codes by orthogonal matching pursuit: the atom that by itself reduces the error most joins, all are refitted, until ..

    Parameters
    ----------
    X : (n, m) array or sparse matrix; NaN = missing
    dictionary : (r, m) array, one atom per row, of any norm
    n_nonzero : int >= 1, .. a sample has this many atoms (all of them if left out), or ..
    tol : float >= 0, .. its weighted squared error, sum_i w_i (x - s B)_i^2, is <= tol; one of the two must be given
    sample_weight, feature_weight, entry_weight : (n,), (m,), (n, m) arrays >= 0; they multiply

    Returns
    -------
    (n, r) codes
    """
    if n_nonzero is None and tol is None:
        raise _core.Error("n_nonzero = None, tol = None: one of them must be given")
    X = as_rows("X", X)
    B = as_rows("dictionary", dictionary, X.dtype)
    n_nonzero = max(B.shape[0], 1) if n_nonzero is None else integer("n_nonzero", n_nonzero, 1)
    return _core.orthogonal_mp(
        weighted(X, sample_weight, feature_weight, entry_weight),
        B,
        n_nonzero,
        0.0 if tol is None else real("tol", tol),
        threads=thread_number(n_threads),
    )


@overload
def update_dictionary(X: Any, codes: ArrayLike, *, return_certificate: Literal[False] = ..., **kw: Any) -> NDArray: ...
@overload
def update_dictionary(X: Any, codes: ArrayLike, *, return_certificate: Literal[True], **kw: Any) -> tuple[NDArray, float]: ...


def update_dictionary(
    X,
    codes,
    *,
    dictionary=None,
    positive=False,
    sample_weight=None,
    feature_weight=None,
    entry_weight=None,
    tol=1e-8,
    return_certificate=False,
    n_threads=None,
):
    """Dictionary B that minimises  sum w (X - S B)^2  with every atom (row) of norm <= 1 (and >= 0 where ``positive``).

    Parameters
    ----------
    X : (n, m) array or sparse matrix; NaN = missing
    codes : (n, r) array
    dictionary : (r, m) start; atoms that no sample uses stay as they are (zero without a start)
    positive : atoms >= 0
    sample_weight, feature_weight, entry_weight : (n,), (m,), (n, m) arrays >= 0; they multiply
    tol : bound on the certificate, max_k |b_k - P(b_k - G_k / c_k)|

    Returns
    -------
    (r, m) dictionary, or (dictionary, certificate)
    """
    X = as_rows("X", X)
    S = as_rows("codes", codes, X.dtype)
    B, certificate, _, _ = _core.update_dictionary(
        weighted(X, sample_weight, feature_weight, entry_weight),
        S,
        dictionary=optional_rows("dictionary", dictionary, X.dtype, (S.shape[1], X.shape[1])),
        positive=bool(positive),
        tol=real("tol", tol, 0),
        max_rounds=MAX_ROUNDS,
        threads=thread_number(n_threads),
    )
    return (B, certificate) if return_certificate else B


@overload
def update_consistency(
    incidence: Any, codes: ArrayLike, *, eta: float, return_certificate: Literal[False] = ..., n_threads: int | None = ...
) -> NDArray: ...
@overload
def update_consistency(
    incidence: Any, codes: ArrayLike, *, eta: float, return_certificate: Literal[True], n_threads: int | None = ...
) -> tuple[NDArray, float]: ...


def update_consistency(incidence, codes, *, eta, return_certificate=False, n_threads=None):
    """Map Q (e, r) that minimises  |H - Q S'|_F^2 + eta |Q|_F^2,  in closed form.

    Parameters
    ----------
    incidence : (e, n) matrix H, sparse or dense
    codes : (n, r) array S
    eta : float > 0
    return_certificate : also return the size of the gradient, relative to its terms: 0 at the optimum

    Returns
    -------
    (e, r) map, or (map, certificate)
    """
    S = as_rows("codes", codes)
    Q, certificate, _, _ = _core.update_consistency(
        sparse_parts("incidence", incidence), S, real("eta", eta), thread_number(n_threads)
    )
    return (Q, certificate) if return_certificate else Q


def pace_weights(loss: ArrayLike, lam: float, *, regularizer: str = "linear", **params: float) -> NDArray:
    """Self-paced weights: the v in [0, 1] that minimise  v loss + F(v; lam),  one per loss.

    Parameters
    ----------
    loss : array of any shape, >= 0
    lam : float > 0, the age; infinity gives weight 1 to all
    regularizer, params : its name, and its parameters by the names in ``SelfPacedSparseCoder``'s ``regularizer_params``

    Returns
    -------
    array of the shape of ``loss``
    """
    loss = as_array("loss", loss)
    if loss.size and loss.min() < 0:
        raise _core.Error(f"loss has an entry {loss.min()}: must be >= 0")
    return _core.pace_weights(loss.reshape(-1), real("lam", lam), regularizer, params).reshape(loss.shape)


def objective(
    X: Any,
    dictionary: ArrayLike,
    codes: ArrayLike,
    *,
    beta: float = 0.0,
    l2: float = 0.0,
    atom_penalty: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    feature_weight: ArrayLike | None = None,
    entry_weight: ArrayLike | None = None,
    level: str = "none",
    pace_weights: ArrayLike | None = None,
    lam: float = math.inf,
    regularizer: str = "linear",
    regularizer_params: dict[str, float] | None = None,
    laplacian: Any = None,
    alpha: float = 0.0,
    incidence: Any = None,
    consistency: ArrayLike | None = None,
    gamma: float = 0.0,
    eta: float = 0.0,
    n_threads: int | None = None,
) -> dict[str, float]:
    """The objective and its parts: ``fit``, ``pace``, ``sparsity``, ``manifold``, ``consistency`` and their ``total``;
    ``sparsity`` is  beta sum p_k |s_k| + l2 |S|_F^2.

    Shapes as in :func:`sparse_encode`. ``pace_weights`` holds v at ``level`` "sample" (n,), "feature" (m,) or "element"
    (n, m); left out, the v that minimises the objective at ``lam`` is used. X is taken as it is: normalise it first
    to compare with a fit that did.
    """
    X = as_rows("X", X)
    B = as_rows("dictionary", dictionary, X.dtype)
    v = None if pace_weights is None else as_array("pace_weights", pace_weights, X.dtype).reshape(-1)
    return _core.objective(
        weighted(X, sample_weight, feature_weight, entry_weight),
        B,
        as_rows("codes", codes, X.dtype),
        _penalty(B, beta, l2, False, atom_penalty),
        level=level,
        pace_weights=v,
        lam=real("lam", lam),
        regularizer=regularizer,
        params=dict(regularizer_params or {}),
        coupling=_coupling(X, laplacian, alpha, incidence, consistency, gamma),
        eta=real("eta", eta),
        threads=thread_number(n_threads),
    )

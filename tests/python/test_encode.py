"""sparse_encode against scikit-learn, SPAMS and a general convex solver."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
import spams
from conftest import unit_rows
from sklearn.decomposition import sparse_encode as sklearn_encode
from sklearn.linear_model import Lasso

import pacewise

BETA = 0.2


def value(X, B, S, beta, W=1.0):
    return (W * (np.nan_to_num(X) - S @ B) ** 2).sum() + beta * np.abs(S).sum()


@pytest.mark.parametrize("algorithm", ["lasso_cd", "lasso_lars"])
def test_scikit_learn(small, algorithm):
    X, B = small
    S, certificate = pacewise.sparse_encode(X, B, beta=BETA, return_certificate=True)
    # its objective is half the fit plus alpha |s|: beta is twice alpha
    theirs = sklearn_encode(X, B, algorithm=algorithm, alpha=BETA / 2, max_iter=100000)
    assert certificate < 1e-8
    assert np.abs(S - theirs).max() < 2e-3
    assert value(X, B, S, BETA) <= value(X, B, theirs, BETA) * (1 + 1e-12)


def test_lasso_per_sample(small):
    X, B = small
    S = pacewise.sparse_encode(X, B, beta=BETA)
    m = X.shape[1]
    for x, s in zip(X, S):
        lasso = Lasso(alpha=BETA / 2 / m, fit_intercept=False, tol=1e-14, max_iter=100000).fit(B.T, x)
        np.testing.assert_allclose(s, lasso.coef_, atol=1e-7)


def test_spams(rng):
    X, B = unit_rows(rng.standard_normal((60, 20))), unit_rows(rng.standard_normal((40, 20)))
    S = pacewise.sparse_encode(X, B, beta=0.1)
    theirs = spams.lasso(np.asfortranarray(X.T), np.asfortranarray(B.T), lambda1=0.05, mode=2, numThreads=1).toarray().T
    np.testing.assert_allclose(S, theirs, atol=1e-8)


def test_spams_with_missing_entries(rng):
    X, B = rng.standard_normal((60, 20)), unit_rows(rng.standard_normal((15, 20)))
    holes = rng.uniform(size=X.shape) < 0.1
    S = pacewise.sparse_encode(np.where(holes, np.nan, X), B, beta=0.1)
    np.testing.assert_allclose(S, pacewise.sparse_encode(X, B, beta=0.1, entry_weight=1.0 - holes), atol=1e-9)
    # SPAMS scales the penalty by the observed share of a sample: undo it, sample by sample
    for x, hole, s in zip(X, holes, S):
        share = 1 - hole.mean()
        theirs = spams.lassoMask(
            np.asfortranarray(np.where(hole, 0, x)[:, None]),
            np.asfortranarray(B.T),
            np.asfortranarray(~hole[:, None]),
            lambda1=0.05 / share,
            mode=2,
            numThreads=1,
        )
        np.testing.assert_allclose(s, theirs.toarray()[:, 0], atol=1e-7)


def solve(X, B, beta, W, more=lambda S: 0):
    S = cp.Variable((X.shape[0], B.shape[0]))
    fit = cp.sum(cp.multiply(W, cp.square(X - S @ B)))
    problem = cp.Problem(cp.Minimize(fit + beta * cp.norm1(S) + more(S)))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return S.value


@pytest.mark.parametrize("level", ["sample", "feature", "element", "all"])
def test_weights_at_every_level(small, rng, level):
    X, B = small
    n, m = X.shape
    given = {"sample": rng.uniform(size=n), "feature": rng.uniform(size=m), "element": rng.uniform(size=(n, m))}
    given["element"][rng.uniform(size=(n, m)) < 0.2] = 0
    chosen = given if level == "all" else {level: given[level]}
    W = np.ones((n, m)) * chosen.get("sample", np.ones(n))[:, None] * chosen.get("feature", 1.0) * chosen.get("element", 1.0)
    names = {"sample": "sample_weight", "feature": "feature_weight", "element": "entry_weight"}
    S = pacewise.sparse_encode(X, B, beta=BETA, **{names[key]: v for key, v in chosen.items()})
    np.testing.assert_allclose(S, solve(X, B, BETA, W), atol=2e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_laplacian_and_consistency(small, rng, weighted):
    X, B = small
    n, r = X.shape[0], B.shape[0]
    W = rng.uniform(size=X.shape) if weighted else np.ones(X.shape)
    H, L = pacewise.hypergraph(X, 3, space="raw")
    Q = 0.3 * rng.standard_normal((n, r))
    S, certificate = pacewise.sparse_encode(
        X, B, beta=BETA, entry_weight=W, laplacian=L, alpha=1.5, incidence=H, consistency=Q, gamma=0.7, return_certificate=True
    )
    root = np.linalg.cholesky(L.toarray() + 1e-13 * np.eye(n)).T
    theirs = solve(
        X, B, BETA, W, lambda S: 1.5 * cp.sum_squares(root @ S) + 0.7 * cp.sum_squares(H.toarray() - Q @ S.T)
    )
    assert certificate < 1e-8
    np.testing.assert_allclose(S, theirs, atol=2e-5)


def test_start_and_threads_do_not_change_the_answer(rng):
    X, B = rng.standard_normal((300, 30)), unit_rows(rng.standard_normal((40, 30)))
    S = pacewise.sparse_encode(X, B, beta=BETA, n_threads=1)
    assert (S == pacewise.sparse_encode(X, B, beta=BETA, n_threads=2)).all()
    np.testing.assert_allclose(S, pacewise.sparse_encode(X, B, beta=BETA, init=rng.standard_normal(S.shape)), atol=1e-6)


def test_layouts_and_types(small):
    X, B = small
    S = pacewise.sparse_encode(X, B, beta=BETA)
    assert (S == pacewise.sparse_encode(np.asfortranarray(X), np.asfortranarray(B), beta=BETA)).all()
    assert (S == pacewise.sparse_encode(sp.csr_array(X), B, beta=BETA)).all()
    single = pacewise.sparse_encode(X.astype(np.float32), B, beta=BETA)
    assert single.dtype == np.float32 and S.dtype == np.float64
    np.testing.assert_allclose(single, S, atol=1e-4)


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"beta": -1}, "beta"),
        ({"beta": 1, "alpha": 1}, "laplacian"),
        ({"beta": 1, "gamma": 1}, "incidence"),
        ({"beta": 1, "sample_weight": np.ones(3)}, "sample_weight"),
        ({"beta": 1, "entry_weight": -np.ones((12, 8))}, "weights.entry: -1"),
        ({"beta": 1, "init": np.ones((2, 2))}, "init"),
        ({"beta": 1, "alpha": 1, "laplacian": np.triu(np.ones((12, 12)))}, "symmetric"),
        ({"beta": 1, "n_threads": 0}, "n_threads"),
    ],
)
def test_misuse_is_named(small, wrong, words):
    with pytest.raises(ValueError, match=words) as caught:
        pacewise.sparse_encode(*small, **wrong)
    assert isinstance(caught.value, pacewise.Error)


def test_infinite_values_are_refused(small):
    X, B = small
    X[2, 3] = np.inf
    with pytest.raises(pacewise.Error):
        pacewise.sparse_encode(X, B, beta=BETA)

"""Dictionary, consistency and weights steps and the objective, against convex solvers and closed forms."""

import functools
import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import cvxpy as cp
import numpy as np
import pytest
import scipy.optimize

import pacewise


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("level", ["none", "sample", "feature", "element"])
def test_dictionary(rng, level, positive):
    X, S = rng.standard_normal((14, 6)), rng.standard_normal((14, 4)) * (rng.uniform(size=(14, 4)) < 0.6)
    n, m = X.shape
    weights, W = {}, np.ones((n, m))
    if level == "sample":
        weights["sample_weight"] = rng.uniform(size=n)
        W = W * weights["sample_weight"][:, None]
    elif level == "feature":
        weights["feature_weight"] = rng.uniform(size=m)
        W = W * weights["feature_weight"]
    elif level == "element":
        W = weights["entry_weight"] = rng.uniform(size=(n, m))
    B, certificate = pacewise.update_dictionary(X, S, **weights, positive=positive, return_certificate=True)
    theirs = cp.Variable(B.shape, nonneg=positive)
    problem = cp.Problem(
        cp.Minimize(cp.sum(cp.multiply(W, cp.square(X - S @ theirs)))), [cp.norm(theirs, axis=1) <= 1]
    )
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert certificate < 1e-8
    assert (np.linalg.norm(B, axis=1) <= 1 + 1e-12).all() and ((B >= 0).all() or not positive)
    np.testing.assert_allclose(B, theirs.value, atol=5e-5)
    assert (W * (X - S @ B) ** 2).sum() <= problem.value * (1 + 1e-8)


def test_unused_atoms_stay(rng):
    X, S, B = rng.standard_normal((9, 5)), rng.standard_normal((9, 3)), 0.1 * rng.standard_normal((3, 5))
    S[:, 1] = 0
    assert (pacewise.update_dictionary(X, S, dictionary=B)[1] == B[1]).all()


def test_consistency(rng):
    S = rng.standard_normal((20, 5))
    H, _ = pacewise.hypergraph(rng.standard_normal((20, 6)), 3, space="raw")
    Q, certificate = pacewise.update_consistency(H, S, eta=0.7, return_certificate=True)
    np.testing.assert_allclose(Q, H @ S @ np.linalg.inv(S.T @ S + 0.7 * np.eye(5)), atol=1e-12)
    assert certificate < 1e-8 and (Q == pacewise.update_consistency(H, S, eta=0.7)).all()
    theirs = cp.Variable(Q.shape)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(H.toarray() - theirs @ S.T) + 0.7 * cp.sum_squares(theirs)))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    np.testing.assert_allclose(Q, theirs.value, atol=1e-5)


REGULARIZERS = {
    "hard": (lambda v, lam: -lam * v, {}),
    "linear": (lambda v, lam: lam * (v**2 / 2 - v), {}),
    "polynomial": (lambda v, lam: lam * (v**4 / 4 - v), {"power": 4}),
    "logarithmic": (lambda v, lam: 3 * ((1 - lam / 3) * v - (1 - lam / 3) ** v / np.log(1 - lam / 3)), {"scale": 3}),
    "mixture": (lambda v, lam: -lam * 0.25 / 0.75 * np.log(v + 0.25 / 0.75), {"ratio": 0.25}),
    "welsch": (lambda v, lam: lam * (v * np.log(v) - v), {}),
}


@pytest.mark.parametrize("name", REGULARIZERS)
def test_weights_minimise(name, rng):
    F, params = REGULARIZERS[name]
    lam, loss = 1.3, rng.uniform(0, 2.5, (4, 5))
    v = pacewise.pace_weights(loss, lam, regularizer=name, **params)
    assert v.shape == loss.shape
    for l, ours in zip(loss.flat, v.flat):
        best = scipy.optimize.minimize_scalar(lambda x: x * l + F(x, lam), bounds=(1e-12, 1), method="bounded", options={"xatol": 1e-10})
        assert max(ours, 1e-12) * l + F(max(ours, 1e-12), lam) <= best.fun + 1e-8


def test_weights_keep_the_type():
    assert pacewise.pace_weights(np.ones(3, np.float32), 2.0).dtype == np.float32
    with pytest.raises(pacewise.Error, match="lam"):
        pacewise.pace_weights([1.0], 0)
    with pytest.raises(pacewise.Error, match="power"):
        pacewise.pace_weights([1.0], 1, regularizer="linear", power=2)
    with pytest.raises(pacewise.Error, match="loss"):
        pacewise.pace_weights([np.nan], 1)


def test_objective_is_the_formula(rng):
    X, B, S = rng.standard_normal((10, 6)), rng.standard_normal((4, 6)), rng.standard_normal((10, 4))
    w, v = rng.uniform(size=X.shape), rng.uniform(size=X.shape)
    H, L = pacewise.hypergraph(X, 2, space="raw")
    Q = rng.standard_normal((10, 4))
    parts = pacewise.objective(
        X, B, S, beta=0.3, entry_weight=w, level="element", pace_weights=v, lam=0.8,
        laplacian=L, alpha=2, incidence=H, consistency=Q, gamma=0.5, eta=4,
    )  # fmt: skip
    expected = {
        "fit": (w * v * (X - S @ B) ** 2).sum(),
        "pace": (0.8 * (v**2 / 2 - v)).sum(),
        "sparsity": 0.3 * np.abs(S).sum(),
        "manifold": 2 * np.trace(S.T @ L.toarray() @ S),
        "consistency": 0.5 * (((H.toarray() - Q @ S.T) ** 2).sum() + 4 * (Q**2).sum()),
    }
    expected["total"] = sum(expected.values())
    assert parts == pytest.approx(expected, rel=1e-11)
    p = rng.uniform(size=4)
    penalty = pacewise.objective(X, B, S, beta=0.3, l2=0.6, atom_penalty=p)["sparsity"]
    assert penalty == pytest.approx(0.3 * (p * np.abs(S)).sum() + 0.6 * (S**2).sum(), rel=1e-12)
    with pytest.raises(pacewise.Error, match="l2 = -1"):
        pacewise.objective(X, B, S, l2=-1)
    best = pacewise.objective(X, B, S, level="element", lam=0.8)
    assert best["total"] <= pacewise.objective(X, B, S, level="element", pace_weights=v, lam=0.8)["total"]


def test_calls_in_forked_children_and_from_several_threads_at_once(rng):
    X, B = rng.standard_normal((300, 20)), rng.standard_normal((12, 20))
    expected = pacewise.sparse_encode(X, B, beta=0.1, n_threads=2)
    with multiprocessing.get_context("fork").Pool(2) as pool:  # the children have none of the parent's threads
        codes = pool.starmap_async(functools.partial(pacewise.sparse_encode, beta=0.1, n_threads=2), [(X, B)] * 4).get(60)
    with ThreadPoolExecutor(4) as pool:
        codes += [f.result(60) for f in [pool.submit(pacewise.sparse_encode, X, B, beta=0.1, n_threads=2) for _ in range(8)]]
    for found in codes:
        np.testing.assert_array_equal(found, expected)

"""Dictionary, consistency and weights steps, the objective and plain learning, against convex solvers, closed forms and peers."""

import functools
import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import cvxpy as cp
import numpy as np
import pytest
import spams
from sklearn.decomposition import dict_learning

import pacewise


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("level", ["none", "sample", "feature", "element"])
def test_dictionary(rng, level, positive):
    X, S = rng.standard_normal((14, 6)), rng.standard_normal((14, 4)) * (rng.uniform(size=(14, 4)) < 0.6)
    n, m = X.shape
    name, shape = {"sample": ("sample_weight", (n, 1)), "feature": ("feature_weight", (m,)), "element": ("entry_weight", (n, m))}.get(level, ("", ()))
    W = rng.uniform(size=shape) * np.ones((n, m)) if name else np.ones((n, m))
    weights = {name: {"sample": W[:, 0], "feature": W[0], "element": W}[level]} if name else {}
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


def test_weights(rng):
    """The regularisers themselves are tested in C++."""
    loss = rng.uniform(0, 2.5, (4, 5))
    np.testing.assert_allclose(pacewise.pace_weights(loss, 1.3), np.maximum(1 - loss / 1.3, 0), atol=1e-15)
    v = pacewise.pace_weights(loss, 1.3, regularizer="polynomial", power=4)
    np.testing.assert_allclose(v, np.maximum(1 - loss / 1.3, 0) ** (1 / 3), atol=1e-14)
    assert pacewise.pace_weights(np.ones(3, np.float32), 2.0).dtype == np.float32
    for wrong, words in (({"loss": [1.0], "lam": 0}, "lam"), ({"loss": [np.nan], "lam": 1}, "loss"),
                         ({"loss": [1.0], "lam": 1, "regularizer": "linear", "power": 2}, "power")):  # fmt: skip
        with pytest.raises(pacewise.Error, match=words):
            pacewise.pace_weights(**wrong)


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


@pytest.fixture
def data(rng):
    B = rng.standard_normal((12, 20))
    B /= np.linalg.norm(B, axis=1, keepdims=True)
    S = rng.standard_normal((300, 12)) * (rng.uniform(size=(300, 12)) < 0.2)
    return S @ B + 0.01 * rng.standard_normal((300, 20)), B


def value(X, B, S, beta):
    return ((X - S @ B) ** 2).sum() + beta * np.abs(S).sum()


def test_no_higher_than_the_peers_from_the_same_start(data, rng):
    X, _ = data
    start = X[rng.permutation(300)[:12]]
    start = start / np.linalg.norm(start, axis=1, keepdims=True)
    beta = 0.1
    ours = pacewise.learn_dictionary(X, beta=beta, dictionary=start, tol=1e-7, max_iter=500)
    assert ours.termination == "converged"
    codes, B, _ = dict_learning(X, 12, alpha=beta / 2, max_iter=200, tol=1e-7, dict_init=start, code_init=np.zeros((300, 12)), random_state=0)
    D = spams.trainDL(np.asfortranarray(X.T), D=np.asfortranarray(start.T), lambda1=beta / 2, iter=200, batch=True, mode=2, verbose=False)
    D = np.ascontiguousarray(D.T)
    theirs = min(value(X, B, codes, beta), value(X, D, pacewise.sparse_encode(X, D, beta=beta), beta))
    assert ours.objective <= theirs * 1.01  # not convex: each may end in a valley of its own


def test_seeds_threads_and_precision(data):
    """What is learned is judged in C++."""
    X, _ = data
    one, two, other = (pacewise.learn_dictionary(X, 12, beta=0.1, max_iter=5, n_threads=t, random_state=s) for t, s in ((1, 3), (2, 3), (1, 4)))
    assert (one.dictionary == two.dictionary).all() and (one.dictionary != other.dictionary).any()
    single = pacewise.learn_dictionary(X.astype(np.float32), 12, beta=0.1, max_iter=5, random_state=3)
    assert single.dictionary.dtype == np.float32 and single.codes.shape == (300, 12)
    for found in (one, single):
        assert found.objective == pytest.approx(value(X, found.dictionary, found.codes, 0.1), rel=1e-4)
    assert one.codes_certificate <= 1e-6 and one.termination == "iteration_limit" and len(one.history) == 5


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"beta": -1.0}, "beta = -1"),
        ({"n_components": None}, "n_components = None: must be an integer >= 1"),
        ({"n_components": 2.9}, "n_components = 2.9: must be an integer"),
        ({"n_components": 3, "dictionary": np.eye(2, 20)}, "n_components = 3: must be the number of atoms of dictionary = 2"),
        ({"X": lambda X: X[:0]}, "at least one sample and one feature"),
        ({"X": lambda X: np.where(np.arange(20) == 1, np.inf, X[:4])}, "sample 0 has a value that is missing or infinite"),  # every sample is drawn
    ],
)
def test_bad_input(data, wrong, text):
    options = {"n_components": 4, "beta": 0.1} | wrong
    X = options.pop("X", lambda X: X)(data[0])
    with pytest.raises(pacewise.Error, match=text):
        pacewise.learn_dictionary(X, **options)


def test_beta_left_out_is_the_share_of_the_estimator(data):
    X = data[0]
    beta = 0.02 * np.linalg.norm(X, axis=1).max()
    assert pacewise.learn_dictionary(X, 3, max_iter=3).objective == pacewise.learn_dictionary(X, 3, beta=beta, max_iter=3).objective

"""learn_dictionary against scikit-learn, SPAMS and the estimator."""

import numpy as np
import pytest
import spams
from sklearn.decomposition import dict_learning

import pacewise


@pytest.fixture
def data(rng):
    B = rng.standard_normal((12, 20))
    B /= np.linalg.norm(B, axis=1, keepdims=True)
    S = rng.standard_normal((300, 12)) * (rng.uniform(size=(300, 12)) < 0.2)
    return S @ B + 0.01 * rng.standard_normal((300, 20)), B


def value(X, B, S, beta):
    return ((X - S @ B) ** 2).sum() + beta * np.abs(S).sum()


def test_objective_and_certificate(data):
    X, _ = data
    found = pacewise.learn_dictionary(X, 12, beta=0.1, max_iter=20)
    assert found.dictionary.shape == (12, 20) and found.codes.shape == (300, 12)
    assert (np.linalg.norm(found.dictionary, axis=1) <= 1 + 1e-12).all()
    assert found.objective == pytest.approx(value(X, found.dictionary, found.codes, 0.1), rel=1e-9)
    assert found.codes_certificate <= 1e-6 and found.termination in ("converged", "iteration_limit")
    assert all(later <= earlier * (1 + 1e-5) for earlier, later in zip(found.history, found.history[1:]))
    again = pacewise.sparse_encode(X, found.dictionary, beta=0.1)
    np.testing.assert_allclose(found.codes, again, atol=1e-4)


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


def test_planted_atoms_are_found(data):
    X, B = data
    found = pacewise.learn_dictionary(X, 20, beta=0.05, tol=1e-6, max_iter=500)
    cosine = np.abs(found.dictionary @ B.T) / np.maximum(np.linalg.norm(found.dictionary, axis=1, keepdims=True), 1e-12)
    assert cosine.max(axis=0).mean() > 0.98


def test_threads_seeds_and_precision(data):
    X, _ = data
    one = pacewise.learn_dictionary(X, 12, beta=0.1, max_iter=5, n_threads=1, random_state=3)
    two = pacewise.learn_dictionary(X, 12, beta=0.1, max_iter=5, n_threads=2, random_state=3)
    assert (one.dictionary == two.dictionary).all() and (one.codes == two.codes).all()
    other = pacewise.learn_dictionary(X, 12, beta=0.1, max_iter=5, random_state=4)
    assert (one.dictionary != other.dictionary).any()
    single = pacewise.learn_dictionary(X.astype(np.float32), 12, beta=0.1, max_iter=5, random_state=3)
    assert single.dictionary.dtype == np.float32
    assert single.objective == pytest.approx(one.objective, rel=1e-2)


def test_more_atoms_than_samples(rng):
    X = rng.standard_normal((5, 8))
    X[2] = 0
    found = pacewise.learn_dictionary(X, 9, beta=0.1)
    assert found.dictionary.shape == (9, 8) and np.isfinite(found.objective)
    assert (found.codes[2] == 0).all()


def bad(X, at, value):
    X = X.copy()
    X[at] = value
    return X


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"beta": -1.0}, "beta = -1"),
        ({"n_components": None}, "n_components = None: must be an integer >= 1"),
        ({"n_components": 2.9}, "n_components = 2.9: must be an integer"),
        ({"n_components": 3, "dictionary": np.eye(2, 20)}, "n_components = 3: must be the number of atoms of dictionary = 2"),
        ({"n_components": None, "dictionary": np.eye(2, 7)}, "as many features as the data = 20"),
        ({"max_iter": 0}, "max_iter = 0: must be an integer >= 1"),
        ({"tol": np.nan}, "tol = nan"),
        ({"step_tol": 0.0}, "step_tol = 0"),
        ({"X": lambda X: X[:0]}, "at least one sample and one feature"),
        ({"X": lambda X: X[:, :0]}, "at least one sample and one feature"),
        ({"X": lambda X: bad(X, (7, 3), np.nan)}, "sample 7 has a value that is missing"),
        ({"X": lambda X: bad(X[:4], (2, 1), np.inf)}, "sample 2 has a value that is missing or infinite"),  # every sample is drawn
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

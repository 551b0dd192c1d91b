"""sparse_encode and orthogonal_mp against scikit-learn, SPAMS and a general convex solver."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
import spams
from conftest import unit_rows
from sklearn.decomposition import sparse_encode as sklearn_encode
from sklearn.linear_model import ElasticNet, orthogonal_mp_gram

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


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.3])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_elastic_net_and_positive_codes(rng, positive, l2, missing):
    # more features than atoms: SPAMS takes no more atoms than features, elastic net or not
    X, B = rng.standard_normal((40, 30)), unit_rows(rng.standard_normal((16, 30)))
    holes = rng.uniform(size=X.shape) < missing
    options = dict(beta=BETA, l2=l2, positive=positive)
    S, certificate = pacewise.sparse_encode(np.where(holes, np.nan, X), B, **options, return_certificate=True)
    np.testing.assert_allclose(S, pacewise.sparse_encode(X, B, **options, entry_weight=1.0 - holes), atol=1e-9)
    assert certificate < 1e-8
    assert (S >= 0).all() or not positive
    for x, hole, s in zip(X, holes, S):
        x, A = x[~hole], np.asfortranarray(B.T[~hole])
        # theirs: |x - A s|^2 / 2 m + a rho |s|_1 + a (1 - rho) |s|^2 / 2
        a = (BETA / 2 + l2) / x.size
        net = ElasticNet(
            alpha=a, l1_ratio=BETA / 2 / (BETA / 2 + l2), positive=positive, fit_intercept=False, tol=1e-14, max_iter=1000000
        )
        np.testing.assert_allclose(s, net.fit(A, x).coef_, atol=2e-6)
        # theirs: |x - A s|^2 / 2 + lambda1 |s|_1 + lambda2 |s|^2 / 2
        theirs = spams.lasso(
            np.asfortranarray(x[:, None]), A, lambda1=BETA / 2, lambda2=l2, pos=positive, mode=2, numThreads=1
        )
        np.testing.assert_allclose(s, theirs.toarray()[:, 0], atol=1e-7)


def test_atom_penalty(small, rng):
    X, B = small
    p = rng.uniform(0.2, 3, B.shape[0])
    S = pacewise.sparse_encode(X, B, beta=BETA, atom_penalty=p, l2=0.1, positive=True)
    theirs = cp.Variable(S.shape, nonneg=True)
    cost = cp.sum_squares(X - theirs @ B) + BETA * cp.sum(theirs @ p) + 0.1 * cp.sum_squares(theirs)
    cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    np.testing.assert_allclose(S, theirs.value, atol=2e-5)
    # p_k |s_k| with atoms b_k is |s_k| with atoms b_k / p_k, and codes p_k s_k
    scaled = pacewise.sparse_encode(X, B / p[:, None], beta=BETA)
    np.testing.assert_allclose(p * pacewise.sparse_encode(X, B, beta=BETA, atom_penalty=p), scaled, atol=1e-6)


@pytest.mark.parametrize("stop", [{"n_nonzero": 4}, {"tol": 2.0}, {"n_nonzero": 3, "tol": 2.0}])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_orthogonal_matching_pursuit(rng, stop, missing):
    X, B = rng.standard_normal((50, 15)), unit_rows(rng.standard_normal((30, 15)))
    holes = rng.uniform(size=X.shape) < missing
    S = pacewise.orthogonal_mp(np.where(holes, np.nan, X), B, **stop)
    # not against spams.omp: it takes the atom that does most together with those chosen, forward selection
    limit, tol = stop.get("n_nonzero", B.shape[0]), stop.get("tol", 0.0)
    for x, hole, s in zip(X, holes, S):
        x, A = x[~hole], B.T[~hole]
        norms = np.linalg.norm(A, axis=0)  # theirs takes atoms of norm 1
        A = np.asfortranarray(A / norms)
        wanted = {"tol": tol, "norms_squared": np.array([x @ x])} if tol else {"n_nonzero_coefs": limit}
        theirs = orthogonal_mp_gram(A.T @ A, A.T @ x, **wanted)
        if np.count_nonzero(theirs) <= limit:  # theirs takes one of the two
            np.testing.assert_allclose(s * norms, theirs, atol=1e-8)
        error = ((x - A @ (s * norms)) ** 2).sum()
        assert np.count_nonzero(s) == limit or error <= tol * (1 + 1e-12)


def test_orthogonal_matching_pursuit_with_weights(rng):
    X, B = rng.standard_normal((20, 9)), rng.standard_normal((14, 9))
    w = {"sample_weight": rng.uniform(0.1, 2, 20), "feature_weight": rng.uniform(0.1, 2, 9), "entry_weight": rng.uniform(0.1, 2, X.shape)}
    W = w["sample_weight"][:, None] * w["feature_weight"] * w["entry_weight"]
    S = pacewise.orthogonal_mp(X, B, tol=0.5, **w, n_threads=1)
    assert (S == pacewise.orthogonal_mp(X, B, tol=0.5, **w, n_threads=2)).all()
    for x, root, s in zip(X, np.sqrt(W), S):
        alone = pacewise.orthogonal_mp((root * x)[None], root * B, tol=0.5)[0]
        np.testing.assert_allclose(s, alone, atol=1e-9)
        assert ((root * (x - s @ B)) ** 2).sum() <= 0.5 * (1 + 1e-12)
    single = pacewise.orthogonal_mp(X.astype(np.float32), B, n_nonzero=3)
    assert single.dtype == np.float32 and (np.count_nonzero(single, axis=1) == 3).all()
    for wrong, words in [({}, "n_nonzero"), ({"n_nonzero": 0}, "n_nonzero = 0"), ({"tol": -1}, "tol = -1")]:
        with pytest.raises(pacewise.Error, match=words):
            pacewise.orthogonal_mp(X, B, **wrong)
    with pytest.raises(pacewise.Error, match="dictionary: its atoms have 8"):
        pacewise.orthogonal_mp(X, B[:, :8], n_nonzero=2)


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


def test_layouts_and_types(small):
    X, B = small
    S = pacewise.sparse_encode(X, B, beta=BETA)
    assert (S == pacewise.sparse_encode(np.asfortranarray(X), np.asfortranarray(B), beta=BETA)).all()
    assert (S == pacewise.sparse_encode(sp.csr_array(X), B, beta=BETA)).all()
    np.testing.assert_allclose(S, pacewise.sparse_encode(X, B, beta=BETA, init=np.ones(S.shape)), atol=1e-6)
    single = pacewise.sparse_encode(X.astype(np.float32), B, beta=BETA)
    assert single.dtype == np.float32 and S.dtype == np.float64
    np.testing.assert_allclose(single, S, atol=1e-4)


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"beta": -1}, "beta"),
        ({"beta": 1, "l2": -1}, "l2 = -1"),
        ({"beta": 1, "atom_penalty": np.ones(3)}, "atom_penalty"),
        ({"beta": 1, "atom_penalty": -np.ones(10)}, "atom_penalty = -1"),
        ({"beta": 1, "alpha": 1}, "laplacian"),
        ({"beta": 1, "gamma": 1}, "incidence"),
        ({"beta": 1, "sample_weight": np.ones(3)}, "sample_weight"),
        ({"beta": 1, "entry_weight": -np.ones((12, 8))}, "weights.entry: -1"),
        ({"beta": 1, "init": np.ones((2, 2))}, "init"),
        ({"beta": 1, "alpha": 1, "laplacian": np.triu(np.ones((12, 12)))}, "symmetric"),
        ({"beta": 1, "n_threads": 0}, "n_threads"),
        ({"beta": 1, "X": np.full((12, 8), np.inf)}, "inf at sample 0, feature 0"),
    ],
)
def test_misuse_is_named(small, wrong, words):
    X, B = small
    with pytest.raises(ValueError, match=words) as caught:
        pacewise.sparse_encode(**{"X": X, "dictionary": B, **wrong})
    assert isinstance(caught.value, pacewise.Error)

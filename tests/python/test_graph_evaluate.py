"""Neighbours, graphs, k-means and scores against scikit-learn and scipy."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import laplacian as scipy_laplacian
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.neighbors import NearestNeighbors

import pacewise


def test_neighbours(rng):
    X = rng.standard_normal((200, 7))
    distance, index = pacewise.kneighbors(X, 5)
    theirs, their_index = NearestNeighbors(n_neighbors=5).fit(X).kneighbors()
    assert (index == their_index).all()
    np.testing.assert_allclose(distance, theirs, atol=1e-10)


@pytest.mark.parametrize("normalized", [False, True])
def test_knn_graph(rng, normalized):
    X = rng.standard_normal((80, 5))
    near = NearestNeighbors(n_neighbors=4).fit(X).kneighbors_graph()
    A = near.maximum(near.T)
    L = pacewise.knn_graph(X, 4, space="raw", normalized=normalized)
    assert isinstance(L, sp.csr_array)
    np.testing.assert_allclose(pacewise.knn_graph(X, 4, space="raw", mode="affinity").toarray(), A.toarray())
    np.testing.assert_allclose(L.toarray(), scipy_laplacian(A, normed=normalized).toarray(), atol=1e-12)


def test_hypergraph(rng):
    X = rng.standard_normal((60, 5))
    H, L = pacewise.hypergraph(X, 3, space="raw")
    near = NearestNeighbors(n_neighbors=3).fit(X).kneighbors_graph().toarray() + np.eye(60)
    np.testing.assert_allclose(H.toarray(), near)
    scaled = near / np.sqrt(near.sum(0))
    np.testing.assert_allclose(L.toarray(), np.eye(60) - scaled.T @ (scaled / near.sum(1, keepdims=True)), atol=1e-12)


def test_half_space_is_the_svd(rng):
    X = rng.standard_normal((50, 12)) * np.linspace(3, 0.1, 12)
    U, s, _ = np.linalg.svd(X - X.mean(0), full_matrices=False)
    points = U[:, :4] * np.sqrt(s[:4])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    H, _ = pacewise.hypergraph(X, 3, space="half:4")
    near = NearestNeighbors(n_neighbors=3).fit(points).kneighbors_graph().toarray() + np.eye(50)
    np.testing.assert_allclose(H.toarray(), near)


def test_kmeans(rng):
    X, _ = make_blobs(400, 6, centers=5, cluster_std=2.5, random_state=3)
    ours = pacewise.kmeans(X, 5, n_init=20)
    theirs = KMeans(5, n_init=20, random_state=0).fit(X)
    assert ours.inertia == pytest.approx(theirs.inertia_, rel=1e-3)
    assert adjusted_rand_score(ours.labels, theirs.labels_) > 0.99
    assert len(pacewise.kmeans(X, 5, n_init=4, return_all=True)) == 4
    with pytest.raises(pacewise.Error, match="init"):
        pacewise.kmeans(X, 5, init="best")


def test_scores(rng):
    labels, assignment = rng.integers(0, 6, 500), rng.integers(0, 4, 500)
    assignment[:300] = labels[:300] % 4
    scores = pacewise.clustering_scores([f"class {c}" for c in labels], assignment)
    assert scores["nmi"] == pytest.approx(normalized_mutual_info_score(labels, assignment))
    assert scores["ari"] == pytest.approx(adjusted_rand_score(labels, assignment))
    table = np.array([[((labels == c) & (assignment == a)).sum() for a in range(4)] for c in range(6)])
    from scipy.optimize import linear_sum_assignment

    assert scores["acc"] == pytest.approx(table[linear_sum_assignment(-table)].sum() / 500)
    assert scores["purity"] == pytest.approx(table.max(0).sum() / 500)

"""What a hostile user hands over: one clear line and the right exception, or a right answer."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import pacewise
from pacewise import SelfPacedSparseCoder, datasets, plot

DATA = datasets.synthetic(60, 16, 3, random_state=2).data
ONES = np.ones(60)


def fit(X=DATA, weight=None, graph=None, points=None, **options):
    coder = SelfPacedSparseCoder(**{"n_components": 4, "beta": 0.05, "random_state": 0, "max_iter": 20, "tol": 0.1, **options})
    return coder.fit(X, sample_weight=weight, graph=graph, graph_points=points)


CODER = fit()
B, S = CODER.components_, CODER.codes_
FRAME = pd.DataFrame(DATA, columns=list("abcdefghijklmnop"))

# what is called, words of the message, the exception where it is not pacewise.Error
REFUSED = [
    # data
    (lambda: fit(np.where(DATA > 1, np.inf, DATA)), "inf at sample 6, feature 11; must be finite"),
    (lambda: fit(DATA + 1j), "X has dtype complex128"),
    (lambda: fit((DATA + 1j).tolist()), "omplex", (ValueError, TypeError)),
    (lambda: fit(DATA.astype("M8[s]")), r"X has dtype datetime64\[s\]; must be real numbers"),
    (lambda: fit(np.full((5, 5), "abc")), "X holds text: must be numbers", ValueError),
    (lambda: fit(FRAME.assign(day=pd.Timestamp("2020-01-01"))), "X holds dates in day: leave it out", ValueError),
    (lambda: fit(FRAME.assign(kind=pd.Categorical(["x", "y"] * 30))), "X holds text in kind: leave it out", ValueError),
    (lambda: fit(FRAME.a), "X has 1 dimensions: must have 2"),
    (lambda: fit(np.matrix(DATA)), "np.matrix is not supported", TypeError),
    (lambda: fit(DATA, missing="NA"), "missing = 'NA': must be a number"),
    (lambda: fit(DATA, contamination=0), r"contamination = 0: must be in \(0, 0.5\]"),
    (lambda: fit(DATA, max_iter=2**40), "max_iter = 1099511627776: must be smaller"),
    (lambda: fit(DATA, kind="x"), "kind = x: must be auto, images, table or spectra"),
    (lambda: fit(DATA, atom_penalty=[1, np.nan, 1, 1]), "atom_penalty = nan: must be numbers >= 0"),
    (lambda: fit(DATA, dict_init=np.ones((4, 5))), "dictionary has 4 atoms of 5 features: must have 4 of 16"),
    (lambda: SelfPacedSparseCoder().verify(DATA), "not fitted yet", NotFittedError),
    (lambda: SelfPacedSparseCoder.load(3), "expected str, bytes or os.PathLike", TypeError),
    (lambda: CODER.inverse_transform(np.ones((2, 9))), "rows of the codes = 9: must equal the number of atoms = 4"),
    (lambda: pacewise.clustering_scores([None, 1], [1, 2]), "labels mixes types: give numbers or text"),
    (lambda: pacewise.learn_dictionary(np.where(DATA > 1, np.nan, DATA), 3), "has a value that is missing or infinite"),
    (lambda: pacewise.knn_graph(DATA, 60), "k = 60: must be less than the number of samples, 60"),
    (lambda: pacewise.kmeans(DATA, 61), "clusters = 61: must be at most the number of samples, 60"),
    (lambda: datasets.synthetic(-3), "n_samples = -3: must be an integer >= 1"),
    (lambda: fit(FRAME.assign(kind="red")), "X holds text in kind: leave it out", ValueError),
    (lambda: fit(pd.DataFrame(DATA, columns=["a"] * 16)), "X has two columns a: names must be different"),
    (lambda: fit(DATA[0]), "X has 1 dimensions: must have 2"),
    (lambda: fit(DATA.reshape(60, 4, 4)), "X has 3 dimensions: must have 2"),
    (lambda: fit([[1, 2], [3]]), "", ValueError),
    (lambda: fit(None), "X has 0 dimensions"),
    (lambda: fit(DATA[:0]), "0 sample", ValueError),
    (lambda: fit(DATA[:, :0]), "0 feature", ValueError),
    (lambda: fit(DATA * np.nan), "at least one must be observed"),
    (lambda: fit(np.ma.masked_all((5, 3))), "at least one must be observed"),
    (lambda: CODER.transform(DATA[:, :5]), "X has 5 features", ValueError),
    # weights
    (lambda: fit(weight=ONES * 1j), "sample_weight has dtype complex128"),
    (lambda: fit(weight=-ONES), "-1 at sample 0; must be finite and at least 0"),
    (lambda: fit(weight=ONES * np.nan), r"sample_weight has nan at \[0\]"),
    (lambda: fit(weight=["a"] * 60), "sample_weight holds what is not a number"),
    (lambda: fit(weight=ONES[:5]), r"sample_weight has shape \(5,\): must be \(60,\)"),
    (lambda: fit(weight=0 * ONES), "sample_weight is zero everywhere"),
    # parameters
    (lambda: fit(n_components="8"), "n_components = 8: must be an integer >= 1, or auto"),
    (lambda: fit(n_components=10**12), "not enough memory", MemoryError),
    (lambda: fit(n_components=2**70), "n_components = 1.18059162071741e.21: must be an integer"),
    (lambda: fit(n_threads=2.5), "n_threads = 2.5: must be an integer >= 1"),
    (lambda: fit(n_jobs=0), "n_jobs = 0: must be an integer >= 1"),
    (lambda: fit(max_seconds=-1), "max_seconds = -1: must be a number > 0"),
    (lambda: fit(max_seconds=np.nan), "max_seconds = nan: must be a number > 0"),
    (lambda: fit(random_state=-1), "random_state = -1: must be an integer from 0"),
    (lambda: fit(random_state=2**63), "random_state = 9223372036854775808: must be"),
    (lambda: fit(random_state="a"), "random_state = a: must be"),
    (lambda: fit(beta=1j), "beta = 1j: must be a number"),
    (lambda: fit(beta=[0.1, 0.2]), "beta = 2 numbers: must be >= 0, or auto"),
    (lambda: fit(level=b"element"), "level = b'element': must be"),
    (lambda: fit(preset=3), "preset = 3: must be robust or paper"),
    (lambda: fit(regularizer_params={1: 2}), "parameter 1: regularizer linear has none of this name"),
    (lambda: fit(regularizer_params=[1]), r"regularizer_params = \[1\]: must be a dict"),
    (lambda: fit(shape=3), "shape = 3: must be ROWSxCOLUMNS"),
    (lambda: fit(level="group", groups="ab"), "groups has 0 dimensions: must be a label for each feature"),
    (lambda: fit(level="group", groups=[1, 2]), "groups = 2 labels: must be one for each of the 16 features"),
    (lambda: fit(level="group", groups=np.ones((2, 2, 2))), "groups has 3 dimensions"),
    (lambda: fit(dict_init="a"), "dict_init holds what is not a number"),
    (lambda: fit(dict_init=np.full((4, 16), np.nan)), r"dict_init has nan at \[0, 0\]: must be finite"),
    (lambda: fit(callback=3), "callback = 3: must be callable, or None"),
    (lambda: fit(verbose="x"), "verbose = x: must be 0, 1 or 'bar'"),
    # graphs
    (lambda: fit(graph="knn"), "graph holds what is not a number"),
    (lambda: fit(graph=[[1, 2], [3]]), "graph holds what is not a number"),
    (lambda: fit(graph=(1, 2, 3)), "graph has 3 parts: must be a Laplacian, or"),
    (lambda: fit(graph=sp.eye_array(60) * 1j, gamma=0), "graph has dtype complex128"),
    (lambda: fit(graph=np.triu(np.ones((60, 60))), gamma=0), "must be symmetric"),
    (lambda: fit(graph=np.eye(5), gamma=0), "5 rows: must equal the number of samples = 60"),
    (lambda: fit(points=np.full((60, 2), np.inf)), "inf"),
    (lambda: pacewise.knn_graph(DATA, 0), "n_neighbors = 0: must be an integer >= 1"),
    (lambda: pacewise.kneighbors(DATA, 2**70), "n_neighbors = 1180591620717411303424: must be an integer"),
    # a fitted model
    (lambda: CODER.inverse_transform(np.full((3, 4), np.nan)), r"codes has nan at \[0, 0\]: must be finite"),
    (lambda: CODER.score_samples(DATA, folds=1.5), "folds = 1.5: must be an integer"),
    (lambda: CODER.verify(DATA[:5]), "verify: the run was made from other data"),
    (lambda: CODER.verify(DATA, sample_weight=ONES), "verify: the run had no weights"),
    (lambda: CODER.save("/"), "cannot write: Is a directory", OSError),
    (lambda: SelfPacedSparseCoder.load("/"), "is not a Pacewise model"),
    *((draw, "not fitted yet", NotFittedError) for draw in (
        lambda: plot.atoms(SelfPacedSparseCoder()), lambda: plot.weights(SelfPacedSparseCoder()), lambda: plot.pace(SelfPacedSparseCoder()),
        lambda: plot.convergence(SelfPacedSparseCoder()), lambda: plot.stages(SelfPacedSparseCoder()))),  # fmt: skip
    (lambda: plot.convergence(DATA), "neither a fitted coder nor its history_", ValueError),
    (lambda: plot.weights(CODER, sample=99), "sample = 99: must be one of the 60 samples", ValueError),
    # functions
    (lambda: pacewise.kmeans(DATA, "3"), "n_clusters = '3': must be an integer >= 1"),
    (lambda: pacewise.kmeans(DATA, 2.5), "n_clusters = 2.5: must be an integer >= 1"),
    (lambda: pacewise.clustering_scores([np.nan, 1], [1, 2]), r"labels is nan at \[0\]"),
    (lambda: pacewise.pace_weights([1j], 1), "loss has dtype complex128"),
    (lambda: pacewise.pace_weights([1.0], "1"), "lam = '1': must be a number"),
    (lambda: pacewise.sparse_encode(DATA, B, beta="a"), "beta = 'a': must be a number"),
    (lambda: pacewise.sparse_encode(DATA, B * np.nan, beta=0.1), r"dictionary has nan at \[0, 0\]"),
    (lambda: pacewise.sparse_encode(DATA, B, beta=0.1, tol=0), "tol = 0: must be a number > 0"),
    (lambda: pacewise.update_dictionary(DATA, S * 1j), "codes has dtype complex128"),
    (lambda: pacewise.learn_dictionary(DATA, "4"), "n_components = '4': must be an integer >= 1"),
    (lambda: datasets.load("synthetic", dtype="i4"), "dtype = int32: must be float32 or float64"),
]  # fmt: skip


@pytest.mark.parametrize("call, words, kind", [(*case, pacewise.Error)[:3] for case in REFUSED])
def test_refused_in_one_line(call, words, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(kind, match=words) as caught:
            call()
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 250
    assert not any(word in str(caught.value) for word in ("std::", "nanobind", "incompatible function arguments"))


def same(one, other):
    np.testing.assert_array_equal(one.components_, other.components_)


def test_masked_arrays_are_missing_entries():
    mask = np.random.default_rng(0).uniform(size=DATA.shape) < 0.1
    masked, holes = np.ma.masked_array(DATA, mask), np.where(mask, np.nan, DATA)
    same(fit(masked), fit(holes))
    np.testing.assert_array_equal(CODER.impute(masked), CODER.impute(holes))
    integers = np.ma.masked_array((10 * DATA).astype(int), mask)
    same(fit(integers), fit(np.where(mask, np.nan, integers.data)))
    weight = np.ma.masked_array(ONES, np.arange(60) < 3)
    same(fit(weight=weight), fit(weight=1.0 - weight.mask))
    np.testing.assert_array_equal(pacewise.sparse_encode(masked, B, beta=0.1), pacewise.sparse_encode(holes, B, beta=0.1))


def test_a_sample_without_entries_in_company_and_alone():
    X = DATA[:5].copy()
    X[2] = np.nan
    for of in (CODER.transform, CODER.score_samples, CODER.entry_confidence, CODER.reconstruct, CODER.impute, CODER.predict):
        np.testing.assert_array_equal(of(X)[2:3], of(X[2:3]))
    assert np.isnan(CODER.score_samples(X[2:3])).all() and not CODER.transform(X[2:3]).any()
    assert len(CODER.find_wrong_cells(X[2:3])) == 0


def test_thousands_of_threads_are_as_many_as_help():
    same(fit(n_threads=10000), CODER)
    for n_jobs in (-1, 1, 3):
        same(fit(n_jobs=n_jobs), CODER)


def test_seeds_of_numpy():
    for make in (np.random.default_rng, np.random.RandomState):
        same(fit(random_state=make(5)), fit(random_state=make(5)))
    one, two = fit(random_state=(random := np.random.default_rng(5))), fit(random_state=random)
    assert (one.components_ != two.components_).any()


def test_odd_but_right():
    same(fit(DATA.astype(object)), CODER)
    same(fit(DATA.astype(str)), CODER)  # numbers as text
    same(fit(FRAME.astype("Float64")), CODER)
    same(fit(DATA > 0), fit((DATA > 0).astype(float)))
    assert fit(DATA.astype(np.float16)).components_.dtype == np.float64
    for X in (np.ones((10, 4)), np.zeros((10, 4)), DATA[:1], DATA[:, :1]):
        assert np.isfinite(fit(X).codes_).all()
    assert fit(DATA, level=None).level is None

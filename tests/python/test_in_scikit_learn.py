"""Names people know from scikit-learn, where they expect them: an imputer, score, n_jobs, missing values marked."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from test_scikit_learn import REASONS

from pacewise import SelfPacedSparseCoder, SparseCodeImputer, datasets

BUNCH = datasets.synthetic(120, 16, 3, corrupted=0, random_state=2)
HOLES = np.random.default_rng(0).uniform(size=BUNCH.data.shape) < 0.1
X = np.where(HOLES, np.nan, BUNCH.data)
PLAIN = {"kind": "images", "level": "none", "graph": "none", "tol": 1e-3, "random_state": 0}


@parametrize_with_checks(
    [SparseCodeImputer(2, **{**PLAIN, "random_state": None})], expected_failed_checks=lambda _: REASONS, xfail_strict=True
)
def test_imputer(estimator, check):
    check(estimator)


def test_imputer_in_a_pipeline():
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(16)], index=[f"row {j}" for j in range(120)])
    imputer = SparseCodeImputer(15, beta=0.01, **PLAIN)
    filled = imputer.set_output(transform="pandas").fit_transform(frame)
    assert list(filled.columns) == list(frame.columns) == list(imputer.get_feature_names_out()) and (filled.index == frame.index).all()
    np.testing.assert_array_equal(filled, SelfPacedSparseCoder(15, beta=0.01, **PLAIN).fit(X).impute(X))
    errors = [np.abs(i.fit_transform(X) - BUNCH.data)[HOLES].mean() for i in (SparseCodeImputer(15, beta=0.01, **PLAIN), SimpleImputer())]
    assert errors[0] < 0.3 * errors[1]
    assert make_pipeline(SparseCodeImputer(15, beta=0.01, **PLAIN), PCA(2)).fit_transform(X).shape == (120, 2)


def test_a_value_that_means_missing():
    marked = np.where(HOLES, -999.0, BUNCH.data)
    coders = SelfPacedSparseCoder(8, **PLAIN).fit(X), SelfPacedSparseCoder(8, missing=-999, **PLAIN).fit(marked)
    for method in ("impute", "score_samples", "transform"):
        np.testing.assert_array_equal(getattr(coders[0], method)(X), getattr(coders[1], method)(marked))


def test_score_is_of_entries_not_seen():
    clean = BUNCH.data
    scores = [SelfPacedSparseCoder(r, beta=beta, **PLAIN).fit(clean[:80]).score(clean[80:]) for r, beta in ((15, 0.01), (15, 0.8), (1, 0.01))]
    assert 0.7 < scores[0] < 1 and max(scores[1:]) < scores[0] - 0.2
    noise = np.random.default_rng(0).standard_normal((80, 16))
    assert SelfPacedSparseCoder(15, beta=0.01, **PLAIN).fit(noise).score(noise) < 0.05  # reproduced, but not predicted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = GridSearchCV(SelfPacedSparseCoder(**PLAIN), {"n_components": [1, 15], "beta": [0.01, 0.8]}, cv=2).fit(X)
    assert search.best_params_ == {"n_components": 15, "beta": 0.01}
    assert SelfPacedSparseCoder(2, **PLAIN).fit(np.ones((9, 3))).score(np.ones((9, 3))) in (0.0, 1.0)


@pytest.mark.parametrize("options", [{"level": "none"}, {"level": "element", "final": 0.9, "polish": 0}])
def test_training_samples_are_coded_as_in_the_fit(options):
    """Without a graph both are stationary points of one objective: the same but for entries that hover about lambda."""
    data = datasets.synthetic(200, 32, 3, corrupted=0.05, random_state=1).data
    coders = [SelfPacedSparseCoder(15, beta=0.02, graph="none", random_state=seed, **options).fit(data) for seed in range(8)]
    apart = [np.abs(coder.transform(data) - coder.codes_).max(1) > 1e-4 for coder in coders]
    assert np.mean(apart) <= (0 if options["level"] == "none" else 0.15)

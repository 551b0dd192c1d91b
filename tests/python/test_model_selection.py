"""Held-out entries: what is hidden stays hidden, and the error is the one of the hidden entries."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.impute import SimpleImputer

import pacewise
from pacewise import SelfPacedSparseCoder, model_selection


def test_splits(rng):
    X = rng.standard_normal((40, 12))
    X[rng.uniform(size=X.shape) < 0.2] = np.nan
    masks = list(model_selection.held_out_splits(X, n_splits=4, share=0.25, random_state=3))
    assert len(masks) == 4
    for mask in masks:
        assert mask.shape == X.shape and not np.isnan(X[mask]).any()
        assert mask.sum() == round(0.25 * (~np.isnan(X)).sum())
    assert (masks[0] != masks[1]).any()
    again = model_selection.held_out_splits(X, n_splits=4, share=0.25, random_state=3)
    assert all((a == b).all() for a, b in zip(masks, again))


def test_nothing_loses_its_last_entry(rng):
    X = rng.standard_normal((6, 5))
    for mask in model_selection.held_out_splits(X, n_splits=20, share=0.95):
        assert (~mask).any(0).all() and (~mask).any(1).all()
    with pytest.raises(pacewise.Error, match="no entry"):
        next(model_selection.held_out_splits(np.diag([1.0, 2.0]) + np.where(np.eye(2), 0, np.nan)))


@pytest.mark.parametrize("error", ["median_absolute", "mean_absolute", "root_mean_square", lambda d: float(np.abs(d).max())])
def test_the_error_is_that_of_hidden_entries(rng, error):
    """The mean imputer's error is known without any model."""
    X = rng.standard_normal((30, 6)) + np.arange(6)
    of = {
        "median_absolute": lambda d: np.median(np.abs(d)),
        "mean_absolute": lambda d: np.abs(d).mean(),
        "root_mean_square": lambda d: np.sqrt((d**2).mean()),
    }.get(error, error)
    expected = []
    for mask in model_selection.held_out_splits(X, n_splits=3, share=0.2, random_state=1):
        means = np.nanmean(np.where(mask, np.nan, X), axis=0)
        expected.append(of((np.broadcast_to(means, X.shape) - X)[mask]))
    found = model_selection.held_out_error(SimpleImputer(), X, n_splits=3, share=0.2, error=error, random_state=1)
    np.testing.assert_allclose(found, expected)


def test_hidden_values_are_not_seen(rng):
    """Whatever stands in the hidden entries, the model fitted is the same."""
    seen = []

    class Spy(SelfPacedSparseCoder):
        def fit(self, X, *rest, **more):
            seen.append(np.array(X))
            return super().fit(X, *rest, **more)

    X = rng.standard_normal((30, 8))
    model_selection.held_out_error(Spy(4, beta=0.1, level="none", graph="none", max_iter=300, random_state=0), X, n_splits=2)
    for mask, given in zip(model_selection.held_out_splits(X, n_splits=2), seen):
        assert np.isnan(given[mask]).all() and (given[~mask] == X[~mask]).all()


def test_choice_finds_the_number_of_atoms():
    """Data of 4 atoms without noise: 1 cannot hold them, and with the right number the hidden entries are found."""
    data = pacewise.datasets.synthetic(120, 20, 1, corrupted=0.0, random_state=0).clean
    coder = SelfPacedSparseCoder(level="none", graph="none", normalize="none", tol=1e-3, random_state=0)
    choice = model_selection.choose_by_held_out_entries(coder, data, {"n_components": [1, 5], "beta": [0.01, 10.0]}, n_splits=2)
    assert choice.params == {"n_components": 5, "beta": 0.01}
    assert len(choice.table) == 4
    assert [row["mean"] for row in choice.table] == sorted(row["mean"] for row in choice.table)
    assert choice.error == choice.table[0]["mean"] == pytest.approx(choice.table[0]["errors"].mean())
    assert choice.estimator.components_.shape == (5, 20) and not hasattr(coder, "components_")
    assert choice.error < 0.3 * choice.table[-1]["mean"]
    assert (sp.csr_array(data).toarray() == data).all()
    sparse = model_selection.held_out_error(coder.set_params(n_components=5, beta=0.01), sp.csr_array(data), n_splits=1)
    assert np.isfinite(sparse).all()


@pytest.mark.parametrize("wrong", [{"share": 0}, {"share": 1.0}, {"n_splits": 0}, {"error": "best"}])
def test_misuse_is_named(rng, wrong):
    with pytest.raises(pacewise.Error, match=next(iter(wrong))):
        model_selection.held_out_error(SimpleImputer(), rng.standard_normal((5, 4)), **wrong)

"""scikit-learn's own checks of an estimator."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from pacewise import SelfPacedSparseCoder, sparse_encode

WEIGHTS = (
    "a weight says how far a sample is to be trusted, it is not a count: it multiplies the fit, w (x - B s)^2 + beta |s|, and "
    "two copies also pay for the sparsity twice. Already the codes differ with the dictionary fixed, checked below"
)
TRAINING = (
    "codes of training samples are tied to their neighbours' by the graph, which is what makes them good for clustering, and "
    "a new sample is in no graph: fit_transform, which Pipeline calls, gives the former. It equals transform with level and "
    "graph 'none', where the same check has to pass"
)
REASONS = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}
PACED = {
    **REASONS,
    "check_transformer_general": TRAINING,
    "check_transformer_data_not_an_array": TRAINING,
}

# few atoms and iterations: the checks fit hundreds of times
robust = SelfPacedSparseCoder(8, plain_iter=2, warm_iter=2, pace_iter=3, polish=3)
plain = SelfPacedSparseCoder(2, level="none", graph="none", tol=1e-3)


@parametrize_with_checks(
    [robust, plain],
    expected_failed_checks=lambda estimator: PACED if estimator.level != "none" else REASONS,
    xfail_strict=True,
)
def test_estimator(estimator, check):
    check(estimator)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 3), (5, 1), (10, 3)])
def test_the_default_works_on_tiny_data(shape):
    X = np.random.default_rng(0).uniform(size=shape)
    coder = SelfPacedSparseCoder(random_state=0).fit(X)
    assert coder.codes_.shape == (shape[0], 16)
    assert np.isfinite(coder.transform(X)).all()


def test_a_weight_is_trust_and_not_a_count(rng):
    """The reason why weights and repetitions differ: weight w is the same as beta / w, a repetition changes no code."""
    X, B = rng.standard_normal((6, 5)), rng.standard_normal((4, 5))
    twice = sparse_encode(X, B, beta=0.4, sample_weight=np.full(6, 2.0))
    np.testing.assert_allclose(twice, sparse_encode(X, B, beta=0.2), atol=1e-9)
    np.testing.assert_allclose(sparse_encode(np.repeat(X, 2, 0), B, beta=0.4)[::2], sparse_encode(X, B, beta=0.4), atol=1e-9)
    assert np.abs(twice - sparse_encode(X, B, beta=0.4)).max() > 1e-2


def test_reasons_name_checks_that_exist():
    from sklearn.utils.estimator_checks import estimator_checks_generator

    names = set()
    for _, check in estimator_checks_generator(robust):
        check = getattr(check, "func", check)
        names.add(getattr(check, "__name__", str(check)))
    assert set(PACED) <= names or pytest.fail(f"unknown: {set(PACED) - names}")

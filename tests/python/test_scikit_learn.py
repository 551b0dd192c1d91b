"""scikit-learn's own checks of an estimator."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from pacewise import SelfPacedSparseCoder

WEIGHTS = (
    "a repeated sample is not a sample of weight 2: it is its own neighbour in the graph, a candidate for the first atoms, "
    "and the problem is not convex, so another start ends elsewhere"
)
TRAINING = (
    "codes of training samples are learned with all weights 1 and tied to their neighbours' codes, those of new samples "
    "are weighted and free: fit_transform is not transform (it is with level and graph 'none', checked below)"
)
BATCH = "weights and codes of new samples alternate until the objective of the whole batch stalls"
REASONS = {
    "check_sample_weight_equivalence_on_dense_data": WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": WEIGHTS,
}
PACED = {
    **REASONS,
    "check_transformer_general": TRAINING,
    "check_transformer_data_not_an_array": TRAINING,
    "check_methods_subset_invariance": BATCH,
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
    assert coder.codes_.shape == (shape[0], 128)
    assert np.isfinite(coder.transform(X)).all()


def test_reasons_name_checks_that_exist():
    from sklearn.utils.estimator_checks import estimator_checks_generator

    names = set()
    for _, check in estimator_checks_generator(robust):
        check = getattr(check, "func", check)
        names.add(getattr(check, "__name__", str(check)))
    assert set(PACED) <= names or pytest.fail(f"unknown: {set(PACED) - names}")

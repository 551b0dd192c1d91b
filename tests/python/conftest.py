import os

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("SCIPY_ARRAY_API", "1")  # without it scikit-learn skips one of its checks

import numpy as np
import pytest


def unit_rows(a):
    return a / np.linalg.norm(a, axis=1, keepdims=True)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def small(rng):
    """X (n, m), B (r, m) with unit atoms: small enough for a general convex solver."""
    X = rng.standard_normal((12, 8))
    return X, unit_rows(rng.standard_normal((10, 8)))


@pytest.fixture(scope="session")
def corrupted():
    """Data with known corrupted entries, and a coder fitted to them."""
    import pacewise

    bunch = pacewise.datasets.synthetic(160, 32, 3, random_state=1)
    coder = pacewise.SelfPacedSparseCoder(15, kind="images", beta=0.02, graph="none", polish=0, final=0.9, random_state=0, n_threads=2)
    return bunch, coder.fit(bunch.data)

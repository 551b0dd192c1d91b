"""Robust dictionary learning by self-paced sparse coding.

    J = sum w v (X - S B)^2 + F(v; lambda) + beta sum|S| + alpha tr(S' L S) + gamma (|H - Q S'|^2 + eta |Q|^2)

Rows are samples: X (n, m), dictionary B (r, m) with rows of norm <= 1, codes S (n, r), Laplacian L (n, n), incidence H
(e, n), consistency map Q (e, r), self-paced weights v per entry, sample or feature. NaN in X is a missing entry.
There is no factor 1/2 in front of the fit: beta is twice the lambda of scikit-learn and SPAMS.
"""

import os as _os

# libgomp reads its waiting policy when it is loaded. Its default, spinning for milliseconds, makes a fit on a machine
# whose cores are busy with something else more than ten times slower; a tenth of a millisecond costs 3 % there, and
# without it two free cores lose as much in waking each other. A policy the user has set counts.
_policy_given = "OMP_WAIT_POLICY" in _os.environ or "GOMP_SPINCOUNT" in _os.environ
if not _policy_given:
    _os.environ["GOMP_SPINCOUNT"] = "3000"


def _blas_files() -> set[str]:
    """The BLAS libraries that this process has loaded"""
    try:
        with open("/proc/self/maps") as maps:
            return {line.split()[-1] for line in maps if "blas" in line}
    except OSError:
        return set()


_blas_before = _blas_files()
from . import _core  # noqa: E402

if not _policy_given:
    del _os.environ["GOMP_SPINCOUNT"]
# Not in a library that others had loaded: it must not change under a product that runs in another thread.
if _blas_files() - _blas_before:
    _core.choose_blas_kernels()

from . import datasets, model_selection  # noqa: E402
from ._coder import SelfPacedSparseCoder, preset_options  # noqa: E402
from ._core import Error, __version__  # noqa: E402
from ._evaluate import KMeansResult, clustering_scores, kmeans  # noqa: E402
from ._graph import hypergraph, kneighbors, knn_graph  # noqa: E402
from ._learn import LearnedDictionary, learn_dictionary  # noqa: E402
from ._steps import objective, pace_weights, sparse_encode, update_consistency, update_dictionary  # noqa: E402

__all__ = [
    "Error",
    "KMeansResult",
    "LearnedDictionary",
    "SelfPacedSparseCoder",
    "__version__",
    "clustering_scores",
    "datasets",
    "hypergraph",
    "kmeans",
    "kneighbors",
    "knn_graph",
    "learn_dictionary",
    "model_selection",
    "objective",
    "pace_weights",
    "plot",
    "preset_options",
    "sparse_encode",
    "update_consistency",
    "update_dictionary",
]


def __getattr__(name: str):
    if name == "plot":  # matplotlib is optional and slow to import: only when asked for
        import importlib

        return importlib.import_module(".plot", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

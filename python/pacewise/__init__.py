"""Robust dictionary learning by self-paced sparse coding.

    J = sum w v (X - S B)^2 + F(v; lambda) + beta sum|S| + l2 |S|^2 + alpha tr(S' L S) + gamma (|H - Q S'|^2 + eta |Q|^2)

Rows are samples: X (n, m), dictionary B (r, m) with rows of norm <= 1, codes S (n, r), Laplacian L (n, n), incidence H
(e, n), consistency map Q (e, r), self-paced weights v per entry, sample or feature. NaN in X is a missing entry.
There is no factor 1/2 in front of the fit: beta is twice the lambda of scikit-learn and SPAMS.
"""

from typing import TYPE_CHECKING

from . import datasets
from ._core import Error
from ._core import version as __version__
from ._evaluate import KMeansResult, clustering_scores, kmeans
from ._graph import hypergraph, kneighbors, knn_graph
from ._learn import LearnedDictionary, learn_dictionary
from ._steps import objective, orthogonal_mp, pace_weights, sparse_encode, update_consistency, update_dictionary

if TYPE_CHECKING:
    from . import model_selection, plot
    from ._coder import SelfPacedSparseCoder, SparseCodeImputer, preset_options

__all__ = [
    "Error",
    "KMeansResult",
    "LearnedDictionary",
    "SelfPacedSparseCoder",
    "SparseCodeImputer",
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
    "orthogonal_mp",
    "pace_weights",
    "plot",
    "preset_options",
    "sparse_encode",
    "update_consistency",
    "update_dictionary",
]


# scikit-learn and matplotlib are slow to import: only when asked for
_LATER = {"SelfPacedSparseCoder": "_coder", "SparseCodeImputer": "_coder", "preset_options": "_coder", "model_selection": "", "plot": ""}


def __getattr__(name: str):
    import importlib

    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f".{_LATER[name] or name}", __name__)
    return getattr(module, name) if _LATER[name] else module


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

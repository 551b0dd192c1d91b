# The private module: C-contiguous arrays, float32 or float64 throughout one call. Sparse matrices are CSC parts.
from typing import Any, Callable

from numpy.typing import NDArray

__version__: str

Sparse = tuple[int, int, NDArray, NDArray, NDArray]  # rows, cols, indptr, indices, data

class Error(ValueError): ...
class WriteError(OSError): ...

class Model:
    def save(self, path: str, /) -> None: ...
    def name_features(self, names: list[str], /) -> None: ...
    def __getstate__(self) -> bytes: ...
    def __setstate__(self, bytes: bytes, /) -> None: ...

def describe(model: Model, /) -> dict[str, Any]: ...
def load(path: str, /) -> dict[str, Any]: ...

def preset_options(which: str, /) -> dict[str, Any]: ...
def check_options(given: dict[str, Any], /) -> None: ...
def option_table() -> list[dict[str, Any]]: ...
def fit(
    X: NDArray,
    sample_weight: NDArray | None,
    feature_weight: NDArray | None,
    entry_weight: NDArray | None,
    options: dict[str, Any],
    laplacian: Sparse | None,
    incidence: Sparse | None,
    graph_points: NDArray | None,
    dictionary: NDArray | None,
    codes: NDArray | None,
    groups: Sparse | None,
    threads: int,
    max_seconds: float | None,
    callback: Callable[[dict[str, Any]], Any] | None,
) -> dict[str, Any]: ...
def verify(
    X: NDArray,
    model: Model,
    sample_weight: NDArray | None,
    feature_weight: NDArray | None,
    entry_weight: NDArray | None,
    laplacian: Sparse | None,
    incidence: Sparse | None,
    graph_points: NDArray | None,
    threads: int,
) -> list[tuple[str, float, float, bool]]: ...
def encode(X: NDArray, model: Model, tol: float, threads: int) -> tuple[NDArray, NDArray | None]: ...
def score(X: NDArray, model: Model, folds: int | None, tol: float, threads: int) -> tuple[NDArray, NDArray]: ...
def mend(X: NDArray, model: Model, tol: float, threads: int) -> tuple[NDArray]: ...
def reconstruct(codes: NDArray, model: Model, sample_scale: NDArray | None) -> NDArray: ...
def sparse_encode(
    X: NDArray,
    dictionary: NDArray,
    beta: float,
    l2: float,
    positive: bool,
    atom_penalty: NDArray | None,
    sample_weight: NDArray | None,
    feature_weight: NDArray | None,
    entry_weight: NDArray | None,
    laplacian: Sparse | None,
    alpha: float,
    incidence: Sparse | None,
    consistency: NDArray | None,
    gamma: float,
    init: NDArray | None,
    tol: float,
    max_rounds: int,
    threads: int,
) -> tuple[NDArray, float, int, bool]: ...
def orthogonal_mp(
    X: NDArray,
    dictionary: NDArray,
    nonzeros: int,
    tol: float,
    sample_weight: NDArray | None,
    feature_weight: NDArray | None,
    entry_weight: NDArray | None,
    threads: int,
) -> NDArray: ...
def update_dictionary(
    X: NDArray,
    codes: NDArray,
    dictionary: NDArray | None,
    positive: bool,
    sample_weight: NDArray | None,
    feature_weight: NDArray | None,
    entry_weight: NDArray | None,
    tol: float,
    max_rounds: int,
    threads: int,
) -> tuple[NDArray, float, int, bool]: ...
def learn_dictionary(
    X: NDArray, dictionary: NDArray, beta: float, max_iter: int, tol: float, step_tol: float, threads: int
) -> tuple[NDArray, NDArray, float, float, float, list[float], str]: ...
def update_consistency(incidence: Sparse | None, codes: NDArray, eta: float, threads: int) -> tuple[NDArray, float, int, bool]: ...
def pace_weights(loss: NDArray, lam: float, regularizer: str, params: dict[str, float]) -> NDArray: ...
def objective(
    X: NDArray,
    dictionary: NDArray,
    codes: NDArray,
    beta: float,
    l2: float,
    atom_penalty: NDArray | None,
    sample_weight: NDArray | None,
    feature_weight: NDArray | None,
    entry_weight: NDArray | None,
    level: str,
    pace_weights: NDArray | None,
    lam: float,
    regularizer: str,
    params: dict[str, float],
    laplacian: Sparse | None,
    alpha: float,
    incidence: Sparse | None,
    consistency: NDArray | None,
    gamma: float,
    eta: float,
    threads: int,
) -> dict[str, float]: ...
def build_graph(X: NDArray, options: dict[str, Any], threads: int) -> tuple[Sparse | None, Sparse | None, Any]: ...
def nearest(X: NDArray, k: int, threads: int) -> tuple[NDArray, NDArray]: ...
def kmeans(
    X: NDArray,
    clusters: int,
    init: str,
    runs: int,
    max_iter: int,
    tol: float,
    unit_norm: bool,
    seed: int,
    threads: int,
) -> list[tuple[NDArray, NDArray, float, int]]: ...
def clustering_scores(labels: NDArray, assignment: NDArray) -> dict[str, float]: ...

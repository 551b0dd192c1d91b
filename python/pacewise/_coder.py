"""The estimator."""

from __future__ import annotations

import json
import os
import warnings
import zipfile
import zlib
from typing import Any, Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core
from ._arrays import as_rows, from_parts, seed_of, sparse_parts, thread_number, weights_of
from ._progress import watcher

# the type the library wants for each option; None stands for the preset's value
_TYPES: dict[str, Callable] = {
    "n_components": int,
    "beta": float,
    "beta_ratio": float,
    "alpha": float,
    "gamma": float,
    "eta": float,
    "level": str,
    "regularizer": str,
    "regularizer_params": dict,
    "pace": str,
    "mu": float,
    "select": float,
    "final": float,
    "pace_iter": int,
    "plain_iter": int,
    "warm_iter": int,
    "polish": int,
    "preset": str,
    "graph": str,
    "n_neighbors": int,
    "graph_space": str,
    "edge_weight": str,
    "normalize": str,
    "max_iter": int,
    "tol": float,
    "step_tol": float,
}
_OFFSET_SAMPLES = 1000
_OFFSET_SHARE = 0.1
_FORMAT = "pacewise-model-1"


def preset_options(preset: str = "robust") -> dict[str, Any]:
    """All options of a preset, "robust" or "paper", by the names of :class:`SelfPacedSparseCoder`."""
    return _core.preset_options(preset)


class SelfPacedSparseCoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Robust dictionary learning by self-paced sparse coding.

    Learns a dictionary B (r, m) and sparse codes S (n, r) of data X (n, m), letting in what fits first and what does
    not fit later or never, with samples tied to their neighbours by a graph or hypergraph. NaN in X is a missing entry.

    Options left at None take the value of ``preset``; ``pacewise.preset_options(preset)`` shows them.

    Parameters
    ----------
    n_components : number r of atoms
    beta : sparsity, >= 0. There is no 1/2 before the fit: this is twice the lambda of scikit-learn and SPAMS.
    beta_ratio : used when ``beta`` is None: the share of the smallest beta at which all codes are zero
    alpha, gamma, eta : manifold term, hypergraph consistency term, ridge of the consistency map
    level : what carries a self-paced weight: "none", "sample", "feature" or "element"
    regularizer : "hard", "linear", "polynomial", "logarithmic", "mixture" or "welsch"
    regularizer_params : dict: polynomial ``power``, logarithmic ``scale``, mixture ``ratio``
    pace : "geometric" (lambda grows by ``mu``) or "quantile" (the share let in grows from ``select`` to ``final``)
    mu, select, final, pace_iter : see ``pace``; ``final`` < 1 keeps the worst units out for good
    plain_iter, warm_iter : iterations without, then with, the graph terms before the pace begins
    polish : at most this many iterations with all weights 1 after the pace
    preset : "robust" or "paper"
    graph : "none", "knn" or "hypergraph"
    n_neighbors, edge_weight : of the graph; 5 by the preset "robust", 3 by "paper"
    graph_space : where neighbours are looked for: "raw", "pca:D", "half:D", "white:D" or "robust:D"
    normalize : "unit" (each sample), "standard" (each feature) or "none"
    max_iter, tol : iterations at most; relative fall of the objective that counts as a stall
    step_tol : certificate asked of the steps at the end of the run
    max_seconds : time limit, None for none
    random_state : an int is the seed itself; same seed, same bits, for any number of threads
    n_threads : None for all
    verbose : 1 prints a table line per iteration, "bar" draws a progress bar
    callback : called with a dict of the iteration's record and its ``weights`` (shaped as ``weights_``; None while all
        are 1); returning False stops the fit

    Attributes
    ----------
    components_ : (r, m) dictionary
    codes_ : (n, r) codes of the training samples, graph terms included
    weights_ : self-paced weights at ``lambda_``: (n, m) for level "element", (n,) "sample", (m,) "feature", else None
    loss_ : loss of every unit, of the same shape; (n,) for level "none"
    lambda_ : the pace's last lambda; infinity without a pace
    beta_ : the beta used
    history_ : dict of arrays, one entry per iteration
    objective_, objective_parts_ : at the returned point
    certificate_ : dict of optimality residuals ``codes``, ``dictionary``, ``consistency`` at the returned point
    termination_ : "converged", "iteration_limit", "time_limit", "cancelled" or "numerical_trouble"
    n_iter_, notes_, options_ : iterations, what a user should know about the data, all options as used
    laplacian_, incidence_, consistency_ : (n, n) and (e, n) CSR, (e, r); None where absent
    offset_ : ``decision_function`` is ``score_samples - offset_``. It is the 10% quantile of ``score_samples`` over at
        most 1000 evenly spaced training samples: ``predict`` calls about a tenth of the training data outliers.
    n_features_in_, feature_names_in_ : as in scikit-learn
    """

    def __init__(
        self,
        n_components: int = 128,
        *,
        beta: float | None = None,
        beta_ratio: float | None = None,
        alpha: float | None = None,
        gamma: float | None = None,
        eta: float | None = None,
        level: str = "element",
        regularizer: str = "linear",
        regularizer_params: dict[str, float] | None = None,
        pace: str | None = None,
        mu: float = 1.2,
        select: float = 0.5,
        final: float | None = None,
        pace_iter: int | None = None,
        plain_iter: int | None = None,
        warm_iter: int | None = None,
        polish: int | None = None,
        preset: str = "robust",
        graph: str = "hypergraph",
        n_neighbors: int | None = None,
        graph_space: str | None = None,
        edge_weight: str | None = None,
        normalize: str | None = None,
        max_iter: int | None = None,
        tol: float | None = None,
        step_tol: float | None = None,
        max_seconds: float | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: int | str = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ):
        self.n_components = n_components
        self.beta = beta
        self.beta_ratio = beta_ratio
        self.alpha = alpha
        self.gamma = gamma
        self.eta = eta
        self.level = level
        self.regularizer = regularizer
        self.regularizer_params = regularizer_params
        self.pace = pace
        self.mu = mu
        self.select = select
        self.final = final
        self.pace_iter = pace_iter
        self.plain_iter = plain_iter
        self.warm_iter = warm_iter
        self.polish = polish
        self.preset = preset
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.graph_space = graph_space
        self.edge_weight = edge_weight
        self.normalize = normalize
        self.max_iter = max_iter
        self.tol = tol
        self.step_tol = step_tol
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose
        self.callback = callback

    # ---- learning

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        feature_weight: ArrayLike | None = None,
        entry_weight: ArrayLike | None = None,
        graph: Any = None,
        graph_points: ArrayLike | None = None,
    ) -> SelfPacedSparseCoder:
        """Learns from X (n, m), dense or sparse, NaN = missing.

        Parameters
        ----------
        sample_weight, feature_weight, entry_weight : (n,), (m,), (n, m), >= 0; they multiply; 0 = missing
        graph : instead of building one: (incidence, laplacian) as :func:`pacewise.hypergraph` gives them, or an (n, n)
            Laplacian alone (with gamma=0)
        graph_points : (n, D) coordinates in which neighbours are looked for
        """
        before = dict(vars(self))
        try:
            self._fit(X, weights=(sample_weight, feature_weight, entry_weight), graph=graph, graph_points=graph_points)
        except BaseException:  # Ctrl-C too: unfitted, or as it was
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self._warn()
        return self

    def _fit(self, X: Any, weights: tuple[Any, Any, Any], graph: Any, graph_points: Any) -> None:
        options: dict[str, Any] = {"seed": seed_of(self.random_state)}
        for name, kind in _TYPES.items():
            value = getattr(self, name)
            options[name] = None if value is None else kind(value)
        if isinstance(self.verbose, str) and self.verbose != "bar":
            raise _core.Error(f"verbose = {self.verbose}: must be 0, 1 or 'bar'")
        X = self._rows(X, reset=True)
        given = weights_of(X, *weights)
        for name, values in given.items():
            if values is not None and not values.any():
                raise _core.Error(f"{name} is zero everywhere: at least one weight must be positive")
        incidence, laplacian = graph if isinstance(graph, tuple) else (None, graph)

        def call(record: dict[str, Any]) -> Any:
            if record["weights"] is not None:
                record["weights"] = record["weights"].reshape(self._units(X.shape))
            return self.callback(record)  # type: ignore[misc]

        callback, over = watcher(self.verbose, self.callback and call, options)
        try:
            result = _core.fit(
                X,
                **given,
                options=options,
                laplacian=sparse_parts("graph", laplacian),
                incidence=sparse_parts("graph", incidence),
                graph_points=None if graph_points is None else as_rows("graph_points", graph_points, np.float64),
                threads=thread_number(self.n_threads),
                max_seconds=None if self.max_seconds is None else float(self.max_seconds),
                callback=callback,
            )
        finally:
            over()
        self._keep(result, X.shape)
        chosen = np.unique(np.linspace(0, X.shape[0] - 1, min(X.shape[0], _OFFSET_SAMPLES)).astype(int))
        scores = self._trust(X if chosen.size == X.shape[0] else np.ascontiguousarray(X[chosen]))[0]
        self.offset_ = float(np.nanquantile(-scores, _OFFSET_SHARE))

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray:
        """Codes (n, r) of the training samples: ``codes_``. They hold the graph terms, those of ``transform`` do not."""
        return self.fit(X, y, **fit_params).codes_

    def _units(self, shape: tuple[int, int]) -> tuple[int, ...]:
        return {"element": shape, "sample": shape[:1], "feature": shape[1:], "none": shape[:1]}[self.level]

    def _keep(self, result: dict[str, Any], shape: tuple[int, int]) -> None:
        units = self._units(shape)
        self.components_ = result["components"]
        self.codes_ = result["codes"]
        self.weights_ = None if self.level == "none" else result["weights"].reshape(units)
        self.loss_ = result["losses"].reshape(units)
        self.lambda_ = result["lambda"]
        self.beta_ = result["model"]["beta"]
        records = result["history"]
        self.history_ = {key: np.array([r[key] for r in records]) for key in (records[0] if records else {})}
        self.objective_ = result["objective"]
        self.objective_parts_ = result["objective_parts"]
        self.certificate_ = result["certificate"]
        self.termination_ = result["termination"]
        self.detail_ = result["detail"]
        self.n_iter_ = result["iterations"]
        self.notes_ = list(result["notes"])
        self.options_ = result["options"]
        self.laplacian_ = from_parts(result["laplacian"])
        self.incidence_ = from_parts(result["incidence"])
        self.consistency_ = result["consistency"]
        self._model = {
            **result["model"],
            "regularizer": self.regularizer,
            "regularizer_params": dict(self.regularizer_params or {}),
        }

    def _warn(self) -> None:
        if self.termination_ == "numerical_trouble":
            warnings.warn(f"The fit stopped early: {self.detail_}", ConvergenceWarning, stacklevel=3)
        elif self.termination_ == "iteration_limit" and self.n_iter_ >= self.options_["max_iter"]:
            warnings.warn(
                f"max_iter = {self.n_iter_} was reached before the fit was finished; raise it.",
                ConvergenceWarning,
                stacklevel=3,
            )

    # ---- new samples

    def transform(self, X: Any) -> NDArray:
        """Codes (n, r) of new samples. What does not fit is ignored: weights and codes alternate at ``lambda_``."""
        return self._encode(self._fitted_rows(X))["codes"]

    def inverse_transform(self, X: ArrayLike) -> NDArray:
        """Data (n, m) from codes (n, r). With normalize="unit" samples come back at unit scale: their norms are not in
        the codes; :meth:`reconstruct` keeps them."""
        check_is_fitted(self)
        return self._reconstruct(as_rows("codes", X), None)

    def reconstruct(self, X: Any) -> NDArray:
        """X (n, m) as the model sees it, in the units of X: corrupted entries mended, missing ones filled in."""
        X = self._fitted_rows(X)
        encoding = self._encode(X)
        return self._reconstruct(encoding["codes"], encoding["sample_scale"])

    def impute(self, X: Any) -> NDArray:
        """X (n, m) with every NaN replaced by the model's value; observed entries stay as they are."""
        X = self._fitted_rows(X)
        missing = np.isnan(X)
        return np.where(missing, self.reconstruct(X), X) if missing.any() else X.copy()

    def score_samples(self, X: Any) -> NDArray:
        """Normality (n,), higher = more normal: minus the share of misfit, in [-1, 0]; NaN where nothing is observed."""
        return -self._trust(self._fitted_rows(X))[0]

    def entry_confidence(self, X: Any) -> NDArray:
        """How far each entry (n, m) is to be believed, in [0, 1]; NaN where it is missing."""
        return self._trust(self._fitted_rows(X))[1]

    def decision_function(self, X: Any) -> NDArray:
        """``score_samples(X) - offset_`` (n,): negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray:
        """1 for inliers, -1 for outliers (n,)."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray:
        """``fit`` and ``predict`` of the same samples (n,)."""
        return self.fit(X, y, **fit_params).predict(X)

    def _rows(self, X: Any, reset: bool) -> NDArray:
        X = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
        )
        return as_rows("X", X)

    def _fitted_rows(self, X: Any) -> NDArray:
        check_is_fitted(self)
        return self._rows(X, reset=False)

    def _parts(self, dtype: Any) -> tuple[NDArray, dict[str, Any]]:
        """The dictionary and the rest of the model, in the precision of the samples to come."""
        model = dict(self._model)
        for name in ("feature_weights", "shift", "scale"):
            model[name] = None if model[name] is None else np.asarray(model[name], dtype=dtype)
        return np.ascontiguousarray(self.components_, dtype=dtype), model

    def _step(self, dtype: Any) -> dict[str, Any]:
        return {"paced": True, "tol": 1e-8 if dtype == np.float64 else 1e-5, "max_iter": 50, "threads": thread_number(self.n_threads)}

    def _encode(self, X: NDArray) -> dict[str, Any]:
        return _core.encode(X, *self._parts(X.dtype), **self._step(X.dtype))

    def _trust(self, X: NDArray) -> tuple[NDArray, NDArray]:
        return _core.score(X, *self._parts(X.dtype), **self._step(X.dtype))

    def _reconstruct(self, codes: NDArray, sample_scale: NDArray | None) -> NDArray:
        return _core.reconstruct(codes, *self._parts(codes.dtype), sample_scale)

    # ---- files

    def save(self, path: str | os.PathLike) -> None:
        """Writes the fitted model as .npz without pickles. ``callback`` and a ``random_state`` that is not an int are
        left out."""
        check_is_fitted(self)
        params = self.get_params(deep=False)
        params["callback"] = None
        if not isinstance(params["random_state"], (int, np.integer)):
            params["random_state"] = None
        arrays: dict[str, Any] = {}
        plain: dict[str, Any] = {}
        for name, value in vars(self).items():
            if name not in params:
                _pack(name, value, arrays, plain)
        text = json.dumps({"format": _FORMAT, "version": _core.__version__, "params": params, "plain": plain}, default=_number)
        beside = f"{os.fspath(path)}.{os.getpid()}.tmp"  # a model that is there already stays until this one is whole
        try:
            with open(beside, "wb") as file:
                np.savez_compressed(file, __about__=np.array(text), **arrays)
            os.replace(beside, path)
        finally:
            if os.path.exists(beside):
                os.remove(beside)

    @classmethod
    def load(cls, path: str | os.PathLike) -> SelfPacedSparseCoder:
        """A model that :meth:`save` wrote."""
        other = _core.Error(f"{os.fspath(path)}: not a model of SelfPacedSparseCoder.save, or damaged; a .pw file is for the pacewise program")
        if not zipfile.is_zipfile(path) and os.path.exists(path):
            raise other
        try:
            with np.load(path, allow_pickle=False) as file:
                about = json.loads(str(file["__about__"])) if "__about__" in file else {}
                if about.get("format") != _FORMAT:
                    raise other
                coder = cls(**about["params"])
                for name, value in about["plain"].items():
                    setattr(coder, name, _unpack(name, value, file))
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as error:
            raise other from error
        return coder

    # ---- scikit-learn

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be saved")


def _pack(name: str, value: Any, arrays: dict[str, NDArray], plain: dict[str, Any]) -> None:
    """Arrays and sparse matrices go to `arrays`, with a mark of their kind in `plain`; dicts are packed key by key."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        arrays[name], plain[name] = value, {"__kind__": "array"}
    elif isinstance(value, np.ndarray):  # feature names
        arrays[name], plain[name] = value.astype(str), {"__kind__": "names"}
    elif hasattr(value, "tocsr"):
        value = value.tocsr()
        plain[name] = {"__kind__": "csr", "shape": list(value.shape)}
        for part in ("data", "indices", "indptr"):
            arrays[f"{name}.{part}"] = getattr(value, part)
    elif isinstance(value, dict):
        inside: dict[str, Any] = {}
        for key, item in value.items():
            _pack(f"{name}.{key}", item, arrays, inside)
        plain[name] = {"__kind__": "dict", "keys": list(value), "inside": inside}
    else:
        plain[name] = value


def _unpack(name: str, value: Any, file: Any) -> Any:
    import scipy.sparse as sp

    if not isinstance(value, dict):
        return value
    kind = value["__kind__"]
    if kind == "array":
        return file[name]
    if kind == "names":
        return file[name].astype(object)
    if kind == "csr":
        parts = tuple(file[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
        return sp.csr_array(parts, shape=tuple(value["shape"]))
    return {key: _unpack(f"{name}.{key}", value["inside"][f"{name}.{key}"], file) for key in value["keys"]}

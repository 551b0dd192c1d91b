"""The estimator."""

from __future__ import annotations

import importlib
import os
import warnings
import zipfile
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core
from ._arrays import as_rows, from_parts, groups_of, integer, optional_rows, plain, real, sparse_parts, thread_number, weighted
from ._old_models import from_npz
from ._options import options_of, parameters_doc, regularizer_params_doc
from ._progress import watcher

# parameters that are not options of the table: how to run, and where to start
_RUN = ("max_seconds", "n_threads", "n_jobs", "verbose", "callback", "dict_init", "code_init")
_ARRAYS = ("components_", "codes_", "weights_", "step_weights_", "loss_", "laplacian_", "incidence_", "consistency_",
           "shift_", "scale_", "feature_offset_", "sample_scale_")  # fmt: skip
_FOLDS = 5  # of score


def _is_frame(X: Any, part: str) -> bool:
    """Whether X is a DataFrame that has this part; a list has an ``index``, too"""
    return hasattr(X, "columns") and hasattr(X, part)


class Figure(NamedTuple):
    """A figure that a model states, and the same recomputed from the data."""

    name: str
    stated: float
    found: float
    same: bool


def _graph_parts(graph: Any, points: Any) -> tuple[Any, Any, Any]:
    pair = graph if isinstance(graph, tuple) else (None, graph)
    if len(pair) != 2:
        raise _core.Error(f"graph has {len(pair)} parts: must be a Laplacian, or (incidence, laplacian)")
    return sparse_parts("graph", pair[1]), sparse_parts("graph", pair[0]), optional_rows("graph_points", points, np.float64)


def _text_in(X: Any) -> str:
    """What is said of data that hold text, with the names of the columns that do"""
    if not _is_frame(X, "select_dtypes"):
        return " holds text: must be numbers"
    names = X.select_dtypes(exclude=["number", "bool"]).columns
    dates = all(kind.kind in "mM" for kind in X[names].dtypes)
    return f" holds {'dates' if dates else 'text'} in {', '.join(map(str, names[:5]))}: leave it out, or make numbers of it (pandas.get_dummies)"


def preset_options(preset: str = "robust", kind: str = "images") -> dict[str, Any]:
    """All options of a preset, "robust" or "paper", by the names of :class:`SelfPacedSparseCoder`. Those of "robust" are other
    for data of the kind "table"."""
    return _core.preset_options(preset, kind)


class SelfPacedSparseCoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Robust dictionary learning by self-paced sparse coding.

    Learns a dictionary B (r, m) and sparse codes S (n, r) of data X (n, m), letting in what fits first and what does
    not fit later or never, with samples tied to their neighbours by a graph or hypergraph. NaN in X is a missing entry.

    Options left at None take the value of ``preset`` and ``kind``; ``pacewise.preset_options(preset, kind)`` shows them.
    ``notes_`` begins with what the data were taken as, and why.

    Parameters
    ----------
    {options}
    regularizer_params : dict
        Of the regulariser chosen; {regularizer_params}.
    preset : "robust" or "paper"
        Where the defaults come from.
    dict_init : (r, m) array
        The dictionary to start from; else samples drawn at random.
    code_init : (n, r) array
        The codes to start from.
    max_seconds : float
        Time limit.
    random_state : int, Generator, RandomState or None
        An int is the seed itself; same seed, same bits, for any number of threads.
    n_threads, n_jobs : int
        Threads; None for all. n_jobs is the same as joblib counts, -1 for all, and used where n_threads is None.
    verbose : 0, 1 or "bar"
        1 prints a table line per iteration, "bar" draws a progress bar.
    callback : callable
        Called with a dict of the iteration's record and its ``weights`` (shaped as ``weights_``; None while all are 1);
        returning False stops the fit.

    Attributes
    ----------
    components_ : (r, m) dictionary
    codes_ : (n, r) codes of the training samples, graph terms included
    weights_ : self-paced weights at ``lambda_``: (n, m) for level "element" and "group", (n,) "sample", (m,) "feature", else None
    step_weights_ : those that ``objective_`` and ``certificate_`` are computed with, of the same shape; None where all are 1
    alpha_, gamma_ : the weights of the graph's terms in them: 0 without a graph and in a fit that ended before it had one
    shift_, scale_, sample_scale_, feature_offset_ : the data in them are
        ``(X - shift_) / scale_ / sample_scale_[:, None] - feature_offset_``; None where ``normalize`` and ``offset`` ask for none
    center_ : at levels "sample" and "feature" of a descending pace a loss counts as far as its root exceeds this, else 0
    loss_ : loss of every unit, of the same shape; (n,) for level "none"
    lambda_ : the pace's last lambda; infinity without a pace
    beta_ : the beta used
    history_ : dict of arrays, one entry per iteration
    objective_, objective_parts_ : at the returned point
    certificate_ : dict of optimality residuals ``codes``, ``dictionary``, ``consistency`` at the returned point, and
        ``weights``: of a descending pace the mean |v used - v of the losses at the returned point|
    stages_, stage_ : of a descending pace, dict of arrays with a row for each stage and the row at which it ended (None
        without one): ``scale`` (lambda in robust scales, infinity: all in), ``lambda``, ``hidden`` (entries judged), ``error``
        (their mean capped square), ``gain`` (how far it is below that of all in), ``gain_error`` (standard error of the gain)
    termination_ : "converged", "iteration_limit", "time_limit", "cancelled" or "numerical_trouble"
    n_iter_, notes_, options_ : iterations, what a user should know about the data, all options as used
    n_components_ : atoms of ``components_``, chosen where ``n_components`` is "auto"
    candidates_ : list of dicts, the atoms and betas tried where they were "auto": ``atoms``, ``beta_ratio``, ``error`` of
        hidden entries, ``scale`` of the stage that predicts them best
    laplacian_, incidence_, consistency_ : (n, n) and (e, n) CSR, (e, r); None where absent
    offset_ : ``decision_function`` is ``score_samples - offset_``. With s = -score_samples of at most 500 evenly spaced
        training samples, ``-offset_`` is where sqrt(s) is three robust standard deviations above its median; with
        ``contamination`` it is the quantile that this share of s exceeds.
    n_features_in_, feature_names_in_ : as in scikit-learn
    """

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        kind: str = "auto",
        beta: float | None = None,
        beta_ratio: float | None = None,
        l2: float | None = None,
        atom_penalty: ArrayLike | None = None,
        positive_codes: bool = False,
        positive_atoms: bool = False,
        alpha: float | None = None,
        gamma: float | None = None,
        eta: float | None = None,
        level: str = "element",
        groups: Any = None,
        shape: tuple[int, int] | None = None,
        window: int | None = None,
        regularizer: str | None = None,
        regularizer_params: dict[str, float] | None = None,
        pace: str | None = None,
        mu: float = 1.2,
        select: float = 0.5,
        final: float | None = None,
        pace_iter: int | None = None,
        lambda_scale: float | None = None,
        hidden: float | None = None,
        stage_iter: int | None = None,
        plain_iter: int | None = None,
        warm_iter: int | None = None,
        polish: int | None = None,
        contamination: float | str | None = "auto",
        preset: str = "robust",
        graph: str = "hypergraph",
        n_neighbors: int | None = None,
        graph_space: str | None = None,
        edge_weight: str | None = None,
        heat_width: float | None = None,
        normalized_laplacian: bool | None = None,
        normalize: str | None = None,
        missing: float | None = None,
        offset: bool | None = None,
        max_iter: int | None = None,
        tol: float | None = None,
        exact_steps: bool | None = None,
        step_tol: float | None = None,
        dict_init: ArrayLike | None = None,
        code_init: ArrayLike | None = None,
        max_seconds: float | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        n_jobs: int | None = None,
        verbose: int | str = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ):
        self.__dict__.update((name, value) for name, value in locals().items() if name != "self")

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

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
        options = options_of({k: v for k, v in self.get_params(deep=False).items() if k not in _RUN})
        averaging = None
        if self.groups is not None:
            averaging, options["groups"] = groups_of(self.groups)
        if isinstance(self.verbose, str) and self.verbose != "bar":
            raise _core.Error(f"verbose = {self.verbose}: must be 0, 1 or 'bar'")
        X = self._rows(X, reset=True)
        given = weighted(X, *weights)
        for name, values in zip(("sample_weight", "feature_weight", "entry_weight"), given[1:]):
            if values is not None and not values.any():
                raise _core.Error(f"{name} is zero everywhere: at least one weight must be positive")
        parts = _graph_parts(graph, graph_points)
        if self.callback is not None and not callable(self.callback):
            raise _core.Error(f"callback = {self.callback}: must be callable, or None")

        def call(record: dict[str, Any]) -> Any:
            if record["weights"] is not None:
                record["weights"] = record["weights"].reshape(self._units(X.shape))
            return self.callback(record)  # type: ignore[misc]

        callback, over = watcher(self.verbose, self.callback and call, options)
        try:
            result = _core.fit(
                given,
                options=options,
                graph=parts,
                dictionary=optional_rows("dict_init", self.dict_init, np.float64),
                codes=optional_rows("code_init", self.code_init, np.float64),
                groups=averaging,
                threads=thread_number(self.n_threads, self.n_jobs),
                max_seconds=None if self.max_seconds is None else real("max_seconds", self.max_seconds, 0),
                callback=callback,
            )
        finally:
            over()
        self._keep(result)
        if hasattr(self, "feature_names_in_"):
            self._model.name_features([str(name) for name in self.feature_names_in_])

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray:
        """Codes (n, r) of the training samples: ``codes_``. They hold the graph terms, those of ``transform`` do not."""
        return self.fit(X, y, **fit_params).codes_

    def _units(self, shape: tuple[int, int]) -> tuple[int, ...]:
        return {"element": shape, "group": shape, "sample": shape[:1], "feature": shape[1:], "none": shape[:1]}[self.level]

    def _keep(self, result: dict[str, Any]) -> None:
        """The model's figures, and its arrays as views of its memory."""
        self._model = result["model"]
        self.lambda_ = result["lambda"]
        self.beta_ = result["beta"]
        records = result["history"]
        self.history_ = {key: np.array([r[key] for r in records]) for key in (records[0] if records else {})}
        coupled = result["coupled"] and result["laplacian"] is not None
        self.alpha_, self.gamma_ = (result["options"][name] if coupled else 0.0 for name in ("alpha", "gamma"))
        self.center_ = result["center"]
        self.objective_ = result["objective"]
        self.objective_parts_ = result["objective_parts"]
        self.certificate_ = result["certificate"]
        self.termination_ = result["termination"]
        self.detail_ = result["detail"]
        self.n_iter_ = result["iterations"]
        self.notes_ = list(result["notes"])
        self.options_ = result["options"]
        self.offset_ = -result["outlier_threshold"]
        stages = result["stages"]
        self.stages_ = {key: np.array([s[key] for s in stages]) for key in (stages[0] if stages else {})}
        self.stage_ = result["stage"] if result["settled"] else None
        self.candidates_ = result["candidates"]
        self._keep_arrays(result)

    def _keep_arrays(self, result: dict[str, Any]) -> None:
        n, m = result["samples"], result["features"]
        level = result["options"]["level"]
        units = {"element": (n, m), "group": (n, m), "sample": (n,), "feature": (m,), "none": (n,)}[level]
        weights, losses = result["weights"], result["losses"]  # a file of before version 2 has none
        self.components_ = result["components"]
        self.n_components_ = len(self.components_)
        self.codes_ = result["codes"]
        self.weights_ = None if weights is None or level == "none" else weights.reshape(units)
        held = result["held_weights"]
        used = self.weights_ if result["settled"] or (held is None and result["paced"]) else held
        self.step_weights_ = None if used is None else used.reshape(units)
        self.loss_ = None if losses is None else losses.reshape(units)
        self.laplacian_ = from_parts(result["laplacian"])
        self.incidence_ = from_parts(result["incidence"])
        for name in ("consistency", "shift", "scale", "feature_offset", "sample_scale"):
            setattr(self, name + "_", result[name])

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_model" in state:
            for name in _ARRAYS:  # they are in the model
                state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_model" in state:
            self._keep_arrays(_core.describe(self._model))

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
        """Codes (n, r) of new samples. Entries that do not fit are ignored, as in the fit; of a sample without a single
        observed entry all are 0. Training samples are coded like others: ``codes_`` has the graph's terms, and where a sample
        was left out altogether 0. Entries that hover about lambda may be in here and out there."""
        return self._of_model(_core.encode, self._fitted_rows(X))[0]

    def inverse_transform(self, X: ArrayLike) -> NDArray:
        """Data (n, m) from codes (n, r). With normalize="unit" samples come back at unit scale: their norms are not in
        the codes; :meth:`reconstruct` keeps them."""
        check_is_fitted(self)
        return self._decoded(as_rows("codes", X))

    def reconstruct(self, X: Any) -> Any:
        """X (n, m) as the model sees it, in the units of X: corrupted entries mended, missing ones filled in.

        Of a DataFrame a DataFrame with its names and index, and so are :meth:`mend`, :meth:`impute` and
        :meth:`entry_confidence`; ``set_output`` asks for another kind.
        """
        return self._like(X, self._reconstructed(self._fitted_rows(X)))

    def mend(self, X: Any) -> Any:
        """X (n, m) with what is missing or not trusted replaced: v x + (1 - v) BS, in the units of X."""
        return self._like(X, self._mended(self._fitted_rows(X)))

    def impute(self, X: Any) -> Any:
        """X (n, m) with every NaN replaced by the model's value; observed entries stay as they are."""
        return self._like(X, self._imputed(self._fitted_rows(X)))

    def score(self, X: Any, y: Any = None) -> float:
        """How well entries are predicted by codes that have not seen them, at most 1: D = 1 - sum |x - BS| / sum |x - c|, c the
        median of the entry's column. Each entry is hidden once, in 5 rounds with a fifth of every sample. With it
        ``GridSearchCV`` chooses atoms and penalties without labels."""
        rows = self._fitted_rows(X)
        turn = np.add.outer(np.arange(rows.shape[0]), np.arange(rows.shape[1])) % _FOLDS
        error = 0.0
        for fold in range(_FOLDS):
            hidden = turn == fold
            predicted = self._reconstructed(np.where(hidden, np.nan, rows).astype(rows.dtype))
            error += float(np.nansum(np.abs(rows - predicted)[hidden]))
        seen = np.ma.masked_invalid(rows)
        spread = float(np.abs(seen - np.ma.median(seen, axis=0)).sum() or 0)
        return 1 - error / spread if spread > 0 else float(error == 0)

    def score_samples(self, X: Any, folds: int | None = None) -> NDArray:
        """Normality (n,), higher = more normal: minus the share of misfit, in [-1, 0]; NaN where nothing is observed.

        folds : K >= 2 deals the features to K groups and judges each by codes that have not seen it; 0 judges all by the
            codes of all. None: 15 where there are fewer than 256 features, else 0. ``offset_`` and ``predict`` go with None.
        """
        return -self._trust(self._fitted_rows(X), folds)[0]

    def entry_confidence(self, X: Any, folds: int | None = None) -> Any:
        """Confidence in each entry (n, m), in [0, 1]; NaN where it is missing. Below 1/2 it is not trusted; it falls with
        the loss and never ends, so the least trusted entries have an order too. ``folds`` as in :meth:`score_samples`."""
        return self._like(X, self._trust(self._fitted_rows(X), folds)[1])

    def find_wrong_cells(self, X: Any, folds: int | None = None) -> NDArray:
        """The entries of X whose confidence is below 1/2, the least trusted first.

        A structured array, ready for ``pandas.DataFrame(cells)``, with ``row`` and ``column`` (from 0; a DataFrame's index,
        and the feature's name where the model has names), ``given``, ``expected`` (the model's value, seeing none of the
        entries found) and ``confidence``. ``folds`` as in :meth:`score_samples`.
        """
        rows = self._fitted_rows(X)
        i, k, *numbers = self._of_model(_core.wrong_cells, rows, folds=None if folds is None else integer("folds", folds))
        columns: dict[str, NDArray] = {
            "row": np.asarray(X.index)[i] if _is_frame(X, "index") else i,
            "column": np.asarray(self.feature_names_in_)[k] if hasattr(self, "feature_names_in_") else k,
            **dict(zip(("given", "expected", "confidence"), numbers)),
        }
        cells = np.empty(len(i), [(name, values.dtype) for name, values in columns.items()])
        for name, values in columns.items():
            cells[name] = values
        return cells

    def decision_function(self, X: Any) -> NDArray:
        """``score_samples(X) - offset_`` (n,): negative for outliers."""
        check_is_fitted(self)
        if np.isnan(self.offset_):
            raise _core.Error("offset_: a model file of version 1 has none; use score_samples, or fit again")
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray:
        """1 for inliers, -1 for outliers (n,)."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def fit_predict(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray:
        """``fit`` and ``predict`` of the same samples (n,)."""
        return self.fit(X, y, **fit_params).predict(X)

    def _rows(self, X: Any, reset: bool) -> NDArray:
        X = plain("X", X)
        if getattr(getattr(X, "columns", None), "is_unique", True) is False:
            raise _core.Error(f"X has two columns {X.columns[X.columns.duplicated()][0]}: names must be different")
        ndim = X.ndim if hasattr(X, "ndim") else np.asarray(X).ndim
        if ndim != 2:
            raise _core.Error(f"X has {ndim} dimensions: must have 2, samples by features. Reshape your data")
        try:
            X = validate_data(
                self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False
            )
        except (ValueError, TypeError) as error:
            text = "could not convert" in str(error) or "could not be promoted" in str(error)
            what = f"X{_text_in(X)}" if text else " ".join(str(error).split())
            raise (ValueError if text else type(error))(what) from None
        rows = as_rows("X", X)
        return rows if self.missing is None else np.where(rows == real("missing", self.missing), rows.dtype.type(np.nan), rows)

    def _fitted_rows(self, X: Any) -> NDArray:
        check_is_fitted(self)
        return self._rows(X, reset=False)

    def _of_model(self, step: Callable[..., Any], X: NDArray, **arguments: Any) -> Any:
        """What a step of the model returns, which works in the model's precision, in that of X"""
        own = self.components_.dtype
        tol = 1e-8 if own == np.float64 else 1e-6
        parts = step(X.astype(own, copy=False), self._model, **arguments, tol=tol, threads=thread_number(self.n_threads, self.n_jobs))
        return [part.astype(X.dtype, copy=False) if part is not None and part.dtype.kind == "f" else part for part in parts]

    def _like(self, X: Any, values: NDArray) -> Any:
        """Values (n, m) in the kind that ``set_output`` asks for; without it in that of X."""
        kind = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        if kind == "default" and _is_frame(X, "columns"):
            kind = type(X).__module__.partition(".")[0]
        if kind not in ("pandas", "polars"):
            return values
        frames = importlib.import_module(kind)
        names = X.columns if _is_frame(X, "columns") else getattr(self, "feature_names_in_", [f"x{k}" for k in range(values.shape[1])])
        if kind == "polars":
            return frames.DataFrame(values, schema=list(names), orient="row")
        return frames.DataFrame(values, columns=names, index=X.index if _is_frame(X, "index") else None)

    def _mended(self, X: NDArray) -> NDArray:
        return self._of_model(_core.mend, X)[0]

    def _trust(self, X: NDArray, folds: int | None) -> tuple[NDArray, NDArray]:
        return self._of_model(_core.score, X, folds=None if folds is None else integer("folds", folds))

    def _imputed(self, X: NDArray) -> NDArray:
        missing = np.isnan(X)
        return np.where(missing, self._mended(X), X) if missing.any() else X.copy()

    def _reconstructed(self, X: NDArray) -> NDArray:
        return self._decoded(*self._of_model(_core.encode, X))

    def _decoded(self, codes: NDArray, sample_scale: NDArray | None = None) -> NDArray:
        own = self.components_.dtype
        scale = None if sample_scale is None else sample_scale.astype(own)
        return _core.reconstruct(codes.astype(own, copy=False), self._model, scale).astype(codes.dtype, copy=False)

    def verify(
        self,
        X: Any,
        sample_weight: ArrayLike | None = None,
        feature_weight: ArrayLike | None = None,
        entry_weight: ArrayLike | None = None,
        graph: Any = None,
        graph_points: ArrayLike | None = None,
    ) -> list[Figure]:
        """Objective, certificates, selected share and density recomputed from what ``fit`` was given, to be given again:
        a list of ``(name, stated, found, same)``. ``all(figure.same for figure in coder.verify(X))`` is the short answer."""
        X = self._fitted_rows(X).astype(self.components_.dtype, copy=False)
        given = weighted(X, sample_weight, feature_weight, entry_weight)
        parts = _graph_parts(graph, graph_points)
        figures = _core.verify(given, self._model, parts, thread_number(self.n_threads, self.n_jobs))
        return [Figure(name.strip(), stated, found, same) for name, stated, found, same in figures]

    # ---- files

    def save(self, path: str | os.PathLike) -> None:
        """Writes the fitted model, whole or not at all, for :meth:`load`, the program and C++. Of the parameters it holds
        what the fit depends on, at the values used: not ``n_threads``, ``verbose``, ``callback`` and ``max_seconds``."""
        check_is_fitted(self)
        self._model.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike) -> SelfPacedSparseCoder:
        """A model that :meth:`save`, the program (``pacewise fit``) or C++ wrote; also the .npz of versions before 0.6."""
        path = os.fspath(path)
        if not os.path.exists(path):
            raise FileNotFoundError(f"{path}: there is no such file")
        result = _core.describe(from_npz(path)) if zipfile.is_zipfile(path) else _core.load(path)
        options = result["options"]
        coder = cls()
        coder.set_params(**{name: value for name, value in options.items() if name in coder.get_params() and value is not None})
        own = [row["name"] for row in _core.option_table() if row["regularizer"]]
        coder.regularizer_params = {name: options[name] for name in own if name in options} or None
        coder._keep(result)
        coder.n_features_in_ = result["features"]
        if result["feature_names"]:
            coder.feature_names_in_ = np.array(result["feature_names"], dtype=object)
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


class SparseCodeImputer(OneToOneFeatureMixin, SelfPacedSparseCoder):
    """Fills in missing values (NaN) by :class:`SelfPacedSparseCoder`, whose parameters and attributes it has: ``transform`` is
    ``impute``, so that it can stand in a Pipeline."""

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray:
        """X (n, m) with every NaN replaced, after a fit to it."""
        return self.fit(X, y, **fit_params).transform(X)

    def transform(self, X: Any) -> NDArray:
        """X (n, m) with every NaN replaced by the model's value."""
        return self._imputed(self._fitted_rows(X))

    @property
    def inverse_transform(self) -> Any:  # type: ignore[override]
        raise AttributeError("what was filled in is not known any more")


if SelfPacedSparseCoder.__doc__ is not None:  # python -OO has none
    SelfPacedSparseCoder.__doc__ = SelfPacedSparseCoder.__doc__.replace(
        "{options}", parameters_doc().replace("\n", "\n    ")
    ).replace("{regularizer_params}", regularizer_params_doc())

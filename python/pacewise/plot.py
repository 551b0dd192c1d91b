"""Pictures of a fit: matplotlib axes in, axes out. Without ``ax`` a new figure is made."""

from __future__ import annotations

import math
from typing import Any, Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ._arrays import as_array, as_rows
from ._core import option_table
from ._steps import pace_weights


def _of(model: Any, name: str) -> Any:
    """What a fitted coder has by this name; other things are taken for it"""
    if hasattr(model, "get_params"):
        check_is_fitted(model)
    return getattr(model, name, model)


def _axes(ax: Axes | None) -> Axes:
    return plt.subplots()[1] if ax is None else ax


def _image_shape(m: int, shape: tuple[int, int] | None) -> tuple[int, int]:
    """The given shape, or the nearest to a square that holds m."""
    if shape is not None:
        if len(shape) != 2 or shape[0] * shape[1] != m:
            raise ValueError(f"shape = {shape}: must be two numbers with the product {m}, the number of features")
        return shape[0], shape[1]
    height = next(h for h in range(math.isqrt(m), 0, -1) if m % h == 0)
    return height, m // height


def atoms(model: Any, shape: tuple[int, int] | None = None, n: int = 64, ax: Axes | None = None) -> Axes:
    """The first n atoms as one mosaic of images, each scaled to its largest entry.

    model : a fitted coder, or a dictionary (r, m)
    shape : of one atom, e.g. (28, 28)
    """
    components = as_rows("components_", _of(model, "components_"))[:n]
    h, w = _image_shape(components.shape[1], shape)
    columns = math.ceil(math.sqrt(len(components)))
    rows = math.ceil(len(components) / columns)
    mosaic = np.full((rows * (h + 1) - 1, columns * (w + 1) - 1), np.nan)
    for k, atom in enumerate(components):
        i, j = divmod(k, columns)
        top = np.abs(atom).max()
        mosaic[i * (h + 1) : i * (h + 1) + h, j * (w + 1) : j * (w + 1) + w] = atom.reshape(h, w) / (top if top > 0 else 1)
    ax = _axes(ax)
    ax.imshow(mosaic, cmap="RdBu_r", vmin=-1, vmax=1, interpolation="nearest")
    ax.set_axis_off()
    ax.set_title(f"{len(components)} atoms")
    return ax


def weights(model: Any, sample: int | None = None, shape: tuple[int, int] | None = None, ax: Axes | None = None) -> Axes:
    """Self-paced weights: their histogram, or those of one sample's entries as an image (level "element").

    model : a fitted coder, or an array of weights
    """
    given = _of(model, "weights_")
    if given is None:
        raise ValueError("weights_ is None: at level 'none' there are no self-paced weights")
    values = as_array("weights_", given)
    if sample is not None and (values.ndim != 2 or not 0 <= sample < len(values)):
        raise ValueError(f"sample = {sample}: must be one of the {len(values)} samples, at a level with weights for their entries")
    ax = _axes(ax)
    if sample is not None:
        ax.imshow(values[sample].reshape(_image_shape(values.shape[1], shape)), cmap="gray", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[], title=f"weights of sample {sample}")  # with a frame: most weights are white
        return ax
    ax.hist(values.reshape(-1), bins=50, range=(0, 1))
    ax.set_xlabel("self-paced weight")
    ax.set_ylabel("units")
    ax.set_yscale("log")
    return ax


def convergence(model: Any, ax: Axes | None = None) -> Axes:
    """Objective per iteration, by phase. Values are joined by a line where lambda stays; across a change of lambda they
    are not comparable.

    model : a fitted coder, or its ``history_``
    """
    history = _of(model, "history_")
    if not isinstance(history, dict):
        raise ValueError("model is neither a fitted coder nor its history_")
    iteration, value, phase, lam = (np.asarray(history[key]) for key in ("iteration", "objective", "phase", "lambda"))
    ax = _axes(ax)
    for name in dict.fromkeys(phase):
        inside = phase == name
        moves = len(set(lam[inside])) > 1
        label = f"{name} (lambda moves)" if moves else str(name)
        ax.plot(iteration[inside], value[inside], "o" if moves else "o-", markersize=3, label=label)
    ax.set_xlabel("iteration")
    ax.set_ylabel("objective")
    ax.legend(fontsize="small")
    return ax


def stages(model: Any, ax: Axes | None = None) -> Axes:
    """Error of hidden entries at every stage of a descending pace, with the standard error of its difference to "all in",
    and where the pace stopped.

    model : a fitted coder
    """
    _of(model, "stages_")
    judged = np.flatnonzero(model.stages_["hidden"] > 0) if model.stages_ else np.empty(0, int)
    if not len(judged):
        raise ValueError("stages_ has no hidden entries: they judge a descending pace, and none where lambda_scale is given")
    scale, error, deviation = (model.stages_[key][judged] for key in ("scale", "error", "gain_error"))
    deviation = np.where((judged > 0) & np.isfinite(deviation), deviation, 0)
    ax = _axes(ax)
    ax.errorbar(judged, error, deviation, fmt="o-", markersize=3, capsize=2)
    if model.stage_ is not None:
        ax.axvline(model.stage_, color="grey", linewidth=1, zorder=0)
        near_end = model.stage_ > judged.mean()
        ax.annotate(
            "stopped here",
            (model.stage_, 1),
            (-4 if near_end else 4, -4),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="right" if near_end else "left",
            va="top",
        )
    ax.set_xticks(judged, ["all in" if np.isinf(s) else f"{s:.2g}" for s in scale], rotation=45)
    ax.set_xlabel("lambda in robust scales of the residuals")
    ax.set_ylabel("error of hidden entries")
    return ax


def pace(
    regularizers: Any = None,
    lam: float = 1.0,
    loss: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Weight against loss for one or several regularizers at the same lambda; or, for a fitted coder, the share of units let
    in and their mean weight per iteration.

    regularizers : a name, several (all of them if left out), or a fitted coder
    """
    if hasattr(regularizers, "get_params"):
        return _pace_of(_of(regularizers, "history_"), _axes(ax))
    if regularizers is None:
        regularizers = next(row["choices"] for row in option_table() if row["name"] == "regularizer")
    names: Sequence[str] = [regularizers] if isinstance(regularizers, str) else regularizers
    losses = np.linspace(0, 1.5 * lam, 301) if loss is None else np.asarray(loss, dtype=float)
    ax = _axes(ax)
    for name in names:
        ax.plot(losses, pace_weights(losses, lam, regularizer=name), label=name)
    ax.set_xlabel("loss")
    ax.set_ylabel("weight")
    ax.legend(fontsize="x-small", loc="upper right")
    return ax


def _pace_of(history: dict[str, Any], ax: Axes) -> Axes:
    ax.plot(history["iteration"], history["selected"], "o-", markersize=3, label="share let in")
    ax.plot(history["iteration"], history["mean_weight"], "o-", markersize=3, label="mean weight")
    ax.set(xlabel="iteration", ylim=(0, 1.05))
    ax.legend(fontsize="small")
    return ax

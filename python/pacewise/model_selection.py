"""Choosing atoms and penalty without labels: some entries are hidden, and the choice that predicts them best wins.

Leaving out whole samples says little about a dictionary, since a new sample's codes are fitted to that very sample. Single
entries left out all over the table ("speckled" cross-validation) are never seen by the codes either.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sklearn.base import clone


class Choice(NamedTuple):
    """What :func:`choose_by_held_out_entries` found."""

    params: dict[str, Any]  # the best: n_components, beta
    table: list[dict[str, Any]]  # for every candidate: atoms, beta_ratio, error, scale; best first
    estimator: Any  # fitted to all of X with them


def choose_by_held_out_entries(estimator: Any, X: Any, **fit_params: Any) -> Choice:
    """Atoms and beta of :class:`~pacewise.SelfPacedSparseCoder` as ``n_components="auto", beta="auto"`` choose them.

    Other options by other measures: ``GridSearchCV(estimator, grid)``, whose score is of entries that codes have not seen.
    """
    fitted = clone(estimator).set_params(n_components="auto", beta="auto").fit(X, **fit_params)
    table = sorted(fitted.candidates_, key=lambda candidate: candidate["error"])
    return Choice({"n_components": fitted.n_components_, "beta": fitted.beta_}, table, fitted)

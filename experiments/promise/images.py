"""Rows on images: functions of the fits of a seed and the folder of the data, which yield figures."""

import numpy as np
import pacewise
from sklearn.metrics import roc_auc_score

from .fits import GROUPS, Figure, called, clusters, error, found, prepared

ERRORS = [
    ("pie", "salt", 0.05, 0.115), ("pie", "salt", 0.2, 0.145), ("pie", "salt", 0.4, 0.23),
    ("coil20", "salt", 0.2, 0.24), ("coil20", "salt", 0.4, 0.34), ("mnist", "salt", 0.2, 0.44), ("mnist", "salt", 0.4, 0.60),
    *((name, how, amount, None) for name in ("pie", "coil20", "mnist") for how, amount in (("clean", 0), ("noise", 0.4))),
]  # fmt: skip


def compare_errors(fits, case, damaged, bar):
    X, clean = damaged.X, damaged.clean
    plain, plain_seconds = fits.all_in(X, graph="none")
    model, seconds = fits.fit(X, graph="none")
    all_in = error(plain, X, clean)
    yield Figure(case, "error, all in", all_in)
    yield Figure(case, "error", error(model, X, clean), 1.02 * all_in if bar is None else bar)
    yield Figure(case, "seconds, all in", plain_seconds)
    yield Figure(case, "seconds, times all in", seconds / plain_seconds, 3)


def errors(fits, folder):
    for name, how, amount, bar in ERRORS:
        damaged, _ = prepared(name, how, amount, fits.seed, folder)
        yield from compare_errors(fits, called(name, how, amount), damaged, bar)


HIDDEN = [("pie", 0.2, 0.145), ("pie", 0.4, 0.215), ("fashion", 0.2, 0.35), ("fashion", 0.4, 0.40), ("digits", 0.05, 0.345), ("digits", 0.2, 0.44)]


def hidden(fits, folder):
    """The error of entries that the fit did not see, with atoms and penalty chosen by entries it hides itself."""
    for name, amount, bar in HIDDEN:
        case = called(name, "salt", amount)
        (X, clean, *_), _ = prepared(name, "salt", amount, fits.seed, folder)
        holes = np.random.default_rng(200 + fits.seed).uniform(size=X.shape) < 0.05
        X = np.where(holes, np.nan, X)
        yield Figure(case, "error, 128 atoms, all in", error(fits.all_in(X, graph="none")[0], X, clean, holes))
        model, seconds = fits.fit(X, graph="none")
        yield Figure(case, "atoms", len(model.components_))
        yield Figure(case, "seconds", seconds)
        yield Figure(case, "error", error(model, X, clean, holes), bar)


def everything(fits, folder):
    """All defaults: the graph too."""
    for amount, bars in ((0.2, (0.145, 0.86, 0.94)), (0.4, (0.20, 0.67, 0.86))):
        case = called("pie", "salt", amount)
        damaged, labels = prepared("pie", "salt", amount, fits.seed, folder)
        for what, fit in (("", fits.fit), (", all in", fits.all_in)):
            model, seconds = fit(damaged.X)
            figures = [error(model, damaged.X, damaged.clean), *clusters(model, labels, damaged.good)]
            for i, name in enumerate(("error", "ACC", "NMI")):
                yield Figure(case, name + what, figures[i], None if what else bars[i], i > 0)
            yield Figure(case, "seconds" + what, seconds)


DAMAGES = [("clean", 0), ("noise", 0.4), ("noise", 1), ("salt", 0.05), ("salt", 0.2), ("salt", 0.4), ("block", 0.4), ("outliers", 0.1)]


def cluster_cases(fits, folder):
    """All defaults on 24 cases."""
    scores = {"": [], ", all in": []}
    for name in ("pie", "coil20", "mnist"):
        for how, amount in DAMAGES:
            damaged, labels = prepared(name, how, amount, fits.seed, folder)
            for what, fit in (("", fits.fit), (", all in", fits.all_in)):
                model, _ = fit(damaged.X)
                scores[what].append([error(model, damaged.X, damaged.clean, damaged.good), *clusters(model, labels, damaged.good)])
                for label, value in zip(("error", "ACC", "NMI"), scores[what][-1]):
                    yield Figure(called(name, how, amount), label + what, value)
    for what, values in scores.items():
        for label, value, bar in zip(("error", "ACC", "NMI"), np.mean(values, axis=0), (None, 0.735, 0.788)):
            yield Figure("mean of 24", label + what, value, None if what else bar, True)


def blocks(fits, folder):
    """A block on 40 % of the faces: one weight for what is wrong together."""
    (X, clean, wrong, _), _ = prepared("pie", "block", 0.4, fits.seed, folder)
    yield Figure("PIE", "error, all in, no graph", error(fits.all_in(X, graph="none")[0], X, clean))
    model, _ = fits.fit(X, graph="none")
    yield Figure("PIE", "error, entries, no graph", error(model, X, clean))
    yield from found("PIE", "entries, no graph", wrong, model.loss_)
    for what, settings, bars in (("groups", {}, (0.93, 0.60, 0.24)), ("groups, no graph", {"graph": "none"}, (None, None, None))):
        model, seconds = fits.fit(X, **GROUPS, **settings)
        yield from found("PIE", what, wrong, 1 - model.entry_confidence(X), bars)
        yield Figure("PIE", f"error, {what}", error(model, X, clean), bars[2])
        yield Figure("PIE", f"seconds, {what}", seconds)


def samples(fits, folder):
    """A tenth of the faces replaced by noise; the error of the others, which is large where a good one was given no codes."""
    (X, clean, _, good), _ = prepared("pie", "outliers", 0.1, fits.seed, folder)
    plain, plain_seconds = fits.all_in(X, graph="none")
    model, seconds = fits.fit(X, level="sample", graph="none")
    yield Figure("PIE", "error, all in", error(plain, X, clean, good))
    yield Figure("PIE", "error", error(model, X, clean, good), 0.084)
    codes = pacewise.sparse_encode(X, model.components_, beta=model.beta_, n_threads=1)  # of rejected samples too
    yield Figure("PIE", "error, coded again", np.linalg.norm((codes @ model.components_ - clean)[good]) / np.linalg.norm(clean[good]))
    yield Figure("PIE", "AUROC of the samples, loss", roc_auc_score(~good, model.loss_))
    yield Figure("PIE", "seconds, times all in", seconds / plain_seconds)

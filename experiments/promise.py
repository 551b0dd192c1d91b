#!/usr/bin/env python3
"""What the robust fit reaches on damaged data, each figure beside the bar set for it.

    python experiments/promise.py --data DIR [--only ROW ..] [--seeds 5] [--csv FILE] [--set regularizer=welsch ..]

Rows: errors, hidden, everything, clusters, blocks, samples, exchanged, imputation. Each seed draws the damage and the first
atoms anew. Everything runs on one thread. docs/reproduce.md says what the figures are."""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_WAIT_POLICY"] = "passive"

import argparse  # noqa: E402
import ast  # noqa: E402
import csv  # noqa: E402
import functools  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import NamedTuple  # noqa: E402

import numpy as np  # noqa: E402
from sklearn import datasets as sklearn_data  # noqa: E402
from sklearn.decomposition import PCA  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.experimental import enable_iterative_imputer  # noqa: E402, F401
from sklearn.impute import IterativeImputer, KNNImputer  # noqa: E402
from sklearn.metrics import average_precision_score, roc_auc_score  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import pacewise  # noqa: E402
from experiments.paper.data import load, unit  # noqa: E402
from experiments.paper.study import BadInput  # noqa: E402

FASHION = "/usr/share/datasets/fashion-mnist"
NAMES = {"pie": "PIE", "coil20": "COIL20", "mnist": "MNIST", "fashion": "Fashion", "digits": "digits"}
RUNS = 6  # of k-means
AUTO = {"n_components": "auto", "beta": "auto"}
GROUPS = {"level": "group", "shape": (32, 32), "window": 5, "lambda_scale": 0.7}


class Figure(NamedTuple):
    case: str
    what: str
    value: float
    bar: float | None = None  # None: beside the others, for comparison
    least: bool = False  # the bar is a least value, not a greatest


# ---- data and damage


def images(name, folder):
    """Grey values (n, pixels), labels, the largest grey."""
    if name == "digits":
        d = sklearn_data.load_digits()
        return d.data, d.target, 16
    if name == "fashion":
        folder = folder if (Path(folder) / "t10k-images-idx3-ubyte.gz").exists() else FASHION
        d = load(name, folder)
        keep = np.concatenate([np.flatnonzero(d.labels == label)[:100] for label in np.unique(d.labels)])
        return d.values[keep], d.labels[keep], 255
    d = load(name, folder)
    return d.values, d.labels, 255


class Damaged(NamedTuple):
    X: np.ndarray  # unit norm
    clean: np.ndarray  # the undamaged ones, in the same units
    wrong: np.ndarray  # which entries were replaced
    good: np.ndarray  # which samples still are what their label says


def damage(clean, how, amount, seed, largest=255):
    random = np.random.default_rng(100 + seed)
    X, wrong, good = clean.astype(float), np.zeros(clean.shape, bool), np.ones(len(clean), bool)
    if how == "salt":
        wrong = random.uniform(size=X.shape) < amount
        X = np.where(wrong, largest * random.integers(0, 2, X.shape), X)
    elif how == "noise":
        X = X + amount * X.std() * random.normal(size=X.shape)
    elif how == "block":
        side = round(np.sqrt(X.shape[1]))
        for j in np.flatnonzero(random.uniform(size=len(X)) < amount):
            a, b = random.integers(0, side - 14 + 1, 2)
            where = np.s_[a : a + 14, b : b + 14]
            X[j].reshape(side, side)[where] = random.uniform(0, largest)
            wrong[j].reshape(side, side)[where] = True
    elif how == "outliers":
        bad = random.choice(len(X), round(amount * len(X)), replace=False)
        X[bad], good[bad] = random.uniform(0, largest, (len(bad), X.shape[1])), False
    norms = np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    return Damaged(X / norms, clean / norms, wrong, good)


def prepared(name, how, amount, seed, folder):
    clean, labels, largest = images(name, folder)
    return damage(clean, how, amount, seed, largest), labels


def called(name, how, amount):
    share = {"salt": f"{100 * amount:.0f} %", "noise": f"noise {amount}"}.get(how, how)
    return f"{NAMES[name]} {share}"


# ---- fits


class Fits:
    """Fits of one seed, with what the command line sets for all of them."""

    def __init__(self, seed, changed=None):
        self.seed, self.changed = seed, changed or {}

    def coder(self, **settings):
        return pacewise.SelfPacedSparseCoder(**{"random_state": self.seed, "n_threads": 1, **settings, **self.changed})

    def fit(self, X, **settings):
        """The model, and its seconds."""
        began = time.perf_counter()
        model = self.coder(**settings).fit(X)
        return model, time.perf_counter() - began

    def all_in(self, X, **settings):
        self_paced = ("regularizer", "regularizer_params", "level")
        plain = Fits(self.seed, {k: v for k, v in self.changed.items() if k not in self_paced})
        return plain.fit(X, **{**settings, "level": "none"})


@functools.cache
def there(*names):
    """Whether the installed package has these options with these values."""
    settings = {name: {**AUTO, **GROUPS}[name] for name in names}
    X = np.random.default_rng(0).uniform(size=(40, 1024 if "shape" in names else 12))
    try:
        pacewise.SelfPacedSparseCoder(**{"n_components": 4, **settings}, graph="none", n_threads=1, max_iter=2).fit(X)
    except (TypeError, ValueError):
        return False
    return True


def error(model, X, clean, keep=slice(None)):
    """|BS - clean| / |clean| over `keep`: samples, or a mask of entries."""
    norms = np.sqrt(np.nansum(X * X, axis=1, keepdims=True))
    BS = model.inverse_transform(model.codes_) * norms
    return np.linalg.norm((BS - clean)[keep]) / np.linalg.norm(clean[keep])


def clusters(model, labels, good):
    runs = pacewise.kmeans(model.codes_, len(np.unique(labels)), n_init=RUNS, unit_norm=True, random_state=0, n_threads=1, return_all=True)
    scores = [pacewise.clustering_scores(labels[good], np.asarray(run.labels)[good]) for run in runs]
    return [float(np.mean([s[name] for s in scores])) for name in ("acc", "nmi")]


def found(case, what, wrong, doubt, bars=(None, None)):
    wrong, doubt = wrong.ravel(), doubt.ravel()
    yield Figure(case, f"AUROC, {what}", roc_auc_score(wrong, doubt), bars[0], True)
    yield Figure(case, f"average precision, {what}", average_precision_score(wrong, doubt), bars[1], True)


# ---- rows: functions of the fits of a seed and the folder of the data, which yield figures

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
    auto = there("n_components", "beta")
    for name, amount, bar in HIDDEN:
        case = called(name, "salt", amount)
        (X, clean, *_), _ = prepared(name, "salt", amount, fits.seed, folder)
        holes = np.random.default_rng(200 + fits.seed).uniform(size=X.shape) < 0.05
        X = np.where(holes, np.nan, X)
        yield Figure(case, "error, 128 atoms, all in", error(fits.all_in(X, graph="none")[0], X, clean, holes))
        if auto:
            model, seconds = fits.fit(X, graph="none", **AUTO)
            yield Figure(case, "atoms", len(model.components_))
            yield Figure(case, "seconds", seconds)
            yield Figure(case, "error", error(model, X, clean, holes), bar)
        else:
            yield Figure(case, "error, 128 atoms", error(fits.fit(X, graph="none")[0], X, clean, holes))
            yield Figure(case, "error: not there", np.nan, bar)


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
    if not there(*GROUPS):
        for what, bar in (("AUROC", 0.93), ("average precision", 0.60), ("error", 0.24)):
            yield Figure("PIE", f"{what}, groups: not there", np.nan, bar, what != "error")
        return
    for what, settings, bars in (("groups", {}, (0.93, 0.60, 0.24)), ("groups, no graph", {"graph": "none"}, (None, None, None))):
        model, seconds = fits.fit(X, **GROUPS, **settings)
        yield from found("PIE", what, wrong, 1 - model.entry_confidence(X), bars)
        yield Figure("PIE", f"error, {what}", error(model, X, clean), bars[2])
        yield Figure("PIE", f"seconds, {what}", seconds)


def samples(fits, folder):
    """A tenth of the faces replaced by noise; the error of the others."""
    (X, clean, _, good), _ = prepared("pie", "outliers", 0.1, fits.seed, folder)
    plain, plain_seconds = fits.all_in(X, graph="none")
    model, seconds = fits.fit(X, level="sample", graph="none")
    yield Figure("PIE", "error, all in", error(plain, X, clean, good))
    yield Figure("PIE", "error", error(model, X, clean, good), 0.084)
    yield Figure("PIE", "AUROC of the samples, loss", roc_auc_score(~good, model.loss_))
    yield Figure("PIE", "seconds, times all in", seconds / plain_seconds)


# ---- tables

GRID = {"n_components": [4, 8, 15, 30], "beta": [0.1, 0.5]}


def standardized(X):
    return (X - np.nanmean(X, 0)) / np.maximum(np.nanstd(X, 0), 1e-12)


def capped_square(difference):
    return np.minimum(difference**2, 4).mean()


def fit_table(fits, Z):
    """Atoms and penalty chosen by hidden entries: by the fit itself, or where the package cannot, from a grid."""
    if there("n_components", "beta"):
        return fits.fit(Z, graph="none", normalize="robust", **AUTO)[0]
    grid = {name: values for name, values in GRID.items() if name not in fits.changed}
    coder = fits.coder(graph="none", normalize="robust")
    return pacewise.model_selection.choose_by_held_out_entries(coder, Z, grid, n_splits=1, error=capped_square).estimator


def exchanged(fits, _):
    """The table of docs/guide.md, section 2: 4 % of the entries exchanged within their column."""
    random = np.random.default_rng(fits.seed)
    clean = np.log1p(sklearn_data.load_breast_cancer().data)
    wrong = random.uniform(size=clean.shape) < 0.04
    Z = standardized(np.where(wrong, random.permuted(clean, axis=0), clean))
    scores = {}
    for k in (3, 6, 9, 12, 15):
        p = PCA(k).fit(Z)
        scores[k] = list(found("cancer", f"PCA, {k}", wrong, np.abs(Z - p.inverse_transform(p.transform(Z)))))
    best = [max((s[i] for s in scores.values()), key=lambda figure: figure.value) for i in (0, 1)]
    yield from best
    bars = [max(bar, figure.value) for bar, figure in zip((0.85, 0.43), best)]
    model = fit_table(fits, Z)
    yield Figure("cancer", "atoms", len(model.components_))
    yield from found("cancer", "confidence", wrong, 1 - model.entry_confidence(Z), bars)
    yield from found("cancer", "loss", wrong, model.loss_)


TABLES = {"cancer": lambda: np.log1p(sklearn_data.load_breast_cancer().data), "wine": lambda: sklearn_data.load_wine().data,
          "diabetes": lambda: sklearn_data.load_diabetes().data, "digits": lambda: sklearn_data.load_digits().data[:600]}  # fmt: skip


def holed(clean, dirty, seed):
    """A fifth of the entries missing; where dirty, 5 % of the others off by five standard deviations of their column."""
    random = np.random.default_rng(seed)
    holes = random.uniform(size=clean.shape) < 0.2
    X = np.where(holes, np.nan, clean)
    if dirty:
        wrong = random.uniform(size=clean.shape) < 0.05
        X = X + 5 * wrong * random.choice([-1, 1], clean.shape) * clean.std(0)
    return X, holes


def imputation(fits, _):
    """The error of imputed values over that of the column's mean."""
    won = {True: 0, False: 0}
    for dirty in (True, False):
        for name, read in TABLES.items():
            case = f"{name}, {'5 % wrong' if dirty else 'clean'}"
            clean = read()
            clean = clean[:, clean.std(0) > 0]
            X, holes = holed(clean, dirty, fits.seed)
            shift, scale = np.nanmean(X, 0), np.nanstd(X, 0)

            def rated(imputed):
                # imputed is in standardised units of what is given; the clean table's are those of the score
                difference = (imputed * scale + shift - clean) / clean.std(0)
                return np.sqrt((difference[holes] ** 2).mean())

            Z = standardized(X)
            scores = {}
            for label, imputer in (("KNNImputer", KNNImputer()), ("IterativeImputer", IterativeImputer(random_state=0))):
                scores[label] = rated(imputer.set_params(keep_empty_features=True).fit_transform(Z))
                yield Figure(case, label, scores[label])
            model = fit_table(fits, Z)
            value = rated(model.impute(Z))
            won[dirty] += value < min(scores.values())
            yield Figure(case, "atoms", len(model.components_))
            yield Figure(case, "pacewise", value, min(scores.values()) if dirty else None)
    yield Figure("5 % wrong", "tables won", won[True], 3, True)
    yield Figure("clean", "tables won", won[False])


ROWS = {"errors": errors, "hidden": hidden, "everything": everything, "clusters": cluster_cases, "blocks": blocks, "samples": samples,
        "exchanged": exchanged, "imputation": imputation}  # fmt: skip


# ---- the table


def summary(figures):
    """Of (row, seed, figure): for every row, case and what, the means over seeds, how far apart, and whether the bar is met."""
    groups = {}
    for row, _, f in figures:
        groups.setdefault((row, f.case, f.what), []).append(f)
    for key, group in groups.items():
        value = float(np.mean([f.value for f in group]))
        bar = None if group[0].bar is None else float(np.mean([f.bar for f in group]))
        spread = float(np.std([f.value for f in group], ddof=1)) if len(group) > 1 else None
        met = "" if bar is None else "reached" if (value >= bar if group[0].least else value <= bar) else "MISSED"
        yield *key, value, spread, len(group), bar, met


def show(figures):
    print(f"\n{'row':11} {'case':20} {'figure':36} {'mean':>8} {'sd':>6} {'seeds':>5} {'bar':>7}")
    for row, case, what, value, spread, seeds, bar, met in summary(figures):
        sd, limit = "" if spread is None else f"{spread:.3f}", "" if bar is None else f"{bar:.3f}"
        print(f"{row:11} {case:20} {what:36} {value:8.3f} {sd:>6} {seeds:5} {limit:>7} {met}")


def setting(text):
    name, _, value = text.partition("=")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def main(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=ROWS, default=list(ROWS), metavar="ROW")
    parser.add_argument("--data", default=os.environ.get("PACEWISE_DATA", ROOT.parent / "shared" / "data"), help="folder with COIL20, CMU-PIE, MNIST")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--csv", help="every figure is added to this file")
    parser.add_argument("--set", nargs="+", type=setting, default=[], metavar="NAME=VALUE", help="options of every fit")
    arguments = parser.parse_args(words)
    warnings.simplefilter("ignore", ConvergenceWarning)  # the iterative imputer's ten rounds
    changed, figures = dict(arguments.set), []
    try:
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
            for row in arguments.only:
                for figure in ROWS[row](Fits(seed, changed), arguments.data):
                    figures.append((row, seed, figure))
                    print(seed, row, *figure[:2], f"{figure.value:.4f}", "" if figure.bar is None else f"bar {figure.bar:.3f}", flush=True)
                    if arguments.csv:
                        with open(arguments.csv, "a", newline="") as file:
                            csv.writer(file).writerow([row, seed, *figure, changed, pacewise.__version__])
    except KeyboardInterrupt:
        print("stopped")
    except BadInput as fault:
        raise SystemExit(str(fault)) from None
    show(figures)


if __name__ == "__main__":
    main()

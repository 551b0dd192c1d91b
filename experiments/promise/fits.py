"""Damaged data, fits of them, and what is measured."""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pacewise
from sklearn import datasets as sklearn_data
from sklearn.metrics import average_precision_score, roc_auc_score

from ..paper.data import load

FASHION = "/usr/share/datasets/fashion-mnist"
NAMES = {"pie": "PIE", "coil20": "COIL20", "mnist": "MNIST", "fashion": "Fashion", "digits": "digits"}
RUNS = 6  # of k-means
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
    wrong: np.ndarray  # which entries were replaced by another value
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
    wrong &= X != clean  # a black pixel struck black is right
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
        """The model, and its seconds of one processor, whoever else is on the machine."""
        began = time.process_time()
        model = self.coder(**settings).fit(X)
        return model, time.process_time() - began

    def all_in(self, X, **settings):
        """Every entry trusted, with 128 atoms."""
        self_paced = ("regularizer", "regularizer_params", "level")
        plain = Fits(self.seed, {k: v for k, v in self.changed.items() if k not in self_paced})
        return plain.fit(X, **{"n_components": 128, **settings, "level": "none"})


def error(model, X, clean, keep=slice(None)):
    """|BS - clean| / |clean| over `keep`: samples, or a mask of entries."""
    norms = np.sqrt(np.nansum(X * X, axis=1, keepdims=True))
    codes = model.transform(X) if model.level == "sample" else model.codes_  # a sample that is left out has codes 0 in the fit
    BS = model.inverse_transform(codes) * norms
    return np.linalg.norm((BS - clean)[keep]) / np.linalg.norm(clean[keep])


def clusters(model, labels, good):
    runs = pacewise.kmeans(model.codes_, len(np.unique(labels)), n_init=RUNS, unit_norm=True, random_state=0, n_threads=1, return_all=True)
    scores = [pacewise.clustering_scores(labels[good], np.asarray(run.labels)[good]) for run in runs]
    return [float(np.mean([s[name] for s in scores])) for name in ("acc", "nmi")]


def found(case, what, wrong, doubt, bars=(None, None)):
    wrong, doubt = wrong.ravel(), doubt.ravel()
    yield Figure(case, f"AUROC, {what}", roc_auc_score(wrong, doubt), bars[0], True)
    yield Figure(case, f"average precision, {what}", average_precision_score(wrong, doubt), bars[1], True)

#!/usr/bin/env python3
"""Wrong entries found by codes that have seen them and by codes that have not, in 5 folds; clean samples called outliers
(docs/defaults.md).

    python experiments/score_folds.py --data DIR

DIR holds the images of docs/reproduce.md. With Jasper.mat and glass.csv in DIR/jobs there are spectra too."""

import argparse
import pathlib
import time

import numpy as np
import scipy.io
import sklearn.datasets
from sklearn.metrics import average_precision_score, roc_auc_score

from pacewise import SelfPacedSparseCoder, datasets

WRONG = 0.05  # share of the entries
MOST = 600  # samples


def shrunk(X, side, factor):
    """Images by means of factor x factor pixels"""
    count = side // factor
    X = X.reshape(-1, side, side)[:, : count * factor, : count * factor]
    return X.reshape(-1, count, factor, count, factor).mean((2, 4)).reshape(len(X), -1)


def all_sets(folder, rng):
    """name, kind, X (n, m)"""

    def some(X):
        return X[rng.choice(len(X), min(MOST, len(X)), replace=False)].astype(float)

    for name in ("breast_cancer", "wine", "diabetes", "digits"):
        X = getattr(sklearn.datasets, f"load_{name}")().data
        yield name, "table", some(X[:, X.std(0) > 0])
    if (folder / "jobs").exists():
        yield "Jasper", "spectra", some(scipy.io.loadmat(folder / "jobs" / "Jasper.mat")["Y"].T)
        yield "glass", "spectra", some(datasets.load(folder / "jobs" / "glass.csv").data[:, 1:])
    yield "digits", "images", some(sklearn.datasets.load_digits().data)
    for name, side in (("coil20", 32), ("pie", 32), ("mnist-test", 28)):
        X = some(datasets.load(name, data_home=folder).data)
        for factor in (4, 2, 1):
            yield name, "images", shrunk(X, side, factor)


def damaged(X, how, rng):
    """A share of the entries: the value of another row, or five standard deviations of the column off"""
    if how == "exchanged":
        other = np.take_along_axis(X, rng.integers(len(X), size=X.shape), 0)
    else:
        other = X + 5 * X.std(0) * rng.choice([-1, 1], X.shape)
    out = np.where(rng.uniform(size=X.shape) < WRONG, other, X)
    return out, out != X


def fitted(X, kind, atoms, seed):
    scaled = "robust" if kind == "table" else "unit"
    return SelfPacedSparseCoder(atoms, graph="none", normalize=scaled, random_state=seed, n_threads=1).fit(X)


def atom_counts(m):
    """Few, half as many as features, and twice"""
    return sorted({min(128, count) for count in (max(3, m // 5), max(3, m // 2), 2 * m)})


def found(coder, Y, wrong, folds):
    start = time.perf_counter()
    doubt = 1 - coder.entry_confidence(Y, folds=folds)
    seconds = time.perf_counter() - start
    called = doubt > 0.5
    right = wrong[called].mean() if called.any() else np.nan
    return (
        f"{folds},{roc_auc_score(wrong.ravel(), doubt.ravel()):.3f},{average_precision_score(wrong.ravel(), doubt.ravel()):.3f},"
        f"{called.mean():.3f},{right:.3f},{seconds:.2f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", default="", help="table, spectra or images")
    arguments = parser.parse_args()
    print("kind,set,features,atoms,seed,damage,folds,auroc,average_precision,called_wrong,of_them_right,seconds,called_outliers")
    for seed in range(arguments.seeds):
        for name, kind, X in all_sets(arguments.data, np.random.default_rng(seed)):
            if not kind.startswith(arguments.only):
                continue
            for atoms in atom_counts(X.shape[1]):
                about = f"{kind},{name},{X.shape[1]},{atoms},{seed}"
                called = (fitted(X, kind, atoms, seed).predict(X) == -1).mean()
                print(f"{about},clean,,,,,,,{called:.3f}", flush=True)
                for how in ("exchanged", "5 sd"):
                    Y, wrong = damaged(X, how, np.random.default_rng(100 + seed))
                    coder = fitted(Y, kind, atoms, seed)
                    for folds in (0, 5):
                        print(f"{about},{how},{found(coder, Y, wrong, folds)},", flush=True)


if __name__ == "__main__":
    main()

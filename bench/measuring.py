"""What the benchmarks share: times, the table of results, the data and dictionary they work on.

Imported first: it keeps every BLAS to one thread, and every OpenBLAS, in whose wheel ever, to kernels fit for this processor,
which an old one would not know. Both have to be said before NumPy is loaded.
"""

from __future__ import annotations

import csv
import os
import pathlib

for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")
processor = pathlib.Path("/proc/cpuinfo")
for ability, kernels in {"avx512vl": "SkylakeX", "avx2": "Haswell"}.items():
    if processor.exists() and f" {ability} " in processor.read_text():
        os.environ.setdefault("OPENBLAS_CORETYPE", kernels)

if (beside := pathlib.Path(__file__).resolve().parents[2] / "shared" / "data").is_dir():
    os.environ.setdefault("PACEWISE_DATA", str(beside))  # where the tests look too

import time
import warnings

import numpy as np
from sklearn.decomposition import dict_learning
from sklearn.decomposition import sparse_encode as sklearn_encode

import pacewise

HERE = pathlib.Path(__file__).parent
ATOMS = 128
EXACT = 1e-6
warnings.simplefilter("ignore")


# ---- times


def clock(work):
    began = time.perf_counter(), time.process_time()
    answer = work()
    return (time.perf_counter() - began[0], time.process_time() - began[1]), answer


def race(ours, theirs, repeat):
    """Best (clock, CPU) seconds and answer of each: our times, our answer, their times, their answer."""
    best, answers = [[np.inf, np.inf], [np.inf, np.inf]], [None, None]
    for _ in range(repeat):
        for side, work in enumerate((ours, theirs)):
            took, answers[side] = clock(work)
            best[side] = [min(pair) for pair in zip(best[side], took)]
    return best[0], answers[0], best[1], answers[1]


class Table:
    FORM = "{:34s} {:15s} {:22s} {:>9s} {:>9s} {:>7s} {:>8s} {:>9s}  {}"

    def __init__(self):
        self.rows = []
        print(self.FORM.format("line", "cell", "against", "theirs s", "ours s", "ratio", "at least", "excess", "verdict"))

    def add(self, line, cell, against, theirs, ours, at_least, excess=0.0, slack=EXACT, by_clock=False, note=""):
        """theirs, ours: (clock, CPU) seconds. excess = (our value - theirs) / theirs: lower is more exact."""
        ratio = theirs[0] / ours[0] if by_clock else theirs[1] / ours[1]
        if excess > slack:
            verdict = "void: ours is less exact"
        elif at_least is None:
            verdict = "reported"
        else:
            verdict = "pass" if ratio >= at_least else "FAIL"
        row = {
            "line": line,
            "cell": cell,
            "against": against,
            "theirs_seconds": f"{theirs[0 if by_clock else 1]:.4f}",
            "our_seconds": f"{ours[0 if by_clock else 1]:.4f}",
            "ratio": f"{ratio:.2f}",
            "at_least": "" if at_least is None else f"{at_least:g}",
            "excess": f"{excess:.1e}",
            "verdict": f"{verdict} {note}".strip(),
        }
        self.rows.append(row)
        print(self.FORM.format(*row.values()), flush=True)
        return ratio

    def write(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, self.rows[0])
            writer.writeheader()
            writer.writerows(self.rows)
        count = {v: sum(row["verdict"].startswith(v) for row in self.rows) for v in ("pass", "FAIL", "void", "reported")}
        print(", ".join(f"{n} {v}" for v, n in count.items()), f"; wrote {path}")


# ---- data


def unit(X):
    return np.ascontiguousarray(X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12))


def load(name, quick):
    try:
        X = pacewise.datasets.load(name).data
    except FileNotFoundError:
        print(f"{name} is not there: made-up images instead")
        X = pacewise.datasets.synthetic(1500, 784, 10, corrupted=0).data
    return unit(X[:: max(1, len(X) // 500)] if quick else X)


def dictionary_of(name, X):
    """128 samples (seed 0), then ten iterations of scikit-learn's `cd`; kept in build/, since it takes a minute."""
    kept = HERE.parent / "build" / f"bench-atoms-{name}-{len(X)}.npy"
    if kept.exists():
        return np.load(kept)
    start = X[np.random.default_rng(0).permutation(len(X))[:ATOMS]]
    codes = sklearn_encode(X, start, algorithm="lasso_cd", alpha=0.05)
    _, B, _ = dict_learning(X, ATOMS, alpha=0.05, max_iter=10, method="cd", dict_init=start, code_init=codes, tol=0)
    B = np.ascontiguousarray(B / np.maximum(np.linalg.norm(B, axis=1, keepdims=True), 1e-12))
    kept.parent.mkdir(exist_ok=True)
    np.save(kept, B)
    return B


def lasso_value(X, B, S, beta, W=1.0):
    return float((W * (X - S @ B) ** 2).sum() + beta * np.abs(S).sum())


def excess(ours, theirs):
    return (ours - theirs) / abs(theirs)


# ---- work that several lines share


def learn_ours(X, B, beta, iterations, threads=1):
    found = pacewise.learn_dictionary(X, beta=beta, dictionary=B, max_iter=iterations, tol=0.0, step_tol=1e-4, n_threads=threads)
    return found.dictionary, found.codes


PHASES = {"plain": 1, "warm": 1, "pace": 3, "polish": 2}
PENALTIES = {"beta": 0.02, "alpha": 2.0, "gamma": 0.1, "eta": 10.0}


def coder_of(level, threads=1):
    """The whole fits that are timed: seven iterations, whatever they reach"""
    return pacewise.SelfPacedSparseCoder(
        ATOMS, **PENALTIES, level=level, pace="quantile", select=0.5, final=1.0, pace_iter=PHASES["pace"],
        plain_iter=PHASES["plain"], warm_iter=PHASES["warm"], polish=PHASES["polish"], tol=0.0, normalize="none",
        max_iter=sum(PHASES.values()), random_state=0, n_threads=threads,
    )  # fmt: skip


def with_holes(X, share, rng):
    """The same number of missing entries in every sample: X with NaN there, and a mask that is False there"""
    mask = np.ones(X.shape, bool)
    for row in mask:
        row[rng.permutation(X.shape[1])[: round(share * X.shape[1])]] = False
    return np.where(mask, X, np.nan), mask

#!/usr/bin/env python3
"""Pacewise beside its peers, in one run on one machine: seconds, ratios, and how exact each answer is.

    peers.py [--quick] [--repeat 5] [--out bench/results]

Everything runs on one thread. The two of a comparison take turns, equally often; a time is the best of its turns, once by
the clock and once in CPU seconds, which other work on the machine distorts less. ratio = peer's time / ours: above 1
Pacewise is faster, below 1 the peer is; where clock and CPU disagree the verdict is "unclear". A time of ours is void where our answer is
less exact than the peer's: objective, or sum of neighbour distances, higher by more than 1e-6 relative; for k-means, whose
runs end in different local optima, a mean inertia higher by more than two standard errors of the difference.
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import csv
import pathlib
import time
import warnings

import mlpack
import numpy as np
import sklearn
import spams
from sklearn.cluster import KMeans
from sklearn.decomposition import sparse_encode as sklearn_encode
from sklearn.neighbors import NearestNeighbors

import pacewise

ATOMS = 128
BETAS = (0.02, 0.1)
EXACT = 1e-6
LINE = "{:34s} {:22s} {:>9s} {:>11s} {:>7s} {:>7s} {:>12s}  {}"


def race(ours, theirs, repeat):
    """Best (clock, CPU) seconds and answer of each: our times, our answer, their times, their answer."""
    best, answers = [[np.inf, np.inf], [np.inf, np.inf]], [None, None]
    for _ in range(repeat):
        for side, work in enumerate((ours, theirs)):
            began = time.perf_counter(), time.process_time()
            answers[side] = work()
            took = time.perf_counter() - began[0], time.process_time() - began[1]
            best[side] = [min(pair) for pair in zip(best[side], took)]
    return best[0], answers[0], best[1], answers[1]


def verdict_of(ratios):
    if min(ratios) > 1.05:
        return "pacewise faster"
    if max(ratios) < 0.95:
        return "peer faster"
    return "even" if 0.95 <= min(ratios) and max(ratios) <= 1.05 else "unclear"


def data_set(quick):
    """The first that is there; unit-norm samples."""
    for name in ("coil20", "fashion-mnist-test"):
        try:
            X = pacewise.datasets.load(name).data
            break
        except FileNotFoundError:
            continue
    else:
        name, X = "synthetic", pacewise.datasets.synthetic(1500, 784, 10, corrupted=0).data
    X = X[:: max(1, len(X) // (300 if quick else 1500))]
    return name, np.ascontiguousarray(X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12))


def learned_atoms(X):
    """A dictionary as a fit would have it midway: two rounds of plain sparse coding over drawn samples."""
    coder = pacewise.SelfPacedSparseCoder(ATOMS, beta=0.05, level="none", graph="none", normalize="none", max_iter=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return coder.fit(X).components_


def encode_objective(X, B, S, beta, W=1.0):
    return (W * (X - S @ B) ** 2).sum() + beta * np.abs(S).sum()


class Table:
    def __init__(self):
        self.rows = []

    def add(self, task, peer, theirs, ours, peer_value, our_value, slack):
        """Times are (clock, CPU). Values are objectives: lower is more exact."""
        ratios = [t / o for t, o in zip(theirs, ours)]
        void = our_value > peer_value + slack * abs(peer_value)
        row = {
            "task": task,
            "peer": peer,
            "peer_seconds": f"{theirs[0]:.4f}",
            "pacewise_seconds": f"{ours[0]:.4f}",
            "ratio": f"{ratios[0]:.2f}",
            "cpu_ratio": f"{ratios[1]:.2f}",
            "peer_excess": f"{(peer_value - our_value) / max(abs(our_value), 1e-300):.1e}",
            "verdict": "void: ours is less exact" if void else verdict_of(ratios),
        }
        self.rows.append(row)
        print(LINE.format(*row.values()), flush=True)


def bench_encode(table, X, B, repeat):
    Xf, Bf = np.asfortranarray(X.T), np.asfortranarray(B.T)
    for beta in BETAS:

        def cold():
            return pacewise.sparse_encode(X, B, beta=beta, n_threads=1)

        def by_spams():
            return spams.lasso(Xf, Bf, lambda1=beta / 2, mode=2, numThreads=1)

        def by_sklearn():
            return sklearn_encode(X, B, algorithm="lasso_cd", alpha=beta / 2, n_jobs=1, max_iter=1000)

        def value(S):
            return encode_objective(X, B, S, beta)

        task = f"encode, beta {beta}"
        ours, S, seconds, theirs = race(cold, by_spams, repeat)
        table.add(task, "SPAMS lasso", seconds, ours, value(theirs.toarray().T), value(S), EXACT)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours, S, seconds, theirs = race(cold, by_sklearn, repeat)
        table.add(task, "scikit-learn lasso_cd", seconds, ours, value(theirs), value(S), EXACT)
        # as within a fit: from the codes of a dictionary that is a little off; SPAMS has no warm start
        near = B + 0.02 / np.sqrt(B.shape[1]) * np.random.default_rng(0).standard_normal(B.shape)
        start = pacewise.sparse_encode(X, near, beta=beta, n_threads=1)
        ours, S, seconds, theirs = race(
            lambda: pacewise.sparse_encode(X, B, beta=beta, init=start, n_threads=1), by_spams, repeat
        )
        table.add(task + ", warm start", "SPAMS lasso (cold)", seconds, ours, value(theirs.toarray().T), value(S), EXACT)


def bench_mlpack(table, X, B, repeat):
    """It encodes only with a dictionary of its own: B after one of its iterations on some of the samples."""
    model = mlpack.sparse_coding(
        training=X[:256], initial_dictionary=B, atoms=ATOMS, lambda1=BETAS[1] / 2, lambda2=0.0, max_iterations=1, copy_all_inputs=True
    )
    D = np.ascontiguousarray(model["dictionary"])
    ours, S, seconds, theirs = race(
        lambda: pacewise.sparse_encode(X, D, beta=BETAS[1], n_threads=1),
        lambda: mlpack.sparse_coding(input_model=model["output_model"], test=X, copy_all_inputs=True)["codes"],
        repeat,
    )
    values = [encode_objective(X, D, np.asarray(codes), BETAS[1]) for codes in (theirs, S)]
    table.add(f"encode, beta {BETAS[1]}, its atoms", "mlpack sparse_coding", seconds, ours, *values, EXACT)


def bench_missing(table, X, B, repeat):
    """SPAMS scales lambda of a sample by its observed share, so equal shares make the problems the same."""
    n, m = X.shape
    rng = np.random.default_rng(0)
    hidden = round(0.1 * m)
    mask = np.ones((n, m), bool)
    for row in mask:
        row[rng.permutation(m)[:hidden]] = False
    share = 1 - hidden / m
    holes = np.where(mask, X, np.nan)
    Xf, Bf, Mf = np.asfortranarray(np.where(mask, X, 0).T), np.asfortranarray(B.T), np.asfortranarray(mask.T)
    for beta in BETAS:
        ours, S, seconds, theirs = race(
            lambda: pacewise.sparse_encode(holes, B, beta=beta, n_threads=1),
            lambda: spams.lassoMask(Xf, Bf, Mf, lambda1=beta / 2 / share, mode=2, numThreads=1),
            repeat,
        )
        values = (encode_objective(X, B, theirs.toarray().T, beta, mask), encode_objective(X, B, S, beta, mask))
        table.add(f"encode, beta {beta}, 10% missing", "SPAMS lassoMask", seconds, ours, *values, EXACT)


def bench_neighbours(table, X, repeat):
    for k in (3, 10):
        ours, (distance, _), seconds, (theirs, _) = race(
            lambda: pacewise.kneighbors(X, k, n_threads=1),
            lambda: NearestNeighbors(n_neighbors=k, algorithm="brute", n_jobs=1).fit(X).kneighbors(),
            repeat,
        )
        table.add(f"{k} nearest neighbours", "scikit-learn brute", seconds, ours, theirs.sum(), distance.sum(), EXACT)


def bench_kmeans(table, X, repeat):
    clusters, runs = 20, 30
    ours, found, seconds, theirs = race(
        lambda: pacewise.kmeans(X, clusters, n_init=runs, n_threads=1, return_all=True),
        lambda: [KMeans(clusters, n_init=1, algorithm="lloyd", tol=1e-6, random_state=s).fit(X) for s in range(runs)],
        repeat,
    )
    a, b = np.array([run.inertia for run in found]), np.array([run.inertia_ for run in theirs])
    two_errors = 2 * np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / runs) / b.mean()
    table.add(f"k-means, {clusters} clusters, {runs} runs", "scikit-learn lloyd", seconds, ours, b.mean(), a.mean(), two_errors)


def draw(rows, title, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    valid = [row for row in rows if not row["verdict"].startswith("void")]
    figure, ax = plt.subplots(figsize=(9, 0.45 * len(valid) + 1.5))
    ratios = [float(row["cpu_ratio"]) for row in valid]
    ax.barh(range(len(valid)), [r - 1 for r in ratios], left=1, color=["tab:blue" if r >= 1 else "tab:red" for r in ratios])
    ax.set_yticks(range(len(valid)), [f"{row['task']} / {row['peer']}" for row in valid], fontsize=8)
    ax.axvline(1, color="black", linewidth=1)
    ax.set_xscale("log")
    ax.invert_yaxis()
    ax.set_xlabel("peer's CPU time / Pacewise's (right of the line Pacewise is faster)")
    ax.set_title(title, fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer samples")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "results")
    options = parser.parse_args()
    name, X = data_set(options.quick)
    B = learned_atoms(X)
    title = f"{name}, {X.shape[0]} x {X.shape[1]}, {ATOMS} atoms, 1 thread; pacewise {pacewise.__version__}, scikit-learn {sklearn.__version__}"
    print(title)
    print(LINE.format("task", "peer", "peer s", "pacewise s", "ratio", "by CPU", "peer excess", ""))
    table = Table()
    bench_encode(table, X, B, options.repeat)
    bench_mlpack(table, X, B, options.repeat)
    bench_missing(table, X, B, options.repeat)
    bench_neighbours(table, X, options.repeat)
    bench_kmeans(table, X, options.repeat)
    options.out.mkdir(parents=True, exist_ok=True)
    with open(options.out / "peers.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, table.rows[0])
        writer.writeheader()
        writer.writerows(table.rows)
    draw(table.rows, title, options.out / "peers.png")
    slower = sum(row["verdict"] == "peer faster" for row in table.rows)
    print(f"{slower} of {len(table.rows)} comparisons are won by the peer; wrote {options.out / 'peers.csv'} and peers.png")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Pacewise beside its peers, in one run on one machine: seconds, ratios, and how exact each answer is.

    peers.py [--quick] [--repeat 5] [--only LINE ...] [--out bench/results]

One thread unless said. The two of a comparison take turns, equally often; a time is the best of its turns, by the clock and
in CPU seconds, which other work on the machine distorts less (with several threads the clock alone). ratio = peer's time /
ours, by CPU: above 1 Pacewise is faster. A time of ours is void where our answer is less exact than the peer's: an objective,
or sum of distances, higher by more than 1e-6 relative; for k-means, whose runs end in different local optima, a mean inertia
higher by more than two standard errors.
"""

from __future__ import annotations

from measuring import (
    ATOMS, EXACT, HERE, Table, clock, dictionary_of, excess, lasso_value, learn_ours, load, race, unit, with_holes,
)  # fmt: skip

import argparse
import pathlib
from importlib import metadata

import mlpack
import numpy as np
import spams
from limits import floors, growth, memory, threads
from sklearn.cluster import KMeans
from sklearn.decomposition import dict_learning
from sklearn.decomposition import sparse_encode as sklearn_encode
from sklearn.neighbors import NearestNeighbors

import pacewise

BETAS = (0.02, 0.1)


def encode(table, data, repeat):
    for dtype, line in ((np.float64, "encode"), (np.float32, "encode, float32")):
        ratios = []
        for name, (X, B) in data.items():
            X, B = X.astype(dtype), B.astype(dtype)
            Xf, Bf = np.asfortranarray(X.T), np.asfortranarray(B.T)
            for beta in BETAS:
                ours, S, theirs, codes = race(
                    lambda: pacewise.sparse_encode(X, B, beta=beta, tol=1e-6 if dtype == np.float64 else 1e-5, n_threads=1),
                    lambda: spams.lasso(Xf, Bf, lambda1=beta / 2, mode=2, numThreads=1),
                    repeat,
                )
                gap = excess(lasso_value(X, B, S, beta), lasso_value(X, B, codes.toarray().T, beta))
                slack = EXACT if dtype == np.float64 else 1e-5
                ratios.append(table.add(line, f"{name} {beta}", "SPAMS lasso", theirs, ours, 1.5, gap, slack))
        if dtype == np.float64:
            mean = float(np.exp(np.mean(np.log(ratios))))
            table.add(line, "geometric mean", "SPAMS lasso", (mean, mean), (1, 1), 2.0)


def near_duplicates(table, data, repeat):
    """Atoms in pairs of correlation above .999999: LARS ends far from the optimum and does not say so."""
    X, B = data["coil20"]
    twins = B[::2] + 1e-4 / np.sqrt(B.shape[1]) * np.random.default_rng(1).standard_normal(B[::2].shape)
    D = unit(np.vstack([B[::2], twins]))
    for beta in BETAS:
        (ours, (S, certificate)), (theirs, codes) = (
            clock(lambda: pacewise.sparse_encode(X, D, beta=beta, tol=1e-8, n_threads=1, return_certificate=True)),
            clock(lambda: spams.lasso(np.asfortranarray(X.T), np.asfortranarray(D.T), lambda1=beta / 2, mode=2, numThreads=1)),
        )
        value, peer = lasso_value(X, D, S, beta), lasso_value(X, D, codes.toarray().T, beta)
        note = f"(certificate {certificate:.0e}; SPAMS is {100 * (peer / value - 1):.2g} % above)"
        table.add("near-duplicate atoms", f"coil20 {beta}", "SPAMS lasso", theirs, ours, None, excess(value, peer), note=note)


def encode_weighted(table, data, repeat):
    """SPAMS scales lambda of a sample by its observed share, so equal shares make the problems the same."""
    for name, (X, B) in data.items():
        m = X.shape[1]
        rng = np.random.default_rng(0)
        hidden = round(0.1 * m)
        holes, mask = with_holes(X, 0.1, rng)
        Xf, Bf, Mf = np.asfortranarray(np.where(mask, X, 0).T), np.asfortranarray(B.T), np.asfortranarray(mask.T)
        weight = rng.uniform(0.2, 1.0, X.shape)
        for beta in BETAS:
            by_spams = lambda: spams.lassoMask(Xf, Bf, Mf, lambda1=beta / 2 / (1 - hidden / m), mode=2, numThreads=1)  # noqa: E731
            rounds = max(1, repeat // 2)
            ours, S, theirs, codes = race(lambda: pacewise.sparse_encode(holes, B, beta=beta, tol=1e-6, n_threads=1), by_spams, rounds)
            gap = excess(lasso_value(X, B, S, beta, mask), lasso_value(X, B, codes.toarray().T, beta, mask))
            table.add("encode, 10 % missing", f"{name} {beta}", "SPAMS lassoMask", theirs, ours, 4, gap)
            # SPAMS has no real-valued weights: its mask on as many entries is what it comes to
            ours, (_, certificate), theirs, _ = race(
                lambda: pacewise.sparse_encode(X, B, beta=beta, entry_weight=weight, tol=1e-6, n_threads=1, return_certificate=True), by_spams, rounds
            )
            table.add("encode, entry weights", f"{name} {beta}", "SPAMS lassoMask", theirs, ours, 4, note=f"(certificate {certificate:.0e})")


def iterations_to(X, B, beta, target, most=30):
    for k in range(1, most + 1):
        if lasso_value(X, *learn_ours(X, B, beta, k), beta) <= target * (1 + EXACT):
            return k
    return most


def learn(table, data, repeat):
    """Time to the objective that SPAMS has after ten batch iterations from the same start."""
    for name, (X, _) in data.items():
        start = X[np.random.default_rng(0).permutation(len(X))[:ATOMS]]
        Xf, Df = np.asfortranarray(X.T), np.asfortranarray(start.T)
        for beta in BETAS:

            def by_spams():
                return spams.trainDL(Xf, D=Df.copy(order="F"), lambda1=beta / 2, iter=10, batch=True, mode=2, iter_updateD=5,
                                     numThreads=1, verbose=False, posAlpha=False)  # fmt: skip

            D = np.ascontiguousarray(by_spams().T)
            target = lasso_value(X, D, pacewise.sparse_encode(X, D, beta=beta, tol=1e-6), beta)
            needed = iterations_to(X, start, beta, target)
            ours, (B, S), theirs, _ = race(lambda: learn_ours(X, start, beta, needed), by_spams, repeat if name == "coil20" else 1)
            gap = excess(lasso_value(X, B, S, beta), target)
            table.add("learn", f"{name} {beta}", "SPAMS trainDL", theirs, ours, 3, gap, note=f"({needed} iterations)")
            if name == "coil20":
                learn_others(table, name, X, start, beta, ours, target)


def learn_others(table, name, X, start, beta, ours, target):
    theirs, (codes, D, _) = clock(
        lambda: dict_learning(X, ATOMS, alpha=beta / 2, max_iter=10, method="cd", dict_init=start,
                              code_init=sklearn_encode(X, start, algorithm="lasso_cd", alpha=beta / 2), tol=0)
    )  # fmt: skip
    gap = excess(lasso_value(X, D, codes, beta), target)
    table.add("learn", f"{name} {beta}", "scikit-learn cd", theirs, ours, 10, note=f"(its J {100 * gap:+.2g} % of SPAMS's)")
    theirs, model = clock(
        lambda: mlpack.sparse_coding(training=X, initial_dictionary=start, atoms=ATOMS, lambda1=beta / 2, lambda2=0.0, max_iterations=10,
                                     copy_all_inputs=True)
    )  # fmt: skip
    table.add("learn", f"{name} {beta}", "mlpack", theirs, ours, 30, note="(ten iterations)")


def neighbours(table, data, repeat):
    import faiss

    for name, (X, _) in data.items():
        X = X[:5000]
        ours, (distance, _), theirs, (peer, _) = race(
            lambda: pacewise.kneighbors(X, 3, n_threads=1),
            lambda: NearestNeighbors(n_neighbors=3, algorithm="brute", n_jobs=1).fit(X).kneighbors(),
            repeat,
        )
        table.add("3 nearest neighbours", name, "scikit-learn brute", theirs, ours, 1.5, excess(distance.sum(), peer.sum()))

        def by_faiss(single=X.astype(np.float32)):
            index = faiss.IndexFlatL2(single.shape[1])
            index.add(single)
            return index.search(single, 4)

        faiss.omp_set_num_threads(1)
        theirs = min((clock(by_faiss)[0] for _ in range(repeat)), key=lambda t: t[1])
        table.add("3 nearest neighbours", name, "faiss flat, float32", theirs, ours, None)


def clusters(table, data, repeat):
    for name, (X, B) in data.items():
        S = pacewise.sparse_encode(X, B, beta=0.02)
        k, runs = (20, 10) if name == "coil20" else (10, 3)
        ours, found, theirs, peer = race(
            lambda: pacewise.kmeans(S, k, n_init=runs, n_threads=1, return_all=True),
            lambda: [KMeans(k, n_init=1, algorithm="lloyd", tol=1e-6, random_state=s).fit(S) for s in range(runs)],
            max(1, repeat // 2),
        )
        a, b = np.array([run.inertia for run in found]), np.array([run.inertia_ for run in peer])
        two_errors = 2 * np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / runs) / b.mean()
        table.add(f"k-means, {k} clusters", f"{name} codes", "scikit-learn lloyd", theirs, ours, 1, excess(a.mean(), b.mean()), two_errors)


LINES = {
    "encode": encode, "duplicates": near_duplicates, "weighted": encode_weighted, "learn": learn, "neighbours": neighbours, "kmeans": clusters, "threads": threads, "floors": floors, "growth": growth, "memory": memory,
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few hundred samples, two turns")
    parser.add_argument("--repeat", type=int)
    parser.add_argument("--only", nargs="+", choices=list(LINES), default=list(LINES))
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "results")
    options = parser.parse_args()
    repeat = options.repeat or (2 if options.quick else 5)
    data = {}
    for name in ("coil20", "mnist-test"):
        X = load(name, options.quick)
        data[name] = X, dictionary_of(name, X)
    peers = {"scikit-learn": "scikit-learn", "SPAMS": "spams-bin", "mlpack": "mlpack", "faiss": "faiss-cpu", "NumPy": "numpy"}
    versions = ", ".join([f"pacewise {pacewise.__version__}", *(f"{name} {metadata.version(package)}" for name, package in peers.items())])
    title = f"{', '.join(f'{k} {v[0].shape[0]} x {v[0].shape[1]}' for k, v in data.items())}, {ATOMS} atoms; {versions}"
    print(title)
    table = Table()
    for line in options.only:
        if line in ("growth", "memory"):
            LINES[line](table, options.quick)
        else:
            LINES[line](table, data, repeat)
    table.write(options.out / "peers.csv")


if __name__ == "__main__":
    main()

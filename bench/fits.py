#!/usr/bin/env python3
"""Whole fits beside scikit-learn's MiniBatchDictionaryLearning, as users call them: two threads each, all else its default.

    fits.py [--quick] [--repeat 3] [--only LINE ...] [--out bench/results]

Times are by the clock, the best of turns taken one after the other. `same objective`: |X - SB|^2 + beta |S|_1 over all samples,
S the exact codes over each one's dictionary; ours runs for the least number of iterations that reach scikit-learn's value.
"""

from __future__ import annotations

from measuring import HERE, Table, excess, lasso_value, race, with_holes

import argparse
import pathlib
import subprocess
import sys

import numpy as np
from sklearn.decomposition import MiniBatchDictionaryLearning
from threadpoolctl import threadpool_limits

import pacewise

SIZES = ((1000, 20), (2000, 784), (10000, 100), (10000, 784), (60000, 784))
THREADS = 2


def data(n, m):
    """Fashion-MNIST in [0, 1], float32 where there are 60,000; 100 features: the middle 20 x 20 pixels in 2 x 2 means; 20: made-up samples"""
    if m == 20:
        return pacewise.datasets.synthetic(n, m, 10, corrupted=0).data
    X = pacewise.datasets.load("fashion-mnist", dtype=np.float32 if n >= 60000 else np.float64).data[:n]
    X /= 255
    if m == 100:
        X = X.reshape(n, 28, 28)[:, 4:24, 4:24].reshape(n, 10, 2, 10, 2).mean(axis=(2, 4)).reshape(n, 100)
    return np.ascontiguousarray(X)


def ours(X, **options):
    settings = {"n_components": min(128, X.shape[1]), "random_state": 0, "n_threads": THREADS, **options}
    return pacewise.SelfPacedSparseCoder(**settings).fit(X)


def theirs(X):
    return MiniBatchDictionaryLearning(min(128, X.shape[1]), random_state=0).fit(X)


def default_fit(table, n, m, repeat, name="default fit", at_least=(0.7, 0.5), **options):
    X = data(n, m)
    mine, coder, peer, _ = race(lambda: ours(X, **options), lambda: theirs(X), repeat)
    note = f"({coder.n_iter_} iterations, certificate {max(coder.certificate_.values()):.0e})"
    table.add(name, f"{n} x {m}", "mini-batches", peer, mine, at_least[n >= 60000], by_clock=True, note=note)


def whole_default(table, n, m, repeat):
    """With the choice of atoms and beta"""
    default_fit(table, n, m, repeat, n_components=None)


def quantile_pace(table, n, m, repeat):
    """One pass, from half of the entries to all of them"""
    default_fit(table, n, m, repeat, "quantile pace", (2, 0.8), pace="quantile")


def missing(table, n, m, repeat):
    X = data(n, m)
    holes, _ = with_holes(X, 0.1, np.random.default_rng(0))
    some, _, whole, _ = race(lambda: ours(holes), lambda: ours(X), repeat)
    table.add("default fit, 10 % missing", f"{n} x {m}", "nothing missing", whole, some, 1 / 1.5, by_clock=True)


def same_objective(table, n, m, repeat):
    X = data(n, m)
    beta = 2.0  # scikit-learn's alpha = 1 on half the squares

    def value(B):
        return lasso_value(X, B, pacewise.sparse_encode(X, B, beta=beta, tol=1e-5), beta)

    def plain(iterations):
        return ours(X, level="none", graph="none", normalize="none", beta=beta, max_iter=iterations)

    target = value(theirs(X).components_)
    for needed in range(1, 30):
        reached = value(plain(needed).components_)
        if reached <= target:
            break
    mine, _, peer, _ = race(lambda: plain(needed), lambda: theirs(X), repeat)
    at_least = 5 if n < 60000 else 2
    table.add("same objective", f"{n} x {m}", "mini-batches", peer, mine, at_least, excess(reached, target), by_clock=True, note=f"({needed} iterations)")


def memory(table, n, m, repeat):
    """Peak of a process that loads the data and fits them, less what it takes to load them"""
    del repeat
    run = "import sys; sys.path.insert(0, {here!r}); import fits, resource; X = fits.data({n}, {m})\n{fit}\nprint(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    peak = [
        int(subprocess.run([sys.executable, "-c", run.format(here=str(HERE), n=n, m=m, fit=fit)], capture_output=True, text=True, check=True).stdout.split()[-1]) / 1e6
        for fit in ("", "fits.ours(X)")
    ]
    table.add("peak memory (GB)", f"{n} x {m}", "1.5", (1.5, 1.5), (peak[1], peak[1]), 1, note=f"(loading alone {peak[0]:.2f})")


LINES = {"default": whole_default, "quantile": quantile_pace, "missing": missing, "same": same_objective, "memory": memory}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the two smallest sizes")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=list(LINES), default=list(LINES))
    parser.add_argument("--size", nargs="+", help="10000x784 ...")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "results")
    options = parser.parse_args()
    sizes = [tuple(map(int, s.split("x"))) for s in options.size] if options.size else SIZES[: 2 if options.quick else None]
    table = Table()
    with threadpool_limits(THREADS):
        for name in options.only:
            for n, m in sizes:
                if name != "memory" or n == 60000:
                    LINES[name](table, n, m, options.repeat if n < 60000 else 1)
    table.write(options.out / "fits.csv")


if __name__ == "__main__":
    main()

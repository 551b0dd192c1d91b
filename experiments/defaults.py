#!/usr/bin/env python3
"""Chooses the defaults of the robust preset, and tries them on data they were not chosen on.

    python experiments/defaults.py search --data DIR   one factor at a time, on COIL20, CMU-PIE, MNIST,
                                                     iris and made-up clusters
    python experiments/defaults.py around --data DIR   a few of the best once more, three seeds
    python experiments/defaults.py graphs --data DIR   weighted edges, and neighbours from the codes blended in
    python experiments/defaults.py check  --data DIR   the defaults as installed, on Fashion-MNIST, digits, wine and
                                                     breast cancer, against k-means, scikit-learn and tuned LSC-H

Finished fits are kept in docs/results/defaults.csv and not repeated; docs/defaults.md says what came out."""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_WAIT_POLICY"] = "passive"

import argparse  # noqa: E402
import csv  # noqa: E402
import itertools  # noqa: E402
import multiprocessing  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
from sklearn import datasets as sklearn_data  # noqa: E402
from sklearn.decomposition import DictionaryLearning  # noqa: E402

import graph_spaces  # noqa: E402
import pacewise  # noqa: E402

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results" / "defaults.csv"
HEAD = ["part", "data", "corruption", "seed", "what", "acc", "nmi", "seconds"]
ATOMS, RUNS = 64, 10
CORRUPTIONS = ["clean", "noise", "salt", "block", "outliers", "missing"]
CHOSEN_ON, HELD_OUT = ["coil20", "pie", "mnist", "iris", "blobs"], ["fashion", "digits", "wine", "cancer"]
TUNED = [0.5, 2, 8, 32]  # alpha of LSC-H, chosen with the labels of the clean data

# Where the search starts, and what it changes, one factor at a time. The penalties and the graph are judged without a
# pace, which costs a fifth; the pace at the penalties chosen.
BASE = dict(alpha=16, gamma=1, eta=10, beta_ratio=0.01, graph_space="robust:40", n_neighbors=3)
FACTORS = dict(
    alpha=[2, 8, 32, 64],
    gamma=[0, 0.1, 0.3, 3],
    eta=[3, 30, 100],
    beta_ratio=[0.0025, 0.04],
    graph_space=["raw", "half:40", "robust:20", "robust:60"],
    n_neighbors=[2, 5, 8],
)
PACES = [
    dict(level="element"),
    dict(level="element", final=0.9, polish=0),
    dict(level="sample"),
    dict(level="sample", final=0.9, polish=0),
    dict(level="feature"),
    dict(level="element", pace="geometric"),
]
# Several factors at once, after the graph space had changed: alpha, gamma, n_neighbors, eta, beta_ratio if it is not the base's.
AROUND = [
    (16, 1, 3, 10), (16, 1, 4, 10), (16, 1, 5, 10), (8, 1, 4, 10), (8, 1, 5, 10), (8, 0.3, 5, 10), (4, 0.3, 5, 10), (4, 0.3, 5, 5), (4, 0.3, 7, 10),
    (4, 0.5, 5, 10), (4, 0.1, 5, 10), (2, 0.3, 5, 10), (1, 0.3, 5, 10), (1, 0.1, 5, 10),
    (16, 1, 8, 10), (16, 0.3, 5, 10), (16, 1, 5, 10, 0.04), (16, 1, 8, 10, 0.04),
]  # fmt: skip
# Other graphs at the defaults. blend: a second fit, with neighbours by coordinates and, times this, unit codes of a first;
# points: coordinates of graph_spaces.py.
GRAPHS = [dict(graph_space="half:40"), dict(edge_weight="heat"), dict(edge_weight="cosine"), dict(blend=0.5), dict(blend=1), dict(blend=2)]
GRAPHS += [dict(points=how) for how in ("gated", "faded", "both", "scales")]


# ---- problems


def smaller(X, side):
    """Images of half the side: means of 2 x 2 pixels."""
    return X.reshape(-1, side // 2, 2, side // 2, 2).mean((2, 4)).reshape(len(X), -1)


def some(X, y, count, random, classes=None):
    """So many samples of each class (of so many classes), drawn: every seed has data of its own."""
    labels = np.unique(y) if classes is None else random.choice(np.unique(y), classes, replace=False)
    keep = np.concatenate([random.choice(np.flatnonzero(y == label), count, replace=False) for label in labels])
    return X[keep], y[keep]


def load(name, seed):
    """Samples as rows, labels, side of the images (0: none)."""
    random = np.random.default_rng(1000 + seed)
    if name == "blobs":
        return *sklearn_data.make_blobs([60, 50, 40, 30], 12, cluster_std=4, random_state=3 + seed), 0
    images = {"coil20": ("coil20", 18, None, 32), "pie": ("pie", 21, 20, 32), "mnist": ("mnist-test", 40, None, 28), "fashion": ("fashion-mnist-test", 40, None, 28)}
    if name in images:
        source, count, classes, side = images[name]
        d = pacewise.datasets.load(source)
        X, y = some(d.data, d.target, count, random, classes)
        return smaller(X, side), y, side // 2
    d = {"digits": sklearn_data.load_digits, "iris": sklearn_data.load_iris, "wine": sklearn_data.load_wine, "cancer": sklearn_data.load_breast_cancer}[name]()
    if name == "digits":
        return *some(d.data, d.target, 40, random), 8
    keep = np.sort(random.choice(len(d.data), len(d.data) * 4 // 5, replace=False))
    X, y = d.data[keep], d.target[keep]
    return (X - X.mean(0)) / X.std(0), y, 0


def corrupt(X, side, how, seed):
    """The data, and which samples still are what their label says."""
    random = np.random.default_rng(100 + seed)
    X, good = X.astype(float), np.ones(len(X), bool)
    low, high = X.min(), X.max()
    if how == "noise":
        X = X + 0.6 * X.std() * random.normal(size=X.shape)
    elif how == "salt":
        strike = random.uniform(size=X.shape)
        X = np.where(strike < 0.1, low, np.where(strike > 0.9, high, X))
    elif how == "block":
        for j in np.flatnonzero(random.uniform(size=len(X)) < 0.5):
            a, b = random.integers(0, side - side // 2 + 1, 2)
            X[j].reshape(side, side)[a : a + side // 2, b : b + side // 2] = random.choice([low, high])
    elif how == "outliers":
        bad = random.choice(len(X), len(X) // 10, replace=False)
        X[bad], good[bad] = random.uniform(low, high, (len(bad), X.shape[1])), False
    elif how == "missing":
        X[random.uniform(size=X.shape) < 0.3] = np.nan
    return X, good


# ---- what is compared


def filled(X):
    X = np.where(np.isnan(X), np.nanmean(X, 0), X)
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)


def codes_of(what, X, seed):
    if what == "k-means":
        return filled(X)
    if what == "scikit-learn":
        model = DictionaryLearning(ATOMS, alpha=0.01, max_iter=30, fit_algorithm="cd", transform_algorithm="lasso_cd", random_state=seed)
        return model.fit_transform(filled(X))
    settings = dict(item.split("=") for item in what.split()[1:])
    points = settings.pop("points", "trimmed")
    for name, text in settings.items():
        if name not in ("level", "pace", "graph_space", "edge_weight"):
            settings[name] = int(text) if name in ("n_neighbors", "polish") else float(text)
    blend = settings.pop("blend", 0)
    model = pacewise.SelfPacedSparseCoder(ATOMS, random_state=seed, n_threads=1, **settings)
    if blend == 0 and points == "trimmed":
        return model.fit(X).codes_
    unit = X / np.sqrt(np.nansum(X * X, axis=1, keepdims=True))
    coordinates = graph_spaces.coordinates(unit - np.nanmean(unit, axis=0), points)
    if blend > 0:
        coordinates = np.hstack([coordinates, blend * graph_spaces.unit(model.fit(X).codes_)])
    return model.fit(X, graph_points=coordinates).codes_


def named(settings):
    return " ".join(["pacewise", *(f"{name}={value}" for name, value in settings.items())])


def compute(task):
    part, data, how, seed, what = task
    warnings.simplefilter("ignore")
    X, labels, side = load(data, seed)
    X, good = corrupt(X, side, how, seed)
    began = time.perf_counter()
    codes = codes_of(what, X, seed)
    seconds = time.perf_counter() - began
    runs = pacewise.kmeans(codes, len(np.unique(labels)), n_init=RUNS, unit_norm=True, random_state=seed, n_threads=1, return_all=True)
    scores = [pacewise.clustering_scores(labels[good], np.asarray(run.labels)[good]) for run in runs]
    acc, nmi = (np.mean([s[name] for s in scores]) for name in ("acc", "nmi"))
    return [*task, f"{acc:.4f}", f"{nmi:.4f}", f"{seconds:.2f}"]


class Results:
    def __init__(self):
        self.rows = {}
        if RESULTS.exists():
            for row in csv.reader(RESULTS.open()):
                if row != HEAD:
                    self.rows[(*row[:3], int(row[3]), row[4])] = row
        else:
            RESULTS.parent.mkdir(parents=True, exist_ok=True)
            RESULTS.write_text(",".join(HEAD) + "\n")

    def complete(self, tasks, threads):
        missing = [t for t in dict.fromkeys(tasks) if t not in self.rows]
        with multiprocessing.Pool(threads) as pool, RESULTS.open("a") as file:
            for done, row in enumerate(pool.imap_unordered(compute, missing), 1):
                self.rows[(*row[:3], int(row[3]), row[4])] = [str(x) for x in row]
                print(*row, sep=",", file=file, flush=True)
                print(f"\r{done} of {len(missing)}", end="", flush=True)
        print()

    def acc(self, *task):
        return float(self.rows[task][5])


def problems(names):
    images = {"coil20", "pie", "mnist", "fashion", "digits"}
    return [(data, how) for data, how in itertools.product(names, CORRUPTIONS) if how != "block" or data in images]


def table(head, rows):
    width = max(len(r[0]) for r in rows) + 1
    print(f"{'':{width}}" + " ".join(f"{h:>8}" for h in head))
    for name, *values in rows:
        print(f"{name:{width}}" + " ".join(f"{v:8.3f}" for v in values))


def by_corruption(results, part, candidates, seeds, names):
    where = problems(CHOSEN_ON)

    def mean(what, hows):
        return np.mean([results.acc(part, d, h, seed, what) for d, h in where if h in hows for seed in seeds])

    table(["mean", *CORRUPTIONS], [[name, mean(c, CORRUPTIONS), *(mean(c, [how]) for how in CORRUPTIONS)] for name, c in zip(names, candidates)])


def search(results, threads):
    plain = [dict(level="none", **BASE)]
    plain += [dict(level="none", **{**BASE, name: value}) for name, values in FACTORS.items() for value in values]
    candidates = [named(c) for c in plain + [{**pace, **BASE} for pace in PACES]]
    results.complete([("search", *p, 0, c) for p in problems(CHOSEN_ON) for c in candidates], threads)
    base = candidates[0].split()
    print("\nMean ACC over the data sets. Base:", candidates[0].removeprefix("pacewise "), "\n")
    by_corruption(results, "search", candidates, [0], [" ".join(i for i in c.split() if i not in base) or "base (no pace)" for c in candidates])


def around(results, threads):
    names = ["alpha", "gamma", "n_neighbors", "eta", "beta_ratio"]
    chosen = [{**BASE, **dict(zip(names, values))} for values in AROUND]
    candidates, seeds = [named(dict(level="none", **c)) for c in chosen], [1, 2, 3]
    results.complete([("around", *p, seed, c) for p in problems(CHOSEN_ON) for seed in seeds for c in candidates], threads)
    print("\nMean ACC over the data sets and seeds 1 to 3\n")
    by_corruption(results, "around", candidates, seeds, [", ".join(map(str, values)) for values in AROUND])


def graphs(results, threads):
    default, seeds = {**BASE, "n_neighbors": 5}, [1, 2, 3]
    candidates = [named({"level": "none", **default, **other}) for other in [{}, *GRAPHS]]
    results.complete([("around", *p, seed, c) for p in problems(CHOSEN_ON) for seed in seeds for c in candidates], threads)
    print("\nMean ACC over the data sets and seeds 1 to 3\n")
    by_corruption(results, "around", candidates, seeds, ["defaults, no pace", *(" ".join(f"{k} {v}" for k, v in g.items()) for g in GRAPHS)])


def check(results, threads, seeds):
    lsc = [named(dict(level="none", gamma=0, alpha=alpha, graph_space="half:40", n_neighbors=3)) for alpha in TUNED]
    where = problems(HELD_OUT)
    tasks = [("check", data, "clean", 0, what) for data in HELD_OUT for what in lsc]
    results.complete(tasks, threads)
    tuned = {data: max(lsc, key=lambda what, data=data: results.acc("check", data, "clean", 0, what)) for data in HELD_OUT}
    methods = {"k-means": lambda _: "k-means", "scikit-learn": lambda _: "scikit-learn", "LSC-H tuned": tuned.get, "defaults": lambda _: "pacewise"}
    results.complete([("check", data, how, seed, what(data)) for data, how in where for seed in seeds for what in methods.values()], threads)
    mean = {(p, name): np.mean([results.acc("check", *p, s, what(p[0])) for s in seeds]) for p in where for name, what in methods.items()}
    print(f"\nACC, mean of seeds {seeds[0]} to {seeds[-1]}; alpha of LSC-H:", {d: tuned[d].split()[3] for d in HELD_OUT}, "\n")
    table(methods, [[f"{data}, {how}", *(mean[(data, how), name] for name in methods)] for data, how in where])
    for other in list(methods)[:3]:
        gaps = {p: np.array([results.acc("check", *p, s, "pacewise") - results.acc("check", *p, s, methods[other](p[0])) for s in seeds]) for p in where}
        below = {p: gap for p, gap in gaps.items() if gap.mean() < 0}
        print(f"defaults - {other}: {np.mean([gap.mean() for gap in gaps.values()]):+.3f} on average; below it in {len(below)} of {len(where)}")
        for p, gap in below.items():
            print(f"  {', '.join(p)}: {gap.mean():+.3f}, t = {gap.mean() / (gap.std(ddof=1) / np.sqrt(len(gap))):.1f} over seeds")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["search", "around", "graphs", "check"])
    parser.add_argument("--data", help="folder with COIL20, CMU-PIE and MNIST")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--seeds", type=int, default=10, help="of the check")
    arguments = parser.parse_args()
    if arguments.data:
        os.environ["PACEWISE_DATA"] = arguments.data
    if arguments.part == "search":
        search(Results(), arguments.threads)
    elif arguments.part == "around":
        around(Results(), arguments.threads)
    elif arguments.part == "graphs":
        graphs(Results(), arguments.threads)
    else:
        check(Results(), arguments.threads, range(1, 1 + arguments.seeds))


if __name__ == "__main__":
    try:
        main()
    except FileNotFoundError as error:
        raise SystemExit(f"{error}; name the folder with --data") from None

"""What the paper's experiments are made of, the words for it in files and on the command line, and the files in between."""

import csv
import math
import os
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pacewise

METHODS = ["OS", "SC", "LSC-G", "LSC-H", "CSC", "SPSC-E", "SPSC-S", "SPSC-F"]
SELF_PACED = {"SPSC-E": "element", "SPSC-S": "sample", "SPSC-F": "feature"}
# Where the graph comes from: the noisy data in the raw space, the noisy data in half-whitened principal components, or
# the clean data in the raw space. The last is what the paper must have used; it is leakage. OS and SC have none.
GRAPHS = ["raw", "half:40", "clean"]
# How codes are clustered. paper: k-means from random samples on the codes as they are. recommended: k-means++ on the
# codes scaled to unit norm.
PROTOCOLS = ["paper", "recommended"]
METRICS = ["acc", "purity", "nmi", "ari"]
TITLES = {"coil20": "COIL20", "mnist": "MNIST", "pie": "CMU-PIE", "fashion": "Fashion-MNIST",
          "acc": "ACC", "purity": "purity", "nmi": "NMI", "ari": "ARI"}  # fmt: skip
DATASETS = ["coil20", "mnist", "pie"]  # the paper's; fashion is free to show
RHOS = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
KMEANS_RUNS = 30
# The same number of iterations for every method: the methods without a pace spend those of the pace on more of the same.
BUDGET = dict(plain_iter=2, warm_iter=1, pace_iter=6, polish=1)
ITERATIONS = sum(BUDGET.values())
FOLDER = Path(__file__).parent


class BadInput(Exception):
    """One line: what, where, what to do."""


class Setting(NamedTuple):
    """The weights of the terms, 0 where the method has no such term, and the neighbours of each sample."""

    beta: float = 0.0
    alpha: float = 0.0
    gamma: float = 0.0
    eta: float = 0.0
    k: int = 3


class Cell(NamedTuple):
    """One fit of the study, by what decides its result."""

    dataset: str
    data: str  # fingerprint of the images
    rho: float
    seed: int
    method: str
    graph: str
    setting: Setting
    budget: int

    def order(self):
        return (self.dataset, self.data, self.rho, self.seed, METHODS.index(self.method), ["none", *GRAPHS].index(self.graph), self.setting)


def has_graph(method):
    return method not in ("OS", "SC")


def cell_of(dataset, rho, seed, method, graph, setting):
    """Methods without a graph have none; without noise the clean graph is the raw one; OS has neither setting nor
    iterations."""
    if not has_graph(method):
        graph = "none"
    elif rho == 0 and graph == "clean":
        graph = "raw"
    free = method == "OS"
    return Cell(dataset.name, dataset.fingerprint, rho, seed, method, graph, Setting() if free else setting, 0 if free else ITERATIONS)


def judged_by(graph):
    """Settings are tuned on clean data. What a user has is judged by the recommended protocol; the clean graph, which
    the paper must have used, by the paper's. Without noise raw and clean are one: the same fits, judged twice."""
    return "paper" if graph == "clean" else "recommended"


def coder_of(method, graph, setting, seed, n_samples, callback=None):
    """The paper's 128 atoms, or half as many as there are samples where those are few."""
    # tol = 0: nobody stops early, the methods are compared at the same number of iterations
    warnings.filterwarnings("ignore", message="max_iter = .* was reached")
    return pacewise.SelfPacedSparseCoder(
        min(max(n_samples // 2, 1), 128), beta=setting.beta, alpha=setting.alpha, gamma=setting.gamma, eta=setting.eta if setting.gamma > 0 else None,
        level=SELF_PACED.get(method, "none"), pace="quantile", select=0.5, final=1.0, **BUDGET, max_iter=ITERATIONS, tol=0.0, step_tol=1e-4, exact_steps=True,
        graph="none" if not has_graph(method) else "knn" if method == "LSC-G" else "hypergraph", n_neighbors=setting.k, edge_weight="binary",
        graph_space="half:40" if graph == "half:40" else "raw", normalize="unit", random_state=seed, n_threads=1, callback=callback)  # fmt: skip


# ---- arithmetic that is the same on every machine


def uniform(seed, count):
    """The first numbers of SplitMix64, in [0, 1)."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed % 2**64) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


def normal(seed, count):
    """By Box and Muller. log and cos are the C library's: NumPy's differ with the instruction set."""
    u = uniform(seed, 2 * count).reshape(-1, 2)
    log, cos = (np.fromiter(map(f, x.tolist()), float, count) for f, x in ((math.log, 1 - u[:, 0]), (math.cos, 2 * math.pi * u[:, 1])))
    return np.sqrt(-2 * log) * cos


def total(values):
    """The sum from first to last."""
    return float(np.cumsum(values)[-1])


def spread(values):
    """Mean and standard deviation (n - 1; 0 for one value)."""
    values = np.asarray(values, float)
    mean = float(values[0]) + total(values - values[0]) / len(values)  # exact for equal values
    return mean, math.sqrt(total((values - mean) ** 2) / (len(values) - 1)) if len(values) > 1 else 0.0


# ---- files


def text(value):
    """The shortest text that reads back to the same number; 1.0 is 1."""
    return repr(float(value)).removesuffix(".0") if isinstance(value, float) else str(value)


def write(path, content):
    """The file is whole or not there."""
    beside = Path(f"{path}.{os.getpid()}.tmp")
    try:
        beside.write_text(content)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def write_rows(path, head, rows):
    write(path, "".join(",".join(map(text, row)) + "\n" for row in [head, *rows]))


def read_rows(path, head, parse):
    """parse(row by column name) for each line of a CSV file; a fault names the line."""
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    out = []
    for number, line in enumerate(lines[:-1] if len(lines) > 1 and not lines[-1] else lines, 1):
        try:
            if number == len(lines):
                raise ValueError("it is cut off")
            fields = next(csv.reader([line]), [])
            if number == 1 and fields != head:
                raise ValueError(f"another head line than this version's, {','.join(head)[:70]}")
            if len(fields) != len(head):
                raise ValueError(f"{len(fields)} fields instead of {len(head)}")
            if number > 1:
                out.append(parse(dict(zip(head, fields))))
        except ValueError as error:
            raise BadInput(f"{path}: line {number}: {error}; remove the line or the file") from None
    return out


def one_of(what, value, names):
    if value not in names:
        raise ValueError(f"{what} = {value}: must be {', '.join(names[:-1])} or {names[-1]}")
    return value


def number(what, value, kind=float):
    try:
        return kind(value)
    except ValueError:
        raise ValueError(f"{what} = {value[:40]}: must be a {'whole ' if kind is int else ''}number") from None


def paper():
    """The printed numbers, by (dataset, rho, method, metric)."""
    head = ["table", "row", "dataset", "rho", "method", "head", "acc", "nmi"]

    def parse(row):
        key = row["dataset"], number("rho", row["rho"]), one_of("method", row["method"], METHODS)
        return [((*key, metric), number(metric, row[metric])) for metric in ("acc", "nmi")]

    return dict(sum(read_rows(FOLDER / "paper.csv", head, parse), []))

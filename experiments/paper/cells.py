"""Fits and clusters one cell; keeps finished cells in one CSV file; completes many cells on all cores."""

import fcntl
import math
import multiprocessing
import os
import signal
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed

import numpy as np
import pacewise

from .data import load, noisy, unit
from .study import GRAPHS, KMEANS_RUNS, METHODS, METRICS, PROTOCOLS, BadInput, Cell, Setting, coder_of, number, one_of, read_rows, spread, write_rows

CELL_HEAD = ["dataset", "data", "rho", "seed", "method", "graph", *Setting._fields, "budget"]
SCORE_HEAD = [f"{protocol}_{metric}_{what}" for protocol in PROTOCOLS for metric in METRICS for what in ("mean", "sd")]
HEAD = [*CELL_HEAD, *SCORE_HEAD, "objective", "codes_certificate", "iterations", "ended", "seconds", "version"]
EFFORT = {"OS": 3, "SC": 1, "SPSC-E": 5}  # about how much longer than SC it takes, for the time left; the others 2


def clean_graph(dataset, method, setting):
    """The graph of the clean images, which the source `clean` hands to a fit on noisy ones."""
    build = pacewise.knn_graph if method == "LSC-G" else pacewise.hypergraph
    return build(unit(dataset.values), setting.k, space="raw", edge_weight="binary", n_threads=1)


def run_cell(cell, folder):
    """A row of the file: scores under both protocols, objective and certificate of the codes."""
    began = time.monotonic()
    dataset = load(cell.dataset, folder)
    X = noisy(dataset, cell.rho, cell.seed)
    result = dict(objective=0.0, codes_certificate=0.0, iterations=0, ended="")
    if cell.method == "OS":
        points = unit(X)
    else:
        graph = clean_graph(dataset, cell.method, cell.setting) if cell.graph == "clean" else None
        coder = coder_of(cell.method, cell.graph, cell.setting, cell.seed, len(X)).fit(X, graph=graph)
        points = coder.codes_
        result = dict(objective=coder.objective_, codes_certificate=coder.certificate_["codes"], iterations=coder.n_iter_, ended=coder.termination_)
    for protocol in PROTOCOLS:
        init = "random" if protocol == "paper" else "k-means++"
        runs = pacewise.kmeans(points, int(dataset.labels.max()) + 1, init=init, n_init=KMEANS_RUNS, unit_norm=protocol == "recommended",
                               random_state=cell.seed, n_threads=1, return_all=True)  # fmt: skip
        scores = [pacewise.clustering_scores(dataset.labels, run.labels) for run in runs]
        for metric in METRICS:
            mean, sd = spread([s[metric] for s in scores])
            result |= {f"{protocol}_{metric}_mean": mean, f"{protocol}_{metric}_sd": sd}
    return result | dict(seconds=round(time.monotonic() - began, 3), version=pacewise.__version__)


def _parse(row):
    setting = Setting(*(number(f, row[f], int if f == "k" else float) for f in Setting._fields))
    graph, method = one_of("graph", row["graph"], ["none", *GRAPHS]), one_of("method", row["method"], METHODS)
    cell = Cell(row["dataset"], row["data"], number("rho", row["rho"]), number("seed", row["seed"], int), method, graph, setting,
                number("budget", row["budget"], int))  # fmt: skip
    result = {h: number(h, row[h], int if h == "iterations" else float) for h in HEAD[len(CELL_HEAD) :] if h not in ("ended", "version")}
    if not all(math.isfinite(result[h]) for h in SCORE_HEAD):
        raise ValueError("a score that is not finite")
    return cell, result | {"ended": row["ended"], "version": row["version"]}


class CellsFile(dict):
    """Every finished cell: the raw result of the study, and the reason why an interrupted run goes on where it stopped.
    The file is whole at any moment, and belongs to one run at a time."""

    def __init__(self, folder):
        super().__init__()
        self.path = os.path.join(folder, "cells.csv")
        self.lock = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BadInput(f"{folder}: another run is using this folder; wait for it, or choose another --out") from None
        except OSError:
            pass  # a file system without locks is used unlocked
        for cell, result in read_rows(self.path, HEAD, _parse) if os.path.exists(self.path) else []:
            if cell in self:
                raise BadInput(f"{self.path}: the same cell twice, {' '.join(map(str, cell[:6]))}; remove a line or the file")
            self[cell] = result

    def add(self, cell, result):
        self[cell] = result
        rows = ([*c[:6], *c.setting, c.budget, *(r[h] for h in HEAD[len(CELL_HEAD) :])] for c, r in sorted(self.items(), key=lambda i: i[0].order()))
        write_rows(self.path, HEAD, rows)


class Interrupted(Exception):
    pass


class Runner:
    """Completes cells: those in the file are taken from there, the others are computed, one process and thread each."""

    def __init__(self, file, folder, jobs):
        self.file, self.folder, self.computed = file, folder, 0
        # threads of other libraries would compete with the processes; read when a process starts
        os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
        # a fork of a process whose libraries have threads can hang
        self.pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()

    def run(self, doing, function, tasks, keep, effort=lambda task: 2):
        """keep(task, function(*task)) as they end, with the share of the effort that is done on the terminal."""
        if not tasks:
            return
        futures = {self.pool.submit(function, *task): task for task in tasks}
        everything, done = sum(map(effort, tasks)), 0
        live, began = sys.stderr.isatty(), time.monotonic()
        try:
            for count, future in enumerate(as_completed(futures), 1):
                keep(futures[future], future.result())
                done += effort(futures[future])
                spent = time.monotonic() - began
                if live or count == len(tasks):
                    left = f"{spent * (everything - done) / done:.0f} s left" if count < len(tasks) else f"{spent:.0f} s"
                    print(f"{doing}: {count} of {len(tasks)}, {left}    ", end="\r" if live and count < len(tasks) else "\n", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted; {len(self.file)} finished cells are in {self.file.path}, the same command goes on from there") from None

    def complete(self, doing, cells):
        def keep(task, result):
            self.file.add(task[0], result)
            self.computed += 1

        missing = [(cell, self.folder) for cell in dict.fromkeys(cells) if cell not in self.file]
        self.run(doing, run_cell, missing, keep, lambda task: EFFORT.get(task[0].method, 2))

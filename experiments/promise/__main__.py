"""What the robust fit reaches on damaged data, each figure beside the bar set for it.

    python -m experiments.promise --data DIR [--only ROW ..] [--seeds 5] [--csv FILE] [--set regularizer=welsch ..]

Rows: errors, hidden, everything, clusters, blocks, samples, exchanged, imputation. Each seed draws the damage and the first
atoms anew. Everything runs on one thread. docs/reproduce.md says what the figures are."""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["OMP_WAIT_POLICY"] = "passive"

import argparse  # noqa: E402
import ast  # noqa: E402
import csv  # noqa: E402
import warnings  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
import pacewise  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402

from ..paper.study import BadInput  # noqa: E402
from .fits import Fits  # noqa: E402
from .images import blocks, cluster_cases, errors, everything, hidden, samples  # noqa: E402
from .tables import exchanged, imputation  # noqa: E402

ROWS = {"errors": errors, "hidden": hidden, "everything": everything, "clusters": cluster_cases, "blocks": blocks, "samples": samples,
        "exchanged": exchanged, "imputation": imputation}  # fmt: skip


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
    parser.add_argument("--data", default=os.environ.get("PACEWISE_DATA", Path("..", "shared", "data")), help="folder with COIL20, CMU-PIE, MNIST")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--csv", help="every figure is added to this file")
    parser.add_argument("--set", nargs="+", type=setting, default=[], metavar="NAME=VALUE", help="options of every fit")
    arguments = parser.parse_args(words)
    warnings.simplefilter("ignore", ConvergenceWarning)  # the iterative imputer's ten rounds, and fits of tiny tables
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

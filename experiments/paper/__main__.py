"""The paper's tables and figures beside its printed numbers: CSV, JSON, PNG and a page (docs/reproduce.md).

python -m experiments.paper coil20 --data DIR --quick"""

import argparse
import json
import os
import sys
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pacewise

from .cells import CellsFile, Interrupted, Runner
from .data import load
from .study import DATASETS, FOLDER, GRAPHS, ITERATIONS, METHODS, PROTOCOLS, RHOS, TITLES, BadInput, Setting, write, write_rows
from .tables import TABLE_HEAD, Plan, Tables, headline, planned_cells, targets
from .tuning import TUNING_HEAD, Settings, settings_in_use, tune


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"reproduce: {message} (--help)\n")


def positive(text):
    if not text.isdecimal() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text}: must be a whole number from 1 to 1000")
    return int(text)


def amount(text):
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 10:
        raise argparse.ArgumentTypeError(f"{text}: must be a number in [0, 10]")
    return value


def arguments(words):
    p = Parser("reproduce", description=__doc__.split("\n")[0])
    p.add_argument("what", choices=[*DATASETS, "fashion", "all"], help="data set; all: the paper's three")
    p.add_argument("--data", required=True, help="folder of COIL20.mat, PIE_pose27.mat, mnist-t10k-*-ubyte.gz (fashion: t10k-*-ubyte.gz)")
    p.add_argument("--out", default="build/reproduce", help="folder of the results; cells already in its cells.csv are not computed again")
    p.add_argument("--quick", action="store_true", help="one seed, the half:40 graph, settings of the repository instead of tuning")
    p.add_argument("--rho", nargs="+", type=amount, default=RHOS, help="amounts of noise")
    p.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    p.add_argument("--graphs", nargs="+", choices=GRAPHS, help="where graphs come from: all, quick half:40")
    p.add_argument("--seeds", type=positive, help="seeds 1 to N (noise, first dictionary, k-means): 5, quick 1")
    p.add_argument("--cached", action="store_true", help="tables of the cells there are, without tuning and without computing others")
    p.add_argument("--no-tune", action="store_true", help="settings of the repository instead of tuning")
    p.add_argument("--settings", help="beta, alpha, gamma, eta and k from a file like settings.csv, not tuned")
    p.add_argument("--no-figures", action="store_true", help="no fits for pictures")
    p.add_argument("--jobs", type=positive, default=os.cpu_count(), help="fits at a time; results do not depend on it")
    return p.parse_args(words)


def print_tables(tables):
    plan = tables.plan
    for dataset, graph, protocol in ((d, g, p) for d in plan.datasets for g in plan.graphs for p in PROTOCOLS):
        print(f"\n{TITLES[dataset]}, {protocol} protocol, {graph} graph{' (leakage)' * (graph == 'clean')}")
        print("ACC/NMI  " + "".join(f"{f'rho {rho:g}':>13}" for rho in plan.rhos))
        for method in plan.methods:
            found = [[tables.find(dataset, rho, method, protocol, graph, metric) for metric in ("acc", "nmi")] for rho in plan.rhos]
            print(f"{method:9}" + "".join(f"{f'{a.mean:.3f}/{n.mean:.3f}' if a else '-':>13}" for a, n in found))


def results(tables, settings_rows, cells, numbers):
    plan = tables.plan
    rows = [dict(zip(TABLE_HEAD, row)) | {"leakage": row[5] == "yes", "paper": e.paper, "by_seed": e.by_seed} for row, e in zip(tables.rows(), tables.values())]
    return {
        "version": pacewise.__version__, "quick": plan.quick, "tuned": plan.tuned, "iterations": ITERATIONS, "seeds": plan.seeds, "rhos": plan.rhos,
        "cells": len(cells), "cells_computed_by": sorted({r["version"] for r in cells.values()}), "targets": targets(tables),
        "settings": [dict(zip(["data", "graph", "method", *Setting._fields, "origin"], row)) for row in settings_rows],
        "missing_cells": tables.missing, "figures": numbers, "tables": rows,
    }  # fmt: skip


def run(a):
    from .figures import draw_against_rho, make_figures
    from .page import SHOWN, rho_picture, write_page

    seeds = a.seeds or (1 if a.quick else 5)
    plan = Plan(
        datasets=DATASETS if a.what == "all" else [a.what],
        rhos=sorted(set(a.rho)),
        methods=[m for m in METHODS if m in a.methods],
        graphs=[g for g in GRAPHS if g in (a.graphs or (["half:40"] if a.quick else GRAPHS))],
        seeds=list(range(1, seeds + 1)),
        quick=a.quick,
        tuned=not (a.quick or a.no_tune or a.cached or a.settings),
    )
    settings = Settings(FOLDER / "settings.csv", *([a.settings] if a.settings else []))
    datasets = {name: load(name, a.data) for name in plan.datasets}
    out = Path(a.out)
    out.mkdir(parents=True, exist_ok=True)
    cells, tables = CellsFile(out), Tables(plan)
    tuning_rows, numbers, pictures = [], {}, {}
    with Runner(cells, a.data, a.jobs) as runner:
        for name, dataset in datasets.items():
            if plan.tuned:
                tuning_rows += tune(dataset, plan.methods, plan.graphs, runner, settings)
            if not a.cached:
                runner.complete(f"{TITLES[name]}, cells", planned_cells(plan, dataset, settings))
            tables.add(dataset, settings, cells)
            if not a.no_figures:
                numbers[name], pictures[name] = make_figures(out, dataset, a.data, plan.rhos, settings.of(name, "half:40", "CSC")[0], runner)
    for name in plan.datasets:
        for protocol, graph in [pair for pair in SHOWN if pair[1] in plan.graphs]:
            draw_against_rho(out / rho_picture(name, protocol, graph), tables, name, protocol, graph)
    settings_rows = settings_in_use(plan, settings)
    if plan.tuned or not (out / "tuning.csv").exists():  # a run that did not search must not wipe out the search behind its settings
        write_rows(out / "tuning.csv", TUNING_HEAD, tuning_rows)
    write_rows(out / "tables.csv", TABLE_HEAD, tables.rows())
    write(out / "results.json", json.dumps(results(tables, settings_rows, cells, numbers), indent=1) + "\n")
    write_page(out / "report.html", tables, datasets, pictures, settings_rows, tuning_rows, cells)
    print("\n".join(headline(tables)))
    print_tables(tables)
    print(f"\n{runner.computed} cells computed, {len(cells)} in {cells.path}\npage: {out}/report.html")


def main(words=None):
    try:
        run(arguments(words))
        return 0
    except BadInput as error:
        status, message = 3, str(error)
    except BrokenProcessPool:
        status, message = 1, "a fit was killed; is there memory for --jobs of them? Finished cells are kept"
    except OSError as error:
        status, message = 4, f"{error.filename}: {error.strerror}"
    except (Interrupted, KeyboardInterrupt) as error:
        status, message = 130, str(error) or "interrupted"
    print(f"reproduce: {message}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())

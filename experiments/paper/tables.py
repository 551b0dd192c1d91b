"""Means and spreads over seeds beside the paper's numbers, and the targets counted."""

from dataclasses import dataclass

import numpy as np

from .study import METRICS, PROTOCOLS, RHOS, SELF_PACED, TITLES, cell_of, has_graph, paper, spread, uniform
from .tuning import graph_for

TABLE_HEAD = ["dataset", "rho", "method", "protocol", "graph", "leakage", "metric", "mean", "sd_over_seeds", "mean_sd_over_kmeans", "seeds", "paper"]
WANTED = 36  # ACC and NMI of the three self-paced methods at the paper's six rho
PIE_TARGETS = [(0.0, 0.93, 0.97), (1.0, 0.55, 0.74)]  # rho, ACC, NMI of the best self-paced level


@dataclass
class Plan:
    """What a run covers."""

    datasets: list
    rhos: list
    methods: list
    graphs: list
    seeds: list
    quick: bool = False
    tuned: bool = True

    def graphs_of(self, method):
        return self.graphs if has_graph(method) else ["none"]


def cell_behind(dataset, settings, rho, seed, method, protocol, graph):
    """SC's beta is that of the protocol, the other settings are those of the graph."""
    setting, _ = settings.of(dataset.name, graph if has_graph(method) else graph_for(protocol), method)
    return cell_of(dataset, rho, seed, method, graph, setting)


def planned_cells(plan, dataset, settings):
    """The cells of the tables, seed by seed."""
    return [cell_behind(dataset, settings, rho, seed, method, protocol, graph) for seed in plan.seeds for rho in plan.rhos
            for method in plan.methods for graph in plan.graphs_of(method) for protocol in PROTOCOLS]  # fmt: skip


@dataclass
class Entry:
    """A number of the tables: the mean of one metric over seeds, each the mean of 30 runs of k-means."""

    by_seed: dict
    mean: float
    sd: float  # over the seeds; 0 for one seed
    sd_runs: float  # over the runs of k-means, the mean of the seeds'
    paper: float | None


class Tables(dict):
    """Entries by (dataset, rho, method, protocol, graph, metric)."""

    def __init__(self, plan):
        super().__init__()
        self.plan, self.missing, self.paper = plan, {}, paper()

    def add(self, dataset, settings, cells):
        plan = self.plan
        self.missing[dataset.name] = len({c for c in planned_cells(plan, dataset, settings) if c not in cells})
        for key in ((rho, m, p, g, metric) for rho in plan.rhos for m in plan.methods for p in PROTOCOLS for g in plan.graphs_of(m) for metric in METRICS):
            rho, method, protocol, graph, metric = key
            behind = {seed: cell_behind(dataset, settings, rho, seed, method, protocol, graph) for seed in plan.seeds}
            found = {seed: cells[cell] for seed, cell in behind.items() if cell in cells}
            if found:
                by_seed = {seed: r[f"{protocol}_{metric}_mean"] for seed, r in found.items()}
                sd_runs, _ = spread([r[f"{protocol}_{metric}_sd"] for r in found.values()])
                printed = self.paper.get((dataset.name, rho, method, metric))
                self[(dataset.name, *key)] = Entry(by_seed, *spread(list(by_seed.values())), sd_runs, printed)

    def find(self, dataset, rho, method, protocol, graph, metric):
        """Methods without a graph answer for every graph. None where nothing was computed."""
        return self.get((dataset, rho, method, protocol, graph if has_graph(method) else "none", metric))

    def rows(self):
        """Of TABLE_HEAD."""
        return [[*key[:5], "yes" if key[4] == "clean" and key[1] > 0 else "no", key[5], e.mean, e.sd, e.sd_runs, len(e.by_seed),
                 "" if e.paper is None else e.paper] for key, e in self.items()]  # fmt: skip


def count_against_paper(tables, dataset, protocol, graph):
    """How many numbers are at or above the paper's, of how many that were compared."""
    found = [tables.find(dataset, rho, method, protocol, graph, metric) for method in SELF_PACED for rho in RHOS for metric in ("acc", "nmi")]
    compared = [e for e in found if e is not None and e.paper is not None]
    return sum(e.mean >= e.paper for e in compared), len(compared)


def sign_flip_test(differences, most_exact=16, draws=10_000):
    """Differences that change sign freely if two methods are equally good: p is the share of all sign patterns whose
    mean is at least as far from 0 as the one observed. All 2^n patterns up to n = 16, else 10,000 drawn from a fixed
    seed (the observed one counted in)."""
    d = np.asarray(differences, float)
    if not d.size:
        return dict(mean_difference=0.0, p=1.0, exact=True, pairs=0)
    exact = d.size <= most_exact
    flipped = np.arange(2**d.size)[:, None] >> np.arange(d.size) & 1 if exact else uniform(1709, draws * d.size).reshape(draws, -1) < 0.5
    limit = abs(d.sum()) - 1e-12 * abs(d).sum()  # rounding must not make a pattern smaller than itself
    extreme = int((abs((1 - 2 * flipped.astype(float)) @ d) >= limit).sum())
    p = extreme / len(flipped) if exact else (extreme + 1) / (draws + 1)
    return dict(mean_difference=float(d.mean()), p=p, exact=exact, pairs=d.size)


def compare_in_order(tables, dataset, protocol, graph):
    """SPSC's best level (highest mean ACC) > CSC >= LSC-H > SC, pair by pair over (rho, seed); those that were run."""

    def accuracies(method):
        entries = {rho: tables.find(dataset, rho, method, protocol, graph, "acc") for rho in tables.plan.rhos}
        return {(rho, seed): value for rho, e in entries.items() if e for seed, value in e.by_seed.items()}, [e.mean for e in entries.values() if e]

    best = max(SELF_PACED, key=lambda m: np.mean(accuracies(m)[1] or [-1.0]))
    out = []
    for first, second, claim in ((best, "CSC", ">"), ("CSC", "LSC-H", ">="), ("LSC-H", "SC", ">")):
        a, b = accuracies(first)[0], accuracies(second)[0]
        test = sign_flip_test([a[key] - b[key] for key in a if key in b])
        if test["pairs"]:
            holds = test["mean_difference"] > 0 or (claim == ">=" and test["mean_difference"] == 0)
            out.append(dict(dataset=dataset, protocol=protocol, graph=graph, first=first, second=second, claim=claim, holds=holds, **test))
    return out


def pie_targets(tables):
    """The best self-paced level on CMU-PIE, recommended protocol, half:40 graph."""
    out = []
    for rho, acc, nmi in PIE_TARGETS:
        found = {m: [tables.find("pie", rho, m, "recommended", "half:40", metric) for metric in ("acc", "nmi")] for m in SELF_PACED}
        ours = {m: (a.mean, n.mean) for m, (a, n) in found.items() if a}
        if ours:
            best = max(ours, key=lambda m: ours[m][0])
            reached = ours[best][0] >= acc and ours[best][1] >= nmi
            out.append(dict(rho=rho, method=best, acc=ours[best][0], nmi=ours[best][1], aim=(acc, nmi), reached=reached))
    return out


def headline(tables):
    """The targets and how far they are reached, one line each: what the terminal and the page show first."""
    plan, lines = tables.plan, []
    printed = [d for d in ("coil20", "mnist") if d in plan.datasets]

    def count_text(reached, compared, wanted=WANTED):
        if not compared:
            return f"- of {wanted}: not computed"
        return f"{reached} of {wanted}" + (f" (only {compared} were computed)" if compared < wanted else "")

    for dataset in printed:
        for graph in [g for g in ("half:40", "raw") if g in plan.graphs]:
            count = count_text(*count_against_paper(tables, dataset, "recommended", graph))
            lines.append(f"{TITLES[dataset]}, recommended protocol, {graph} graph (no leakage): ACC and NMI of the three SPSC levels at or above the paper's: {count}")
    if "pie" in plan.datasets:
        texts = [f"rho {t['rho']:g}: {t['acc']:.3f}/{t['nmi']:.3f} ({t['method']}), target {t['aim'][0]:.2f}/{t['aim'][1]:.2f}: "
                 f"{'reached' if t['reached'] else 'not reached'}" for t in pie_targets(tables)]  # fmt: skip
        lines.append("CMU-PIE, recommended protocol, half:40 graph, best SPSC level (ACC/NMI), " + ("; ".join(texts) or "not computed"))
    counts = {d: count_against_paper(tables, d, "paper", "clean") for d in printed}
    lines += [f"{TITLES[d]}, the paper's protocol and graph (clean data: leakage): {count_text(*count)}" for d, count in counts.items()]
    if len(printed) == 2:
        both = [count_against_paper(tables, d, "recommended", "half:40") for d in printed]
        lines.append(f"Both together, recommended protocol, half:40 graph: {count_text(*map(sum, zip(*both)), 2 * WANTED)}")
        lines.append(f"Both together, the paper's protocol and graph: {count_text(*map(sum, zip(*counts.values())), 2 * WANTED)}")
    for protocol, graph in (("recommended", "half:40"), ("recommended", "raw"), ("paper", "clean")):
        for dataset in plan.datasets:
            if order := compare_in_order(tables, dataset, protocol, graph):
                words = "holds on average" if all(c["holds"] for c in order) else "does not hold throughout"
                words += " as far as it was computed" if len(order) < 3 else ""
                texts = [f"{c['first']} {c['claim']} {c['second']}: {'yes' if c['holds'] else 'no'} ({c['mean_difference']:+.4f}, p = {c['p']:.4f}, "
                         f"{c['pairs']} pair{'' if c['pairs'] == 1 else 's'})" for c in order]  # fmt: skip
                lines.append(f"Order on {TITLES[dataset]} ({protocol} protocol, {graph} graph): {words}. {'; '.join(texts)}")
    return lines


def targets(tables):
    """The same for results.json."""
    out = {"headline": headline(tables), "pie": pie_targets(tables), "order": []}
    for dataset in tables.plan.datasets:
        for protocol, graph in (("recommended", "half:40"), ("paper", "clean")):
            reached, compared = count_against_paper(tables, dataset, protocol, graph)
            if dataset in ("coil20", "mnist"):
                out.setdefault(protocol, {})[dataset] = dict(reached=reached, compared=compared, wanted=WANTED)
            out["order"] += compare_in_order(tables, dataset, protocol, graph)
    return out

"""The weights of the terms by data set, graph and method: those of settings.csv, or tuned on clean data."""

import math

from .study import DATASETS, GRAPHS, METHODS, SELF_PACED, TITLES, BadInput, Setting, cell_of, judged_by, number, one_of, read_rows

BETAS = [0.08, 0.04, 0.02, 0.01, 0.005]  # the sparsest codes first
ALPHAS = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
STRONG_ALPHA = 16.0  # which the consistency term often wants, though the manifold term alone does not
GAMMAS, ETAS = [0.1, 1.0], [10.0, 50.0]
MANY_NEIGHBOURS = 8
TUNING_HEAD = ["dataset", "graph", "method", "protocol", *Setting._fields, "acc", "acc_sd", "nmi", "chosen"]


def parse_setting(row):
    dataset = one_of("data set", row["dataset"], [*DATASETS, "fashion"])
    graph, method = one_of("graph", row["graph"], GRAPHS), one_of("method", row["method"], METHODS)
    s = Setting(*(number(f, row[f], int if f == "k" else float) for f in Setting._fields))
    if not all(v >= 0 and math.isfinite(v) for v in s):
        raise ValueError("beta, alpha, gamma and eta must be finite and >= 0")
    if s.k < 1:
        raise ValueError(f"k = {s.k}: must be >= 1")
    if s.gamma > 0 and s.eta == 0:
        raise ValueError("eta must be > 0 where gamma is")
    return (dataset, graph, method), (s, row["source"])


class Settings:
    """The self-paced methods have those of CSC, OS none."""

    def __init__(self, *paths):
        self.chosen = {}  # (setting, origin)
        for path in paths:  # what a later file does not name stays
            self.chosen |= dict(read_rows(path, ["dataset", "graph", "method", *Setting._fields, "source"], parse_setting))

    def of(self, dataset, graph, method):
        """The setting, and how it was found."""
        if method == "OS":
            return Setting(), "has none"
        key = dataset, graph, "CSC" if method in SELF_PACED else method
        if key not in self.chosen:
            raise BadInput(f"settings: none for {dataset}, graph {graph}, {method}; without --quick, --no-tune and --settings they are tuned")
        return self.chosen[key]


def tune(dataset, methods, graphs, runner, settings):
    """As in the paper, on the clean data and seed 0, by the mean ACC over the runs of k-means: beta for SC; at that beta,
    alpha for LSC-G and for LSC-H; at LSC-H's alpha and at 16, gamma and eta for CSC; the self-paced methods take CSC's.
    Once for each graph, and only what `methods` and `graphs` need. ACC changes slowly with beta and alpha, by less than
    its spread, and small betas and large alphas are slow: of those within one standard deviation of the best the largest
    beta and the smallest alpha are taken; of gamma and eta the best, the first of equals. Returns every candidate."""
    csc = bool({"CSC", *SELF_PACED} & set(methods))
    lsc = [m for m, wanted in (("LSC-G", "LSC-G" in methods), ("LSC-H", csc or "LSC-H" in methods)) if wanted]
    rows = {}  # by graph, method, setting

    def search(what, searches, first_of_equals):
        """searches: graph, method, candidates."""
        cells = {(g, m, s): cell_of(dataset, 0.0, 0, m, g, s) for g, m, candidates in searches for s in candidates}
        runner.complete(f"{TITLES[dataset.name]}, tuning {what}", cells.values())
        for graph, method, candidates in searches:
            scores = [runner.file[cells[graph, method, s]] for s in candidates]
            acc, sd, nmi = ([r[f"{judged_by(graph)}_{name}"] for r in scores] for name in ("acc_mean", "acc_sd", "nmi_mean"))
            best = acc.index(max(acc))
            if first_of_equals:
                best = next(i for i, a in enumerate(acc) if a >= acc[best] - sd[best])
            settings.chosen[dataset.name, graph, method] = candidates[best], "tuned on clean data and seed 0"
            for i, s in enumerate(candidates):
                rows[graph, method, s] = [dataset.name, graph, method, judged_by(graph), *s, acc[i], sd[i], nmi[i], "yes" if i == best else "no"]

    def chosen(graph, method):
        return settings.of(dataset.name, graph, method)[0]

    if "SC" not in methods and not lsc:
        return []
    search("beta", [(g, "SC", [Setting(beta) for beta in BETAS]) for g in GRAPHS], True)
    search("alpha", [(g, m, [Setting(chosen(g, "SC").beta, a) for a in ALPHAS]) for g in graphs for m in lsc], True)
    if csc:
        base = {g: chosen(g, "LSC-H") for g in graphs}
        search("gamma and eta", [(g, "CSC", [Setting(b.beta, alpha, gamma, eta) for alpha in sorted({b.alpha, STRONG_ALPHA})
                                             for gamma in GAMMAS for eta in ETAS]) for g, b in base.items()], False)  # fmt: skip
        # elsewhere the paper's 3 neighbours
        search("k", [(g, "CSC", [chosen(g, "CSC"), chosen(g, "CSC")._replace(k=MANY_NEIGHBOURS)]) for g in graphs if g == "half:40"], False)
    return list(rows.values())


def settings_in_use(plan, settings):
    """Rows of data, graph, method, the setting and its origin."""
    rows = []
    for dataset in plan.datasets:
        for method in plan.methods:
            graphs = [(g, g) for g in plan.graphs] if method not in ("OS", "SC") else []
            if method == "SC":
                graphs = [(graph_for(p), f"none ({p} protocol)") for p in ("paper", "recommended")]
            for graph, words in graphs:
                setting, origin = settings.of(dataset, graph, method)
                rows.append([TITLES[dataset], words, method, *setting, origin])
    return rows


def graph_for(protocol):
    """OS and SC have no graph, yet SC has a beta: that of a graph which is judged by the protocol."""
    return "half:40" if protocol == "recommended" else "clean"

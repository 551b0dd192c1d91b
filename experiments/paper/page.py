"""One page: the targets, the tables in the paper's layout, the figures, the settings, how it was done."""

import html

import pandas

from .study import BUDGET, ITERATIONS, KMEANS_RUNS, PROTOCOLS, TITLES, Setting, write
from .tables import headline
from .tuning import TUNING_HEAD

STYLE = """body { font: 15px/1.45 sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; font-size: 13px; margin: .6em 0 1.4em } td, th { padding: .2em .7em; text-align: right; border-bottom: 1px solid #ddd }
img { max-width: 100%; display: block; margin: .6em 0 } summary { cursor: pointer; margin: .6em 0 } h2 { margin-top: 2em }"""
SHOWN = [("recommended", "half:40"), ("recommended", "raw"), ("paper", "clean")]
IN_PAPER = {"coil20": "Table 1 of the paper", "mnist": "Table 2 of the paper", "pie": "named in the paper's text, without a table", "fashion": "not in the paper"}
METHOD = f"""Noise: rho sd(X) N(0,1) is added to the pixels, then every image is scaled to unit norm; all methods see the same noise. 128 atoms, k neighbours as \
in the settings, binary edges. Every method runs {ITERATIONS} iterations ({BUDGET["plain_iter"]} of plain sparse coding, then with its graph terms; SPSC: \
{BUDGET["plain_iter"] + BUDGET["warm_iter"]} before the pace, {BUDGET["pace_iter"]} while the share of units let in rises from 0.5 to 1, {BUDGET["polish"]} with all \
weights 1). How many was chosen with the noisy images of seeds 1 and 2 in view, for all methods alike; the settings were tuned on clean images and seed 0. Numbers \
are means over {KMEANS_RUNS} runs of k-means, then over the seeds (noise, first dictionary, k-means).
Protocols. Paper: k-means from randomly drawn samples on the codes as they are. Recommended: k-means++ on the codes scaled to unit norm. Graphs. raw: neighbours \
among the noisy images; half:40: among 40 half-whitened principal components of the noisy images; clean: among the images before the noise was added, which no user \
has (leakage), but the paper must have used. Without noise, clean and raw are the same. OS and SC have no graph.
Order: ACC of two methods at the same rho and seed; p by flipping signs of the differences, two-sided. SPSC's best level is chosen by the same numbers, which \
favours it a little. Of the betas and alphas within one standard deviation (over the runs of k-means) of the best, the largest beta and the smallest alpha are \
taken: SC and LSC may be a little better elsewhere, as the search shows.
The paper heads three columns of its Table 2 with the same name; they are read as SPSC-E, SPSC-S and SPSC-F, the order of its Table 1. Its HLSC is LSC-H here, its \
HIC is CSC. It has no numbers for LSC-G, CMU-PIE, purity, ARI."""


def table(head, rows):
    return pandas.DataFrame(rows, columns=head).to_html(index=False, border=0)


def paragraph(text):
    return f"<p>{html.escape(text)}</p>"


def folded(title, inside):
    return f"<details><summary>{html.escape(title)}</summary>{inside}</details>"


def paper_layout(tables, dataset, protocol, graph):
    """A row per rho, a column per method: ours, the spread over seeds, the paper's, whether it is reached."""
    plan, out = tables.plan, []

    def cell(e):
        if e is None:
            return "-"
        spread = f" ±{e.sd:.3f}" if len(plan.seeds) > 1 else ""
        partly = f" ({len(e.by_seed)} of {len(plan.seeds)} seeds)" if len(e.by_seed) < len(plan.seeds) else ""
        return f"{e.mean:.3f}{spread}{partly}" + (f" | {e.paper:.3f} {'✓' if e.mean >= e.paper else '✗'}" if e.paper is not None else "")

    for metric in ("acc", "nmi"):
        rows = [[f"{rho:g}", *(cell(tables.find(dataset, rho, m, protocol, graph, metric)) for m in plan.methods)] for rho in plan.rhos]
        out.append(paragraph(f"{TITLES[metric]}, {words(protocol, graph)}. Ours{' ± sd over seeds' if len(plan.seeds) > 1 else ''} | paper, ✓ at or above it:"))
        out.append(table(["rho", *plan.methods], rows))
    return "".join(out)


def words(protocol, graph):
    return f"{protocol} protocol, " + ("clean graph, as the paper's (leakage)" if graph == "clean" else f"{graph} graph of the noisy data")


def write_page(path, tables, datasets, pictures, settings_rows, tuning_rows, cells):
    """pictures: titles by file name, by data set."""
    plan, title = tables.plan, "Robust Sparse Coding via Self-Paced Learning, reproduced"
    out = [f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><style>{STYLE}</style><h1>{title}</h1>"]
    if plan.quick:
        out.append(paragraph(f"Quick run: {len(plan.seeds)} seed, settings of the repository. Numbers of a full run are better founded."))
    out.append("<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in headline(tables)) + "</ul>")
    for name in plan.datasets:
        d, missing = datasets[name], tables.missing[name]
        out.append(f"<h2>{TITLES[name]}: {IN_PAPER[name]}</h2>")
        out.append(paragraph(f"{len(d.values)} images of {d.side} x {d.side} pixels, {d.labels.max() + 1} classes." +
                             (f" Incomplete: {missing} cells of the plan are missing." if missing else "")))  # fmt: skip
        for protocol, graph in SHOWN:
            if graph in plan.graphs:
                out.append(f"<h3>{TITLES[name]}, {html.escape(words(protocol, graph))}</h3><img src='{rho_picture(name, protocol, graph)}' alt='ACC and NMI against rho'>")
                out.append(paper_layout(tables, name, protocol, graph))
        others = "".join(paper_layout(tables, name, p, g) for p in PROTOCOLS for g in plan.graphs if (p, g) not in SHOWN)
        out.append(folded(f"{TITLES[name]}: the other pairs of protocol and graph", others))
        for file, caption in pictures.get(name, {}).items():
            out.append(f"<h3>{html.escape(caption)}</h3><img src='{file}' alt='{html.escape(caption, quote=True)}'>")
    out.append("<h2>Settings</h2>" + table(["data", "graph", "method", *Setting._fields, "origin"], settings_rows))
    if tuning_rows:
        out.append(folded("The search: every candidate", table(TUNING_HEAD, tuning_rows)))
    out.append("<h2>How it was done</h2>" + "".join(map(paragraph, METHOD.split("\n"))))
    versions = ", ".join(sorted({r["version"] for r in cells.values()}))
    out.append(paragraph(f"{len(cells)} cells in cells.csv, computed by version {versions}; tables.csv has every number, with purity, ARI and spreads."))
    write(path, "\n".join(out) + "\n")


def rho_picture(dataset, protocol, graph):
    return f"{dataset}-{protocol}-{graph.replace(':', '')}.png"

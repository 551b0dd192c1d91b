"""The paper's figures for one data set, and the fits behind them: the half:40 graph and one seed."""

import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402

from .data import load, noise_of, noisy, occlude  # noqa: E402
from .study import SELF_PACED, TITLES, coder_of  # noqa: E402

SEED, SHOWN = 1, 10


def correlation(a, b):
    """Pearson's; None where one of them does not vary."""
    a, b = np.ravel(a) - np.mean(a), np.ravel(b) - np.mean(b)
    return float(a @ b / np.sqrt((a @ a) * (b @ b))) if a.any() and b.any() else None


def noise_levels(noise, level):
    """Mean |noise| of every unit."""
    return abs(noise).mean({"sample": 1, "feature": 0}[level]) if level != "element" else abs(noise)


def follow_pace(name, folder, method, rho, setting):
    """A self-paced fit on noisy images: for each iteration the correlation of a unit's weight with its mean |noise| as
    the solver sees it (samples of unit norm) and in pixels; the record; the atoms."""
    dataset, level = load(name, folder), SELF_PACED[method]
    noise, X = noise_of(dataset, rho, SEED), noisy(dataset, rho, SEED)
    raw, seen = noise_levels(noise, level), noise_levels(noise / np.linalg.norm(X, axis=1, keepdims=True), level)
    steps = []

    def look(record):
        w = record.pop("weights")
        with_noise, with_pixels = (None, None) if w is None else (correlation(seen, w), correlation(raw, w))
        steps.append(dict(iteration=record["iteration"], correlation=with_noise, correlation_with_pixel_noise=with_pixels, mean_weight=record["mean_weight"]))

    coder = coder_of(method, "half:40", setting, SEED, len(X), look).fit(X)
    return dict(method=method, steps=steps, history=coder.history_, atoms=coder.components_)


def follow_hidden(name, folder, setting):
    """SPSC-E on partly hidden images: mean weight of the entries under the squares and of the others, and for some
    images the weights of their pixels."""
    dataset = load(name, folder)
    X, covered, hidden = occlude(dataset, SEED)
    some = covered[spread_over(len(covered))]
    steps, maps = [], {0: X[some] / X.max()}

    def look(record):
        w = record["weights"]
        steps.append(dict(iteration=record["iteration"], hidden=1.0 if w is None else float(w[hidden].mean()), elsewhere=1.0 if w is None else float(w[~hidden].mean())))
        if w is not None:
            maps[record["iteration"]] = w[some]

    coder_of("SPSC-E", "half:40", setting, SEED, len(X), look).fit(X)
    return steps, maps


def spread_over(count, wanted=SHOWN):
    wanted = min(count, wanted)
    return [(2 * i + 1) * count // (2 * wanted) for i in range(wanted)]


# ---- pictures


def save(figure, path):
    beside = f"{path}.{os.getpid()}.tmp"
    figure.savefig(beside, format="png", dpi=110, bbox_inches="tight")
    plt.close(figure)
    os.replace(beside, path)


def montage(path, dataset, rows, words, whole_range=False):
    """Rows of images, each stretched to its own range or all from 0 to 1."""
    height, width = len(rows), max(map(len, rows))
    figure, axes = plt.subplots(height, width, figsize=(0.62 * width, 0.62 * height), squeeze=False, gridspec_kw=dict(wspace=0.04, hspace=0.04))
    for axis in axes.flat:
        axis.set(xticks=[], yticks=[])
        axis.set_frame_on(False)
    for i, images in enumerate(rows):
        for axis, image in zip(axes[i], dataset.upright(images)):
            axis.imshow(image, cmap="gray", **(dict(vmin=0, vmax=1) if whole_range else {}))
        axes[i][0].set_ylabel(words[i] if words else "", rotation=0, ha="right", va="center", fontsize=8)
    save(figure, path)


def curves(path, panels, x_label):
    """panels: title, {name: (x, y, sd or None, style)}, scale of y."""
    figure, axes = plt.subplots(1, len(panels), figsize=(5.2 * len(panels), 3.6), squeeze=False)
    for axis, (title, lines, scale) in zip(axes[0], panels):
        for i, (name, (x, y, sd, style)) in enumerate(lines.items()):
            y = np.array([np.nan if v is None else v for v in y], float)
            (line,) = axis.plot(x, y, style, marker="o", ms=3, lw=1.4, label=name, color="black" if "paper" in name else f"C{i}")
            if sd is not None:
                axis.fill_between(x, y - sd, y + sd, color=line.get_color(), alpha=0.12, lw=0)
        axis.set(title=title, xlabel=x_label, yscale=scale)
        axis.grid(alpha=0.3)
    axis.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))  # the same lines in every panel
    save(figure, path)


def draw_against_rho(path, tables, name, protocol, graph):
    """All methods, with the spread over seeds as a band, and the paper's SPSC-E."""
    rhos, panels = tables.plan.rhos, []
    for metric in ("acc", "nmi"):
        lines = {}
        for method in tables.plan.methods:
            entries = [tables.find(name, rho, method, protocol, graph, metric) for rho in rhos]
            sd = np.array([e.sd if e else 0 for e in entries]) if len(tables.plan.seeds) > 1 else None
            lines[method] = rhos, [e.mean if e else None for e in entries], sd, "-"
        printed = [tables.paper.get((name, rho, "SPSC-E", metric)) for rho in rhos]
        if any(printed):
            lines["SPSC-E, paper"] = rhos, printed, None, "--"
        panels.append((TITLES[metric], lines, "linear"))
    curves(path, panels, "rho")


def make_figures(out, dataset, folder, rhos, setting, runner):
    """Samples at each rho, and four fits: the three levels at the largest rho, and SPSC-E on hidden images. Writes the
    pictures; returns their numbers, and titles by file."""
    rho, name = max(rhos), dataset.name
    tasks = [(follow_hidden, name, folder, setting)] + [(follow_pace, name, folder, m, rho, setting) for m in SELF_PACED if rho > 0]
    found = {}
    runner.run(f"{TITLES[name]}, figures", call, tasks, lambda task, result: found.update({task[3] if task[0] is follow_pace else "hidden": result}))
    hidden, maps = found.pop("hidden")
    courses = [found[m] for m in SELF_PACED if m in found]
    pictures = {}

    def picture(what, title):
        pictures[f"{name}-{what}.png"] = title
        return os.path.join(out, f"{name}-{what}.png")

    some = spread_over(len(dataset.values))
    montage(picture("noise", f"Fig. 1: {TITLES[name]} under noise, each image stretched to its own range"), dataset,
            [noisy(dataset, r, SEED)[some] for r in rhos], [f"rho {r:g}" for r in rhos])  # fmt: skip
    if courses:
        kinds = dict(correlation="correlation of weight and noise level", correlation_with_pixel_noise="the same with noise in pixels", mean_weight="mean weight")
        panels = [(title, {c["method"]: ([s["iteration"] for s in c["steps"]], [s[key] for s in c["steps"]], None, "-") for c in courses}, "linear")
                  for key, title in kinds.items()]  # fmt: skip
        paced = {c["method"]: [s["correlation"] for s in c["steps"] if s["correlation"] is not None] for c in courses}
        ends = "; ".join(f"{m} {values[0]:+.2f} to {values[-1]:+.2f}" for m, values in paced.items() if values)
        curves(picture("figure2", f"Fig. 2: noise level and weight per iteration at rho = {rho:g}. Correlation from the first paced iteration to the last: {ends}. "
                       "The paper: negative at the start"), panels, "iteration")  # fmt: skip
    montage(picture("weights", "Every fifth clean image has a black or white square over it; SPSC-E is not told which or where. Below the images the weights "
                    "of their pixels in each paced iteration: black 0, white 1"), dataset, list(maps.values()), ["image", *(f"iteration {i}" for i in list(maps)[1:])], True)  # fmt: skip
    x = [s["iteration"] for s in hidden]
    lines = {words: (x, [s[key] for s in hidden], None, "-") for key, words in (("hidden", "under the squares"), ("elsewhere", "elsewhere"))}
    curves(picture("hidden", "Mean weight of hidden and other entries"), [("mean weight", lines, "linear")], "iteration")
    if courses:
        history = courses[0]["history"]
        lines = {key: (history["iteration"], np.where(history[key] > 0, history[key], np.nan), None, "-") for key in ("fit", "sparsity", "manifold", "consistency")}
        curves(picture("convergence", f"Course of SPSC-E at rho = {rho:g}"), [("terms of the objective", lines, "log")], "iteration")
        atoms = courses[0]["atoms"]
        montage(picture("atoms", f"All {len(atoms)} atoms of SPSC-E at rho = {rho:g}, each stretched to its own range"), dataset,
                [atoms[i : i + 16] for i in range(0, len(atoms), 16)], None)  # fmt: skip
    numbers = {"rho": rho, "noise_and_weight": [dict(method=c["method"], steps=c["steps"]) for c in courses], "hidden_entries": hidden}
    return numbers, pictures


def call(function, *arguments):
    return function(*arguments)

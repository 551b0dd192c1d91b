"""Pacewise beside itself and the hardware: threads, growth, memory, and the products a step cannot do without."""

from __future__ import annotations

import subprocess
import sys

from measuring import ATOMS, clock, coder_of, learn_ours, race, unit, with_holes

import numpy as np

import pacewise


def threads(table, data, repeat):
    """By the clock: the same work with one thread and with two. Other work on the machine takes a core now and then, so short lines have more
    turns: four seconds of them."""
    X, B = data["mnist-test"]
    C, D = data["coil20"]
    weight = np.random.default_rng(0).uniform(0.2, 1.0, C.shape)
    graph = pacewise.hypergraph(C, 3, space="half:40")
    holes, _ = with_holes(C, 0.1, np.random.default_rng(0))
    X32, B32 = X.astype(np.float32), B.astype(np.float32)
    S = pacewise.sparse_encode(C, D, beta=0.02)
    start = C[:ATOMS]
    work = {
        "encode": lambda t: pacewise.sparse_encode(X, B, beta=0.02, tol=1e-6, n_threads=t),
        "encode, float32": lambda t: pacewise.sparse_encode(X32, B32, beta=0.02, tol=1e-5, n_threads=t),
        "encode, 10 % missing": lambda t: pacewise.sparse_encode(holes, D, beta=0.02, tol=1e-6, n_threads=t),
        "encode, entry weights": lambda t: pacewise.sparse_encode(C, D, beta=0.02, entry_weight=weight, tol=1e-6, n_threads=t),
        "learn": lambda t: learn_ours(C, start, 0.02, 4, t),
        "codes, alpha 64": lambda t: pacewise.sparse_encode(C, D, beta=0.02, alpha=64, laplacian=graph[1], tol=1e-6, n_threads=t),
        "3 nearest neighbours": lambda t: pacewise.kneighbors(X[:5000], 3, n_threads=t),
        "k-means": lambda t: pacewise.kmeans(S, 20, n_init=10, n_threads=t),
        "dictionary, entry weights": lambda t: pacewise.update_dictionary(C, S, dictionary=D, entry_weight=weight, tol=1e-4, n_threads=t),
    }
    for level in ("sample", "feature", "element"):
        work[f"whole fit, {level}"] = lambda t, level=level: coder_of(level, t).fit(C, graph=graph)
    for line, run in work.items():
        turns = max(2 * repeat, int(4 / clock(lambda: run(1))[0][0]))
        two, _, one, _ = race(lambda: run(2), lambda: run(1), turns)
        table.add("two threads", line, "one thread", one, two, 1.8, by_clock=True)


def growth(table, quick):
    """Time per sample in n; exponents in r and m."""
    sizes = (1000, 4000) if quick else (10000, 60000)
    try:
        X = unit(pacewise.datasets.load("mnist").data[: sizes[1]])
    except FileNotFoundError:
        X = unit(np.random.default_rng(0).standard_normal((sizes[1], 784)))
    B = X[np.random.default_rng(0).permutation(len(X))[:ATOMS]]
    per_sample = []
    for n in sizes:
        took = min(clock(lambda: pacewise.sparse_encode(X[:n], B, beta=0.1, tol=1e-6, n_threads=1))[0][1] for _ in range(2))
        per_sample.append(took / n)
    one = (per_sample[0], per_sample[0])
    table.add("growth in n", f"{sizes[0]} to {sizes[1]}", "itself, per sample", one, (per_sample[1], per_sample[1]), 0.85)
    for what, cells in (("r", (64, 128, 256, 512)), ("m", (256, 1024, 4096))):
        seconds = []
        for size in cells:
            rng = np.random.default_rng(1)
            m, r = (784, size) if what == "r" else (size, ATOMS)
            D = unit(rng.standard_normal((r, m)))
            Y = unit(rng.standard_normal((500, r)) * (rng.random((500, r)) < 10 / r) @ D + 0.01 * rng.standard_normal((500, m)))
            seconds.append(min(clock(lambda: pacewise.sparse_encode(Y, D, beta=0.05, tol=1e-6, n_threads=1))[0][1] for _ in range(3)))
        exponent = np.polyfit(np.log(cells), np.log(seconds), 1)[0]
        note = f"(time ~ {what}^{exponent:.2f})"
        table.add(f"growth in {what}", f"{cells[0]} to {cells[-1]}", "itself", (seconds[-1],) * 2, (seconds[0],) * 2, None, note=note)


MEMORY = """
import sys
import numpy as np, pacewise
def kilobytes(what):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(what))
level, n = sys.argv[1], int(sys.argv[2])
try:
    X = np.ascontiguousarray(pacewise.datasets.load("mnist-test").data[:n], float)
except FileNotFoundError:
    X = pacewise.datasets.synthetic(n, 784, 10, corrupted=0).data
pacewise.sparse_encode(X[:200], X[:4], beta=1.0)
open("/proc/self/clear_refs", "w").write("5")  # the peak starts anew from here
before = kilobytes("VmRSS")
coder = pacewise.SelfPacedSparseCoder(128, beta=0.1, level=level, max_iter=4, plain_iter=1, warm_iter=1, tol=0, graph_space="raw", n_threads=1)
coder.fit(X)
print(1024 * (kilobytes("VmHWM") - before), X.nbytes)
"""


def memory(table, quick):
    """What a fit adds to the caller's array, against its own copy of the data, the codes and the weights."""
    n = 2000 if quick else 10000
    for level in ("none", "sample", "feature", "element"):
        text = subprocess.run([sys.executable, "-W", "ignore", "-c", MEMORY, level, str(n)], capture_output=True, text=True, check=True).stdout
        added, data = map(int, text.split())
        stored = data + 8 * n * ATOMS + (data if level == "element" else 0)
        ratio = added / stored
        row = (stored / 1e9, stored / 1e9), (added / 1e9, added / 1e9)
        table.add("peak memory (GB)", level, "data + codes + weights", *row, 1 / 1.5, note=f"({ratio:.2f} times)")


def floors(table, data, repeat):
    """The roofline of each step: the products that no method for it can do without (gradients where it begins and ends, the Gram, one pass over
    the unknowns) at the speed NumPy's BLAS has here, and the numbers it must read and write once at the speed of a copy; its floor is the larger
    of the two. A multiplication with its addition is one operation."""
    X, B = data["coil20"]
    (n, m), r = X.shape, len(B)
    beta = 0.02
    single = X.astype(np.float32), B.astype(np.float32)
    rate = n * m * r / min(clock(lambda: X @ B.T)[0][1] for _ in range(10))
    rate32 = n * m * r / min(clock(lambda: single[0] @ single[1].T)[0][1] for _ in range(10))
    large = np.ones(20_000_000)
    other = np.empty_like(large)
    bandwidth = 2 * large.nbytes / min(clock(lambda: np.copyto(other, large))[0][1] for _ in range(5))
    print(f"products {rate / 1e9:.1f} (float {rate32 / 1e9:.1f}) billion operations a second, memory {bandwidth / 1e9:.1f} GB/s")
    S = pacewise.sparse_encode(X, B, beta=beta, n_threads=1)
    D = pacewise.update_dictionary(X, S, dictionary=B, n_threads=1)
    H, L = pacewise.hypergraph(X, 3, space="half:40")
    weight = np.random.default_rng(0).uniform(0.2, 1.0, X.shape)
    p = (S != 0).sum(1)
    x, b, s = 8 * m * n, 8 * m * r, 8 * r * n  # bytes of data, dictionary, codes
    search, gram = (p**3 / 6 + p**2).sum(), m * r * r / 2
    steps = {
        "codes, cold": (lambda: pacewise.sparse_encode(X, B, beta=beta, tol=1e-6, n_threads=1), m * n * r + gram + search, x + b + s, rate),
        "codes, warm": (lambda: pacewise.sparse_encode(X, D, beta=beta, init=S, tol=1e-6, n_threads=1), m * n * r + gram + search, x + b + 2 * s, rate),
        "codes, entry weights": (
            lambda: pacewise.sparse_encode(X, B, beta=beta, entry_weight=weight, tol=1e-6, n_threads=1),
            m * n * r + gram + (m * p**2 / 2 + m * p + m * r + p**3 / 6).sum(), 2 * x + b + s, rate,
        ),
        "codes, alpha 64": (
            lambda: pacewise.sparse_encode(X, B, beta=beta, alpha=64, laplacian=L, tol=1e-6, n_threads=1),
            2 * m * n * r + gram + r * (n * r + L.nnz), x + b + 2 * s, rate32,
        ),
        "dictionary": (
            lambda: pacewise.update_dictionary(X, S, dictionary=B, tol=1e-6, n_threads=1),
            4 * m * n * r + n * r * r / 2 + m * r * r, x + s + 2 * b, rate,
        ),
        "dictionary, entry weights": (
            lambda: pacewise.update_dictionary(X, S, dictionary=B, entry_weight=weight, tol=1e-6, n_threads=1),
            4 * m * n * r + m * (p**2 / 2).sum() + m * r * r, 2 * x + s + 2 * b + 4 * m * r * r, rate,
        ),
        "consistency map": (lambda: pacewise.update_consistency(H, S, eta=10.0, n_threads=1), n * r * r / 2 + H.nnz * r + n * r * r, 3 * s, rate),
        "3 nearest neighbours": (lambda: pacewise.kneighbors(X, 3, n_threads=1), n * n * m / 2, x, rate32),
    }  # fmt: skip
    for step, (work, operations, moved, speed) in steps.items():
        ours = min((clock(work)[0] for _ in range(max(2, repeat // 2))), key=lambda t: t[1])
        floor = max(operations / speed, moved / bandwidth)
        note = f"({operations / 1e6:.0f} million operations, {moved / 1e6:.0f} MB)"
        table.add("floor", step, "its products alone", (floor, floor), ours, None, note=note)

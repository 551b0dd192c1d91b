#!/usr/bin/env python3
"""Reading large files beside NumPy and pandas: seconds, MB/s and ratios, in one run on one machine.

    readers.py [--megabytes 100] [--repeat 3] [--program build/bench/pacewise] [--out bench/results]

Each reads the whole file and finds the smallest and the largest number in it, from the page cache: Pacewise as the process
`pacewise info FILE`, its start included; the peers inside this process. A time is the best of `repeat`; Pacewise and the
peer take turns. ratio = peer's time / ours by the clock, CPU the same in CPU seconds, which other work on the machine
distorts less: above 1 Pacewise is faster. A time is void where the answers differ by more than
1e-12: older versions of pandas round decimals only nearly right. The floor is the memory work alone, without a parser: the
same bytes read from the page cache, as many numbers written to fresh memory, and looked through once. pyarrow takes part
where it is installed.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import pandas as pd

try:
    from pyarrow import csv as arrow_csv
except ImportError:
    arrow_csv = None

COLUMNS = 64
LINE = "{:32s} {:26s} {:>9s} {:>9s} {:>9s} {:>8s} {:>7s} {:>7s}  {}"


def numbers(rows):
    """Of several magnitudes, a few of them whole."""
    draw = np.random.default_rng(1)
    x = draw.standard_normal((rows, COLUMNS)) * 10.0 ** draw.integers(-3, 4, (rows, COLUMNS))
    whole = draw.random((rows, COLUMNS)) < 0.1
    return np.where(whole, np.round(x), x)


def write_npy(path, size):
    rows = size // (8 * COLUMNS)
    block = numbers(min(rows, 20000))
    array = np.lib.format.open_memmap(path, mode="w+", dtype="<f8", shape=(rows, COLUMNS))
    for first in range(0, rows, len(block)):
        array[first:first + len(block)] = block[:rows - first]
    array.flush()


def pixels(rows):
    """Small integers in wide rows."""
    return np.random.default_rng(2).integers(0, 256, (rows, 784))


def write_csv(path, size, rows, form):
    text = "".join(",".join(form % x for x in row) + "\n" for row in rows).encode()
    with open(path, "wb") as file:
        copies = -(-size // len(text))
        for _ in range(copies):
            file.write(text)
    return copies * rows.size


def ours(program, path, threads):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "OPENBLAS_"))}
    done = subprocess.run([program, "info", path, "--json", *(["--threads", str(threads)] if threads else [])],
                          capture_output=True, check=True, env=environment)
    answer = json.loads(done.stdout)
    return answer["least"], answer["most"]


def memory_work(path, count):
    """The floor: every byte out of the page cache, `count` numbers into fresh memory, and once over them."""
    piece = memoryview(bytearray(1 << 20))
    with open(path, "rb", buffering=0) as file:
        while file.readinto(piece):
            pass
    ends(np.ones(count))


def arrow_ends(path):
    table = arrow_csv.read_csv(path, arrow_csv.ReadOptions(autogenerate_column_names=True))
    return ends(np.array([ends(column.to_numpy()) for column in table.columns]))


def ends(array):
    return float(array.min()), float(array.max())


def race(work, repeat):
    """Best clock and best CPU seconds of each, and the answers."""
    best, answer = [[float("inf")] * 2 for _ in work], [None] * len(work)
    for _ in range(repeat):
        for side, body in enumerate(work):
            began = time.perf_counter(), sum(os.times()[:4])
            answer[side] = body()
            took = time.perf_counter() - began[0], sum(os.times()[:4]) - began[1]
            best[side] = [min(pair) for pair in zip(best[side], took)]
    return best, answer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--program", default="build/bench/pacewise")
    parser.add_argument("--out", default="bench/results")
    options = parser.parse_args()
    program, size, rows = os.path.abspath(options.program), options.megabytes * 10**6, []

    def compare(title, path, peers):
        megabytes = os.path.getsize(path) / 1e6
        for threads in (1, 0):
            how = "1 thread" if threads else "all cores"
            for peer, body in peers:
                (mine, theirs), answers = race([lambda: ours(program, path, threads), body], options.repeat)
                floor = answers[1] is None
                same = floor or np.allclose(*answers, rtol=1e-12, atol=0)
                ratio, cpu = theirs[0] / mine[0], theirs[1] / max(mine[1], 0.01)
                verdict = f"{100 * ratio:.0f}% of the speed of memory" if floor else "void: answers differ" if not same else \
                    "pacewise faster" if ratio > 1.05 else "peer faster" if ratio < 0.95 else "even"
                speed = megabytes / mine[0]
                rows.append([f"{title}, {how}", peer, megabytes, *mine, *theirs, speed, ratio, cpu, verdict])
                print(LINE.format(f"{title}, {how}", peer, f"{megabytes:.0f}", f"{mine[0]:.2f}", f"{theirs[0]:.2f}", f"{speed:.0f}",
                                  f"{ratio:.2f}", f"{cpu:.2f}", verdict), flush=True)

    print(f"numpy {np.__version__}, pandas {pd.__version__}, {os.cpu_count()} cores; best of {options.repeat}")
    print(LINE.format("file", "peer", "MB", "ours s", "peer s", "MB/s", "ratio", "CPU", "verdict"))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data.npy")
        write_npy(path, size)
        compare(".npy", path, [("numpy.load", lambda: ends(np.load(path))),
                               ("numpy.load(mmap_mode='r')", lambda: ends(np.load(path, mmap_mode="r")))])
        os.remove(path)
        for title, table, form in ((".csv, 17 digits", numbers(4000), "%.17g"), (".csv, 8 digits", numbers(4000), "%.8g"),
                                   (".csv, small integers", pixels(2000), "%d")):
            path = os.path.join(folder, "data.csv")
            count = write_csv(path, size, table, form)
            peers = [("memory work alone", lambda: memory_work(path, count)),
                     ("pandas.read_csv", lambda: ends(pd.read_csv(path, header=None, engine="c").to_numpy()))]
            if arrow_csv:
                peers.append(("pyarrow.csv.read_csv", lambda: arrow_ends(path)))
            compare(title, path, peers)
            os.remove(path)
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "readers.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file", "peer", "megabytes", "ours_s", "ours_cpu_s", "peer_s", "peer_cpu_s", "ours_MB_per_s", "ratio",
                         "cpu_ratio", "verdict"])
        writer.writerows([[f"{x:.4g}" if isinstance(x, float) else x for x in row] for row in rows])
    print(f"wrote {out / 'readers.csv'}")


if __name__ == "__main__":
    main()

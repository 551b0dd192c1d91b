#!/usr/bin/env python3
"""Reading large files beside NumPy and pandas: seconds and ratios, in one run on one machine.

    readers.py [--megabytes 100] [--repeat 3] [--program build/product/pacewise] [--out bench/results]

Each reads the whole file and finds the smallest and the largest number in it, from the page cache: Pacewise as the process
`pacewise info FILE`, its start included; the peers inside this process. A time is the best of `repeat` by the clock; Pacewise and
the peer take turns. A time is void where the answers differ by more than 1e-12: older versions of pandas round decimals only
nearly right. The floor is the memory work alone, without a parser: the same bytes read from the page cache, as many numbers
written to fresh memory, and looked through once. pyarrow takes part where it is installed.
"""

from __future__ import annotations

from measuring import HERE, Table, race

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np
import pandas as pd

try:
    from pyarrow import csv as arrow_csv
except ImportError:
    arrow_csv = None

COLUMNS = 64


def numbers(rows):
    """Of several magnitudes, a few of them whole."""
    draw = np.random.default_rng(1)
    x = draw.standard_normal((rows, COLUMNS)) * 10.0 ** draw.integers(-3, 4, (rows, COLUMNS))
    return np.where(draw.random((rows, COLUMNS)) < 0.1, np.round(x), x)


def write_csv(path, size, rows, form):
    text = "".join(",".join(form % x for x in row) + "\n" for row in rows).encode()
    copies = -(-size // len(text))
    with open(path, "wb") as file:
        for _ in range(copies):
            file.write(text)
    return copies * rows.size


def ends(array):
    return float(array.min()), float(array.max())


def ours(program, path, threads):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "OPENBLAS_"))}
    words = [program, "info", path, "--json", *(["--threads", str(threads)] if threads else [])]
    answer = json.loads(subprocess.run(words, capture_output=True, check=True, env=environment).stdout)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--program", default="build/product/pacewise")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "results")
    options = parser.parse_args()
    program, size, table = os.path.abspath(options.program), options.megabytes * 10**6, Table()

    def compare(title, path, peers):
        megabytes = os.path.getsize(path) / 1e6
        for threads in (1, 0):
            for peer, body in peers:
                mine, found, theirs, expected = race(lambda: ours(program, path, threads), body, options.repeat)
                gap = 0 if expected is None else float(np.max(np.abs(np.subtract(found, expected)) / np.maximum(np.abs(expected), 1e-300)))
                cell = "1 thread" if threads else "all cores"
                table.add(title, cell, peer, theirs, mine, None, gap, 1e-12, by_clock=True, note=f"({megabytes / mine[0]:.0f} MB/s)")

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data.npy")
        np.save(path, np.resize(numbers(20000), (size // (8 * COLUMNS), COLUMNS)))
        compare(".npy", path, [("numpy.load", lambda: ends(np.load(path))), ("numpy.load, mapped", lambda: ends(np.load(path, mmap_mode="r")))])
        os.remove(path)
        pixels = np.random.default_rng(2).integers(0, 256, (2000, 784))  # small integers in wide rows
        for title, rows, form in ((".csv, 17 digits", numbers(4000), "%.17g"), (".csv, 8 digits", numbers(4000), "%.8g"), (".csv, small integers", pixels, "%d")):
            path = os.path.join(folder, "data.csv")
            count = write_csv(path, size, rows, form)
            peers = [("memory work alone", lambda: memory_work(path, count)), ("pandas.read_csv", lambda: ends(pd.read_csv(path, header=None, engine="c").to_numpy()))]
            compare(title, path, peers + ([("pyarrow.csv.read_csv", lambda: arrow_ends(path))] if arrow_csv else []))
    table.write(options.out / "readers.csv")


if __name__ == "__main__":
    main()

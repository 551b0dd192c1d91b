"""What the tests of the program share: running it, and writing small files without third-party packages."""
import gzip
import json
import os
import pathlib
import random
import struct
import subprocess
import tempfile
import unittest
import zlib

from formats import (csv_text, hdf5_bytes, idx_bytes, mat5_bytes, mat73_bytes, mtx_text, npy_bytes, npz_bytes, pgm_bytes,
                     png_bytes)

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("PACEWISE_BIN", "pacewise")


def start(arguments, folder, **more):
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([BINARY, *map(str, arguments)], cwd=folder, text=True, **{**streams, **more})


def run(arguments, folder):
    process = start(arguments, folder)
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return process.returncode, out, err


def read_npy(path):
    data = pathlib.Path(path).read_bytes()
    length = struct.unpack_from("<H", data, 8)[0]
    return data[10 + length:]


def planted(samples=48, features=16, classes=3, seed=1):
    """Noisy multiples of a few directions, with some wild entries."""
    draw = random.Random(seed)
    centers = [[draw.gauss(0, 1) for _ in range(features)] for _ in range(classes)]
    rows = [[(1 + 0.3 * draw.random()) * c + draw.gauss(0, 0.15) for c in centers[j % classes]] for j in range(samples)]
    for j in range(0, samples, 7):
        rows[j][draw.randrange(features)] += 4
    return rows, [j % classes for j in range(samples)]


def read_container(path):
    """The documented format, with the standard library alone: header and a function that gives an array's bytes."""
    data = pathlib.Path(path).read_bytes()
    magic, version, crc, length, size = struct.unpack_from("<8sIIQQ", data)
    assert magic == b"PACEWISE" and version == 4 and size == len(data), "prefix"
    assert crc == zlib.crc32(data[8:12] + data[16:]), "checksum"
    header = json.loads(data[32:32 + length])

    def array(name):
        entry = header["arrays"][name]
        count = 1
        for extent in entry["shape"]:
            count *= extent
        at = 32 + length + entry["offset"]
        assert at % 64 == 0, "alignment"
        return data[at:at + count * int(entry["dtype"][2])]

    return header, array


def with_header(path, change):
    """Rewrites the header of a model by `change(header)` with a right checksum."""
    path = pathlib.Path(path)
    data = path.read_bytes()
    length = struct.unpack_from("<Q", data, 16)[0]
    header = json.loads(data[32:32 + length])
    change(header)
    text = json.dumps(header).encode()
    text += b" " * (-(32 + len(text)) % 64)
    arrays = data[32 + length:]
    rest = struct.pack("<QQ", len(text), 32 + len(text) + len(arrays)) + text + arrays
    path.write_bytes(data[:12] + struct.pack("<I", zlib.crc32(data[8:12] + rest)) + rest)


class Case(unittest.TestCase):
    """A fresh folder with data.npy and labels.npy."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.rows, self.labels = planted()
        (self.folder / "data.npy").write_bytes(npy_bytes(self.rows))
        (self.folder / "labels.npy").write_bytes(npy_bytes(self.labels, "<i4"))

    def call(self, *arguments, status=0):
        code, out, err = run(arguments, self.folder)
        self.assertEqual(code, status, f"{arguments}\n{out}\n{err}")
        return out, err

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path


__all__ = ["BINARY", "ROOT", "Case", "csv_text", "gzip", "hdf5_bytes", "idx_bytes", "json", "mat5_bytes", "mat73_bytes",
           "mtx_text", "npy_bytes", "npz_bytes", "pgm_bytes", "planted", "png_bytes", "read_container", "read_npy", "run",
           "start", "with_header"]

#!/usr/bin/env python3
"""First inputs of the fuzz targets: a few small sound files of every format.    seeds.py FOLDER"""
import base64
import gzip
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "cli"))
from formats import (csv_text, hdf5_bytes, idx_bytes, mat5_bytes, mat73_bytes, mtx_text, npy_bytes, npz_bytes, pgm_bytes,  # noqa: E402
                     png_bytes)

ROWS = [[1.0, -2.5, 0.0, 4e-3], [5.0, 0.0, 7.25, 8.0], [0.0, 1e9, -3.0, 2.0]]
GREY = [[(17 * x + 5 * y) % 256 for x in range(8)] for y in range(8)]
LABELS = [3, 1, 3]
# 8 x 8 grey pixels by libjpeg
JPEG = ("/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQc1tdhbWGkJ6jq62rZ4C8ybqmx5mo"
        "q6T/wAALCAAIAAgBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAABP/EABcQAAMBAAAAAAAAAAAAAAAAAAADBTH/2gAIAQEAAD8ABOVh/9k=")


def sparse_entries():
    """The arrays of a scipy CSR matrix, each after its length, as zip_of_arrays takes them apart."""
    arrays = [npy_bytes([1.0, 2.0, 3.0]), npy_bytes([3, 4], "<i4"), b"", npy_bytes([0, 3, 1], "<i4"), npy_bytes([0, 1, 2, 3], "<i4")]
    return b"\0" + b"".join(struct.pack("<H", len(a)) + a for a in arrays)


def seeds():
    text = csv_text(ROWS)
    quoted = 'a,"b ""c""",label\n1,2,x\n3,"4",y\nNA,1e-3,"x, y"\n'
    # long enough to be read in pieces
    many = 3 * "-0.00034558419206478602,8.216181435011583,1.5e-07,17\n# note\n\n12345678901234567890, 3 ,+1,7.\n"
    yield "csv", [text, text.replace(",", "\t"), "a;b\n1,5;2\n3;-\n", quoted, "# note\n1 2  3\n4 5\t6\r\n", "x,y,z\n0,nan,\n1,,inf\n",
                  many, many.replace(",", ";").replace(".", ",").replace("\n", "\r\n"), many.replace(",", "  ")]
    yield "npy", [npy_bytes(ROWS), npy_bytes(ROWS, "<f4"), npy_bytes(LABELS, "<i4"),
                  npy_bytes(ROWS).replace(b"<f8", b">f8"), npy_bytes(ROWS).replace(b"False,", b"True, ")]
    yield "npz", [npz_bytes(X=npy_bytes(ROWS), y=npy_bytes(LABELS, "<i4")), npz_bytes(method=0, a=npy_bytes(ROWS))]
    yield "npz_entries", [sparse_entries()]
    yield "mat", [mat5_bytes(X=ROWS, Y=[[1.0], [2.0], [1.0]]), mat5_bytes(compress=True, fea=ROWS)]
    yield "mat73", [mat73_bytes(X=ROWS, Y=[[1.0], [2.0], [1.0]])]
    yield "hdf5", [hdf5_bytes(X=ROWS), hdf5_bytes(a=ROWS, labels=[[1.0], [2.0], [1.0]])]
    yield "idx", [idx_bytes([[1] * 16] * 2, 4), struct.pack(">II", 0x0801, 3) + bytes(LABELS)]
    dense = "%%MatrixMarket matrix array real general\n% note\n2 2\n1\n2\n3\n4\n"
    yield "mtx", [mtx_text(ROWS), dense, "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n"]
    yield "png", [png_bytes(GREY)]
    yield "jpeg", [base64.b64decode(JPEG)]
    yield "pgm", [pgm_bytes(GREY), "P2\n2 2\n9\n1 2\n3 4\n"]
    yield "any", [text, gzip.compress(text.encode(), mtime=0), npy_bytes(ROWS)]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for target, contents in seeds():
        folder = pathlib.Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        for number, content in enumerate(contents):
            (folder / str(number)).write_bytes(content if isinstance(content, bytes) else content.encode())

"""Readers behind :func:`pacewise.datasets.load`: arrays, their names and labels, from files of any of the formats.

Files hold samples as rows. The format is found by content. Every refusal is one line: file, place, rule, remedy.
"""

from __future__ import annotations

import csv
import gzip
import importlib
import io
import os
import pathlib
import re
from typing import Any, Callable, NamedTuple, NoReturn

import numpy as np
import scipy.io
import scipy.sparse as sp
from numpy.typing import NDArray

from ._core import Error

DATA_NAMES = ("X", "fea", "data", "features", "x", "X_train", "x_train", "arr_0")
LABEL_NAMES = ("Y", "y", "gnd", "labels", "label", "Labels", "target", "targets", "y_train", "Y_train")
LABEL_COLUMNS = ("label", "labels", "class", "target", "gnd", "y", "Y", "Label", "Class")
MISSING = ("", "?", "-", "na", "n/a", "nan", "null", "none")  # in lower case
DELIMITERS = "\t;,| "  # the most telling first: a ';' file may hold commas, a ',' file may hold blanks
SAMPLE_ROWS = 20
IDX_TYPES = {8: "u1", 9: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
HDF5 = b"\x89HDF\r\n\x1a\n"
PNG = b"\x89PNG\r\n\x1a\n"
OTHERS = {
    b"BZh": "is compressed by bzip2; decompress it first",
    b"\xfd7zXZ": "is compressed by xz; decompress it first",
    b"\x28\xb5\x2f\xfd": "is compressed by zstd; decompress it first",
    b"7z\xbc\xaf": "is a 7z archive; unpack it first",
    b"PAR1": "is a Parquet file; export it as .csv or .npy",
    b"%PDF": "is a PDF document; export the numbers as .csv",
    b"\xd0\xcf\x11\xe0": "is an old Excel file; export it as .csv",
    b"\x80": "is a Python pickle; save it with numpy.save",
    b"\xff\xfe": "is UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "is UTF-16 text; save it as UTF-8",
    b"P6": "is a colour PPM image; convert it to PGM or PNG",
    b"P3": "is a colour PPM image; convert it to PGM or PNG",
    b"GIF8": "is a GIF image; convert it to PNG",
    b"\x1f\x8b": "is compressed twice; decompress it first",
}

Table = dict[str, Any]  # data, target, target_names, feature_names, sample_shape, notes, format


def read(path: str, variable: str, label_column: str, header: bool | None, delimiter: str) -> Table:
    """The table in a file or folder; ``data`` is two-dimensional, of the file's own type, or a CSR array."""
    table: Table = {"target": None, "target_names": None, "feature_names": [], "sample_shape": (), "notes": []}
    if os.path.isdir(path):
        return {**table, **_image_folder(path), "format": "images"}
    file = File(path, variable)
    if file.format == "csv":
        table |= _csv(file, label_column, header, delimiter)
    elif file.format in ("npz", "mat", "hdf5"):
        table |= Container(file).table()
    else:
        data = file.guarded(ARRAYS[file.format])
        table["data"] = data
        if file.format == "idx":
            beside = _labels_beside(file.path)
            if beside is None:
                table["notes"].append("no labels file lies beside it")
            else:
                table["target"], table["target_names"] = read_labels(beside, data.shape[0])
    if sp.issparse(table["data"]):
        if 0 in table["data"].shape:
            file.fail("holds no samples; save at least one")
    else:
        table["data"], shape = _rows(file, table["data"])
        table["sample_shape"] = table["sample_shape"] or shape
    return {**table, "format": file.format}


def read_labels(path: str, samples: int) -> tuple[NDArray[np.int32], list[str]]:
    """One label per sample from a file of any of the formats, numbers or text."""
    if os.path.isdir(path):
        raise Error(f"{path}: is a folder; give a file of labels")
    file = File(path, "")
    if file.format == "csv":
        values: Any = _csv_labels(file, samples)
    elif file.format in ("npz", "mat", "hdf5"):
        values = Container(file).labels()
    elif file.format == "image":
        file.fail("is an image; labels are a vector of numbers or text")
    else:
        values = file.guarded(ARRAYS[file.format])
    if sp.issparse(values) or max(np.shape(values), default=0) != np.size(values):
        file.fail(f"is {_size(values)}; labels are one vector")
    values = np.ravel(values)
    if values.size == 0:
        file.fail("holds no labels; give one label per sample")
    if values.size != samples:
        file.fail(f"holds {values.size} labels for {samples} samples; give one label per sample")
    return _encoded(file, values, "")


class File:
    """What a path names: the bytes (decompressed), their format and the variable asked for."""

    def __init__(self, path: str, variable: str):
        self.path, self.variable = _split(path, variable)
        self.whole = True  # the file itself holds the format, not compressed
        try:
            with open(self.path, "rb") as stream:
                self.head = stream.read(4096)
            if self.head.startswith(b"\x1f\x8b"):
                self.whole = False
                with gzip.open(self.path) as stream:
                    self.head = stream.read(4096)
        except (OSError, EOFError) as e:
            self.fail(f"cannot read: {getattr(e, 'strerror', None) or e}; check it")
        if not self.head:
            self.fail("the file is empty; write the data again")
        self.format = self._detect()
        if self.variable and self.format not in ("npz", "mat", "hdf5"):
            self.fail(f'a {self.format} file has no variables; leave out "{self.variable}"')

    def fail(self, what: str, where: str = "") -> NoReturn:
        raise Error(f"{self.path}: {where + ': ' if where else ''}{' '.join(what.split())}")

    def content(self) -> bytes:
        try:
            return pathlib.Path(self.path).read_bytes() if self.whole else gzip.decompress(pathlib.Path(self.path).read_bytes())
        except (OSError, EOFError) as e:
            self.fail(f"cannot read: {getattr(e, 'strerror', None) or e}; copy it again")

    def stream(self) -> Any:
        """For libraries that take a path or a stream."""
        return self.path if self.whole else io.BytesIO(self.content())

    def need(self, module: str, kind: str) -> Any:
        try:
            return importlib.import_module(module)
        except ImportError:
            package = {"PIL.Image": "Pillow"}.get(module, module)
            raise ImportError(f"{self.path}: reading {kind} needs {package}; pip install 'pacewise[files]'") from None

    def guarded(self, reader: Callable[[File], Any]) -> Any:
        """A damaged file makes the libraries raise almost anything."""
        try:
            return reader(self)
        except (Error, ImportError, MemoryError):
            raise
        except Exception as e:
            what = str(e).rstrip(".") or type(e).__name__
            self.fail(f"cannot be read as {self.format}: {what}; the file is damaged, save it again")

    def _detect(self) -> str:
        head = self.head
        if head.startswith(b"\x93NUMPY"):
            return "npy"
        if head.startswith(b"PK\x03\x04"):
            return "npz"
        if head[124:128] in (b"\x00\x01IM", b"\x01\x00MI", b"\x00\x02IM"):
            return "mat"
        if head.startswith(HDF5):
            return "hdf5"
        if head[:14].lower() == b"%%matrixmarket":
            return "mtx"
        if _is_image(head):
            return "image"
        if head[:2] == b"\0\0" and len(head) > 3 and head[2] in IDX_TYPES and 1 <= head[3] <= 8:
            return "idx"
        for magic, what in OTHERS.items():
            if head.startswith(magic):
                self.fail(what)
        if not re.search(rb"[\x00-\x08\x0b\x0e-\x1f]", head):
            return "csv"
        if self.path.endswith(".mat"):
            self.fail("is no MATLAB v5 or v7.3 file; save it again with save -v7")
        self.fail("its format is not known; give .npy, .npz, .csv, .mat, IDX, .mtx, HDF5 or a folder of images")


def _split(path: str, variable: str) -> tuple[str, str]:
    """``file.mat:name`` -> file.mat, name. A colon may be part of the file's own name, so an existing file wins."""
    at = len(path)
    while not os.path.exists(path[:at]) and (at := path.rfind(":", 0, at)) > 0:
        name = path[at + 1 :]
        if not os.path.exists(path[:at]):
            continue
        if not name:
            raise Error(f"{path}: nothing after the ':'; name a variable or leave out the ':'")
        if variable not in ("", name):
            raise Error(f"{path}: two variables are named: {name} in the path and {variable} in the options; name one")
        return path[:at], name
    return path, variable


def _size(a: Any) -> str:
    return " x ".join(map(str, np.shape(a))) or "a single value"


def _rows(file: File, a: NDArray) -> tuple[NDArray, tuple[int, ...]]:
    """(n, m), and the shape of a sample where it is an array itself"""
    if a.dtype.kind in "USO":
        file.fail("holds text; save numbers, or give it as labels")
    if a.dtype.kind not in "biuf":
        file.fail(f"holds numbers of type {a.dtype}; save real numbers, or real and imaginary parts as features")
    if a.ndim == 0 or a.size == 0:
        file.fail(f"is {_size(a)}; save an array with samples along its first axis")
    return a.reshape(a.shape[0], -1), a.shape[1:] if a.ndim > 2 else ()


# ---- labels


def _is_missing(text: str) -> bool:
    return text.lower() in MISSING


def _number(text: str, decimal_comma: bool = False) -> float | None:
    """What a field says, or None where it is no number"""
    if decimal_comma and "," in text and "." not in text:
        text = text.replace(",", ".", 1)
    if "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _encoded(file: File, values: Any, where: str) -> tuple[NDArray[np.int32], list[str]]:
    """Classes 0 .. k-1 and their names: sorted as numbers where all of them are numbers, else as text."""
    values = np.ravel(values)
    if values.dtype.kind not in "biuf":
        text = [v.decode() if isinstance(v, bytes) else str(v) for v in values.tolist()]
        numbers = [_number(t.strip()) for t in text]
        values = np.array(text if any(n is None for n in numbers) else numbers)
        absent = [_is_missing(t.strip()) for t in text]
    else:
        values = values.astype(np.float64)
        absent = np.isnan(values).tolist()
    if any(absent):
        file.fail(f"label {absent.index(True) + 1} is missing; give every sample a label", where)
    names, target = np.unique(values, return_inverse=True)
    return target.astype(np.int32), [n if isinstance(n, str) else f"{n:.17g}" if n % 1 == 0 else repr(n) for n in names.tolist()]


# ---- files of one array


def _npy(file: File) -> NDArray:
    if not file.whole:
        return np.load(file.stream(), allow_pickle=False)
    return np.asarray(np.load(file.path, mmap_mode="r", allow_pickle=False))


def _idx(file: File) -> NDArray:
    content = file.content()
    axes = content[3]
    shape = np.frombuffer(content, ">u4", axes, 4).tolist()
    values = np.frombuffer(content, IDX_TYPES[content[2]], offset=4 + 4 * axes)
    if values.size != np.prod(shape, dtype=float):
        file.fail(f"holds {values.size} numbers and announces {' x '.join(map(str, shape))}; the file is damaged, copy it again")
    return values.reshape(shape)


def _labels_beside(path: str) -> str | None:
    folder, name = os.path.split(path)
    if "images" not in name:
        return None
    name = "labels".join(name.rsplit("images", 1))
    name = "idx1".join(name.rsplit("idx3", 1)).removesuffix(".gz")
    ends = (".gz", "") if path.endswith(".gz") else ("", ".gz")
    return next((beside for end in ends if os.path.exists(beside := os.path.join(folder, name + end))), None)


def _matrix_market(file: File) -> Any:
    matrix = scipy.io.mmread(io.BytesIO(file.content()))
    if np.iscomplexobj(matrix):
        file.fail("holds complex numbers; real, integer and pattern can be read")
    return sp.csr_array(matrix) if sp.issparse(matrix) else matrix


# ---- images


def _is_image(head: bytes) -> bool:
    return head.startswith((PNG, b"\xff\xd8\xff")) or re.match(rb"P[25][\s#]", head) is not None


def _image(file: File) -> NDArray:
    """Grey values as stored, (height, width): 8 or 16 bits. Colour becomes luma, transparency is dropped."""
    content = file.content()
    if content.startswith(b"P"):
        return _pgm(file, content)
    Image = file.need("PIL.Image", "images")
    if content.startswith(PNG) and content[24] == 16 and content[25] != 0:
        file.fail("is a PNG of 16 bits with colour or transparency; convert it to grey or to 8 bits")
    image = Image.open(io.BytesIO(content))
    if image.mode == "CMYK":
        file.fail("is a CMYK image; save it as RGB or grey")
    image.draft("L", image.size)  # the luma of a JPEG as it is stored
    if image.mode == "1":
        image = image.convert("L")
    if image.mode.startswith("I"):
        return np.asarray(image).astype(np.uint16)
    if image.mode == "LA":
        image = image.getchannel("L")
    if image.mode == "L":
        return np.asarray(image)
    rgb = np.asarray(image.convert("RGB"), np.uint32)  # .299 r + .587 g + .114 b in fixed point, rounded
    return ((rgb @ np.array([19595, 38470, 7471], np.uint32) + 32768) >> 16).astype(np.uint8)


def _pgm(file: File, content: bytes) -> NDArray:
    # not by Pillow, which rescales values whose largest is not 255
    blank = rb"(?:\s|#[^\n]*\n)+"
    header = re.match(blank.join((rb"P[25]", rb"(\d+)", rb"(\d+)", rb"(\d+)")) + rb"\s", content)
    if header is None:
        file.fail("the PGM header is damaged; save it again")
    width, height, white = map(int, header.groups())
    if not 0 < white < 65536:
        file.fail(f"PGM: the largest value is {white}, which is not in 1..65535; save it again")
    body = content[header.end() :]
    kind = np.uint8 if white < 256 else np.uint16
    if content[1:2] == b"2":
        values = np.array(re.sub(rb"#[^\n]*", b"", body).split()[: width * height], dtype=np.int64)
    else:
        values = np.frombuffer(body, np.dtype(kind).newbyteorder(">"))[: width * height]
    if values.size != width * height or values.size == 0:
        file.fail(f"PGM: {width} x {height} pixels do not fit in {len(content)} bytes; the file is truncated, copy it again")
    if values.min() < 0 or values.max() > white:
        file.fail(f"PGM: a pixel is not in 0..{white}; save it again")
    return values.reshape(height, width).astype(kind)


def _single_image(file: File) -> NDArray:
    return _image(file)[np.newaxis]


def _visible(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted((p for p in folder.iterdir() if not p.name.startswith(".")), key=lambda p: os.fsencode(p.name))


def _image_folder(path: str) -> Table:
    top = pathlib.Path(path)
    entries = [(entry, "") for entry in _visible(top) if not entry.is_dir()]
    subfolders = [entry for entry in _visible(top) if entry.is_dir()]
    entries += [(entry, folder.name) for folder in subfolders for entry in _visible(folder)]
    deeper = sum(entry.is_dir() for entry, _ in entries)
    files = [(entry, label) for entry, label in entries if entry.is_file()]
    images = []
    for entry, label in files:
        with open(entry, "rb") as stream:
            if _is_image(stream.read(8)):
                images.append((entry, label))
    if not images:
        raise Error(f"{path}: the folder holds no PNG, JPEG or PGM images; give a folder that does")
    labels = [label for _, label in images if label]
    if labels and len(labels) != len(images):
        raise Error(
            f"{path}: has images both in subfolders and beside them ({len(images) - len(labels)} of {len(images)});"
            " put every image into the subfolder of its label"
        )
    pixels = []
    for entry, _ in images:
        pixels.append((file := File(str(entry), "")).guarded(_image))
        for a, name in ((pixels[0], images[0][0].name), (pixels[-1], entry.name)):
            if (a.shape, a.dtype) != (pixels[-1].shape, pixels[-1].dtype):
                file.fail(
                    f"is {_pixels(pixels[-1])}, {name} is {_pixels(a)}; give all images one size and depth",
                )
    table: Table = {"data": np.stack([p.ravel() for p in pixels]), "sample_shape": pixels[0].shape, "notes": []}
    if labels:
        table["target"], table["target_names"] = _encoded(file, labels, "subfolders")
    if len(files) > len(images):
        table["notes"].append(f"{len(files) - len(images)} files are no images and are left out")
    if deeper:
        table["notes"].append(f"{deeper} folders within subfolders are left out")
    return table


def _pixels(a: NDArray) -> str:
    return f"{a.shape[1]} x {a.shape[0]} pixels of {8 * a.itemsize} bits"


ARRAYS: dict[str, Callable[[File], Any]] = {"npy": _npy, "idx": _idx, "mtx": _matrix_market, "image": _single_image}


# ---- files of several named arrays


class Entry(NamedTuple):
    shape: str = ""  # where it is known without loading
    refused: str | None = None  # why it cannot be loaded
    text: bool = False


class Container:
    """A file of several arrays: what is known of each, and the function that loads one."""

    def __init__(self, file: File):
        self.file = file
        self.kind, self.entries, load = file.guarded({"npz": _npz, "mat": _mat, "hdf5": _hdf5}[file.format])
        self.load: Callable[[str], Any] = lambda name: file.guarded(lambda _: load(name))

    def usable(self, name: str) -> bool:
        return name in self.entries and not self.entries[name].refused

    def listing(self) -> str:
        shown = [f"{n} ({e.refused or e.shape})" if e.refused or e.shape else n for n, e in self.entries.items()]
        return ", ".join(shown[:10]) + (f" and {len(shown) - 10} more" if len(shown) > 10 else "")

    def named(self) -> str:
        name = self.file.variable.removeprefix("/")
        if name not in self.entries:
            self.file.fail(f'has no {self.kind} "{self.file.variable}"; it holds {self.listing()}')
        if self.entries[name].refused:
            self.file.fail(f"is {self.entries[name].refused}; name a numeric {self.kind}", name)
        return name

    def data_name(self) -> str:
        if self.file.variable:
            return self.named()
        numeric = [name for name in self.entries if self.usable(name) and not self.entries[name].text]
        known = [name for name in DATA_NAMES if name in numeric]
        left = known[:1] or [name for name in numeric if name.rpartition("/")[2] not in LABEL_NAMES]
        if len(left) != 1:
            self.file.fail(f"which {self.kind} holds the data? It has {self.listing()}; name one as file:NAME")
        return left[0]

    def labels_of(self, data_name: str) -> str | None:
        """The labels that belong to the data: same group; x_test goes with y_test."""
        group, slash, leaf = data_name.rpartition("/")
        partners = [y + leaf[1:] for y in "yY"] if len(leaf) > 1 and leaf[0] in "xX" else []
        candidates = (group + slash + name for name in (*partners, *LABEL_NAMES))
        return next((name for name in candidates if self.usable(name) and name != data_name), None)

    def labels(self) -> Any:
        names = [self.named()] if self.file.variable else [name for name in LABEL_NAMES if self.usable(name)]
        if not names and len(self.entries) == 1:
            names = [name for name in self.entries if self.usable(name)]
        if not names:
            self.file.fail(f"which {self.kind} holds the labels? It has {self.listing()}; name one as file:NAME")
        return self.load(names[0])

    def table(self) -> Table:
        name = self.data_name()
        data = self.load(name)
        if not sp.issparse(data) and data.dtype.kind not in "biuf":
            self.file.fail(f"holds {'text' if data.dtype.kind in 'USO' else data.dtype}; name a numeric {self.kind}", name)
        table: Table = {"data": data, "notes": []}
        label_name = self.labels_of(name)
        if label_name is None:
            return table
        labels = self.load(label_name)
        count = labels.shape[0] if sp.issparse(labels) else labels.size
        n, m = (data.shape[0], data.shape[-1]) if np.ndim(data) > 1 else (data.size, 0)
        if count not in (n, m):
            table["notes"].append(f"{label_name} has {count} values for {n} samples of {name}: it is not used as labels")
            return table
        table["target"], table["target_names"] = _encoded(self.file, labels, label_name)
        if count != n:
            table["data"] = sp.csr_array(data.T) if sp.issparse(data) else np.moveaxis(data, -1, 0)
            table["notes"].append(
                f"{name} is {n} x {m} and {label_name} has {count} values: the samples are its columns, it is transposed"
            )
        return table


Opened = tuple[str, dict[str, Entry], Callable[[str], Any]]  # what an entry is called, the entries, what loads one


def _npz(file: File) -> Opened:
    archive = np.load(file.stream(), allow_pickle=False)
    names = [name for name in archive.files if f"{name}.npy" in archive.zip.namelist()]
    if not names:
        file.fail("is a zip file without .npy arrays; write it with numpy.savez")
    if {"format", "shape", "data"} <= set(names) and ({"indices", "indptr"} <= set(names) or {"row", "col"} <= set(names)):
        return "array", {"X": Entry()}, lambda name: sp.csr_array(sp.load_npz(file.stream()))
    return "array", {name: Entry() for name in names}, lambda name: archive[name]


def _mat(file: File) -> Opened:
    if file.head[124:126] == b"\x00\x02":
        return _hdf5(file)
    kinds = {"cell": "a cell array", "struct": "a struct", "char": "text", "function": "a function", "opaque": "an object or table"}
    names: dict[str, Entry] = {}
    for name, shape, kind in scipy.io.whosmat(file.stream()):
        why = None if kind == "cell" or kind not in (*kinds, "object", "unknown") else kinds.get(kind, "an object or table")
        names[name] = Entry(" x ".join(map(str, shape)), why, kind == "cell")
    if not names:
        file.fail("no variable can be read from it; the file is empty or damaged, save it again with save -v7")

    def load(name: str) -> Any:
        value = scipy.io.loadmat(file.stream(), variable_names=[name])[name]
        if sp.issparse(value):
            return sp.csr_array(value)
        if value.dtype == object:  # a cell array, in MATLAB's order
            cells = value.ravel("F").tolist()
            for number, cell in enumerate(cells, 1):
                if not isinstance(cell, np.ndarray) or cell.dtype.kind != "U":
                    file.fail(f"cell {number} is no text; labels are a numeric vector or a cell array of text", name)
            return np.array(["".join(cell.ravel().tolist()) for cell in cells])
        return value

    return "variable", names, load


def _hdf5(file: File) -> Opened:
    """Also MATLAB v7.3, which writes its arrays with the axes in reverse order."""
    matlab = file.format == "mat"
    h5py = file.need("h5py", "MATLAB v7.3" if matlab else "HDF5")
    h5 = h5py.File(file.stream(), "r")
    names: dict[str, Entry] = {}

    def visit(name: str, item: Any) -> None:
        if name.startswith("#"):  # MATLAB's own: what cells refer to
            return
        if "MATLAB_sparse" in item.attrs:
            names[name] = Entry("sparse")
        elif isinstance(item, h5py.Dataset) and not ("/" in name and matlab):
            cell = item.attrs.get("MATLAB_class") == b"cell"
            text = h5py.check_string_dtype(item.dtype) is not None or cell
            why = None
            if item.ndim == 0 or item.shape is None:
                why = "a single value"
            elif item.attrs.get("MATLAB_class") == b"char":
                why = "text"
            elif item.dtype.kind == "V":
                why = "a table of records"
            elif not text and item.dtype.kind not in "biuf":
                why = "not numeric"
            names[name] = Entry(" x ".join(map(str, item.shape[::-1] if matlab else item.shape)) if item.shape else "", why, text)

    h5.visititems(visit)
    if not names:
        file.fail("holds no dataset; save an array in it")

    def load(name: str) -> Any:
        item = h5[name]
        if "MATLAB_sparse" in item.attrs:
            rows, starts = int(item.attrs["MATLAB_sparse"]), item["jc"][()]
            parts = (item["data"][()], item["ir"][()], starts) if "data" in item else (np.empty(0), np.empty(0, int), starts)
            return sp.csr_array(sp.csc_array(parts, shape=(rows, starts.size - 1)))
        if h5py.check_string_dtype(item.dtype) is not None:
            return item.asstr()[()]
        if item.dtype.kind == "O":  # a cell array: references to arrays of characters
            return np.array(["".join(map(chr, h5[reference][()].ravel())) for reference in item[()].ravel()])
        value = item[()]
        return value.transpose() if matlab else value

    return "variable" if matlab else "dataset", names, load


# ---- text


class Text:
    """Lines of a text file that hold fields, with their numbers; blank lines and comments are left out."""

    def __init__(self, file: File, label_column: str, header: bool | None, delimiter: str):
        self.file = file
        try:
            text = file.content().decode("utf-8-sig")
        except UnicodeDecodeError as e:
            file.fail(f"byte {e.start} is not UTF-8; save it as UTF-8")
        lines = [line.removesuffix("\r") for line in text.split("\n")]
        self.numbers = [n for n, line in enumerate(lines, 1) if line.strip(" ") and line.lstrip(" \t")[:1] != "#"]
        self.lines = [lines[n - 1] for n in self.numbers]
        if not self.lines:
            file.fail("holds no rows; write at least one line of numbers")
        self.delimiter = delimiter or self._find_delimiter()
        self.decimal_comma = self.delimiter == ";"
        rows = self.rows(SAMPLE_ROWS)
        self.columns = len(rows[0])
        self.notes: list[str] = []
        counted = len(rows) > 1 and self._counts_up(rows[0])
        named = label_column in rows[0] and self._kind(label_column) == "text"
        guess = counted or named or self._looks_like_header(rows)
        self.names = rows[0] if (guess if header is None else header) else []
        if self.names:
            if counted and header is None:
                self.notes.append("the first line counts 0, 1, 2, ..: it is read as names of columns")
            del self.numbers[0], self.lines[0]

    def rows(self, last: int | None = None, delimiter: str = "") -> list[list[str]]:
        delimiter = delimiter or self.delimiter
        lines = self.lines[:last]
        if delimiter == " ":
            lines = [" ".join(line.split()) for line in lines]
        reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter, skipinitialspace=True)
        return [[field.strip() for field in row] for row in reader]

    def _find_delimiter(self) -> str:
        present = ""
        for delimiter in DELIMITERS:
            widths = [len(row) for row in self.rows(SAMPLE_ROWS, delimiter)]
            if widths[0] > 1 and len(set(widths)) == 1:
                return delimiter
            if widths[0] > 1:
                present = present or delimiter
        return present or ","

    def _kind(self, field: str) -> str:
        return "missing" if _is_missing(field) else "text" if _number(field, self.decimal_comma) is None else "number"

    @staticmethod
    def _counts_up(row: list[str]) -> bool:
        """0, 1, 2, ..: what pandas writes for columns without names, after an empty name where it also writes the index"""
        row = row[1:] if row[0] == "" else row
        return len(row) > 2 and row == [str(c) for c in range(len(row))]

    def _looks_like_header(self, rows: list[list[str]]) -> bool:
        """Text above numbers and more texts than numbers: a bad number in the first row of data must not hide the row."""
        first = [self._kind(field) for field in rows[0]]
        below = [{self._kind(row[c]) for row in rows[1:] if c < len(row)} for c in range(len(first))]
        text_above = any(kind == "text" and "number" in kinds for kind, kinds in zip(first, below))
        no_number = "number" not in first and any("number" in kinds for kinds in below)
        return first.count("text") > first.count("number") and (text_above or no_number)

    def check_widths(self) -> None:
        if any('"' in line for line in self.lines):
            widths = [len(row) for row in self.rows()]
        elif self.delimiter == " ":
            widths = [len(line.split()) for line in self.lines]
        else:
            widths = [line.count(self.delimiter) + 1 for line in self.lines]
        for row, width in enumerate(widths):
            if width != self.columns:
                self.file.fail(
                    f"has {width} fields, the first line has {self.columns}; give every line the same number", self.place(row)
                )

    def place(self, row: int) -> str:
        return f"line {self.numbers[row] if row < len(self.numbers) else row + 1}"

    def label_index(self, wanted: str) -> int | None:
        if not wanted:
            return None
        if wanted in self.names:
            return self.names.index(wanted)
        if re.fullmatch(r"-?\d+", wanted):
            number = int(wanted)
            if not 1 <= (number if number > 0 else self.columns + 1 + number) <= self.columns or number == 0:
                self.file.fail(f"label column {number} is not in 1..{self.columns}; give a number in that range")
            return number - 1 if number > 0 else self.columns + number
        known = f"its columns are {', '.join(self.names[:10])}" if self.names else "it has no header, give the column's number"
        self.file.fail(f'has no column "{wanted}"; {known}{", .." if len(self.names) > 10 else ""}')

    def floats(self, columns: list[int]) -> NDArray[np.float64]:
        """By pandas; what it cannot read is read field by field, which finds the field at fault."""
        pandas = self.file.need("pandas", "CSV")
        missing = sorted({f(m) for m in MISSING for f in (str, str.upper, str.title)})
        # the nearest double: the default from 3.1 on
        exact = {"float_precision": "round_trip"} if tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1) else {}
        text = "\n".join(self.lines)
        try:
            if re.search("true|false", text, re.IGNORECASE):  # numbers to pandas
                raise ValueError
            frame = pandas.read_csv(
                io.StringIO(text),
                sep=r"\s+" if self.delimiter == " " else self.delimiter,
                header=None,
                names=range(self.columns),
                usecols=columns,
                dtype=np.float64,
                na_values=missing,
                keep_default_na=False,
                decimal="," if self.decimal_comma else ".",
                **exact,
                skipinitialspace=True,
                skip_blank_lines=False,
                index_col=False,
            )
            if len(frame) == len(self.lines):
                return np.ascontiguousarray(frame.to_numpy(np.float64))
        except (ValueError, TypeError, OverflowError):
            pass
        rows = self.rows()
        return np.array([[self._value(rows, r, c) for c in columns] for r in range(len(rows))])

    def _value(self, rows: list[list[str]], row: int, column: int) -> float:
        field = rows[row][column]
        value = _number(field, self.decimal_comma)
        if value is not None:
            return value
        if _is_missing(field):
            return np.nan
        advice = "correct it, remove the column, or name it as the label column"
        if _number(field, True) is not None:
            advice = "write a decimal point, or ';' between the fields"
        elif len(rows) == 1:
            advice = "there is no other line: write the numbers below the names"
        name = f" ({self.names[column]})" if self.names else ""
        self.file.fail(f'"{field[:40]}" is not a number; {advice}', f"{self.place(row)}, column {column + 1}{name}")


def _csv(file: File, label_column: str, header: bool | None, delimiter: str) -> Table:
    text = Text(file, label_column, header, delimiter)
    label = text.label_index(label_column)
    columns = [c for c in range(text.columns) if c != label]
    if not columns:
        file.fail("has no column besides the labels; add the features")
    if not text.lines:
        file.fail("holds no rows of numbers; write at least one")
    text.check_widths()
    table: Table = {"data": text.floats(columns), "notes": text.notes}
    table["feature_names"] = [text.names[c] for c in columns] if text.names else []
    if label is not None:
        labels = np.array([row[label] for row in text.rows()])
        table["target"], table["target_names"] = _encoded(file, labels, f"column {label + 1}")
    elif text.names:
        text.notes += [
            f'column "{name}" is read as a feature; to use it as labels name it as the label column'
            for name in text.names
            if name in LABEL_COLUMNS
        ]
        if len(text.names) > 1 and text.names[0] == "":
            text.notes.append("the first column has no name (an index?) and is read as a feature")
    return table


def _csv_labels(file: File, samples: int) -> Any:
    text = Text(file, "", None, "")
    if text.delimiter == " " and (whole := Text(file, "", None, ",")).columns == 1:
        text = whole  # words alone: blanks are part of a label
    column = next((text.names.index(name) for name in LABEL_COLUMNS[:7] if name in text.names), None)
    if text.columns > 1 and column is None:
        file.fail(f"has {text.columns} columns; name the label column")
    text.check_widths()
    labels = [row[column or 0] for row in text.rows()]
    if not text.names and len(labels) == samples + 1:
        labels = labels[1:]  # a header that looks like a label
    return np.array(labels)

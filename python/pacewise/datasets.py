"""Data from files of many formats, and small data sets by name."""

from __future__ import annotations

import os
import pathlib
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from . import _core, _files
from ._arrays import integer, seed_of

if TYPE_CHECKING:
    from sklearn.utils import Bunch

# where Debian's package dataset-fashion-mnist puts its files
FASHION_MNIST = "/usr/share/datasets/fashion-mnist"
# the names of `load`: file below the folder of PACEWISE_DATA (or data_home), labels' variable in it
NAMED = {
    "coil20": ["COIL20.mat"],
    "pie": ["PIE_pose27.mat"],
    "mnist": ["mnist-train-images-idx3-ubyte.gz", "mnist-train-images-idx3-ubyte"],
    "mnist-test": ["mnist-t10k-images-idx3-ubyte.gz", "mnist-t10k-images-idx3-ubyte"],
    "fashion-mnist": ["train-images-idx3-ubyte.gz", "train-images-idx3-ubyte"],
    "fashion-mnist-test": ["t10k-images-idx3-ubyte.gz", "t10k-images-idx3-ubyte"],
}


def load(
    name_or_path: str | os.PathLike,
    *,
    variable: str = "",
    label_column: str | int = "",
    labels: str | os.PathLike | None = None,
    header: bool | None = None,
    delimiter: str = "",
    dtype: DTypeLike = np.float64,
    data_home: str | os.PathLike | None = None,
) -> Bunch:
    """Reads a data set.

    CSV needs pandas, HDF5 and MATLAB v7.3 need h5py, PNG and JPEG need Pillow: ``pip install 'pacewise[files]'``.

    Parameters
    ----------
    name_or_path : a file (.npy, .npz, .csv, .tsv, .mat, IDX, .mtx, HDF5 as ``file.h5:/path``; gzipped or not), a folder
        of PNG, JPEG or PGM images (subfolder = label), or a name: "synthetic", "coil20", "pie", "mnist", "mnist-test", "fashion-mnist", "fashion-mnist-test".
        Named files are looked for in ``data_home``, else in the folder of the environment variable PACEWISE_DATA
        (Fashion-MNIST: else where Debian's package dataset-fashion-mnist has it).
    variable : which array of a .npz, .mat or HDF5 file
    label_column : CSV: a name of the header, or a number from 1 (from -1: counted from the end)
    labels : a separate file of labels
    header, delimiter : CSV: decided from the content unless given
    dtype : float32 or float64

    Returns
    -------
    Bunch with ``data`` (n, m) or a CSR matrix, ``target`` (n,) int32 or None, ``target_names``, ``feature_names``,
    ``sample_shape`` (e.g. (28, 28)), ``notes``, ``format``
    """
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64):
        raise _core.Error(f"dtype = {dtype}: must be float32 or float64")
    if str(name_or_path) == "synthetic":
        return synthetic(dtype=dtype)
    path = _find(name_or_path, data_home)
    table = _files.read(path, variable, str(label_column), header, delimiter)
    if labels is not None:
        table["target"], table["target_names"] = _files.read_labels(_existing(labels), table["data"].shape[0])
    if sp.issparse(table["data"]):
        table["data"] = table["data"].astype(dtype)
    else:
        table["data"] = np.ascontiguousarray(table["data"], dtype)
    table["sample_shape"] = table["sample_shape"] or (table["data"].shape[1],)
    return _bunch(table)


def synthetic(
    n_samples: int = 300,
    n_features: int = 64,
    n_classes: int = 4,
    *,
    corrupted: float = 0.05,
    random_state: Any = 0,
    dtype: DTypeLike = np.float64,
) -> Bunch:
    """Samples that are sparse mixtures of their class's atoms, with a share of grossly corrupted entries.

    Returns
    -------
    Bunch with ``data`` (n, m), ``target`` (n,), ``clean`` (n, m), ``corrupted`` (n, m) bool
    """
    for name, count in (("n_samples", n_samples), ("n_features", n_features), ("n_classes", n_classes)):
        integer(name, count, 1)
    random = np.random.default_rng(seed_of(random_state))
    atoms = random.standard_normal((n_classes, 5, n_features))
    atoms /= np.linalg.norm(atoms, axis=-1, keepdims=True)
    target = np.arange(n_samples, dtype=np.int32) % n_classes
    codes = random.uniform(0.5, 1.5, (n_samples, 5)) * (random.uniform(size=(n_samples, 5)) < 0.6)
    codes[np.arange(n_samples), random.integers(0, 5, n_samples)] = 1
    clean = np.einsum("nk,nkm->nm", codes, atoms[target])
    mask = random.uniform(size=clean.shape) < corrupted
    data = np.where(mask, random.choice([-2.0, 2.0], clean.shape), clean + 0.01 * random.standard_normal(clean.shape))
    return _bunch({
        "data": data.astype(dtype),
        "target": target,
        "target_names": [str(c) for c in range(n_classes)],
        "feature_names": [],
        "sample_shape": (n_features,),
        "clean": clean.astype(dtype),
        "corrupted": mask,
        "notes": [],
        "format": "synthetic",
    })


def _bunch(table: dict[str, Any]) -> Bunch:
    from sklearn.utils import Bunch  # here: `import pacewise` does not import scikit-learn

    return Bunch(**table)


def _existing(path: str | os.PathLike) -> str:
    text = os.fspath(path)
    if os.path.exists(text) or (":" in text and os.path.exists(text.rpartition(":")[0])):
        return text
    raise FileNotFoundError(f"{text}: there is no such file or folder")


def _find(name_or_path: str | os.PathLike, data_home: str | os.PathLike | None) -> str:
    name = str(name_or_path)
    if name not in NAMED or os.path.exists(name):
        return _existing(name_or_path)
    homes: list[Any] = [data_home, os.environ.get("PACEWISE_DATA"), FASHION_MNIST if name.startswith("fashion") else None]
    for home in filter(None, homes):
        for file in NAMED[name]:
            if (pathlib.Path(home) / file).exists():
                return str(pathlib.Path(home) / file)
    raise FileNotFoundError(
        f"{name}: there is no {NAMED[name][0]} in data_home = {data_home} or PACEWISE_DATA = {os.environ.get('PACEWISE_DATA')}"
    )

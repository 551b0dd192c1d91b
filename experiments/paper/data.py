"""The images of one experiment: clean, noisy, partly hidden. Rows are images."""

import functools
import math
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pacewise

from .study import BadInput, normal, total, uniform

COLLECTION = "Deng Cai's collection of image data (32 x 32 pixels)"
# files, images used of each class, where they come from, whether pixels lie column by column
SOURCES = {
    "coil20": (["COIL20.mat"], 72, COLLECTION, True),
    "pie": (["PIE_pose27.mat"], 21, COLLECTION, True),  # those with the lights off
    "mnist": (["mnist-t10k-images-idx3-ubyte.gz", "mnist-t10k-labels-idx1-ubyte.gz"], 200, "the MNIST database of handwritten digits", False),
    "fashion": (["t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"], 200,
                "Debian's package dataset-fashion-mnist (/usr/share/datasets/fashion-mnist)", False),
}  # fmt: skip


class Dataset(NamedTuple):
    name: str
    values: np.ndarray  # (n, pixels)
    labels: np.ndarray  # 0..classes-1
    side: int
    by_columns: bool
    sd: float  # over all entries
    fingerprint: str  # tells other data under the same name

    def upright(self, images):
        """(..., pixels) as pictures (..., side, side)."""
        pictures = np.reshape(images, (*np.shape(images)[:-1], self.side, self.side))
        return pictures.swapaxes(-1, -2) if self.by_columns else pictures


@functools.lru_cache
def load(name, folder):
    """The first so many images of each class."""
    files, per_class, origin, by_columns = SOURCES[name]
    paths = [Path(folder) / file for file in files]
    for path in paths:
        if not path.exists():
            raise BadInput(f"{path}: no such file; get it from {origin} and put it there (--data names the folder)")
    try:
        bunch = pacewise.datasets.load(paths[0], labels=paths[1] if len(paths) > 1 else None)
    except (OSError, ValueError, RuntimeError) as error:
        raise BadInput(str(error)) from None
    if bunch.target is None:
        raise BadInput(f"{paths[0]}: holds no images with a label each (X and Y, or fea and gnd)")
    labels = np.asarray(bunch.target, np.int32)
    keep = np.sort(np.concatenate([np.flatnonzero(labels == label)[:per_class] for label in np.unique(labels)]))
    values, labels = np.ascontiguousarray(bunch.data[keep], float), labels[keep]
    n, pixels = values.shape
    side = round(math.sqrt(pixels))
    if side * side != pixels:
        raise BadInput(f"{paths[0]}: {n} images of {pixels} pixels; square images are expected")
    mean = total(values.ravel()) / values.size
    sd = math.sqrt(total(((values - mean) ** 2).ravel()) / values.size)
    crc = zlib.crc32(labels.tobytes(), zlib.crc32(values.tobytes()))
    return Dataset(name, values, labels, side, by_columns, sd, f"{n}x{pixels}-{crc:08x}")


@functools.lru_cache(maxsize=1)
def _noise(count, rho, seed):
    return normal(1_000_000_007 * seed + round(1e6 * rho), count)


def noise_of(dataset, rho, seed):
    """rho sd(X) N(0, 1): the same for every method at the same (rho, seed)."""
    if rho == 0:
        return np.zeros_like(dataset.values)
    return (rho * dataset.sd) * _noise(dataset.values.size, rho, seed).reshape(dataset.values.shape)


def noisy(dataset, rho, seed):
    return dataset.values + noise_of(dataset, rho, seed)


def unit(X):
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(norms > 0, norms, 1)


def occlude(dataset, seed, every=5):
    """Every fifth image under a square of black or white that hides about a tenth of it: the images, which of them,
    and the entries under the squares."""
    values, hidden = dataset.values.copy(), np.zeros(dataset.values.shape, bool)
    side, width = dataset.side, max(1, dataset.side // 3)
    draws = iter(uniform(seed, 1 + 3 * len(values)).tolist())
    covered = np.arange(int(next(draws) * every), len(values), every)
    for j in covered:
        top, left = (int(next(draws) * (side - width + 1)) for _ in range(2))
        where = np.s_[top : top + width, left : left + width]
        values[j].reshape(side, side)[where] = 0.0 if next(draws) < 0.5 else dataset.values.max()
        hidden[j].reshape(side, side)[where] = True
    return values, covered, hidden

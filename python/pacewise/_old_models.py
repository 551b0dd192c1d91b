"""Models that SelfPacedSparseCoder.save wrote before 0.6, as .npz: turned into the bytes of a model file."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from . import _core

_FORMAT = "pacewise-model-1"
_PARTS = ("fit", "pace", "sparsity", "manifold", "consistency")
_CERTIFICATES = ("codes", "dictionary", "consistency")


def from_npz(path: str) -> bytes:
    other = _core.Error(f"{path}: not a Pacewise model, or damaged; give a file that save or `pacewise fit -o` wrote")
    try:
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(str(file["__about__"])) if "__about__" in file else {}
            if about.get("format") != _FORMAT:
                raise other
            return _container(*_contents({name: _unpack(name, value, file) for name, value in about["plain"].items()}))
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, KeyError) as error:
        raise other from error


def _contents(old: dict[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Header and arrays of a model file, format version 2."""
    codes, model, columns = csr_array(old["codes_"]), old["_model"], old["history_"]
    dtype = old["components_"].dtype
    count = old["n_iter_"]
    history = [
        {
            **{name: columns[name][i].item() for name in ("iteration", "phase", "selected", "mean_weight", "density", "dead_atoms")},
            **{name: _finite(columns[name][i]) for name in ("lambda", "objective_before")},
            "objective_parts": {name: _finite(columns[name][i]) for name in _PARTS},
            "certificate": {name: _finite(columns["certificate_" + name][i]) for name in _CERTIFICATES},
        }
        for i in range(count)
    ]
    last = history[-1] if history else {"phase": "plain", "selected": 1, "density": 0}
    options = {**old["options_"], "regularizer": model["regularizer"], **model["regularizer_params"]}
    header = {
        "kind": "model",
        "version": "0.5",
        "precision": "single" if dtype == np.float32 else "double",
        "shape": [old["codes_"].shape[0], old["components_"].shape[1]],
        "options": options,
        "sources": {"data_checksum": 0, "weights": False, "graph": False, "graph_points": False},
        "sample_shape": [],
        "feature_names": [str(name) for name in old.get("feature_names_in_", [])],
        "state": {
            "schedule": {"phase": last["phase"], "in_phase": 0, "lambda": None, "last_objective": None, "finished": True, "stalled": True},
            "pace_lambda": _finite(old["lambda_"]),
            "beta": model["beta"],
            "step_tol": options["step_tol"],
            "random": 0,
            "iteration": count,
            "history": history,
        },
        "termination": old["termination_"],
        "detail": old["detail_"],
        "objective_parts": old["objective_parts_"],
        "certificate": {name: _finite(value) for name, value in old["certificate_"].items()},
        "lambda": _finite(old["lambda_"]),
        "selected": last["selected"],
        "density": last["density"],
        "entry_lambda": model["entry_lambda"],
        "outlier_threshold": -old["offset_"],
        "notes": old["notes_"],
    }
    arrays = {
        "dictionary": old["components_"],
        "codes_start": codes.indptr.astype(np.int64),
        "codes_atom": codes.indices.astype(np.int32),
        "codes_value": codes.data.astype(dtype),
        "losses": np.asarray(old["loss_"], dtype=dtype).ravel(),
    }
    if old["consistency_"] is not None:
        arrays["consistency"] = np.ascontiguousarray(old["consistency_"].T)
    for name in ("shift", "scale"):
        if model[name] is not None:
            arrays["normalization_" + name] = np.asarray(model[name], dtype=dtype)
    for name in ("laplacian", "incidence"):
        if old[name + "_"] is not None:
            matrix = csc_array(old[name + "_"])
            matrix.sort_indices()
            header[name] = list(matrix.shape)
            arrays[name + "_start"] = matrix.indptr.astype(np.int64)
            arrays[name + "_index"] = matrix.indices.astype(np.int32)
            arrays[name + "_value"] = matrix.data.astype(np.float64)
    return header, arrays


def _container(header: dict[str, Any], arrays: dict[str, NDArray]) -> bytes:
    """The format is described in src/storage/container.hpp."""
    blocks, places = b"", {}
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        places[name] = {"dtype": array.dtype.str, "shape": list(array.shape), "offset": len(blocks)}
        blocks += array.tobytes()
        blocks += bytes(-len(blocks) % 64)
    text = json.dumps({**header, "arrays": places}).encode()
    text += b" " * (-(32 + len(text)) % 64)
    lengths = struct.pack("<QQ", len(text), 32 + len(text) + len(blocks))
    version = struct.pack("<I", 2)
    checksum = struct.pack("<I", zlib.crc32(version + lengths + text + blocks))
    return b"PACEWISE" + version + checksum + lengths + text + blocks


def _finite(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _unpack(name: str, value: Any, file: Any) -> Any:
    if not isinstance(value, dict):
        return value
    kind = value["__kind__"]
    if kind == "array":
        return file[name]
    if kind == "names":
        return file[name].astype(object)
    if kind == "csr":
        parts = tuple(file[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
        return csr_array(parts, shape=tuple(value["shape"]))
    return {key: _unpack(f"{name}.{key}", value["inside"][f"{name}.{key}"], file) for key in value["keys"]}

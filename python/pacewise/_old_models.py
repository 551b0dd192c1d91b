"""Models that SelfPacedSparseCoder.save wrote before 0.6, as .npz: turned into the bytes of a model file of version 2."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from . import _core


def from_npz(path: str) -> _core.Model:
    model = _core.Model.__new__(_core.Model)
    try:
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(str(file["__about__"]))
            old = {name: _unpacked(name, value, file) for name, value in about["plain"].items()}
        model.__setstate__(_container(*_contents(old)))
    except Exception as error:
        raise _core.Error(f"{path}: is not a Pacewise model, or damaged ({' '.join(str(error).split())})") from None
    return model


def _unpacked(name: str, value: Any, file: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value["__kind__"] in ("array", "names"):
        return file[name]
    if value["__kind__"] == "csr":
        return csr_array(tuple(file[f"{name}.{part}"] for part in ("data", "indices", "indptr")), shape=tuple(value["shape"]))
    return {key: _unpacked(f"{name}.{key}", value["inside"][f"{name}.{key}"], file) for key in value["keys"]}


def _finite(values: Any) -> Any:
    return {name: float(v) if np.isfinite(v) else None for name, v in values.items()}


def _contents(old: dict[str, Any]) -> tuple[dict[str, Any], dict[str, NDArray]]:
    codes, model, columns, count = csr_array(old["codes_"]), old["_model"], old["history_"], old["n_iter_"]
    dtype = old["components_"].dtype
    rows = [{name: column[i].item() for name, column in columns.items()} for i in range(count)]
    same = ("iteration", "phase", "selected", "mean_weight", "density", "dead_atoms")
    history = [
        {
            **{name: row[name] for name in same},
            **_finite({name: row[name] for name in ("lambda", "objective_before")}),
            "objective_parts": _finite({name: row[name] for name in old["objective_parts_"]}),
            "certificate": _finite({name: row[f"certificate_{name}"] for name in old["certificate_"]}),
        }
        for row in rows
    ]
    last = history[-1] if history else {"phase": "plain", "selected": 1, "density": 0}
    options = {**old["options_"], "regularizer": model["regularizer"], **model["regularizer_params"]}
    schedule = {"phase": last["phase"], "in_phase": 0, "lambda": None, "last_objective": None, "finished": True, "stalled": True}
    header = {
        **{"kind": "model", "version": "0.5", "precision": "single" if dtype == np.float32 else "double"},
        "shape": [codes.shape[0], old["components_"].shape[1]],
        "options": options,
        "sources": {"data_checksum": 0, "weights": False, "graph": False, "graph_points": False},
        "sample_shape": [],
        "feature_names": [str(name) for name in old.get("feature_names_in_", [])],
        "state": {
            **{"schedule": schedule, "beta": model["beta"], "step_tol": options["step_tol"], "random": 0, "iteration": count},
            **_finite({"pace_lambda": old["lambda_"]}),
            "history": history,
        },
        **{name: old[f"{name}_"] for name in ("termination", "detail", "objective_parts", "notes")},
        **{name: last[name] for name in ("selected", "density")},
        **_finite({"lambda": old["lambda_"], "entry_lambda": model["entry_lambda"], "outlier_threshold": -old["offset_"]}),
        "certificate": _finite(old["certificate_"]),
    }
    arrays = {"dictionary": old["components_"], "losses": np.asarray(old["loss_"], dtype).ravel()}
    parts = {"codes": ("start", "atom", "value", codes)}
    for name in ("laplacian", "incidence"):
        if old[f"{name}_"] is not None:
            header[name] = list(old[f"{name}_"].shape)
            parts[name] = ("start", "index", "value", csc_array(old[f"{name}_"]))
    for name, (start, index, value, matrix) in parts.items():
        matrix.sort_indices()
        arrays |= {f"{name}_{start}": matrix.indptr.astype("<i8"), f"{name}_{index}": matrix.indices.astype("<i4"),
                   f"{name}_{value}": matrix.data.astype(dtype if name == "codes" else "<f8")}  # fmt: skip
    if old["consistency_"] is not None:
        arrays["consistency"] = old["consistency_"].T
    for name in ("shift", "scale"):
        if model[name] is not None:
            arrays[f"normalization_{name}"] = np.asarray(model[name], dtype)
    return header, arrays


def _container(header: dict[str, Any], arrays: dict[str, NDArray]) -> bytes:
    """The format is described in docs/cli.md."""
    blocks, places = b"", {}
    for name, array in arrays.items():
        places[name] = {"dtype": array.dtype.str, "shape": list(array.shape), "offset": len(blocks)}
        blocks += array.tobytes()
        blocks += bytes(-len(blocks) % 64)
    text = json.dumps({**header, "arrays": places}).encode()
    text += b" " * (-(32 + len(text)) % 64)
    rest = struct.pack("<QQ", len(text), 32 + len(text) + len(blocks)) + text + blocks
    version = struct.pack("<I", 2)
    return b"PACEWISE" + version + struct.pack("<I", zlib.crc32(version + rest)) + rest

"""The library's table of options, as the estimator shows and fills it."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from . import _core
from ._arrays import seed_of

_AUTO = ("contamination",)  # whose unset value is called "auto"
_TYPES = {"flag": "bool", "integer": "int", "real": "float", "choice": "str", "numbers": "array of floats"}


def options_of(values: dict[str, Any]) -> dict[str, Any]:
    """Plain Python values for the library, which checks them. None stands for the preset's value."""
    out = {}
    for name, value in values.items():
        if name == "random_state":
            value = seed_of(value)
        elif name in _AUTO and isinstance(value, str) and value == "auto":
            value = None
        elif isinstance(value, (np.generic, np.ndarray)):
            value = value.tolist()
        if name == "shape" and np.ndim(value) == 1:
            value = "x".join(map(str, value))
        out[name] = value
    return out


def parameters_doc() -> str:
    """The section of the estimator's documentation that the table can write, in numpydoc's form."""
    lines = []
    for row in _core.option_table():
        if row["regularizer"] or row["python"] == "random_state":
            continue
        values = {which: "auto" if row["python"] in _AUTO else value for which, value in row["defaults"].items()}
        others = [f"{which} {value!r}" for which, value in values.items() if value != values["robust"]]
        default = f"{values['robust']!r}" + (f" ({', '.join(others)})" if others else "")
        automatic = row["python"] in _AUTO or row["rule"].endswith(", or auto")
        kind = row["rule"] if row["type"] == "choice" else _TYPES[row["type"]] + (' or "auto"' if automatic else "")
        lines.append(f"{row['python']} : {kind}, default {default}")
        rule = {"integer": row["rule"].removeprefix("an integer "), "real": row["rule"]}.get(row["type"], "").removesuffix(", or auto")
        lines += textwrap.wrap(row["help"] + (f"; {rule}." if rule else "."), 110, initial_indent="    ", subsequent_indent="    ")
    return "\n".join(lines)


def regularizer_params_doc() -> str:
    """'polynomial: power (> 1), ..'"""
    rows = [row for row in _core.option_table() if row["regularizer"]]
    return ", ".join(f"{row['regularizer']}: {row['name']} ({row['rule']})" for row in rows)

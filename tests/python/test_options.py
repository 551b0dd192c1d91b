"""The estimator's parameters, their checks and their documentation follow from the library's table of options."""

import inspect
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

import pacewise
from pacewise import SelfPacedSparseCoder, _core

NOT_OPTIONS = {"preset", "regularizer_params", "dict_init", "code_init", "max_seconds", "n_threads", "n_jobs", "verbose", "callback"}


def drift() -> list[str]:
    """Where the signature says other than the table."""
    signature = inspect.signature(SelfPacedSparseCoder).parameters
    rows = {row["python"]: row for row in _core.option_table() if not row["regularizer"]}
    out = [f"{name}: in one of table and signature alone" for name in rows.keys() ^ (signature.keys() - NOT_OPTIONS)]
    for name in rows.keys() & signature.keys():
        default = None if signature[name].default == "auto" else signature[name].default  # unset, in scikit-learn's word
        if default is not None and {default} != set(rows[name]["defaults"].values()):
            out.append(f"{name}: default {default}, in the table {rows[name]['defaults']}")
    return out


def test_signature_is_the_table():
    assert drift() == []


def test_documentation_names_every_option_with_its_rule_and_default():
    text = inspect.getdoc(SelfPacedSparseCoder)
    for row in _core.option_table():
        if row["regularizer"]:
            assert f"{row['regularizer']}: {row['name']} ({row['rule']})" in text
        else:
            assert f"\n{row['python']} : " in text, row["python"]
            assert row["python"] == "random_state" or " ".join(row["help"].split()) in " ".join(text.split())
    assert "n_components : int or \"auto\", default 'auto' (table 16, paper 128)\n    Atoms of the dictionary; auto: chosen" in text
    assert "n_neighbors : int, default 5 (paper 3)" in text
    assert "{" not in text


BAD = {"flag": ["yes", 3], "integer": [-1, 1.5, "many", np.nan], "real": [-np.inf, np.nan, "many", [1.0]],
       "choice": ["no such word", 3], "numbers": [[-1.0], "many"]}  # fmt: skip


@pytest.mark.parametrize("row", _core.option_table(), ids=lambda row: row["python"])
def test_bad_values_are_refused_by_name_value_and_rule(row):
    given = {"regularizer": row["regularizer"] or None}
    for bad in BAD[row["type"]]:
        with pytest.raises(pacewise.Error) as caught:
            _core.check_options({**given, row["python"]: bad})
        text = str(caught.value)
        assert text.startswith(f"{row['python']} = ") and row["rule"] in text and "\n" not in text, text


def test_values_of_numpy_and_old_names_are_taken():
    X = np.random.default_rng(0).normal(size=(30, 6))
    coder = SelfPacedSparseCoder(np.int64(3), beta_ratio=np.float32(0.25), regularizer="mixture",
                                 regularizer_params={"ratio": np.float64(0.25)}, positive_codes=np.bool_(False), max_iter=3, random_state=0)  # fmt: skip
    with pytest.warns(UserWarning):
        used = clone(coder).fit(X).options_
    assert (used["n_components"], used["beta_ratio"], used["mixture_ratio"]) == (3, 0.25, 0.25)


FICTITIOUS = """
import sys
sys.path.insert(0, sys.argv[1])
import test_options, pacewise
print(test_options.drift())
print("fictitious : float, default 0.25" in pacewise.SelfPacedSparseCoder.__doc__)
try:
    pacewise._core.check_options({"fictitious": 2})
except pacewise.Error as error:
    print(error)
"""


def test_a_new_option_appears():
    """One row more in the table: the check of the signature sees it, documentation and messages have it."""
    told = subprocess.run([sys.executable, "-c", FICTITIOUS, os.path.dirname(__file__)], capture_output=True, text=True,
                          check=True, env={**os.environ, "PACEWISE_TEST_OPTION": "fictitious"})  # fmt: skip
    assert told.stdout.splitlines() == [
        "['fictitious: in one of table and signature alone']", "True", "fictitious = 2: must be in [0, 1]"]  # fmt: skip

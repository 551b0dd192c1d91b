"""The examples run, and the guide says what they print."""

import pathlib
import re
import runpy

import numpy as np
import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs/examples"
GUIDE = FOLDER.parent / "guide.md"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")
TIMES = {"fill_missing_values": 3, "replace_dictionary_learning": 2}  # which number of a line is a time


def cluster_occluded_images(scores):
    acc = {name: score["acc"] for name, score in scores.items()}
    assert acc["pacewise, codes"] > max(acc["pixels"], acc["PCA, 20 components"]) + 0.02


def find_corrupted_entries(scores):
    assert scores["pacewise, 1 - confidence"][0] > scores["distance from the mean"][0] + 0.2
    assert all(np.greater(scores["pacewise, 1 - confidence"], scores["PCA residual, 12 components"]))


def fill_missing_values(scores):
    assert scores["IterativeImputer", "table"] < scores["pacewise", "table"] < scores["KNNImputer", "table"]
    assert scores["KNNImputer", "images"] < scores["pacewise", "images"] < 0.8


def detect_outliers(scores):
    at_most = {key: values[-1] for key, values in scores.items()}
    assert at_most["other digits", "pacewise, level none"] > at_most["other digits", "IsolationForest"] + 0.1
    assert at_most["other digits", "pacewise, level sample"] < at_most["other digits", "PCA, 20 components"]
    assert at_most["shuffled pixels", "pacewise, level element"] > at_most["shuffled pixels", "PCA, 20 components"] + 0.02
    assert at_most["shuffled pixels", "IsolationForest"] > at_most["shuffled pixels", "pacewise, level element"]


def choose_atoms_and_beta(found):
    rows = found["rows"]
    seen, best = (min(rows, key=lambda row: row[column]) for column in (2, 4))
    chosen = next(row for row in rows if row[:2] == found["chosen"])
    assert chosen[4] < 1.5 * best[4], "close to the best by the truth"
    assert seen[4] > 2 * chosen[4], "the error of what was seen would have chosen badly"


def replace_dictionary_learning(scores):
    assert scores["pacewise, level none"][0] < scores["DictionaryLearning"][0] * 1.01
    assert scores["pacewise, trimmed"][0] > scores["pacewise, level none"][0]


def numbers(value):
    if isinstance(value, dict):
        return [number for item in value.values() for number in numbers(item)]
    return [number for item in value for number in numbers(item)] if isinstance(value, (list, tuple)) else [value]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_example(name, tmp_path, capsys):
    found = runpy.run_path(str(FOLDER / f"{name}.py"), run_name="example")["main"](tmp_path / "picture.png")
    assert np.isfinite(numbers(found)).all()
    globals()[name](found)  # what the guide says about it
    assert 4_000 < (tmp_path / "picture.png").stat().st_size < 60_000
    assert (FOLDER / f"{name}.png").stat().st_size < 60_000

    printed = capsys.readouterr().out.strip().splitlines()
    section = GUIDE.read_text(encoding="utf-8").split(f"(examples/{name}.py)")[1]
    copied = re.search(r"```text\n(.*?)\n```", section, re.DOTALL)[1].splitlines()
    if name == "choose_atoms_and_beta":  # rows are sorted by an error: other roundings may swap two
        printed, copied = sorted(printed), sorted(copied)
    assert len(printed) == len(copied)
    for here, there in zip(printed, copied):
        ours, theirs = NUMBER.findall(here), NUMBER.findall(there)
        assert len(ours) == len(theirs), (here, there)
        for at, (a, b) in enumerate(zip(ours, theirs), 1):
            if TIMES.get(name) != (at if len(ours) > 2 else None):
                assert float(a) == pytest.approx(float(b), rel=0.03, abs=0.05), (here, there)


def test_every_example_is_in_the_guide():
    text = GUIDE.read_text(encoding="utf-8")
    assert len(NAMES) == 6
    for name in NAMES:
        assert f"(examples/{name}.py)" in text and f"(examples/{name}.png)" in text

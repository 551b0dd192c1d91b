"""The Python in the documents runs as it stands, block after block; what they say of others is so."""

import inspect
import pathlib
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import spams
from sklearn.decomposition import DictionaryLearning, MiniBatchDictionaryLearning

import pacewise

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("document", ["docs/python.md", "README.md"])
def test_python_blocks(document, tmp_path, monkeypatch):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / document).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "document"}
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"{document}, block {number}", "exec"), names)


def test_the_reference_has_every_name():
    text = (ROOT / "docs/reference/python.md").read_text(encoding="utf-8")
    assert [name for name in pacewise.__all__ if f"pacewise.{name}\n" not in text and not name.startswith("_")] == []


def test_claims_about_scikit_learn_and_spams(rng):
    """The rows of docs/comparison.md marked *: what others can do or refuse, in the versions installed here."""
    X = rng.standard_normal((60, 12))
    holes = np.where(rng.uniform(size=X.shape) < 0.1, np.nan, X)

    def learn(data):
        return DictionaryLearning(4, alpha=0.1, max_iter=2, random_state=0).fit(data).components_

    def train(data):
        return spams.trainDL(data, K=4, lambda1=0.1, iter=5, numThreads=1, verbose=False)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="NaN"):
            learn(holes)
        with pytest.raises(TypeError, match="Sparse"):
            learn(sp.csr_array(X))
        assert learn(X.astype(np.float32)).dtype == np.float32
        train(np.asfortranarray(holes.T))  # not noticed
        assert train(sp.csc_matrix(X.T)).shape == (12, 4)
        assert train(np.asfortranarray(X.T.astype(np.float32))).dtype == np.float32
        with pytest.raises(RuntimeError):
            spams.lasso(sp.csc_matrix(X.T), np.asfortranarray(np.eye(12)), lambda1=0.1, numThreads=1)

    theirs = inspect.signature(DictionaryLearning).parameters
    assert {"positive_code", "positive_dict", "callback"} <= set(theirs) and "l1_ratio" not in theirs
    assert "sample_weight" not in inspect.signature(DictionaryLearning.fit).parameters
    assert hasattr(MiniBatchDictionaryLearning, "partial_fit")
    training = inspect.signature(spams.trainDL).parameters
    assert {"posAlpha", "posD", "lambda2", "batchsize"} <= set(training) and not {"B", "W", "mask"} & set(training)
    assert hasattr(spams, "omp") and hasattr(spams, "structTrainDL") and hasattr(spams, "lassoMask")

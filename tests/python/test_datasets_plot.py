"""Files by the library's readers; pictures."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import pacewise
from pacewise import datasets, plot


@pytest.fixture
def table(rng):
    return rng.standard_normal((9, 4)), np.arange(9) % 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_formats(table, tmp_path, dtype):
    X, y = table
    X = X.astype(dtype)
    np.save(tmp_path / "a.npy", X)
    np.savez(tmp_path / "a.npz", X=X)
    np.savetxt(tmp_path / "a.csv", X, delimiter=",", fmt="%.17g")
    scipy.io.savemat(tmp_path / "a.mat", {"fea": X, "gnd": y + 1.0})
    for name in ("a.npy", "a.npz", "a.csv", "a.mat"):
        bunch = datasets.load(tmp_path / name, dtype=dtype)
        assert bunch.data.dtype == dtype
        assert (bunch.data == X).all()
    assert (datasets.load(tmp_path / "a.mat").target == y).all()
    np.savetxt(tmp_path / "y.csv", y, fmt="%d")
    assert (datasets.load(tmp_path / "a.npy", labels=tmp_path / "y.csv").target == y).all()


def test_sparse(tmp_path, rng):
    X = sp.random_array((8, 5), density=0.3, rng=rng, format="csr")
    scipy.io.mmwrite(tmp_path / "a.mtx", X, precision=17)
    data = datasets.load(tmp_path / "a.mtx").data
    assert sp.issparse(data) and data.shape == (8, 5)
    np.testing.assert_allclose(data.toarray(), X.toarray(), rtol=1e-14)


def test_label_column(tmp_path):
    (tmp_path / "a.csv").write_text("x,kind,y\n1,cat,2\n3,dog,4\n,cat,6\n")
    bunch = datasets.load(tmp_path / "a.csv", label_column="kind")
    assert bunch.feature_names == ["x", "y"] and bunch.target_names == ["cat", "dog"]
    assert bunch.target.tolist() == [0, 1, 0]
    assert np.isnan(bunch.data[2, 0]) and np.nansum(bunch.data) == 16


def test_files_that_are_not_there_or_not_data(tmp_path, monkeypatch):
    monkeypatch.delenv("PACEWISE_DATA", raising=False)
    with pytest.raises(FileNotFoundError):
        datasets.load(tmp_path / "nothing.csv")
    (tmp_path / "b.npy").write_bytes(b"\x93NUMPY rubbish")
    with pytest.raises(pacewise.Error, match="b.npy"):
        datasets.load(tmp_path / "b.npy")
    with pytest.raises(FileNotFoundError, match="COIL20"):
        datasets.load("coil20", data_home=tmp_path)


def test_a_mapped_file_is_read_only(tmp_path, rng):
    np.save(tmp_path / "a.npy", rng.standard_normal((1000, 600)))
    data = datasets.load(tmp_path / "a.npy").data
    assert np.isfinite(data).all()
    with pytest.raises(ValueError, match="read-only"):
        data[0, 0] = 1


def test_plots(corrupted):
    bunch, coder = corrupted
    _, axes = plt.subplots(2, 3)
    axes = axes.ravel()
    assert plot.atoms(coder, shape=(4, 8), ax=axes[0]) is axes[0]
    assert axes[0].images[0].get_array().shape == (4 * 5 - 1, 4 * 9 - 1)
    assert plot.weights(coder, ax=axes[1]) is axes[1]
    assert sum(bar.get_height() for bar in axes[1].patches) == coder.weights_.size
    assert plot.weights(coder, sample=3, shape=(4, 8), ax=axes[2]) is axes[2]
    assert (axes[2].images[0].get_array() == coder.weights_[3].reshape(4, 8)).all()
    assert plot.convergence(coder, ax=axes[3]) is axes[3]
    assert sum(len(line.get_xdata()) for line in axes[3].lines) == coder.n_iter_
    assert plot.pace(ax=axes[4]) is axes[4]
    assert len(axes[4].lines) == 6
    for line in axes[4].lines:
        v = pacewise.pace_weights(line.get_xdata(), 1.0, regularizer=line.get_label())
        assert (line.get_ydata() == v).all()
    assert plot.pace(coder, ax=axes[5]) is axes[5]
    share, mean = axes[5].lines
    assert (share.get_ydata() == coder.history_["selected"]).all() and (mean.get_ydata() == coder.history_["mean_weight"]).all()
    joined = [line for line in axes[3].lines if line.get_linestyle() != "None"]
    paced = [line for line in axes[3].lines if line.get_linestyle() == "None"]
    assert joined and [line.get_label() for line in paced] == ["paced (lambda moves)"]
    assert plot.pace("linear", lam=2.0).figure is not axes[0].figure
    with pytest.raises(ValueError, match="shape"):
        plot.atoms(coder, shape=(3, 8))
    plt.close("all")

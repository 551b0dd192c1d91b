"""Files of every format; pictures."""

import gzip
import sys

import h5py
import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from PIL import Image

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
    scipy.io.mmwrite(tmp_path / "a.mtx", sp.csr_array(np.maximum(X, 0).astype(float)), precision=17)
    data = datasets.load(tmp_path / "a.mtx", dtype=dtype).data
    assert sp.issparse(data) and (data.toarray() == np.maximum(X, 0)).all()


def test_label_column(tmp_path):
    (tmp_path / "a.csv").write_text("x,kind,y\n1,cat,2\n3,dog,4\n,cat,6\n")
    bunch = datasets.load(tmp_path / "a.csv", label_column="kind")
    assert bunch.feature_names == ["x", "y"] and bunch.target_names == ["cat", "dog"]
    assert bunch.target.tolist() == [0, 1, 0]
    assert np.isnan(bunch.data[2, 0]) and np.nansum(bunch.data) == 16


def test_files_that_are_not_there_or_not_data(tmp_path, monkeypatch, rng):
    monkeypatch.delenv("PACEWISE_DATA", raising=False)
    with pytest.raises(FileNotFoundError):
        datasets.load(tmp_path / "nothing.csv")
    (tmp_path / "b.npy").write_bytes(b"\x93NUMPY rubbish")
    with pytest.raises(pacewise.Error, match="b.npy"):
        datasets.load(tmp_path / "b.npy")
    with pytest.raises(FileNotFoundError, match="COIL20"):
        datasets.load("coil20", data_home=tmp_path)
    np.save(tmp_path / "a.npy", rng.standard_normal((1000, 600)))
    with pytest.raises(ValueError, match="read-only"):  # large: mapped
        datasets.load(tmp_path / "a.npy").data[0, 0] = 1


def test_hdf5_and_matlab_73(table, tmp_path):
    X, y = table
    with h5py.File(tmp_path / "a.h5", "w") as h5:
        h5["train/points"], h5["train/labels"], h5["test/points"] = X, y, X[:2]
    bunch = datasets.load(f"{tmp_path}/a.h5:/train/points")
    assert (bunch.data == X).all() and (bunch.target == y).all()
    with pytest.raises(pacewise.Error, match=r"which dataset holds the data\? It has test/points \(2 x 4\)"):
        datasets.load(tmp_path / "a.h5")
    with pytest.raises(pacewise.Error, match='has no dataset "nothing"; it holds test/points'):
        datasets.load(tmp_path / "a.h5", variable="nothing")
    with h5py.File(tmp_path / "b.mat", "w", userblock_size=512) as h5:  # axes in reverse order
        h5["X"], h5["Y"] = X.T, y[np.newaxis]
        kept = sp.csc_array(X * (X > 0))
        sparse = h5.create_group("sparse")
        sparse.attrs["MATLAB_sparse"] = np.uint64(9)
        sparse["data"], sparse["ir"], sparse["jc"] = kept.data, kept.indices, kept.indptr
        letters = [h5.create_dataset(f"#refs#/{i}", data=np.array([[ord("abc"[c])]], "u2")).ref for i, c in enumerate(y)]
        h5.create_dataset("names", data=np.array([letters], h5py.ref_dtype)).attrs["MATLAB_class"] = np.bytes_("cell")
    with open(tmp_path / "b.mat", "r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    bunch = datasets.load(tmp_path / "b.mat")
    assert (bunch.data == X).all() and (bunch.target == y).all()
    found = datasets.load(f"{tmp_path}/b.mat:sparse").data
    assert (found.toarray() == kept.toarray()).all()
    bunch = datasets.load(tmp_path / "b.mat", labels=f"{tmp_path}/b.mat:names")
    assert bunch.target_names == ["a", "b", "c"] and (bunch.target == y).all()


def test_idx_and_its_labels(tmp_path):
    pixels = np.arange(24, dtype=np.uint8)
    images = b"\0\0\x08\x03" + np.array([4, 2, 3], ">u4").tobytes() + pixels.tobytes()
    (tmp_path / "a-images-idx3-ubyte").write_bytes(images)
    assert datasets.load(tmp_path / "a-images-idx3-ubyte").notes == ["no labels file lies beside it"]
    labels = b"\0\0\x08\x01" + np.array([4], ">u4").tobytes() + bytes([3, 7, 3, 1])
    (tmp_path / "a-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))
    bunch = datasets.load(tmp_path / "a-images-idx3-ubyte")
    assert (bunch.data == pixels.reshape(4, 6)).all() and bunch.sample_shape == (2, 3)
    assert bunch.target.tolist() == [1, 2, 1, 0] and bunch.target_names == ["1", "3", "7"]
    (tmp_path / "short").write_bytes(images[:-1])
    with pytest.raises(pacewise.Error, match="short: holds 23 numbers and announces 4 x 2 x 3"):
        datasets.load(tmp_path / "short")


def test_image_folder(tmp_path, rng):
    grey, colour = rng.integers(0, 256, (6, 5), np.uint8), rng.integers(0, 256, (6, 5, 3), np.uint8)
    for label in ("10", "9"):
        (tmp_path / label).mkdir()
    Image.fromarray(grey).save(tmp_path / "10/a.png")
    Image.fromarray(colour).save(tmp_path / "10/b.png")
    (tmp_path / "9/c.pgm").write_bytes(b"P5 # all\n5 6\n100\n" + (grey // 3).tobytes())
    (tmp_path / "9/readme").write_text("no image")
    bunch = datasets.load(tmp_path)
    luma = colour @ [0.299, 0.587, 0.114]
    assert (bunch.data[[0, 2]] == np.stack([grey, grey // 3]).reshape(2, 30)).all()
    assert np.abs(bunch.data[1] - luma.ravel()).max() < 0.51  # rounded
    assert bunch.target.tolist() == [1, 1, 0] and bunch.target_names == ["9", "10"] and bunch.sample_shape == (6, 5)
    assert bunch.notes == ["1 files are no images and are left out"]
    Image.fromarray(grey[:3]).save(tmp_path / "9/d.png")
    with pytest.raises(pacewise.Error, match="d.png: is 5 x 3 pixels of 8 bits, a.png is 5 x 6 pixels of 8 bits"):
        datasets.load(tmp_path)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("# a comment\n1,2\n\n3,4\n", [[1, 2], [3, 4]]),
        ("a;b\n1,5;2\n3.5;?\n", [[1.5, 2], [3.5, np.nan]]),
        ("1  2\n 3 nan\n", [[1, 2], [3, np.nan]]),
        ("0,1,2\n5,6,7\n8,9,NULL\n", [[5, 6, 7], [8, 9, np.nan]]),
        ('"a","b"\n"1",2\n', [[1, 2]]),
    ],
)
def test_csv(tmp_path, text, data):
    (tmp_path / "a.csv").write_text(text)
    np.testing.assert_array_equal(datasets.load(tmp_path / "a.csv").data, data)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2,3\n\n4,5\n", "a.csv: line 3: has 2 fields, the first line has 3; give every line the same number"),
        ("a,b\n1,2\n3,x4\n", r'a.csv: line 3, column 2 \(b\): "x4" is not a number; correct it'),
        ("1,2\nTrue,3\n", 'a.csv: line 2, column 1: "True" is not a number'),
        ("1.5,2\n\"1,5\",3\n", "write a decimal point"),
        ("", "a.csv: the file is empty"),
    ],
)
def test_bad_csv(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(pacewise.Error, match=message):
        datasets.load(tmp_path / "a.csv")


@pytest.mark.parametrize(("module", "name"), [("pandas", "a.csv"), ("h5py", "a.h5"), ("PIL.Image", "a.png")])
def test_a_package_that_is_not_installed_is_named(tmp_path, monkeypatch, module, name):
    (tmp_path / "a.csv").write_text("1,2\n")
    h5py.File(tmp_path / "a.h5", "w").create_dataset("X", data=np.ones((2, 2)))
    Image.new("L", (2, 2)).save(tmp_path / "a.png")
    assert datasets.load(tmp_path / name).data.size
    monkeypatch.setitem(sys.modules, module, None)
    package = module.partition(".")[0].replace("PIL", "Pillow")
    with pytest.raises(ImportError, match=rf"{name}: reading .* needs {package}; pip install 'pacewise\[files\]'"):
        datasets.load(tmp_path / name)


def test_plot_of_the_stages(corrupted):
    bunch, coder = corrupted
    descending = pacewise.SelfPacedSparseCoder(15, beta=0.02, graph="none", random_state=0).fit(bunch.data)
    ax = plot.stages(descending)
    errors = descending.stages_["error"]
    assert (ax.lines[0].get_ydata() == errors).all() and descending.stage_ > 0
    assert set(ax.lines[-1].get_xdata()) == {descending.stage_}
    assert [text.get_text() for text in ax.texts] == ["stopped here"]
    assert ax.get_xticklabels()[0].get_text() == "all in" and len(ax.get_xticklabels()) == len(errors)
    for other in (coder, pacewise.SelfPacedSparseCoder(5, lambda_scale=2, graph="none", random_state=0).fit(bunch.data)):
        with pytest.raises(ValueError, match="stages_ has no hidden entries"):
            plot.stages(other)
    plt.close("all")


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
    assert {"hard", "linear", "welsch"} < {line.get_label() for line in axes[4].lines}
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

"""The estimator: what it promises about data, precision, stopping, files and scikit-learn."""

import pathlib
import pickle
import re
import signal
import threading
import time
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.covariance import EllipticEnvelope
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline

import pacewise
from pacewise import SelfPacedSparseCoder, _coder

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "fixtures"


def quick(**options):
    return SelfPacedSparseCoder(**{"kind": "images", "n_components": 8, "beta": 0.05, "random_state": 0, "pace_iter": 4, "polish": 4, **options})


@pytest.fixture(scope="module")
def X():
    return pacewise.datasets.synthetic(60, 16, 3, random_state=2).data


def test_starts(X):
    first = quick(level="none", graph="none", max_iter=3).fit(X)
    kept = quick(level="none", graph="none", max_iter=1, plain_iter=0, warm_iter=0, dict_init=first.components_, code_init=first.codes_).fit(X)
    other = quick(level="none", graph="none", max_iter=1, plain_iter=0, warm_iter=0).fit(X)
    assert kept.objective_ <= first.objective_ * (1 + 1e-9) < other.objective_
    with pytest.raises(pacewise.Error, match="dictionary"):
        quick(dict_init=np.ones((8, 3))).fit(X)
    with pytest.raises(pacewise.Error, match="codes"):
        quick(code_init=np.ones((3, 8)), dict_init=first.components_).fit(X)


def test_groups_share_a_weight(X):
    group = dict(level="group", pace_iter=None, alpha=0, gamma=0, lambda_scale=1)
    by_label = quick(**group, groups=np.repeat(["left", "right"], 8)).fit(X)
    assert (by_label.weights_ == by_label.weights_[:, [0, 8]].repeat(8, 1)).all()
    by_matrix = quick(**group, groups=np.kron(np.eye(2), np.full((8, 8), 1 / 8))).fit(X)
    np.testing.assert_allclose(by_matrix.weights_, by_label.weights_, atol=1e-6)
    windows = quick(**group, shape=(4, 4), window=3).fit(X)
    assert windows.options_["shape"] == "4x4" and windows.mend(X).shape == windows.weights_.shape == X.shape
    assert windows.options_["regularizer"] == "welsch" and quick(**group, shape=(4, 4), regularizer="linear").fit(X).options_["regularizer"] == "linear"


def test_atoms_and_beta_are_chosen(X):
    coder = quick(n_components="auto", beta="auto", graph="none").fit(X)
    chosen = coder.n_components_, coder.options_["beta_ratio"]
    assert chosen[0] == len(coder.components_) == coder.options_["n_components"] and any("were chosen" in note for note in coder.notes_)
    tried = {(c["atoms"], c["beta_ratio"]): c["error"] for c in coder.candidates_}
    assert tried[chosen] <= min(tried.values()) / 0.95, "a smaller beta must pay"
    same = quick(n_components=None, beta=None, graph="none").fit(X)
    np.testing.assert_array_equal(same.codes_, coder.codes_, err_msg="the default chooses")
    assert quick(beta="auto").fit(X).n_components_ == 8
    assert quick(n_components=None, dict_init=np.eye(3, 16)).fit(X).n_components_ == 3
    paper = quick(n_components=None, beta=None, preset="paper", max_iter=2).fit(X)
    assert paper.n_components_ == 128 and not paper.candidates_


def test_corrupted_entries_are_found(corrupted):
    bunch, coder = corrupted
    assert coder.weights_[bunch.corrupted].mean() < 0.3 < 0.6 < coder.weights_[~bunch.corrupted].mean()
    confidence = coder.entry_confidence(bunch.data)
    assert confidence[bunch.corrupted].mean() < 0.3 < 0.6 < confidence[~bunch.corrupted].mean()
    before = np.abs(bunch.data - bunch.clean).mean()
    assert np.abs(coder.reconstruct(bunch.data) - bunch.clean).mean() < before / 2


def test_outliers_by_the_conventions_of_other_detectors(corrupted, rng):
    """As EllipticEnvelope: higher is more normal, offset_ is what decision_function subtracts, predict its sign."""
    bunch, coder = corrupted
    strange = 3 * rng.standard_normal((20, bunch.data.shape[1]))
    assert coder.score_samples(strange).max() < np.median(coder.score_samples(bunch.data))
    assert (coder.predict(strange) == -1).mean() > 0.8
    assert (coder.predict(bunch.data) == -1).mean() < 0.02  # usual scores, wherever a tenth of them may end
    X = np.vstack([bunch.data[:40], strange[:5]])
    for detector in (coder, EllipticEnvelope(support_fraction=0.9, random_state=0).fit(bunch.data)):
        np.testing.assert_allclose(detector.decision_function(X), detector.score_samples(X) - detector.offset_)
        assert (detector.predict(X) == np.where(detector.decision_function(X) >= 0, 1, -1)).all() and len(detector.predict(X)) == 45
    assert (clone(coder).fit_predict(bunch.data) == coder.predict(bunch.data)).all()


def test_contamination_is_the_share_called_outliers(corrupted):
    bunch, coder = corrupted
    for share in (0.05, 0.2):
        other = clone(coder).set_params(contamination=share).fit(bunch.data)
        assert (other.predict(bunch.data) == -1).mean() == pytest.approx(share, abs=0.01)
        assert other.offset_ == pytest.approx(np.quantile(coder.score_samples(bunch.data), share), abs=1e-9)
    roots = np.sqrt(-coder.score_samples(bunch.data))
    scale = 1.4826 * np.median(abs(roots - np.median(roots)))
    assert coder.offset_ == pytest.approx(-((np.median(roots) + 3 * scale) ** 2), rel=0.02)
    for wrong in (0.0, 0.6, "many"):
        with pytest.raises((pacewise.Error, TypeError), match="contamination"):
            clone(coder).set_params(contamination=wrong).fit(bunch.data)


def test_entries_judged_by_codes_that_have_not_seen_them():
    """As many atoms as features reproduce every entry: only codes without it can tell that it is wrong."""
    bunch = pacewise.datasets.synthetic(300, 24, 3, corrupted=0.03, random_state=2)
    coder = SelfPacedSparseCoder(48, beta=0.02, level="none", graph="none", random_state=0).fit(bunch.data)
    wrong = bunch.corrupted.ravel()
    seen, unseen = (roc_auc_score(wrong, -coder.entry_confidence(bunch.data, folds=folds).ravel()) for folds in (0, 15))
    assert unseen > max(0.9, seen + 0.02)
    # few features: fifteen folds without being asked
    assert (coder.entry_confidence(bunch.data) == coder.entry_confidence(bunch.data, folds=15)).all()
    with pytest.raises(pacewise.Error, match="folds = 1: must be 0 or an integer >= 2"):
        coder.score_samples(bunch.data, folds=1)


def test_find_wrong_cells(corrupted):
    bunch, coder = corrupted
    cells = coder.find_wrong_cells(bunch.data)
    confidence = coder.entry_confidence(bunch.data)
    assert len(cells) == (confidence < 0.5).sum() > 0
    assert (np.diff(cells["confidence"]) >= 0).all()
    where = cells["row"], cells["column"]
    assert (cells["given"] == bunch.data[where]).all() and (cells["confidence"] == confidence[where]).all()
    found = bunch.corrupted[where]
    assert found.mean() > 0.7 and found.sum() > 0.8 * bunch.corrupted.sum()
    assert np.median(np.abs(cells["expected"] - bunch.clean[where])[found]) < 0.1 * np.median(np.abs(cells["given"] - bunch.clean[where])[found])
    frame = pd.DataFrame(bunch.data, columns=[f"x{k}" for k in range(bunch.data.shape[1])], index=[f"row {j}" for j in range(len(bunch.data))])
    named = clone(coder).fit(frame).find_wrong_cells(frame)
    assert list(named["row"]) == [f"row {j}" for j in cells["row"]] and list(named["column"]) == [f"x{k}" for k in cells["column"]]
    assert len(coder.find_wrong_cells(bunch.clean[:3], folds=0)) == 0
    alone = coder.find_wrong_cells(1e3 * np.ones((1, bunch.data.shape[1])) * np.where(np.arange(bunch.data.shape[1]) % 2, 1, -1))
    assert np.isfinite(alone["expected"]).all()  # nothing left to trust


def test_missing_entries(corrupted, rng):
    bunch, _ = corrupted
    holes = rng.uniform(size=bunch.clean.shape) < 0.15
    X = np.where(holes, np.nan, bunch.clean)
    for normalize in ("unit", "none"):
        coder = SelfPacedSparseCoder(15, kind="images", beta=0.01, graph="none", level="none", normalize=normalize, random_state=0).fit(X)
        filled, codes = coder.impute(X), coder.transform(X)
        assert (filled[~holes] == X[~holes]).all()
        error = np.abs(filled - bunch.clean)[holes].mean()
        assert error < 0.3 * np.abs(bunch.clean - np.nanmean(X, 0))[holes].mean()
        assert np.isnan(coder.entry_confidence(X)[holes]).all()
        # inverse_transform has a value for every hole: in data units where samples are not normalised
        np.testing.assert_allclose(coder.inverse_transform(codes), codes @ coder.components_, atol=1e-12)
        scale = np.sqrt(np.nansum(X**2, 1, keepdims=True)) if normalize == "unit" else 1
        np.testing.assert_allclose(filled[holes], (scale * coder.inverse_transform(codes))[holes], atol=1e-9)
        np.testing.assert_allclose(coder.reconstruct(X), scale * coder.inverse_transform(codes), atol=1e-9)
    # a missing entry and one of weight 0 are the same thing
    other = clone(coder).fit(bunch.clean, entry_weight=1.0 - holes)
    np.testing.assert_allclose(other.components_, coder.components_, atol=1e-9)


def test_layouts_threads_and_attributes(X):
    coder = quick(n_threads=1).fit(X)
    read_only, weight = X.copy(), np.ones(len(X))
    read_only.flags.writeable = weight.flags.writeable = False
    for other in (read_only, np.asfortranarray(X), sp.csr_array(X), sp.csc_matrix(X), X.tolist()):
        again = quick(n_threads=2).fit(other)
        assert (again.components_ == coder.components_).all() and (again.codes_ == coder.codes_).all()
    quick().fit(read_only, sample_weight=weight).transform(read_only)
    assert not (quick(random_state=1).fit(X).components_ == coder.components_).all()
    assert (quick().fit_transform(X) == coder.codes_).all()
    assert coder.components_.shape == (8, 16) and coder.codes_.shape == (60, 8)
    assert (np.linalg.norm(coder.components_, axis=1) <= 1 + 1e-9).all()
    assert coder.weights_.shape == coder.loss_.shape == X.shape
    assert set(coder.certificate_) == {"codes", "dictionary", "consistency", "weights"}
    assert coder.termination_ in ("converged", "iteration_limit")
    assert all(len(column) == coder.n_iter_ for column in coder.history_.values())
    assert (coder.history_["objective"] <= coder.history_["objective_before"] + 1e-9).all()
    assert coder.n_features_in_ == 16 and len(coder.get_feature_names_out()) == 8


def test_float32(X, tmp_path):
    coder = quick().fit(X.astype(np.float32))
    for array in (coder.components_, coder.codes_, coder.weights_, coder.transform(X.astype(np.float32))):
        assert array.dtype == np.float32
    coder.save(tmp_path / "m.pw")
    again = SelfPacedSparseCoder.load(tmp_path / "m.pw")
    assert again.components_.dtype == np.float32 and again.transform(X).dtype == np.float64
    np.testing.assert_allclose(again.transform(X), coder.transform(X.astype(np.float32)), atol=1e-4)
    assert coder.objective_ == pytest.approx(quick().fit(X).objective_, rel=0.1)


def test_own_graph(X):
    data = X / np.linalg.norm(X, axis=1, keepdims=True)
    by_coder = quick(graph_space="raw").fit(X)
    incidence, laplacian = pacewise.hypergraph(data, 5, space="raw")
    np.testing.assert_allclose(quick().fit(X, graph=(incidence, laplacian)).codes_, by_coder.codes_, atol=1e-8)
    np.testing.assert_allclose(quick().fit(X, graph_points=data).codes_, by_coder.codes_, atol=1e-8)
    with_knn = quick(graph="knn", graph_space="raw", gamma=0).fit(X)
    np.testing.assert_allclose(quick(gamma=0).fit(X, graph=pacewise.knn_graph(data, 5, space="raw")).codes_, with_knn.codes_, atol=1e-8)


@pytest.mark.parametrize("how", ["pickle", "save"])
def test_models_survive(how, tmp_path):
    bunch = pacewise.datasets.synthetic(50, 10, 2)
    frame = pd.DataFrame(bunch.data, columns=[f"gene {i}" for i in range(10)])
    coder = quick(level="feature", normalize="standard", regularizer="mixture", regularizer_params={"mixture_ratio": 0.3}).fit(frame)
    if how == "pickle":
        again = pickle.loads(pickle.dumps(coder))
        assert again.get_params() == coder.get_params()
    else:
        coder.save(tmp_path / "model.pw")
        again = SelfPacedSparseCoder.load(tmp_path / "model.pw")
        assert again.regularizer_params == {"mixture_ratio": 0.3}
        again.save(tmp_path / "again.pw")
        assert (tmp_path / "again.pw").read_bytes() == (tmp_path / "model.pw").read_bytes()
        clone(again).fit(frame).save(tmp_path / "anew.pw")  # the parameters are those of the fit
        assert (tmp_path / "anew.pw").read_bytes() == (tmp_path / "model.pw").read_bytes()
    for name in ("components_", "codes_", "weights_", "loss_", "consistency_"):
        assert (getattr(again, name) == getattr(coder, name)).all(), name
    assert (again.transform(frame) == coder.transform(frame)).all()
    assert (again.decision_function(frame) == coder.decision_function(frame)).all()
    assert (again.feature_names_in_ == coder.feature_names_in_).all()
    assert (again.laplacian_ != coder.laplacian_).nnz == 0
    assert (again.history_["phase"] == coder.history_["phase"]).all()
    assert again.certificate_ == coder.certificate_ and again.objective_parts_ == coder.objective_parts_
    assert vars(again).keys() == vars(coder).keys()


def test_files_of_other_kinds(X, tmp_path):
    """Old models and files that are none, whole and cut: each kind is tested in C++."""
    data = np.loadtxt(FIXTURES / "data.csv", delimiter=",")
    old = SelfPacedSparseCoder.load(FIXTURES / "version1.npz")
    np.testing.assert_allclose(old.transform(data), np.loadtxt(FIXTURES / "version1_npz_codes.csv", delimiter=","), atol=1e-6)
    np.testing.assert_allclose(old.decision_function(data), np.loadtxt(FIXTURES / "version1_npz_decision.csv"), atol=1e-6)
    assert old.level == "sample" and old.regularizer_params == {"power": 3.0} and old.random_state == 5
    assert old.n_iter_ == len(old.history_["phase"]) > 2 and old.laplacian_.shape == (18, 18)
    old.save(tmp_path / "new.pw")
    assert (SelfPacedSparseCoder.load(tmp_path / "new.pw").codes_ == old.codes_).all()
    whole = (FIXTURES / "version1.npz").read_bytes()
    for at in range(0, len(whole), len(whole) // 20):
        (tmp_path / "old.npz").write_bytes(whole[:at])
        with pytest.raises(pacewise.Error, match="old.npz"):
            SelfPacedSparseCoder.load(tmp_path / "old.npz")
    old = SelfPacedSparseCoder.load(FIXTURES / "version1_single.pw")
    codes = np.loadtxt(FIXTURES / "version1_single_codes.csv", delimiter=",")
    np.testing.assert_allclose(old.transform(data), codes, atol=1e-5)
    with pytest.raises(pacewise.Error, match="offset_"):
        old.predict(np.ones((1, 6)))
    with pytest.raises(pacewise.Error, match="is a checkpoint"):
        SelfPacedSparseCoder.load(FIXTURES / "version1_checkpoint.pw")
    coder, path = quick().fit(X), tmp_path / "m.pw"
    coder.save(path)
    for content in (b"", b"PACEWISE model of the program", b"PK\x03\x04 cut off", path.read_bytes()[:-9]):
        path.write_bytes(content)
        with pytest.raises(pacewise.Error, match=r"m.pw: .*(not a Pacewise model|cut short)"):
            SelfPacedSparseCoder.load(path)
    with pytest.raises(FileNotFoundError):
        SelfPacedSparseCoder.load(tmp_path / "nowhere.pw")
    for target, words in ((tmp_path / "nowhere" / "m.pw", "nowhere"), ("/dev/full", "No space left")):
        with pytest.raises(OSError, match=words):
            coder.save(target)


@pytest.mark.parametrize("level", ["element", "sample", "feature", "none"])
def test_callback_sees_the_weights(X, level):
    seen = []
    coder = quick(level=level, callback=lambda record: seen.append(record)).fit(X)
    assert len(seen) == coder.n_iter_
    paced = [record for record in seen if record["weights"] is not None]
    assert {record["phase"] for record in paced} == (set() if level == "none" else {"paced"})
    for record in paced:
        assert record["weights"].shape == coder.weights_.shape
        assert record["weights"].mean() == pytest.approx(record["mean_weight"], abs=1e-12)


@pytest.mark.parametrize("verbose", [0, 1, "bar"])
def test_callback_stops_or_raises(X, verbose, capsys):
    seen = []

    def stop_at_three(record):
        seen.append((record["iteration"], threading.current_thread() is threading.main_thread()))
        return len(seen) < 3

    def fail_at_three(record):
        if not stop_at_three(record):
            raise LookupError("enough")

    coder = quick(callback=stop_at_three, verbose=verbose).fit(X)
    assert seen == [(1, True), (2, True), (3, True)]
    assert coder.termination_ == "cancelled" and coder.n_iter_ == 3
    assert len(capsys.readouterr().out.splitlines()) == (4 if verbose == 1 else 0)
    seen.clear()
    with pytest.raises(LookupError, match="enough"):
        quick(callback=fail_at_three, verbose=verbose).fit(X)
    err = capsys.readouterr().err
    assert err.endswith("\n") if verbose == "bar" else err == ""


@pytest.mark.parametrize("fitted", [False, True])
def test_interrupt_within_a_second(rng, fitted):
    X = rng.standard_normal((3000, 400))
    started = []
    coder = SelfPacedSparseCoder(256, beta=0.05, random_state=0)
    if fitted:
        coder.set_params(n_components=4, max_iter=300).fit(X[:20, :6]).set_params(n_components=256)
    before = dict(vars(coder))

    def interrupt():
        started.append(time.monotonic())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(1.5, interrupt)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        coder.fit(X)
    assert time.monotonic() - started[0] < 1
    assert vars(coder).keys() == before.keys() and all(vars(coder)[name] is value for name, value in before.items())
    if fitted:
        assert coder.transform(X[:20, :6]).shape == (20, 4)
    else:
        with pytest.raises(NotFittedError):
            coder.transform(X)


def test_other_threads_run_during_a_fit(rng):
    X = rng.standard_normal((3000, 200))
    ticks, done = [], threading.Event()

    def tick():
        while not done.wait(0.01):
            ticks.append(time.monotonic())

    ticker = threading.Thread(target=tick)
    ticker.start()
    began = time.monotonic()
    coder = SelfPacedSparseCoder(128, beta=0.05, random_state=0, max_seconds=1).fit(X)
    took = time.monotonic() - began
    done.set()
    ticker.join()
    assert len([t for t in ticks if t > began]) > 10 * min(took, 1)
    assert coder.termination_ == "time_limit"


def test_verbose_table_and_bar(X, capsys):
    coder = quick(verbose=1).fit(X)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["iter", "phase", "lambda"] and len(lines) == coder.n_iter_ + 1
    quick(verbose="bar").fit(X)
    out, err = capsys.readouterr()
    drawings = err.rstrip("\n").split("\r")[1:]
    assert out == "" and drawings and err.endswith("\n")
    assert re.match(rf"fit 100%\|█+\| {coder.n_iter_}/{coder.n_iter_} \[", drawings[-1])
    assert all(re.match(r"fit +\d+%\|[█ ]{24}\| \d+/\d+ \[", drawing) for drawing in drawings)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_hidden_copy_on_the_way_in(dtype):
    """The library is handed the caller's own numbers: what NumPy allocates on the way is small next to X."""
    X = np.random.default_rng(0).standard_normal((4000, 250)).astype(dtype)
    coder = SelfPacedSparseCoder(2, beta=1.0, level="none", graph="none", normalize="none", max_iter=1, random_state=0)
    given = []
    real, _coder._core = _coder._core, type("Spy", (), {"__getattr__": lambda self, name: getattr(real, name)})()
    _coder._core.fit = lambda data, **rest: (given.append(data[0]), real.fit(data, **rest))[1]
    tracemalloc.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            coder.fit(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        _coder._core = real
    assert np.shares_memory(given[0], X) and given[0].ctypes.data == X.ctypes.data
    # the scores' 1000 samples and finiteness masks; a copy of X would be X.nbytes more
    assert peak < 0.8 * X.nbytes, (peak, X.nbytes)


def test_set_output(X):
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(16)], index=[f"row {i}" for i in range(60)])
    coder = quick().set_output(transform="pandas")
    for codes in (coder.fit_transform(frame), coder.transform(frame)):
        assert list(codes.columns) == list(coder.get_feature_names_out()) == [f"selfpacedsparsecoder{k}" for k in range(8)]
        assert (codes.index == frame.index).all()
    assert (coder.feature_names_in_ == frame.columns).all()


def test_what_has_the_shape_of_the_data_keeps_names_and_index(X):
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(16)], index=[f"row {i}" for i in range(60)])
    frame.iloc[3, 5] = np.nan
    coder = quick(graph="none").fit(frame)
    asking = clone(coder).set_output(transform="pandas").fit(frame)
    for name in ("reconstruct", "mend", "impute", "entry_confidence"):
        method = getattr(coder, name)
        values = method(frame)
        assert isinstance(values, pd.DataFrame) and (values.columns == frame.columns).all() and (values.index == frame.index).all()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # X has no names, the coder has
            for plain in (frame.to_numpy(), frame.to_numpy().tolist()):
                assert type(method(plain)) is np.ndarray
                np.testing.assert_array_equal(values.to_numpy(), method(plain))
            assert (getattr(asking, name)(frame.to_numpy()).columns == frame.columns).all()
            assert list(method(pd.DataFrame(frame.to_numpy())).columns) == list(range(16))
            assert len(coder.find_wrong_cells(frame.to_numpy().tolist())) == len(coder.find_wrong_cells(frame))


def test_sample_weight_is_routed(X):
    weight = np.linspace(0.1, 2, 60)
    direct = quick(level="none").fit(X, sample_weight=weight)
    with config_context(enable_metadata_routing=True):
        coder = quick(level="none").set_fit_request(sample_weight=True)
        routed = make_pipeline(coder, KMeans(3, n_init=1).set_fit_request(sample_weight=False)).fit(X, sample_weight=weight)
        assert (routed[0].components_ == direct.components_).all()
        ignored = make_pipeline(quick(level="none").set_fit_request(sample_weight=False), KMeans(3, n_init=1).set_fit_request(sample_weight=True))
        assert not (ignored.fit(X, sample_weight=weight)[0].components_ == direct.components_).all()
    assert not (quick(level="none").fit(X).components_ == direct.components_).all()


def test_joblib(X):
    alone = [quick(random_state=seed, n_threads=1).fit(X).objective_ for seed in range(3)]
    for backend in ("loky", "threading"):
        fitted = Parallel(n_jobs=2, backend=backend)(delayed(quick(random_state=seed, n_threads=1).fit)(X) for seed in range(3))
        assert [coder.objective_ for coder in fitted] == alone


def test_warns_at_max_iter(X):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        quick(max_iter=2).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick().fit(X)
